"""Coverage: how many of the features in some data a model knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows
from scwlearn.runs.trained_model import TrainedModel

# A smaller share of known features is suspicious.
_SMALL_SHARE = 0.5


@dataclass(frozen=True)
class Coverage:
    """Number of feature values in data, and of those whose features a model knows."""

    found: int
    known: int
    #: If few are known: a feature in the data that the model does not know, and one of the model, the last one if
    #: features are numbered.
    unknown_feature: Any = None
    known_feature: Any = None

    @property
    def is_small(self) -> bool:
        """Whether the model knows none or few of the features."""
        return self.known < _SMALL_SHARE * self.found


class CoverageCounter:
    """Counts the features of batches that a model scores.

    The learner looks each name up anyway, once per batch; counting the outcome takes no time.
    """

    def __init__(self, model: TrainedModel) -> None:
        self._model = model
        self._found = self._known = 0
        # The batch of which the model knows the smallest share, and a feature of it that is unknown.
        self._smallest, self._unknown = 2.0, None
        self._is_hashed = model.vocabulary is not None and model.vocabulary.hashed

    def watch(self, rows: NamedRows) -> NamedRows:
        """Return rows that are counted when a learner looks up their names."""
        return _WatchedRows(rows.rows, rows.names, rows.hashes, rows.in_slots, counter=self)

    def add_named(self, rows: NamedRows, features: NDArray[np.int64], placed: Rows) -> None:
        """Count named rows, given the model's feature of each name, and the rows in the columns of the model."""
        if not rows.rows.stored:
            return
        # Every hashed name has a slot; one that was learned from has a weight, too.
        is_known = self._has_weight[features] if self._is_hashed else features >= 0
        found, known = rows.rows.stored, placed.stored
        if self._is_hashed:
            # Names that share a slot are one value in the columns of the model.
            known = found if is_known.all() else 0
        if known < _SMALL_SHARE * found:
            # Count value by value: the rows in the columns of the model lack zeros, too.
            _, counts = rows.appearances()
            found, known = int(counts.sum()), int(counts[is_known].sum())
        self._add(found, known, None if is_known.all() else rows.names[int(is_known.argmin())])

    def add_numbered(self, rows: Rows, placed: Rows) -> None:
        """Count numbered rows, given the rows without the features beyond those of the model."""
        self._add(rows.stored, placed.stored, rows.width - 1)

    @cached_property
    def _has_weight(self) -> NDArray[np.bool_]:
        return np.asarray(self._model.classifier.weights().any(axis=0))

    def _add(self, found: int, known: int, unknown: Any) -> None:
        self._found, self._known = self._found + found, self._known + known
        if known < found and known / found < self._smallest:
            self._smallest, self._unknown = known / found, unknown

    def result(self) -> Coverage:
        """Return the coverage of all batches so far."""
        counts = Coverage(self._found, self._known)
        if not counts.is_small:
            return counts
        return replace(counts, unknown_feature=self._in_file(self._unknown), known_feature=self._known_feature())

    def _known_feature(self) -> Any:
        model = self._model
        names = [*model.feature_names]
        if not names:
            return None if model.vocabulary is not None else self._in_file(model.n_features - 1)
        return self._in_file(max(names) if isinstance(names[0], int) else names[0])

    def _in_file(self, feature: Any) -> Any:
        """Return a feature as it is called in a file."""
        return feature + self._model.first_number if isinstance(feature, int) else feature


@dataclass(frozen=True, kw_only=True)
class _WatchedRows(NamedRows):
    """Named rows that are counted when they are put into the columns of a model."""

    counter: CoverageCounter

    def in_columns(self, features: Any, signs: Any, width: int) -> Rows:
        """Return the rows in the columns of a model."""
        found = np.asarray(features, dtype=np.int64)
        placed = super().in_columns(found, signs, width)
        self.counter.add_named(self, found, placed)
        return placed
