"""Room for named features, and which of them to keep when there are too many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn.model.gaussian import Gaussian

# One in this many of max_features is dropped at a time: each time costs as much as there are features.
_DROPPED_AT_ONCE = 8


# Room for names at first.
_FIRST_ROOM = 16


def room_for(wanted: int, width: int = 0) -> int:
    """Return the number of features to make room for, at least `width`.

    It grows by half, so that a stream makes few copies, in fixed steps, so that it is the same for a batch and for its
    examples one by one.
    """
    room = _FIRST_ROOM
    while room < wanted:
        room += room // 2
    return max(room, width)


def certain_features(
    model: Gaussian, vocabulary: Vocabulary, least: int, present: Sequence[int] = ()
) -> NDArray[np.int64]:
    """Return the features to keep once at least `least` are dropped, none of which is present in the example.

    The largest variances go first (with several classes, the largest product of variances). Ties: the smallest weight,
    then the oldest. Some more go than have to.
    """
    known = len(vocabulary)
    # To six digits, so that rounding does not decide which of two new features is older.
    certainty = -np.log(model.variances()[:, :known]).sum(axis=0).round(6)
    certainty[[*present]] = np.inf
    weights = np.abs(model.weights()[:, :known]).max(axis=0, initial=0.0)
    count = min(max(least, (vocabulary.max_features or 0) // _DROPPED_AT_ONCE), known - len(present))
    dropped = np.lexsort((weights, certainty))[:count]
    return np.delete(np.arange(known, dtype=np.int64), dropped)
