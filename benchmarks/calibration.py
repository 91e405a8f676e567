"""Compare probabilities on test rows after one pass: ours, scikit-learn's, River's and Vowpal Wabbit's.

Prints the table of docs/probabilities.md and draws its picture; --publish updates both.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from class_sets import Split
from data_sets import DEFAULT_DIRECTORY, SEED
from numpy.typing import NDArray
from publish_evaluation import shrink
from quality.peers import Pass, river, vowpal_wabbit
from reliability import Quality, confidence, curve, quality
from sklearn.linear_model import SGDClassifier
from speed.harness import Unavailable

import scwlearn
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.datasets.sources import min_max, unit_log_counts
from scwlearn.display import pictures, theme
from scwlearn.rules import all_rules

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Training and test rows of covtype, which has no official split.
COVTYPE_ROWS = (100_000, 50_000)


#: Function that learns from the rows in order and returns the probabilities of all classes for the test rows.
Model = Callable[[Any, Numbers, Any, int], Array]


def read(directory: Path, name: str, part: str, width: int) -> tuple[Any, Array]:
    """Read a compressed LIBSVM file."""
    with lzma.open(directory / name / f"{name}{part}.libsvm.xz") as file:
        return load_libsvm(cast(BinaryIO, file), n_features=width)


def two_parts(directory: Path, name: str, width: int) -> Split:
    """Load a set with an official test split; the labels are -1 and +1."""
    (x, y), (x_test, y_test) = (read(directory, name, part, width) for part in ("", ".t"))
    return Split(x, (y > 0).astype(np.intp), x_test, (y_test > 0).astype(np.intp))


def newsgroups(directory: Path) -> Split:
    """Load all 20 newsgroups, split by date."""
    (x, y), (x_test, y_test) = (read(directory, "20news", part, 59051) for part in (".train", ".test"))
    numbers = (labels.astype(np.intp) - 1 for labels in (y, y_test))
    return Split(unit_log_counts(x), next(numbers), unit_log_counts(x_test), next(numbers))


def covtype(directory: Path) -> Split:
    """Load a random sample of covtype, class 2 against the rest, with columns scaled to [0, 1]."""
    x, labels = read(directory, "covtype", ".multi", 54)
    chosen = np.random.default_rng(SEED).permutation(len(labels))[: sum(COVTYPE_ROWS)]
    x, y = min_max(x.toarray())[chosen], (labels[chosen] == 2).astype(np.intp)
    rows = COVTYPE_ROWS[0]
    return Split(x[:rows], y[:rows], x[rows:], y[rows:])


SETS: dict[str, Callable[[Path], Split]] = {
    "a9a": partial(two_parts, name="a9a", width=123),
    "w7a": partial(two_parts, name="w7a", width=300),
    "covtype": covtype,
    "20news": newsgroups,
}


def ours(estimator: str, x: Any, y: Numbers, x_test: Any, _: int) -> Array:
    """Run one pass of our estimator with default parameters."""
    probabilities: Array = getattr(scwlearn, estimator)(shuffle=False).fit(x, y).predict_proba(x_test)
    return probabilities


def sgd(x: Any, y: Numbers, x_test: Any, _: int) -> Array:
    """Run one pass of SGDClassifier in the given order; several classes one-vs-rest."""
    model = SGDClassifier(loss="log_loss", max_iter=1, tol=None, shuffle=False).fit(x, y)
    probabilities: Array = model.predict_proba(x_test)
    return probabilities


def peer(run: Callable[..., Pass], x: Any, y: Numbers, x_test: Any, classes: int) -> Array:
    """Run one pass of River or Vowpal Wabbit."""
    return run(x, y, x_test, classes).after


OURS = ("AutoClassifier", "AROW", "SCW1", "SCW2", "PA1", "Perceptron")
PEERS: dict[str, Model] = {
    "SGDClassifier(log_loss)": sgd,
    "River LogisticRegression": partial(peer, partial(river, "LogisticRegression")),
    "Vowpal Wabbit": partial(peer, vowpal_wabbit),
}
MODELS: dict[str, Model] = {**{name: partial(ours, name) for name in OURS}, **PEERS}


@dataclass
class Results:
    """Quality of a model's probabilities on a set for each order of the rows, and the last probabilities."""

    qualities: list[Quality]
    last: Array

    def mean(self) -> Quality:
        return Quality(*np.mean(self.qualities, axis=0))

    def spread(self) -> Quality:
        return Quality(*np.std(self.qualities, axis=0, ddof=1 if len(self.qualities) > 1 else 0))


