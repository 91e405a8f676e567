"""A model that grows with its features and classes, and the form of Sigma that "auto" keeps for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows
from scwlearn.learning.base import BaseLearner
from scwlearn.learning.batch import LabeledBatch, occurrences
from scwlearn.learning.config import LearnerConfig
from scwlearn.model.covariances import covariance
from scwlearn.model.gaussian import Gaussian, lanes_for
from scwlearn.model.interleaved import Interleaved
from scwlearn.model.vocabulary import room_for
from scwlearn.rules import OwnRule, Rule

Array = NDArray[np.float64]

#: Numbers of rows, in learning order.
Rounds = NDArray[np.intp]

#: Up to this many features "auto" keeps a full covariance (docs/covariances.md has the measurements).
AUTO_FULL_LIMIT = 500

#: With several classes, also only while all their covariances together have at most this many entries (64 MB).
AUTO_FULL_ENTRIES = 2**23


def auto_covariance(rule: Rule | OwnRule, width: int, sigmas: int = 1) -> str:
    """Return the covariance that "auto" stands for.

    Parameters
    ----------
    rule : Rule or function
        The rule.
    width : int
        The number of features.
    sigmas : int
        The number of covariances: one per class, unless they share one.
    """
    if isinstance(rule, Rule) and rule.order == 1:
        return "identity"
    if width <= AUTO_FULL_LIMIT and sigmas * width**2 <= AUTO_FULL_ENTRIES:
        return "full"
    return rule.diagonal if isinstance(rule, Rule) else "diagonal"


def allowed_covariances(config: LearnerConfig) -> tuple[str, ...]:
    """Return the forms of Sigma that a learner with this configuration may have."""
    if config.covariance != "auto":
        return (config.covariance,)
    return tuple(dict.fromkeys(auto_covariance(config.rule, width) for width in (0, AUTO_FULL_LIMIT + 1)))


class Growing(BaseLearner):
    """A learner that starts its model and makes room in it.

    The number of named features is not known at the start. With "auto" Sigma is full at first, and becomes diagonal
    before the example that brings too many names or classes. That depends on nothing but the examples before it, so
    batches of any size and single examples lead to the same model.
    """

    #: The Gaussian over the weights; None before the first example.
    model: Gaussian | None
    #: The names of the features; None for a learner that does not learn from dicts.
    vocabulary: Vocabulary | None
    # Whether features have names that another learner keeps.
    _by_name = False

    def covariance_for(self, width: int) -> str:
        """Return the form of Sigma for this number of numbered features; "auto" is decided by the first row."""
        # Without the new classes of a batch, so that learning a batch equals learning its rows one by one.
        return self._form_for(width, max(1, self._classes))

    def _form_for(self, width: int, sigmas: int) -> str:
        name: str = self.config.covariance
        if name != "auto":
            return name
        return auto_covariance(self.rule, width, 1 if self.config.shared_covariance else sigmas)

    def _form_for_names(self, names: int, classes: int) -> str:
        """Return the form of Sigma for that many named features and classes, by the memory that they need."""
        return self._form_for(_room_in_full(names), 1 if self.is_binary else lanes_for(classes))

    def _may_turn(self, model: Gaussian) -> bool:
        """Whether Sigma is full only until there are too many names or classes."""
        named = self._by_name or self.vocabulary is not None
        return named and self.config.covariance == "auto" and model.covariance.correlated

    def keeps_full(self, names: int, classes: int) -> bool:
        """Whether "auto" keeps a full Sigma for that many named features and classes."""
        most: int | None = self.config.max_features
        # Dropping features of a full Sigma takes a QR decomposition each time.
        return (most is None or names <= most) and self._form_for_names(names, classes) == "full"

    def diagonal(self, model: Gaussian) -> Gaussian:
        """Return the model with the diagonal Sigma that suits the rule; see `Gaussian.diagonal`."""
        name = auto_covariance(self.rule, AUTO_FULL_LIMIT + 1)
        form = covariance(name, shared=model.covariance.shared)
        assert isinstance(form, Interleaved)
        return model.diagonal(form)

    def _fitting(self, model: Gaussian, names: int, classes: int) -> Gaussian:
        """Return the model, with a diagonal Sigma if "auto" made it full and there are too many names or classes."""
        return self.diagonal(model) if self._may_turn(model) and not self.keeps_full(names, classes) else model

    def _fitting_width(self, model: Gaussian, width: int) -> Gaussian:
        """Return the model, with a diagonal Sigma if "auto" keeps none in full for that many numbered features."""
        return self.diagonal(model) if model.covariance.correlated and self.covariance_for(width) != "full" else model

    def _first_model(self, rows: Rows, classes: int, memory: Array | None = None) -> Gaussian:
        model = self._prior(self.covariance_for(rows.width), rows.width, classes, memory)
        if model.covariance.correlated:
            model.covariance.arrange(model.memory, occurrences(rows, self.config.intercept))
        return model

    def _first_named_model(self) -> Gaussian:
        return self._prior(self._form_for_names(self.config.slots, self._classes), self._first_room(), self._classes)

    def _first_room(self) -> int:
        most = self.config.max_features
        return self.config.slots or (room_for(0) if most is None else min(room_for(0), most))

    def _prior(self, name: str, width: int, classes: int, memory: Array | None = None) -> Gaussian:
        """Return a model that has learned nothing, with room for features and classes, in the memory given, if any."""
        form = covariance(name, shared=self.config.shared_covariance and not self.is_binary)
        size = width + self.config.intercept
        with self._axis.reserve(form, size, classes, averaged=self.config.averages):
            model = self._axis.prior(form, size if memory is None else 0, classes, self.config)
            if memory is not None:
                memory[:, 1:] = model.initial_variance
                average = None if model.average is None else model.average.widened(0, size)
                model = replace(model, memory=memory, average=average)
        model.known[0] = self._classes
        return model

    def _room_for(self, model: Gaussian, names: int) -> int:
        """Return the number of named features to make room for."""
        room = _room_in_full(names) if self._may_turn(model) else room_for(names)
        width: int = model.size - self.config.intercept
        most: int | None = self.config.max_features
        return max(width, room if most is None else min(room, most))

    def _widened(self, model: Gaussian, count: int, *, alone: bool = False) -> Gaussian:
        """Return a model with `count` more features after the known ones. `alone` lets the old one become invalid."""
        if not count:
            return model
        with self._axis.reserve(model.covariance, model.size + count, model.lanes, averaged=self.config.averages):
            # Features without names are only ever appended, and nothing else is numbered by them. The intercept is
            # behind them, where another thread may be reading it.
            in_place = self.vocabulary is None and (alone or not self.config.intercept)
            return model.widened(model.size - self.config.intercept, count, in_place=in_place)

    def _with_room(self, model: Gaussian, classes: int) -> Gaussian:
        """Return a model with room for classes."""
        if classes <= model.lanes:
            return model
        with self._axis.reserve(model.covariance, model.size, classes, averaged=self.config.averages):
            # No more than needed, so that a class that is too many is noticed.
            return model.with_room(classes, spare=not self._may_turn(model))

    def _classes_with(self, y: float) -> int:
        """Return the number of classes after an example with that label."""
        return 1 if self.is_binary else max(self._known_classes(), int(y) + 1)

    def _ends_of_parts(self, batch: LabeledBatch) -> list[int]:
        """Return the numbers of rounds after which a full Sigma of "auto" grows or becomes diagonal, and of all.

        A model that must grow does so before the row that needs it, because the last bits of a full Sigma depend on
        its size.
        """
        assert isinstance(batch.rows, NamedRows)
        names = self.config.slots if self.vocabulary is None else len(self.vocabulary)
        classes, ends = self._known_classes(), []
        if self.model is None:
            full = self.config.covariance == "auto" and self._form_for_names(names, classes) == "full"
            room = self._first_room()
        else:
            full, room = self._may_turn(self.model), self.model.size - self.config.intercept
        if full:
            new_names = np.empty(0, np.intp) if self.config.slots else _first_rounds(batch, self.vocabulary)
            new_classes = _first_rounds_of_classes(batch, classes)
            for done in np.union1d(new_names, new_classes).tolist():
                wanted = names + int(np.searchsorted(new_names, done, "right"))
                if not self.keeps_full(wanted, classes + int(np.searchsorted(new_classes, done, "right"))):
                    ends.append(done)
                    break
                if wanted > room:
                    ends.append(done)
                    room = _room_in_full(wanted)
        return [end for end in ends if end] + [batch.rounds]


def _room_in_full(names: int) -> int:
    """Return how many features a full Sigma of "auto" with that many names has room for."""
    return max(names, min(room_for(names), AUTO_FULL_LIMIT))


def _first_rounds(batch: LabeledBatch, vocabulary: Vocabulary | None) -> Rounds:
    """Return the round in which each new name is not zero for the first time, in order."""
    x = batch.rows
    assert isinstance(x, NamedRows)
    new = np.ones(len(x.names), bool) if vocabulary is None else x.features_in(vocabulary) < 0
    if not new.any():
        return np.empty(0, np.intp)
    values, columns, offsets = (x.rows if batch.places is None else x.rows.take(batch.places)).compressed()
    stored = np.flatnonzero(new[columns] & (values != 0))
    firsts = stored[np.unique(columns[stored], return_index=True)[1]]
    return np.sort(np.searchsorted(offsets, firsts, "right") - 1)


def _first_rounds_of_classes(batch: LabeledBatch, known: int) -> Rounds:
    """Return the round in which each new class comes first, in order."""
    labels, firsts = np.unique(batch.labels_in_order, return_index=True)
    return np.sort(firsts[labels >= known])
