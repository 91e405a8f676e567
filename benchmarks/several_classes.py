"""Joint steps or one class against the rest, one Sigma for each class or one for all: errors on several classes.

One pass over the training rows in several random orders, with the default parameters. Prints tables for the
documentation: the progressive error (each row is predicted before it is learned from) and that on held-out rows.
"""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from data_sets import DEFAULT_DIRECTORY, SEED
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Perceptron as PlainPerceptron
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler

import scwlearn
from scwlearn.rules import all_rules


@dataclass(frozen=True)
class Problem:
    """Rows to learn from in one pass, and rows to be judged by."""

    x: Any
    y: NDArray[Any]
    held_out_x: Any
    held_out_y: NDArray[Any]


def libsvm(path: Path, features: int) -> tuple[Any, NDArray[Any]]:
    """The rows and labels of a compressed file."""
    with lzma.open(path) as file:
        x, y = load_svmlight_file(file, n_features=features)
    return x, y.astype(int)


def idx(path: Path) -> NDArray[np.uint8]:
    """A file of MNIST's: a magic number, the sizes, then bytes."""
    with lzma.open(path) as file:
        content = file.read()
    dimensions = content[3]
    sizes = np.frombuffer(content, ">u4", dimensions, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(sizes)


def news(directory: Path) -> Problem:
    """20 newsgroups: sublinear tf-idf, unit rows."""
    x, y = libsvm(directory / "20news/20news.train.libsvm.xz", 59_051)
    held_out_x, held_out_y = libsvm(directory / "20news/20news.test.libsvm.xz", 59_051)
    weigh = TfidfTransformer(sublinear_tf=True).fit(x)
    return Problem(weigh.transform(x), y, weigh.transform(held_out_x), held_out_y)


def mnist(directory: Path) -> Problem:
    """Pixels as they are, over 255."""
    parts: list[Any] = []
    for name in ("train", "t10k"):
        images = idx(directory / f"mnist/{name}-images-idx3-ubyte.xz")
        parts += [images.reshape(len(images), -1) / 255, idx(directory / f"mnist/{name}-labels-idx1-ubyte.xz")]
    return Problem(*parts)


def usps(directory: Path) -> Problem:
    """As distributed, in [-1, 1]."""
    x, y = libsvm(directory / "usps/usps.libsvm.xz", 256)
    held_out_x, held_out_y = libsvm(directory / "usps/usps.t.libsvm.xz", 256)
    return Problem(x.toarray(), y, held_out_x.toarray(), held_out_y)


def covtype(directory: Path) -> Problem:
    """Seven kinds of forest, columns scaled to [0, 1], a fifth held out."""
    x, y = libsvm(directory / "covtype/covtype.multi.libsvm.xz", 54)
    x, held_out_x, y, held_out_y = train_test_split(
        MaxAbsScaler().fit_transform(x).toarray(), y, test_size=0.2, random_state=SEED
    )
    return Problem(x, y, held_out_x, held_out_y)


def digits(directory: Path) -> Problem:
    """The small digits that come with scikit-learn, over 16, a third held out."""
    x, y = load_digits(return_X_y=True)
    x, held_out_x, y, held_out_y = train_test_split(x / 16, y, test_size=1 / 3, random_state=SEED)
    return Problem(x, y, held_out_x, held_out_y)


PROBLEMS: dict[str, Callable[[Path], Problem]] = {
    "20news": news,
    "mnist": mnist,
    "usps": usps,
    "covtype": covtype,
    "digits": digits,
}

#: How several classes learn, by what the tables call it.
SCHEMES: dict[str, dict[str, Any]] = {
    "joint": {"multi_class": "joint"},
    "shared": {"multi_class": "joint", "shared_covariance": True},
    "ovr": {"multi_class": "ovr"},
}


def contenders(covariance: str, only: list[str]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Algorithm, scheme, and a maker of new classifiers."""
    for rule in all_rules():
        if only and rule.name not in only:
            continue
        if rule.order == 1 and covariance != "diagonal":
            continue
        for scheme, how in SCHEMES.items():
            if rule.order == 1 and scheme == "shared":
                continue
            kept = {"covariance": covariance if covariance == "full" else rule.diagonal} if rule.order == 2 else {}
            yield rule.title, scheme, partial(getattr(scwlearn, rule.estimator), **how, **kept)


def peers() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """scikit-learn's, which learn one against the rest."""
    yield "SGDClassifier (hinge)", "ovr", lambda: SGDClassifier(max_iter=1, tol=None, shuffle=False)
    yield "scikit-learn's Perceptron", "ovr", lambda: PlainPerceptron(max_iter=1, tol=None, shuffle=False)


def errors(new: Callable[[], Any], problem: Problem, seeds: int) -> tuple[list[float], list[float]]:
    """The progressive errors, if the classifier counts them, and those on held-out rows."""
    progressive, held_out = [], []
    for seed in range(seeds):
        order = np.random.default_rng([SEED, seed]).permutation(len(problem.y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = new().fit(problem.x[order], problem.y[order])
        if hasattr(model, "n_mistakes_"):
            progressive.append(model.n_mistakes_ / model.n_seen_)
        held_out.append(1 - model.score(problem.held_out_x, problem.held_out_y))
    return progressive, held_out


def shown(values: list[float]) -> str:
    """The mean and the standard deviation, in percent."""
    if not values:
        return ""
    spread = f" ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.2f}{spread}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    directory = os.environ.get("SCWLEARN_DATA", DEFAULT_DIRECTORY)
    parser.add_argument("--data-dir", type=Path, default=directory, help="default: SCWLEARN_DATA or ../shared/data")
    parser.add_argument("--sets", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS), metavar="SET")
    parser.add_argument("--rules", nargs="+", default=[], metavar="RULE", help="default: all")
    parser.add_argument("--covariance", choices=["diagonal", "full"], default="diagonal")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    for name in arguments.sets:
        problem = PROBLEMS[name](arguments.data_dir)
        rows, features = problem.x.shape
        print(
            f"\n{name}: {rows} rows, {features} features, {len(np.unique(problem.y))} classes; {arguments.covariance}\n"
        )
        print("| algorithm | scheme | progressive error, % | held-out error, % |\n|---|---|---|---|")
        for title, scheme, new in [*contenders(arguments.covariance, arguments.rules), *peers()]:
            progressive, held_out = errors(new, problem, arguments.seeds)
            print(f"| {title} | {scheme} | {shown(progressive)} | {shown(held_out)} |", flush=True)
            print(f"{name}: {title}, {scheme}", file=sys.stderr)


if __name__ == "__main__":
    main()
