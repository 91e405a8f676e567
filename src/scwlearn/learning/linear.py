"""What the learners with a weight for each feature share, whether for two classes or for several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scwlearn._native import Vocabulary
from scwlearn._util.checks import check_bool, check_choice
from scwlearn.data.examples import NamedRows
from scwlearn.data.rows import Rows, as_rows
from scwlearn.data.weights import check_weights
from scwlearn.learning.blocks import Batch, by_block, with_constant
from scwlearn.learning.counters import INITIAL_VARIANCE, Counts, check_floor
from scwlearn.learning.one_at_a_time import HOLDING, NOTHING_HELD, Answer, Model, SingleExamples
from scwlearn.model import COVARIANCES
from scwlearn.model.scale import RunningScale
from scwlearn.model.vocabulary import Array, checked_bound, room_for
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule, checked_rule, is_spelled


class LinearLearner(SingleExamples[Model, Answer]):
    """A rule at work on a model, from matrices with one example a row, from vectors, or from dicts.

    What it takes is what `Learner` takes.
    """

    def __init__(
        self,
        rule: str | Rule | OwnRule = "scw1",
        *,
        covariance: str = "auto",
        intercept: bool = False,
        initial_variance: float = 1.0,
        variance_floor: float = 0.0,
        scale: bool = False,
        max_features: int | None = None,
        overflow: str = "drop",
        **parameters: float,
    ) -> None:
        #: The rule's parameters, to be read only; `with_parameters` takes others.
        self.rule, self.parameters = checked_rule(rule, parameters)
        self.covariance = check_choice("covariance", covariance, ("auto", *COVARIANCES))
        self.intercept = check_bool("intercept", intercept)
        self.initial_variance = INITIAL_VARIANCE.check(initial_variance)
        self.variance_floor = check_floor(variance_floor, self.rule, covariance)
        self.scale = check_bool("scale", scale)
        self.running_scale = RunningScale() if self.scale else None
        self.max_features, self.overflow = checked_bound(max_features, overflow), overflow
        self.model = None
        self.vocabulary = None
        # Rows, mistakes and updates, where the native loop adds to them.
        self._tally = np.zeros(len(fields(Counts)), dtype=np.int64)

    def scores(self, x: Any) -> Array:
        """mu.x of each row, or W x: (rows,) or (rows, classes)."""
        still = self._still(x)
        return still._scores(still._as_seen(x))

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x of each row, and of each class where there are several: how unsure a score is."""
        still = self._still(x)
        return still._variances(still._as_seen(x))

    def looks(self, x: Any) -> tuple[Array, Array]:
        """What `scores` and `margin_variances` give, for rows that are scaled once."""
        still = self._still(x)
        rows = still._as_seen(x)
        return still._scores(rows), still._variances(rows)

    def with_parameters(self, parameters: Mapping[str, float]) -> Self:
        """A learner on the same model, in the same memory, with other values of the rule's parameters.

        Where several classes come, they stay together until one of them meets a class for which there is no room.
        """
        if self.vocabulary is not None:
            raise ValueError(
                "a learner from dicts cannot share its memory, which grows with its names; copy it instead"
            )
        other = self._twin()
        other.parameters = self.rule.check(parameters) if isinstance(self.rule, Rule) else {}
        return other

    def widen(self, n_features: int) -> None:
        """Make room for features never seen before, after the known ones."""
        model = self._fitted()
        known = model.size - self.intercept
        if n_features < known:
            raise ValueError(f"n_features must be at least {known}, the number known, got {n_features}")
        self.model = self._widened(model, n_features - known)
        if self.running_scale is not None:
            self.running_scale = self.running_scale.arranged(np.arange(known), n_features)

    def __copy__(self) -> Self:
        # A copy that shared its memory would learn for both.
        other = self._twin()
        other.model = None if self.model is None else self.model.copy()
        other.vocabulary, other.running_scale = copy(self.vocabulary), copy(self.running_scale)
        other._tally = self._tally.copy()
        return other

    def __getstate__(self) -> dict[str, Any]:
        # What is held for the next example points into memory of this process.
        return self.__dict__ | NOTHING_HELD

    def _twin(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__getstate__())
        return other

    def _still(self, x: Any) -> Self:
        """What does not change its shape while rows with names are scored, though another thread learns new ones."""
        if not isinstance(x, NamedRows):
            return self
        with HOLDING:
            return self._twin()

    @contextmanager
    def _rows_to_learn(self, x: Any, weights: ArrayLike | None) -> Iterator[Rows]:
        """Rows in the model's columns.

        Names that are new are known once these rows have been learned from. One that says nothing in any row that
        weighs something stays unknown, as it does where dicts are learned from.
        """
        if not isinstance(x, NamedRows):
            yield self._rows(x)
            return
        if self.max_features is not None and self.overflow == "drop":
            raise ValueError("features that are dropped for others are learned from dicts: learn_many takes them")
        self._check_kind(named=True)
        seen = self.counts.seen
        with self._way_back():
            one = self._begin_with(len(x.names)) if self.model is None else self._hold(named=True)
            vocabulary, width = one.vocabulary, self._fitted().size - self.intercept
            counts = x.occurrences(check_weights(weights, len(x)))
            said = np.flatnonzero(counts)
            names = [x.names[i] for i in said.tolist()]
            features = np.full(len(x.names), -1)
            features[said] = vocabulary.find(names, True)
            room = room_for(int(features.max(initial=0)) + 1, width)
            if room > width:
                scale = self.running_scale
                wider = None if scale is None else scale.arranged(np.arange(width), room)
                self._go_on_with(self._widened(self._fitted(), room - width), vocabulary, wider)
            try:
                yield x.in_columns(features, _signs(vocabulary, x.names), room)
            finally:
                if self.counts.seen > seen:
                    vocabulary.add(names, counts[said])

    def _rows(self, x: Any) -> Rows:
        if isinstance(x, NamedRows):
            model, vocabulary, _ = self.at_once()
            if vocabulary is None:
                raise ValueError("this learner has learned from features without names; go on with such examples")
            features = vocabulary.find(x.names, False)
            return x.in_columns(features, _signs(vocabulary, x.names), model.size - self.intercept)
        rows = as_rows(x, check=False)
        self._check_kind(named=False)
        if self.model is not None and rows.width != self.n_features:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {self.n_features}")
        return rows

    @abstractmethod
    def _scores(self, rows: Rows) -> Array:
        """Of rows as the model sees them."""

    def _variances(self, rows: Rows) -> Array:
        model = self._fitted()
        per_row = rows.width if model.covariance.name == "full" else rows.stored // max(1, len(rows))
        parts = by_block(rows, per_row, lambda block: model.margin_variances(with_constant(block, self.intercept)))
        return self._joined(parts)

    @abstractmethod
    def _joined(self, parts: list[Array]) -> Array:
        """What comes of some blocks of rows, of which there may be none."""

    def _as_seen(self, x: Any) -> Rows:
        """Rows as the model sees them."""
        self._fitted()
        rows = self._rows(x)
        return rows if self.running_scale is None else self.running_scale.apply(rows)

    @contextmanager
    def _scaled(self, batch: Batch, *, grows: bool = False) -> Iterator[Batch]:
        """A batch as the model sees it; the scale goes back to what it was if it cannot be learned from.

        `grows` says whether the model takes more memory with it.
        """
        scale = self.running_scale
        if scale is None:
            yield batch
            return
        batch.rows.check()
        # Nothing can keep a spelled rule from a few rows that are checked, once there is memory for the model: no copy
        # is worth its time for them.
        begun = self.model is not None and not grows
        safe = is_spelled(self.rule) and begun and 8 * batch.rows.stored < batch.rows.width
        before = scale if safe else scale.copy()
        rows = scale.learn(batch.rows, order=batch.places)
        try:
            yield batch.in_order(rows)
        except BaseException:
            scale.become(before)
            raise


def _signs(vocabulary: Vocabulary, names: list[Any]) -> list[float] | None:
    """With which sign each of these names counts; None: all alike."""
    return vocabulary.signs(names) if vocabulary.hashed else None
