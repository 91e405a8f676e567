"""Compare a low-rank plus diagonal precision with a diagonal and a full one, for AROW in plain NumPy.

Prints the table of docs/covariances.md. Sigma^-1 = D + U U', with at most `rank` columns in U.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from data_sets import SEED, argument_parser, load
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner
from scwlearn.datasets import DataSet, load_set

Array = NDArray[np.float64]

RANKS = (10, 50)
#: Values of the parameter r; the best one is chosen for each form.
GRID = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
PAIRS = ("news-pc-mac", "news-electronics-med", "news-guns-mideast")
IMAGES = ("mnist1vs2-scaled", "mitface")
#: Rows of each order; the prototype takes milliseconds per row.
ROWS = 2_000


class LowRank:
    """AROW whose precision is a diagonal plus `rank` directions; what does not fit is added to the diagonal."""

    def __init__(self, width: int, rank: int, r: float) -> None:
        self.mean, self.diagonal = np.zeros(width), np.ones(width)
        self.rank, self.r = rank, r
        # Twice as many columns, so that a decomposition serves as many updates as the rank.
        self.columns = np.zeros((width, 2 * rank))
        # U' D^-1 U.
        self.gram = np.zeros((2 * rank, 2 * rank))
        self.used = 0

    def learn(self, places: Any, values: Array, label: int) -> bool:
        """Learn from a row; return whether it was misclassified."""
        score = float(values @ self.mean[places])
        scaled = values / self.diagonal[places]
        product = np.zeros(len(self.mean))
        product[places] = scaled
        if self.used:
            columns = self.columns[:, : self.used]
            inner = np.linalg.solve(np.eye(self.used) + self.gram[: self.used, : self.used], columns[places].T @ scaled)
            product -= (columns @ inner) / self.diagonal
        variance = float(values @ product[places])
        loss = 1 - label * score
        if loss > 0:
            self.mean += loss * label / (variance + self.r) * product
            self._add(places, values / np.sqrt(self.r))
        # As in the library: a score of 0 is +1.
        return (1 if score >= 0 else -1) != label

    def _add(self, places: Any, column: Array) -> None:
        if not self.rank:
            self.diagonal[places] += column**2
            return
        if self.used == 2 * self.rank:
            self._compress()
        self.columns[places, self.used] = column
        self.used += 1
        products = self.columns[places].T @ (column / self.diagonal[places])
        self.gram[self.used - 1], self.gram[:, self.used - 1] = products, products

    def _compress(self) -> None:
        """Keep the directions that matter most relative to the diagonal."""
        _, vectors = np.linalg.eigh(self.gram)
        turned = self.columns @ vectors[:, ::-1]
        self.diagonal += (turned[:, self.rank :] ** 2).sum(axis=1)
        self.columns[:] = 0
        self.columns[:, : self.rank] = turned[:, : self.rank]
        self.used = self.rank
        self.gram = self.columns.T @ (self.columns / self.diagonal[:, None])


def mistakes(data: DataSet, order: NDArray[np.intp], rank: int, r: float) -> int:
    """Count the mistakes of the prototype in one pass."""
    rows = sparse.csr_array(data.x)[order]
    model = LowRank(rows.shape[1], rank, r)
    found = 0
    for start, end, label in zip(rows.indptr, rows.indptr[1:], data.y[order].tolist(), strict=False):
        found += model.learn(rows.indices[start:end], rows.data[start:end], label)
    return found


def library(data: DataSet, order: NDArray[np.intp], covariance: str, r: float) -> int:
    """Count the mistakes of the library's AROW."""
    return Learner("arow", covariance=covariance, r=r).learn(data.x[order], data.y[order]).mistakes


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, list(IMAGES))
    parser.add_argument("--orders", type=int, default=2, help="random orders; default: 2")
    asked = parser.parse_args()
    forms = ["diagonal", *(f"rank {rank}" for rank in RANKS), "full"]
    heads = ["rows", "d", *(f"{form}, r = 1" for form in forms), *(f"{form}, best r" for form in forms)]
    print(f"| set | {' | '.join(heads)} |\n|---|{'--:|' * len(heads)}")
    for name in (*PAIRS, *asked.sets):
        data = narrowed(load_set(name, asked.data_dir) if name in PAIRS else load(name, asked.data_dir))
        count = min(ROWS, len(data.y))
        rates = np.zeros((len(GRID), len(forms)))
        for number in range(asked.orders):
            order = np.random.default_rng([SEED, number]).permutation(len(data.y))[:count]
            for place, r in enumerate(GRID):
                print(f"{name}, order {number}, r = {r}", file=sys.stderr)
                rates[place] += np.array(_count(data, order, r)) / count / asked.orders
        cells = [f"{rate:.4f}" if rate else "" for rate in (*rates[GRID.index(1.0)], *rates.min(axis=0))]
        print(f"| {name} | {count:,} | {data.x.shape[1]:,} | {' | '.join(cells)} |", flush=True)


def _count(data: DataSet, order: NDArray[np.intp], r: float) -> list[int]:
    """Count the mistakes of each form; 0 for a full covariance that would be too large."""
    diagonal = library(data, order, "diagonal", r)
    assert abs(mistakes(data, order, 0, r) - diagonal) <= 2, "the prototype of rank 0 is the diagonal"
    full = library(data, order, "full", r) if data.x.shape[1] <= 1000 else 0
    return [diagonal, *(mistakes(data, order, rank, r) for rank in RANKS), full]


def narrowed(data: DataSet) -> DataSet:
    """Leave out the features that never occur: words of other newsgroups."""
    rows = sparse.csr_array(data.x)
    used = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]))
    return DataSet(data.name, data.title, rows[:, used], data.y, data.shuffle)


if __name__ == "__main__":
    main()
