"""The record of a run: what a summary prints, a report draws and a model file keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Self

from scwlearn._util.json_fields import IGNORE_UNKNOWN, Check, Count, FieldError, Label, Name, Range, read_json, to_json

#: A time or a loss.
Amount = Annotated[float, Range(0, 1e300)]


def _check_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings; raise a ValueError unless costs, which warnings look into, are a table."""
    if settings.get("costs") is not None:
        read_json(dict[str, dict[str, float]], settings["costs"], "costs")
    return settings


class Point(NamedTuple):
    """State of a run after some examples; all numbers are totals since it began."""

    seen: Count
    mistakes: Count
    updates: Count
    #: Nonzero weights; None where they were not counted. The last point of a curve has it.
    nonzero: Count | None
    seconds: Amount
    #: Mean of -log(probability of the label) before learning from it; None without probabilities.
    log_loss: Amount | None = None


class Pass(NamedTuple):
    """One pass over the data: its examples, and how many of them were mistakes and changed the model."""

    seen: Count
    mistakes: Count
    updates: Count


class LearnedPart(NamedTuple):
    """A part of the data that was learned side by side with others, from the model that their merging gave before."""

    epoch: Count
    #: From 1; 0 if the part was learned alone at the beginning.
    round: Count
    part: Count
    seen: Count
    mistakes: Count
    seconds: Amount
    #: Numbers of examples and mistakes, at powers of two and at the end.
    curve: list[tuple[Count, Count]]
    #: Why it was left out, if it could not be read.
    error: str = ""


class Round(NamedTuple):
    """What a round of parts exchanged: bytes of the model before it, bytes of all changes, seconds of merging."""

    epoch: Count
    round: Count
    model_bytes: Count
    sent_bytes: Count
    merge_seconds: Amount


@dataclass(frozen=True)
class Baseline:
    """The most frequent label of some examples, and the error of always predicting it."""

    label: Label
    error: float


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence: their number, mean probability, and how many were right."""

    count: Count
    probability: float
    right: Count


class TopWeight(NamedTuple):
    """A feature with a large weight; first-order algorithms have no deviation."""

    name: str
    weight: float
    deviation: float | None = None


@dataclass(frozen=True)
class Record:
    """Record of a run, in plain numbers, strings and lists."""

    #: As it was typed, and when it began (ISO 8601, UTC).
    command: str
    began: str
    #: Version of scwlearn.
    version: str
    sources: list[str]
    algorithm: str
    #: The algorithm's own parameters, and all other settings (covariance, epochs, seed, scale ...).
    parameters: dict[str, float]
    settings: Annotated[dict[str, Any], Check(_check_settings)]
    #: Sorted; confusion and weights are in this order.
    classes: list[Label]
    n_features: Count
    #: Points at increasing numbers of examples, up to the end of the run.
    curve: list[Point]
    #: Examples that could not be read.
    skipped: Count = 0
    epochs: Count = 1
    #: One for each epoch.
    passes: list[Pass] = field(default_factory=list)
    #: Of the examples that the model learned from.
    baseline: Baseline | None = None
    #: Whether the labels came in long runs, as in a sorted file.
    sorted_labels: bool = False
    #: The sizes of the largest and the smallest feature if they differ too much, in words.
    uneven_features: str = ""
    #: Confidence of the predicted class in up to ten bins, and how often it was right.
    reliability: list[Bin] | None = None
    #: Confusion matrix (rows: true class); None for too many classes.
    confusion: list[list[Count]] | None = None
    #: By label, as text; with two classes, only those of the second.
    top_weights: dict[str, list[TopWeight]] = field(default_factory=dict)
    #: Metrics of the held-out examples: count, error, log_loss.
    holdout: dict[str, float] | None = None
    #: Of the held-out examples.
    holdout_baseline: Baseline | None = None
    #: Of a distributed training, in order.
    parts: list[LearnedPart] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        values: dict[str, Any] = to_json(self)
        return values

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return a record from JSON values; raise a ValueError if a field is missing or wrong, ignore unknown ones."""
        try:
            return read_json(Annotated[cls, IGNORE_UNKNOWN], value)  # type: ignore[arg-type]
        except FieldError as error:
            raise ValueError(f"not a record of a run: {error}") from None


@dataclass(frozen=True)
class Made:
    """How a model was made from others: the command, when it began (ISO 8601, UTC), and the names of the files."""

    command: str
    began: str
    sources: Annotated[list[str], Name("from")] = field(default_factory=list)
