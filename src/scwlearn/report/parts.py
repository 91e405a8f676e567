"""Panels of a distributed run: how each part learned, and what the rounds exchanged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from scwlearn.data.run_record import LearnedPart, Record
from scwlearn.display.formatting import count, percent, plural, short_percent
from scwlearn.display.markup import Markup, legend, numbers, panel, table
from scwlearn.display.svg import Line, line_plot

_ALL, _EACH = "all parts", "each part"
_COLUMNS = ("round", "parts", "examples", "first half", "second half", "sent", "slowest part", "merging")


def part_panels(record: Record) -> list[Markup]:
    """Return the panels of a distributed run; none for a run in one stream."""
    rounds = [[*own] for _, own in groupby(record.parts, key=lambda part: (part.epoch, part.round))]
    return [*_curves(rounds), _rounds(record, rounds)] if rounds else []


def _curves(rounds: Sequence[Sequence[LearnedPart]]) -> list[Markup]:
    """Return the plot of the mistake rates of the parts, round by round."""
    ends: list[float] = []
    for own in rounds:
        ends.append((ends[-1] if ends else 0) + sum(part.seen for part in own))
    lines = []
    for number in sorted({part.part for own in rounds for part in own}):
        own_parts = [(end, part) for end, own in zip(ends, rounds, strict=True) for part in own if part.part == number]
        points = [(end, rate) for end, part in own_parts if (rate := _rate([part])) is not None]
        lines.append(Line(f"part {number}", "c1 d0", points))
    mean = [(end, rate) for end, own in zip(ends, rounds, strict=True) if (rate := _rate(own)) is not None]
    if not mean:
        return []
    drawn = [*lines, Line(_ALL, "c0 d0", mean, percent(mean[-1][1]), dots=True)]
    summary = f"{plural(len(lines), 'part')}, at the end {percent(mean[-1][1])} on average."
    plot = line_plot("Mistake rate of the parts by examples", summary, drawn, (), short_percent)
    if plot is None:
        return []
    text = "Mistake rate of each part within a round, by the examples that all parts had learned at its end."
    rows = ((line.name, *(percent(rate) for _, rate in line.points if rate is not None)) for line in drawn)
    width = max(len(line.points) for line in drawn)
    padded = ((*row, *[""] * (1 + width - len(row))) for row in rows)
    columns = ("part", *(f"stretch {number}" for number in range(1, width + 1)))
    names = legend([(_ALL, "c0 d0"), (_EACH, "c1 d0")])
    return [panel("Parts", text, names, plot, numbers(columns, padded, range(1)))]


def _rounds(record: Record, rounds: Sequence[Sequence[LearnedPart]]) -> Markup:
    """Return the table of what each round learned and exchanged."""
    rows = []
    for one, own in zip(record.rounds, rounds, strict=False):
        name = "warm-up" if not one.round else count(one.round)
        halves = [_half(own, first=True), _half(own, first=False)]
        rows.append(
            (
                name if one.epoch == 1 else f"{one.epoch}, {name}",
                count(len(own)),
                count(sum(part.seen for part in own)),
                *("" if half is None else percent(half) for half in halves),
                f"{one.sent_bytes / 1e6:.1f} MB",
                f"{max(part.seconds for part in own):.2f} s",
                f"{one.merge_seconds:.2f} s",
            )
        )
    text = (
        "Mistake rate of the first and the second half of each round. What merging costs shows between the second half "
        "of a round and the first half of the next."
    )
    return panel("Rounds", text, table(_COLUMNS, rows), wide=True)


def _rate(parts: Iterable[LearnedPart]) -> float | None:
    own = [*parts]
    seen = sum(part.seen for part in own)
    return sum(part.mistakes for part in own) / seen if seen else None


def _half(parts: Sequence[LearnedPart], *, first: bool) -> float | None:
    """Return the mistake rate of about half of the examples of each part."""
    seen = mistakes = 0
    for part in parts:
        middle = max((point for point in part.curve if 2 * point[0] <= part.seen), default=(0, 0))
        own = middle if first else [part.seen - middle[0], part.mistakes - middle[1]]
        seen, mistakes = seen + own[0], mistakes + own[1]
    return mistakes / seen if seen else None
