"""Multi-class data sets, split into training and test rows."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from data_sets import SEED
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer

from scwlearn.datasets.load import read_labelled
from scwlearn.datasets.sources import min_max

Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """Data set split into training and test rows; labels are class numbers from 0."""

    x: Any
    y: Numbers
    x_test: Any
    y_test: Numbers

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


def news(directory: Path) -> Split:
    """Load 20 newsgroups, split by date: sublinear tf-idf in unit rows."""
    (x, y), (x_test, y_test) = (
        read_labelled(directory / f"20news/20news.{part}.libsvm.xz", 59_051) for part in ("train", "test")
    )
    weigh = TfidfTransformer(sublinear_tf=True).fit(x)
    return Split(weigh.transform(x), _numbered(y), weigh.transform(x_test), _numbered(y_test))


def mnist(directory: Path) -> Split:
    """Load MNIST with its official split, pixels divided by 255."""
    parts: list[Any] = []
    for part in ("train", "t10k"):
        images = _idx(directory / f"mnist/{part}-images-idx3-ubyte.xz")
        labels = _idx(directory / f"mnist/{part}-labels-idx1-ubyte.xz")
        parts += [images.reshape(len(images), -1) / 255, _numbered(labels)]
    return Split(*parts)


def _idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file: a magic number, the sizes, then bytes."""
    content = lzma.decompress(path.read_bytes())
    dimensions = content[3]
    sizes = np.frombuffer(content, ">u4", dimensions, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(sizes)


def usps(directory: Path) -> Split:
    """Load usps with its official split: digits of 16 x 16 pixels in [-1, 1]."""
    parts: list[Any] = []
    for part in ("", ".t"):
        x, y = read_labelled(directory / f"usps/usps{part}.libsvm.xz", 256)
        parts += [x.toarray(), _numbered(y)]
    return Split(*parts)


def covtype(directory: Path) -> Split:
    """Load covtype: seven forest types, columns scaled to [0, 1], a fifth held out."""
    x, y = read_labelled(directory / "covtype/covtype.multi.libsvm.xz", 54)
    return _held_out(min_max(x.toarray()), _numbered(y), 1 / 5)


def digits(directory: Path) -> Split:
    """Load scikit-learn's digits: 8 x 8 pixels divided by 16, a third held out."""
    x, y = load_digits(return_X_y=True)
    return _held_out(x / 16, _numbered(y), 1 / 3)


def _numbered(labels: NDArray[Any]) -> Numbers:
    """Number the classes; both parts contain every class, so a label has the same number in both."""
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _held_out(x: NDArray[np.float64], y: Numbers, share: float) -> Split:
    rows = np.random.default_rng(SEED).permutation(len(y))
    test, train = np.split(rows, [int(share * len(y))])
    return Split(x[train], y[train], x[test], y[test])


SETS: dict[str, Callable[[Path], Split]] = {
    "20news": news,
    "mnist": mnist,
    "usps": usps,
    "covtype": covtype,
    "digits": digits,
}
