"""What only grows while a model learns; merged models add what each has gained."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from scwlearn._util.json_fields import MAX_COUNT
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.learner import Learner

Models = Mapping[str, Learner] | Mapping[str, Classifier]

_PRIOR = "prior must be the model that all models continued from"


def check_growth(models: Models, *, again: bool) -> None:
    """Check what models of a merge, by title, know and have counted.

    Parameters
    ----------
    models : mapping
        The models; with `again`, the last is the one that all others continued from.
    again : bool
        Whether there is such a model.

    Raises
    ------
    ValueError
        If a model has less than the one that it continued from, or if a sum is too large to be counted.
    """
    counts = {title: _counts(model) for title, model in models.items()}
    prior, before = counts.popitem() if again else ("", {})
    needed = _labels(models[prior]) if again else []
    for title, count in counts.items():
        known = _labels(models[title])
        if unknown := [label for label in needed if label not in known]:
            raise ValueError(f"{title} does not know the class {unknown[0]!r} of prior; {_PRIOR}")
        for what, least in before.items():
            if count.get(what, 0) < least:
                raise ValueError(f"{title} has {count.get(what, 0)} {what}, but prior has {least}; {_PRIOR}")
    for what in dict.fromkeys(what for count in counts.values() for what in count):
        start = before.get(what, 0)
        if start + sum(count.get(what, 0) - start for count in counts.values()) > MAX_COUNT:
            raise ValueError(
                f"the models cannot be merged: together they have more than 2**53 {what}; if they continued from a "
                "common model, pass it as prior"
            )


def _labels(model: Classifier | Learner) -> Collection[object]:
    """Return the classes that a model knows; those of a learner are numbers."""
    return model.classes.numbers if isinstance(model, Classifier) else range(model._known_classes())


def _counts(model: Classifier | Learner) -> dict[str, int]:
    """Return what a model has counted, by name."""
    learner = model.learner if isinstance(model, Classifier) else model
    counts: dict[str, int] = dict(zip(("examples", "mistakes", "updates"), learner._tally.tolist(), strict=True))
    if not isinstance(model, Classifier):
        return counts
    seen = zip(model.classes.values, model.class_weights.seen.tolist(), strict=False)
    counts |= {f"examples of class {label!r}": count for label, count in seen}
    if not isinstance(learner, Committee):
        return counts | {"rows of the calibration": model.calibration.rows}
    curves = enumerate(learner.mixture.calibrations, 1)
    counts |= {f"rows of the calibration of member {number}": curve.rows for number, curve in curves}
    return counts | {"rows of the mixture": learner.mixture.rows}
