"""Every rule against its textbook form, which runs in extended precision: the same decisions, and the same model.

How much of a difference is rounding? Two more textbooks compute in double precision, from rows that are changed by some
units in the last place. Rounding in the loops amounts to the same, and the stream amplifies both alike, so a difference
that is far larger than those between the textbooks is an error. What the first one rounds itself is about 2^-11 of
them. Where a decision is a tie up to rounding, the case ends.
"""

from __future__ import annotations

from copy import copy, deepcopy
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from multi_class_reference import FullJointTextbook, JointTextbook, OneVersusRestTextbook
from reference import FIRST_ORDER, NAMES, Textbook
from scwlearn import Learner
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import find_rule
from stress.hard_streams import draw_hard_rows, draw_mild_parameters
from stress.trial import Trial

#: How many times the difference of the textbooks is allowed: both of them may round to nearly the exact result.
ALLOWED = 1e4

_Long = NDArray[np.longdouble]
# Changes of a row: a few roundings of each value.
_CHANGE = 8 * 2.0**-53
# From here on, rounding decides too much.
_LOST = 1e-7
# A decision that changes if scores change by this part is a tie up to rounding.
_TIE = 1e-5
# A step that changes a score or a variance by less is not taken (native/core/step.hpp has 1e-12).
_SMALL_STEP = 1e-11
# Larger steps are not taken: alpha, and the move in the metric of Sigma (native/core/step.hpp has 1e250 and 1e140).
_LARGE_STEP, _LARGE_MOVE = 1e249, 1e139
# Near the bounds of docs/numerics.md, steps are cut.
_SMALLEST_VARIANCE = 1e-100


class Setup(NamedTuple):
    """What is learned, and how."""

    name: str
    covariance: str
    #: binary, joint, shared or ovr.
    form: str
    initial_variance: float
    intercept: bool
    floor: float
    rivals: str
    parameters: dict[str, float]

    def learner(self) -> Learner:
        """Return the learner to test."""
        settings: dict[str, Any] = {"covariance": self.covariance, "initial_variance": self.initial_variance}
        settings |= {"intercept": self.intercept, "variance_floor": self.floor, "rivals": self.rivals}
        settings |= {"multi_class": "ovr"} if self.form == "ovr" else {}
        settings |= {"shared_covariance": True} if self.form == "shared" else {}
        settings |= {} if self.form == "binary" else {"n_classes": 0}
        settings |= self.parameters
        return Learner(self.name, **settings)

    def textbook(self, size: int, dtype: Any = np.longdouble) -> Any:
        """Return the textbook form, for a prior of variance 1."""
        given: dict[str, Any] = {"floor": self.floor, "dtype": dtype, **self.parameters}
        if self.form == "binary":
            return Textbook(self.name, size, self.covariance, **given)
        if self.form == "ovr":
            return OneVersusRestTextbook(self.name, size, self.covariance, **given)
        kind = FullJointTextbook if self.covariance == "full" else JointTextbook
        return kind(self.name, size, self.covariance, shared=self.form == "shared", rivals=self.rivals, **given)


class _State(NamedTuple):
    weights: _Long
    #: A variance for each weight, or a matrix for each class.
    sigma: _Long


