"""Data sets of the quality benchmark: those in the data directory, and those inside scikit-learn and River."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import class_sets
import data_sets
import numpy as np
import sklearn.datasets
from data_sets import SEED
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from speed.peers import module

from scwlearn.datasets.load import read_labelled

Numbers = NDArray[np.intp]

#: Size of the random sample of a larger set; a set in its own order is not sampled.
MOST_ROWS = 10_000
TRAINING_SHARE = 0.7
FEATURES = ("raw", "standardised")


@dataclass(frozen=True)
class Examples:
    """Rows and labels of a data set."""

    x: Any
    y: NDArray[Any]
    #: Whether the rows have an order of their own, as in a stream.
    ordered: bool = False


@dataclass(frozen=True)
class Split:
    """Training rows in the order of the pass, and rows held out."""

    x: Any
    y: Numbers
    x_test: Any
    y_test: Numbers
    classes: int

    @property
    def work(self) -> int:
        """The number of stored values, times that of the classes if there are more than two."""
        stored = self.x.nnz if sparse.issparse(self.x) else self.x.size
        return int(stored) * (self.classes if self.classes > 2 else 1)


def _binary(directory: Path, name: str) -> Examples:
    data = data_sets.load(name, directory)
    return Examples(data.x, data.y, not data.shuffle)


def _classes(directory: Path, name: str, factor: float = 1.0) -> Examples:
    split = class_sets.SETS[name](directory)
    stack = sparse.vstack if sparse.issparse(split.x) else np.vstack
    return Examples(stack([split.x, split.x_test]) * factor, np.concatenate([split.y, split.y_test]))


def _files(directory: Path, paths: tuple[str, ...], width: int, dense: bool) -> Examples:
    parts = [read_labelled(directory / path, width) for path in paths]
    x = sparse.vstack([x for x, _ in parts], format="csr")
    return Examples(x.toarray() if dense else x, np.concatenate([y for _, y in parts]))


def _sklearn(directory: Path, name: str) -> Examples:
    return Examples(*getattr(sklearn.datasets, f"load_{name}")(return_X_y=True))


def _river(directory: Path, name: str) -> Examples:
    rows = list(getattr(module("river.datasets"), name)())
    names = sorted({name for row, _ in rows for name in row})
    x = np.array([[float(row.get(name, 0)) for name in names] for row, _ in rows])
    return Examples(x, np.array([str(label) for _, label in rows]))


_NEWS = ("20news/20news.train.libsvm.xz", "20news/20news.test.libsvm.xz")

#: The sets that take longest come first, so that no process is left alone with one of them.
SETS: dict[str, Callable[[Path], Examples]] = {
    "mnist": partial(_classes, name="mnist", factor=255),
    "20news": partial(_files, paths=_NEWS, width=59_051, dense=False),
    "20news-tfidf": partial(_classes, name="20news"),
    "usps": partial(_classes, name="usps"),
    "covtype7": partial(_files, paths=("covtype/covtype.multi.libsvm.xz",), width=54, dense=True),
    "mitface": partial(_binary, name="mitface"),
    "w7a": partial(_binary, name="w7a"),
    "mnist1vs2": partial(_binary, name="mnist1vs2"),
    "elec2": partial(_binary, name="elec2"),
    "a9a": partial(_binary, name="a9a"),
    "covtype": partial(_binary, name="covtype"),
    "mushrooms": partial(_binary, name="mushrooms"),
    "ijcnn1": partial(_binary, name="ijcnn1"),
    "cod-rna": partial(_binary, name="cod-rna"),
    "splice": partial(_binary, name="splice"),
    "svmguide3": partial(_binary, name="svmguide3"),
    "digits": partial(_sklearn, name="digits"),
    "breast-cancer": partial(_sklearn, name="breast_cancer"),
    "wine": partial(_sklearn, name="wine"),
    "iris": partial(_sklearn, name="iris"),
    "ImageSegments": partial(_river, name="ImageSegments"),
    "Bananas": partial(_river, name="Bananas"),
    "Phishing": partial(_river, name="Phishing"),
}


def load(name: str, directory: Path) -> Examples:
    """Load a set by name, at most MOST_ROWS rows of it; classes are numbered from 0."""
    data = SETS[name](directory)
    x = data.x.tocsr() if sparse.issparse(data.x) else np.asarray(data.x, dtype=np.float64)
    y = np.unique(data.y, return_inverse=True)[1].astype(np.intp)
    if len(y) > MOST_ROWS and not data.ordered:
        chosen = np.random.default_rng(SEED).choice(len(y), MOST_ROWS, replace=False)
        x, y = x[chosen], y[chosen]
    return Examples(x, y, data.ordered)


def split(data: Examples, order: int, features: str) -> Split:
    """Split a set in one of its random orders; a set with an order of its own keeps it."""
    places = np.arange(len(data.y))
    if not data.ordered:
        places = np.random.default_rng([SEED, order]).permutation(places)
    train, test = np.split(places, [round(TRAINING_SHARE * len(places))])
    x, x_test = data.x[train], data.x[test]
    if features == "standardised":
        # Centred sparse rows would not be sparse.
        scaler = MaxAbsScaler() if sparse.issparse(x) else StandardScaler()
        x, x_test = scaler.fit_transform(x), scaler.transform(x_test)
    return Split(x, data.y[train], x_test, data.y[test], int(data.y.max()) + 1)
