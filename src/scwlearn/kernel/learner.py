"""A kernel learner: a rule run over rows that are compared by a kernel. Labels are -1 and +1 from here inward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scwlearn._native import learn_coordinates, work_entries
from scwlearn.called import OwnRule, checked_rule, native_rule
from scwlearn.checks import flag, whole_number
from scwlearn.covariance import Gaussian, Growing, Identity
from scwlearn.covariance.gaussian import GROWTH
from scwlearn.data.labels import check_signs
from scwlearn.data.rows import Block, Rows, as_rows
from scwlearn.data.weights import check_weights, rows_that_weigh
from scwlearn.kernel.functions import Kernel, KernelFunction, check_symmetric
from scwlearn.kernel.support import Support
from scwlearn.memory import memory_for
from scwlearn.rounds import INITIAL_VARIANCE, Counts, Trace, all_or_nothing, check_floor, row_numbers
from scwlearn.rules import Parameter, Rule
from scwlearn.threads import allowed_threads, one_blas_thread

Array = NDArray[np.float64]

# Rows whose kernels are computed at once: enough for products of matrices, few beside the support.
_ROWS_AT_ONCE = 128
# Rows that are only scored can be more: nothing but memory grows with them.
_ROWS_SCORED_AT_ONCE = 1024

# Of so many rows all pairs are computed to get the kernel of each with itself.
_ROWS_WITH_THEMSELVES = 64

# What rounding does to the squared length of an example, relatively.
_ROUNDING = 1e-15
_EXACT, _WITH_BUDGET = 1e-12, 0.01
_TOLERANCE = Parameter("tolerance", _EXACT, "", low=0.0, high=1.0)


@dataclass
class KernelModel:
    """All that a kernel learner has learned."""

    support: Support
    #: Over the coordinates in the span of the support, with room for some more.
    gaussian: Gaussian
    #: Rows, mistakes and updates.
    tally: NDArray[np.int64]
    #: How many features the rows have, or columns the kernel matrix; None before the first.
    n_features: int | None = None

    def copy(self) -> KernelModel:
        """The same model in memory of its own."""
        return KernelModel(self.support.copy(), self.gaussian.copy(), self.tally.copy(), self.n_features)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Make what is written to writable, and put everything back as it was when anything is raised."""
        before = dict(self.__dict__)
        self.gaussian, self.tally = self.gaussian.writable(), np.require(self.tally, requirements="W")
        try:
            with all_or_nothing(self.gaussian, self.tally):
                yield
        except BaseException:
            self.__dict__.update(before)
            raise


