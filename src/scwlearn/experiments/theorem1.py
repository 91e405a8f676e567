"""Theorem 1 on real runs of SCW-I: what it promises where its condition can be met, and how far that is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scwlearn.experiments.tables import Table, yes_no
from scwlearn.learning.bounds import LossBound, loss_bound

#: An aggressiveness that cuts no step: SCW-I is then CW, and the theorem needs no excess. On noisy rows CW's variances
#: fall so fast that steps grow beyond 1e50 within thousands of rounds.
CW_LIMIT = 1e100

#: The search for a comparison grows with the moves, and is made once for each halving of the rows: seconds for this
#: many rows of a few hundred features.
MOST_ROWS = 10_000

# An inequality between sums of many rounds is judged up to this share.
_SLACK = 1e-9


WORDS = (
    "For SCW-I at its tuned parameters and without a limit to its steps (C = 1e100, which is CW), over the first rows "
    "of a random order. k = (1 + phi²)/phi². The theorem compares a run with a Gaussian that puts every example that "
    "moved the model as well as the run did; on data that no hyperplane separates there is none after some row, and it "
    "speaks of the rows before. The paper prints sum l ≤ sum alpha² v; the two differ by the factor k on every run. "
    "The excess is what steps that C cut too short may add to the bound.",
)


class Examples(Protocol):
    """Rows and labels -1 and +1, under the title they have in the table."""

    @property
    def title(self) -> str: ...
    @property
    def x(self) -> Any: ...
    @property
    def y(self) -> NDArray[Any]: ...


@dataclass(frozen=True, eq=False)
class BoundRow:
    """A run, and its longest part from the start for which a feasible comparison exists.

    Without one the theorem says nothing. More rounds are more conditions, so that once there is none there is
    none again; an online run stopped early is the same run, so that the theorem speaks of the part.
    """

    title: str
    C: float
    eta: float
    run: LossBound
    compared: LossBound

    @property
    def rows(self) -> int:
        """How many rows were run."""
        return len(self.run.losses)

    @property
    def compared_rows(self) -> int:
        """How many of them have a feasible comparison."""
        return len(self.compared.losses)

    @property
    def moves(self) -> int:
        """How many rounds of the run moved the model."""
        return int(np.count_nonzero(self.run.squares))

    @property
    def deviation(self) -> float:
        """The largest relative difference of a round's loss from k alpha^2 v: rounding alone."""
        squares = self.run.factor * self.run.squares
        moved = squares > 0
        return float(np.max(np.abs(self.run.losses[moved] / squares[moved] - 1), initial=0.0))

    @property
    def printed_holds(self) -> bool:
        """The first inequality as the paper prints it, sum l <= sum alpha^2 v: false on every run that moves."""
        return _at_most(self.run.loss, float(self.run.squares.sum()))

    @property
    def mistakes_within_loss(self) -> bool:
        """What the paper concludes: no more mistakes than the sum of the losses."""
        return _at_most(self.run.mistakes, self.run.loss)

    @property
    def bound(self) -> float:
        """k B of the compared part: the right side as the paper means it."""
        return self.compared.factor * self.compared.bound

    @property
    def excess(self) -> float:
        """What steps that C cut too short add to it, k times."""
        return self.compared.factor * self.compared.excess

    @property
    def within_bound(self) -> bool:
        """The compared part's sum of losses is at most k B: not promised, but for steps that are not cut."""
        return _at_most(self.compared.loss, self.bound)

    @property
    def within_limit(self) -> bool:
        """The compared part's sum of losses is at most k (B + excess): the theorem as corrected."""
        return _at_most(self.compared.loss, self.compared.loss_limit)


def theorem1(data: Examples, *, C: float, eta: float, seed: int, most_rows: int = MOST_ROWS) -> BoundRow:
    """Run SCW-I over the first `most_rows` rows of a random order and compare as much of it as can be compared."""
    order = np.random.default_rng(seed).permutation(len(data.y))[:most_rows]

    def first(rows: int) -> LossBound:
        return loss_bound(data.x[order[:rows]], data.y[order[:rows]], C=C, eta=eta)

    run = compared = first(len(order))
    if not run.feasible:
        compared = first(bisect_left(range(1, len(order)), True, key=lambda rows: not first(rows).feasible))
    return BoundRow(data.title, C, eta, run, compared)


def tables(rows: Sequence[BoundRow]) -> list[Table]:
    """What needs no comparison, on whole runs; and the bound, on as much of each as can be compared."""
    return [_table("Whole runs", rows, _WHOLE_RUN), _table("As far as a comparison exists", rows, _COMPARED)]


def _at_most(small: float, large: float) -> bool:
    return small <= large * (1 + _SLACK)


def _exists(row: BoundRow) -> str:
    if row.compared_rows == row.rows:
        return "Yes"
    return f"No: the condition is empty from row {row.compared_rows + 1} on"


# A title, and the cell of a row.
Columns = tuple[tuple[str, Callable[[BoundRow], str]], ...]

_RUN: Columns = (
    ("data set", lambda row: row.title),
    ("C", lambda row: f"{row.C:g}"),
    ("eta", lambda row: f"{row.eta:g}"),
)
_WHOLE_RUN: Columns = (
    *_RUN,
    ("rows", lambda row: f"{row.rows}"),
    ("moves", lambda row: f"{row.moves}"),
    ("sum l", lambda row: f"{row.run.loss:.4g}"),
    ("sum alpha² v", lambda row: f"{row.run.squares.sum():.4g}"),
    ("sum l ≤ sum alpha² v, as printed", lambda row: yes_no(row.printed_holds)),
    ("l = k alpha² v up to", lambda row: f"{row.deviation:.0e}"),
    ("mistakes", lambda row: f"{row.run.mistakes}"),
    ("mistakes ≤ sum l", lambda row: yes_no(row.mistakes_within_loss)),
    ("cap covers mistakes", lambda row: yes_no(row.run.cap_covers_mistakes)),
)
_COMPARED: Columns = (
    *_RUN,
    ("a comparison exists", _exists),
    ("rows compared", lambda row: f"{row.compared_rows}"),
    ("sum l", lambda row: f"{row.compared.loss:.4g}"),
    ("k B", lambda row: f"{row.bound:.4g}"),
    ("k excess", lambda row: f"{row.excess:.2g}"),
    ("sum l ≤ k B", lambda row: yes_no(row.within_bound)),
    ("sum l ≤ k (B + excess)", lambda row: yes_no(row.within_limit)),
)


def _table(title: str, rows: Sequence[BoundRow], columns: Columns) -> Table:
    return Table(title, [name for name, _ in columns], [[cell(row) for _, cell in columns] for row in rows])
