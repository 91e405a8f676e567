"""Batches: rows in the columns of the model, scaled, and learned block by block, all of them or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.interrupts import check_interrupts, interruptible
from scwlearn._util.memory import give_back_memory, memory_held
from scwlearn._util.threads import allowed_threads
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows, UnsortedError
from scwlearn.learning.batch import WORK_FOR_THREADS, WORK_OF_A_BLOCK, LabeledBatch
from scwlearn.learning.class_axis import Recorded
from scwlearn.learning.counters import Counts
from scwlearn.learning.follower import ROWS_OF_A_PART
from scwlearn.learning.one_at_a_time import OneAtATime
from scwlearn.learning.placing import Placement
from scwlearn.model.gaussian import Gaussian

Array = NDArray[np.float64]


class InBlocks(OneAtATime):
    """Learning of batches of any size, which Ctrl-C may interrupt between two blocks of rows."""

    def _learn_batch(self, batch: LabeledBatch, classes: int, record: Recorded | None) -> Counts:
        if batch.all_skipped:
            return Counts()
        before = self.counts
        if isinstance(batch.rows, Rows):
            self._learn_scaled(batch, batch.rows, classes, record)
        else:
            self._learn_named(batch, record)
        return self.counts - before

    def _learn_named(self, batch: LabeledBatch, record: Recorded | None) -> None:
        """Learn from named rows, in several parts if the model must change between two of them."""
        ends = self._ends_of_parts(batch)
        before = None if len(ends) == 1 else copy(self)
        try:
            for start, end in pairwise([0, *ends]):
                if before is not None:
                    check_interrupts()
                chosen = slice(start, end)
                part = batch if before is None else batch.part(chosen)
                assert isinstance(part.rows, NamedRows)
                classes = self._classes_after(part)
                with self._in_columns(part.rows, part.places, classes) as rows:
                    self._learn_scaled(part, rows, classes, record and record.part(chosen))
        except BaseException:
            give_back_memory()
            if before is not None:
                self._return_to(before)
            raise

    @contextmanager
    def _in_columns(self, x: NamedRows, order: NDArray[np.intp] | None, classes: int) -> Iterator[Rows]:
        """Yield named rows, which will be learned from in that order, in the columns of a model for these classes.

        New names are known once these rows have been learned from.
        """
        self._check_kind(named=True)
        seen = self.counts.seen
        with self._rollback():
            one = self._start_named() if self.model is None else self._handle(named=True)
            vocabulary, width = one.vocabulary, self._fitted().size - self.config.intercept
            placement = Placement(vocabulary, x, order)
            check_interrupts()
            model = self._fitting(self._fitted(), max(len(vocabulary), placement.width), classes)
            room = width if placement.width <= width else self._room_for(model, placement.width)
            if room > width or model is not self.model:
                scale = self.running_scale
                wider = scale if scale is None or room == width else scale.arranged(np.arange(width), room)
                self._replace_model(self._widened(model, room - width), vocabulary, wider)
            with memory_held(placement.memory):
                try:
                    yield placement.rows(room)
                finally:
                    give_back_memory()
                    if self.counts.seen > seen:
                        placement.keep_names()

    def _learn_scaled(self, batch: LabeledBatch, rows: Rows, classes: int, record: Recorded | None) -> None:
        """Learn from the rows as the model sees them; restore the scale if they cannot be learned from."""
        scale = self.running_scale
        if scale is None:
            try:
                with memory_held():
                    self._learn_rows(batch, rows, classes, record)
            except UnsortedError:
                # Sort the features of each row and start again.
                rows.check()
                with memory_held():
                    self._learn_rows(batch, rows, classes, record)
            return
        rows.check()
        if batch.places is not None:
            # There may be more places than rows: an order may repeat rows, and rows of weight 0 are left out.
            rows, batch = rows.take(batch.places), batch.sorted()
        # A compiled rule cannot fail on a single block of checked rows once the model has its memory, so for few rows
        # there is no need to copy the scale.
        model = self.model if self.config.compiled and classes <= self._known_classes() else None
        safe = model is not None and 8 * rows.stored < rows.width
        safe = safe and model is not None and len(rows) <= self._rows_of_a_block(model, rows, classes)
        before = scale if safe else scale.copy()
        with memory_held():
            try:
                scaled = scale.learn(rows)
                if safe:
                    give_back_memory()
                else:
                    check_interrupts()
                self._learn_rows(batch, scaled, classes, record)
            except BaseException:
                give_back_memory()
                scale.restore(before)
                raise

    def _learn_rows(self, batch: LabeledBatch, rows: Rows, classes: int, record: Recorded | None) -> None:
        """Learn block by block; after an error the model and the counts are as they were."""
        model = self._model_for(rows, classes)
        tally = self._tally if self._tally.flags.writeable else self._tally.copy()
        work = self._work_of_a_row(model, rows, classes)
        block_rows = self._rows_of_a_block(model, rows, classes)
        at_once = 1 if batch.in_turn else self._rows_together(model, rows)
        # A compiled rule cannot fail on a single short block of checked rows, and copying the model for a rollback
        # would take longer than learning.
        safe = self.model is not None and self.config.compiled and batch.rounds <= block_rows
        safe = safe and batch.rounds * work < 8 * model.memory.size
        divides = self.config.compiled and not model.joint
        jobs = batch.jobs if divides and batch.rounds * work > WORK_FOR_THREADS else 1
        if safe or at_once > 1 or jobs > 1 or self.config.compiled is None:
            # Check all rows first: blocks of rows that are learned together must be full, threads should start only
            # once, and a user's function must never be called twice for a row.
            rows.check()
        if safe:
            # There is only one call of the loop, which a lack of memory cannot interrupt.
            give_back_memory()
            self.model, self._tally = model, tally
        rule, native = self.config.native_rule, model.native(tally, **self.config.native)
        # Loops over single rows check each row before they learn from it.
        by_row = self.is_binary and not model.covariance.correlated
        how: dict[str, Any] = {"at_once": at_once, "threads": self._threads_for(model), "jobs": jobs}
        how["checked"] = rows.is_checked or not by_row
        # Threads that divide the classes are started for each block.
        parts = None if safe or model.covariance.correlated or jobs > 1 else record
        if parts is not None and parts.follow is not None:
            block_rows = min(block_rows, ROWS_OF_A_PART)
        blocks = (rows.blocks_in_place if by_row else rows.blocks)(block_rows, batch.places)
        before = None if safe or model is not self.model else model.copy()
        counts = None if safe else tally.copy()
        # A user's function may take long.
        called = nullcontext if self.config.compiled else interruptible
        try:
            for block in blocks:
                if not safe:
                    check_interrupts()
                chosen = batch.chosen(block)
                weights = None if batch.weights is None else batch.weights[chosen]
                inputs = block, batch.labels[chosen], weights, self.config, record
                with called():
                    is_learned = self._axis.learn(rule, native, *inputs, **how)
                if not is_learned:
                    rows.check()
                    raise UnsortedError("X has rows with unsorted indices, or changed while it was learned from")
                if parts is not None:
                    parts.finish(slice(block.start, block.start + block.count))
            self.model, self._tally = model, tally
        except BaseException:
            give_back_memory()
            if before is not None:
                model.restore(before)
            if counts is not None:
                np.copyto(tally, counts)
            raise

    def _model_for(self, rows: Rows, classes: int, memory: Array | None = None) -> Gaussian:
        """Return the model, or a new one (in this memory, if given), writable and with room for the classes."""
        model = self._first_model(rows, classes, memory) if self.model is None else self.model.writable()
        return self._with_room(model, classes)

    def _rows_of_a_block(self, model: Gaussian, rows: Rows, classes: int) -> int:
        return max(1, int(WORK_OF_A_BLOCK / self._work_of_a_row(model, rows, classes)))

    def _work_of_a_row(self, model: Gaussian, rows: Rows, classes: int) -> float:
        """Return about how many multiplications it takes to learn from a row."""
        stored = rows.stored / max(1, len(rows))
        return model.covariance.work(model.size, stored, model.lanes, classes, model.joint)

    def _rows_together(self, model: Gaussian, rows: Rows) -> int:
        """Return how many rows the loop of a full covariance learns from together."""
        if self._may_turn(model):
            # The last bits of a full covariance depend on the blocks, and must be those of single examples.
            return 1
        stored = rows.stored / max(1, len(rows))
        return min(model.covariance.block(model.size, stored, model.lanes, model.joint), len(rows) or 1)

    @staticmethod
    def _threads_for(model: Gaussian) -> int:
        return allowed_threads() if model.covariance.uses_threads(model.size) else 1
