"""A learner for several classes: a rule run with a covariance over rows. Labels are class numbers from here inward."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import ClassesOneByOne, learn_classes
from scwlearn.batches import (
    Batch,
    BatchBlock,
    Costs,
    as_vector,
    auto_covariance,
    by_block,
    go_through,
    occurrences,
    once_in_order,
    with_constant,
)
from scwlearn.called import OwnRule, checked_rule, is_spelled, native_rule
from scwlearn.checks import flag, one_of, whole_number
from scwlearn.covariance import COVARIANCES
from scwlearn.data.labels import check_class_numbers, classes_after
from scwlearn.data.rows import Rows, as_rows
from scwlearn.learner import Learner
from scwlearn.memory import memory_for
from scwlearn.multiclass.covariance import ClassCovariance, class_covariance
from scwlearn.multiclass.gaussians import Gaussians, lanes_for
from scwlearn.rounds import INITIAL_VARIANCE, Counts
from scwlearn.rules import Rule
from scwlearn.threads import allowed_threads

Array = NDArray[np.float64]

# What a row becomes when it is scored, in numbers for each class and value.
_SCORED_AT_ONCE = 64

# What a learner holds ready for single examples is made from these.
_HELD_FROM = frozenset({"rule", "parameters", "intercept", "rivals", "gaussians", "_tally"})


class MultiLearner:
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
    covariance, intercept, initial_variance, **parameters
        As for `Learner`; every class has the prior N(0, initial_variance I).

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

    # The models held ready for single examples: a call has nothing to look up or to compare.
    _held: ClassesOneByOne | None = None

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
        **parameters: float,
    ) -> None:
        #: The rule's parameters, to be read only; `with_parameters` takes others.
        self.rule, self.parameters = checked_rule(rule, parameters)
        self.multi_class = one_of("multi_class", multi_class, ("joint", "ovr"))
        self.shared_covariance = flag("shared_covariance", shared_covariance)
        if self.shared_covariance and self.multi_class != "joint":
            raise ValueError('shared_covariance=True needs multi_class="joint"; models of their own share nothing')
        self.rivals = one_of("rivals", rivals, ("max", "uniform", "proportional"))
        if self.rivals != "max" and not (self._is_perceptron() and self.multi_class == "joint"):
            raise ValueError(f'rivals={rivals!r} is for the joint Perceptron; all else takes "max"')
        self.covariance = one_of("covariance", covariance, ("auto", *COVARIANCES))
        self.intercept = flag("intercept", intercept)
        self.initial_variance = INITIAL_VARIANCE.check(initial_variance)
        # Known before there is a model.
        self._classes = whole_number("n_classes", n_classes, least=0)
        self.gaussians: Gaussians | None = None
        # Rows, mistakes and updates, where the native loop adds to them.
        self._tally = np.zeros(len(fields(Counts)), dtype=np.int64)

    @classmethod
    def from_binary(
        cls, learner: Learner, *, multi_class: str = "joint", shared_covariance: bool = False, rivals: str = "max"
    ) -> MultiLearner:
        """Two classes that say what a binary learner says: class 0 is its label -1, class 1 its label +1.

        Joint: weights -mu/2 and +mu/2, each with its Sigma; one versus rest: -mu and +mu. Its counts are kept.
        One that has learned from dicts is refused.
        """
        if learner.vocabulary is not None:
            raise ValueError("this learner has learned from features with names; several classes take none with names")
        several: dict[str, Any] = {"multi_class": multi_class, "shared_covariance": shared_covariance, "rivals": rivals}
        how: dict[str, Any] = {name: getattr(learner, name) for name in ("covariance", "intercept", "initial_variance")}
        how |= learner.parameters
        other = cls(learner.rule, n_classes=2, **several, **how)
        other._tally = learner._tally.copy()
        if learner.gaussian is not None:
            covariance = class_covariance(learner.gaussian.covariance.name, shared=shared_covariance)
            with other._memory_for(covariance, learner.gaussian.size, 2):
                other.gaussians = Gaussians.of_binary(learner.gaussian, covariance, joint=multi_class == "joint")
        return other

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HELD_FROM and self.__dict__.get(name) is not value:
            # What is held was made for what the learner was until now.
            self.__dict__["_held"] = None
        super().__setattr__(name, value)

    @property
    def n_classes(self) -> int:
        """How many classes are known."""
        return self._classes if self.gaussians is None else self.gaussians.classes

    @property
    def n_features(self) -> int | None:
        """How many features the rows have; None before the first."""
        return None if self.gaussians is None else self.gaussians.size - self.intercept

    @property
    def counts(self) -> Counts:
        """What this learner has gone through so far."""
        return Counts(*self._tally.tolist())

    def with_parameters(self, parameters: dict[str, float]) -> MultiLearner:
        """A learner on the same models, in the same memory, with other values of the rule's parameters.

        They stay together until one of them meets a class for which there is no room.
        """
        other = self._twin()
        other.parameters = self.rule.check(parameters) if isinstance(self.rule, Rule) else {}
        return other

    def _twin(self) -> MultiLearner:
        other = object.__new__(type(self))
        other.__dict__.update(self.__getstate__())
        return other

    def __copy__(self) -> MultiLearner:
        # A copy that shared its memory would learn for both.
        other = self._twin()
        other.gaussians = None if self.gaussians is None else self.gaussians.copy()
        other._tally = self._tally.copy()
        return other

    def __getstate__(self) -> dict[str, Any]:
        # What is held for the next example points into memory of this process.
        return self.__dict__ | {"_held": None}

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
        rows = self._rows(x)
        batch = Batch.of(rows, check_class_numbers(y, len(rows)), order, weights)
        classes = classes_after(batch.labels_in_order, self.n_classes)
        if scores_out is not None:
            _check_scores(scores_out, (len(rows), classes))
            scores_out[:] = np.nan
        if variances_out is not None:
            _check_out("variances_out", variances_out)
            if variances_out.shape != (len(rows),):
                raise ValueError(f"variances_out must have the shape ({len(rows)},), got {variances_out.shape}")
            variances_out[:] = np.nan
        if len(rows) and not len(batch.rows):
            return Counts()
        before = self.counts
        once_in_order(batch.rows, self.rule, lambda: self._learn_batch(batch, classes, scores_out, variances_out))
        return self.counts - before

    def scores(self, x: Any) -> Array:
        """W x of each row: (rows, classes)."""
        rows, gaussians = self._rows(x), self._fitted()
        per_row = rows.stored // max(1, len(rows)) + _SCORED_AT_ONCE * self.n_classes
        return self._joined(by_block(rows, per_row, lambda block: gaussians.scores(block, self.intercept)))

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x of each row and class, (rows, classes): how unsure its score is."""
        rows, gaussians = self._rows(x), self._fitted()
        per_row = rows.width if gaussians.covariance.name == "full" else rows.stored // max(1, len(rows))
        parts = by_block(rows, per_row, lambda block: gaussians.margin_variances(with_constant(block, self.intercept)))
        return self._joined(parts)

    def score_one(self, x: ArrayLike) -> Array:
        """The scores of all classes for a single example, a vector."""
        scores: Array = (self._held or self._hold()).score(as_vector(x))
        return scores

    def learn_one(self, x: ArrayLike, y: int, w: float = 1.0) -> Array:
        """Learn from a single example of weight w, a vector; the scores of all classes before.

        The score of a class that it brings is -infinity. All or nothing, as `learn`.
        """
        vector = as_vector(x)
        if self.gaussians is None:
            # The first example decides how many features there are, and is checked as a batch is.
            classes = classes_after(check_class_numbers([y], 1), self._classes)
            first = np.full(classes if w else self._classes, -np.inf)
            first[: self._classes] = 0.0
            self.learn(vector[np.newaxis], [y], weights=[w])
            return first
        found = (self._held or self._hold()).learn(vector, y, w)
        if found is None:
            self._make_room(y + 1)
            found = self._hold().learn(vector, y, w)
            assert found is not None
        scores: Array = found
        return scores

    def widen(self, n_features: int) -> None:
        """Make room for features never seen before, after the known ones."""
        gaussians = self._fitted()
        known = gaussians.size - self.intercept
        if n_features < known:
            raise ValueError(f"n_features must be at least {known}, the number known, got {n_features}")
        with self._memory_for(gaussians.covariance, n_features + self.intercept, gaussians.lanes):
            self.gaussians = gaussians.widened(known, n_features - known)

    def add_classes(self, count: int) -> None:
        """Make so many more classes known; they begin with the prior and take part at once."""
        count = whole_number("count", count, least=0)
        if self.gaussians is None:
            self._classes += count
            return
        self._make_room(self.n_classes + count)
        self.gaussians = self.gaussians.writable()
        self.gaussians.add_classes(count)

    def _learn_batch(self, batch: Batch, classes: int, scores: Array | None, variances: Array | None) -> None:
        gaussians = self._prior_for(batch.rows, classes) if self.gaussians is None else self.gaussians.writable()
        with self._memory_for(gaussians.covariance, gaussians.size, classes, gaussians.lanes):
            gaussians = gaussians.with_room(classes)
        tally = self._tally if self._tally.flags.writeable else self._tally.copy()
        covariance, size, lanes = gaussians.covariance, gaussians.size, gaussians.lanes
        at_once = min(covariance.block(size, batch.stored, gaussians.joint), len(batch.rows) or 1)
        rule, models = native_rule(self.rule, self.parameters), gaussians.native(tally)
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

    def _rows(self, x: Any) -> Rows:
        rows = as_rows(x, check=False)
        if self.gaussians is not None and rows.width != self.n_features:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {self.n_features}")
        return rows

    def _prior_for(self, rows: Rows, classes: int) -> Gaussians:
        name = auto_covariance(self.rule, rows.width) if self.covariance == "auto" else self.covariance
        covariance = class_covariance(name, shared=self.shared_covariance)
        size, joint = rows.width + self.intercept, self.multi_class == "joint"
        with self._memory_for(covariance, size, classes):
            gaussians = Gaussians.prior(covariance, size, classes, self.initial_variance, joint=joint)
        gaussians.known[0] = self._classes
        if covariance.name == "full":
            covariance.arrange(gaussians.memory, occurrences(rows, self.intercept))
        return gaussians

    def _make_room(self, classes: int) -> None:
        gaussians = self._fitted()
        with self._memory_for(gaussians.covariance, gaussians.size, classes, gaussians.lanes):
            self.gaussians = gaussians.with_room(classes)

    def _hold(self) -> ClassesOneByOne:
        """The models as they are now, held ready for single examples."""
        self.gaussians = self._fitted().writable()
        self._tally = np.require(self._tally, requirements="W")
        models, rule = self.gaussians.native(self._tally), native_rule(self.rule, self.parameters)
        one = ClassesOneByOne(rule, models, self.rivals, self.intercept)
        self.__dict__["_held"] = one
        return one

    def _fitted(self) -> Gaussians:
        if self.gaussians is None:
            raise ValueError("this learner has not learned from any row yet")
        return self.gaussians

    def _is_perceptron(self) -> bool:
        return isinstance(self.rule, Rule) and self.rule.name == "perceptron"

    def _joined(self, parts: list[Array]) -> Array:
        return np.concatenate(parts) if parts else np.empty((0, self.n_classes))

    def _memory_for(
        self, covariance: ClassCovariance, size: int, classes: int, lanes: int = 0
    ) -> AbstractContextManager[None]:
        """For models with room for so many classes, where there is room for so many lanes already."""
        needed = 0 if classes <= lanes else 2 * 8 * covariance.entries(size, lanes_for(classes))
        what = f"covariance={covariance.name!r} with {size} weights for each of {classes} classes"
        return memory_for(needed, what=what, instead='covariance="diagonal" or shared_covariance=True needs less')


def _check_out(name: str, out: Array) -> None:
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.writeable):
        raise TypeError(f"{name} must be a NumPy array of float64 that can be written to")


def _check_scores(scores: Array, shape: tuple[int, int]) -> None:
    _check_out("scores_out", scores)
    if scores.ndim != 2 or scores.shape[0] != shape[0] or scores.shape[1] < shape[1]:
        raise ValueError(f"scores_out must have the shape {shape} or more columns, got {scores.shape}")
