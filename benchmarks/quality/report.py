"""Report of the quality benchmark: errors and losses relative to SCW1, and whether the targets are met."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import NamedTuple

import numpy as np

from quality.models import BASE, BATCH, COMMITTEE, MODELS
from quality.records import Key, Record

#: Added to the sum of a measure over its examples: half an example, so that a set without mistakes has a ratio.
HALF = 0.5
#: Measures that are compared by their ratio to SCW1's, with their titles.
RATIOS = {
    "progressive": "progressive error",
    "held_out": "held-out error",
    "balanced": "balanced error",
    "log_loss": "log-loss",
}


class Target(NamedTuple):
    """A target for the committee, what was measured, and whether it is met."""

    text: str
    measured: str
    met: bool


@dataclass(frozen=True)
class Results:
    """Records of a run, with the means and ratios of the tables."""

    records: dict[Key, Record]

    @property
    def sets(self) -> list[str]:
        """The sets on which SCW1 ran, in alphabetical order."""
        return sorted({key.set for key in self.records if key.model == BASE and key.features == "raw"}, key=str.lower)

    def value(self, name: str, features: str, model: str, measure: str) -> float | None:
        """Return the mean of a measure on a set over its orders."""
        values = self._by_order(name, features, model, measure)
        return float(np.mean(list(values.values()))) if values else None

    def ratio(
        self, name: str, features: str, model: str, measure: str, base: tuple[str, str] = ("raw", BASE)
    ) -> float | None:
        """Return a measure divided by that of `base`, by default SCW1 on raw features, in the orders of both."""
        ours, theirs = (self._by_order(name, *of, measure) for of in ((features, model), base))
        orders = sorted(ours.keys() & theirs.keys())
        if not orders:
            return None
        record = next(record for key, record in self.records.items() if key.set == name)
        rows = record.rows if measure == "progressive" else record.test_rows
        add = 0.0 if measure == "seconds" else HALF / rows
        mean = [float(np.mean([values[order] for order in orders])) + add for values in (ours, theirs)]
        return mean[0] / mean[1]

    def ratios(
        self, features: str, model: str, measure: str, base: tuple[str, str] = ("raw", BASE)
    ) -> dict[str, float]:
        """Return the ratio on each set that has one."""
        found = {name: self.ratio(name, features, model, measure, base) for name in self.sets}
        return {name: ratio for name, ratio in found.items() if ratio is not None}

    def below(self, features: str, model: str, other: str) -> tuple[int, int, int]:
        """Count the sets with a held-out error below another model's, those with the same, and all."""
        found = [self.ratio(name, features, model, "held_out", (features, other)) for name in self.sets]
        measured = [ratio for ratio in found if ratio is not None]
        return sum(ratio < 1 for ratio in measured), sum(ratio == 1 for ratio in measured), len(measured)

    def _by_order(self, name: str, features: str, model: str, measure: str) -> dict[int, float]:
        found = {}
        for key, record in self.records.items():
            if (key.set, key.features, key.model) == (name, features, model):
                value = getattr(record, measure)
                if value is not None:
                    found[key.order] = value
        return found


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def targets(results: Results, costs: dict[str, float]) -> list[Target]:
    """Compare the committee on raw features with its targets."""
    found = []
    for measure, most in (("progressive", 0.88), ("held_out", 0.92), ("log_loss", 0.90)):
        ratios = results.ratios("raw", COMMITTEE, measure)
        mean = geometric_mean([*ratios.values()])
        found.append(
            Target(
                f"{RATIOS[measure]} relative to {BASE}, geometric mean: at most {most:.2f}", f"{mean:.3f}", mean <= most
            )
        )
    for measure in ("progressive", "held_out"):
        ratios = results.ratios("raw", COMMITTEE, measure)
        ordered = sorted(ratios, key=lambda name: -ratios[name])
        # All sets that miss the target, or the worst one.
        shown = [name for name in ordered if ratios[name] > 1.05] or ordered[:1]
        measured = ", ".join(f"{ratios[name]:.3f} ({name})" for name in shown)
        found.append(
            Target(
                f"{RATIOS[measure]} relative to {BASE}, worst sets: at most 1.05", measured, ratios[shown[0]] <= 1.05
            )
        )
    below, equal, count = results.below("raw", COMMITTEE, BATCH)
    found.append(
        Target(
            f"held-out error below that of batch {BATCH}: on at least 80 % of the sets",
            f"{below} of {count}" + (f", equal on {equal}" if equal else ""),
            below >= 0.8 * count,
        )
    )
    for name, ratio in costs.items():
        found.append(Target(f"time relative to {BASE}, {name}: at most 3", f"{ratio:.2f}", ratio <= 3))
    return found


