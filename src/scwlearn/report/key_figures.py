"""The key figures of a run, computed from its record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scwlearn.data.run_record import Baseline, Bin, Point, Record
from scwlearn.display.formatting import (
    abbreviated,
    count,
    duration,
    four_decimals,
    four_digits,
    percent,
    plural,
    shorten,
)
from scwlearn.display.markup import visible

_HOLDOUT = {"error": ("Holdout error", percent), "log_loss": ("Holdout log-loss", four_decimals)}


@dataclass(frozen=True)
class KeyFigure:
    """A number that summarises a run, or its data; `better` is "low", "high" or empty."""

    name: str
    text: str
    note: str = ""
    value: float = math.nan
    better: str = ""
    of_data: bool = False


def curve_points(record: Record) -> list[Point]:
    """Return the points of the curve that have more examples than those before."""
    kept: list[Point] = []
    for point in record.curve:
        if point.seen > (kept[-1].seen if kept else 0):
            kept.append(point)
    return kept


def difference(one: Point, other: Point) -> Point:
    """Return the numbers of the examples between two points of a curve, as a point."""
    seen, loss = other.seen - one.seen, None
    if one.log_loss is not None and other.log_loss is not None:
        loss = (other.log_loss * other.seen - one.log_loss * one.seen) / seen
    return Point(
        seen, other.mistakes - one.mistakes, other.updates - one.updates, None, other.seconds - one.seconds, loss
    )


def label_text(baseline: Baseline) -> str:
    """Return the label of a baseline, shortened."""
    return shorten(visible(str(baseline.label)), 20)


def mean_speed(point: Point) -> float | None:
    """Return the examples per second; None if no time was measured."""
    return point.seen / point.seconds if point.seconds > 0 else None


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Return the expected calibration error (ECE); None without predictions."""
    total = sum(part.count for part in bins)
    if total <= 0:
        return None
    return sum(abs(part.right - part.count * part.probability) for part in bins) / total


def key_figures(record: Record) -> Iterator[KeyFigure]:
    """Yield the figures at the top of a report."""
    points = curve_points(record)
    end = points[-1] if points else None
    if end is None:
        yield KeyFigure("Examples", "0", "nothing learned")
    else:
        passes = f"{count(record.epochs)} epochs" if record.epochs != 1 else "one pass"
        yield KeyFigure("Examples", count(end.seen), passes, end.seen)
        rate, updated = end.mistakes / end.seen, end.updates / end.seen
        yield KeyFigure("Mistake rate", percent(rate), plural(end.mistakes, "mistake"), rate, "low")
        yield from _baseline_figure("Baseline", record.baseline)
        yield KeyFigure("Updates", percent(updated), plural(end.updates, "example"), updated)
        if end.log_loss is not None:
            yield KeyFigure("Log-loss", four_decimals(end.log_loss), "before learning", end.log_loss, "low")
        if (error := calibration_error(record.reliability or ())) is not None:
            yield KeyFigure("Calibration error", percent(error), "ECE", error, "low")
    note = "" if end is None or end.nonzero is None else plural(end.nonzero, "nonzero weight")
    yield KeyFigure("Features", count(record.n_features), note, record.n_features)
    if end is not None and (speed := mean_speed(end)) is not None:
        yield KeyFigure("Examples/s", abbreviated(speed), f"in {duration(end.seconds)}", speed, "high")
    yield KeyFigure("Skipped", count(record.skipped), "invalid examples", record.skipped)
    holdout = dict(record.holdout or {})
    examples = holdout.pop("count", None)
    note = f"{count(examples)} held out" if examples is not None else ""
    for key, value in holdout.items():
        name, form = _HOLDOUT.get(key, (f"Holdout {key.replace('_', ' ')}", four_digits))
        yield KeyFigure(name, form(value), note, value, "low" if key in _HOLDOUT else "")
        if key == "error":
            yield from _baseline_figure("Holdout baseline", record.holdout_baseline)


def _baseline_figure(name: str, baseline: Baseline | None) -> Iterator[KeyFigure]:
    if baseline is not None:
        yield KeyFigure(name, percent(baseline.error), f"always {label_text(baseline)}", baseline.error, of_data=True)
