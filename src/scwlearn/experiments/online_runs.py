"""What an algorithm did on a data set, over all permutations: what the tables and figures are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.experiments.jobs import Outcome
from scwlearn.rules import Rule

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """A point of the grid, and what came of it where the parameters were chosen."""

    parameters: dict[str, float]
    #: Of the rows judged: all of the tuning order, or of all folds together.
    mistake_rate: float
    updates: float


@dataclass(frozen=True)
class OnlineRuns:
    """An algorithm on a data set: arrays of shape (permutations, checkpoints)."""

    #: The title of the set, and its name.
    data: str
    name: str
    rule: Rule
    covariance: str
    parameters: dict[str, float]
    cells: tuple[Cell, ...]
    #: Rows without any feature: they are classified, and teach nothing.
    empty_rows: int
    #: Whether the rows come in the order of the set, which then is also that of tuning.
    keeps_order: bool
    seen: NDArray[np.intp]
    mistake_rate: Array
    updates: Array
    seconds: Array

    @property
    def final_rates(self) -> Array:
        return self.mistake_rate[:, -1]

    @property
    def final_updates(self) -> Array:
        return self.updates[:, -1]

    @property
    def typical_seconds(self) -> float:
        """The median, which a pause of the machine in one of the runs does not move."""
        return float(np.median(self.seconds[:, -1]))


def curves(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The arrays of OnlineRuns from the outcomes of one run for each permutation."""
    seen = np.array(outcomes[0].seen)
    return {
        "seen": seen,
        "mistake_rate": np.array([o.mistakes for o in outcomes]) / seen,
        "updates": np.array([o.updates for o in outcomes], dtype=float),
        "seconds": np.array([o.seconds for o in outcomes]),
    }