class KernelLearner:
    """An algorithm at work in the space of a kernel, on labels -1 and +1.

    The Gaussian over the weights is kept exactly, in coordinates on the span of the support: the examples that moved it
    and that were not combinations of others.

    Parameters
    ----------
    rule : str, Rule or function
        As for `Learner`.
    kernel : str, function or Kernel
        "linear", "rbf", "poly", "sigmoid", "laplacian" or "cosine", computed by scikit-learn; "precomputed" for rows
        of a kernel matrix; or a function of two matrices that returns the kernels of their rows.
    kernel_parameters : dict, optional
        gamma, degree and coef0, as the kernel takes them.
    intercept : bool
        Whether to add 1 to the kernel, which makes it learn a constant.
    initial_variance : float
        The prior is N(0, initial_variance I).
    variance_floor : float
        The part of the prior's variance of an example below which a step by it does not take it (docs/drift.md).
    budget : int, optional
        How many examples the support may have. When it is full, all others are projected on their span.
    tolerance : float, optional
        An example is a combination of others if less than this part of its squared length is its own. If nothing is
        said: 1e-12, which is rounding, or with a budget 0.01, which leaves room for examples that differ.
    max_support : int
        Without a budget: more examples than these are refused. Memory and time grow with their square.
    **parameters : float
        The rule's own.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.kernel import KernelLearner
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> xor = KernelLearner("scw1", kernel="rbf", kernel_parameters={"gamma": 1.0}, C=1.0)
    >>> xor.learn(x, [-1, -1, 1, 1])
    Counts(seen=4, mistakes=3, updates=4)
    >>> np.sign(xor.scores(x))
    array([-1., -1.,  1.,  1.])
    """

    def __init__(
        self,
        rule: str | Rule | OwnRule = "scw1",
        *,
        kernel: str | KernelFunction | Kernel = "rbf",
        kernel_parameters: dict[str, float] | None = None,
        intercept: bool = False,
        initial_variance: float = 1.0,
        variance_floor: float = 0.0,
        budget: int | None = None,
        tolerance: float | None = None,
        max_support: int = 20_000,
        **parameters: float,
    ) -> None:
        self.rule, self.parameters = checked_rule(rule, parameters)
        if not isinstance(kernel, Kernel):
            kernel = Kernel(kernel, kernel_parameters or {})
        elif kernel_parameters:
            raise TypeError("a Kernel has its own parameters; kernel_parameters is for names")
        self.kernel = replace(kernel, constant=flag("intercept", intercept))
        self.initial_variance = INITIAL_VARIANCE.check(initial_variance)
        self.variance_floor = check_floor(variance_floor, self.rule, "full")
        self.budget = None if budget is None else whole_number("budget", budget)
        if tolerance is None:
            tolerance = _EXACT if budget is None else _WITH_BUDGET
        self.tolerance = _TOLERANCE.check(tolerance)
        self.max_support = whole_number("max_support", max_support)
        first_order = isinstance(self.rule, Rule) and self.rule.order == 1
        gaussian = Gaussian.prior(Identity() if first_order else Growing(), 0, self.initial_variance)
        self.model = KernelModel(Support(), gaussian, np.zeros(len(fields(Counts)), dtype=np.int64))

    @property
    def support(self) -> Support:
        """The examples in whose span the model lies."""
        return self.model.support

    @property
    def gaussian(self) -> Gaussian:
        """mu and Sigma over the coordinates in that span."""
        return self.model.gaussian

    @property
    def counts(self) -> Counts:
        """What this learner has gone through so far."""
        return Counts(*self.model.tally.tolist())

    def with_parameters(self, parameters: dict[str, float]) -> KernelLearner:
        """A learner on the same model, with other values of the rule's parameters; what one learns the other knows."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.rule, other.parameters = checked_rule(self.rule, parameters)
        return other

    def __copy__(self) -> KernelLearner:
        # A copy that shared its memory would learn for both.
        other = self.with_parameters(self.parameters)
        other.model = self.model.copy()
        return other

    def learn(
        self, x: Any, y: ArrayLike, *, order: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> Counts:
        """Learn from each row in turn, in their order or the one given; what happened on the way.

        What the weight of an example means its rule says (docs/weights.md); a row of weight 0 is left out.
        All or nothing: after an error everything is as it was.
        """
        return self._learn(as_rows(x), y, order, weights, None)

    def trace(self, x: Any, y: ArrayLike, *, order: ArrayLike | None = None, weights: ArrayLike | None = None) -> Trace:
        """Learn as `learn` does; what each round looked like."""
        rows = as_rows(x)
        lines = np.zeros((len(rows), len(Trace._fields)))
        rounds = self._learn(rows, y, order, weights, lines).seen
        return Trace(*lines[:rounds].T)

    def scores(self, x: Any) -> Array:
        """mu.x for each row."""
        weights = self.dual_coefficients()

        def of_block(block: Any) -> Array:
            scores: Array = self._with_support(block) @ weights
            return scores

        return self._by_block(x, of_block)

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x for each row: how unsure its score is."""
        if self.kernel.is_precomputed:
            raise ValueError("how unsure a score is needs the kernel of an example with itself; precomputed has none")
        unseen = self.initial_variance * self.gaussian.scalars[GROWTH]

        def of_block(block: Any) -> Array:
            inside = self.support.coordinates(self._with_support(block))
            outside = np.maximum(self._lengths(block) - np.einsum("ij,ij->i", inside, inside), 0.0)
            variances: Array = self.gaussian.margin_variances(self._padded(inside)) + unseen * outside
            return variances

        return self._by_block(x, of_block)

    def dual_coefficients(self) -> Array:
        """c with mu = the sum of c_p (support example p)."""
        return self.support.coefficients(self.gaussian.weights()[: self.support.count])

    def _learn(
        self, rows: Rows, y: ArrayLike, order: ArrayLike | None, weights: ArrayLike | None, lines: Array | None
    ) -> Counts:
        self._check_width(rows)
        if self.kernel.is_precomputed and rows.width != len(rows):
            raise ValueError(f"a precomputed kernel is a square matrix, got {len(rows)} x {rows.width}")
        labels = check_signs(y, len(rows))
        weighed = check_weights(weights, len(rows))
        places = np.arange(len(rows)) if order is None else row_numbers(order, len(rows))
        places = rows_that_weigh(places, weighed)
        as_they_come = order is None and len(places) == len(rows)
        before, threads = self.counts, allowed_threads()
        with self.model.all_or_nothing(), one_blas_thread():
            for block in rows.blocks(_ROWS_AT_ONCE, None if as_they_come else places):
                part = slice(block.start, block.start + block.count)
                chosen = places[part]
                x = _doubles(block)
                if self.kernel.is_precomputed:
                    check_symmetric(_dense(x), _dense(rows.columns(chosen)).T)
                told = labels[chosen], None if weighed is None else weighed[chosen]
                self._learn_block(x, chosen, *told, None if lines is None else lines[part], threads)
            self.model.n_features = rows.width
        return self.counts - before

    def _learn_block(
        self,
        x: Any,
        numbers: NDArray[np.intp],
        labels: NDArray[np.int8],
        weights: Array | None,
        lines: Array | None,
        threads: int,
    ) -> None:
        model, known = self.model, self.support.count
        x = model.support.like(x)
        kernels = self._with_each_other(x, numbers)
        inside = model.support.coordinates(self._with_support(x))
        residuals = kernels - inside @ inside.T
        lengths = np.maximum(kernels.diagonal(), 0.0)
        # What is left of a length is not to come out too small. Divided by too short a vector, coordinates on it become
        # too long, and nothing can take that back; if they are too short, what is missing is left for a later one.
        left = residuals.diagonal() + _ROUNDING * lengths
        rounding = min(self.tolerance, _EXACT) * lengths
        left[left <= rounding] = 0.0
        # One more than allowed shows that there are too many.
        room = self.budget or self.max_support + 1
        self._make_room(min(known + len(numbers), max(known, room)))
        covariance, size = model.gaussian.covariance, model.gaussian.size
        coordinates = self._padded(inside)
        at_once = min(covariance.block(size, size), len(numbers))
        taken = learn_coordinates(
            native_rule(self.rule, self.parameters),
            model.gaussian.native(model.tally, self.variance_floor),
            coordinates,
            residuals,
            left,
            rounding,
            self.tolerance * lengths,
            labels,
            weights,
            np.empty(work_entries(covariance.name, size, at_once)),
            lines,
            known,
            room,
            at_once,
            threads if covariance.shares_work(size) else 1,
        )
        if not taken:
            return
        examples = numbers[taken] if self.kernel.is_precomputed else x[taken]
        model.support = model.support.extended(examples, coordinates[taken, : known + len(taken)])
        if self.budget is None and self.support.count > self.max_support:
            raise ValueError(
                f"the support has reached max_support={self.max_support} examples, after "
                f"{self.counts.seen} rows; allow more, or set a budget"
            )

    def _with_support(self, x: Any) -> Array:
        if not self.support.count:
            return np.zeros((x.shape[0], 0))
        if self.kernel.is_precomputed:
            return self.kernel.checked(x[:, self.support.examples], (x.shape[0], self.support.count))
        return self.kernel(self.support.like(x), self.support.examples)

    def _with_each_other(self, x: Any, numbers: NDArray[np.intp]) -> Array:
        if self.kernel.is_precomputed:
            kernels = self.kernel.checked(x[:, numbers], (len(numbers),) * 2)
        else:
            kernels = self.kernel(x, x)
        check_symmetric(kernels, kernels.T)
        return np.ascontiguousarray(kernels)

    def _lengths(self, x: Any) -> Array:
        """The squared length of each row: its kernel with itself."""
        parts = [x[i : i + _ROWS_WITH_THEMSELVES] for i in range(0, x.shape[0], _ROWS_WITH_THEMSELVES)]
        return np.concatenate([self.kernel(part, part).diagonal() for part in parts])

    def _make_room(self, wanted: int) -> None:
        size = self.gaussian.size
        if wanted <= size:
            return
        wider = max(2 * size, -(-wanted // 16) * 16)
        needed = 2 * 8 * (self.gaussian.covariance.entries(wider) + wider * wider)
        instead = "set a budget, or a larger tolerance"
        with memory_for(needed, what=f"a support of up to {wider} examples", instead=instead):
            self.model.gaussian = self.gaussian.widened(size, wider - size)

    def _padded(self, coordinates: Array) -> Array:
        padded = np.zeros((len(coordinates), self.gaussian.size))
        padded[:, : coordinates.shape[1]] = coordinates
        return padded

    def _by_block(self, x: Any, of_block: Any) -> Array:
        rows = as_rows(x)
        if self.model.n_features is None:
            raise ValueError("this learner has not learned from any row yet")
        self._check_width(rows)
        parts = [of_block(_doubles(block)) for block in rows.blocks(_ROWS_SCORED_AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _check_width(self, rows: Rows) -> None:
        known = self.model.n_features
        if known is not None and rows.width != known:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {known}")


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
