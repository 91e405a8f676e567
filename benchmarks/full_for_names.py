"""Compare limits of the full Sigma that "auto" keeps for named features, and what a diagonal keeps of it."""

from __future__ import annotations

import time
from copy import copy
from unittest.mock import patch

import numpy as np
from data_sets import DataSet, argument_parser, load, orders
from scipy import sparse

from scwlearn import Learner
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import as_rows
from scwlearn.learning import growing
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.interleaved import Interleaved

RULES = ("scw1", "arow", "cw", "nherd")
LIMITS = (64, 128, 256, 500)
SETS = ["elec2", "cod-rna", "svmguide3", "ijcnn1", "covtype", "splice", "mushrooms", "a9a", "usps", "w7a", "mitface"]
SETS += ["mnist1vs2", "20news"]
#: Rows of each order.
ROWS = 5000
#: Rows before Sigma becomes diagonal, and after.
BEFORE, AFTER = 1000, 2000

Dicts = tuple[dict[str, float], ...]


def dicts(data: DataSet, order: np.ndarray) -> Dicts:
    """Return rows as dicts with a name for each column."""
    rows = as_rows(sparse.csr_matrix(data.x[order]))
    return tuple(NamedRows(rows, [str(i) for i in range(rows.width)]).dicts())


def rate_and_time(rule: str, limit: int, examples: Dicts, y: np.ndarray) -> tuple[float, float]:
    """Return the mistake rate and the CPU microseconds per example."""
    with patch.object(growing, "AUTO_FULL_LIMIT", limit):
        learner = Learner(rule, intercept=True, covariance="auto" if limit else "diagonal")
        start = time.process_time()
        learner.learn_many(examples, y)
        return learner.counts.mistakes / len(y), (time.process_time() - start) / len(y) * 1e6


def print_limits(data: DataSet, count: int) -> dict[tuple[str, int], float]:
    """Print a line of the first table; return the logarithms of the mistake rates relative to a diagonal."""
    cells, logs = [], {}
    for rule in RULES[:2]:
        found = {}
        for limit in (0, *LIMITS):
            runs = []
            for order in orders(data, count)[1:]:
                chosen = order[:ROWS]
                runs.append(rate_and_time(rule, limit, dicts(data, chosen), data.y[chosen]))
            found[limit] = np.mean(runs, axis=0)
            logs[rule, limit] = float(np.log(max(found[limit][0], 1e-4) / max(found[0][0], 1e-4)))
        cells += [f"{rate:.4f}" for rate, _ in found.values()]
        cells += [f"{found[0][1]:.1f}", f"{found[LIMITS[-1]][1]:.1f}"]
    print(f"| {data.name} | {data.x.shape[1]} | " + " | ".join(cells) + " |", flush=True)
    return logs


def kept(form: str) -> object:
    """Return a form of `Gaussian.diagonal` that keeps the diagonal of Sigma, of Sigma^-1, or only the weights."""
    own = Gaussian.diagonal

    def diagonal(self: Gaussian, covariance: Interleaved) -> Gaussian:
        if form == "prior":
            fresh = Gaussian.prior(covariance, self.size, self.initial_variance)
            fresh.mean[:] = self.mean
            fresh.scalars[:] = self.scalars
            return fresh
        with patch.object(type(covariance), "by_precision", form == "precisions"):
            return own(self, covariance)

    return diagonal


def rate_after(rule: str, form: str, examples: Dicts, y: np.ndarray) -> float:
    """Return the mistake rate after Sigma becomes diagonal."""
    before, after = min(BEFORE, len(y) // 3), y[min(BEFORE, len(y) // 3) :]
    learner = Learner(rule, intercept=True)
    learner.learn_many(examples[:before], y[:before])
    learner = copy(learner)
    assert learner.model is not None
    with patch.object(Gaussian, "diagonal", kept(form)):
        learner.model = learner.diagonal(learner.model)
    start = learner.counts.mistakes
    learner.learn_many(examples[before:], after)
    return (learner.counts.mistakes - start) / len(after)


def main() -> None:
    """Print both tables."""
    parser = argument_parser(__doc__, SETS)
    parser.add_argument("--orders", type=int, default=3, help="orders of the rows (default: %(default)s)")
    options = parser.parse_args()
    sets = [load(name, options.data_dir) for name in options.sets]
    limits = " | ".join(map(str, LIMITS))
    titles = [f"{rule}: diagonal | {limits} | µs: diagonal | {LIMITS[-1]}" for rule in RULES[:2]]
    print("| set | d | " + " | ".join(titles) + " |")
    print("|---|--:|" + "--:|" * 14)
    logs = [print_limits(data, options.orders) for data in sets]
    for rule, limit in logs[0]:
        print(f"{rule}, {limit}: {np.exp(np.mean([one[rule, limit] for one in logs])):.3f}")
    forms = ("variances", "precisions", "prior")
    print("\n| set | " + " | ".join(f"{rule}: {form}" for rule in RULES for form in forms) + " |")
    print("|---|" + "--:|" * (len(RULES) * len(forms)))
    rates = []
    for data in sets:
        if data.x.shape[1] > growing.AUTO_FULL_LIMIT:
            continue
        chosen = [order[: BEFORE + AFTER] for order in orders(data, options.orders)[1:]]
        examples = [dicts(data, order) for order in chosen]
        line = [
            np.mean([rate_after(rule, form, x, data.y[order]) for x, order in zip(examples, chosen, strict=True)])
            for rule in RULES
            for form in forms
        ]
        rates.append(np.maximum(line, 1e-4))
        print(f"| {data.name} | " + " | ".join(f"{rate:.4f}" for rate in line) + " |", flush=True)
    means = np.exp(np.log(rates).mean(axis=0)).reshape(len(RULES), len(forms))
    for rule, mean in zip(RULES, means, strict=True):
        print(f"{rule}: " + ", ".join(f"{form} {value / mean[0]:.3f}" for form, value in zip(forms, mean, strict=True)))


if __name__ == "__main__":
    main()
