"""How many of the paper's 72 mistake rates and update counts come out again, and which do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scwlearn._util.significance import spread
from scwlearn.experiments import paper
from scwlearn.experiments.online_runs import Cell, OnlineRuns
from scwlearn.experiments.table3 import settings
from scwlearn.experiments.tables import Table
from scwlearn.rules import HOLD, Rule

#: A mistake rate agrees within so many of the paper's standard deviations, or within this much.
STDS = 3.0
RATE = 0.005
#: Update counts agree within this share.
SHARE = 0.15


@dataclass(frozen=True)
class Comparison:
    """A cell of the paper's Table 3 beside ours."""

    run: OnlineRuns
    printed: paper.Published

    @property
    def rate(self) -> float:
        return float(self.run.final_rates.mean())

    @property
    def updates(self) -> float:
        return float(self.run.final_updates.mean()) + self._counted_besides

    @property
    def _counted_besides(self) -> int:
        """The paper counts rounds with a loss. A hinge loss is 1 on a row without features, which moves nothing."""
        return self.run.empty_rows if _has_hinge_loss(self.run.rule) else 0

    @property
    def stds_apart(self) -> float:
        return self.printed.stds_to(self.rate)

    @property
    def rate_agrees(self) -> bool:
        return abs(self.rate - self.printed.mistake_rate) <= max(STDS * self.printed.rate_std, RATE)

    @property
    def updates_agree(self) -> bool:
        return self._near(self.updates)

    @property
    def tied(self) -> Cell | None:
        """The point of the grid with the nearest number of updates among those as good as the best, if near enough.

        As good: on the permutation that the parameters are chosen on, it makes at most one standard deviation of
        mistakes (over the permutations, at the best point) more than the best.
        """
        best = min(cell.mistake_rate for cell in self.run.cells)
        as_good = [c for c in self.run.cells if c.mistake_rate <= best + spread(self.run.final_rates)]
        counted = [replace(cell, updates=cell.updates + self._counted_besides) for cell in as_good]
        nearest = min(counted, key=lambda cell: abs(cell.updates - self.printed.updates))
        return nearest if self._near(nearest.updates) else None

    def _near(self, updates: float) -> bool:
        return abs(updates / self.printed.updates - 1) <= SHARE


def comparisons(blocks: Sequence[Sequence[OnlineRuns]]) -> list[Comparison]:
    """Every run that the paper prints numbers for, variants of its rules included."""
    runs = [run for block in blocks for run in block]
    printed = [(run, paper.printed(run)) for run in runs]
    return [Comparison(run, cell) for run, cell in printed if cell is not None]


def agreement(blocks: Sequence[Sequence[OnlineRuns]]) -> Table:
    """How many agree, algorithm by algorithm, and together: with the rules as they are, and with LIBOL's."""
    by_rule: dict[str, list[Comparison]] = {}
    for c in comparisons(blocks):
        by_rule.setdefault(c.run.rule.title, []).append(c)
    rows = [(title, *_counts(own)) for title, own in by_rule.items()]
    for what, instead in (
        ("**all, as the rules are**", ()),
        ("**all, NAROW as in LIBOL**", ("narow",)),
        ("**all, NAROW and SCW-II as in LIBOL**", ("narow", "scw2")),
    ):
        chosen = [c for own in by_rule.values() for c in own if _stands_for_its_row(c.run.rule, instead)]
        if all(any(c.run.rule.variant_of == name for c in chosen) for name in instead):
            rows.append((what, *_counts(chosen)))
    return Table(
        "How many of the paper's numbers come out again",
        ("algorithm", "mistake rates", "updates, at our parameters", "updates, there or at a tied point"),
        rows,
        (
            f"A mistake rate agrees within {STDS:g} of the paper's standard deviations or {RATE:g}, a number of "
            f"updates within {100 * SHARE:g} %. A point of the grid is tied if, on the permutation that parameters are "
            "chosen on, it makes at most one standard deviation of mistakes more than the best: the minimum in "
            "(C, eta) is flat. Updates are counted as in the paper: with a hinge loss, rows without features too.",
        ),
    )


def _counts(cells: Sequence[Comparison]) -> tuple[str, str, str]:
    marks = (
        [c.rate_agrees for c in cells],
        [c.updates_agree for c in cells],
        [c.updates_agree or c.tied is not None for c in cells],
    )
    rates, updates, tied = (f"{sum(mark)} of {len(cells)}" for mark in marks)
    return rates, updates, tied


def _stands_for_its_row(rule: Rule, instead: tuple[str, ...]) -> bool:
    return (rule.variant_of in instead) if rule.variant_of else (rule.name not in instead)


def _has_hinge_loss(rule: Rule) -> bool:
    """Whether it asks for a margin even where the variance vanishes."""
    return rule.step(0.5, 1e-12, 1.0, 1.0, rule.constants({})) != HOLD


def differences(blocks: Sequence[Sequence[OnlineRuns]]) -> Table:
    """Every cell that does not agree at our parameters, or that lies more than 3 of the paper's stds apart."""
    rows = []
    for c in comparisons(blocks):
        if c.rate_agrees and c.updates_agree and abs(c.stds_apart) <= STDS:
            continue
        tied = ""
        if not c.updates_agree:
            tied = f"{settings(c.tied.parameters)}: {c.tied.updates:.0f}" if c.tied is not None else "none"
        rows.append(
            (
                c.run.data,
                c.run.rule.title,
                f"{c.rate:.4f}",
                f"{c.printed.mistake_rate:.3f} ± {c.printed.rate_std:.3f}",
                f"{c.stds_apart:+.1f}" + ("" if c.rate_agrees else " **differs**"),
                f"{c.updates:.0f}",
                f"{c.printed.updates:.0f}",
                f"{c.updates / c.printed.updates:.2f}" + ("" if c.updates_agree else " **differs**"),
                settings(c.run.parameters),
                tied,
            )
        )
    columns = (
        *("data set", "algorithm", "mistake rate", "paper's", "in its std", "updates", "paper's updates", "ratio"),
        *("parameters", "tied point: updates"),
    )
    return Table(
        "Where they differ", columns, rows, words=frozenset({"algorithm", "parameters", "tied point: updates"})
    )
