"""The key figures of a run, computed from its record."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scwlearn.display.formatting import abbreviated, count, duration, four_decimals, four_digits, percent, plural
from scwlearn.rules import find_rule
from scwlearn.runs.record import Bin, Point, Record


@dataclass(frozen=True)
class KeyFigure:
    """A number that summarises a run; `better` is "low", "high" or empty."""

    name: str
    text: str
    note: str = ""
    value: float = math.nan
    better: str = ""


@dataclass(frozen=True)
class Interval:
    """Rates between two points of a curve; None if not measured."""

    start: int
    stop: int
    mistakes: float
    updates: float
    log_loss: float | None
    speed: float | None


def curve_points(record: Record) -> list[Point]:
    """Return the points of the curve that have more examples than those before."""
    kept: list[Point] = []
    for point in record.curve:
        if point.seen > (kept[-1].seen if kept else 0):
            kept.append(point)
    return kept


def intervals(points: Sequence[Point]) -> list[Interval]:
    """Return the rates from each point to the next."""
    return [_interval(one, other) for one, other in pairwise(points)]


def _interval(one: Point, other: Point) -> Interval:
    seen, seconds = other.seen - one.seen, other.seconds - one.seconds
    loss = None
    if one.log_loss is not None and other.log_loss is not None:
        loss = (other.log_loss * other.seen - one.log_loss * one.seen) / seen
    return Interval(
        one.seen,
        other.seen,
        (other.mistakes - one.mistakes) / seen,
        (other.updates - one.updates) / seen,
        loss,
        seen / seconds if seconds > 0 else None,
    )


def mean_speed(point: Point) -> float | None:
    """Return the examples per second since the start of the run; None if no time was measured."""
    return point.seen / point.seconds if point.seconds > 0 else None


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Return the expected calibration error (ECE); None without predictions."""
    total = sum(part.count for part in bins)
    if total <= 0:
        return None
    return sum(abs(part.right - part.count * part.probability) for part in bins) / total


def algorithm_title(record: Record) -> str:
    """Return the usual name of the algorithm; a user-defined rule may not be declared in this process."""
    try:
        return find_rule(record.algorithm).title
    except ValueError:
        return record.algorithm


def parameter_line(record: Record, chosen: Container[str] | None = None) -> str:
    """List the parameters, or those chosen, in a line."""
    shown = (item for item in record.parameters.items() if chosen is None or item[0] in chosen)
    return ", ".join(f"{name} = {value:.6g}" for name, value in shown)


def distinct_names(records: Sequence[Record]) -> list[str]:
    """Return a short, distinct name for each run: its algorithm, then parameters, data and a number as needed."""
    names = [algorithm_title(record) for record in records]
    every = {name for record in records for name in record.parameters}
    differing = {name for name in every if len({record.parameters.get(name) for record in records}) > 1}
    parameters = [parameter_line(record, differing) for record in records]
    sources = [", ".join(map(str, record.sources)) for record in records]
    for details, form in ((parameters, "{} ({})"), (sources, "{} on {}")):
        if len(set(names)) < len(names):
            names = [form.format(name, part) if part else name for name, part in zip(names, details, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{number}. {name}" for number, name in enumerate(names, 1)]
    return names


def key_figures(record: Record) -> list[KeyFigure]:
    """Return the figures at the top of a report."""
    return [*_learning(record), *_reading(record), *_holdout(record)]


def _learning(record: Record) -> Iterator[KeyFigure]:
    points = curve_points(record)
    if not points:
        yield KeyFigure("Examples", "0", "nothing learned")
        return
    end = points[-1]
    passes = f"{count(record.epochs)} epochs" if record.epochs != 1 else "one pass"
    yield KeyFigure("Examples", count(end.seen), passes, end.seen)
    rate, updated = end.mistakes / end.seen, end.updates / end.seen
    yield KeyFigure("Mistake rate", percent(rate), plural(end.mistakes, "mistake"), rate, "low")
    yield KeyFigure("Updates", percent(updated), plural(end.updates, "example"), updated)
    if end.log_loss is not None:
        yield KeyFigure("Log-loss", four_decimals(end.log_loss), "before learning", end.log_loss, "low")
    if (error := calibration_error(record.reliability or ())) is not None:
        yield KeyFigure("Calibration error", percent(error), "ECE", error, "low")


def _reading(record: Record) -> Iterator[KeyFigure]:
    points = curve_points(record)
    nonzero = points[-1].nonzero if points else None
    note = "" if nonzero is None else plural(nonzero, "nonzero weight")
    yield KeyFigure("Features", count(record.n_features), note, record.n_features)
    if points and (speed := mean_speed(points[-1])) is not None:
        yield KeyFigure("Examples/s", abbreviated(speed), f"in {duration(points[-1].seconds)}", speed, "high")
    yield KeyFigure("Skipped", count(record.skipped), "invalid examples", record.skipped)


_HOLDOUT = {"error": ("Holdout error", percent), "log_loss": ("Holdout log-loss", four_decimals)}


def _holdout(record: Record) -> Iterator[KeyFigure]:
    figures = dict(record.holdout or {})
    examples = figures.pop("count", None)
    note = f"{count(examples)} held out" if examples is not None else ""
    for key, value in figures.items():
        name, form = _HOLDOUT.get(key, (f"Holdout {key.replace('_', ' ')}", four_digits))
        yield KeyFigure(name, form(value), note, value, "low" if key in _HOLDOUT else "")
