"""The peers, each brought to the same shape: one pass over the rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Perceptron, SGDClassifier

from speed.harness import Quality, Unavailable

Labels = NDArray[np.int8]


def module(name: str) -> Any:
    """A peer's module, or the reason why there is none."""
    try:
        return import_module(name)
    except Exception as error:
        raise Unavailable(f"{name.partition('.')[0]} does not load: {error}") from error


def sgd() -> Any:
    """One pass of SGD on the hinge loss, as scikit-learn sets it otherwise: in a random order, with an intercept."""
    return SGDClassifier(max_iter=1, tol=None)


def sgd_in_order() -> Any:
    """The same with no more to do than we have: the rows as they come, no intercept."""
    return SGDClassifier(max_iter=1, tol=None, shuffle=False, fit_intercept=False)


def perceptron() -> Any:
    """One pass of the Perceptron, which learns from mistakes alone."""
    return Perceptron(max_iter=1, tol=None, shuffle=False, fit_intercept=False)


def accuracy(model: Any, x: Any, y: Labels) -> Quality:
    """Of a scikit-learn model, on the rows that it has learned from."""
    return {"accuracy": float(model.score(x, y))}


def olpy_scw(x: NDArray[np.float64], y: Labels, *, C: float, eta: float) -> Any:
    """Olpy's SCW-I, by `partial_fit`, which keeps the order of the rows."""
    return module("olpy.classifiers").SCW(C=C, eta=eta).partial_fit(x, y, classes=[-1, 1])


def river_stream(model: Any, rows: Iterable[tuple[dict[str, float], bool]]) -> int:
    """Predict, then learn; the number of mistakes on the way."""
    mistakes = 0
    for x, label in rows:
        mistakes += model.predict_one(x) != label
        model.learn_one(x, label)
    return mistakes


def sgd_stream(x: NDArray[np.float64], y: list[int]) -> int:
    """Predict, then learn, a row at a time; the number of mistakes on the way."""
    model = SGDClassifier(loss="hinge", fit_intercept=False).partial_fit(x[:1], y[:1], classes=[-1, 1])
    mistakes = 0
    for place, label in enumerate(y):
        row = x[place : place + 1]
        mistakes += int(model.predict(row)[0]) != label
        model.partial_fit(row, [label])
    return mistakes


def vowpal_wabbit(path: Path, bits: int, *, judged: bool = False) -> Quality:
    """One pass over a file of VW text, by what `python -m vowpalwabbit` does, without the start of an interpreter.

    Everything else is as its authors set it. It reads in a thread of its own. `judged` makes its loss that of signs.
    """
    words = ["-d", str(path), "-b", str(bits), "--loss_function", "hinge", "--noconstant", "--no_stdin", "--quiet"]
    workspace = module("vowpalwabbit").Workspace(arg_list=[*words, "--binary"] if judged else words)
    seen = float(workspace.get_weighted_examples())
    quality = {"seen": seen, "mistakes": float(workspace.get_sum_loss())} if judged else {"seen": seen}
    with contextlib.suppress(Exception):
        workspace.finish()
    return quality
