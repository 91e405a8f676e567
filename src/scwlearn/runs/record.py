"""The record of a run: what a summary prints, a report draws and a model file keeps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any, Self

# A model file begins with the length of its header, whose bytes may look like text, and then this.
_HEADER_LENGTH = 8
_MODEL_HEADER = b'{"__metadata__":{"format":"scwlearn",'


@dataclass(frozen=True)
class Point:
    """State of a run after some examples; all numbers are totals since it began."""

    seen: int
    mistakes: int
    updates: int
    #: Nonzero weights; None where they were not counted. The last point of a curve has it.
    nonzero: int | None
    seconds: float
    #: Mean of -log(probability of the label) before learning from it; None without probabilities.
    log_loss: float | None = None


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence: their number, mean probability, and how many were right."""

    count: int
    probability: float
    right: int


@dataclass(frozen=True)
class TopWeight:
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
    #: Confidence of the predicted class in up to ten bins, and how often it was right.
    reliability: list[Bin] | None = None
    #: Confusion matrix (rows: true class); None for too many classes.
    confusion: list[list[int]] | None = None
    #: By label, as text; of two classes, those of the second.
    top_weights: dict[str, list[TopWeight]] = field(default_factory=dict)
    #: Metrics of the held-out examples: count, error, log_loss.
    holdout: dict[str, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return a record from JSON values; unknown fields are ignored.

        Raises
        ------
        ValueError
            If a field is missing or of a wrong type.
        """
        try:
            given = _known_fields(cls, value)
            given["curve"] = [Point(**_known_fields(Point, point)) for point in given["curve"]]
            if given.get("reliability") is not None:
                given["reliability"] = [Bin(**_known_fields(Bin, part)) for part in given["reliability"]]
            tops = given.get("top_weights", {}).items()
            given["top_weights"] = {
                label: [TopWeight(**_known_fields(TopWeight, weight)) for weight in top] for label, top in tops
            }
            for number in chain(given["parameters"].values(), (given.get("holdout") or {}).values()):
                _check_type("parameters and holdout", "float", number)
            for number in chain.from_iterable(given.get("confusion") or ()):
                _check_type("confusion", "int", number)
            return cls(**given)
        except KeyError as error:
            raise ValueError(f"not a record of a run: {error.args[0]} is missing") from None
        except (AttributeError, TypeError) as error:
            raise ValueError(f"not a record of a run: {error}") from None


def is_model_file(path: str | Path) -> bool:
    """Return whether a file begins like a model file; it may still be damaged."""
    with open(path, "rb") as file:
        return file.read(_HEADER_LENGTH + len(_MODEL_HEADER))[_HEADER_LENGTH:] == _MODEL_HEADER


def read_records(path: str | Path) -> list[Record]:
    """Read the record in a model file, or the records in a file of JSON, one per line or one in all.

    Raises
    ------
    ValueError
        If the file holds no record.
    """
    name = os.fspath(path)
    if not is_model_file(path):
        with open(path, "rb") as file:
            content = file.read(1)
            if content in (b"{", b" ", b"\n", b"\r", b"\t", b"\xef"):
                return _parse_records(content + file.read(), name)
    from scwlearn.files import read

    run = read(path).notes.get("run")
    if run is None:
        raise ValueError(f"{name}: the model has no record of its training; models saved by scwlearn train have one")
    return [_parse_record(run, name)]


def _parse_records(content: bytes, name: str) -> list[Record]:
    from scwlearn.files.json_reader import parse_json

    try:
        text = content.decode("utf-8-sig")
        try:
            values = [parse_json(text, "it")]
        except ValueError:
            values = [parse_json(line, "a line") for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise ValueError(f"{name}: neither a model file nor the JSON record of a run: {error}") from None
    if not values:
        raise ValueError(f"{name}: the file is empty; expected the JSON record of a run")
    return [_parse_record(value, name) for value in values]


def _parse_record(value: object, name: str) -> Record:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: not a record of a run: expected an object, got {type(value).__name__}")
    try:
        return Record.from_json(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


#: Types that a field may hold, by its annotation.
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float, NoneType),
    "str": (str,),
    "list[str]": (list,),
    "list[Any]": (list,),
    "dict[str, Any]": (dict,),
}


def _known_fields(cls: type[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields of a class; raise a TypeError for one of a wrong type."""
    given = {f.name: value[f.name] for f in fields(cls) if f.name in value}
    for f in fields(cls):
        if f.name in given:
            _check_type(f.name, str(f.type), given[f.name])
    return given


def _check_type(name: str, annotation: str, value: Any) -> None:
    allowed = _TYPES.get(annotation, (object,))
    if not isinstance(value, allowed) or (isinstance(value, bool) and object not in allowed):
        raise TypeError(f"{name} must be {annotation}, got {value!r:.60}")