class _Stream:
    """A learner, its textbook, and textbooks in double precision."""

    def __init__(self, setup: Setup, size: int) -> None:
        self.setup, self.size = setup, size
        self.learner = setup.learner()
        self.textbook, self.rounded = setup.textbook(size), [setup.textbook(size, np.float64) for _ in range(2)]
        self.scale = np.sqrt(np.longdouble(setup.initial_variance))
        self.largest = np.full(size, np.longdouble(1e-300))
        self.difference = 0.0

    def copy(self) -> _Stream:
        """Return an independent copy."""
        other = copy(self)
        other.learner = copy(self.learner)
        other.textbook, other.rounded = deepcopy(self.textbook), deepcopy(self.rounded)
        return other

    def wide(self, x: NDArray[np.float64]) -> _Long:
        """Return rows as the textbooks take them: with the constant feature, and for a prior of variance 1."""
        rows = np.hstack([x, np.ones((len(x), self.size - x.shape[1]))]).astype(np.longdouble)
        scaled: _Long = self.scale * rows
        return scaled

    def learn(self, x: Any, y: NDArray[np.int64], numbers: np.random.Generator, *, as_sparse: bool) -> bool:
        """Learn from rows; return whether all decisions were the same."""
        counts = self.learner.learn(sparse.csr_array(x) if as_sparse else x, y)
        rows = self.wide(x)
        happened = []
        for row, label in zip(rows, y.tolist(), strict=True):
            happened.append(self.textbook.learn_one(row, label))
            self.largest = np.maximum(self.largest, np.abs(self._weights(self.textbook)).max(axis=0))
        others = []
        for rounded in self.rounded:
            changed = (rows * (1 + _CHANGE * numbers.uniform(-1, 1, rows.shape))).astype(np.float64)
            others.append([rounded.learn_one(row, label) for row, label in zip(changed, y.tolist(), strict=True)])
        exact = self._state_of(self.textbook)
        distances = [self._distance(self._state_of(rounded), exact) for rounded in self.rounded]
        self.difference = max(self.difference, *distances)
        mistakes, updates = (sum(map(bool, column)) for column in zip(*happened, strict=True))
        return others == [happened] * 2 and (counts.mistakes, counts.updates) == (mistakes, updates)

    def is_close(self) -> bool:
        """Compare the learner with its textbook."""
        return self._distance(self._learned(), self._state_of(self.textbook)) <= ALLOWED * max(
            self.difference, 2.0**-53
        )

    def told(self, same: bool) -> str:
        """Describe how far the learner is from its textbook, in units of the difference of the textbooks."""
        distance = self._distance(self._learned(), self._state_of(self.textbook))
        return f"decisions {'agree' if same else 'differ'}, distance {distance / max(self.difference, 2.0**-53):.1e}"

    def is_lost(self) -> bool:
        """Whether rounding has been amplified so much that nothing can be said any more."""
        sigma = self._state_of(self.textbook).sigma
        variances = np.diagonal(sigma, axis1=1, axis2=2) if sigma.ndim == 3 else sigma
        smallest = variances.min(initial=1.0)
        return not self.difference < _LOST or not np.isfinite(sigma).all() or not smallest > _SMALLEST_VARIANCE

    def is_tie(self, x: NDArray[np.float64], label: int) -> bool:
        """Whether the textbook decides otherwise about a row if scores change by the part `_TIE`.

        A step that is no larger than rounding is not taken (native/core/step.hpp), which is another such decision.
        """
        (row,) = self.wide(x[np.newaxis])
        change = _TIE * (self.largest @ np.abs(row)) / max(row @ row, np.longdouble(1e-300)) * row
        if isinstance(self.textbook, OneVersusRestTextbook):
            rest = [(model, 1 if number == label else -1) for number, model in enumerate(self.textbook.models)]
            return self._scores_tie(row, change) or any(_is_tie(model, row, sign, change) for model, sign in rest)
        return self._scores_tie(row, change) or _is_tie(self.textbook, row, label, change)

    def _scores_tie(self, row: _Long, change: _Long) -> bool:
        """Whether two classes have scores so close that either may be the rival, or the prediction."""
        scores = np.sort(self._weights(self.textbook) @ row)
        return bool((np.diff(scores) <= 2 * abs(change @ row)).any())

    def _learned(self) -> _State:
        model = self.learner.model
        assert model is not None
        weights = model.weights().astype(np.longdouble) / self.scale
        if self.setup.name in FIRST_ORDER:
            return _State(weights, np.ones_like(weights))
        if model.covariance.correlated:
            sigma = np.array([model.matrix(c) for c in range(len(weights))])
        else:
            sigma = model.variances()
        return _State(weights, sigma.astype(np.longdouble) / np.longdouble(self.setup.initial_variance))

    def _weights(self, textbook: Any) -> _Long:
        found: _Long = textbook.mu[np.newaxis] if isinstance(textbook, Textbook) else textbook.W
        return found if len(found) else np.zeros((1, self.size), np.longdouble)

    def _state_of(self, textbook: Any) -> _State:
        weights = self._weights(textbook)
        if self.setup.name in FIRST_ORDER:
            return _State(weights, np.ones_like(weights))
        return _State(weights, textbook.S[np.newaxis] if isinstance(textbook, Textbook) else textbook.variances)

    def _distance(self, one: _State, other: _State) -> float:
        """Return the largest difference of weights by their largest values, and of Sigma by its diagonal."""
        moved = np.abs(one.weights - other.weights) / self.largest
        if other.sigma.ndim == 3:
            roots = np.sqrt(np.diagonal(other.sigma, axis1=1, axis2=2))
            spread = np.abs(one.sigma - other.sigma) / (roots[:, :, np.newaxis] * roots[:, np.newaxis, :])
        else:
            spread = np.abs(one.sigma - other.sigma) / other.sigma
        found = float(max(moved.max(initial=0.0), spread.max(initial=0.0)))
        return found if found == found else np.inf


def _is_tie(model: Any, row: _Long, label: int, change: _Long) -> bool:
    """Whether a textbook takes another decision with a score that is a little smaller or larger."""
    if _is_not_taken(model, row, label) or ("romma" in model.name and _is_parallel(model, row, label)):
        return True
    outcomes = []
    for sign in (-1, 0, 1):
        other = deepcopy(model)
        if isinstance(model, Textbook):
            other.mu = model.mu + sign * change
        elif label < len(model.W):
            other.W[label] += sign * change
        outcomes.append(other.learn_one(row, label))
    return len({*outcomes}) > 1


