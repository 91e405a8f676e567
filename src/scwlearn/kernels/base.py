"""The space of a kernel as learners see it: settings, kernels of rows with the support, coordinates of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scwlearn._native import Coordinates
from scwlearn._util.checks import check_bool, check_int
from scwlearn.data.rows import Block, Rows, as_rows, row_numbers
from scwlearn.data.weights import check_weights, rows_that_weigh
from scwlearn.kernels.functions import Kernel, KernelFunction, check_symmetric
from scwlearn.kernels.support import Examples
from scwlearn.learning.counters import INITIAL_VARIANCE, Counts, check_floor
from scwlearn.model import Covariance, Growing, Identity
from scwlearn.rules import Parameter, Rule
from scwlearn.rules.native import OwnRule, checked_rule

Array = NDArray[np.float64]

#: Rows whose kernels are computed at once: enough for products of matrices, few beside the support.
ROWS_AT_ONCE = 128
# Rows that are only scored can be more: nothing but memory grows with them.
_ROWS_SCORED_AT_ONCE = 1024

# Of so many rows all pairs are computed to get the kernel of each with itself.
_ROWS_WITH_THEMSELVES = 64

# What rounding does to the squared length of an example, relatively.
_ROUNDING = 1e-15
_EXACT, _WITH_BUDGET = 1e-12, 0.01
_TOLERANCE = Parameter("tolerance", _EXACT, "", low=0.0, high=1.0)


class Learned(Protocol):
    """All that a kernel learner has learned, as far as it is the same whatever the labels."""

    #: Rows, mistakes and updates.
    tally: NDArray[np.int64]
    #: How many features the rows have, or columns the kernel matrix; None before the first.
    n_features: int | None

    @property
    def support(self) -> Examples:
        """The examples in whose span the model lies."""

    def copy(self) -> Self:
        """The same model in memory of its own."""


@dataclass
class KernelBatch:
    """Some rows to learn from, and the kernels of all pairs."""

    x: Any
    #: Which of the rows given these are.
    numbers: NDArray[np.intp]
    labels: NDArray[Any]
    weights: Array | None
    #: Where these rows stand in the order in which all are learned from.
    part: slice
    kernels: Array

    def __len__(self) -> int:
        return len(self.numbers)


class KernelSpace:
    """What kernel learners have in common: the settings that say which space it is, and ways to rows in it."""

    model: Learned

    def __init__(
        self,
        rule: str | Rule | OwnRule,
        parameters: dict[str, float],
        *,
        kernel: str | KernelFunction | Kernel,
        kernel_parameters: dict[str, float] | None,
        intercept: bool,
        initial_variance: float,
        variance_floor: float,
        budget: int | None,
        tolerance: float | None,
        max_support: int,
    ) -> None:
        self.rule, self.parameters = checked_rule(rule, parameters)
        if not isinstance(kernel, Kernel):
            kernel = Kernel(kernel, kernel_parameters or {})
        elif kernel_parameters:
            raise TypeError("a Kernel has its own parameters; kernel_parameters is for names")
        self.kernel = replace(kernel, constant=check_bool("intercept", intercept))
        self.initial_variance = INITIAL_VARIANCE.check(initial_variance)
        self.variance_floor = check_floor(variance_floor, self.rule, "full")
        self.budget = None if budget is None else check_int("budget", budget)
        if tolerance is None:
            tolerance = _EXACT if budget is None else _WITH_BUDGET
        self.tolerance = _TOLERANCE.check(tolerance)
        self.max_support = check_int("max_support", max_support)

    @property
    def counts(self) -> Counts:
        """What this learner has gone through so far."""
        return Counts(*self.model.tally.tolist())

    @property
    def n_features(self) -> int | None:
        """How many features the rows have, or columns the kernel matrix; None before the first."""
        return self.model.n_features

    def with_parameters(self, parameters: dict[str, float]) -> Self:
        """A learner on the same model, with other values of the rule's parameters; what one learns the other knows."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.rule, other.parameters = checked_rule(self.rule, parameters)
        return other

    def __copy__(self) -> Self:
        # A copy that shared its memory would learn for both.
        other = self.with_parameters(self.parameters)
        other.model = self.model.copy()
        return other

    def _covariance(self) -> Covariance:
        first_order = isinstance(self.rule, Rule) and self.rule.order == 1
        return Identity() if first_order else Growing()

    def _rows(self, x: Any) -> Rows:
        rows = as_rows(x)
        known = self.model.n_features
        if known is not None and rows.width != known:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {known}")
        return rows

    def _rows_to_learn(self, x: Any) -> Rows:
        rows = self._rows(x)
        if self.kernel.is_precomputed and rows.width != len(rows):
            raise ValueError(f"a precomputed kernel is a square matrix, got {len(rows)} x {rows.width}")
        return rows

    def _by_batch(
        self,
        rows: Rows,
        labels: NDArray[Any],
        places: NDArray[np.intp],
        weights: Array | None,
        learn: Callable[[KernelBatch], None],
        at_once: int = ROWS_AT_ONCE,
    ) -> None:
        """Learn from rows in this order, some at a time."""
        as_they_come = len(places) == len(rows) and bool((places == np.arange(len(rows))).all())
        for block in rows.blocks(at_once, None if as_they_come else places):
            part = slice(block.start, block.start + block.count)
            chosen = places[part]
            x = _doubles(block)
            if self.kernel.is_precomputed:
                check_symmetric(_dense(x), _dense(rows.columns(chosen)).T)
            x = self.model.support.like(x)
            weighed = None if weights is None else weights[chosen]
            learn(KernelBatch(x, chosen, labels[chosen], weighed, part, self._with_each_other(x, chosen)))
        self.model.n_features = rows.width

    def _coordinates(self, batch: KernelBatch, inside: Array, size: int, room: int) -> tuple[Array, Coordinates]:
        """A batch in a span with room for more examples, from its coordinates there: padded, and for the loops."""
        residuals = batch.kernels - inside @ inside.T
        lengths = np.maximum(batch.kernels.diagonal(), 0.0)
        # What is left of a length is not to come out too small. Divided by too short a vector, coordinates on it become
        # too long, and nothing can take that back; if they are too short, what is missing is left for a later one.
        left = residuals.diagonal() + _ROUNDING * lengths
        rounding = min(self.tolerance, _EXACT) * lengths
        left[left <= rounding] = 0.0
        known, coordinates = inside.shape[1], padded(inside, size)
        return coordinates, Coordinates(coordinates, residuals, left, rounding, self.tolerance * lengths, known, room)

    def _examples(self, batch: KernelBatch, taken: list[int]) -> Any:
        """Some rows of a batch as the support keeps them."""
        return batch.numbers[taken] if self.kernel.is_precomputed else batch.x[taken]

    def _check_support(self) -> None:
        if self.budget is None and self.model.support.count > self.max_support:
            raise ValueError(
                f"the support has reached max_support={self.max_support} examples, after "
                f"{self.counts.seen} rows; allow more, or set a budget"
            )

    def _with_support(self, x: Any) -> Array:
        support = self.model.support
        if not support.count:
            return np.zeros((x.shape[0], 0))
        if self.kernel.is_precomputed:
            return self.kernel.checked(x[:, support.examples], (x.shape[0], support.count))
        return self.kernel(support.like(x), support.examples)

    def _with_each_other(self, x: Any, numbers: NDArray[np.intp]) -> Array:
        if self.kernel.is_precomputed:
            kernels = self.kernel.checked(x[:, numbers], (len(numbers),) * 2)
        else:
            kernels = self.kernel(x, x)
        check_symmetric(kernels, kernels.T)
        return np.ascontiguousarray(kernels)

    def _lengths(self, x: Any) -> Array:
        """The squared length of each row: its kernel with itself."""
        if self.kernel.is_precomputed:
            raise ValueError("how unsure a score is needs the kernel of an example with itself; precomputed has none")
        parts = [x[i : i + _ROWS_WITH_THEMSELVES] for i in range(0, x.shape[0], _ROWS_WITH_THEMSELVES)]
        return np.concatenate([self.kernel(part, part).diagonal() for part in parts])

    def _by_block(self, x: Any, of_block: Callable[[Any], Array]) -> list[Array]:
        if self.model.n_features is None:
            raise ValueError("this learner has not learned from any row yet")
        return [of_block(_doubles(block)) for block in self._rows(x).blocks(_ROWS_SCORED_AT_ONCE)]


