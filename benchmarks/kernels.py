"""Measure kernel classifiers: accuracy, budgets, several classes, time and memory: the figures of docs/kernels.md."""

from __future__ import annotations

import lzma
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import matplotlib.pyplot as plt
import numpy as np
from data_sets import argument_parser, load
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from scwlearn import SCW1, KernelAROW, KernelPA1, KernelPerceptron, KernelSCW1, Learner
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.kernels import KernelLearner

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "kernel-budget.png"
BUDGETS = (100, 250, 500, 1000)
ROWS = 20_000
STREAM, STEP = 50_000, 1000
#: Length of the stream without a budget, long enough to show the growth.
STREAM_WITHOUT_BUDGET = 15_000

Array = NDArray[np.float64]


def checkerboard(rows: int, *, fields: int, extra: int, noise: float = 0.05) -> tuple[Array, NDArray[np.int8]]:
    """Generate points on a checkerboard with label noise and some uninformative features."""
    random = np.random.default_rng(0)
    x = random.uniform(0, fields, (rows, 2))
    y = np.where(np.floor(x).sum(axis=1) % 2 > 0, 1, -1)
    y[random.random(rows) < noise] *= -1
    return np.hstack([x, random.normal(0, 0.5, (rows, extra))]), y.astype(np.int8)


def usps(directory: Path) -> list[Any]:
    """Return the training and test rows of usps with labels 0 to 9."""
    parts = []
    for part in ("usps", "usps.t"):
        with lzma.open(directory / "usps" / f"{part}.libsvm.xz") as file:
            x, y = load_libsvm(cast(BinaryIO, file), n_features=256)
        parts += [x.toarray(), y]
    return parts


def digits(directory: Path) -> None:
    """Print the test error after one pass over the ten classes of usps."""
    x, y, x_test, y_test = usps(directory)
    models: dict[str, Any] = {
        "SCW1, linear": SCW1(C=1.0),
        "KernelPerceptron": KernelPerceptron(),
        "KernelPA1": KernelPA1(),
        "KernelAROW": KernelAROW(),
        "KernelSCW1": KernelSCW1(C=1.0),
        "KernelSCW1, gamma 0.02": KernelSCW1(C=1.0, gamma=0.02),
        "KernelSCW1, budget 500": KernelSCW1(C=1.0, budget=500),
        "500 Nystroem features, SCW1": make_pipeline(
            Nystroem(n_components=500, gamma=0.0066, random_state=0), SCW1(C=1.0)
        ),
        "500 Fourier features, SCW1": make_pipeline(
            RBFSampler(n_components=500, gamma=0.0066, random_state=0), SCW1(C=1.0)
        ),
    }
    print("| one pass, one-vs-rest | test error | seconds |\n|---|---|---|")
    for name, model in models.items():
        model.set_params(**{key: False for key in model.get_params() if key.endswith("shuffle")})
        began = time.perf_counter()
        many = OneVsRestClassifier(model).fit(x, y)
        print(f"| {name} | {1 - many.score(x_test, y_test):.4f} | {time.perf_counter() - began:.1f} |", flush=True)
    began = time.perf_counter()
    svc = SVC(C=10).fit(x, y)
    print(f"| SVC(C=10), in batch | {1 - svc.score(x_test, y_test):.4f} | {time.perf_counter() - began:.1f} |\n")


def several_classes(directory: Path) -> None:
    """Print one pass over the ten classes of usps: joint, one-vs-rest, and ten separate learners."""
    x, y, x_test, y_test = usps(directory)
    gamma = 1 / (x.shape[1] * x.var())
    print("| one pass | progressive error | test error | support | CPU seconds |")
    print("|---|---|---|---|---|")
    for rule, budget in (("scw1", None), ("scw1", 500), ("scw1", 1500), ("arow", None), ("pa1", None)):
        parameters = {} if rule == "arow" else {"C": 1.0}
        how: dict[str, Any] = {"kernel_parameters": {"gamma": gamma}, "budget": budget, **parameters}
        for kind in ("joint", "ovr", "ten learners"):
            began = time.process_time()
            if kind == "ten learners":
                learners: list[Any] = [KernelLearner(rule, **how) for _ in range(10)]
                for c, binary in enumerate(learners):
                    binary.learn(x, np.where(y == c, 1, -1))
                mistakes = ""
            else:
                learners = [KernelLearner(rule, n_classes=10, multi_class=kind, **how)]
                mistakes = f"{mistake_rate(learners[0], x, y):.4f}"
            took = time.process_time() - began
            scores = np.column_stack([learner.scores(x_test) for learner in learners])
            wrong = np.mean(scores.argmax(axis=1) != y_test)
            kept = sum(learner.support.count for learner in learners)
            name = f"{rule}, {kind}" + (f", budget {budget}" if budget else "")
            print(f"| {name} | {mistakes} | {wrong:.4f} | {kept} | {took:.1f} |", flush=True)
    print()


