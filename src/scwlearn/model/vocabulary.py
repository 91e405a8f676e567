"""Models of features: what they offer, how they are held ready for single examples, and what bounds named ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn._util.checks import check_int

Array = NDArray[np.float64]

#: What happens to names for which max_features leaves no room.
OVERFLOWS = ("drop", "hash")

# The hash is of 32 bits, of which one is the sign.
_MOST_SLOTS = 2**31 - 1

# One part in so many of max_features is dropped at once: each time costs as much as all features are.
_DROPPED_AT_ONCE = 8


class Kind(Protocol):
    """How Sigma is kept."""

    @property
    def name(self) -> str:
        """The name that users know it by."""


class Named(Protocol):
    """What a model of features offers: `Gaussian`, `Gaussians`."""

    @property
    def covariance(self) -> Kind:
        """How Sigma is kept."""

    @property
    def size(self) -> int:
        """How many weights a class has, the intercept's included."""

    def writable(self) -> Self:
        """The same in memory that can be written to."""

    def copy(self) -> Self:
        """The same in memory of its own."""

    def weights(self) -> Array:
        """The mean weights, of one class or of several."""

    def variances(self) -> Array:
        """The variance of each of them."""

    def margin_variances(self, x: Any) -> Array:
        """x'Sigma x of each row."""

    def marginal(self, kept: NDArray[np.int64]) -> Self:
        """The model of these features alone."""


class One(Protocol):
    """A rule and a model held ready for single examples: `OneByOne`, `ClassesOneByOne`."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The names of the features."""

    @property
    def scores(self) -> int:
        """How many scores an example has."""

    @property
    def variance(self) -> float:
        """x'Sigma x of the dict learned from last, before that."""

    def score(self, x: object, /) -> Any:
        """Of a vector."""

    def learn(self, x: object, y: Any, w: float, /) -> Any:
        """From a vector."""

    def score_named(self, x: dict[Any, Any], /) -> Any:
        """Of a dict."""

    def look_named(self, x: dict[Any, Any], /) -> tuple[Any, float]:
        """Of a dict, with the variance."""

    def learn_named(self, x: dict[Any, Any], y: Any, w: float, /) -> Any:
        """From a dict, or None where there is no room for it."""

    def score_list(self, rows: tuple[Any, ...], scores: Array, variances: Array | None) -> None:
        """Of dicts."""

    def learn_list(
        self,
        rows: tuple[Any, ...],
        labels: NDArray[Any],
        weights: Array | None,
        first: int,
        scores: Array,
        variances: Array | None,
    ) -> int:
        """From dicts; how far it came."""


def checked_bound(max_features: int | None, overflow: str) -> int | None:
    """How many features there may be; None for any number."""
    if not isinstance(overflow, str) or overflow not in OVERFLOWS:
        raise ValueError(f"overflow must be one of {', '.join(OVERFLOWS)}, got {overflow!r}")
    if max_features is None:
        if overflow == "hash":
            raise ValueError('overflow="hash" needs max_features, the number of slots to hash names into')
        return None
    return check_int("max_features", max_features, maximum=_MOST_SLOTS if overflow == "hash" else None)


def room_for(wanted: int, width: int) -> int:
    """How many features a model is to have room for that has so many and wants so many."""
    # By half, so that a stream is copied a few times only.
    return width if wanted <= width else max(width + width // 2, wanted)


def certain_features(
    model: Named, vocabulary: Vocabulary, least: int, present: Sequence[int] = ()
) -> NDArray[np.int64]:
    """The features left once at least so many are dropped, none of which is present in the example.

    The largest variances go first; of equal ones, as they are where Sigma is not learned, the smallest weights; of
    equal ones, the oldest. What counts of several classes is the product of their variances, and the largest weight.
    Some more go than have to.
    """
    known = len(vocabulary)
    # To six digits, because rounding is not to decide which of two new features is older.
    certainty = -np.log(np.atleast_2d(model.variances())[:, :known]).sum(axis=0).round(6)
    certainty[[*present]] = np.inf
    weights = np.abs(np.atleast_2d(model.weights())[:, :known]).max(axis=0, initial=0.0)
    count = min(max(least, (vocabulary.max_features or 0) // _DROPPED_AT_ONCE), known - len(present))
    dropped = np.lexsort((weights, certainty))[:count]
    return np.delete(np.arange(known, dtype=np.int64), dropped)
