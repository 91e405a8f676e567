"""Adapters for the peers: one pass over the rows each."""

from __future__ import annotations

import contextlib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Perceptron, SGDClassifier

from speed.harness import Quality, Unavailable

Labels = NDArray[np.int8]


def module(name: str) -> Any:
    """Import a peer's module; raise Unavailable with the reason if that fails."""
    try:
        return import_module(name)
    except Exception as error:
        raise Unavailable(f"{name.partition('.')[0]} does not load: {error}") from error


def sgd(**settings: Any) -> Any:
    """Return one pass of SGD on the hinge loss; by default it shuffles the rows."""
    return SGDClassifier(max_iter=1, tol=None, **settings)


def sgd_in_order() -> Any:
    """Return one pass of SGD in the order of the rows."""
    return sgd(shuffle=False)


def perceptron_in_order() -> Any:
    """Return one pass of the Perceptron, which learns only from mistakes, in the order of the rows."""
    return Perceptron(max_iter=1, tol=None, shuffle=False)


def accuracy(model: Any, x: Any, y: Labels) -> Quality:
    """Return the training accuracy of a scikit-learn model."""
    return {"accuracy": float(model.score(x, y))}


def olpy_scw(x: NDArray[np.float64], y: Labels, *, C: float, eta: float) -> Any:
    """Run olpy's SCW-I with `partial_fit`, which keeps the order of the rows."""
    return module("olpy.classifiers").SCW(C=C, eta=eta).partial_fit(x, y, classes=[-1, 1])


def sgd_stream(x: NDArray[np.float64], y: list[int]) -> int:
    """Predict, then learn, one row at a time; return the number of mistakes."""
    model = SGDClassifier(loss="hinge", fit_intercept=False).partial_fit(x[:1], y[:1], classes=[-1, 1])
    mistakes = 0
    for place, label in enumerate(y):
        row = x[place : place + 1]
        mistakes += int(model.predict(row)[0]) != label
        model.partial_fit(row, [label])
    return mistakes


def vowpal_wabbit(path: Path, bits: int, *, judged: bool = False) -> Quality:
    """Run one pass over a VW file, as `python -m vowpalwabbit` does, without starting an interpreter.

    All other settings are the defaults. It reads ahead in a thread. `judged` reports the 0-1 loss.
    """
    words = ["-d", str(path), "-b", str(bits), "--loss_function", "hinge", "--noconstant", "--no_stdin", "--quiet"]
    workspace = module("vowpalwabbit").Workspace(arg_list=[*words, "--binary"] if judged else words)
    seen = float(workspace.get_weighted_examples())
    quality = {"seen": seen, "mistakes": float(workspace.get_sum_loss())} if judged else {"seen": seen}
    with contextlib.suppress(Exception):
        workspace.finish()
    return quality
