"""The learner of a committee: its members learn from the same examples, and a mixture weighs their probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows
from scwlearn.learning.base import BaseLearner
from scwlearn.learning.batch import LabeledBatch
from scwlearn.learning.class_axis import Recorded
from scwlearn.learning.committee.config import CommitteeConfig
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import Counts, new_tally
from scwlearn.learning.learner import Learner
from scwlearn.model.log_odds import LogOdds
from scwlearn.model.mixture import Mixture

Array = NDArray[np.float64]

# Members are copied for a rollback unless the batch is smaller than this part of a model.
_SMALL_BATCH = 1 / 8


class Committee(BaseLearner):
    """Several learners on labels -1 and +1, or on class numbers, and the mixture of their probabilities.

    A score is the mixed log-odds of +1; with several classes, the mixed log-probability of each, up to a constant. It
    has no variance: the variances that it reports are 0.
    """

    config: CommitteeConfig
    members: list[Learner]
    mixture: Mixture
    _tally: NDArray[np.int64]

    #: The scores are log-odds already.
    calibration_type: ClassVar[type[Any]] = LogOdds

    def _configure(self, config: LearnerConfig, n_classes: int | None) -> None:
        assert isinstance(config, CommitteeConfig)
        super()._configure(config, n_classes)
        self.members = [Learner.from_config(member, n_classes) for member in config.member_configs]
        self.mixture = Mixture(len(self.members), 1 if n_classes is None else max(2, n_classes))
        self._tally = new_tally()

    @property
    def counts(self) -> Counts:
        """Examples seen, mistakes of the mixture, and updates: every example changes the mixture."""
        return Counts(*self._tally.tolist())

    @property
    def n_features(self) -> int | None:
        """The number of features; None before the first example."""
        return self.members[0].n_features

    @property
    def vocabulary(self) -> Any:
        """The names of the features; None if they are numbered."""
        return self.members[0].vocabulary

    @property
    def model(self) -> Committee | None:
        """This committee; None before the first example."""
        return None if self.members[0].model is None else self

    @property
    def covariance(self) -> Any:
        """The covariance of the members: that of the first with one, if any."""
        forms = [member._fitted().covariance for member in self.members]
        return next((form for form in forms if form.name != "identity"), forms[0])

    @property
    def last_variance(self) -> float:
        """A committee has no variance."""
        return 0.0

    def count_nonzero(self) -> int:
        """Return the number of weights of all members that are not zero."""
        return sum(member.model.count_nonzero() for member in self.members if member.model is not None)

    def split(self) -> Self:
        """Return a multi-class committee equivalent to this binary one; see `Learner.split`."""
        other = self.from_config(self.config, 2)
        other.members = [member.split() for member in self.members]
        other.mixture, other._tally = self.mixture.expanded(), self._tally.copy()
        return other

    def add_classes(self, count: int) -> None:
        """Add classes, which start from the prior and take part at once."""
        for member in self.members:
            member.add_classes(count)
        self._classes = self._known_classes()
        self._make_room(self._classes)

    def widen(self, n_features: int) -> None:
        """Append features that have not been seen yet."""
        for member in self.members:
            member.widen(n_features)

    def with_parameters(self, parameters: Mapping[str, float]) -> Self:
        """Return this committee, which has no parameters of its own, in the same memory."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.config = self.config.with_parameters(parameters)
        return other

    def __copy__(self) -> Self:
        # A copy that shared its memory would learn for both.
        other = self.with_parameters({})
        other.members = [copy(member) for member in self.members]
        other.mixture, other._tally = copy(self.mixture), self._tally.copy()
        return other

    def scores(self, x: Any) -> Array:
        """Compute the mixed log-odds of each row, or with several classes those of each class."""
        return self._mixed([member.scores_and_top_variances(x) for member in self.members])

    def scores_and_variances(self, x: Any) -> tuple[Array, Array]:
        """Compute `scores`, and variances of 0."""
        scores = self.scores(x)
        return scores, np.zeros_like(scores)

    def score_one(self, x: Any) -> Any:
        """Compute the mixed log-odds of a dict, with several classes those of each class."""
        return self._one(self.score_many([x]))

    def score_and_variance_one(self, x: dict[Any, Any]) -> tuple[Any, float]:
        """Compute `score_one`, and a variance of 0."""
        return self.score_one(x), 0.0

    def score_many(self, examples: Iterable[dict[Any, Any]]) -> Array:
        """Compute the scores of some dicts, bit for bit as `score_one` does."""
        rows = tuple(examples)
        return self._mixed([member.scores_and_variances_many(rows) for member in self.members])

    def scores_and_variances_many(self, examples: Iterable[dict[Any, Any]]) -> tuple[Array, Array]:
        """Compute `score_many`, and variances of 0."""
        scores = self.score_many(examples)
        return scores, np.zeros(len(scores))

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0, sample_weight: float | None = None) -> Any:
        """Learn from a dict; return its score before. The mixture learns with the sample weight, by default w."""
        rows, labels = (x,), np.array([y])
        scores = self._axis.empty_scores(1, max(self._known_classes(), int(y) + 1))
        given = None if sample_weight is None else np.array([sample_weight])
        self.learn_dicts(rows, labels, np.array([float(w)]), scores, None, given)
        return self._one(scores)

    def learn_dicts(
        self,
        rows: tuple[dict[Any, Any], ...],
        labels: NDArray[Any],
        weights: Array | None,
        scores: Array,
        variances: Array | None,
        sample_weights: Array | None = None,
    ) -> None:
        """Learn from dicts with labels and weights that are checked; see `Learner.learn_dicts`."""
        checked = self._axis.check_labels(labels, len(rows))
        classes = scores.shape[-1] if scores.ndim > 1 else 1
        self._make_room(classes)

        def learn(member: Learner) -> tuple[Array, Array]:
            own, spread = self._axis.empty_scores(len(rows), classes), np.zeros(len(rows))
            member.learn_dicts(rows, checked, weights, own, spread)
            return own, spread

        kept = weights if sample_weights is None or weights is None else np.where(weights > 0, sample_weights, 0.0)
        looks = self._learn_each(learn, len(rows))
        scores[:] = self._learn_mixture(looks, checked, kept)
        if variances is not None:
            variances[:] = 0.0

    def _learn_batch(self, batch: LabeledBatch, classes: int, record: Recorded | None) -> Counts:
        if batch.all_skipped:
            return Counts()
        before = self.counts
        self._make_room(classes)
        if isinstance(batch.rows, Rows):
            batch.rows.check()

        def learn(member: Learner) -> tuple[Array, Array]:
            own = member._axis.record(batch.rounds, classes)
            member._learn_batch(batch, classes, own)
            return own.scores, own.variances

        looks = self._learn_each(learn, batch.rounds)
        weights = batch.weights if batch.sample_weights is None else batch.sample_weights
        if weights is not None and batch.places is not None:
            weights = weights[batch.places]
        mixed = self._learn_mixture(looks, batch.labels_in_order, weights)
        if record is not None:
            record.scores[:] = mixed
            record.variances[:] = 0.0
        return self.counts - before

    def _learn_each(self, learn: Callable[[Learner], Any], rows: int) -> list[Any]:
        """Let each member learn, all or none of them."""
        size = sum(member.model.memory.size for member in self.members if member.model is not None)
        small = bool(size) and rows < _SMALL_BATCH * size / len(self.members)
        before = None if small else [copy(member) for member in self.members]
        looks: list[Any] = []
        try:
            for member in self.members:
                looks.append(learn(member))
        except BaseException:
            if before is not None:
                self.members = before
            elif looks:
                # The examples are valid, so this is Ctrl-C: the other members learn from them too before it takes
                # effect, since copies of all members would take longer.
                looks += [learn(member) for member in self.members[len(looks) :]]
            raise
        return looks

    def _learn_mixture(self, looks: list[tuple[Array, Array]], labels: NDArray[Any], weights: Array | None) -> Array:
        numbers = np.asarray(labels > 0 if self.is_binary else labels, dtype=np.int64)
        mixed = self.mixture.learn([look[0] for look in looks], [look[1] for look in looks], numbers, weights)
        counted = np.ones(len(mixed), dtype=bool) if weights is None else weights > 0
        predicted = mixed >= 0 if self.is_binary else mixed.argmax(axis=1)
        known = True if self.is_binary else np.isfinite(np.take_along_axis(mixed, numbers[:, np.newaxis], 1)[:, 0])
        mistakes = counted & ~(known & (predicted == numbers))
        seen = int(np.count_nonzero(counted))
        self._tally += [seen, int(np.count_nonzero(mistakes)), seen]
        return mixed

    def _mixed(self, looks: list[tuple[Array, Array]]) -> Array:
        return self.mixture.mix([look[0] for look in looks], [look[1] for look in looks])

    def _one(self, scores: Array) -> Any:
        return float(scores[0]) if self.is_binary else scores[0]

    def _known_classes(self) -> int:
        return self.members[0]._known_classes()

    def _make_room(self, classes: int) -> None:
        if not self.is_binary and classes > self.mixture.n_scores:
            self.mixture = self.mixture.with_classes(classes)

    def _check_rows(self, rows: Rows | NamedRows) -> None:
        self.members[0]._check_rows(rows)

    def margin_variances(self, x: Any) -> Array:
        """Raise an error: a committee has no variance."""
        raise TypeError("a committee has no variance of the score; its members have")
