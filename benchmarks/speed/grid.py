"""Many models in one pass over the rows."""

from __future__ import annotations

import os
from itertools import product
from typing import Any

from scwlearn import Learner
from scwlearn.learning.grid import learn_grid
from speed import data
from speed.harness import Race, Scale, Side, comparison, times_faster

#: 90 models with 2^20 features would take 1.5 GB.
WIDTH = 2**16


@comparison("90 models of the (C, eta) grid, CSR, diagonal", against="90 separate runs", target=times_faster(2))
def grid_separate(scale: Scale) -> Race:
    """One thread per core, compared with consecutive runs."""
    rows = data.zipf(scale.of(100_000, 2000), WIDTH, 33)
    cells = [{"C": 2.0**c, "eta": 0.53 + 0.05 * e} for c, e in product(range(-4, 5), range(10))]
    threads = os.cpu_count() or 1

    def separate() -> list[Learner]:
        learners = [Learner("scw1", covariance="diagonal").with_parameters(cell) for cell in cells]
        for learner in learners:
            learner.learn(rows.x, rows.y)
        return learners

    def judge(learners: list[Any]) -> dict[str, float]:
        mistakes = [learner.counts.mistakes for learner in learners]
        return {"models": len(learners), "mistakes": sum(mistakes), "fewest": min(mistakes)}

    return Race(
        f"{rows}, {threads} threads",
        Side(
            "scwlearn",
            lambda: learn_grid("scw1", cells, rows.x, rows.y, covariance="diagonal"),
            judge,
            threads,
            counted=False,
        ),
        Side("90 separate runs", separate, judge),
    )
