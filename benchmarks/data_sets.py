"""Data sets of the benchmarks: scwlearn's, some of them rescaled or sampled."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize, scale

from scwlearn.datasets import DataSet as DataSet
from scwlearn.datasets import NamedSet, find_set
from scwlearn.datasets.load import read_files, two_class_problem
from scwlearn.datasets.sources import as_distributed

DEFAULT_DIRECTORY = Path(__file__).resolve().parents[2] / "shared" / "data"
#: Seed of row samples and orders.
SEED = 20120626


@dataclass(frozen=True)
class Source:
    """Data set with an optional preparation and a limit on its rows."""

    named: NamedSet
    #: Size of the random sample of sets that are too large for a benchmark of minutes.
    rows: int | None = None


def _changed(name: str, **changes: Any) -> Source:
    return Source(replace(find_set(name), **changes))


# Two classes of ten groups each: alt, comp, misc, rec.autos to rec.sport.baseball against the rest.
_NEWS: dict[str, Any] = {"positive": tuple(map(float, range(1, 11))), "negative": None}

SOURCES: dict[str, Source] = {
    "svmguide3": Source(find_set("svmguide3")),
    "splice": Source(find_set("splice")),
    "mushrooms": Source(find_set("mushrooms")),
    "mitface": Source(find_set("mitface")),
    "usps": Source(find_set("usps1vsall")),
    "mnist1vs2": Source(find_set("mnist1vs2")),
    "mnist1vs2-scaled": _changed("mnist1vs2", prepare=lambda x: x / 255),
    "w7a": Source(find_set("w7a")),
    "a9a": Source(find_set("a9a")),
    "cod-rna": Source(find_set("codrna")),
    "cod-rna-scaled": _changed("codrna", prepare=scale),
    "ijcnn1": _changed("ijcnn1", dense=False),
    "covtype": Source(find_set("covtype"), rows=50_000),
    "covtype-scaled": Source(find_set("covtype-scaled"), rows=50_000),
    "20news": _changed("news-pc-mac", prepare=as_distributed, **_NEWS),
    "20news-unit": _changed("news-pc-mac", prepare=normalize, **_NEWS),
    "elec2": Source(find_set("elec2")),
}


def load(name: str, directory: Path) -> DataSet:
    """Load a set by name, at most `rows` rows of it."""
    source = SOURCES[name]
    x, label = read_files(source.named, directory)
    if source.rows is not None and source.rows < len(label):
        chosen = np.random.default_rng(SEED).choice(len(label), source.rows, replace=False)
        x, label = x[chosen], label[chosen]
    return DataSet(name, name, *two_class_problem(source.named, x, label), source.named.shuffle)


def orders(data: DataSet, count: int) -> list[NDArray[np.intp]]:
    """Return random orders: the first for choosing parameters, the other `count` for evaluation.

    A set that keeps its order uses that order for both.
    """
    rows = len(data.y)
    if not data.shuffle:
        return [np.arange(rows)] * 2
    generator = np.random.default_rng(SEED)
    return [generator.permutation(rows) for _ in range(count + 1)]


def argument_parser(
    description: str | None, default_sets: list[str], sets: Iterable[str] = ()
) -> argparse.ArgumentParser:
    """Return a parser for the arguments common to benchmarks on data sets: those declared here, or `sets`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    directory = os.environ.get("SCWLEARN_DATA", DEFAULT_DIRECTORY)
    parser.add_argument("--data-dir", type=Path, default=directory, help="default: SCWLEARN_DATA or ../shared/data")
    parser.add_argument("--sets", nargs="+", default=default_sets, choices=list(sets or SOURCES), metavar="SET")
    return parser