def judge(split: Split, models: dict[str, Model], orders: int) -> dict[str, Results]:
    """Run every model on the same orders of the rows."""
    found: dict[str, Results] = {}
    for seed in range(orders):
        order = np.random.default_rng([SEED, seed]).permutation(len(split.y))
        for name, model in models.items():
            print(f"  {name}", file=sys.stderr)
            try:
                last = model(split.x[order], split.y[order], split.x_test, split.classes)
            except Unavailable as error:
                print(f"  left out: {error}", file=sys.stderr)
                continue
            results = found.setdefault(name, Results([], last))
            results.qualities.append(quality(last, split.y_test))
            results.last = last
    return found


def table(name: str, split: Split, found: dict[str, Results]) -> str:
    """Return the table of one set, with the best values in bold."""
    heads = ("log-loss", "Brier", "ECE", "ECE, equal mass", "if true", "error")
    kind = "two classes" if split.classes == 2 else f"{split.classes} classes"
    lines = [
        f"**{name}**: {kind}, {len(split.y)} training rows, {len(split.y_test)} test rows.\n",
        f"| {name} | {' | '.join(heads)} |",
        "|---|" + "---|" * len(heads),
    ]
    means = {model: results.mean() for model, results in found.items()}
    best = [min(column) for column in zip(*means.values(), strict=True)]
    for model, results in found.items():
        cells = []
        for place, (value, spread) in enumerate(zip(means[model], results.spread(), strict=True)):
            text = f"{value:.4f} ± {spread:.4f}"
            stands_out = value == best[place] and heads[place] != "if true"
            cells.append(f"**{text}**" if stands_out else f"{value:.4f}" if heads[place] == "if true" else text)
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


_PEER_STYLES = {
    "SGDClassifier(log_loss)": ("#7a7a7a", "s"),
    "River LogisticRegression": ("#2a9d8f", "^"),
    "Vowpal Wabbit": ("#8052c1", "v"),
}


def draw(splits: dict[str, Split], found: dict[str, dict[str, Results]], path: Path) -> None:
    """Draw the observed frequency minus the predicted probability; 0 everywhere means calibrated."""
    import matplotlib.pyplot as plt

    styles = {rule.estimator: theme.algorithm_style(rule) for rule in all_rules()}
    with pictures.picture_style():
        figure, panels = plt.subplots(2, 2, figsize=(10, 7.2), layout="constrained")
        for panel, (name, models) in zip(panels.flat, found.items(), strict=False):
            panel.axhline(0, color="#444444", linewidth=0.8)
            for model, results in models.items():
                # More lines would hide each other.
                if model in ("AutoClassifier", "PA1", "Perceptron"):
                    continue
                p, share = curve(*confidence(results.last, splits[name].y_test))
                colour, marker = _PEER_STYLES.get(model) or (styles[model].colour, styles[model].marker)
                dash = theme.DASHES["dashed" if model in PEERS else "solid"]
                panel.plot(p, share - p, color=colour, marker=marker, markersize=4.5, linestyle=dash, label=model)
            of = "the likeliest class" if splits[name].classes > 2 else "the second class"
            panel.set(
                title=name, xlabel=f"probability of {of}", ylabel="how often it came true, less that", xlim=(0, 1)
            )
            panel.grid()
        panels.flat[0].legend(frameon=False, fontsize=8)
        pictures.write_both(figure, path)
        plt.close(figure)


def publish(text: str, picture: Path) -> None:
    """Update the tables of docs/probabilities.md and its picture."""
    shrink(picture.with_suffix(".png"), DOCS / "images" / "calibration" / "reliability.webp")
    page = DOCS / "probabilities.md"
    begin, end = "<!-- calibration -->\n", "\n<!-- /calibration -->"
    old = page.read_text()
    page.write_text(re.sub(f"{begin}.*{end}", lambda _: begin + text + end, old, flags=re.DOTALL))


def main() -> None:
    """Run the selected benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    directory = os.environ.get("SCWLEARN_DATA", DEFAULT_DIRECTORY)
    parser.add_argument("--data-dir", type=Path, default=directory, help="default: SCWLEARN_DATA or ../shared/data")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS), metavar="SET")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS), metavar="MODEL")
    parser.add_argument("--orders", type=int, default=5, help="shuffled orders of the rows; default: 5")
    parser.add_argument("--output", type=Path, default=DOCS.parent / "build" / "calibration")
    parser.add_argument("--publish", action="store_true", help="update docs/probabilities.md")
    asked = parser.parse_args()
    splits, found, tables = {}, {}, []
    for name in asked.sets:
        print(name, file=sys.stderr)
        splits[name] = SETS[name](asked.data_dir)
        found[name] = judge(splits[name], {model: MODELS[model] for model in asked.models}, asked.orders)
        tables.append(table(name, splits[name], found[name]))
        print(tables[-1], flush=True)
    draw(splits, found, asked.output / "reliability")
    text = "\n".join(tables)
    (asked.output / "calibration.md").write_text(text)
    if asked.publish:
        publish(text, asked.output / "reliability")


if __name__ == "__main__":
    main()
