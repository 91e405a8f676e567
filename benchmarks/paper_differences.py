"""Explain differences from the paper's numbers: one experiment per cause, as quoted in docs/comparison.md.

python benchmarks/paper_differences.py [EXPERIMENT ...] [--data-dir DIRECTORY]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sigma_forms import Textbook

from scwlearn import Learner
from scwlearn._util.significance import spread
from scwlearn.datasets import DataSet, data_directory, load_set, make_synthetic
from scwlearn.datasets.generate import PAPER_NOISE_STD
from scwlearn.datasets.load import read_labelled
from scwlearn.display.document import Table
from scwlearn.experiments.paper import RULES, TABLE3
from scwlearn.learning.grid import count_grid
from scwlearn.learning.tuning import grid
from scwlearn.rules import find_rule
from scwlearn.runs.compare import TUNING_ORDER, row_order

SEED = 0
Array = NDArray[np.float64]


def tuned(data: DataSet, rule: str, orders: Iterable[int]) -> tuple[dict[str, float], Array, Array]:
    """Tune on one order; return the parameters, and the mistake rates and updates over others."""
    cells = grid(rule)[::-1]
    order = row_order(len(data.y), SEED, TUNING_ORDER)
    counts = count_grid(rule, cells, data.x, data.y, order=order, covariance="full")
    best = min(zip(counts, cells, strict=True), key=lambda scored: scored[0].mistakes)[1]
    return best, *runs(data, rule, best, orders)


def runs(data: DataSet, rule: str, parameters: dict[str, float], orders: Iterable[int]) -> tuple[Array, Array]:
    """Return mistake rates and updates over several orders of the rows."""
    counts = []
    for number in orders:
        learner = Learner(rule, covariance="full", **parameters)  # type: ignore[arg-type]
        counts.append(learner.learn(data.x, data.y, order=row_order(len(data.y), SEED, number)))
    return np.array([c.mistakes / c.seen for c in counts]), np.array([float(c.updates) for c in counts])


def synthetic_noise(directory: Path) -> Table:
    """Find the size of the noise features that fits both synthetic blocks, over many generated sets."""
    rules = ("cw", "nherd", "arow", "narow_libol", "scw1", "scw2")
    rows = []
    for size in (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0):
        cells, misfit = [], 0.0
        for name, flipped in (("synthetic", 0.0), ("synthetic-noise", 0.1)):
            for rule in rules:
                means = []
                for seed in range(16):
                    data = DataSet(name, name, *make_synthetic(label_noise=flipped, noise_std=size, seed=seed))
                    means.append(tuned(data, rule, range(1, 5))[1].mean())
                printed = TABLE3[name, find_rule(rule).variant_of or rule]
                apart = np.mean(means) - printed.mistake_rate
                misfit += (apart / np.hypot(spread(np.array(means)), printed.rate_std / np.sqrt(20))) ** 2
                cells.append(f"{np.mean(means):.3f}")
        rows.append((f"{size:g}", *cells, f"{misfit:.0f}"))
    printed_row = [f"{TABLE3[n, r].mistake_rate:.3f}" for n in ("synthetic", "synthetic-noise") for r in RULES.values()]
    order = ["CW", "NHERD", "AROW", "NAROW", "SCW-I", "SCW-II"]
    assert list(RULES) == order
    rows.append(("**the paper**", *printed_row, ""))
    columns = ("noise", *order, *(f"{title}, flipped" for title in order), "misfit")
    return Table("Mistake rates by the standard deviation of the noise features", columns, rows)


def synthetic_updates(directory: Path) -> Table:
    """Measure how much the updates on the flipped synthetic set vary between generated sets."""
    rows = []
    for title, name in RULES.items():
        rule = "narow_libol" if name == "narow" else name
        means = []
        for seed in range(16):
            x, y = make_synthetic(label_noise=0.1, noise_std=PAPER_NOISE_STD, seed=seed)
            means.append(tuned(DataSet("synthetic-noise", "", x, y), rule, range(1, 5))[2].mean())
        updates = np.array(means)
        cell = TABLE3["synthetic-noise", name]
        reach = f"{updates.min():.0f} to {updates.max():.0f}"
        rows.append((title, f"{updates.mean():.0f} ± {spread(updates):.0f}", reach, f"{cell.updates:.0f}"))
    return Table("Updates over 16 flipped sets", ("algorithm", "updates", "from, to", "the paper"), rows)


def cw_textbook(directory: Path) -> Table:
    """Run CW with the textbook update of Sigma: how soon and how often x'Sigma x is not positive."""
    rows = []
    for name, eta in (("codrna", 0.55), ("codrna", 0.95), ("covtype", 0.55), ("covtype", 0.95), ("ijcnn1", 0.55)):
        data = load_set(name, directory)
        x = np.asarray(data.x.toarray() if hasattr(data.x, "toarray") else data.x)
        order = row_order(len(data.y), SEED, 1)
        form, mean = Textbook(x.shape[1]), np.zeros(x.shape[1])
        constants = find_rule("cw").constants({"eta": eta})
        first, not_positive, mistakes, updates = 0, 0, 0, 0
        for number, i in enumerate(order, start=1):
            score, v = float(mean @ x[i]), form.look(x[i])
            mistakes += (score >= 0) != (data.y[i] > 0)
            if v <= 0:
                not_positive += 1
                first = first or number
                continue
            step = find_rule("cw").step(float(data.y[i]) * score, v, 0.0, 1.0, constants)
            if step.alpha > 0:
                updates += 1
                mean = mean + step.alpha * data.y[i] * form.move(step.precision, v)
        share = f"{100 * not_positive / len(order):.1f} %"
        rate = f"{mistakes / len(order):.3f}"
        rows.append((data.title, f"{eta:g}", str(first or "never"), share, rate, str(updates)))
    columns = ("data set", "eta", "first row with v <= 0", "rows with v <= 0", "mistake rate", "updates")
    return Table("CW with the textbook's Sigma", columns, rows)


