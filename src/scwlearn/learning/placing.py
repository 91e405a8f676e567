"""Named rows in the columns of a model: the features of known names, and those that new names will have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows


def placed_rows(vocabulary: Vocabulary, x: NamedRows, width: int) -> Rows:
    """Return named rows in the columns of a model, without names that it does not know."""
    hashes = _hashes_of(vocabulary, x) if vocabulary.hashed else None
    return x.in_columns(*_features_in(vocabulary, x, hashes), width)


# A dict that grows is copied, with room for three times as many names.
_BYTES_OF_A_NAME = 160
# Its owner, and what a first vote allocates.
_BYTES_OF_A_SLOT = 64


class Placement:
    """Columns of named rows, from which a model will learn in the given order.

    New names are numbered by first appearance, and a name that is zero in every row stays unknown, as in dicts.
    """

    def __init__(self, vocabulary: Vocabulary, x: NamedRows, order: NDArray[np.intp] | None) -> None:
        self._vocabulary, self._x, self._order = vocabulary, x, order
        self._names: list[Any] = []
        self._hashes = _hashes_of(vocabulary, x) if vocabulary.hashed else None
        self._features, self._signs = _features_in(vocabulary, x, self._hashes)
        if self._hashes is None and self._features.min(initial=0) < 0:
            places, _ = x.appearances(order)
            places = places[self._features[places] < 0]
            self._names = [x.names[i] for i in places.tolist()]
            self._features = self._features.copy()
            self._features[places] = vocabulary.find(self._names, True)
        #: Number of features that the model needs.
        self.width = int(self._features.max(initial=-1)) + 1

    def rows(self, width: int) -> Rows:
        """Return the rows in the columns of a model with `width` features."""
        return self._x.in_columns(self._features, self._signs, width)

    @property
    def memory(self) -> int:
        """The number of bytes that `keep_names` may take."""
        if self._hashes is not None:
            # And what voting looks up of each name and row.
            return _BYTES_OF_A_SLOT * len(self._vocabulary) + len(self._x.names) + 4 * (len(self._x) + 1)
        return _BYTES_OF_A_NAME * (len(self._vocabulary) + len(self._names)) if self._names else 0

    def keep_names(self) -> None:
        """Make the new names known, once the rows have been learned from."""
        x, vocabulary = self._x, self._vocabulary
        if self._hashes is not None:
            vocabulary.vote(x.names, self._hashes, *x.rows.compressed(), self._order)
        else:
            vocabulary.add(self._names)
            x.remember(vocabulary, len(vocabulary), self._features)


def _hashes_of(vocabulary: Vocabulary, x: NamedRows) -> NDArray[np.uint32]:
    return vocabulary.hashes(x.names) if x.hashes is None else x.hashes


def _features_in(vocabulary: Vocabulary, x: NamedRows, hashes: NDArray[np.uint32] | None) -> tuple[Any, Any]:
    """Return the feature of each name, and if names are hashed its sign."""
    return (x.features_in(vocabulary), None) if hashes is None else vocabulary.slots(hashes)
