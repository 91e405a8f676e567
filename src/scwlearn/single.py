"""One example at a time: vectors, and dicts whose named features come as they like and are bounded on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import OneByOne, Vocabulary
from scwlearn.batches import as_vector
from scwlearn.called import OwnRule, is_spelled, native_rule
from scwlearn.checks import whole_number
from scwlearn.covariance import Gaussian
from scwlearn.data.labels import check_signs
from scwlearn.data.weights import check_weights
from scwlearn.rounds import Counts
from scwlearn.rules import Rule

Array = NDArray[np.float64]

#: What happens to names for which max_features leaves no room.
OVERFLOWS = ("drop", "hash")

# The hash is of 32 bits, of which one is the sign.
_MOST_SLOTS = 2**31 - 1

# A learner from dicts starts with room for so many names.
_ROOM_FOR_NAMES = 16

# One part in so many of max_features is dropped at once: each time costs as much as all features are.
_DROPPED_AT_ONCE = 8

# What a learner holds ready for single examples, and what that is made from.
NOTHING_HELD: dict[str, None] = {"_named": None, "_plain": None}
_HELD_FROM = frozenset({"rule", "parameters", "intercept", "variance_floor", "gaussian", "vocabulary", "_tally"})
_MODEL = ("gaussian", "vocabulary", *NOTHING_HELD)

# Taken where a learner is made ready, which several threads may ask for at once.
_HOLDING = RLock()


def checked_bound(max_features: int | None, overflow: str) -> int | None:
    """How many features there may be; None for any number."""
    if not isinstance(overflow, str) or overflow not in OVERFLOWS:
        raise ValueError(f"overflow must be one of {', '.join(OVERFLOWS)}, got {overflow!r}")
    if max_features is None:
        if overflow == "hash":
            raise ValueError('overflow="hash" needs max_features, the number of slots to hash names into')
        return None
    return whole_number("max_features", max_features, most=_MOST_SLOTS if overflow == "hash" else None)


class SingleExamples(ABC):
    """What a learner does with single examples. Scoring is safe in several threads while one learns."""

    rule: Rule | OwnRule
    parameters: Mapping[str, float]
    intercept: bool
    variance_floor: float
    gaussian: Gaussian | None
    #: The names of the features; None for a learner that does not learn from dicts.
    vocabulary: Vocabulary | None
    max_features: int | None
    overflow: str
    _tally: NDArray[np.int64]

    # The model held ready for single examples, with names or without: a call has nothing to look up or to compare.
    _named: OneByOne | None = None
    _plain: OneByOne | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HELD_FROM and self.__dict__.get(name) is not value:
            # What is held was made for what the learner was until now.
            self.__dict__.update(NOTHING_HELD)
        super().__setattr__(name, value)

    @property
    def names(self) -> dict[Any, int] | None:
        """The features by name, to be read only; None for a learner that does not learn from dicts.

        Of names that are hashed, those that hold a feature: what was met most there.
        """
        return None if self.vocabulary is None else self.vocabulary.names

    @property
    def counts(self) -> Counts:
        """What this learner has gone through so far."""
        return Counts(*self._tally.tolist())

    def score_one(self, x: ArrayLike | dict[Any, Any]) -> float:
        """mu.x for a single example: a vector, or a dict of named features, of which those never seen count nothing."""
        if isinstance(x, dict):
            return (self._named or self._hold(named=True)).score_named(x)
        return (self._plain or self._hold(named=False)).score(as_vector(x))

    def learn_one(self, x: ArrayLike | dict[Any, Any], y: float, w: float = 1.0) -> float:
        """Learn from a single example of weight w, a vector or a dict of named features; its score before.

        A key of a dict is a string or a whole number, or anything hashable; all are of one type. A value is a number; a
        string, which counts as 1 for the feature "key=string"; or a list, tuple or set of strings, each of which adds 1
        to its feature. New names make the model larger. All or nothing, as `learn`.

        Examples
        --------
        >>> from scwlearn import Learner
        >>> learner = Learner("scw1")
        >>> learner.learn_one({"sender": "unknown", "words": ["free", "offer", "offer"], "length": 0.3}, 1)
        0.0
        >>> learner.learn_one({"sender": "known", "words": ["meeting", "offer"]}, -1) > 0
        True
        >>> learner.names
        {'sender=unknown': 0, 'words=free': 1, 'words=offer': 2, 'length': 3, 'sender=known': 4, 'words=meeting': 5}
        >>> learner.score_one({"words": ["free"]}) > 0 > learner.score_one({"words": ["meeting"]})
        True
        """
        if isinstance(x, dict):
            score = one.learn_named(x, y, w) if (one := self._named) else None
            return self._learn_new_names(x, y, w) if score is None else score
        vector = as_vector(x)
        if self.gaussian is None:
            self._learn_first(vector, y, w)
            return 0.0
        return (self._plain or self._hold(named=False)).learn(vector, y, w)

    def score_many(self, examples: Iterable[dict[Any, Any]]) -> Array:
        """mu.x for each of some dicts: what `score_one` gives, bit for bit."""
        rows = tuple(examples)
        scores = np.empty(len(rows))
        (self._named or self._hold(named=True)).score_list(rows, scores)
        return scores

    def learn_many(self, examples: Iterable[dict[Any, Any]], y: ArrayLike, weights: ArrayLike | None = None) -> Array:
        """Learn from each of some dicts in turn, as `learn_one` does, bit for bit; their scores before.

        All or nothing: after an error everything is as it was. Ctrl-C keeps what the examples before it taught, and so
        does an error raised by a key or a number of a class of your own that did not raise it when it was checked.

        Examples
        --------
        >>> from scwlearn import Learner
        >>> learner = Learner("arow")
        >>> learner.learn_many([{"free": 1, "offer": 2}, {"meeting": 1}], [1, -1])
        array([0., 0.])
        """
        rows = tuple(examples)
        labels, weighed = check_signs(y, len(rows)), check_weights(weights, len(rows))
        scores = np.empty(len(rows))
        # Nothing can stop a spelled rule, so that the look at the examples is enough.
        before = None if is_spelled(self.rule) else copy(self)
        done = 0
        try:
            with self._way_back():
                one = self._begin_named()
                one.vocabulary.check(rows)
                while done < len(rows):
                    reached = one.learn_list(rows, labels, weighed, done, scores)
                    if reached == done:
                        one = self._make_room(one, rows[done])
                    done = reached
        except BaseException:
            if before is not None:
                self.__dict__.update(vars(before))
            raise
        return scores

    @abstractmethod
    def _learn_first(self, vector: Array, y: float, w: float) -> None:
        """Learn from the vector that decides how many features there are."""

    @abstractmethod
    def _prior(self, width: int, *, named: bool = False) -> Gaussian:
        """The model that has seen nothing, with room for so many features."""

    @abstractmethod
    def _widened(self, gaussian: Gaussian, count: int) -> Gaussian:
        """A model with so many features more behind those that there are."""

    def _fitted(self) -> Gaussian:
        if self.gaussian is None:
            raise ValueError("this learner has not learned from any row yet")
        return self.gaussian

    def _check_kind(self, *, named: bool) -> None:
        if self.gaussian is not None and named != (self.vocabulary is not None):
            known = "without names" if self.vocabulary is None else "with names"
            raise ValueError(f"this learner has learned from features {known}; go on with examples of the same kind")

    def _learn_new_names(self, x: dict[Any, Any], y: float, w: float) -> float:
        """Learn from a dict for whose names there is no room yet."""
        with self._way_back():
            one = self._begin_named()
            while (score := one.learn_named(x, y, w)) is None:
                one = self._make_room(one, x)
        return score

    @contextmanager
    def _way_back(self) -> Iterator[None]:
        """Put everything back as it was unless something is learned: not from a bad example, nor from a weight of 0."""
        before, seen = {name: getattr(self, name) for name in _MODEL}, self.counts.seen
        try:
            yield
        finally:
            # Ctrl-C may come after the example, whose names are known by then.
            if self.counts.seen == seen:
                self.__dict__.update(before)

    def _begin_named(self) -> OneByOne:
        """What learns from dicts, made from the prior if there is nothing yet."""
        if self.gaussian is not None:
            return self._named or self._hold(named=True)
        most, hashed = self.max_features, self.overflow == "hash"
        room = _ROOM_FOR_NAMES if most is None else most if hashed else min(_ROOM_FOR_NAMES, most)
        return self._go_on_with(self._prior(room, named=True), Vocabulary(most, hashed))

    def _make_room(self, one: OneByOne, x: dict[Any, Any]) -> OneByOne:
        """What learns from dicts, with room for the new names of this one."""
        gaussian, vocabulary = self._fitted(), one.vocabulary
        features, _, new_names = vocabulary.read(x)
        most, known, width = vocabulary.max_features, len(vocabulary), gaussian.size - self.intercept
        wanted = known + len(new_names)
        # By half, so that a stream is copied a few times only.
        room = max(width + width // 2, wanted)
        if most is not None and wanted > most:
            present = [i for i in features if i < known]
            gaussian, vocabulary = most_certain(gaussian, vocabulary, width, wanted - most, present)
            width = len(vocabulary)
        room = room if most is None else min(room, most)
        return self._go_on_with(self._widened(gaussian, room - width), vocabulary)

    def _go_on_with(self, gaussian: Gaussian, vocabulary: Vocabulary) -> OneByOne:
        """Take on a model. At once: whoever scores in another thread meets either this one or the one before."""
        gaussian = gaussian.writable()
        one = self._single(gaussian, vocabulary)
        self.__dict__.update(gaussian=gaussian, vocabulary=vocabulary, _named=one, _plain=None)
        return one

    def _hold(self, *, named: bool) -> OneByOne:
        """The model as it is now, held ready for single examples, with names or without."""
        self._check_kind(named=named)
        held = "_named" if named else "_plain"
        with _HOLDING:
            one: OneByOne | None = getattr(self, held)
            if one is None:
                self.gaussian = self._fitted().writable()
                self._tally = np.require(self._tally, requirements="W")
                one = self.__dict__[held] = self._single(self.gaussian, self.vocabulary)
            return one

    def _single(self, gaussian: Gaussian, vocabulary: Vocabulary | None) -> OneByOne:
        rule = native_rule(self.rule, self.parameters)
        return OneByOne(rule, gaussian.native(self._tally, self.variance_floor), vocabulary, self.intercept)


def most_certain(
    gaussian: Gaussian, vocabulary: Vocabulary, width: int, least: int, present: Sequence[int] = ()
) -> tuple[Gaussian, Vocabulary]:
    """A model and its names without at least so many of them, none of which is present in the example.

    The model has room for `width` features, and perhaps a constant one behind them, which stays.
    The largest variances go first; of equal ones, as they are where Sigma is not learned, the smallest weights; of
    equal ones, the oldest. Some more go than have to.
    """
    known = len(vocabulary)
    # To six digits, because rounding is not to decide which of two new features is older.
    certainty = -np.log(gaussian.variances()[:known]).round(6)
    certainty[[*present]] = np.inf
    count = min(max(least, (vocabulary.max_features or 0) // _DROPPED_AT_ONCE), known - len(present))
    dropped = np.lexsort((np.abs(gaussian.mean[:known]), certainty))[:count]
    kept = np.delete(np.arange(known, dtype=np.int64), dropped)
    constant = np.arange(width, gaussian.size)
    return gaussian.marginal(np.append(kept, constant)), vocabulary.kept(kept)
