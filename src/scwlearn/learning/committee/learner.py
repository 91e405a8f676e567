"""The learner of a committee: its members learn from the same examples, and a mixture weighs their probabilities."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import CommitteeByOne
from scwlearn._util.interrupts import check_interrupts, interrupts_held
from scwlearn._util.locks import changing, reading
from scwlearn._util.memory import STACK, ensure_memory, give_back_memory, memory_held
from scwlearn._util.threads import allowed_threads
from scwlearn.data.rows import Rows
from scwlearn.learning.base import BaseLearner
from scwlearn.learning.batch import WORK_FOR_THREADS, WORK_OF_A_BLOCK, LabeledBatch
from scwlearn.learning.class_axis import FEWER_WEIGHTS, Recorded
from scwlearn.learning.committee.config import CommitteeConfig
from scwlearn.learning.committee.models import Models, SharedLines, gains_from_shared_lines, shares_lines
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import new_tally
from scwlearn.learning.learner import Learner
from scwlearn.learning.one_at_a_time import NO_HANDLES, OneAtATime
from scwlearn.model.log_odds import LogOdds
from scwlearn.model.mixture import Mixture
from scwlearn.model.scale import RunningScale

Array = NDArray[np.float64]

# Members are copied for a rollback unless they have more entries than this, and a batch has fewer rows than this part
# of them.
_QUICKLY_COPIED = 2**17
_SMALL_BATCH = 1 / 8
# Nor in any case more rows than this: Ctrl-C waits for them.
_SMALL_ROWS = 4096


class Committee(Learner):
    """Several learners on labels -1 and +1, or on class numbers, and the mixture of their probabilities.

    A score is the mixed log-odds of +1; with several classes, the mixed log-probability of each, up to a constant. It
    has no variance: the variances that it reports are 0. Every example counts as an update, since it changes the
    mixture.
    """

    config: CommitteeConfig
    model: Models | None  # type: ignore[assignment]
    #: The statistics behind the scales of all members; None if no member is scaled.
    running_scale: RunningScale | None
    mixture: Mixture

    #: The scores are log-odds already.
    calibration_type: ClassVar[type[Any]] = LogOdds
    _state_names = (*OneAtATime._state_names, "mixture")

    def _configure(self, config: LearnerConfig, n_classes: int | None) -> None:
        assert isinstance(config, CommitteeConfig)
        BaseLearner._configure(self, config, n_classes)
        kinds = {member.scale for member in config.member_configs} - {"none"}
        # The statistics are the same for all kinds, but only "standard" keeps the list of dense features.
        kind = "standard" if "standard" in kinds else min(kinds, default=None)
        self.running_scale = None if kind is None else RunningScale(kind)
        self.model = self.vocabulary = None
        self.mixture = Mixture(len(config.member_configs), 1 if n_classes is None else max(2, n_classes))
        self._tally = new_tally()

    def members(self) -> list[Learner]:
        """Return each member as a learner that shares its memory, for reading only."""
        return [self._member(number, named=True) for number in range(len(self.config.member_configs))]

    @changing
    def take_members(self, members: list[Learner]) -> None:
        """Take over what its members know, each a learner of its own over the same features and classes."""
        first = members[0]
        self._classes = first._known_classes()
        self.vocabulary = first.vocabulary
        if (scale := self.running_scale) is not None:
            self.running_scale = next(member.running_scale for member in members if member.config.scale == scale.kind)
        if first.model is not None:
            self.model = Models(tuple(member._fitted() for member in members))

    @reading
    def split(self) -> Self:
        """Return a multi-class committee equivalent to this binary one; see `Learner.split`."""
        self._check_binary("split")
        other = self.from_config(self.config, 2)
        other._tally = self._tally.copy()
        other.vocabulary, other.running_scale = copy(self.vocabulary), copy(self.running_scale)
        if self.model is not None:
            two = [member.split() for member in self.members()]
            other.model = Models(tuple(member._fitted() for member in two))
        other.mixture = self.mixture.expanded()
        return other

    @changing
    def add_classes(self, count: int) -> None:
        """Add classes, which start from the prior and take part at once."""
        before = dict(self.__dict__)
        with interrupts_held():
            try:
                super().add_classes(count)
                self._widen_mixture(self._known_classes())
            except BaseException:
                self._replace(before | NO_HANDLES)
                raise

    @reading
    def __copy__(self) -> Self:
        # A copy that shared its memory would learn for both.
        other = super().__copy__()
        other.mixture = copy(self.mixture)
        return other

    def scores(self, x: Any) -> Array:
        """Compute the mixed log-odds of each row, or with several classes those of each class."""
        view = self._shallow_copy()
        view._fitted()
        rows = view._rows_by_kind(view._rows(x))
        looks = [
            view._member(number).scores_and_top_variances(rows[config.scale])
            for number, config in enumerate(view.config.member_configs)
        ]
        variances = [variance for _, variance in looks]
        if self.is_binary:
            return view.mixture.mix([scores for scores, _ in looks], variances)
        # Another thread may have brought some members, or the mixture, another class.
        classes = min([view.mixture.n_scores, *(scores.shape[1] for scores, _ in looks)])
        known = [np.full((len(rows["none"]), view.mixture.n_scores), -np.inf) for _ in looks]
        for padded, (scores, _) in zip(known, looks, strict=True):
            padded[:, :classes] = scores[:, :classes]
        return view.mixture.mix(known, variances)[:, :classes]

    def margin_variances(self, x: Any) -> Array:
        """Raise a TypeError: a committee has no variance."""
        raise TypeError("a committee has no variance of the score; its members have")

    def scores_and_variances(self, x: Any) -> tuple[Array, Array]:
        """Compute `scores`, and variances of 0."""
        scores = self.scores(x)
        return scores, np.zeros_like(scores)

    def scores_and_top_variances(self, x: Any) -> tuple[Array, Array]:
        """Compute `scores`, and variances of 0."""
        scores = self.scores(x)
        return scores, np.zeros(len(scores))

    @reading
    def shown_weights(self) -> Array:
        """Return what a typical value of each feature adds to the mixed log-odds, the intercept last."""
        from scwlearn.learning.committee.explain import typical_weights

        return typical_weights(self)

    def _member(self, number: int, *, named: bool = False) -> Learner:
        """Return a member as a learner of rows that are scaled already, or of rows as the committee takes them."""
        config = self.config.member_configs[number]
        member = Learner.from_config(config, None if self.is_binary else self._classes)
        if named and self.running_scale is not None and config.scale != "none":
            member.running_scale = self.running_scale.as_kind(config.scale)
        else:
            member.running_scale = None
        if self.model is not None:
            member.model = self.model.gaussians[number]
            member.vocabulary = self.vocabulary if named else None
        member._tally = self._tally.copy()
        member._by_name = self.vocabulary is not None
        return member

    def _rows_by_kind(self, rows: Rows) -> dict[str, Rows]:
        """Return the rows as members with each kind of scale see them."""
        kinds = {config.scale for config in self.config.member_configs} - {"none"}
        scale = self.running_scale
        return {"none": rows} | {kind: scale.as_kind(kind).apply(rows) for kind in kinds if scale is not None}

    def _learn_scaled(self, batch: LabeledBatch, rows: Rows, classes: int, record: Recorded | None) -> None:
        """Let the members learn from the rows as they see them, all or none of them, and the mixture."""
        rows.check()
        # Rows with names are in the columns of the model now.
        batch = batch._replace(rows=rows)
        if self.model is not None and self._is_small(batch.rounds, classes):
            # Copies would take longer than learning, which only a lack of memory for the work could interrupt.
            with memory_held(8 * self.model.entries + STACK * max(batch.jobs, allowed_threads())):
                self._learn_blocks(batch, classes, record, give_back_memory)
            return
        with self._all_or_nothing():
            self._learn_blocks(batch, classes, record, check_interrupts)

    def _is_small(self, rows: int, classes: int) -> bool:
        """Return whether learning the batch takes less time than copying the models."""
        if self.model is None or classes > self._known_classes() or rows > _SMALL_ROWS:
            return False
        entries = self.model.entries
        return entries > _QUICKLY_COPIED and rows < _SMALL_BATCH * entries / len(self.model.gaussians)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore models, scales, mixture and counts after an error, in their own memory: others may share it."""
        model, scales, mixture, tally = self.model, self.running_scale, self.mixture, self._tally
        before = None if model is None else model.copy()
        scales_before, state, counts = copy(scales), mixture.state.copy(), tally.copy()
        try:
            yield
        except BaseException:
            give_back_memory()
            if model is not None and before is not None:
                model.restore(before)
            if scales is not None and scales_before is not None:
                scales.restore(scales_before)
            np.copyto(mixture.state, state)
            if tally.flags.writeable:
                np.copyto(tally, counts)
            self.model, self.running_scale, self.mixture, self._tally = model, scales, mixture, tally
            raise

    def _learn_blocks(
        self, batch: LabeledBatch, classes: int, record: Recorded | None, check: Callable[[], None] = lambda: None
    ) -> None:
        """Learn block by block; `check` is called before each and may raise an error."""
        assert isinstance(batch.rows, Rows)
        rows, learners = batch.rows, [self._member(number) for number in range(len(self.config.member_configs))]
        self._widen_mixture(classes)
        memories = self._memories_for(learners, rows) if batch.jobs == 1 else {}
        gaussians = tuple(learner._model_for(rows, classes, memories.get(n)) for n, learner in enumerate(learners))
        scales = self._scales_for(rows.width)
        # Updated in place, like the models: other learners may share it.
        self._tally = np.require(self._tally, requirements="W")
        committee = self._new_handle(Models(gaussians), None, scales)
        pairs = [*zip(learners, gaussians, strict=True)]
        together = [1 if batch.in_turn else learner._rows_together(gaussian, rows) for learner, gaussian in pairs]
        work = sum(learner._work_of_a_row(gaussian, rows, classes) for learner, gaussian in pairs)
        # Threads that write to the same cache lines would wait for each other.
        alone = len(rows) * work < WORK_FOR_THREADS or any(map(shares_lines, gaussians))
        jobs = 1 if alone else batch.jobs
        threads = max(1, max(learner._threads_for(gaussian) for learner, gaussian in pairs) // jobs)
        shared = math.lcm(*together)
        own = batch.weights if batch.sample_weights is None else batch.sample_weights
        mixture_classes = () if self.is_binary else (self.mixture.n_scores,)
        for block in rows.blocks(max(1, int(WORK_OF_A_BLOCK / work / shared)) * shared, batch.places):
            check()
            chosen, part = batch.chosen(block), slice(block.start, block.start + block.count)
            weights, own_weights = (None if given is None else given[chosen] for given in (batch.weights, own))
            mixed = np.empty((block.count, *mixture_classes))
            committee.learn_rows(
                block.values,
                block.indices,
                block.offsets,
                block.width,
                batch.labels[chosen],
                weights,
                own_weights,
                batch.calibrate,
                together,
                threads,
                jobs,
                mixed,
            )
            if record is not None:
                # Later rows may bring classes.
                record.scores[part], record.variances[part] = -np.inf, 0.0
                record.scores[part][tuple(map(slice, mixed.shape))] = mixed
        self.model = Models(gaussians)

    def _memories_for(self, learners: list[Learner], rows: Rows) -> dict[int, Array]:
        """Allocate cache lines that the scale and some new members share; return the members' memory by number."""
        size, scale = rows.width + self.config.intercept, self.running_scale
        if self.model is not None or not self.is_binary or scale is None or scale.state is not None:
            return {}
        forms = {n: learner.covariance_for(rows.width) for n, learner in enumerate(learners)}
        chosen = {n: form for n, form in forms.items() if gains_from_shared_lines(form, size)}
        if len(chosen) < 2:
            return {}
        # While it learns, there may be a copy for a rollback.
        needed, what = 2 * 8 * SharedLines.entries(size), f"a committee with {size} weights"
        with ensure_memory(needed, what=what, instead=FEWER_WEIGHTS):
            lines = SharedLines(size)
            scale.start(rows.width)
            scale.state = lines.scale(rows.width)
        return {n: memory for n, form in chosen.items() if (memory := lines.take(form)) is not None}

    def _scales_for(self, width: int) -> Any:
        """Return the arrays of the scale, writable, of `width` features if it is new."""
        if (scale := self.running_scale) is None:
            return None
        if scale.state is None:
            scale.start(width)
        scale.make_writable()
        return scale.arrays

    def _widen_mixture(self, classes: int) -> None:
        if not self.is_binary and classes > self.mixture.n_scores:
            self.mixture = self.mixture.with_classes(classes)

    def _new_handle(self, model: Any, vocabulary: Any, scales: Any) -> Any:
        configs = self.config.member_configs
        natives = [
            gaussian.native(new_tally(), **config.native)
            for gaussian, config in zip(model.gaussians, configs, strict=True)
        ]
        kinds, rules = [config.scale for config in configs], [config.native_rule for config in configs]
        intercept, state = self.config.intercept, self.mixture.state
        return CommitteeByOne(vocabulary, rules, natives, intercept, kinds, scales, state, self._tally)

    def _first_named_model(self) -> Any:
        learners = [self._member(number) for number in range(len(self.config.member_configs))]
        return Models(tuple(learner._first_named_model() for learner in learners))

    def _may_turn(self, model: Any) -> bool:
        learners = [self._member(number) for number in range(len(model.gaussians))]
        return any(map(Learner._may_turn, learners, model.gaussians))

    def _ends_of_parts(self, batch: LabeledBatch) -> list[int]:
        return sorted({end for member in self.members() for end in member._ends_of_parts(batch)})

    def _fitting(self, model: Any, names: int, classes: int) -> Any:
        return self._mapped(model, lambda learner, gaussian: learner._fitting(gaussian, names, classes))

    def _fitting_width(self, model: Any, width: int) -> Any:
        return self._mapped(model, lambda learner, gaussian: learner._fitting_width(gaussian, width))

    def _widened(self, model: Any, count: int, *, alone: bool = False) -> Any:
        return self._mapped(model, lambda learner, gaussian: learner._widened(gaussian, count, alone=alone))

    def _with_room(self, model: Any, classes: int) -> Any:
        self._widen_mixture(classes)
        return self._mapped(model, lambda learner, gaussian: learner._with_room(gaussian, classes))

    def _mapped(self, model: Models, change: Any) -> Models:
        learners = [self._member(number) for number in range(len(model.gaussians))]
        changed = tuple(map(change, learners, model.gaussians))
        return model if all(map(operator.is_, changed, model.gaussians)) else Models(changed)
