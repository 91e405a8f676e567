"""A learner for several classes: a rule run with a covariance over rows. Labels are class numbers from here inward."""

from __future__ import annotations

from contextlib import AbstractContextManager
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import ClassesOneByOne, Vocabulary, learn_classes
from scwlearn._util.checks import check_bool, check_choice, check_int
from scwlearn._util.memory import ensure_memory
from scwlearn._util.threads import allowed_threads
from scwlearn.data.labels import check_class_numbers, classes_after
from scwlearn.data.rows import Rows
from scwlearn.learning.blocks import (
    Batch,
    BatchBlock,
    Costs,
    auto_covariance,
    by_block,
    go_through,
    occurrences,
    once_in_order,
)
from scwlearn.learning.counters import Counts
from scwlearn.learning.learner import Learner
from scwlearn.learning.linear import LinearLearner
from scwlearn.learning.multi_settings import MULTI_CLASS, check_scores, check_variances, checked_rivals
from scwlearn.model.class_covariance import ClassCovariance, class_covariance
from scwlearn.model.gaussians import Gaussians, lanes_for
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule, is_spelled, native_rule

Array = NDArray[np.float64]

# What a learner made of a binary one takes from it.
_SAME_AS_BINARY = ("covariance", "intercept", "initial_variance", "variance_floor", "scale", "max_features", "overflow")

# What a row becomes when it is scored, in numbers for each class and value.
_SCORED_AT_ONCE = 64