def advice(results: Results) -> str:
    """Return the three lines of docs/choosing.md."""

    def mean(model: str, measure: str, base: str = BASE) -> float:
        return geometric_mean([*results.ratios("raw", model, measure, ("raw", base)).values()])

    below, _, count = results.below("raw", COMMITTEE, BATCH)
    lines = (
        f"1. **`AutoClassifier` by default.** After one pass over raw features its error on new examples is "
        f"{mean(COMMITTEE, 'held_out'):.2f} of `SCW1`'s and {mean(COMMITTEE, 'held_out', BATCH):.2f} of batch logistic "
        f"regression's, and below the latter on {below} of {count} data sets. It follows drift.",
        f"2. **`SCW1` if speed or the size of the model matters.** It trains {mean(COMMITTEE, 'seconds'):.1f} times as "
        f"fast, and its error is {mean(BASE, 'held_out', 'SGDClassifier'):.2f} of `SGDClassifier`'s and "
        f"{mean(BASE, 'held_out', 'VW'):.2f} of Vowpal Wabbit's.",
        f"3. **`TunedClassifier(SCW1())` if you need one small model and have time to tune.** Its error is "
        f"{mean('SCW1-tuned', 'held_out'):.2f} of `SCW1`'s, for {mean('SCW1-tuned', 'seconds'):.0f} times the training "
        f"time.",
    )
    return "\n".join(fill(line, 120, subsequent_indent="   ", break_on_hyphens=False) for line in lines) + "\n"


def markdown(results: Results, costs: dict[str, float], models: Sequence[str]) -> str:
    """Return the tables of docs/quality.md."""
    lines = ["| target for the committee | measured | |", "|---|--:|---|"]
    lines += [
        f"| {text} | {measured} | {'met' if met else '**missed**'} |" for text, measured, met in targets(results, costs)
    ]
    orders = 1 + max(key.order for key in results.records)
    today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    parts = [f"Measured on {today}, random orders: {orders}, data sets: {len(results.sets)}.", "\n".join(lines)]
    for features, title in (("raw", "On raw features"), ("standardised", "On standardised features")):
        parts += [f"### {title}", _summary(results, features, models)]
    for features, measure, title in (
        ("raw", "held_out", "Held-out error on raw features, in percent"),
        ("standardised", "held_out", "Held-out error on standardised features, in percent"),
        ("raw", "progressive", "Progressive error on raw features, in percent"),
        ("raw", "log_loss", "Log-loss on raw features"),
    ):
        parts += [f"### {title}", _per_set(results, features, measure, models)]
    return "\n\n".join(parts) + "\n"


def _summary(results: Results, features: str, models: Sequence[str]) -> str:
    heads = [*RATIOS.values(), "worst set, held out", "ECE", f"sets below {BATCH}", "time"]
    table = []
    for model in models:
        every = {measure: results.ratios(features, model, measure) for measure in (*RATIOS, "seconds")}
        if not every["held_out"]:
            continue
        cells: list[float | str] = [geometric_mean([*every[m].values()]) if every[m] else "" for m in RATIOS]
        worst = max(every["held_out"], key=lambda name: every["held_out"][name])
        errors = [results.value(name, features, model, "ece") for name in results.sets]
        known = [error for error in errors if error is not None]
        below, _, count = results.below(features, model, BATCH)
        cells += [f"{every['held_out'][worst]:.2f} ({worst})", float(np.mean(known)) if known else ""]
        cells += [
            f"{below} of {count}" if model != BATCH and count else "",
            f"{geometric_mean([*every['seconds'].values()]):.2g}",
        ]
        table.append((MODELS[model].title, cells))
    best = [
        min((row[place] for _, row in table if isinstance(row[place], float)), default=None)
        for place in range(len(heads))
    ]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    lines += [
        f"| {title} | {' | '.join(_bold(cell, least, 3) for cell, least in zip(row, best, strict=True))} |"
        for title, row in table
    ]
    return "\n".join(lines)


def _per_set(results: Results, features: str, measure: str, models: Sequence[str]) -> str:
    factor, digits = (1.0, 3) if measure == "log_loss" else (100.0, 2)
    table = {
        name: [None if value is None else round(factor * value, digits) for value in values]
        for name in results.sets
        if any(values := [results.value(name, features, model, measure) for model in models])
    }
    shown = [place for place in range(len(models)) if any(row[place] is not None for row in table.values())]
    lines = [f"| | {' | '.join(MODELS[models[place]].title for place in shown)} |", "|---|" + "--:|" * len(shown)]
    for name, row in table.items():
        least = min(value for value in row if value is not None)
        cells = ["" if row[place] is None else _bold(row[place], least, digits) for place in shown]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _bold(cell: float | str | None, least: float | str | None, digits: int) -> str:
    if not isinstance(cell, float):
        return str(cell)
    text = f"{cell:.{digits}f}"
    return f"**{text}**" if cell == least else text
