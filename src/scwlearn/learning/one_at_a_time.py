"""One example at a time: vectors, and dicts of named features that appear over time and may be bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import CommitteeByOne, OneByOne, Vocabulary, as_weight, replace_attributes
from scwlearn._util.interrupts import check_interrupts, interruptible, interrupts_held
from scwlearn._util.locks import changing
from scwlearn._util.memory import give_back_memory, memory_held
from scwlearn.data.rows import as_vector
from scwlearn.data.weights import check_weights
from scwlearn.learning.class_axis import check_variances_out
from scwlearn.learning.counters import Counts
from scwlearn.learning.growing import Growing
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.scale import RunningScale
from scwlearn.model.vocabulary import certain_features

Array = NDArray[np.float64]

# The native handles for single examples, with names and without, and what they are made from.
NO_HANDLES: dict[str, None] = {"_named": None, "_plain": None}
_HANDLES_POINT_TO = frozenset({"model", "vocabulary", "running_scale", "mixture", "_tally", "_lock"})
# Dicts that are learned in one native call, for which Ctrl-C has to wait anyway.
_FEW_DICTS = 2**12
_STATE = ("model", "vocabulary", "running_scale")


class OneAtATime(Growing):
    """Learning and scoring of single examples. Scoring is safe in several threads while others learn.

    The score of an example is a float, or with several classes an array of the scores of all.
    """

    #: The scale of the features; None if they are not scaled.
    running_scale: RunningScale | None
    # Rows, mistakes and updates, which the native loops increment.
    _tally: NDArray[np.int64]

    # The attributes that an error restores.
    _state_names: ClassVar[tuple[str, ...]] = _STATE
    # Native handles, so that a call has nothing to look up or to compare.
    _named: Any = None
    _plain: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HANDLES_POINT_TO or self.__dict__.get(name) is value:
            super().__setattr__(name, value)
            return
        self._replace({name: value})

    @property
    def names(self) -> dict[Any, int] | None:
        """The index of each feature by name, read-only; None for a learner that does not learn from dicts.

        Where names are hashed, the most frequent name of each index.
        """
        return None if self.vocabulary is None else self.vocabulary.names

    @property
    def n_features(self) -> int | None:
        """The number of features; None before the first example."""
        return None if self.model is None else self.model.size - self.config.intercept

    @property
    def counts(self) -> Counts:
        """Examples seen, mistakes and updates so far."""
        return Counts(*self._tally.tolist())

    def score_one(self, x: ArrayLike | dict[Any, Any]) -> Any:
        """Compute the score of a single example.

        Parameters
        ----------
        x : array-like or dict
            A vector, or a dict of named features; unknown names are ignored.

        Returns
        -------
        float or array
            mu.x, or with several classes the scores of all.
        """
        if isinstance(x, dict):
            return (self._named or self._handle(named=True)).score_named(x)
        return (self._plain or self._handle(named=False)).score(x)

    def score_and_variance_one(self, x: dict[Any, Any]) -> tuple[Any, float]:
        """Compute the score of a dict and x'Sigma x; with several classes, of the class with the largest score."""
        answer: tuple[Any, float] = (self._named or self._handle(named=True)).look_named(x)
        return answer

    def learn_one(self, x: ArrayLike | dict[Any, Any], y: float, w: float = 1.0) -> Any:
        """Learn from a single example. All or nothing: after an error the learner is as it was.

        Parameters
        ----------
        x : array-like or dict
            A vector, or a dict of named features. Keys are strings, integers, or anything hashable, all of one type.
            A value is a number; a string, which counts as 1 for the feature "key=string"; or a list, tuple or set of
            strings, each of which adds 1 to its feature. New names make the model larger.
        y : int
            -1 or +1; with several classes the class number.
        w : float
            The weight of the example.

        Returns
        -------
        float or array
            The score before learning; -infinity for a class that the example adds.

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
            answer = one.learn_named(x, y, w) if (one := self._named) else None
            return self._learn_new_dict(x, y, w) if answer is None else answer
        if self.model is None:
            # Checked as a batch is.
            w = as_weight(w)
            first = self._axis.score_before_first(y, w, self._classes)
            self.learn(as_vector(x)[np.newaxis], [y], weights=[w])
            return first
        answer = (self._plain or self._handle(named=False)).learn(x, y, w)
        return self._learn_new_vector(x, y, w) if answer is None else answer

    @property
    def last_variance(self) -> float:
        """x'Sigma x of the last dict, before it was learned from; see `score_and_variance_one`."""
        variance: float = (self._named or self._handle(named=True)).variance
        return variance

    def dict_handle(self) -> OneByOne | CommitteeByOne:
        """Return the native handle for dicts, the attribute `_named`, until the model is replaced."""
        handle: OneByOne | CommitteeByOne = self._named or self._handle(named=True)
        return handle

    def score_many(self, examples: Iterable[dict[Any, Any]]) -> Array:
        """Compute the scores of some dicts, bit for bit as `score_one` does."""
        return self._score_many(tuple(examples), None)

    def scores_and_variances_many(self, examples: Iterable[dict[Any, Any]]) -> tuple[Array, Array]:
        """Compute scores and variances of some dicts, bit for bit as `score_and_variance_one` does."""
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
        """Learn from dicts in turn, bit for bit as `learn_one` does.

        All or nothing, also after Ctrl-C, which may take effect after a batch that takes a moment. One exception keeps
        what was learned before: an error that user code (a key or number of a user-defined class) raises only after
        all examples were checked.

        Parameters
        ----------
        examples : iterable of dict
            The examples, as for `learn_one`.
        y : array-like
            Their labels.
        weights : array-like, optional
            Their weights.
        variances_out : array of shape (examples,), optional
            Receives x'Sigma x before learning; with several classes that of the class with the largest score.

        Returns
        -------
        array
            The scores before learning.

        Examples
        --------
        >>> from scwlearn import Learner
        >>> learner = Learner("arow")
        >>> learner.learn_many([{"free": 1, "offer": 2}, {"meeting": 1}], [1, -1])
        array([0., 0.])
        """
        rows = tuple(examples)
        checked = check_weights(weights, len(rows))
        labels = self._axis.check_labels(y, len(rows))
        counted = labels if checked is None else labels[checked > 0]
        scores = self._axis.empty_scores(len(rows), self._axis.classes_after(counted, self._known_classes()))
        if variances_out is None:
            self.learn_dicts(rows, labels, checked, scores, None)
            return scores
        check_variances_out(variances_out, len(rows))
        variances = np.empty(len(rows))
        self.learn_dicts(rows, labels, checked, scores, variances)
        variances_out[:] = variances
        return scores

    @changing
    def learn_dicts(
        self,
        rows: tuple[dict[Any, Any], ...],
        labels: NDArray[Any],
        weights: Array | None,
        scores: Array,
        variances: Array | None,
        sample_weights: Array | None = None,
    ) -> None:
        """Learn from dicts as `learn_many` does, with labels and weights that are checked.

        `scores` and `variances` receive what the examples had before learning. Sample weights matter to a committee
        only.
        """
        with interrupts_held():
            self._learn_dicts(rows, labels, weights, scores, variances, sample_weights)

    def check_dicts(self, rows: tuple[dict[Any, Any], ...]) -> None:
        """Raise the error that `learn_dicts` would raise for one of these dicts."""
        with self._lock.changing:
            # A copy of a learner without a model, since checking starts one.
            checker = copy(self) if self.model is None else self
            checker._lock = self._lock
            one, width = checker._named_handle(), checker._fitted().size - self.config.intercept
            with self._lock.learning:
                one.vocabulary.check(rows, width)

    def _learn_dicts(self, rows: tuple[dict[Any, Any], ...], labels: NDArray[Any], *given: Any) -> None:
        weights, scores, variances, sample_weights = given
        # Once the examples are checked, nothing can stop a compiled rule in a model that has room for them.
        safe = self.config.compiled and self.model is not None and len(rows) <= _FEW_DICTS
        before = None if safe else copy(self)
        # A user's function may take long.
        called = nullcontext if self.config.compiled else interruptible
        done = 0
        try:
            with memory_held(), self._rollback():
                one = self._named_handle()
                model = self._fitted()
                with self._lock.learning:
                    grows = one.vocabulary.check(rows, model.size - self.config.intercept)
                grows = grows or (not self.is_binary and int(labels.max(initial=0)) >= model.classes)
                if grows and before is None:
                    before = copy(self)
                while done < len(rows):
                    if before is not None:
                        check_interrupts()
                    with called():
                        reached = one.learn_list(rows, labels, weights, sample_weights, done, scores, variances)
                    if reached == done:
                        one = self._make_room(one, rows[done], labels[done])
                    done = reached
        except BaseException:
            give_back_memory()
            if before is not None:
                self._return_to(before)
            raise

    def state(self) -> tuple[Gaussian, Vocabulary | None, RunningScale | None]:
        """Return the model, its names and its scale, consistent even while another thread learns."""
        view = self._shallow_copy()
        return view._fitted(), view.vocabulary, view.running_scale

    def _replace(self, state: Mapping[str, Any]) -> None:
        """Replace attributes at once, so that other threads see all of the old state or all of the new one."""
        replace_attributes(self.__dict__, {**NO_HANDLES, **state}, {}, tuple(NO_HANDLES))

    def _shallow_copy(self) -> Self:
        other = super()._shallow_copy()
        # A handle is a learner's own.
        other.__dict__.update(NO_HANDLES)
        return other

    def _return_to(self, before: Self) -> None:
        """Restore the state of a copy."""
        self._replace(vars(before) | NO_HANDLES | {"_lock": self._lock})

    def _fitted(self) -> Gaussian:
        if self.model is None:
            raise ValueError("this learner has not learned from any row yet")
        return self.model

    def _known_classes(self) -> int:
        return self._classes if self.model is None else self.model.classes

    def _check_kind(self, *, named: bool) -> None:
        if self.model is not None and named != (self.vocabulary is not None):
            known = "without names" if self.vocabulary is None else "with names"
            raise ValueError(f"this learner has learned from features {known}; continue with examples of the same kind")

    def _score_many(self, rows: tuple[dict[Any, Any], ...], variances: Array | None) -> Array:
        one = self._named or self._handle(named=True)
        # For the classes of this handle: another thread may replace the model.
        scores = self._axis.empty_scores(len(rows), one.scores)
        one.score_list(rows, scores, variances)
        return scores

    @changing
    def _learn_new_vector(self, x: ArrayLike, y: float, w: float) -> Any:
        """Learn from a vector for whose class the handle had no room, or while another thread learned."""
        answer = self._handle(named=False).learn(x, y, w)
        if answer is None:
            with interrupts_held(), memory_held(), self._rollback():
                self.model = self._with_room(self._fitted(), self._classes_with(y))
                answer = self._handle(named=False).learn(x, y, w)
        return answer

    @changing
    def _learn_new_dict(self, x: dict[Any, Any], y: float, w: float) -> Any:
        """Learn from a dict for which the handle had no room, or while another thread learned."""
        with interrupts_held(), memory_held(), self._rollback():
            one = self._named_handle()
            answer = one.learn_named(x, y, w)
            while answer is None:
                one = self._make_room(one, x, y)
                answer = one.learn_named(x, y, w)
        return answer

    @contextmanager
    def _rollback(self) -> Iterator[None]:
        """Restore the state unless an example was learned from: it may be invalid, or have weight 0."""
        before, seen = {name: getattr(self, name) for name in self._state_names}, self.counts.seen
        try:
            yield
        finally:
            give_back_memory()
            if self.counts.seen == seen:
                self._replace(before)

    def _named_handle(self) -> Any:
        """Return the handle for dicts, of a new model if there is none yet."""
        if self.model is not None:
            return self._named or self._handle(named=True)
        with self._lock.learning:
            return self._start_named()

    def _start_named(self) -> Any:
        """Start a model with room for some names and return its handle."""
        model, scale = self._first_named_model(), self.running_scale
        if scale is not None:
            scale = scale.arranged(np.empty(0, np.int64), model.size - self.config.intercept)
        vocabulary = Vocabulary(self.config.max_features, self.config.overflow == "hash")
        return self._replace_model(model, vocabulary, scale)

    def _make_room(self, one: Any, x: dict[Any, Any], y: float) -> Any:
        """Return a handle with room for the new names of this example and for its class."""
        with self._lock.learning:
            features, _, new_names = one.vocabulary.read(x)
            model, vocabulary, scale = self._fitted(), one.vocabulary, self.running_scale
            most, known, width = vocabulary.max_features, len(vocabulary), model.size - self.config.intercept
            wanted, classes = known + len(new_names), self._classes_with(y)
            model = self._fitting(model, wanted, classes)
            kept = np.arange(width, dtype=np.int64)
            if most is not None and wanted > most:
                present = [i for i in features if i < known]
                kept = certain_features(model, vocabulary, wanted - most, present)
                model = model.marginal(np.append(kept, np.arange(width, model.size)))
                vocabulary = vocabulary.kept(kept)
            room = max(width, self._room_for(model, wanted))
            if scale is not None:
                scale = scale.arranged(kept, room)
            wider = self._widened(model, room - len(kept))
            return self._replace_model(self._with_room(wider, classes), vocabulary, scale)

    def _replace_model(self, model: Gaussian, vocabulary: Vocabulary, scale: RunningScale | None) -> Any:
        """Replace the state at once, so that another thread sees either model whole, and return the new handle."""
        model = model.writable()
        one = self._new_handle(model, vocabulary, None if scale is None else scale.arrays)
        one.attach(self._lock)
        self._replace({"model": model, "vocabulary": vocabulary, "running_scale": scale, "_named": one})
        return one

    def _handle(self, *, named: bool) -> Any:
        """Return the native handle of the current model, with names or without."""
        self._check_kind(named=named)
        held = "_named" if named else "_plain"
        while (one := getattr(self, held)) is None:
            view = self._shallow_copy()
            before = {name: getattr(view, name) for name in (*self._state_names, "_tally")}
            model, tally = view._fitted().writable(), np.require(view._tally, requirements="W")
            if (scale := view.running_scale) is not None:
                scale.make_writable()
            view.__dict__["_tally"] = tally
            made = view._new_handle(model, view.vocabulary, None if scale is None else scale.arrays)
            made.attach(self._lock)
            # Unless another thread has made one, or replaced the model.
            replace_attributes(self.__dict__, {"model": model, "_tally": tally, held: made}, before | {held: None}, ())
        return one

    def _new_handle(self, model: Gaussian, vocabulary: Vocabulary | None, scales: Any) -> Any:
        rule, native = self.config.native_rule, model.native(self._tally, **self.config.native)
        return self._axis.one_by_one(rule, native, self.config, vocabulary, scales)
