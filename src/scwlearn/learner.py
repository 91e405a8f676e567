"""A learner: a rule run with a covariance over rows. Labels are -1 and +1 from here inward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scwlearn._native import WORK_VECTORS, learn_rows, rule_names
from scwlearn.called import Called, OwnRule, called_rule
from scwlearn.covariance import COVARIANCES, Covariance, Gaussian
from scwlearn.covariance.gaussian import MEAN_SCALE
from scwlearn.data.labels import check_signs
from scwlearn.data.rows import Block, Rows, as_rows
from scwlearn.memory import memory_for
from scwlearn.rules import Parameter, Rule, find_rule

Array = NDArray[np.float64]

#: Up to this many features "auto" keeps a full covariance (docs/covariances.md has the measurements).
AUTO_FULL_LIMIT = 500

# Products of these with any value that a row may hold stay finite.
_INITIAL_VARIANCE = Parameter("initial_variance", 1.0, "", low=1e-100, high=1e100)

_SPELLED = frozenset(rule_names())

# A block takes about this many multiplications: long enough that Python costs nothing, short enough that
# Ctrl-C is answered at once.
_WORK_OF_A_BLOCK = 1e8


class Trace(NamedTuple):
    """What happened in each round, before the model moved: for bounds, curves and calibration."""

    score: Array
    variance: Array
    #: alpha and precision of the step taken; both 0 where the model stayed as it was.
    alpha: Array
    precision: Array


@dataclass(frozen=True)
class Counts:
    """What a learner has gone through: rows seen, mistakes made before learning from them, updates."""

    seen: int = 0
    mistakes: int = 0
    updates: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.seen + other.seen, self.mistakes + other.mistakes, self.updates + other.updates)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.seen - other.seen, self.mistakes - other.mistakes, self.updates - other.updates)


class Learner:
    """An algorithm at work, on labels -1 and +1.

    Parameters
    ----------
    rule : str, Rule or function
        The name of an algorithm, its declaration, or a function (margin, variance) -> (alpha, beta) of
        your own, which is called for each example.
    covariance : {"auto", "full", "diagonal", "diagonal-drop", "identity"}
        How Sigma is kept. "auto" is "identity" for first-order rules, "full" for second-order ones with up
        to AUTO_FULL_LIMIT features, else the diagonal that suits the rule.
    intercept : bool
        Whether to append a constant feature 1.
    initial_variance : float
        The prior is N(0, initial_variance I).
    **parameters : float
        The rule's own.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> learner = Learner("scw1", C=1.0, eta=0.9)
    >>> learner.learn([[1.0, 0.5], [-1.0, 0.3]], [1, -1])
    Counts(seen=2, mistakes=0, updates=2)
    """

    def __init__(
        self,
        rule: str | Rule | OwnRule = "scw1",
        *,
        covariance: str = "auto",
        intercept: bool = False,
        initial_variance: float = 1.0,
        **parameters: float,
    ) -> None:
        self.rule = find_rule(rule) if isinstance(rule, str) else rule
        if isinstance(self.rule, Rule):
            parameters = self.rule.check(parameters)
        elif not callable(self.rule):
            raise TypeError(f"rule must be a name, a Rule or a function, got {rule!r}")
        elif parameters:
            raise TypeError(f"a function as rule has no parameters, got {', '.join(parameters)}")
        if not isinstance(covariance, str) or covariance not in ("auto", *COVARIANCES):
            raise ValueError(f"covariance must be one of auto, {', '.join(COVARIANCES)}, got {covariance!r}")
        self.covariance = covariance
        if not isinstance(intercept, bool | np.bool_):
            raise TypeError(f"intercept must be True or False, got {intercept!r}")
        self.intercept = bool(intercept)
        self.initial_variance = _INITIAL_VARIANCE.check(initial_variance)
        self.parameters = parameters
        self.gaussian: Gaussian | None = None
        # Rows, mistakes and updates, where the native loop adds to them.
        self._tally = np.zeros(len(fields(Counts)), dtype=np.int64)

    @property
    def counts(self) -> Counts:
        """What this learner has gone through so far."""
        return Counts(*self._tally.tolist())

    @property
    def n_features(self) -> int | None:
        """How many features the rows have; None before the first."""
        return None if self.gaussian is None else self.gaussian.size - self.intercept

    def with_parameters(self, parameters: dict[str, float]) -> Learner:
        """A learner on the same model, in the same memory, with other values of the rule's parameters."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.parameters = self.rule.check(parameters) if isinstance(self.rule, Rule) else {}
        return other

    def __copy__(self) -> Learner:
        # A copy that shared its memory would learn for both.
        other = self.with_parameters(self.parameters)
        other.gaussian = None if self.gaussian is None else self.gaussian.copy()
        other._tally = self._tally.copy()
        return other

    def learn(self, x: Any, y: ArrayLike, *, order: ArrayLike | None = None) -> Counts:
        """Learn from each row in turn, in their order or the one given; what happened on the way.

        All or nothing: after an error everything is as it was. (Ctrl-C in a batch of a few rows may come after them.)
        """
        return self._learn(x, y, order, None)

    def trace(self, x: Any, y: ArrayLike) -> Trace:
        """Learn from each row in turn; what each round looked like."""
        rows = self._rows(x)
        lines = np.zeros((len(rows), len(Trace._fields)))
        self._learn(rows, y, None, lines)
        return Trace(*lines.T)

    def scores(self, x: Any) -> Array:
        """mu.x for each row."""
        gaussian = self._fitted()
        # The scale goes to the product, not to the weights: those may be many more than the rows have features.
        scale = gaussian.scalars[MEAN_SCALE]
        mean, intercept = gaussian.mean[: self.n_features], gaussian.mean[-1] if self.intercept else 0.0
        return self._by_block(x, lambda block: scale * (block.matrix() @ mean + intercept))

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x for each row: how unsure its score is."""
        gaussian = self._fitted()
        return self._by_block(x, lambda block: gaussian.margin_variances(self._with_constant(block)))

    def widen(self, n_features: int) -> None:
        """Make room for features never seen before, after the known ones."""
        gaussian = self._fitted()
        known = gaussian.size - self.intercept
        if n_features < known:
            raise ValueError(f"n_features must be at least {known}, the number known, got {n_features}")
        with _memory_for(gaussian.covariance, n_features + self.intercept):
            self.gaussian = gaussian.widened(known, n_features - known)

    def _learn(self, x: Any, y: ArrayLike, order: ArrayLike | None, lines: Array | None) -> Counts:
        rows = self._rows(x)
        labels = check_signs(y, len(rows))
        places = None if order is None else _row_numbers(order, len(rows))
        gaussian = self._prior(rows.width) if self.gaussian is None else self.gaussian.writable()
        tally = self._tally if self._tally.flags.writeable else self._tally.copy()
        rule, constants = self._native_rule()
        per_row = gaussian.covariance.work(gaussian.size, rows.stored / max(1, len(rows)))
        block_rows = max(1, int(_WORK_OF_A_BLOCK / per_row))
        # Nothing can stop a spelled rule within a block, so that a single short one needs no way back; a copy of the
        # model would cost more than the work.
        kept = gaussian.size + gaussian.covariance.entries(gaussian.size)
        safe = not callable(rule) and len(rows) <= block_rows and len(rows) * per_row < 8 * kept
        before = self.counts
        with _all_or_nothing(gaussian, tally, needed=not safe):
            work = np.empty(WORK_VECTORS * gaussian.size)
            for block in rows.blocks(block_rows, places):
                part = slice(block.start, block.start + block.count)
                learn_rows(
                    rule,
                    constants,
                    gaussian.covariance.name,
                    block.values,
                    block.indices,
                    block.offsets,
                    block.width,
                    self.intercept,
                    labels[part] if places is None else labels[places[part]],
                    gaussian.mean,
                    gaussian.spread,
                    gaussian.scalars,
                    tally,
                    work,
                    gaussian.initial_variance,
                    None if lines is None else lines[part],
                )
            self.gaussian, self._tally = gaussian, tally
        return self.counts - before

    def _rows(self, x: Any) -> Rows:
        rows = as_rows(x)
        if self.gaussian is not None and rows.width != self.n_features:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {self.n_features}")
        return rows

    def _prior(self, width: int) -> Gaussian:
        covariance = COVARIANCES[self._covariance_for(width)]
        size = width + self.intercept
        with _memory_for(covariance, size):
            return Gaussian.prior(covariance, size, self.initial_variance)

    def _covariance_for(self, width: int) -> str:
        if self.covariance != "auto":
            return self.covariance
        if isinstance(self.rule, Rule) and self.rule.order == 1:
            return "identity"
        if width <= AUTO_FULL_LIMIT:
            return "full"
        return self.rule.diagonal if isinstance(self.rule, Rule) else "diagonal"

    def _fitted(self) -> Gaussian:
        if self.gaussian is None:
            raise ValueError("this learner has not learned from any row yet")
        return self.gaussian

    def _native_rule(self) -> tuple[str | Called, list[float]]:
        """The name and constants of a rule that the build spelled in C++, or a function to call for each row."""
        rule = self.rule
        # A rule declared elsewhere is not the one that was spelled, even under its name.
        if isinstance(rule, Rule) and rule.in_package and rule.name in _SPELLED:
            return rule.name, list(rule.constants(self.parameters).values())
        return called_rule(rule, self.parameters), []

    def _by_block(self, x: Any, of_block: Callable[[Block], Array]) -> Array:
        rows = self._rows(x)
        # What a block becomes on the way (a converted copy, x R) stays within some 10 MB.
        dense = self._fitted().covariance.name == "full"
        per_row = rows.width if dense else rows.stored // max(1, len(rows))
        parts = [of_block(block) for block in rows.blocks(max(1, 2**20 // max(1, per_row)))]
        return np.concatenate(parts) if parts else np.empty(0)

    def _with_constant(self, block: Block) -> Any:
        x = block.matrix()
        if not self.intercept:
            return x
        ones = np.ones((block.count, 1))
        if block.indices is None:
            return np.hstack([x, ones])
        return sparse.hstack([x, ones], format="csr")


@contextmanager
def _all_or_nothing(gaussian: Gaussian, tally: NDArray[np.int64], *, needed: bool) -> Iterator[None]:
    """Put the model and the counts back as they were when anything is raised (a rule's error, Ctrl-C)."""
    before = (gaussian.copy(), tally.copy()) if needed else None
    try:
        yield
    except BaseException:
        if before is not None:
            gaussian.become(before[0])
            np.copyto(tally, before[1])
        raise


def _memory_for(covariance: Covariance, size: int) -> AbstractContextManager[None]:
    return memory_for(
        # While it learns there may be a copy, to go back to.
        2 * 8 * covariance.entries(size),
        what=f"covariance={covariance.name!r} with {size} weights",
        instead='covariance="diagonal" needs only two numbers a feature',
    )


def _row_numbers(order: ArrayLike, count: int) -> NDArray[np.intp]:
    places = np.asarray(order)
    if places.shape != (count,) or (count and places.dtype.kind not in "iu"):
        raise ValueError(f"order must be a vector of {count} row numbers, got {places.dtype} of shape {places.shape}")
    if count and not 0 <= places.min() <= places.max() < count:
        raise ValueError(f"order must hold row numbers from 0 to {count - 1}, got {places.min()} to {places.max()}")
    return places.astype(np.intp)
