"""Theorem 1 on runs of SCW-I: where its condition can be met, and what it guarantees there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scwlearn.datasets import DataSet
from scwlearn.display.document import Table, yes_no
from scwlearn.learning.bounds import LossBound, loss_bound

#: A value of C that limits no step: SCW-I is then CW, and the theorem needs no excess. On noisy data the variances of
#: CW shrink so fast that steps exceed 1e50 within thousands of rounds.
UNLIMITED_C = 1e100

#: The search for a feasible comparison takes seconds for this many rows of a few hundred features.
MAX_ROWS = 10_000

# Relative tolerance of inequalities between sums over many rounds.
_TOLERANCE = 1e-9

EXPLANATION = (
    "SCW-I at its tuned parameters, and without a limit to its steps (C = 1e100, which is CW), on the first rows of a "
    "random order. k = (1 + phi²)/phi². The theorem compares a run with a Gaussian that classifies every example that "
    "changed the model at least as well as the run did. On data that is not linearly separable such a Gaussian does "
    "not exist beyond some row, and the theorem applies to the rows before it. The paper states sum l ≤ sum alpha² v; "
    "the two differ by the factor k on every run. The excess is what steps that C made too short may add to the bound.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundRow:
    """A run, and its longest beginning for which a feasible comparison exists.

    Every round adds a condition, so once there is no feasible comparison there is none later. An online run that is
    stopped early is a run, so the theorem applies to its beginning.
    """

    title: str
    C: float
    eta: float
    run: LossBound
    compared: LossBound
    #: Number of rows of the run, and of those with a feasible comparison.
    rows: int
    compared_rows: int
    #: Number of rounds that changed the model.
    updates: int
    #: Largest relative difference of a round's loss from k alpha^2 v: only rounding.
    deviation: float
    #: The inequality as printed in the paper, sum l <= sum alpha^2 v: false on every run with an update.
    printed_holds: bool
    #: The paper's conclusion: there are no more mistakes than the sum of the losses.
    mistakes_within_loss: bool
    #: k B of the compared rows, the right side that the paper intends, and k times their excess.
    bound: float
    excess: float
    #: Whether the sum of losses is at most k B: guaranteed only if no step is limited.
    within_bound: bool
    #: Whether the sum of losses is at most k (B + excess): the corrected theorem.
    within_limit: bool


def theorem1(data: DataSet, *, C: float, eta: float, seed: int, max_rows: int = MAX_ROWS) -> BoundRow:
    """Run SCW-I over the first rows of a random order, and compare as many of them as possible."""
    order = np.random.default_rng(seed).permutation(len(data.y))[:max_rows]

    def first(rows: int) -> LossBound:
        return loss_bound(data.x[order[:rows]], data.y[order[:rows]], C=C, eta=eta)

    run = compared = first(len(order))
    if not run.feasible:
        compared = first(bisect_left(range(1, len(order)), True, key=lambda rows: not first(rows).feasible))
    moved = run.squares > 0
    ratios = run.losses[moved] / (run.factor * run.squares[moved])
    bound = compared.factor * compared.bound
    return BoundRow(
        title=data.title,
        C=C,
        eta=eta,
        run=run,
        compared=compared,
        rows=len(run.losses),
        compared_rows=len(compared.losses),
        updates=int(moved.sum()),
        deviation=float(np.max(np.abs(ratios - 1), initial=0.0)),
        printed_holds=_at_most(run.loss, float(run.squares.sum())),
        mistakes_within_loss=_at_most(run.mistakes, run.loss),
        bound=bound,
        excess=compared.factor * compared.excess,
        within_bound=_at_most(compared.loss, bound),
        within_limit=_at_most(compared.loss, compared.loss_limit),
    )


def theorem1_tables(rows: Sequence[BoundRow]) -> list[Table]:
    """Return the statements about whole runs, and the bound on the rows that can be compared."""
    return [Table.of("Whole runs", rows, _WHOLE_RUN), Table.of("Rows with a feasible comparison", rows, _COMPARED)]


def _at_most(small: float, large: float) -> bool:
    return small <= large * (1 + _TOLERANCE)


def _feasible(row: BoundRow) -> str:
    return "Yes" if row.compared_rows == row.rows else f"No: none from row {row.compared_rows + 1}"


# Heading and cell of each column.
Columns = dict[str, Callable[[BoundRow], str]]

_RUN: Columns = {
    "data set": lambda row: row.title,
    "C": lambda row: f"{row.C:g}",
    "eta": lambda row: f"{row.eta:g}",
}
_WHOLE_RUN: Columns = _RUN | {
    "rows": lambda row: f"{row.rows}",
    "updates": lambda row: f"{row.updates}",
    "sum l": lambda row: f"{row.run.loss:.4g}",
    "sum alpha² v": lambda row: f"{row.run.squares.sum():.4g}",
    "sum l ≤ sum alpha² v (paper)": lambda row: yes_no(row.printed_holds),
    "relative error of l = k alpha² v": lambda row: f"{row.deviation:.0e}",
    "mistakes": lambda row: f"{row.run.mistakes}",
    "mistakes ≤ sum l": lambda row: yes_no(row.mistakes_within_loss),
    "loss can reach 1 on every mistake": lambda row: yes_no(row.run.cap_covers_mistakes),
}
_COMPARED: Columns = _RUN | {
    "feasible for all rows": _feasible,
    "rows compared": lambda row: f"{row.compared_rows}",
    "sum l": lambda row: f"{row.compared.loss:.4g}",
    "k B": lambda row: f"{row.bound:.4g}",
    "k excess": lambda row: f"{row.excess:.2g}",
    "sum l ≤ k B": lambda row: yes_no(row.within_bound),
    "sum l ≤ k (B + excess)": lambda row: yes_no(row.within_limit),
}
