"""Warnings about a run, in the words of the command line: what is suspicious, and which option helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scwlearn.data.run_record import Baseline, Record
from scwlearn.display.formatting import number_text, plural
from scwlearn.learning.data_warnings import MANY_LABELS, SORTED_LABELS, UNEVEN_FEATURES, has_many_labels

if TYPE_CHECKING:
    from scwlearn.runs.coverage import Coverage

# The progressive error of fewer examples is mostly that of the first steps.
_MIN_EXAMPLES = 100

# Fewer held-out examples say nothing about the error.
_MIN_HELD_OUT = 20
# Labels listed in a message.
_LISTED = 10


def record_warnings(record: Record) -> list[str]:
    """Return the warnings about a training run."""
    if not record.curve:
        return []
    end, held_out = record.curve[-1], record.holdout or {}
    return training_warnings(
        end.seen,
        end.mistakes / max(1, end.seen),
        record.classes,
        record.baseline,
        record.settings,
        sorted_labels=record.sorted_labels,
        uneven_features=record.uneven_features,
        held_out=(held_out.get("error", 0.0), record.holdout_baseline, held_out.get("count", 0)),
    )


def training_warnings(
    seen: int,
    error: float,
    labels: Sequence[Any],
    baseline: Baseline | None,
    settings: Mapping[str, Any],
    *,
    subject: str = "the model",
    sorted_labels: bool = False,
    uneven_features: str = "",
    shuffled: bool = False,
    held_out: tuple[float, Baseline | None, float] = (0.0, None, 0),
) -> list[str]:
    """Return the warnings about training with these settings on examples with these labels.

    `subject` made the error; `shuffled` tells that it is the best of several algorithms, on shuffled examples.
    `held_out` has the error, baseline and number of the held-out examples.
    """
    buffer = settings.get("shuffle_buffer")
    weights, costs = settings.get("class_weight"), settings.get("costs") or {}
    # Examples of weight 0 are left out, with their labels.
    weighted = [label for label, weight in weights.items() if weight] if isinstance(weights, Mapping) else []
    found = unseen_labels("--class-weight", weighted, labels)
    found += unseen_labels("--costs", [*costs, *(label for row in costs.values() for label in row)], labels)
    if len(labels) == 1:
        found.append(f"all examples have the label {labels[0]}; a classifier needs at least two classes")
    if has_many_labels(len(labels), seen):
        found.append(many_labels(len(labels), seen))
    if sorted_labels:
        shuffle = "a larger --shuffle-buffer" if buffer else "--shuffle-buffer N, with N larger than the runs"
        found.append(f"{SORTED_LABELS}; shuffle the file, or use {shuffle}")
    if uneven_features:
        found.append(f"{UNEVEN_FEATURES.format(uneven_features)}; use --scale standard")
    if not is_weighted(settings):
        worse = worse_than_baseline(error, baseline, seen, least=_MIN_EXAMPLES, subject=subject)
        worse += worse_than_baseline(*held_out, subject="on the held-out examples, the model")
        found += with_advice(worse, settings, order=not sorted_labels and not shuffled, algorithm=not shuffled)
    return found


def many_labels(labels: int, seen: int) -> str:
    """Return the warning about a probable regression target."""
    return MANY_LABELS.format(labels, plural(seen, "example"))


def with_advice(
    texts: list[str], settings: Mapping[str, Any], verb: str = "try", *, algorithm: bool = True, order: bool = True
) -> list[str]:
    """Append to the last text, if any, what may make a model with these settings better."""
    hints = [] if settings.get("scale", "none") != "none" else ["--scale standard"]
    hints += ["another algorithm (scwlearn compare)"] if algorithm else []
    hints += ["a shuffled order (--shuffle-buffer N)"] if order and not settings.get("shuffle_buffer") else []
    if not texts or not hints:
        return texts
    listed = " or ".join(filter(None, (", ".join(hints[:-1]), hints[-1])))
    return [*texts[:-1], f"{texts[-1]}; {verb} {listed}"]


def worse_than_baseline(
    error: float,
    baseline: Baseline | None,
    count: float,
    *,
    least: int = _MIN_HELD_OUT,
    subject: str = "the model",
) -> list[str]:
    """Return the warning about a model that is worse than always predicting one label, if it is.

    It needs at least `least` examples, of two classes: a single class has no baseline to beat.
    """
    # Compared as they are shown.
    if baseline is None or count < least or not 0 < round(baseline.error, 4) < round(error, 4):
        return []
    always = f"always predicting {baseline.label!r} would ({baseline.error:.2%})"
    return [f"{subject} makes more mistakes ({error:.2%}) than {always}"]


def unseen_labels(option: str, named: Sequence[Any], labels: Sequence[Any]) -> list[str]:
    """Return the warning about labels in an option that are not in the data, if there are any."""
    known = {*map(_spelling, labels)}
    unseen = [label for label in dict.fromkeys(named) if _spelling(label) not in known]
    if not unseen:
        return []
    return [f"{option} names labels that are not in the data: {_listed(unseen)}; the labels are {_listed(labels)}"]


def unknown_features(coverage: Coverage) -> list[str]:
    """Return the warning about data of which a model knows none or few of the features, if it is so."""
    if not coverage.is_small:
        return []
    known, unknown = coverage.known_feature, coverage.unknown_feature
    numbered = isinstance(known, int)
    share, rest = f"only {coverage.known / coverage.found:.2%}", "the others"
    if not coverage.known:
        share, rest = "none", "them"
    example = f"; the last that it knows is {known}" if numbered else f"; it knows {known!r}" if known else ""
    same = "features are numbered" if numbered else "columns, keys and namespaces are named"
    return [
        f"the model knows {share} of the features in the data, and ignores {rest}, such as {unknown!r}{example}; "
        f"check that {same} as in the training data"
    ]


def is_weighted(settings: Mapping[str, Any]) -> bool:
    """Return whether classes are weighted or mistakes have costs, which trades many mistakes for fewer of others."""
    return settings.get("class_weight") is not None or settings.get("costs") is not None


def _spelling(label: Any) -> str:
    """Return a label as text, the same for equal numbers."""
    try:
        return number_text(float(label))
    except ValueError:
        return str(label)


def _listed(labels: Sequence[Any]) -> str:
    more = f" and {len(labels) - _LISTED:,} more" if len(labels) > _LISTED else ""
    return ", ".join(map(str, labels[:_LISTED])) + more