def mistake_rate(learner: Any, x: Any, y: NDArray[Any]) -> float:
    """Return the mistake rate of one pass."""
    counts = learner.learn(x, y)
    return float(counts.mistakes / counts.seen)


def budgets(directory: Path) -> None:
    """Print mistake rates with a budget, without one, and with as many approximate features."""
    sets: dict[str, tuple[Array, NDArray[np.int8], float]] = {
        "checkerboard": (*checkerboard(ROWS, fields=4, extra=0), 8.0)
    }
    for name, gamma in (("ijcnn1", 2.0), ("usps", 0.01)):
        found = load(name, directory)
        dense = found.x.toarray() if hasattr(found.x, "toarray") else found.x
        sets[name] = (dense[:ROWS], found.y[:ROWS], gamma)
    print("| set | kernel | " + " | ".join(str(b) for b in BUDGETS) + " | no budget |")
    print("|---|---|" + "---|" * (len(BUDGETS) + 1))
    for name, (x, y, gamma) in sets.items():
        how: dict[str, Any] = {"kernel_parameters": {"gamma": gamma}, "intercept": True, "C": 1.0, "eta": 0.75}
        whole = KernelLearner("scw1", **how)
        free = f"{mistake_rate(whole, x, y):.4f} ({whole.support.count} examples)"
        rows: dict[str, Callable[[int], float]] = {
            "budget": lambda b: mistake_rate(KernelLearner("scw1", budget=b, **how), x, y),  # noqa: B023
            "first examples": lambda b: mistake_rate(KernelLearner("scw1", budget=b, tolerance=1e-12, **how), x, y),  # noqa: B023
            "Nystroem": lambda b: explicit(Nystroem(gamma=gamma, n_components=b, random_state=0), x, y),  # noqa: B023
            "Fourier": lambda b: explicit(RBFSampler(gamma=gamma, n_components=b, random_state=0), x, y),  # noqa: B023
        }
        for kind, rate in rows.items():
            cells = " | ".join(f"{rate(budget):.4f}" for budget in BUDGETS)
            print(f"| {name} | {kind} | {cells} | {free if kind == 'budget' else ''} |", flush=True)
    print()


def explicit(features: Any, x: Array, y: NDArray[np.int8]) -> float:
    """Return the mistake rate of the linear learner on features that approximate the kernel."""
    made = features.fit(x[:1000]).transform(x)
    return mistake_rate(Learner("scw1", covariance="full", intercept=True, C=1.0, eta=0.75), made, y)


def memory() -> float:
    """Return the memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def stream(*, publish: bool) -> None:
    """Measure time and memory along a stream, with a budget and without."""
    x, y = checkerboard(STREAM, fields=2, extra=3)
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for budget, rows, colour in ((500, STREAM, "#0b5fa5"), (None, STREAM_WITHOUT_BUDGET, "#c0571b")):
        learner = KernelLearner("scw1", kernel_parameters={"gamma": 1.0}, intercept=True, budget=budget, C=1.0)
        label = "no budget" if budget is None else f"budget {budget}"
        seen, spent, held, support = [], [], [], []
        before = memory()
        for start in range(0, rows, STEP):
            began = time.perf_counter()
            learner.learn(x[start : start + STEP], y[start : start + STEP])
            spent.append((time.perf_counter() - began) / STEP * 1e6)
            seen.append(start + STEP)
            held.append(memory() - before)
            support.append(learner.support.count)
        for panel, values in zip(panels, (spent, held, support), strict=True):
            panel.plot(seen, values, color=colour, label=label)
        print(
            f"{label}: {np.median(spent[1:10]):.0f} us an example up to 10,000, {np.median(spent[-10:]):.0f} us in the "
            f"last 10,000; {held[9]:.0f} MB after 10,000, {held[-1]:.0f} MB at the end; {support[-1]} examples; "
            f"mistake rate {learner.counts.mistakes / learner.counts.seen:.4f} of {learner.counts.seen}"
        )
    for panel, title, unit in zip(
        panels, ("time", "memory", "support"), ("µs an example", "MB added", "examples"), strict=True
    ):
        panel.set(title=title, xlabel="examples seen", ylabel=unit, ylim=(0, None))
        panel.grid(alpha=0.3)
    panels[0].legend(frameon=False)
    if publish:
        figure.savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    parser = argument_parser(__doc__, ["ijcnn1", "usps"])
    parser.add_argument("--publish", action="store_true", help="update the picture of docs/kernels.md")
    asked = parser.parse_args()
    directory = asked.data_dir
    stream(publish=asked.publish)
    budgets(directory)
    digits(directory)
    several_classes(directory)
