"""The data sets of the benchmarks as two-class problems, read from a data directory of LIBSVM files packed with xz."""

from __future__ import annotations

import argparse
import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import normalize, scale

DEFAULT_DIRECTORY = Path(__file__).resolve().parents[2] / "shared" / "data"
#: Which rows of a large set are used, and every order of rows, follow from this.
SEED = 20120626


@dataclass(frozen=True)
class Source:
    """Where a set lies and how it becomes two classes."""

    files: tuple[str, ...]
    #: Which of the file's labels are +1.
    positive: Callable[[NDArray[np.float64]], NDArray[np.bool_]] = lambda label: label > 0
    #: Dense sets are kept as a matrix of float64; sparse ones stay CSR.
    dense: bool = False
    prepare: Callable[[Any], Any] = lambda x: x
    #: A stream that drifts keeps its order.
    shuffle: bool = True
    #: No more rows than this, chosen at random: for sets too large for a benchmark of minutes.
    rows: int | None = None


class DataSet(NamedTuple):
    """A two-class problem: rows, labels -1 and +1, and whether its order may be shuffled."""

    name: str
    x: Any
    y: NDArray[np.int8]
    shuffle: bool


def equalised(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each image histogram-equalised: the rank of the pixel within its image/number of pixels."""
    ranks: NDArray[np.float64] = rankdata(x, axis=1) / x.shape[1]
    return ranks


def min_max(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column scaled to [0, 1]."""
    low, high = x.min(axis=0), x.max(axis=0)
    scaled: NDArray[np.float64] = (x - low) / np.where(high > low, high - low, 1.0)
    return scaled


SOURCES: dict[str, Source] = {
    "svmguide3": Source(("svmguide3/svmguide3.libsvm.xz",), dense=True),
    "splice": Source(("splice/splice.libsvm.xz",), dense=True),
    "mushrooms": Source(("mushrooms/mushrooms.libsvm.xz",), positive=lambda label: label == 1),
    "mitface": Source(("mitface/mitface.libsvm.xz",), dense=True, prepare=equalised),
    # The file's labels are the digits: 0 here is label 1 of LIBSVM's own file.
    "usps": Source(("usps/usps.libsvm.xz",), positive=lambda label: label == 0, dense=True),
    "mnist1vs2": Source(("mnist/mnist1vs2.libsvm.xz",)),
    "mnist1vs2-scaled": Source(("mnist/mnist1vs2.libsvm.xz",), prepare=lambda x: x / 255),
    "w7a": Source(("w7a/w7a.libsvm.xz",)),
    "a9a": Source(("a9a/a9a.libsvm.xz",)),
    "cod-rna": Source(("cod-rna/cod-rna.libsvm.xz",), dense=True),
    "cod-rna-scaled": Source(("cod-rna/cod-rna.libsvm.xz",), dense=True, prepare=scale),
    "ijcnn1": Source(("ijcnn1/ijcnn1.libsvm.xz", "ijcnn1/ijcnn1.t.libsvm.xz")),
    "covtype": Source(("covtype/covtype.multi.libsvm.xz",), positive=lambda label: label == 2, dense=True, rows=50_000),
    "covtype-scaled": Source(
        ("covtype/covtype.multi.libsvm.xz",),
        positive=lambda label: label == 2,
        dense=True,
        prepare=min_max,
        rows=50_000,
    ),
    # Two classes of ten or so groups each: alt, comp, misc, rec.autos to rec.sport.baseball against the rest.
    "20news": Source(("20news/20news.train.libsvm.xz",), positive=lambda label: label <= 10),
    "20news-unit": Source(("20news/20news.train.libsvm.xz",), positive=lambda label: label <= 10, prepare=normalize),
    "elec2": Source(("elec2/elec2.libsvm.xz",), dense=True, shuffle=False),
}


def load(name: str, directory: Path) -> DataSet:
    """The set of that name, at most `rows` of it."""
    source = SOURCES[name]
    x, label = _read(directory, source.files)
    if source.rows is not None and source.rows < len(label):
        chosen = np.random.default_rng(SEED).choice(len(label), source.rows, replace=False)
        x, label = x[chosen], label[chosen]
    x = source.prepare(x.toarray() if source.dense else x)
    return DataSet(name, x, np.where(source.positive(label), 1, -1).astype(np.int8), source.shuffle)


def orders(data: DataSet, count: int) -> list[NDArray[np.intp]]:
    """The first is for choosing parameters, the `count` that follow are for judging them.

    A set that keeps its order is chosen and judged on that one order.
    """
    rows = len(data.y)
    if not data.shuffle:
        return [np.arange(rows)] * 2
    generator = np.random.default_rng(SEED)
    return [generator.permutation(rows) for _ in range(count + 1)]


def argument_parser(description: str | None, default_sets: list[str]) -> argparse.ArgumentParser:
    """The arguments that every benchmark on data sets takes."""
    parser = argparse.ArgumentParser(description=description)
    directory = os.environ.get("SCWLEARN_DATA", DEFAULT_DIRECTORY)
    parser.add_argument("--data-dir", type=Path, default=directory, help="default: SCWLEARN_DATA or ../shared/data")
    parser.add_argument("--sets", nargs="+", default=default_sets, choices=list(SOURCES), metavar="SET")
    return parser


def _read(directory: Path, files: tuple[str, ...]) -> tuple[Any, NDArray[np.float64]]:
    from scipy import sparse

    parts = []
    for name in files:
        with lzma.open(directory / name) as file:
            parts.append(load_svmlight_file(file, zero_based=False))
    width = max(x.shape[1] for x, _ in parts)
    for x, _ in parts:
        x.resize(x.shape[0], width)
    return sparse.vstack([x for x, _ in parts], format="csr"), np.concatenate([y for _, y in parts])
