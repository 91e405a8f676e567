"""The record of a run: what a summary prints, a report draws and a model file keeps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple, Self, get_args, get_origin, get_type_hints

# A model file begins with the length of its header, whose bytes may look like text, and then this.
_HEADER_LENGTH = 8
_MODEL_HEADER = b'{"__metadata__":{"format":"scwlearn",'


class Point(NamedTuple):
    """State of a run after some examples; all numbers are totals since it began."""

    seen: int
    mistakes: int
    updates: int
    #: Nonzero weights; None where they were not counted. The last point of a curve has it.
    nonzero: int | None
    seconds: float
    #: Mean of -log(probability of the label) before learning from it; None without probabilities.
    log_loss: float | None = None


class Pass(NamedTuple):
    """One pass over the data: its examples, and how many of them were mistakes and changed the model."""

    seen: int
    mistakes: int
    updates: int


class LearnedPart(NamedTuple):
    """A part of the data that was learned side by side with others, from the model that their merging gave before."""

    epoch: int
    #: From 1; 0 if the part was learned alone at the beginning.
    round: int
    part: int
    seen: int
    mistakes: int
    seconds: float
    #: Numbers of examples and mistakes, at powers of two and at the end.
    curve: list[list[int]]
    #: Why it was left out, if it could not be read.
    error: str = ""


class Round(NamedTuple):
    """What a round of parts exchanged: bytes of the model before it, bytes of all changes, seconds of merging."""

    epoch: int
    round: int
    model_bytes: int
    sent_bytes: int
    merge_seconds: float


@dataclass(frozen=True)
class Baseline:
    """The most frequent label of some examples, and the error of always predicting it."""

    label: Any
    error: float


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence: their number, mean probability, and how many were right."""

    count: int
    probability: float
    right: int


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
    settings: dict[str, Any]
    #: Sorted; confusion and weights are in this order.
    classes: list[Any]
    n_features: int
    #: Points at increasing numbers of examples, up to the end of the run.
    curve: list[Point]
    #: Examples that could not be read.
    skipped: int = 0
    epochs: int = 1
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
    confusion: list[list[int]] | None = None
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
        return {f.name: _to_json(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return a record from JSON values; raise a ValueError if a field is missing or wrong, ignore unknown ones."""
        if not isinstance(value, Mapping):
            raise ValueError(f"not a record of a run: expected an object, got {type(value).__name__}")
        try:
            return cls(**_load_fields(cls, value))
        except (AttributeError, TypeError) as error:
            raise ValueError(f"not a record of a run: {error}") from None


def _to_json(value: Any) -> Any:
    """Return a part of a record as JSON values: an object of its fields, or a list or dict of such parts."""
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: _to_json(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    return asdict(value) if is_dataclass(value) else value  # type: ignore[arg-type]


def _load_fields(cls: type[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a part of a record from JSON values; raise a TypeError for one that is missing or wrong."""
    hints = get_type_hints(cls)
    for name in _required(cls):
        if name not in value:
            raise TypeError(f"{name} is missing")
    return {name: _load(name, hint, value[name]) for name, hint in hints.items() if name in value}


def _required(cls: type[Any]) -> list[str]:
    """Return the fields without a default."""
    if issubclass(cls, tuple):
        return [name for name in cls._fields if name not in cls._field_defaults]  # type: ignore[attr-defined]
    return [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]


def _load(name: str, annotation: Any, value: Any) -> Any:
    """Return a JSON value as its annotated type; raise a TypeError if it has another one."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any or (value is None and NoneType in arguments):
        return value
    if origin is UnionType:
        return _load(name, arguments[0], value)
    if is_dataclass(annotation) or hasattr(annotation, "_fields"):
        return annotation(**_load_fields(annotation, value))
    allowed: Any = (int, float) if annotation is float else origin or annotation
    if not isinstance(value, allowed) or (isinstance(value, bool) and annotation is not bool):
        raise TypeError(f"{name} must be {annotation}, got {value!r:.60}")
    if origin is list:
        return [_load(name, arguments[0], item) for item in value]
    if origin is dict:
        return {key: _load(name, arguments[1], item) for key, item in value.items()}
    return value


def is_model_file(path: str | Path) -> bool:
    """Return whether a file begins like a model file; it may still be damaged."""
    with open(path, "rb") as file:
        return file.read(_HEADER_LENGTH + len(_MODEL_HEADER))[_HEADER_LENGTH:] == _MODEL_HEADER


def read_records(path: str | Path) -> list[Record]:
    """Read the record in a model file, or the records in a file of JSON, one per line or one in all.

    Raises ValueError if the file holds no record.
    """
    from scwlearn.files import read

    with open(path, "rb") as file:
        start = file.read(1)
        # The length of a model's header may begin like JSON.
        is_json = start in (b"{", b" ", b"\n", b"\r", b"\t", b"\xef") and not is_model_file(path)
        content = start + file.read() if is_json else b""
    notes = {} if is_json else read(path).notes
    try:
        if not is_json and "run" not in notes:
            raise ValueError("the model has no record of its training; models saved by scwlearn train have one")
        return [Record.from_json(value) for value in (_json_values(content) if is_json else [notes["run"]])]
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def _json_values(content: bytes) -> list[Any]:
    """Parse a file of JSON: one value, or one per line."""
    from scwlearn.files.json_reader import parse_json

    try:
        text = content.decode("utf-8-sig")
        try:
            values = [parse_json(text, "it")]
        except ValueError:
            values = [parse_json(line, "a line") for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise ValueError(f"neither a model file nor the JSON record of a run: {error}") from None
    if not values:
        raise ValueError("the file is empty; expected the JSON record of a run")
    return values
