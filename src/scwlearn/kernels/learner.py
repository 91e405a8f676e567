"""A kernel learner: a rule run over rows that are compared by a kernel. Labels are -1 and +1 from here inward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import learn_coordinates, work_entries
from scwlearn._util.memory import ensure_memory
from scwlearn._util.threads import allowed_threads, one_blas_thread
from scwlearn.data.labels import check_signs
from scwlearn.kernels.base import KernelBatch, KernelSpace, outside, padded, places_of
from scwlearn.kernels.functions import Kernel, KernelFunction
from scwlearn.kernels.support import Support
from scwlearn.learning.counters import Counts, Trace, all_or_nothing
from scwlearn.model import Gaussian
from scwlearn.model.gaussian import GROWTH
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule, native_rule

Array = NDArray[np.float64]


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


class KernelLearner(KernelSpace):
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
    >>> from scwlearn.kernels import KernelLearner
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> xor = KernelLearner("scw1", kernel="rbf", kernel_parameters={"gamma": 1.0}, C=1.0)
    >>> xor.learn(x, [-1, -1, 1, 1])
    Counts(seen=4, mistakes=3, updates=4)
    >>> np.sign(xor.scores(x))
    array([-1., -1.,  1.,  1.])
    """

    model: KernelModel

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
        super().__init__(
            rule,
            parameters,
            kernel=kernel,
            kernel_parameters=kernel_parameters,
            intercept=intercept,
            initial_variance=initial_variance,
            variance_floor=variance_floor,
            budget=budget,
            tolerance=tolerance,
            max_support=max_support,
        )
        gaussian = Gaussian.prior(self._covariance(), 0, self.initial_variance)
        self.model = KernelModel(Support(), gaussian, np.zeros(len(fields(Counts)), dtype=np.int64))

    @property
    def support(self) -> Support:
        """The examples in whose span the model lies."""
        return self.model.support

    @property
    def gaussian(self) -> Gaussian:
        """mu and Sigma over the coordinates in that span."""
        return self.model.gaussian

    def learn(
        self, x: Any, y: ArrayLike, *, order: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> Counts:
        """Learn from each row in turn, in their order or the one given; what happened on the way.

        What the weight of an example means its rule says (docs/weights.md); a row of weight 0 is left out.
        All or nothing: after an error everything is as it was.
        """
        return self._learn(x, y, order, weights, None)

    def trace(self, x: Any, y: ArrayLike, *, order: ArrayLike | None = None, weights: ArrayLike | None = None) -> Trace:
        """Learn as `learn` does; what each round looked like."""
        lines: list[Array] = []
        self._learn(x, y, order, weights, lines)
        return Trace(*np.concatenate([np.zeros((0, len(Trace._fields))), *lines]).T)

    def scores(self, x: Any) -> Array:
        """mu.x for each row."""
        weights = self.dual_coefficients()

        def of_block(block: Any) -> Array:
            scores: Array = self._with_support(block) @ weights
            return scores

        return np.concatenate([np.empty(0), *self._by_block(x, of_block)])

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x for each row: how unsure its score is."""
        parts = self._by_block(x, lambda block: self._variances(block, self._with_support(block)))
        return np.concatenate([np.empty(0), *parts])

    def looks(self, x: Any) -> tuple[Array, Array]:
        """What `scores` and `margin_variances` give, from kernels that are computed once."""
        weights = self.dual_coefficients()

        def of_block(block: Any) -> Array:
            kernels = self._with_support(block)
            return np.stack([kernels @ weights, self._variances(block, kernels)])

        scores, variances = np.concatenate([np.empty((2, 0)), *self._by_block(x, of_block)], axis=1)
        return scores, variances

    def _variances(self, block: Any, kernels: Array) -> Array:
        lengths = self._lengths(block)
        inside = self.support.coordinates(kernels)
        variances = self.gaussian.margin_variances(padded(inside, self.gaussian.size))
        variances += self.initial_variance * self.gaussian.scalars[GROWTH] * outside(lengths, inside)
        return variances

    def dual_coefficients(self) -> Array:
        """c with mu = the sum of c_p (support example p)."""
        return self.support.coefficients(self.gaussian.weights()[: self.support.count])

    def _learn(
        self, x: Any, y: ArrayLike, order: ArrayLike | None, weights: ArrayLike | None, lines: list[Array] | None
    ) -> Counts:
        rows = self._rows_to_learn(x)
        labels = check_signs(y, len(rows))
        places, weighed = places_of(order, weights, len(rows))
        before, threads = self.counts, allowed_threads()
        with self.model.all_or_nothing(), one_blas_thread():
            self._by_batch(rows, labels, places, weighed, lambda batch: self._learn_batch(batch, lines, threads))
        return self.counts - before

    def _learn_batch(self, batch: KernelBatch, lines: list[Array] | None, threads: int) -> None:
        model, known = self.model, self.support.count
        inside = model.support.coordinates(self._with_support(batch.x))
        # One more than allowed shows that there are too many.
        room = self.budget or self.max_support + 1
        self._make_room(min(known + len(batch), max(known, room)))
        covariance, size = model.gaussian.covariance, model.gaussian.size
        coordinates, native = self._coordinates(batch, inside, size, room)
        at_once = min(covariance.block(size, size), len(batch))
        trace = None
        if lines is not None:
            lines.append(trace := np.zeros((len(batch), len(Trace._fields))))
        taken = learn_coordinates(
            native_rule(self.rule, self.parameters),
            model.gaussian.native(model.tally, self.variance_floor),
            native,
            batch.labels,
            batch.weights,
            np.empty(work_entries(covariance.name, size, at_once)),
            trace,
            at_once,
            threads if covariance.shares_work(size) else 1,
        )
        if taken:
            rows = self._examples(batch, taken)
            model.support = model.support.extended(rows, coordinates[taken, : known + len(taken)])
            self._check_support()

    def _make_room(self, wanted: int) -> None:
        size = self.gaussian.size
        if wanted <= size:
            return
        wider = max(2 * size, -(-wanted // 16) * 16)
        needed = 2 * 8 * (self.gaussian.covariance.entries(wider) + wider * wider)
        instead = "set a budget, or a larger tolerance"
        with ensure_memory(needed, what=f"a support of up to {wider} examples", instead=instead):
            self.model.gaussian = self.gaussian.widened(size, wider - size)
