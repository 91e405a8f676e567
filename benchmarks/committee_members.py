"""Compare possible members of the committee on the sets of the quality benchmark: the table of docs/committee.md.

Each candidate runs alone over each set; then the mixture of a committee learns from their scores. The last column needs
the results of `make quality`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data_sets import argument_parser
from numpy.typing import NDArray
from quality.models import BATCH
from quality.records import Key, read
from quality.report import geometric_mean
from quality.sets import SETS, Split, load, split

from scwlearn import Learner
from scwlearn.model.mixture import Mixture

Array = NDArray[np.float64]

_UNIT: dict[str, Any] = {"rule": "arow", "scale": "unit", "initial_variance": 10.0}
CANDIDATES: dict[str, dict[str, Any]] = {
    "AROW": {"rule": "arow"},
    "SCW-I": {"rule": "scw1"},
    "SCW-I, standard": {"rule": "scw1", "scale": "standard"},
    "AROW, unit": _UNIT,
    "AROW, unit, diagonal": _UNIT | {"covariance": "diagonal"},
    "PA-I, rms": {"rule": "pa1", "scale": "rms"},
    "PA-I, rms, averaged": {"rule": "pa1", "scale": "rms", "average": True},
    "SCW-I, standard, averaged": {"rule": "scw1", "scale": "standard", "average": True},
    "agg-ROMMA, rms, averaged": {"rule": "aggressive_romma", "scale": "rms", "average": True},
}
COMMITTEES = (
    ("AROW", "SCW-I, standard", "PA-I, rms, averaged"),
    ("AROW", "SCW-I, standard", "PA-I, rms"),
    ("AROW", "SCW-I, standard, averaged", "PA-I, rms, averaged"),
    ("AROW", "SCW-I, standard", "agg-ROMMA, rms, averaged"),
    ("AROW", "SCW-I, standard", "AROW, unit", "PA-I, rms, averaged"),
    ("AROW", "SCW-I, standard", "AROW, unit, diagonal", "PA-I, rms"),
    ("AROW", "SCW-I, standard", "SCW-I", "PA-I, rms, averaged"),
    ("AROW", "SCW-I, standard"),
    ("AROW", "SCW-I", "PA-I, rms, averaged"),
)
BASE = ("SCW-I",)


class Looks(NamedTuple):
    """Scores and variances of the training rows before each was learned, and of the test rows at the end."""

    scores: Array
    variances: Array
    test_scores: Array
    test_variances: Array


class Mistakes(NamedTuple):
    """Numbers of mistakes before learning and on the test rows."""

    progressive: float
    held_out: float


def looks_of(settings: dict[str, Any], part: Split, numbers: NDArray[Any]) -> Looks:
    """Run a candidate over the training rows, whose labels are class numbers in the order of their appearance."""
    binary = part.classes == 2
    learner = Learner(n_classes=None if binary else 0, intercept=True, **settings)
    scores = np.empty(len(numbers) if binary else (len(numbers), part.classes))
    variances = np.empty(len(numbers))
    labels = np.where(numbers > 0, 1, -1) if binary else numbers
    learner.learn(part.x, labels, scores_out=scores, variances_out=variances)
    return Looks(scores, variances, *learner.scores_and_top_variances(part.x_test))


def mixed(looks: list[Looks], train: NDArray[Any], test: NDArray[Any]) -> Mistakes:
    """Return the mistakes of a committee, or of a single candidate."""
    binary = looks[0].scores.ndim == 1
    before, after = looks[0].scores, looks[0].test_scores
    if len(looks) > 1:
        mixture = Mixture(len(looks), 1 if binary else before.shape[1])
        before = mixture.learn([look.scores for look in looks], [look.variances for look in looks], train)
        after = mixture.mix([look.test_scores for look in looks], [look.test_variances for look in looks])
    predicted = [scores >= 0 if binary else scores.argmax(axis=1) for scores in (before, after)]
    return Mistakes(float(np.sum(predicted[0] != train)), float(np.sum(predicted[1] != test)))


def measure(name: str, directory: Path, orders: int) -> tuple[dict[tuple[str, ...], list[Mistakes]], int]:
    """Return the mistakes of each committee in each order of a set, and the number of test rows."""
    data = load(name, directory)
    found: dict[tuple[str, ...], list[Mistakes]] = {}
    rows = 0
    for order in range(1 if data.ordered else orders):
        part = split(data, order, "raw")
        first = np.unique(part.y, return_index=True)[1]
        numbers = np.argsort(np.argsort(first)) if part.classes > 2 else np.arange(2)
        train, test, rows = numbers[part.y], numbers[part.y_test], len(part.y_test)
        looks = {title: looks_of(settings, part, train) for title, settings in CANDIDATES.items()}
        for members in (BASE, *COMMITTEES):
            found.setdefault(members, []).append(mixed([looks[member] for member in members], train, test))
    return found, rows


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, [*SETS], SETS)
    parser.add_argument("--orders", type=int, default=5, help="shuffled orders of the rows; default: 5")
    parser.add_argument("--quality", type=Path, default=Path("build/quality/results.jsonl"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    batch = read(asked.quality)
    ratios: dict[tuple[str, ...], list[Mistakes]] = {members: [] for members in COMMITTEES}
    below = dict.fromkeys(COMMITTEES, 0)
    for name in asked.sets:
        found, rows = measure(name, asked.data_dir, asked.orders)
        known = {
            order: batch[key].held_out * rows
            for order in range(asked.orders)
            if (key := Key(name, order, "raw", BATCH)) in batch
        }
        base = [float(np.mean(column)) + 0.5 for column in zip(*found[BASE], strict=True)]
        for members in COMMITTEES:
            own = [float(np.mean(column)) + 0.5 for column in zip(*found[members], strict=True)]
            ratios[members].append(Mistakes(own[0] / base[0], own[1] / base[1]))
            less = sum(found[members][order].held_out - mistakes for order, mistakes in known.items())
            below[members] += less < -1e-6
    print("| members | progressive error | held-out error | sets below logistic regression |\n|---|--:|--:|--:|")
    for members in COMMITTEES:
        means = [geometric_mean([*column]) for column in zip(*ratios[members], strict=True)]
        print(f"| {'; '.join(members)} | {means[0]:.3f} | {means[1]:.3f} | {below[members]} |")


if __name__ == "__main__":
    main()
