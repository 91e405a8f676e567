"""A learner: runs a rule with a model over rows, whose labels are -1 and +1, or class numbers."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Lock
from scwlearn._util.checks import check_int
from scwlearn._util.interrupts import interrupts_held
from scwlearn._util.locks import changing, reading
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.rows import Rows, as_rows
from scwlearn.learning.batch import map_blocks, with_constant
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import Counts, new_tally
from scwlearn.learning.in_blocks import InBlocks
from scwlearn.learning.one_at_a_time import NO_HANDLES
from scwlearn.learning.placing import placed_rows
from scwlearn.learning.settings import Argument, Face, arguments_for, fill_settings, signature
from scwlearn.model.covariances import covariance
from scwlearn.model.scale import RunningScale
from scwlearn.rules import OwnRule, Rule

Array = NDArray[np.float64]

# Rows that are scored in one native call: few enough that Ctrl-C is answered at once.
_ROWS_AT_ONCE = 2**14


class Learner(InBlocks):
    """An online learner on labels -1 and +1, or on class numbers.

    Learns from matrices with one example per row, from vectors, or from dicts of named features.

    With `n_classes` it is a multi-class learner. A label that equals the number of known classes adds a class,
    which starts from the prior; its first row counts as a mistake. A joint step solves the rule's problem in the space
    of all weights, with x in the block of its class and -x in that of the rival. With a shared Sigma the two rows of
    weights are independent and share it, and the divergence of Sigma counts once for each of them.

    Parameters
    ----------
    rule : str, Rule or function
        Name of an algorithm, its declaration, or a function (margin, variance) -> (alpha, beta) of your own, which is
        called for each example.
    n_classes : int, optional
        Number of classes that take part from the start; labels are then class numbers from 0. None for labels -1, +1.
    {settings}
    **parameters : float
        The rule's parameters.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> learner = Learner("scw1", C=1.0, eta=0.9)
    >>> learner.learn([[1.0, 0.5], [-1.0, 0.3]], [1, -1])
    Counts(seen=2, mistakes=0, updates=2)

    Three classes, which appear one after the other:

    >>> learner = Learner("scw1", n_classes=0, covariance="diagonal")
    >>> x = [[1.0, 0.0, 0.1], [0.0, 1.0, 0.1], [0.1, 0.0, 1.0]]
    >>> learner.learn(x, [0, 1, 2])
    Counts(seen=3, mistakes=3, updates=2)
    >>> learner.learn(x, [0, 1, 2])
    Counts(seen=3, mistakes=1, updates=3)
    >>> learner.scores(x).argmax(axis=1)
    array([0, 1, 2])
    """

    def __init__(self, rule: str | Rule | OwnRule = "scw1", *, n_classes: int | None = None, **settings: Any) -> None:
        self._configure(LearnerConfig.create(rule, settings), n_classes)

    def _configure(self, config: LearnerConfig, n_classes: int | None) -> None:
        super()._configure(config, n_classes)
        self.running_scale = None if config.scale == "none" else RunningScale(config.scale)
        self.model = None
        self.vocabulary = None
        self._tally = new_tally()

    @reading
    def split(self) -> Self:
        """Return a multi-class learner equivalent to this binary one: class 0 is label -1, class 1 is label +1.

        Trained jointly: weights -mu/2 and +mu/2, each with its Sigma; one versus rest: -mu and +mu. Counts are kept.
        """
        self._check_binary("split")
        other = self.from_config(self.config, 2)
        other._tally = self._tally.copy()
        other.vocabulary, other.running_scale = copy(self.vocabulary), copy(self.running_scale)
        if self.model is not None:
            form = covariance(self.model.covariance.name, shared=self.config.shared_covariance)
            with other._axis.reserve(form, self.model.size, 2, averaged=self.config.averages):
                other.model = self.model.split(form, joint=self.config.multi_class == "joint")
        return other

    @changing
    def learn_batches(self, batches: Iterable[Batch]) -> Counts:
        """Learn from batches of sparse rows with labels -1 (or 0) and +1, as `read_libsvm` yields them.

        The model grows with the widest batch. After an error, what was learned from earlier batches is kept.

        Examples
        --------
        >>> import io
        >>> from scwlearn import Learner
        >>> from scwlearn.data.formats.libsvm import read_libsvm
        >>> file = io.BytesIO(b"1 1:0.5 3:2\\n0 2:1\\n")
        >>> Learner("scw1").learn_batches(read_libsvm(file))
        Counts(seen=2, mistakes=1, updates=2)
        """
        before = self.counts
        for batch in batches:
            if not isinstance(batch.x, Rows):
                raise TypeError("learn_batches needs numbered features; learn_many takes dicts")
            rows, signs = batch.x, np.asarray(batch.labels)
            signs = self._axis.check_labels(np.where(signs == 0, -1, signs), len(rows))
            with interrupts_held():
                known, narrow = self.n_features, dict(self.__dict__)
                try:
                    if known is not None and rows.width > known:
                        self.widen(rows.width)
                    self.learn(rows if known is None else rows.widened(max(known, rows.width)), signs)
                except BaseException:
                    self._replace(narrow | NO_HANDLES)
                    raise
        return self.counts - before

    @changing
    def add_classes(self, count: int) -> None:
        """Add classes, which start from the prior and take part at once."""
        self._check_classes("add_classes")
        count = check_int("count", count, minimum=0)
        if self.model is None:
            self._classes += count
            return
        classes = self._known_classes() + count
        model = self._fitting(self.model, 0 if self.vocabulary is None else len(self.vocabulary), classes)
        model = self._with_room(model, classes).writable()
        with interrupts_held():
            model.add_classes(count)
            self.model = model

    def scores(self, x: Any) -> Array:
        """Compute the score mu.x of each row: (rows,), or with several classes (rows, classes)."""
        view = self._frozen_view(x)
        return view._axis.scores(view._fitted(), view._scaled_rows(x), view.config.intercept)

    def margin_variances(self, x: Any) -> Array:
        """Compute x'Sigma x, the uncertainty of the score, of each row, and with several classes of each class."""
        view = self._frozen_view(x)
        return view._variances(view._scaled_rows(x))

    def scores_and_variances(self, x: Any) -> tuple[Array, Array]:
        """Compute `scores` and `margin_variances` together, scaling the rows once."""
        view = self._frozen_view(x)
        rows = view._scaled_rows(x)
        return view._axis.scores(view._fitted(), rows, view.config.intercept), view._variances(rows)

    def scores_and_top_variances(self, x: Any) -> tuple[Array, Array]:
        """Compute scores, and of each row the variance of the largest; of named rows bit for bit as of dicts."""
        named = isinstance(x, NamedRows)
        view = self._frozen_view(x)
        if view._fitted().covariance.correlated and not (named or self._by_name):
            # Matrix products are faster than a loop over rows.
            return super().scores_and_top_variances(x)
        rows = view._scaled_rows(x)
        rows.check()
        one = view._handle(named=named)
        scores, variances = self._axis.empty_scores(len(rows), one.scores), np.empty(len(rows))
        for block in rows.blocks(_ROWS_AT_ONCE):
            part = slice(block.start, block.start + block.count)
            arrays = block.values, block.indices, block.offsets, block.width
            one.look_rows(*arrays, scores[part], variances[part])
        return scores, variances

    @reading
    def shown_weights(self) -> Array:
        """Return the weights that predictions use, the intercept last: (classes, size), or (1, size) if binary."""
        return self._fitted().shown_weights()

    @changing
    def widen(self, n_features: int, *, alone: bool = False) -> None:
        """Append features that have not been seen yet.

        Parameters
        ----------
        n_features : int
            The number of features afterwards.
        alone : bool
            Whether nothing else uses this model. Then a large one with an intercept may grow where it is, too.
        """
        self._check_kind(named=False)
        model = self._fitted()
        known = model.size - self.config.intercept
        n_features = check_int("n_features", n_features, minimum=known)
        scale = self.running_scale
        if scale is not None:
            scale = scale.arranged(np.arange(known), n_features)
        with interrupts_held():
            # The model first: one that grows where it is may be the only one that is valid.
            self.model = self._widened(self._fitting_width(model, n_features), n_features - known, alone=alone)
            self.running_scale = scale

    @reading
    def __copy__(self) -> Self:
        # A copy that shared its memory would learn for both.
        other = self._shallow_copy()
        other.model = None if self.model is None else self.model.copy()
        other.vocabulary, other.running_scale = copy(self.vocabulary), copy(self.running_scale)
        other._tally, other._lock = self._tally.copy(), Lock()
        return other

    def _plain_state(self) -> dict[str, Any]:
        # Handles point into the memory of this process.
        return super()._plain_state() | NO_HANDLES

    def _frozen_view(self, x: Any) -> Self:
        """Return a view that a concurrent `learn` cannot resize."""
        return self._shallow_copy() if isinstance(x, NamedRows) else self

    def _rows(self, x: Any) -> Rows:
        if isinstance(x, NamedRows):
            model, vocabulary, _ = self.state()
            if vocabulary is None:
                raise ValueError("this learner has learned from features without names; continue with such examples")
            return placed_rows(vocabulary, x, model.size - self.config.intercept)
        rows = as_rows(x, check=False)
        self._check_rows(rows)
        return rows

    def _check_rows(self, rows: Rows | NamedRows) -> None:
        if isinstance(rows, NamedRows):
            if self.config.drops_features:
                raise ValueError("overflow='drop' needs dicts; use learn_many")
            return
        self._check_kind(named=False)
        if self.model is not None and rows.width != self.n_features:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {self.n_features}")

    def _scaled_rows(self, x: Any) -> Rows:
        """Return rows as the model sees them."""
        self._fitted()
        rows = self._rows(x)
        return rows if self.running_scale is None else self.running_scale.apply(rows)

    def _variances(self, rows: Rows) -> Array:
        model, intercept = self._fitted(), self.config.intercept
        per_row = rows.width if model.covariance.correlated else rows.stored // max(1, len(rows))
        # Dense, so that sparse rows give the same bits.
        dense = model.covariance.correlated
        parts = map_blocks(
            rows, per_row, lambda block: model.margin_variances(with_constant(block, intercept, dense=dense))
        )
        # Another thread may add a class between two blocks.
        classes = min((part.shape[1] for part in parts), default=model.classes)
        joined = np.concatenate([part[:, :classes] for part in parts]) if parts else np.empty((0, classes))
        return self._axis.squeeze(joined)


_ARGUMENTS = (
    Argument("n_classes", "int | None", None, "Number of classes that take part from the start; see above."),
    *arguments_for(Face.LEARNER),
)
Learner.__init__.__signature__ = signature(_ARGUMENTS, rule="scw1")  # type: ignore[attr-defined]
Learner.__doc__ = fill_settings(Learner.__doc__, _ARGUMENTS[1:])