class MultiLearner(LinearLearner[Gaussians, Array]):
    """An algorithm at work on several classes, numbered from 0, which may come one after the other.

    A label that is the number of classes known so far brings a new class; it starts from the prior, and before that row
    it takes no part. Its first row counts as a mistake.

    Jointly a step solves the rule's problem in the space of all weights, with x in the block of its class and -x in
    that of the rival. With one Sigma for all, the two rows of weights are independent and share it, and the divergence
    of Sigma counts once for each of them: twice in all.

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
    shared_covariance : bool
        Whether all classes have one Sigma (joint only), so that the variance of a margin is 2 x'Sigma x.
    rivals : {"max", "uniform", "proportional"}
        For the Perceptron: who shares the step against the class of the row. The best rival, or all classes that score
        no less than it, alike or in proportion to how much more.
    covariance, intercept, initial_variance, variance_floor, scale, max_features, overflow, **parameters
        As for `Learner`; every class has the prior N(0, initial_variance I). "auto" is decided when the first row
        comes, and "full" only while the covariances of the `n_classes` classes known by then have at most
        AUTO_FULL_ENTRIES numbers.

    Examples
    --------
    >>> from scwlearn import MultiLearner
    >>> learner = MultiLearner("scw1", covariance="diagonal")
    >>> x = [[1.0, 0.0, 0.1], [0.0, 1.0, 0.1], [0.1, 0.0, 1.0]]
    >>> learner.learn(x, [0, 1, 2])
    Counts(seen=3, mistakes=3, updates=2)
    >>> learner.learn(x, [0, 1, 2])
    Counts(seen=3, mistakes=1, updates=3)
    >>> learner.scores(x).argmax(axis=1)
    array([0, 1, 2])
    """

    def __init__(
        self,
        rule: str | Rule | OwnRule = "scw1",
        *,
        n_classes: int = 0,
        multi_class: str = "joint",
        shared_covariance: bool = False,
        rivals: str = "max",
        covariance: str = "auto",
        intercept: bool = False,
        initial_variance: float = 1.0,
        variance_floor: float = 0.0,
        scale: bool = False,
        max_features: int | None = None,
        overflow: str = "drop",
        **parameters: float,
    ) -> None:
        super().__init__(
            rule,
            covariance=covariance,
            intercept=intercept,
            initial_variance=initial_variance,
            variance_floor=variance_floor,
            scale=scale,
            max_features=max_features,
            overflow=overflow,
            **parameters,
        )
        self.multi_class = check_choice("multi_class", multi_class, MULTI_CLASS)
        self.shared_covariance = check_bool("shared_covariance", shared_covariance)
        if self.shared_covariance and self.multi_class != "joint":
            raise ValueError('shared_covariance=True needs multi_class="joint"; models of their own share nothing')
        self.rivals = checked_rivals(rivals, self.rule, self.multi_class)
        # Known before there is a model.
        self._classes = check_int("n_classes", n_classes, minimum=0)

    @classmethod
    def from_binary(
        cls, learner: Learner, *, multi_class: str = "joint", shared_covariance: bool = False, rivals: str = "max"
    ) -> MultiLearner:
        """Two classes that say what a binary learner says: class 0 is its label -1, class 1 its label +1.

        Joint: weights -mu/2 and +mu/2, each with its Sigma; one versus rest: -mu and +mu. Its counts are kept.
        """
        several: dict[str, Any] = {"multi_class": multi_class, "shared_covariance": shared_covariance, "rivals": rivals}
        how: dict[str, Any] = {name: getattr(learner, name) for name in _SAME_AS_BINARY}
        how |= learner.parameters
        other = cls(learner.rule, n_classes=2, **several, **how)
        other._tally = learner._tally.copy()
        other.vocabulary, other.running_scale = copy(learner.vocabulary), copy(learner.running_scale)
        if learner.gaussian is not None:
            covariance = class_covariance(learner.gaussian.covariance.name, shared=shared_covariance)
            with other._memory_for(covariance, learner.gaussian.size, 2):
                other.gaussians = Gaussians.of_binary(learner.gaussian, covariance, joint=multi_class == "joint")
        return other

    @property
    def gaussians(self) -> Gaussians | None:
        """The models of all classes; None before the first example."""
        return self.model

    @gaussians.setter
    def gaussians(self, gaussians: Gaussians | None) -> None:
        self.model = gaussians

    @property
    def n_classes(self) -> int:
        """How many classes are known."""
        return self._classes if self.gaussians is None else self.gaussians.classes

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

        A weight says how much a row counts; one of weight 0 is left out, and brings no class. All or nothing: after an
        error everything is as it was. (Ctrl-C in a batch of a few rows may come after them.)

        Parameters
        ----------
        scores_out : array of shape (rows, classes known at the end, or more), optional
            Gets the scores of all classes for row i of X before it was learned from: -infinity for a class not known
            then, NaN for a row of weight 0.
        variances_out : array of shape (rows,), optional
            Gets x'Sigma x of the class with the largest of these scores, 0 where no class was known.
        """
        with self._rows_to_learn(x, weights) as rows:
            return self._learn(rows, y, order, weights, scores_out, variances_out)

    def _learn(
        self,
        rows: Rows,
        y: ArrayLike,
        order: ArrayLike | None,
        weights: ArrayLike | None,
        scores_out: Array | None,
        variances_out: Array | None,
    ) -> Counts:
        batch = Batch.of(rows, check_class_numbers(y, len(rows)), order, weights)
        classes = classes_after(batch.labels_in_order, self.n_classes)
        if scores_out is not None:
            check_scores(scores_out, (len(rows), classes))
            scores_out[:] = np.nan
        if variances_out is not None:
            check_variances(variances_out, len(rows))
            variances_out[:] = np.nan
        if len(rows) and not len(batch.rows):
            return Counts()
        before = self.counts
        with self._scaled(batch, grows=classes > self.n_classes) as seen:
            once_in_order(seen.rows, self.rule, lambda: self._learn_batch(seen, classes, scores_out, variances_out))
        return self.counts - before

    def add_classes(self, count: int) -> None:
        """Make so many more classes known; they begin with the prior and take part at once."""
        count = check_int("count", count, minimum=0)
        if self.gaussians is None:
            self._classes += count
            return
        gaussians = self._with_room(self.gaussians, self.n_classes + count).writable()
        gaussians.add_classes(count)
        self.gaussians = gaussians

    def _learn_batch(self, batch: Batch, classes: int, scores: Array | None, variances: Array | None) -> None:
        gaussians = self._prior_for(batch.rows, classes) if self.gaussians is None else self.gaussians.writable()
        gaussians = self._with_room(gaussians, classes)
        tally = self._tally if self._tally.flags.writeable else self._tally.copy()
        covariance, size, lanes = gaussians.covariance, gaussians.size, gaussians.lanes
        at_once = min(covariance.block(size, batch.stored, gaussians.joint), len(batch.rows) or 1)
        rule, models = native_rule(self.rule, self.parameters), gaussians.native(tally, self.variance_floor)
        threads = allowed_threads() if covariance.shares_work(size) else 1
        work = covariance.scratch(size, lanes, at_once)

        def take() -> None:
            self.gaussians, self._tally = gaussians, tally

        def learn(some: BatchBlock) -> None:
            lines = None if scores is None else np.empty((some.block.count, scores.shape[1]))
            tops = None if variances is None else np.empty(some.block.count)
            learn_classes(
                rule,
                models,
                some.block.values,
                some.block.indices,
                some.block.offsets,
                some.block.width,
                self.intercept,
                some.labels,
                some.weights,
                self.rivals,
                work,
                lines,
                tops,
                at_once,
                threads,
            )
            if scores is not None:
                scores[some.numbers] = lines
            if variances is not None:
                variances[some.numbers] = tops

        go_through(
            batch,
            gaussians,
            tally,
            Costs(
                covariance.work(size, batch.stored, classes, gaussians.joint), at_once, covariance.entries(size, lanes)
            ),
            spelled=is_spelled(self.rule),
            begun=self.gaussians is not None,
            own=gaussians is self.gaussians,
            take=take,
            learn=learn,
        )

    def _scores(self, rows: Rows) -> Array:
        gaussians = self._fitted()
        per_row = rows.stored // max(1, len(rows)) + _SCORED_AT_ONCE * self.n_classes
        return self._joined(by_block(rows, per_row, lambda block: gaussians.scores(block, self.intercept)))

    def _prior_for(self, rows: Rows, classes: int) -> Gaussians:
        gaussians = self._prior(rows.width, classes=classes)
        if gaussians.covariance.name == "full":
            gaussians.covariance.arrange(gaussians.memory, occurrences(rows, self.intercept))
        return gaussians

    def _prior(self, width: int, *, named: bool = False, classes: int | None = None) -> Gaussians:
        """With room for so many classes, or for those known."""
        name = self.covariance
        if name == "auto":
            # Not those that this batch brings: it is to be what its rows are one by one.
            sigmas = 1 if self.shared_covariance else max(1, self._classes)
            name = auto_covariance(self.rule, width, named=named, sigmas=sigmas)
        covariance = class_covariance(name, shared=self.shared_covariance)
        size, joint = width + self.intercept, self.multi_class == "joint"
        room = self._classes if classes is None else classes
        with self._memory_for(covariance, size, room):
            gaussians = Gaussians.prior(covariance, size, room, self.initial_variance, joint=joint)
        gaussians.known[0] = self._classes
        return gaussians

    def _widened(self, model: Gaussians, count: int) -> Gaussians:
        if not count:
            return model
        with self._memory_for(model.covariance, model.size + count, model.lanes):
            return model.widened(model.size - self.intercept, count)

    def _with_room(self, model: Gaussians, classes: int) -> Gaussians:
        with self._memory_for(model.covariance, model.size, classes, model.lanes):
            return model.with_room(classes)

    def _with_class(self, model: Gaussians, y: float) -> Gaussians:
        return self._with_room(model, int(y) + 1)

    def _learn_first(self, vector: Array, y: float, w: float) -> Array:
        # Checked as a batch is.
        classes = classes_after(check_class_numbers([y], 1), self._classes)
        first = np.full(classes if w else self._classes, -np.inf)
        first[: self._classes] = 0.0
        self.learn(vector[np.newaxis], [y], weights=[w])
        return first

    def _single(self, model: Gaussians, vocabulary: Vocabulary | None, scales: Array | None) -> ClassesOneByOne:
        rule, models = native_rule(self.rule, self.parameters), model.native(self._tally, self.variance_floor)
        return ClassesOneByOne(rule, models, self.rivals, self.intercept, vocabulary, scales)

    def _empty_scores(self, count: int, scores: int) -> Array:
        return np.empty((count, scores))

    def _checked_labels(self, y: ArrayLike, count: int, weights: Array | None) -> tuple[NDArray[Any], Array]:
        labels = check_class_numbers(y, count)
        weighed = labels if weights is None else labels[weights > 0]
        return labels, np.empty((count, classes_after(weighed, self.n_classes)))

    def _joined(self, parts: list[Array]) -> Array:
        return np.concatenate(parts) if parts else np.empty((0, self.n_classes))

    def _memory_for(
        self, covariance: ClassCovariance, size: int, classes: int, lanes: int = 0
    ) -> AbstractContextManager[None]:
        """For models with room for so many classes, where there is room for so many lanes already."""
        needed = 0 if classes <= lanes else 2 * 8 * covariance.entries(size, lanes_for(classes))
        what = f"covariance={covariance.name!r} with {size} weights for each of {classes} classes"
        return ensure_memory(needed, what=what, instead='covariance="diagonal" or shared_covariance=True needs less')
