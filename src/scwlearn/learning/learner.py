"""A learner: a rule run with a covariance over rows. Labels are -1 and +1 from here inward."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn._native import OneByOne, Vocabulary, learn_rows, score_rows, work_entries
from scwlearn._util.memory import ensure_memory
from scwlearn._util.threads import allowed_threads
from scwlearn.data.labels import check_signs
from scwlearn.data.rows import Rows
from scwlearn.learning.blocks import (
    Batch,
    BatchBlock,
    Costs,
    auto_covariance,
    go_through,
    occurrences,
    once_in_order,
)
from scwlearn.learning.counters import Counts, Trace
from scwlearn.learning.linear import LinearLearner
from scwlearn.model import COVARIANCES, Covariance, Gaussian
from scwlearn.rules.native import is_spelled, native_rule

Array = NDArray[np.float64]

# Few enough that Ctrl-C is answered at once.
_ROWS_SCORED_AT_ONCE = 2**18


class Learner(LinearLearner[Gaussian, float]):
    """An algorithm at work, on labels -1 and +1.

    Learns from matrices with one example a row, from vectors, or from dicts of named features.

    Parameters
    ----------
    rule : str, Rule or function
        The name of an algorithm, its declaration, or a function (margin, variance) -> (alpha, beta) of
        your own, which is called for each example.
    covariance : {"auto", "full", "diagonal", "diagonal-drop", "identity"}
        How Sigma is kept. "auto" is "identity" for first-order rules, "full" for second-order ones with up
        to AUTO_FULL_LIMIT features, else the diagonal that suits the rule.
    intercept : bool
        Whether to append a constant feature 1.
    initial_variance : float
        The prior is N(0, initial_variance I).
    variance_floor : float
        The part of initial_variance below which no variance falls, from 0 on and below 1: more than 0 for streams
        that change (docs/drift.md).
    scale : bool
        Whether to divide each feature by a running scale (docs/scaling.md).
    max_features : int or None
        How many named features there may be, for learning from dicts; None for any number.
    overflow : {"drop", "hash"}
        What becomes of names for which that leaves no room. "drop" makes room: the features of the largest variance
        (of equal ones the smallest weight, then the oldest) go back to the prior and are forgotten. "hash" keeps
        exactly max_features weights and hashes all names into them, with a sign, as scikit-learn's FeatureHasher does;
        names of the same weight share it.
    **parameters : float
        The rule's own.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> learner = Learner("scw1", C=1.0, eta=0.9)
    >>> learner.learn([[1.0, 0.5], [-1.0, 0.3]], [1, -1])
    Counts(seen=2, mistakes=0, updates=2)
    """

    @property
    def gaussian(self) -> Gaussian | None:
        """The weights and how sure they are; None before the first example."""
        return self.model

    @gaussian.setter
    def gaussian(self, gaussian: Gaussian | None) -> None:
        self.model = gaussian

    def learn(
        self, x: Any, y: ArrayLike, *, order: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> Counts:
        """Learn from each row in turn, in their order or the one given; what happened on the way.

        What the weight of an example means its rule says (docs/weights.md); a row of weight 0 is left out.
        All or nothing: after an error everything is as it was. (Ctrl-C in a batch of a few rows may come after them.)
        """
        with self._rows_to_learn(x, weights) as rows:
            return self._learn(rows, y, order, weights, None)

    def trace(self, x: Any, y: ArrayLike, *, order: ArrayLike | None = None, weights: ArrayLike | None = None) -> Trace:
        """Learn as `learn` does; what each round looked like."""
        with self._rows_to_learn(x, weights) as rows:
            lines = np.zeros((len(rows), len(Trace._fields)))
            rounds = self._learn(rows, y, order, weights, lines).seen
        return Trace(*lines[:rounds].T)

    def learn_batches(self, batches: Iterable[tuple[Rows, ArrayLike]]) -> Counts:
        """Learn from one batch of sparse rows after the other, as `read_libsvm` gives them; what happened on the way.

        Labels are -1 (or 0) and +1. The model grows with the widest batch. An error keeps what the batches before it
        taught.

        Examples
        --------
        >>> import io
        >>> from scwlearn import Learner
        >>> from scwlearn.data.libsvm import read_libsvm
        >>> file = io.BytesIO(b"1 1:0.5 3:2\\n0 2:1\\n")
        >>> Learner("scw1").learn_batches(read_libsvm(file))
        Counts(seen=2, mistakes=1, updates=2)
        """
        before = self.counts
        for rows, labels in batches:
            signs = np.asarray(labels)
            signs = np.where(signs == 0, -1, signs)
            known = self.n_features
            if known is not None and rows.width > known:
                check_signs(signs, len(rows))
                self.widen(rows.width)
            self.learn(rows if known is None else rows.widened(max(known, rows.width)), signs)
        return self.counts - before

    def _learn(
        self, rows: Rows, y: ArrayLike, order: ArrayLike | None, weights: ArrayLike | None, lines: Array | None
    ) -> Counts:
        batch = Batch.of(rows, check_signs(y, len(rows)), order, weights)
        if len(rows) and not len(batch.rows):
            return Counts()
        before = self.counts
        with self._scaled(batch) as seen:
            once_in_order(seen.rows, self.rule, lambda: self._learn_batch(seen, lines))
        return self.counts - before

    def _learn_batch(self, batch: Batch, lines: Array | None) -> None:
        gaussian = self._prior_for(batch.rows) if self.gaussian is None else self.gaussian.writable()
        tally = self._tally if self._tally.flags.writeable else self._tally.copy()
        covariance, size = gaussian.covariance, gaussian.size
        at_once = min(covariance.block(size, batch.stored), len(batch.rows) or 1)
        rule, model = native_rule(self.rule, self.parameters), gaussian.native(tally, self.variance_floor)
        threads = allowed_threads() if covariance.shares_work(size) else 1
        work = np.empty(work_entries(covariance.name, size, at_once))

        def take() -> None:
            self.gaussian, self._tally = gaussian, tally

        def learn(some: BatchBlock) -> None:
            learn_rows(
                rule,
                model,
                some.block.values,
                some.block.indices,
                some.block.offsets,
                some.block.width,
                self.intercept,
                some.labels,
                some.weights,
                work,
                None if lines is None else lines[some.part],
                at_once,
                threads,
            )

        go_through(
            batch,
            gaussian,
            tally,
            Costs(covariance.work(size, batch.stored), at_once, covariance.entries(size)),
            spelled=is_spelled(self.rule),
            begun=self.gaussian is not None,
            own=gaussian is self.gaussian,
            take=take,
            learn=learn,
        )

    def _scores(self, rows: Rows) -> Array:
        gaussian = self._fitted()
        covariance, memory = gaussian.covariance.name, gaussian.memory
        if rows.stored > gaussian.size:
            # Without the variances between them the weights fill half as much of the cache.
            covariance, memory = "identity", np.ascontiguousarray(gaussian.mean)
        model = covariance, memory, gaussian.scalars
        scores = np.empty(len(rows))
        # Nothing is looked at before: a value that is not finite and an index that is none show in the score, and in
        # which order a row has its features does not matter.
        for block in rows.blocks(_ROWS_SCORED_AT_ONCE, check=False):
            part = scores[block.start : block.start + block.count]
            finite = score_rows(*model, block.values, block.indices, block.offsets, block.width, self.intercept, part)
            if not finite:
                rows.check()
        return scores

    def _joined(self, parts: list[Array]) -> Array:
        return np.concatenate(parts) if parts else np.empty(0)

    def _prior(self, width: int, *, named: bool = False) -> Gaussian:
        covariance = COVARIANCES[self._covariance_for(width, named)]
        size = width + self.intercept
        with _memory_for(covariance, size):
            return Gaussian.prior(covariance, size, self.initial_variance)

    def _widened(self, gaussian: Gaussian, count: int) -> Gaussian:
        with _memory_for(gaussian.covariance, gaussian.size + count):
            return gaussian.widened(gaussian.size - self.intercept, count)

    def _learn_first(self, vector: Array, y: float, w: float) -> float:
        # Checked as a batch is.
        self.learn(vector[np.newaxis], [y], weights=[w])
        return 0.0

    def _with_class(self, model: Gaussian, y: float) -> Gaussian:
        return model

    def _single(self, model: Gaussian, vocabulary: Vocabulary | None, scales: Array | None) -> OneByOne:
        rule = native_rule(self.rule, self.parameters)
        return OneByOne(rule, model.native(self._tally, self.variance_floor), self.intercept, vocabulary, scales)

    def _empty_scores(self, count: int, scores: int) -> Array:
        return np.empty(count)

    def _checked_labels(self, y: ArrayLike, count: int, weights: Array | None) -> tuple[NDArray[Any], Array]:
        return check_signs(y, count), np.empty(count)

    def _prior_for(self, rows: Rows) -> Gaussian:
        gaussian = self._prior(rows.width)
        if gaussian.covariance.name == "full":
            gaussian.covariance.arrange(gaussian.memory, occurrences(rows, self.intercept))
        return gaussian

    def _covariance_for(self, width: int, named: bool) -> str:
        return auto_covariance(self.rule, width, named=named) if self.covariance == "auto" else self.covariance


def _memory_for(covariance: Covariance, size: int) -> AbstractContextManager[None]:
    return ensure_memory(
        # While it learns there may be a copy, to go back to.
        2 * 8 * covariance.entries(size),
        what=f"covariance={covariance.name!r} with {size} weights",
        instead=(
            'covariance="diagonal" needs only two numbers a feature'
            if covariance.name == "full"
            else 'features with names can be hashed into fewer weights: overflow="hash"'
        ),
    )