def cw_variances(directory: Path) -> Table:
    """Print how small CW's variances become along a stream."""
    rows = []
    for name, eta in (("codrna", 0.95), ("covtype", 0.55)):
        data = load_set(name, directory)
        order = row_order(len(data.y), SEED, 1)
        learner = Learner("cw", covariance="full", eta=eta)
        for part in np.array_split(order, 8):
            counts = learner.learn(data.x[part], data.y[part])
            assert learner.model is not None
            variances = learner.model.variances()
            small, large = (f"{v:.0e}" for v in (variances.min(), variances.max()))
            rates = (f"{counts.mistakes / counts.seen:.3f}", f"{counts.updates / counts.seen:.2f}")
            rows.append((data.title, f"{eta:g}", str(learner.counts.seen), *rates, small, large))
    columns = ("data set", "eta", "rows", "mistakes since", "updates since", "least variance", "largest")
    return Table("CW along a stream", columns, rows)


def nherd_covtype(directory: Path) -> Table:
    """Run NHERD on possible preparations of covtype, and its dependence on the first rows."""
    rows = []
    for name in ("covtype", "covtype-scaled"):
        data = load_set(name, directory)
        for C in (0.0625, 1.0, 16.0):
            rates, updates = runs(data, "nherd", {"C": C}, range(1, 11))
            row = (f"{rates.mean():.4f} ± {spread(rates):.4f}", f"{rates.min():.3f} to {rates.max():.3f}")
            rows.append((data.title, f"{C:g}", *row, f"{updates.mean():.0f}"))
    columns = ("form", "C", "mistake rate", "over 10 orders", "updates")
    return Table("NHERD on covtype", columns, rows)


def usps_forms(directory: Path) -> Table:
    """Try other preparations and digits of usps: none matches both mistakes and updates of the paper."""
    x, digits = read_labelled(directory / "usps" / "usps.libsvm.xz", 256)
    x = x.toarray()
    forms: dict[str, tuple[Any, int]] = {
        "digit 0, -1..1": (x, 0),
        "digit 0, 0..1": ((x + 1) / 2, 0),
        "digit 0, 0..255": (np.round((x + 1) * 127.5), 0),
        "digit 1, -1..1": (x, 1),
        "digit 7, -1..1": (x, 7),
    }
    rows = []
    for title, (values, digit) in forms.items():
        data = DataSet("usps", title, np.ascontiguousarray(values), np.where(digits == digit, 1, -1).astype(np.int8))
        cells = []
        for rule in ("cw", "arow", "scw1", "scw2"):
            _, rates, updates = tuned(data, rule, range(1, 4))
            cells.append(f"{rates.mean():.4f}, {updates.mean():.0f}")
        rows.append((title, *cells))
    printed = [TABLE3["usps1vsall", rule] for rule in ("cw", "arow", "scw1", "scw2")]
    rows.append(("**the paper**", *(f"{p.mistake_rate:.3f}, {p.updates:.0f}" for p in printed)))
    return Table("usps: mistake rate, updates", ("form", "CW", "AROW", "SCW-I", "SCW-II"), rows)


def w7a_empty(directory: Path) -> Table:
    """Count updates on w7a with and without empty rows, over all grid points that tie with the best."""
    data = load_set("w7a", directory)
    empty = int(np.count_nonzero(np.diff(data.x.indptr) == 0))
    order = row_order(len(data.y), SEED, TUNING_ORDER)
    rows = []
    for rule in ("cw", "nherd", "arow", "scw1", "scw2"):
        cells = grid(rule)[::-1]
        counts = count_grid(rule, cells, data.x, data.y, order=order, covariance="full")
        best = min(counts, key=lambda c: c.mistakes)
        tied = [c.updates for c in counts if c.mistakes <= best.mistakes + 22]
        printed = TABLE3["w7a", rule]
        with_empty = f"{min(tied) + empty} to {max(tied) + empty}"
        rows.append((find_rule(rule).title, f"{min(tied)} to {max(tied)}", with_empty, f"{printed.updates:.0f}"))
    columns = ("algorithm", "updates, tied points", f"and the {empty} empty rows", "the paper")
    return Table("w7a: what counts as an update", columns, rows)


EXPERIMENTS: dict[str, Callable[[Path], Table]] = {
    function.__name__: function
    for function in (
        synthetic_noise,
        synthetic_updates,
        cw_textbook,
        cw_variances,
        nherd_covtype,
        usps_forms,
        w7a_empty,
    )
}


def main() -> None:
    """Run the named experiments, or all, and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", default=list(EXPERIMENTS), metavar="EXPERIMENT")
    parser.add_argument("--data-dir", type=Path, default=None)
    given = parser.parse_args()
    for name in given.experiments:
        print(EXPERIMENTS[name](data_directory(given.data_dir)).to_markdown(), "\n", flush=True)


if __name__ == "__main__":
    main()