def _is_not_taken(model: Any, row: _Long, label: int) -> bool:
    """Whether the step of a textbook is no more than rounding at its row, or too large, and so is not taken."""
    after = deepcopy(model)
    after.learn_one(row, label)
    if np.shape(after.S) != np.shape(model.S):
        return False
    scores, variances = _seen(model, row)
    moved, left = _seen(after, row)
    move, variance = np.abs(moved - scores).max(), np.min(variances)
    if move > min(_LARGE_STEP * variance, _LARGE_MOVE * np.sqrt(variance)):
        return True
    return bool(
        move <= _SMALL_STEP * np.abs(scores).max() and np.all(np.abs(left - variances) <= _SMALL_STEP * variances)
    )


def _is_parallel(model: Any, row: _Long, label: int) -> bool:
    """Whether a row is a multiple of the weights up to rounding, so that ROMMA divides by nothing but rounding."""
    if isinstance(model, Textbook):
        score, length2 = model.mu @ row, (model.mu @ model.mu) * (row @ row)
    elif label < len(model.W) > 1:
        scores = model.W @ row
        score, length2 = scores[label] - np.delete(scores, label).max(), (model.W**2).sum() * 2 * (row @ row)
    else:
        return False
    return bool(length2 - score**2 <= _TIE**2 * length2)


def _seen(model: Any, row: _Long) -> tuple[_Long, _Long]:
    """Return the scores of a row, and their variances."""
    weights = model.mu[np.newaxis] if isinstance(model, Textbook) else model.W
    is_full = model.covariance == "full" and model.name not in FIRST_ORDER
    return weights @ row, row @ model.S @ row if is_full else model.S @ row**2


# A textbook divides by zero or overflows where the loops take no step.
@np.errstate(all="ignore")
def _case(random: Random) -> int:
    setup = _draw(random)
    features = random.choice([1, 2, 3, 5, 8])
    numbers = np.random.default_rng(random.getrandbits(64))
    stream = _Stream(setup, features + setup.intercept)
    rows = random.choice([40, 200, 400])
    x, y = _draw_examples(random, numbers, rows, features, setup)
    seen = 0
    while seen < rows:
        part = slice(seen, seen + random.choice([1, 7, 30, 64]))
        before, noise = stream.copy(), numbers.bit_generator.state
        as_sparse = random.random() < 0.4
        same = stream.learn(x[part], y[part], numbers, as_sparse=as_sparse)
        if stream.is_lost():
            break
        if not same or not stream.is_close():
            numbers.bit_generator.state = noise
            return seen + _until_tie(before, x[part], y[part], numbers, f"{setup}, {features} features, row {seen}")
        seen += len(y[part])
    return seen


def _until_tie(stream: _Stream, x: NDArray[np.float64], y: NDArray[np.int64], numbers: Any, told: str) -> int:
    """Learn row by row up to a tie, which must explain why a decision or the model differs."""
    for i in range(len(y)):
        before = stream.copy()
        same = stream.learn(x[i : i + 1], y[i : i + 1], numbers, as_sparse=False)
        if stream.is_lost():
            return i
        if same and stream.is_close():
            continue
        assert before.is_tie(x[i], int(y[i])), f"{told} + {i}: {stream.told(same)}"
        return i
    # A block of rows and a row at a time round differently; another decision would have been a tie.
    return len(y)


def _draw(random: Random) -> Setup:
    name = random.choice(NAMES)
    rule = find_rule(name)
    form = random.choice(["binary", "binary", "joint", "ovr"] + ["shared"] * (rule.order == 2))
    covariance = random.choice(COVARIANCE_NAMES) if rule.order == 2 else "identity"
    return Setup(
        name,
        covariance,
        form,
        random.choice([1.0, 10.0 ** random.uniform(-3, 3)]),
        random.random() < 0.3,
        random.choice([0.0, 0.0, 1e-3, 0.2]) if rule.order == 2 and covariance != "identity" else 0.0,
        random.choice(["max", "uniform", "proportional"]) if name == "perceptron" and form == "joint" else "max",
        draw_mild_parameters(random, rule),
    )


def _draw_examples(random: Random, numbers: Any, rows: int, features: int, setup: Setup) -> tuple[Any, Any]:
    x = draw_hard_rows(random, rows, features)
    if random.random() < 0.3:
        x[numbers.random(x.shape) < 0.5] = 0.0
    classes = 2 if setup.form == "binary" else random.choice([2, 3, 5])
    sizes = np.abs(x).max(axis=0, initial=1e-300)
    scores = (x / np.where(sizes > 0, sizes, 1.0)) @ numbers.normal(size=(features, classes))
    wrong = numbers.random(rows) < random.choice([0.0, 0.1, 0.5])
    labels = np.where(wrong, numbers.integers(0, classes, rows), scores.argmax(axis=1))
    if setup.form == "binary":
        return x, 2 * labels - 1
    # Classes are numbered by appearance.
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    return x, np.argsort(np.argsort(first))[places]


TRIAL = Trial(
    claim="Every rule with every covariance, with two classes and with more, learns as its textbook form does in "
    "extended precision, up to the rounding that the stream amplifies",
    unit="rows",
    case=_case,
    quick=40,
    long=60_000,
)
