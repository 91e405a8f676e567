"""A kernel learner for several classes, which share the examples they are made of. Labels are class numbers."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import learn_coordinates_of_classes, work_entries
from scwlearn._util.checks import check_choice, check_int
from scwlearn._util.threads import allowed_threads, one_blas_thread
from scwlearn.data.labels import check_class_numbers, classes_after
from scwlearn.kernels.base import ROWS_AT_ONCE, KernelBatch, KernelSpace, outside, padded, places_of
from scwlearn.kernels.functions import Kernel, KernelFunction
from scwlearn.kernels.learner import KernelLearner
from scwlearn.kernels.multi_model import KernelMultiModel
from scwlearn.kernels.support import Examples
from scwlearn.learning.counters import Counts
from scwlearn.learning.multi_settings import MULTI_CLASS, check_scores, check_variances, checked_rivals
from scwlearn.model import Identity
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule, native_rule

Array = NDArray[np.float64]

# Each class has room for all rows of a batch in a span of its own: with many classes a batch has fewer.
_ROWS_OF_CLASSES = 2**15


class KernelMultiLearner(KernelSpace):
    """An algorithm at work on several classes in the space of a kernel; classes are numbered from 0.

    A label that is the number of classes known so far brings a new class; it starts from the prior, and before that row
    it takes no part. Its first row counts as a mistake.

    All classes share one support, so that a row is compared with an example once. A second-order class lies in the span
    of those examples that moved it; with a budget, in that of all.

    Parameters
    ----------
    rule : str, Rule or function
        As for `Learner`.
    n_classes : int
        Classes that are known, and take part, from the start.
    multi_class : {"joint", "ovr"}
        "joint": one model in the space of all weights, which learns from the class of a row and the rival with the
        highest score: the rule sees the margin F_y - F_s. "ovr": a model for each class, with label +1 for rows of its
        own and -1 for all others.
    rivals : {"max", "uniform", "proportional"}
        For the Perceptron: who shares the step against the class of the row. The best rival, or all classes that score
        no less than it, alike or in proportion to how much more.
    variance_floor : float
        The part of the prior's variance of an example below which a step by it takes that of no class (docs/drift.md).
    kernel, kernel_parameters, intercept, initial_variance, budget, tolerance, max_support, **parameters
        As for `KernelLearner`; the budget is for the support that all classes share.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.kernels import KernelMultiLearner
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    >>> y = [0, 0, 1, 1, 2]
    >>> learner = KernelMultiLearner("scw1", kernel_parameters={"gamma": 4.0}, C=1.0)
    >>> learner.learn(x, y)
    Counts(seen=5, mistakes=3, updates=3)
    >>> learner.learn(x, y)
    Counts(seen=5, mistakes=2, updates=5)
    >>> learner.scores(x).argmax(axis=1)
    array([0, 0, 1, 1, 2])
    """

    model: KernelMultiModel

    def __init__(
        self,
        rule: str | Rule | OwnRule = "scw1",
        *,
        n_classes: int = 0,
        multi_class: str = "joint",
        rivals: str = "max",
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
        self.multi_class = check_choice("multi_class", multi_class, MULTI_CLASS)
        self.rivals = checked_rivals(rivals, self.rule, self.multi_class)
        tally = np.zeros(len(fields(Counts)), dtype=np.int64)
        self.model = KernelMultiModel.prior(self._covariance(), self.initial_variance, tally, **self._form())
        self.model.add_classes(check_int("n_classes", n_classes, minimum=0))

    @classmethod
    def from_binary(
        cls, learner: KernelLearner, *, multi_class: str = "joint", rivals: str = "max"
    ) -> KernelMultiLearner:
        """Two classes that say what a binary learner says: class 0 is its label -1, class 1 its label +1.

        Joint: weights -mu/2 and +mu/2, each with its Sigma; one versus rest: -mu and +mu. Its counts are kept.
        """
        same = ("kernel", "initial_variance", "variance_floor", "budget", "tolerance", "max_support")
        how: dict[str, Any] = {name: getattr(learner, name) for name in same} | learner.parameters
        how |= {"intercept": learner.kernel.constant, "multi_class": multi_class, "rivals": rivals}
        other = cls(learner.rule, **how)
        binary = learner.model
        other.model = KernelMultiModel.of_binary(binary.gaussian, binary.support, binary.tally.copy(), **other._form())
        other.model.n_features = binary.n_features
        return other

    @property
    def n_classes(self) -> int:
        """How many classes are known."""
        return self.model.classes

    @property
    def support(self) -> Examples:
        """The examples in whose span the models of all classes lie."""
        return self.model.support

    def add_classes(self, count: int) -> None:
        """Make so many more classes known; they begin with the prior and take part at once."""
        self.model.add_classes(check_int("count", count, minimum=0))

    def learn(
        self,
        x: Any,
        y: ArrayLike,
        *,
        order: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        scores_out: Array | None = None,
        variances_out: Array | None = None,
    ) -> Counts:
        """Learn from each row in turn, in their order or the one given; what happened on the way.

        What the weight of an example means its rule says (docs/weights.md); a row of weight 0 is left out, and brings
        no class. All or nothing: after an error everything is as it was.

        Parameters
        ----------
        scores_out : array of shape (rows, classes known at the end, or more), optional
            Gets the scores of all classes for row i of X before it was learned from: -infinity for a class not known
            then, NaN for a row of weight 0.
        variances_out : array of shape (rows,), optional
            Gets x'Sigma x of the class with the largest of these scores, 0 where no class was known.
        """
        rows = self._rows_to_learn(x)
        labels = check_class_numbers(y, len(rows))
        places, weighed = places_of(order, weights, len(rows))
        classes = classes_after(labels[places], self.n_classes)
        if scores_out is not None:
            check_scores(scores_out, (len(rows), classes))
            scores_out[:] = np.nan
        if variances_out is not None:
            check_variances(variances_out, len(rows))
            variances_out[:] = np.nan
        if len(rows) and not len(places):
            return Counts()
        before, threads = self.counts, allowed_threads()
        most = ROWS_AT_ONCE if self.model.one_span else _ROWS_OF_CLASSES // max(1, classes)
        at_once = max(16, min(ROWS_AT_ONCE, most))
        with self.model.all_or_nothing(), one_blas_thread():
            self._by_batch(
                rows,
                labels,
                places,
                weighed,
                lambda batch: self._learn_batch(batch, scores_out, variances_out, threads),
                at_once,
            )
        return self.counts - before

    def scores(self, x: Any) -> Array:
        """The score of each row for each class: (rows, classes)."""
        weights = self.dual_coefficients().T

        def of_block(block: Any) -> Array:
            scores: Array = self._with_support(block) @ weights
            return scores

        return self._joined(self._by_block(x, of_block))

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x of each row and class, (rows, classes): how unsure its score is."""
        return self._joined(self._by_block(x, lambda block: self._variances(block, self._with_support(block))))

    def looks(self, x: Any) -> tuple[Array, Array]:
        """What `scores` and `margin_variances` give, from kernels that are computed once."""
        weights = self.dual_coefficients().T

        def of_block(block: Any) -> Array:
            kernels = self._with_support(block)
            return np.hstack([kernels @ weights, self._variances(block, kernels)])

        both = np.concatenate([np.empty((0, 2 * self.n_classes)), *self._by_block(x, of_block)])
        return both[:, : self.n_classes], both[:, self.n_classes :]

    def _variances(self, block: Any, kernels: Array) -> Array:
        lengths, inside = self._lengths(block), self._inside(kernels)
        variances = np.empty((len(lengths), self.n_classes))
        for c, size in enumerate(self.model.sizes):
            coordinates = inside[0 if self.model.one_span else c]
            variances[:, c] = self.model.gaussian(c).margin_variances(padded(coordinates, size))
            variances[:, c] += self.model.unseen(c) * outside(lengths, coordinates)
        return variances

    def dual_coefficients(self) -> Array:
        """C with mu of class c = the sum of C[c, p] (support example p): (classes, examples)."""
        found = np.zeros((self.n_classes, self.support.count))
        for c in range(self.n_classes):
            span = self.model.span(c)
            own = span.coefficients(self.model.gaussian(c).weights()[: span.count])
            # With a tolerance below rounding an example may be there twice.
            np.add.at(found[c], span.examples, own)
        return found

    def _form(self) -> dict[str, bool]:
        # Without a Sigma a class costs no more in a span of all examples; with a budget it is to have the use of them.
        one_span = isinstance(self._covariance(), Identity) or self.budget is not None
        return {"joint": self.multi_class == "joint", "one_span": one_span}

    def _learn_batch(self, batch: KernelBatch, scores: Array | None, variances: Array | None, threads: int) -> None:
        model, known = self.model, np.array([self.n_classes], dtype=np.int64)
        model.add_classes(classes_after(batch.labels, self.n_classes) - self.n_classes)
        inside = self._inside(self._with_support(batch.x))
        rooms = self._rooms(len(batch))
        wanted = [min(span.count + len(batch), room) for span, room in zip(model.spans, rooms, strict=True)]
        model.make_room(wanted * model.classes if model.one_span else wanted)
        sizes, covariance = model.sizes, model.covariance
        spans = [
            self._coordinates(batch, found, size, room)
            for found, size, room in zip(inside, sizes[: len(inside)], rooms, strict=True)
        ]
        at_once = min(covariance.block(max(sizes), max(sizes)), len(batch))
        lines = None if scores is None else np.empty((len(batch), scores.shape[1]))
        tops = None if variances is None else np.empty(len(batch))
        taken = learn_coordinates_of_classes(
            native_rule(self.rule, self.parameters),
            model.native(self.variance_floor),
            known,
            model.joint,
            [native for _, native in spans],
            batch.labels,
            batch.weights,
            self.rivals,
            np.empty(sum(work_entries(covariance.name, size, at_once) for size in sizes)),
            lines,
            tops,
            at_once,
            # All classes together, of which a thread takes one.
            threads if covariance.shares_work(int(math.hypot(*sizes))) else 1,
        )
        if scores is not None:
            scores[batch.numbers] = lines
        if variances is not None:
            variances[batch.numbers] = tops
        self._extend(batch, [coordinates for coordinates, _ in spans], taken)

    def _rooms(self, rows: int) -> list[int]:
        """How many examples each span may have after so many rows."""
        if not self.model.one_span:
            return [span.count + rows for span in self.model.spans]
        # One more than allowed shows that there are too many.
        return [max(self.budget or self.max_support + 1, self.model.spans[0].count)]

    def _inside(self, kernels: Array) -> list[Array]:
        """The coordinates of rows in each span, from their kernels with the support."""
        return [span.coordinates(kernels[:, span.examples]) for span in self.model.spans]

    def _extend(self, batch: KernelBatch, coordinates: list[Array], taken: list[list[int]]) -> None:
        """Let rows become support of those spans that took them."""
        model = self.model
        rows = sorted(set().union(*taken))
        if not rows:
            return
        numbers = np.zeros(len(batch), dtype=np.intp)
        model.support, numbers[rows] = model.support.including(self._examples(batch, rows))
        model.spans = [
            span.extended(numbers[some], own[some, : span.count + len(some)]) if some else span
            for span, own, some in zip(model.spans, coordinates, taken, strict=True)
        ]
        self._check_support()

    def _joined(self, parts: list[Array]) -> Array:
        return np.concatenate(parts) if parts else np.empty((0, self.n_classes))
