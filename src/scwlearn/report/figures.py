"""The figures of a run: what its record says once it is divided, compared and named."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scwlearn.report.text import count, duration, fixed, measure, percent, rough, some
from scwlearn.rules import find_rule
from scwlearn.runs.record import Bin, Point, Record


@dataclass(frozen=True)
class Figure:
    """A number that a run is known by, in words; `low` or `high` says which is the better."""

    name: str
    text: str
    note: str = ""
    value: float = math.nan
    better: str = ""


@dataclass(frozen=True)
class Stretch:
    """What happened between two points, by example; None where it was not measured."""

    after: int
    until: int
    mistakes: float
    updates: float
    log_loss: float | None
    speed: float | None


def points_of(record: Record) -> list[Point]:
    """The points with an example more than those before."""
    kept: list[Point] = []
    for point in record.curve:
        if point.seen > (kept[-1].seen if kept else 0):
            kept.append(point)
    return kept


def stretches(points: Sequence[Point]) -> list[Stretch]:
    """What happened from each point to the next."""
    return [_stretch(one, other) for one, other in pairwise(points)]


def _stretch(one: Point, other: Point) -> Stretch:
    seen, seconds = other.seen - one.seen, other.seconds - one.seconds
    loss = None
    if one.log_loss is not None and other.log_loss is not None:
        loss = (other.log_loss * other.seen - one.log_loss * one.seen) / seen
    return Stretch(
        one.seen,
        other.seen,
        (other.mistakes - one.mistakes) / seen,
        (other.updates - one.updates) / seen,
        loss,
        seen / seconds if seconds > 0 else None,
    )


def speed_of(point: Point) -> float | None:
    """Examples by second, from the start to there."""
    return point.seen / point.seconds if point.seconds > 0 else None


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """How far the probability is from the share that was right, on average over the predictions (ECE)."""
    total = sum(part.count for part in bins)
    if total <= 0:
        return None
    return sum(abs(part.right - part.count * part.probability) for part in bins) / total


def algorithm_of(record: Record) -> str:
    """The name that people know the algorithm by; a rule of one's own may not be declared where a report is made."""
    try:
        return find_rule(record.algorithm).title
    except ValueError:
        return record.algorithm


def parameters_of(record: Record, chosen: Container[str] | None = None) -> str:
    """The parameters in a line, or those chosen."""
    told = (item for item in record.parameters.items() if chosen is None or item[0] in chosen)
    return ", ".join(f"{name} = {value:.6g}" for name, value in told)


def names_of(records: Sequence[Record]) -> list[str]:
    """A short name for each run that is no other's: the algorithm, and where that is not enough, more."""
    names = [algorithm_of(record) for record in records]
    every = {name for record in records for name in record.parameters}
    differing = {name for name in every if len({record.parameters.get(name) for record in records}) > 1}
    parameters = [parameters_of(record, differing) for record in records]
    sources = [", ".join(map(str, record.sources)) for record in records]
    for told, form in ((parameters, "{} ({})"), (sources, "{} on {}")):
        if len(set(names)) < len(names):
            names = [form.format(name, part) if part else name for name, part in zip(names, told, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{number}. {name}" for number, name in enumerate(names, 1)]
    return names


def key_figures(record: Record) -> list[Figure]:
    """The numbers at the top of a report."""
    return [*_learning(record), *_reading(record), *_held_out(record)]


def _learning(record: Record) -> Iterator[Figure]:
    points = points_of(record)
    if not points:
        yield Figure("Examples", "0", "none was learned from")
        return
    end = points[-1]
    passes = f"{count(record.epochs)} epochs" if record.epochs != 1 else "one pass"
    yield Figure("Examples", count(end.seen), passes, end.seen)
    rate, updated = end.mistakes / end.seen, end.updates / end.seen
    yield Figure("Mistake rate", percent(rate), some(end.mistakes, "mistake"), rate, "low")
    yield Figure("Updates", percent(updated), some(end.updates, "example"), updated)
    if end.log_loss is not None:
        yield Figure("Log-loss", fixed(end.log_loss), "before learning", end.log_loss, "low")
    if (error := calibration_error(record.reliability or ())) is not None:
        yield Figure("Calibration error", percent(error), "ECE", error, "low")


def _reading(record: Record) -> Iterator[Figure]:
    points = points_of(record)
    nonzero = points[-1].nonzero if points else None
    note = "" if nonzero is None else f"{some(nonzero, 'weight')} not 0"
    yield Figure("Features", count(record.n_features), note, record.n_features)
    if points and (speed := speed_of(points[-1])) is not None:
        yield Figure("Examples/s", rough(speed), f"in {duration(points[-1].seconds)}", speed, "high")
    yield Figure("Skipped", count(record.skipped), "could not be read", record.skipped)


_HELD_OUT = {"error": ("Holdout error", percent), "log_loss": ("Holdout log-loss", fixed)}


def _held_out(record: Record) -> Iterator[Figure]:
    told = dict(record.holdout or {})
    examples = told.pop("count", None)
    note = f"{count(examples)} held out" if examples is not None else ""
    for key, value in told.items():
        name, form = _HELD_OUT.get(key, (f"Holdout {key.replace('_', ' ')}", measure))
        yield Figure(name, form(value), note, value, "low" if key in _HELD_OUT else "")
