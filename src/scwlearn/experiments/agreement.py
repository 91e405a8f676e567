"""How many of the paper's 72 mistake rates and update counts are reproduced, and which are not."""

from __future__ import annotations

from dataclasses import dataclass

from scwlearn._util.significance import spread
from scwlearn.display.formatting import parameter_text
from scwlearn.display.tables import Table
from scwlearn.experiments.paper import PublishedCell, published_cell
from scwlearn.experiments.study import Blocks, DataSetRuns
from scwlearn.rules import HOLD, Rule
from scwlearn.runs.tune import CellResult

#: A mistake rate agrees within this many of the paper's standard deviations, or within this absolute difference.
MAX_STDS = 3.0
MAX_RATE_DIFFERENCE = 0.005
#: Update counts agree within this relative difference.
MAX_UPDATE_DIFFERENCE = 0.15


@dataclass(frozen=True)
class CellComparison:
    """A cell of the paper's Table 3 and our runs."""

    run: DataSetRuns
    published: PublishedCell

    @property
    def updates(self) -> float:
        """Our mean number of updates, counted as in the paper."""
        return float(self.run.final_updates.mean()) + self._empty_rows

    @property
    def _empty_rows(self) -> int:
        """The paper counts rounds with a loss: a hinge loss is 1 on a row without features, which changes nothing."""
        return self.run.empty_rows if _has_hinge_loss(self.run.rule) else 0

    @property
    def stds_apart(self) -> float:
        """The difference of the mistake rates in the paper's standard deviations."""
        return self.published.stds_to(self.run.mean_error)

    @property
    def rate_agrees(self) -> bool:
        """Whether the mistake rates agree."""
        limit = max(MAX_STDS * self.published.rate_std, MAX_RATE_DIFFERENCE)
        return abs(self.run.mean_error - self.published.mistake_rate) <= limit

    @property
    def updates_agree(self) -> bool:
        """Whether the update counts agree at our parameters."""
        return self._is_near(self.updates)

    def tied_cell(self) -> tuple[CellResult, int] | None:
        """Find the cell tied with the best whose update count is nearest to the paper's, if that agrees.

        Tied: on the tuning permutation it makes at most one standard deviation of mistakes (over the permutations, at
        the best cell) more than the best.
        """
        limit = min(cell.error for cell in self.run.cells) + spread(self.run.final_errors)
        tied = [(cell, cell.counts.updates + self._empty_rows) for cell in self.run.cells if cell.error <= limit]
        nearest = min(tied, key=lambda each: abs(each[1] - self.published.updates))
        return nearest if self._is_near(nearest[1]) else None

    def _is_near(self, updates: float) -> bool:
        return abs(updates / self.published.updates - 1) <= MAX_UPDATE_DIFFERENCE


def comparisons(blocks: Blocks) -> list[CellComparison]:
    """Return all runs for which the paper prints numbers, including variants of its rules."""
    runs = [(run, published_cell(run)) for block in blocks for run in block]
    return [CellComparison(run, cell) for run, cell in runs if cell is not None]


def agreement_table(blocks: Blocks) -> Table:
    """Count the agreements by algorithm and in total, with our rules and with LIBOL's variants."""
    by_rule: dict[str, list[CellComparison]] = {}
    for c in comparisons(blocks):
        by_rule.setdefault(c.run.rule.title, []).append(c)
    rows = [(title, *_counts(own)) for title, own in by_rule.items()]
    for title, replaced in (
        ("**all, our rules**", ()),
        ("**all, NAROW as in LIBOL**", ("narow",)),
        ("**all, NAROW and SCW-II as in LIBOL**", ("narow", "scw2")),
    ):
        chosen = [c for own in by_rule.values() for c in own if _takes_part(c.run.rule, replaced)]
        if all(any(c.run.rule.variant_of == name for c in chosen) for name in replaced):
            rows.append((title, *_counts(chosen)))
    return Table(
        "Agreement with the paper's numbers",
        ("algorithm", "mistake rates", "updates, at our parameters", "updates, there or at a tied cell"),
        rows,
        (
            f"Mistake rates agree within {MAX_STDS:g} of the paper's standard deviations or {MAX_RATE_DIFFERENCE:g}, "
            f"numbers of updates within {100 * MAX_UPDATE_DIFFERENCE:g} %. A cell of the grid is tied if, on the "
            "permutation used for tuning, it makes at most one standard deviation of mistakes more than the best: the "
            "minimum in (C, eta) is flat. Updates are counted as in the paper: with a hinge loss, rows without "
            "features count.",
        ),
    )


def _counts(cells: list[CellComparison]) -> tuple[str, str, str]:
    rates = sum(c.rate_agrees for c in cells)
    updates = sum(c.updates_agree for c in cells)
    tied = sum(c.updates_agree or c.tied_cell() is not None for c in cells)
    total = len(cells)
    return f"{rates} of {total}", f"{updates} of {total}", f"{tied} of {total}"


def _takes_part(rule: Rule, replaced: tuple[str, ...]) -> bool:
    return (rule.variant_of in replaced) if rule.variant_of else (rule.name not in replaced)


def _has_hinge_loss(rule: Rule) -> bool:
    """Whether a rule requires a margin even if the variance vanishes."""
    return rule.step(0.5, 1e-12, 1.0, 1.0, rule.constants({})) != HOLD


def differences_table(blocks: Blocks) -> Table:
    """List the cells that do not agree at our parameters, or are more than 3 of the paper's stds apart."""
    rows = []
    for c in comparisons(blocks):
        if c.rate_agrees and c.updates_agree and abs(c.stds_apart) <= MAX_STDS:
            continue
        tied = None if c.updates_agree else c.tied_cell()
        rows.append(
            (
                c.run.title,
                c.run.rule.title,
                f"{c.run.mean_error:.4f}",
                f"{c.published.mistake_rate:.3f} ± {c.published.rate_std:.3f}",
                f"{c.stds_apart:+.1f}" + ("" if c.rate_agrees else " **differs**"),
                f"{c.updates:.0f}",
                f"{c.published.updates:.0f}",
                f"{c.updates / c.published.updates:.2f}" + ("" if c.updates_agree else " **differs**"),
                parameter_text(c.run.parameters),
                f"{parameter_text(tied[0].parameters)}: {tied[1]}" if tied else "" if c.updates_agree else "none",
            )
        )
    columns = (
        *("data set", "algorithm", "mistake rate", "paper", "difference (std)", "updates", "paper's updates", "ratio"),
        *("parameters", "tied cell: updates"),
    )
    text = frozenset({"algorithm", "parameters", "tied cell: updates"})
    return Table("Differences from the paper's numbers", columns, rows, text_columns=text)
