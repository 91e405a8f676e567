"""The runs behind Table 3 and Figure 1: every algorithm, tuned, over random permutations of a data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.learner import Learner
from scwlearn.progress import progressive_validation
from scwlearn.rules import Rule
from scwlearn.tune import tune

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DataSet:
    """Examples with labels -1 and +1, under the name they have in the tables."""

    name: str
    x: Any
    y: NDArray[Any]


@dataclass(frozen=True)
class OnlineRuns:
    """What an algorithm did on a data set: arrays of shape (permutations, checkpoints)."""

    data: str
    rule: Rule
    parameters: dict[str, float]
    seen: NDArray[np.intp]
    mistake_rate: Array
    updates: Array
    seconds: Array


def online_runs(
    data: DataSet,
    rule: Rule,
    *,
    permutations: int = 20,
    checkpoints: int = 20,
    seed: int = 0,
    done: Callable[[], None] = lambda: None,
) -> OnlineRuns:
    """Tune on one permutation by online mistakes, then run over others; `done` is called after each.

    As in the paper: no intercept, a full covariance for second-order rules, one pass.
    """
    random = np.random.default_rng(seed)
    how: dict[str, Any] = {"covariance": "full" if rule.order == 2 else "identity"}
    order = random.permutation(len(data.y))
    parameters = tune(rule, data.x[order], data.y[order], **how)
    done()
    runs = []
    for _ in range(permutations):
        order = random.permutation(len(data.y))
        learner = Learner(rule, **(how | parameters))
        runs.append(list(progressive_validation(learner, data.x[order], data.y[order], checkpoints=checkpoints)))
        done()
    return OnlineRuns(
        data=data.name,
        rule=rule,
        parameters=parameters,
        seen=np.array([p.counts.seen for p in runs[0]]),
        mistake_rate=np.array([[p.mistake_rate for p in run] for run in runs]),
        updates=np.array([[p.counts.updates for p in run] for run in runs], dtype=float),
        seconds=np.array([[p.seconds for p in run] for run in runs]),
    )
