"""One example at a time: vectors, and dicts whose named features come as they like and are bounded on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from threading import RLock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import Vocabulary
from scwlearn.data.weights import check_weights
from scwlearn.learning.blocks import as_vector
from scwlearn.learning.counters import Counts
from scwlearn.model.scale import RunningScale
from scwlearn.model.vocabulary import Named, One, certain_features, room_for
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule, is_spelled

Array = NDArray[np.float64]

# A learner from dicts starts with room for so many names.
_ROOM_FOR_NAMES = 16

# What a learner holds ready for single examples, and what that is made from.
NOTHING_HELD: dict[str, None] = {"_named": None, "_plain": None}
_HELD_FROM = frozenset(
    {"rule", "parameters", "intercept", "variance_floor", "rivals", "model", "vocabulary", "running_scale", "_tally"}
)
_MODEL = ("model", "vocabulary", "running_scale", *NOTHING_HELD)

#: Taken where a learner is made ready, which several threads may ask for at once, and where it becomes another: what is
#: held is of the model that there is.
HOLDING = RLock()


Model = TypeVar("Model", bound=Named)
Answer = TypeVar("Answer")


class SingleExamples(ABC, Generic[Model, Answer]):
    """What a learner does with single examples. Scoring is safe in several threads while one learns.

    The answer to an example is its score, or those of all classes.
    """

    rule: Rule | OwnRule
    parameters: Mapping[str, float]
    intercept: bool
    variance_floor: float
    #: What is learned; None before the first example.
    model: Model | None
    #: The names of the features; None for a learner that does not learn from dicts.
    vocabulary: Vocabulary | None
    #: What each feature is divided by; None where features are taken as they are.
    running_scale: RunningScale | None
    max_features: int | None
    overflow: str
    _tally: NDArray[np.int64]

    # The model held ready for single examples, with names or without: a call has nothing to look up or to compare.
    _named: One | None = None
    _plain: One | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HELD_FROM or self.__dict__.get(name) is value:
            super().__setattr__(name, value)
            return
        with HOLDING:
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
    def n_features(self) -> int | None:
        """How many features there are; None before the first example."""
        return None if self.model is None else self.model.size - self.intercept

    @property
    def counts(self) -> Counts:
        """What this learner has gone through so far."""
        return Counts(*self._tally.tolist())

    def score_one(self, x: ArrayLike | dict[Any, Any]) -> Answer:
        """The score of a single example, or those of all classes.

        It is a vector, or a dict of named features, of which those never seen count nothing.
        """
        answer: Answer
        if isinstance(x, dict):
            answer = (self._named or self._hold(named=True)).score_named(x)
        else:
            answer = (self._plain or self._hold(named=False)).score(as_vector(x))
        return answer

    def look_one(self, x: dict[Any, Any]) -> tuple[Answer, float]:
        """What `score_one` gives for a dict, and x'Sigma x; of several classes, of the one with the largest score.

        With a full covariance the scores may differ in their last bits.
        """
        return (self._named or self._hold(named=True)).look_named(x)

    def learn_one(self, x: ArrayLike | dict[Any, Any], y: float, w: float = 1.0) -> Answer:
        """Learn from a single example of weight w, a vector or a dict of named features; its score before.

        With several classes the score of a class that it brings is -infinity. A key of a dict is a string or a whole
        number, or anything hashable; all are of one type. A value is a number; a string, which counts as 1 for the
        feature "key=string"; or a list, tuple or set of strings, each of which adds 1 to its feature. New names make
        the model larger. All or nothing, as `learn`.

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
        answer: Answer | None
        if isinstance(x, dict):
            answer = one.learn_named(x, y, w) if (one := self._named) else None
            return self._learn_what_is_new(x, y, w) if answer is None else answer
        vector = as_vector(x)
        if self.model is None:
            return self._learn_first(vector, y, w)
        answer = (self._plain or self._hold(named=False)).learn(vector, y, w)
        if answer is None:
            self.model = self._with_class(self.model, y)
            answer = self._hold(named=False).learn(vector, y, w)
        assert answer is not None
        return answer

    @property
    def last_variance(self) -> float:
        """x'Sigma x of the dict learned from last, before that; of several classes as `look_one` says."""
        return (self._named or self._hold(named=True)).variance

    def score_many(self, examples: Iterable[dict[Any, Any]]) -> Array:
        """The scores of each of some dicts: what `score_one` gives, bit for bit."""
        return self._score_many(tuple(examples), None)

    def look_many(self, examples: Iterable[dict[Any, Any]]) -> tuple[Array, Array]:
        """What `look_one` gives for each of some dicts, bit for bit: all scores, and all variances."""
        rows = tuple(examples)
        variances = np.empty(len(rows))
        return self._score_many(rows, variances), variances

    def learn_many(
        self,
        examples: Iterable[dict[Any, Any]],
        y: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        variances_out: Array | None = None,
    ) -> Array:
        """Learn from each of some dicts in turn, as `learn_one` does, bit for bit; their scores before.

        `variances_out` gets x'Sigma x before, of several classes that of the one with the largest score. All or
        nothing: after an error everything is as it was. Ctrl-C keeps what the examples before it taught, and so does an
        error raised by a key or a number of a class of your own that did not raise it when it was checked.

        Examples
        --------
        >>> from scwlearn import Learner
        >>> learner = Learner("arow")
        >>> learner.learn_many([{"free": 1, "offer": 2}, {"meeting": 1}], [1, -1])
        array([0., 0.])
        """
        rows = tuple(examples)
        weighed = check_weights(weights, len(rows))
        labels, scores = self._checked_labels(y, len(rows), weighed)
        self.learn_into(rows, labels, weighed, scores, variances_out)
        return scores

    def learn_into(
        self,
        rows: tuple[dict[Any, Any], ...],
        labels: NDArray[Any],
        weights: Array | None,
        scores: Array,
        variances: Array | None,
    ) -> None:
        """What `learn_many` does, once all but the dicts is checked; `scores` has a line for each.

        Ctrl-C leaves there what those had that were learned from.
        """
        # Nothing can stop a spelled rule, so that the look at the examples is enough.
        before = None if is_spelled(self.rule) else copy(self)
        done = 0
        try:
            with self._way_back():
                one = self._begin_named()
                one.vocabulary.check(rows)
                while done < len(rows):
                    reached = one.learn_list(rows, labels, weights, done, scores, variances)
                    if reached == done:
                        one = self._make_room(one, rows[done], labels[done])
                    done = reached
        except BaseException:
            if before is not None:
                self.__dict__.update(vars(before))
            raise

    def at_once(self) -> tuple[Model, Vocabulary | None, RunningScale | None]:
        """The model, its names and its scale, of one moment, for whoever reads them while another thread learns."""
        with HOLDING:
            return self._fitted(), self.vocabulary, self.running_scale

    @abstractmethod
    def _learn_first(self, vector: Array, y: float, w: float) -> Answer:
        """Learn from the vector that decides how many features there are."""

    @abstractmethod
    def _prior(self, width: int, *, named: bool = False) -> Model:
        """The model that has seen nothing, with room for so many features."""

    @abstractmethod
    def _widened(self, model: Model, count: int) -> Model:
        """A model with so many features more behind those that there are."""

    @abstractmethod
    def _with_class(self, model: Model, y: float) -> Model:
        """A model with room for the class of that label."""

    @abstractmethod
    def _single(self, model: Model, vocabulary: Vocabulary | None, scales: Array | None) -> One:
        """What holds a model ready for single examples."""

    @abstractmethod
    def _empty_scores(self, count: int, scores: int) -> Array:
        """Room for so many scores of so many examples."""

    @abstractmethod
    def _checked_labels(self, y: ArrayLike, count: int, weights: Array | None) -> tuple[NDArray[Any], Array]:
        """The labels of so many examples, and room for their scores before."""

    def _fitted(self) -> Model:
        if self.model is None:
            raise ValueError("this learner has not learned from any row yet")
        return self.model

    def _check_kind(self, *, named: bool) -> None:
        if self.model is not None and named != (self.vocabulary is not None):
            known = "without names" if self.vocabulary is None else "with names"
            raise ValueError(f"this learner has learned from features {known}; go on with examples of the same kind")

    def _score_many(self, rows: tuple[dict[Any, Any], ...], variances: Array | None) -> Array:
        one = self._named or self._hold(named=True)
        # Of the classes that this model knows: meanwhile another may take its place.
        scores = self._empty_scores(len(rows), one.scores)
        one.score_list(rows, scores, variances)
        return scores

    def _learn_what_is_new(self, x: dict[Any, Any], y: float, w: float) -> Answer:
        """Learn from a dict for whose names or class there is no room yet."""
        with self._way_back():
            one = self._begin_named()
            answer: Answer | None = one.learn_named(x, y, w)
            while answer is None:
                one = self._make_room(one, x, y)
                answer = one.learn_named(x, y, w)
        return answer

    @contextmanager
    def _way_back(self) -> Iterator[None]:
        """Put everything back as it was unless something is learned: not from a bad example, nor from a weight of 0."""
        before, seen = {name: getattr(self, name) for name in _MODEL}, self.counts.seen
        try:
            yield
        finally:
            # Ctrl-C may come after the example, whose names are known by then.
            if self.counts.seen == seen:
                with HOLDING:
                    self.__dict__.update(before)

    def _begin_named(self) -> One:
        """What learns from dicts, made from the prior if there is nothing yet."""
        if self.model is not None:
            return self._named or self._hold(named=True)
        return self._begin_with(_ROOM_FOR_NAMES)

    def _begin_with(self, names: int) -> One:
        """What learns from dicts, from the prior, with room for so many names."""
        most, hashed = self.max_features, self.overflow == "hash"
        room = names if most is None else most if hashed else min(names, most)
        scale = None if self.running_scale is None else self.running_scale.arranged(np.empty(0, np.int64), room)
        return self._go_on_with(self._prior(room, named=True), Vocabulary(most, hashed), scale)

    def _make_room(self, one: One, x: dict[Any, Any], y: float) -> One:
        """What learns from dicts, with room for the new names of this one and for its class."""
        features, _, new_names = one.vocabulary.read(x)
        if self._named is not one and self._named is not None:
            # A key of the user's own has made room meanwhile, for what it let the learner learn.
            return self._named
        model, vocabulary, scale = self._fitted(), one.vocabulary, self.running_scale
        most, known, width = vocabulary.max_features, len(vocabulary), model.size - self.intercept
        wanted = known + len(new_names)
        room = room_for(wanted, width)
        kept = np.arange(width, dtype=np.int64)
        if most is not None and wanted > most:
            present = [i for i in features if i < known]
            kept = certain_features(model, vocabulary, wanted - most, present)
            model = model.marginal(np.append(kept, np.arange(width, model.size)))
            vocabulary = vocabulary.kept(kept)
        room = room if most is None else min(room, most)
        if scale is not None:
            scale = scale.arranged(kept, room)
        return self._go_on_with(self._with_class(self._widened(model, room - len(kept)), y), vocabulary, scale)

    def _go_on_with(self, model: Model, vocabulary: Vocabulary, scale: RunningScale | None) -> One:
        """Take on a model. At once: whoever scores in another thread meets either this one or the one before."""
        model = model.writable()
        one = self._single(model, vocabulary, None if scale is None else scale.state)
        with HOLDING:
            self.__dict__.update(model=model, vocabulary=vocabulary, running_scale=scale, _named=one, _plain=None)
        return one

    def _hold(self, *, named: bool) -> One:
        """The model as it is now, held ready for single examples, with names or without."""
        self._check_kind(named=named)
        held = "_named" if named else "_plain"
        with HOLDING:
            one: One | None = getattr(self, held)
            if one is None:
                self.model = self._fitted().writable()
                self._tally = np.require(self._tally, requirements="W")
                scales = None if self.running_scale is None else self.running_scale.writable_state()
                one = self.__dict__[held] = self._single(self.model, self.vocabulary, scales)
            return one
