"""Peers of the quality benchmark: one pass each, with the probabilities before each example and for test rows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from speed.peers import module

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Pass:
    """Probabilities of each training row before it was learned, those of the test rows, and the seconds of training."""

    before: Array
    after: Array
    seconds: float


def as_dicts(x: Any) -> Iterator[dict[int, float]]:
    """Yield the rows as dicts for River."""
    rows = sparse.csr_matrix(x)
    for start, end in zip(rows.indptr, rows.indptr[1:], strict=False):
        yield dict(zip(rows.indices[start:end].tolist(), rows.data[start:end].tolist(), strict=True))


def river(name: str, x: Any, y: Numbers, x_test: Any, classes: int) -> Pass:
    """Run a linear model of River; several classes with its OneVsRestClassifier. The time includes predictions."""
    model = getattr(module("river.linear_model"), name)()
    if classes > 2:
        model = module("river.multiclass").OneVsRestClassifier(model)
    before = []
    start = time.perf_counter()
    for row, label in zip(as_dicts(x), y.tolist(), strict=True):
        before.append(model.predict_proba_one(row))
        model.learn_one(row, bool(label) if classes == 2 else label)
    seconds = time.perf_counter() - start
    after = [model.predict_proba_one(row) for row in as_dicts(x_test)]
    return Pass(_of_dicts(before, classes), _of_dicts(after, classes), seconds)


def _of_dicts(results: list[dict[Any, float]], classes: int) -> Array:
    return np.array([[probabilities.get(number, 0.0) for number in range(classes)] for probabilities in results])


def vowpal_wabbit(x: Any, y: Numbers, x_test: Any, classes: int) -> Pass:
    """Run Vowpal Wabbit with the logistic loss on files, as its users do; several classes with --oaa."""
    workspace = module("vowpalwabbit").Workspace
    quiet = "--no_stdin --quiet" if classes == 2 else "--no_stdin --quiet --probabilities"
    how = "--link logistic" if classes == 2 else f"--oaa {classes}"
    with tempfile.TemporaryDirectory() as folder:
        rows, results, model = (str(Path(folder) / name) for name in ("rows.vw", "predictions.txt", "model.vw"))
        _write(rows, x, 2 * y - 1 if classes == 2 else y + 1)
        start = time.perf_counter()
        workspace(f"--loss_function logistic -b 22 {how} -d {rows} -f {model} -p {results} {quiet}").finish()
        seconds = time.perf_counter() - start
        before = _read(results, classes)
        _write(rows, x_test, np.zeros(x_test.shape[0], dtype=np.intp))
        workspace(f"-t -i {model} -d {rows} -p {results} {quiet}").finish()
        return Pass(before, _read(results, classes), seconds)


def _write(path: str, x: Any, labels: Numbers) -> None:
    with Path(path).open("w") as file:
        for row, label in zip(as_dicts(x), labels.tolist(), strict=True):
            file.write(f"{label or ''} | {' '.join(f'{i}:{v:.6g}' for i, v in row.items())}\n")


def _read(path: str, classes: int) -> Array:
    lines = Path(path).read_text().splitlines()
    if classes == 2:
        second = np.array(lines, dtype=np.float64)
        return np.stack([1 - second, second], axis=1)
    return np.array([[part.partition(":")[2] for part in line.split()] for line in lines], dtype=np.float64)
