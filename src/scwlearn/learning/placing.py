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
    return x.in_columns(*_features_in(vocabulary, x), width)


# A dict that grows is copied, with room for three times as many names.
_BYTES_OF_A_NAME = 160
# Its owner, and what a first vote allocates.
_BYTES_OF_A_SLOT = 64


class Placement:
    """Columns of named rows, from which a model will learn in the given order.

    New names are numbered by first appearance, and a name that is zero in every row stays unknown, as in dicts.
    """

    def __init__(self, vocabulary: Vocabulary, x: NamedRows, order: NDArray[np.intp] | None) -> None:
        self._vocabulary, self._x = vocabulary, x
        self._features, self._signs = _features_in(vocabulary, x)
        # Names that occur, by first appearance; if they are not hashed, only new ones matter.
        self._places = self._counts = np.empty(0, np.int64)
        if vocabulary.hashed or self._features.min(initial=0) < 0:
            self._places, self._counts = x.appearances(order)
        if not vocabulary.hashed:
            self._places = self._places[self._features[self._places] < 0]
        self._names = [] if x.hashes is not None else [x.names[i] for i in self._places.tolist()]
        if self._names and not vocabulary.hashed:
            self._features = self._features.copy()
            self._features[self._places] = vocabulary.find(self._names, True)
        #: Number of features that the model needs.
        self.width = int(self._features.max(initial=-1)) + 1

    def rows(self, width: int) -> Rows:
        """Return the rows in the columns of a model with `width` features."""
        return self._x.in_columns(self._features, self._signs, width)

    @property
    def memory(self) -> int:
        """The number of bytes that `keep_names` may take."""
        if self._vocabulary.hashed:
            return _BYTES_OF_A_SLOT * len(self._vocabulary)
        return _BYTES_OF_A_NAME * (len(self._vocabulary) + len(self._names)) if self._names else 0

    def keep_names(self) -> None:
        """Make the new names known, once the rows have been learned from."""
        x, vocabulary = self._x, self._vocabulary
        if x.hashes is None:
            vocabulary.add(self._names, self._counts[self._places])
        else:
            vocabulary.vote(x.names, x.hashes, self._places, self._counts)
        if not vocabulary.hashed:
            x.remember(vocabulary, len(vocabulary), self._features)


def _features_in(vocabulary: Vocabulary, x: NamedRows) -> tuple[Any, Any]:
    """Return the feature of each name, and if names are hashed its sign."""
    if not vocabulary.hashed:
        return x.features_in(vocabulary), None
    if x.hashes is None:
        return vocabulary.find(x.names, False), vocabulary.signs(x.names)
    return vocabulary.slots(x.hashes)
