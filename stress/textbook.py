"""Every rule against its textbook form, which runs in extended precision: the same decisions, and the same model.

How much of a difference is rounding? Two more textbooks compute in double precision, from rows that are changed by some
units in the last place. Rounding in the loops amounts to the same, and the stream amplifies both alike, so a difference
that is far larger than those between the textbooks is an error. What the first one rounds itself is about 2^-11 of
them. Where a decision is a tie up to rounding, or the loops bound a step, the case ends.
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
# Larger steps are not taken: alpha, the move in the metric of Sigma, and the factor that shrinks the mean
# (native/core/step.hpp has 1e250, 1e140 and 1e150).
_LARGE_STEP, _LARGE_MOVE, _LARGE_FACTOR = 1e249, 1e139, 1e149
# A step that shrinks a variance by more is cut (native/core/step.hpp has 1e100), and so are those near the smallest.
_LARGE_SHRINK, _SMALLEST_VARIANCE = 1e99, 1e-100


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
        #: The largest values so far of the weights of each class.
        self.largest = np.zeros((1, size), np.longdouble)
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
            weights = np.abs(self._weights(self.textbook))
            self.largest = np.maximum(np.pad(self.largest, ((0, len(weights) - len(self.largest)), (0, 0))), weights)
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
        """Whether the textbook decides otherwise about a row if scores change by the part `_TIE`, or the loops may.

        A score of weights that have all been 0 is exact, and no tie.
        """
        (row,) = self.wide(x[np.newaxis])
        # A new class has the score 0; so has the other one of two.
        rounding = np.append(_TIE * (self.largest @ np.abs(row)), 0.0)
        textbook = deepcopy(self.textbook)
        if isinstance(textbook, Textbook):
            return _scores_tie(np.array([textbook.mu @ row, 0.0]), rounding) or _is_tie(
                textbook, row, label, rounding[0]
            )
        if len(textbook.W) and _scores_tie(textbook.W @ row, rounding[: len(textbook.W)]):
            return True
        if label == len(textbook.W):
            textbook.add_class()
        if isinstance(textbook, OneVersusRestTextbook):
            models = enumerate(textbook.models)
            return any(_is_tie(model, row, 1 if c == label else -1, rounding[c]) for c, model in models)
        return _is_tie(textbook, row, label, rounding.max())

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
        moved = np.abs(one.weights - other.weights) / np.maximum(self.largest.max(axis=0), 1e-300)
        if other.sigma.ndim == 3:
            roots = np.sqrt(np.diagonal(other.sigma, axis1=1, axis2=2))
            spread = np.abs(one.sigma - other.sigma) / (roots[:, :, np.newaxis] * roots[:, np.newaxis, :])
        else:
            spread = np.abs(one.sigma - other.sigma) / other.sigma
        found = float(max(moved.max(initial=0.0), spread.max(initial=0.0)))
        return found if found == found else np.inf


def _scores_tie(scores: _Long, rounding: _Long) -> bool:
    """Whether two classes have scores so close that either may be the rival, or the prediction."""
    close = np.abs(np.subtract.outer(scores, scores)) < np.add.outer(rounding, rounding)
    return bool(np.triu(close, 1).any())


def _is_tie(model: Any, row: _Long, label: int, rounding: _Long) -> bool:
    """Whether a textbook moves only with a score that is a little smaller or larger, or the loops bound its step."""
    if _is_bounded(model, row, label) or ("romma" in model.name and _is_unsolvable(model, row, label)):
        return True
    outcomes = [_shifted(model, row, label, sign * rounding).learn_one(row, label)[1] for sign in (-1, 0, 1)]
    return len({*outcomes}) > 1


def _shifted(model: Any, row: _Long, label: int, change: _Long) -> Any:
    """Return a copy of a textbook in which the score of a row is larger by a number."""
    other = deepcopy(model)
    if not isinstance(model, Textbook):
        other.W[label] += change / (row @ row) * row
        return other
    other.mu = model.mu + change / (row @ row) * row
    # Some rules decide by theta.
    other.theta = model.theta + change / _seen(model, row)[1] * row
    return other


def _is_bounded(model: Any, row: _Long, label: int) -> bool:
    """Whether the loops do not take a step of a textbook, or cut it: it is no more than rounding, or too large."""
    after = deepcopy(model)
    if model.covariance != "full":
        # The loops bound a step before its variances.
        after.floor = 0.0
    if not after.learn_one(row, label)[1]:
        return False
    scores, variances = _seen(model, row)
    moved, left = _seen(after, row)
    move, variance = np.abs(moved - scores).max(), np.min(variances)
    if move > min(_LARGE_STEP * variance, _LARGE_MOVE * np.sqrt(variance)) or np.any(left * _LARGE_SHRINK < variances):
        return True
    # A move may be too small for a double.
    least = max(_SMALL_STEP * np.abs(scores).max(), np.longdouble(np.finfo(np.float64).tiny))
    return bool(move <= least and np.all(np.abs(left - variances) <= _SMALL_STEP * variances))


def _is_unsolvable(model: Any, row: _Long, label: int) -> bool:
    """Whether a row is a multiple of the weights up to rounding, or shrinks them by too large a factor, in ROMMA."""
    if isinstance(model, Textbook):
        margin, length2 = label * (model.mu @ row), (model.mu @ model.mu) * (row @ row)
    elif len(model.W) > 1:
        scores = model.W @ row
        margin, length2 = scores[label] - np.delete(scores, label).max(), (model.W**2).sum() * 2 * (row @ row)
    else:
        return False
    rest = length2 - margin**2
    return bool(rest < _TIE**2 * length2 or abs(length2 - margin) > _LARGE_FACTOR * rest > 0)


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
            told = f"{setup}, {features} features, row {seen}"
            return seen + _until_tie(before, x[part], y[part], numbers, told, as_sparse=as_sparse)
        seen += len(y[part])
    return seen


def _until_tie(
    stream: _Stream, x: NDArray[np.float64], y: NDArray[np.int64], numbers: Any, told: str, *, as_sparse: bool
) -> int:
    """Learn row by row up to a tie, which must explain why a decision or the model differs."""
    states = []
    for i in range(len(y)):
        states.append(stream.copy())
        same = stream.learn(x[i : i + 1], y[i : i + 1], numbers, as_sparse=as_sparse)
        if stream.is_lost():
            return i
        if same and stream.is_close():
            continue
        assert states[i].is_tie(x[i], int(y[i])), f"{told} + {i}: {stream.told(same)}"
        return i
    # A block of rows and a row at a time round differently, which also shows only in ties.
    ties = any(state.is_tie(row, label) for state, row, label in zip(states, x, y.tolist(), strict=True))
    assert ties, f"{told}: {len(y)} rows at once differ, but not one by one"
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
