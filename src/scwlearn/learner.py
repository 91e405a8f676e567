"""A learner: a rule run with a covariance over rows. Labels are -1 and +1 from here inward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scwlearn._native import WORK_VECTORS, learn_rows, rule_names
from scwlearn.called import Called, OwnRule, called_rule
from scwlearn.covariance import COVARIANCES, Gaussian
from scwlearn.data.rows import Block, Rows, as_rows
from scwlearn.memory import require_memory
from scwlearn.rules import Parameter, Rule, find_rule

Array = NDArray[np.float64]

#: Up to this many features "auto" keeps a full covariance (docs/covariances.md has the measurements).
AUTO_FULL_LIMIT = 500

# Products of these with any value that a row may hold stay finite.
_INITIAL_VARIANCE = Parameter("initial_variance", 1.0, "", low=0.0, high=1e100)

# A block takes about this many multiplications: long enough that Python costs nothing, short enough that
# Ctrl-C is answered at once.
_WORK = 1e8


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


class Learner:
    """An algorithm at work, on labels -1 and +1.

    Parameters
    ----------
    rule : str, Rule or function
        The name of an algorithm, its declaration, or a function (margin, variance) -> (alpha, beta) of
        your own, which is called for each example.
    covariance : {"auto", "full", "diagonal", "diagonal-drop", "identity"}
        How Sigma is kept. "auto" is "identity" for first-order rules, "full" for second-order ones with up
        to AUTO_FULL_LIMIT features, else "diagonal".
    intercept : bool
        Whether to append a constant feature 1.
    initial_variance : float
        The prior is N(0, initial_variance I).
    **parameters : float
        The rule's own.

    Examples
    --------
    >>> import numpy as np
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
        if covariance not in ("auto", *COVARIANCES):
            raise ValueError(f"covariance must be one of auto, {', '.join(COVARIANCES)}, got {covariance!r}")
        self.covariance = covariance
        self.intercept = bool(intercept)
        self.initial_variance = _INITIAL_VARIANCE.check(initial_variance)
        self.parameters = parameters
        self.counts = Counts()
        self.gaussian: Gaussian | None = None

    @property
    def n_features(self) -> int | None:
        """How many features the rows have; None before the first."""
        return None if self.gaussian is None else self.gaussian.size - self.intercept

    def with_parameters(self, parameters: dict[str, float]) -> Learner:
        """This learner, on the same model, with other values of the rule's parameters from here on."""
        other = copy(self)
        other.parameters = self.rule.check(parameters) if isinstance(self.rule, Rule) else {}
        return other

    def learn(self, x: Any, y: ArrayLike, *, order: NDArray[np.intp] | None = None) -> Counts:
        """Learn from each row in turn, in their order or the one given; what happened on the way.

        All or nothing: an error changes nothing.
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
        weights = gaussian.weights()
        intercept = weights[-1] if self.intercept else 0.0
        weights = weights[: self.n_features]
        return self._by_block(x, lambda block: block.matrix() @ weights + intercept)

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
        self._check_memory(n_features + self.intercept)
        self.gaussian = gaussian.widened(known, n_features - known)

    def _learn(self, x: Any, y: ArrayLike, order: NDArray[np.intp] | None, lines: Array | None) -> Counts:
        rows = self._rows(x)
        labels = _labels(y, len(rows))
        if order is not None:
            _check_order(order, len(rows))
        gaussian = self.gaussian if self.gaussian is not None else self._prior(rows.width)
        rule, constants = self._native_rule()
        work = np.empty(WORK_VECTORS * gaussian.size)
        learned = Counts()
        block_rows = self._block_rows(rows, gaussian)
        with _all_or_nothing(gaussian, needed=callable(rule) or len(rows) > block_rows):
            for block in rows.blocks(block_rows, order):
                part = slice(block.start, block.start + block.count)
                mistakes, updates = learn_rows(
                    rule,
                    constants,
                    gaussian.covariance.name,
                    block.values,
                    block.indices,
                    block.offsets,
                    block.width,
                    self.intercept,
                    labels[part] if order is None else labels[order[part]],
                    gaussian.mean,
                    gaussian.spread,
                    gaussian.scalars,
                    work,
                    gaussian.initial_variance,
                    None if lines is None else lines[part],
                )
                learned += Counts(block.count, mistakes, updates)
        self.gaussian = gaussian
        self.counts += learned
        return learned

    def _rows(self, x: Any) -> Rows:
        rows = as_rows(x)
        if self.gaussian is not None and rows.width != self.n_features:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {self.n_features}")
        return rows

    def _prior(self, width: int) -> Gaussian:
        covariance = COVARIANCES[self._covariance_for(width)]
        size = width + self.intercept
        self._check_memory(size, covariance.name)
        return Gaussian.prior(covariance, size, self.initial_variance)

    def _covariance_for(self, width: int) -> str:
        if self.covariance != "auto":
            return self.covariance
        if isinstance(self.rule, Rule) and self.rule.order == 1:
            return "identity"
        return "full" if width <= AUTO_FULL_LIMIT else "diagonal"

    def _check_memory(self, size: int, name: str | None = None) -> None:
        name = name or self._fitted().covariance.name
        require_memory(
            8 * COVARIANCES[name].entries(size),
            what=f"covariance={name!r} with {size} weights",
            instead='covariance="diagonal" needs only two numbers a feature',
        )

    def _fitted(self) -> Gaussian:
        if self.gaussian is None:
            raise ValueError("this learner has not learned from any row yet")
        return self.gaussian

    def _native_rule(self) -> tuple[str | Called, list[float]]:
        """The name and constants of a rule that the build spelled in C++, or a function to call for each row."""
        rule = self.rule
        # A rule declared elsewhere is not the one that was spelled, even under its name.
        ours = isinstance(rule, Rule) and rule.function.__module__.startswith("scwlearn.rules.")
        if isinstance(rule, Rule) and ours and rule.name in rule_names():
            return rule.name, list(rule.constants(self.parameters).values())
        return called_rule(rule, self.parameters), []

    def _block_rows(self, rows: Rows, gaussian: Gaussian) -> int:
        per_row = max(1.0, rows.stored / max(1, len(rows))) + 3.0 * gaussian.covariance.entries(gaussian.size)
        return max(1, int(_WORK / per_row))

    def _by_block(self, x: Any, of_block: Callable[[Block], Array]) -> Array:
        rows = self._rows(x)
        # What a block becomes on the way (a converted copy, x R) stays within some 10 MB.
        dense = self._fitted().covariance.name == "full" or rows.stored == len(rows) * rows.width
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
def _all_or_nothing(gaussian: Gaussian, *, needed: bool) -> Iterator[None]:
    """Put the model back as it was when anything is raised (a rule's error, Ctrl-C)."""
    before = gaussian.copy() if needed else None
    try:
        yield
    except BaseException:
        if before is not None:
            gaussian.become(before)
        raise


def _labels(y: ArrayLike, count: int) -> NDArray[np.int8]:
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise ValueError(f"y must be a vector of {count} labels, one a row of X, got the shape {labels.shape}")
    wrong = np.flatnonzero((labels != 1) & (labels != -1))
    if len(wrong):
        raise ValueError(f"a learner's labels are -1 and +1, got y[{wrong[0]}] = {labels[wrong[0]].item()!r}")
    return labels.astype(np.int8)


def _check_order(order: NDArray[np.intp], count: int) -> None:
    if order.shape != (count,) or order.dtype.kind not in "iu":
        raise ValueError(f"order must be a vector of {count} row numbers, got {order.dtype} of shape {order.shape}")
    if count and not 0 <= order.min() <= order.max() < count:
        raise ValueError(f"order must hold row numbers from 0 to {count - 1}, got {order.min()} to {order.max()}")
