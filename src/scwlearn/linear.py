"""What the learners with a weight for each feature share, whether for two classes or for several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np

from scwlearn.batches import Batch
from scwlearn.called import is_spelled
from scwlearn.data.rows import Rows, as_rows
from scwlearn.rules import Rule
from scwlearn.single import NOTHING_HELD, Answer, Model, SingleExamples


class LinearLearner(SingleExamples[Model, Answer]):
    """A rule at work on a model, from matrices with one example a row, from vectors, or from dicts."""

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

    def _rows(self, x: Any) -> Rows:
        rows = as_rows(x, check=False)
        self._check_kind(named=False)
        if self.model is not None and rows.width != self.n_features:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {self.n_features}")
        return rows

    def _as_seen(self, x: Any) -> Rows:
        """Rows as the model sees them."""
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
