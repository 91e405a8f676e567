"""Compare multi-class errors after one pass, joint and one-vs-rest, with those of peers.

Prints the tables of docs/multiclass.md: the progressive error (each row is predicted before it is learned) and the
held-out error, over several random orders. --publish updates the page. The parameters are the defaults, without an
intercept: in unit rows it is as large as everything else, and doubles the mistakes of first-order rules.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from class_sets import SETS, Numbers, Split
from data_sets import DEFAULT_DIRECTORY, SEED
from scipy import sparse
from sklearn.linear_model import Perceptron as PlainPerceptron
from sklearn.linear_model import SGDClassifier

import scwlearn
from scwlearn.rules import Rule, all_rules, find_rule

DOCS = Path(__file__).resolve().parents[1] / "docs"

RULES = ("scw1", "scw2", "arow", "cw", "pa1", "perceptron")
#: Multi-class settings by their name in the tables.
SCHEMES: dict[str, dict[str, Any]] = {
    "joint": {"multi_class": "joint"},
    "one Σ": {"multi_class": "joint", "shared_covariance": True},
    "ovr": {"multi_class": "ovr"},
}
#: Beyond this many features a full Sigma takes too long.
WIDEST_FULL = 1000
#: With more features than this it takes minutes, so only a few rules run, in one order.
WIDE_FULL = 500
WIDE_RULES = ("scw1", "arow")


class TextbookPA:
    """M-PA as in LIBOL: no intercept, C = 1, a step against the best rival if the margin is below 1."""

    def __init__(self, step: Callable[[float, float], float]) -> None:
        self.step = step
        self.n_mistakes_ = self.n_seen_ = 0

    def fit(self, x: Any, y: Numbers) -> TextbookPA:
        """Learn in one pass."""
        self.weights = np.zeros((x.shape[1], int(y.max()) + 1))
        for (places, values), label in zip(_vectors(x), y.tolist(), strict=True):
            scores = values @ self.weights[places]
            self.n_mistakes_ += int(scores.argmax() != label)
            own, scores[label] = scores[label], -np.inf
            rival = scores.argmax()
            loss, norm2 = 1 - float(own - scores[rival]), float(values @ values)
            if loss > 0 and norm2 > 0:
                move = self.step(loss, norm2) * values
                self.weights[places, label] += move
                self.weights[places, rival] -= move
        self.n_seen_ = len(y)
        return self

    def score(self, x: Any, y: Numbers) -> float:
        """Return the accuracy."""
        return float(np.mean((x @ self.weights).argmax(axis=1) == y))


def _vectors(x: Any) -> Iterator[tuple[Any, Any]]:
    """Return the non-zero indices and values of each row."""
    if not sparse.issparse(x):
        yield from ((slice(None), row) for row in x)
        return
    for start, end in zip(x.indptr, x.indptr[1:], strict=False):
        yield x.indices[start:end], x.data[start:end]


_C = 1.0
TEXTBOOK: dict[str, Callable[[float, float], float]] = {
    "M-PA, textbook": lambda loss, norm2: loss / (2 * norm2),
    "M-PA-I, textbook": lambda loss, norm2: min(_C, loss / (2 * norm2)),
    "M-PA-II, textbook": lambda loss, norm2: loss / (2 * norm2 + 1 / (2 * _C)),
}


class Case(NamedTuple):
    """Cell of the tables, and how to create its model."""

    line: tuple[str, str]
    scheme: str
    seeds: int
    new: Callable[[], Any]


@dataclass
class Errors:
    """Errors for each order; no progressive error if a peer does not count it."""

    progressive: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)


#: Keyed by row and scheme.
Found = dict[tuple[tuple[str, str], str], Errors]


def cases(names: Sequence[str], features: int, seeds: int) -> Iterator[Case]:
    """Return our rules with every affordable form of Sigma, then the peers."""
    for rule in map(find_rule, names):
        for covariance in ("identity",) if rule.order == 1 else (rule.diagonal, "full"):
            if covariance == "full" and features > (WIDEST_FULL if rule.name in WIDE_RULES else WIDE_FULL):
                continue
            orders = 1 if covariance == "full" and features > WIDE_FULL else seeds
            for scheme, how in SCHEMES.items():
                if rule.order == 1 and scheme == "one Σ":
                    continue
                kept = {"covariance": covariance} if rule.order == 2 else {}
                plain = {"average": False, "fit_intercept": False, "shuffle": False}
                new = partial(getattr(scwlearn, rule.estimator), **plain, **how, **kept)
                yield Case(line(rule, covariance), scheme, orders, new)
    for title, step in TEXTBOOK.items():
        yield Case((title, ""), "joint", seeds, partial(TextbookPA, step))
    theirs: dict[str, Any] = {"max_iter": 1, "tol": None, "shuffle": False, "fit_intercept": False}
    yield Case(("SGDClassifier(hinge)", ""), "ovr", seeds, partial(SGDClassifier, loss="hinge", **theirs))
    yield Case(("scikit-learn's Perceptron", ""), "ovr", seeds, partial(PlainPerceptron, **theirs))


def line(rule: Rule, covariance: str) -> tuple[str, str]:
    """Return the name of a rule and its covariance in the tables."""
    return rule.title, "none" if covariance == "identity" else covariance


def errors(case: Case, split: Split) -> Errors:
    """Run one pass over the rows in each order."""
    found = Errors()
    for seed in range(case.seeds):
        order = np.random.default_rng([SEED, seed]).permutation(len(split.y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that one pass may be too few
            model = case.new().fit(split.x[order], split.y[order])
        if hasattr(model, "n_mistakes_"):
            found.progressive.append(model.n_mistakes_ / model.n_seen_)
        found.held_out.append(1 - model.score(split.x_test, split.y_test))
    return found


def table(name: str, split: Split, found: Found) -> str:
    """Return the table of one set, with the smallest progressive and held-out errors in bold."""
    rows, features = split.x.shape
    heads = [f"{kind}: {scheme}" for kind in ("progressive", "held out") for scheme in SCHEMES]
    lines = [
        f"**{name}**: {split.classes} classes, {features:,} features, {rows:,} training rows, "
        f"{len(split.y_test):,} held out.\n",
        f"| {name} | Σ | {' | '.join(heads)} |",
        "|---|---|" + "--:|" * len(heads),
    ]
    least = [min(float(np.mean(of(e))) for e in found.values() if of(e)) for of in KINDS]
    for title in dict.fromkeys(title for title, _ in found):
        cells = [
            shown(of(found.get((title, scheme), Errors())), best)
            for of, best in zip(KINDS, least, strict=True)
            for scheme in SCHEMES
        ]
        lines.append(f"| {' | '.join([*title, *cells])} |")
    return "\n".join(lines) + "\n"


KINDS: tuple[Callable[[Errors], list[float]], ...] = (lambda e: e.progressive, lambda e: e.held_out)


def shown(values: list[float], least: float) -> str:
    """Format mean and standard deviation in percent."""
    if not values:
        return ""
    spread = f" ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    text = f"{100 * np.mean(values):.2f}{spread}"
    return f"**{text}**" if np.mean(values) == least else text


def summary(found: dict[str, Found]) -> str:
    """Compare the other schemes with joint steps, per algorithm over all sets and per set over all algorithms."""
    compared = [
        (name, title) for name, of_set in found.items() for title, scheme in of_set if scheme == "ovr" and title[1]
    ]
    groups = {", ".join(title): [case for case in compared if case[1] == title] for _, title in compared}
    groups |= {f"all on {name}": [case for case in compared if case[0] == name] for name in found}
    groups["**all**"] = compared
    lines = [
        "Errors relative to joint learning with a Σ per class: geometric mean, and how many are above 1.\n",
        "| | progressive: one Σ | ovr | held out: one Σ | ovr |",
        "|---|--:|--:|--:|--:|",
    ]
    for title, group in groups.items():
        cells = [ratio(found, group, scheme, of) for of in KINDS for scheme in ("one Σ", "ovr")]
        lines.append(f"| {' | '.join([title, *cells])} |")
    return "\n".join(lines) + "\n"


def ratio(
    found: dict[str, Found],
    group: Sequence[tuple[str, tuple[str, str]]],
    scheme: str,
    of: Callable[[Errors], list[float]],
) -> str:
    """Return the geometric mean of error/joint error, and how many are above 1."""
    ratios = [
        np.mean(of(found[name][title, scheme])) / np.mean(of(found[name][title, "joint"]))
        for name, title in group
        if (title, scheme) in found[name]
    ]
    if not ratios:
        return ""
    return f"{np.exp(np.mean(np.log(ratios))):.2f} ({sum(r > 1 for r in ratios)} of {len(ratios)})"


def publish(text: str) -> None:
    """Update the tables of docs/multiclass.md."""
    page = DOCS / "multiclass.md"
    begin, end = "<!-- several classes -->\n", "\n<!-- /several classes -->"
    page.write_text(re.sub(f"{begin}.*{end}", lambda _: begin + text + end, page.read_text(), flags=re.DOTALL))


def main() -> None:
    """Run the selected benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    directory = os.environ.get("SCWLEARN_DATA", DEFAULT_DIRECTORY)
    parser.add_argument("--data-dir", type=Path, default=directory, help="default: SCWLEARN_DATA or ../shared/data")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS), metavar="SET")
    every = [rule.name for rule in all_rules()]
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=every, metavar="RULE")
    parser.add_argument("--orders", type=int, default=5, help="shuffled orders of the rows; default: 5")
    parser.add_argument("--output", type=Path, default=DOCS.parent / "build" / "several-classes")
    parser.add_argument("--publish", action="store_true", help="update docs/multiclass.md")
    asked = parser.parse_args()
    found: dict[str, Found] = {}
    tables = []
    for name in asked.sets:
        split, found[name] = SETS[name](asked.data_dir), {}
        for case in cases(asked.rules, split.x.shape[1], asked.orders):
            print(f"{name}: {', '.join(filter(None, case.line))}, {case.scheme}", file=sys.stderr)
            found[name][case.line, case.scheme] = errors(case, split)
        tables.append(table(name, split, found[name]))
        print(tables[-1], flush=True)
    tables.append(summary(found))
    print(tables[-1])
    text = "\n".join(tables)
    asked.output.mkdir(parents=True, exist_ok=True)
    (asked.output / "several_classes.md").write_text(text)
    if asked.publish:
        publish(text)


if __name__ == "__main__":
    main()
