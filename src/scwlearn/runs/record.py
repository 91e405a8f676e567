"""The record of a run: what a summary prints, a report draws and a model file keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from types import NoneType
from typing import Any, Self


@dataclass(frozen=True)
class Point:
    """Where a run stood after so many examples: all numbers are of the whole run up to there."""

    seen: int
    mistakes: int
    updates: int
    #: How many weights are not zero; None where they were not counted, which a record has at its end.
    nonzero: int | None
    #: Since the run began.
    seconds: float
    #: The mean of -log(probability of the label), before learning from it; None where no probabilities were asked for.
    log_loss: float | None = None


@dataclass(frozen=True)
class Bin:
    """Predictions of about one probability: how many, their mean probability, and how many of them were right."""

    count: int
    probability: float
    right: int


@dataclass(frozen=True)
class TopWeight:
    """A feature with a large weight; a first-order algorithm knows no deviation."""

    name: str
    weight: float
    deviation: float | None = None


@dataclass(frozen=True)
class Record:
    """What happened in a run. All of it is plain: numbers, strings, lists."""

    #: As it was typed, and when it began (ISO 8601, UTC).
    command: str
    began: str
    #: Of scwlearn.
    version: str
    sources: list[str]
    algorithm: str
    #: The algorithm's own, and everything else that was decided (covariance, epochs, seed, scale ...).
    parameters: dict[str, float]
    settings: dict[str, Any]
    #: In the order in which everything below has them.
    classes: list[Any]
    n_features: int
    #: At growing steps; the last is the end.
    curve: list[Point]
    #: Examples that could not be read.
    skipped: int = 0
    epochs: int = 1
    #: How likely the predicted class was, in ten bins or so, and how often it was right.
    reliability: list[Bin] | None = None
    #: Of each class (line) how many were predicted as which (column); None where there are too many.
    confusion: list[list[int]] | None = None
    #: By class, as text; of two classes that of the second.
    top_weights: dict[str, list[TopWeight]] = field(default_factory=dict)
    #: Of examples that were held out: count, error, log_loss ...
    holdout: dict[str, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """From what `to_json` gave; a ValueError for what is no record. What a newer version adds is left out."""
        try:
            given = _known(cls, value)
            given["curve"] = [Point(**_known(Point, point)) for point in given["curve"]]
            if given.get("reliability") is not None:
                given["reliability"] = [Bin(**_known(Bin, part)) for part in given["reliability"]]
            tops = given.get("top_weights", {}).items()
            given["top_weights"] = {
                label: [TopWeight(**_known(TopWeight, weight)) for weight in top] for label, top in tops
            }
            for number in chain(given["parameters"].values(), (given.get("holdout") or {}).values()):
                _check_kind("a parameter or holdout figure", "float", number)
            for number in chain.from_iterable(given.get("confusion") or ()):
                _check_kind("confusion", "int", number)
            return cls(**given)
        except KeyError as error:
            raise ValueError(f"this is no record of a run: it has no {error}") from None
        except (AttributeError, TypeError) as error:
            raise ValueError(f"this is no record of a run: {error!r}") from None


#: What a field may hold, by how its type is written above.
_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float, NoneType),
    "str": (str,),
    "list[str]": (list,),
    "list[Any]": (list,),
    "dict[str, Any]": (dict,),
}


def _known(cls: type[Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Of what is given the fields that the class has, each of the kind that it says."""
    given = {f.name: value[f.name] for f in fields(cls) if f.name in value}
    for f in fields(cls):
        if f.name in given:
            _check_kind(f.name, str(f.type), given[f.name])
    return given


def _check_kind(name: str, kind: str, value: Any) -> None:
    wanted = _KINDS.get(kind, (object,))
    if not isinstance(value, wanted) or (isinstance(value, bool) and object not in wanted):
        raise TypeError(f"{name} must be {kind}, got {value!r:.60}")