def places_of(order: ArrayLike | None, weights: ArrayLike | None, count: int) -> tuple[NDArray[np.intp], Array | None]:
    """In which order to learn from so many rows, without those of weight 0; and the weights, checked."""
    weighed = check_weights(weights, count)
    places = np.arange(count) if order is None else row_numbers(order, count)
    return rows_that_weigh(places, weighed), weighed


def padded(coordinates: Array, size: int) -> Array:
    """Coordinates with zeros for those that no example has yet."""
    wider = np.zeros((len(coordinates), size))
    wider[:, : coordinates.shape[1]] = coordinates
    return wider


def outside(lengths: Array, inside: Array) -> Array:
    """The squared length of what rows have outside a span, from their own and their coordinates in it."""
    left: Array = np.maximum(lengths - np.einsum("ij,ij->i", inside, inside), 0.0)
    return left


def _doubles(block: Block) -> Any:
    # In single precision a kernel would be, too, and its rounding would look like something new in every example.
    x = block.matrix().astype(np.float64, copy=False)
    if not sparse.issparse(x):
        # It may be the caller's memory, which is not to be written to by the caller's function.
        x = x.view()
        x.flags.writeable = False
    return x


def _dense(x: Any) -> Array:
    dense: Array = x.toarray() if sparse.issparse(x) else x
    return dense
