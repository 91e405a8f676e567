"""A kernel learner: a rule run over rows that are compared by a kernel. Labels are -1 and +1, or class numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Coordinates, Lock, learn_coordinates
from scwlearn._util.checks import check_int
from scwlearn._util.interrupts import interruptible, interrupts_held
from scwlearn._util.locks import changing, reading
from scwlearn._util.memory import check_memory_for_blas
from scwlearn._util.threads import allowed_threads, one_blas_thread
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Block, Rows, as_rows
from scwlearn.data.weights import nonzero_rows as nonzero_rows
from scwlearn.kernels.functions import Kernel, KernelFunction, as_dense, as_doubles, check_symmetric
from scwlearn.kernels.model import KernelModel, padded
from scwlearn.kernels.support import Examples
from scwlearn.learning.base import BaseLearner
from scwlearn.learning.batch import LabeledBatch
from scwlearn.learning.class_axis import Recorded
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.counters import Counts
from scwlearn.learning.settings import Argument, Face, arguments_for, fill_settings, signature
from scwlearn.model.covariance import Covariance
from scwlearn.model.full import AppendableFull
from scwlearn.model.identity import Identity
from scwlearn.rules import OwnRule, Rule

Array = NDArray[np.float64]

# Number of rows whose kernels are computed together: enough for matrix products, few compared with the support.
_ROWS_AT_ONCE = 128
# Each class reserves room in its span for all rows of a block, so with many classes a block has fewer rows.
_ROWS_OF_CLASSES = 2**15
# Blocks that are only scored may be larger: only memory grows with them.
_ROWS_SCORED_AT_ONCE = 1024

# Relative rounding error of the squared norm of an example.
_ROUNDING = 1e-15
_EXACT, _WITH_BUDGET = 1e-12, 0.01


@dataclass
class _KernelBatch:
    """Some rows to learn from, with the kernels of all pairs."""

    x: Any
    #: The original index of each row.
    numbers: NDArray[np.intp]
    labels: NDArray[Any]
    weights: Array | None
    #: Positions of these rows in learning order.
    part: slice
    kernels: Array

    def __len__(self) -> int:
        return len(self.numbers)


class KernelLearner(BaseLearner):
    """An online learner in the feature space of a kernel, on labels -1 and +1 or on class numbers.

    Without a budget the Gaussian over the weights is exact. It is stored in coordinates in the span of the support: the
    examples that updated it and are not combinations of others. Several classes share one support, so each row is
    compared with each example once. With a second-order rule, each class has the span of the examples that updated it
    or, with a budget, the span of the whole support.

    Parameters
    ----------
    rule : str, Rule or function
        As for `Learner`.
    n_classes : int, optional
        As for `Learner`.
    kernel_parameters : dict, optional
        Those of gamma, degree and coef0 that the kernel takes.
    {settings}
    **parameters : float
        The rule's parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.kernels import KernelLearner
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> xor = KernelLearner("scw1", kernel="rbf", kernel_parameters={"gamma": 1.0}, C=1.0)
    >>> xor.learn(x, [-1, -1, 1, 1])
    Counts(seen=4, mistakes=3, updates=4)
    >>> np.sign(xor.scores(x))
    array([-1., -1.,  1.,  1.])
    """

    model: KernelModel

    def __init__(
        self,
        rule: str | Rule | OwnRule = "scw1",
        *,
        n_classes: int | None = None,
        kernel: str | KernelFunction | Kernel = "rbf",
        kernel_parameters: Mapping[str, float] | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(kernel, Kernel):
            kernel = Kernel(kernel, dict(kernel_parameters or {}))
        elif kernel_parameters:
            raise TypeError("a Kernel has its own parameters; kernel_parameters is for names")
        self._configure(kernel_config(rule, {"kernel": kernel, **settings}), n_classes)

    def _configure(self, config: LearnerConfig, n_classes: int | None) -> None:
        super()._configure(config, n_classes)
        self.model = KernelModel.prior(
            self._covariance(), config.initial_variance, None if n_classes is None else self._classes, **self._form()
        )

    @reading
    def split(self) -> Self:
        """Return a multi-class learner equivalent to this binary one; see `Learner.split`."""
        self._check_binary("split")
        other = self.from_config(self.config, 2)
        other.model = self.model.split(**other._form())
        return other

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        kernel: Kernel = self.config.kernel
        return kernel

    @property
    def has_variances(self) -> bool:
        return not self.kernel.is_precomputed

    @property
    def support(self) -> Examples:
        """The examples in whose span the model lies."""
        return self.model.support

    @property
    def counts(self) -> Counts:
        return Counts(*self.model.tally.tolist())

    @property
    def n_features(self) -> int | None:
        """The number of features of a row, or of columns of the kernel matrix; None before the first."""
        return self.model.n_features

    @changing
    def add_classes(self, count: int) -> None:
        """Add classes, which start from the prior and take part at once.

        Parameters
        ----------
        count : int
            The number of classes to add.
        """
        self._check_classes("add_classes")
        with interrupts_held():
            self.model.add_classes(check_int("count", count, minimum=0))

    @reading
    def scores(self, x: Any) -> Array:
        """Compute the score mu.x of each row.

        Parameters
        ----------
        x : array-like, sparse matrix or Rows
            The rows; with a precomputed kernel, their kernels with all rows learned from.

        Returns
        -------
        array of shape (rows,), or with several classes (rows, classes)
            The scores.

        Raises
        ------
        ValueError
            For bad rows, and before the first row has been learned.
        """
        weights = self._score_weights()
        return self._concatenated(self._map_blocks(x, lambda block, kernels: kernels @ weights))

    @reading
    def margin_variances(self, x: Any) -> Array:
        """Compute x'Sigma x, the variance of the score, of each row.

        Parameters
        ----------
        x : array-like, sparse matrix or Rows
            The rows.

        Returns
        -------
        array of shape (rows,), or with several classes (rows, classes)
            The variances.

        Raises
        ------
        ValueError
            For bad rows, before the first row has been learned, and with a precomputed kernel, which lacks k(x, x).
        """
        return self._concatenated(self._map_blocks(x, self._variances))

    @reading
    def scores_and_variances(self, x: Any) -> tuple[Array, Array]:
        """Compute `scores` and `margin_variances` together, with the kernels computed once."""
        weights = self._score_weights()
        pairs = self._map_blocks(x, lambda block, kernels: (kernels @ weights, self._variances(block, kernels)))
        return self._concatenated([scores for scores, _ in pairs]), self._concatenated([v for _, v in pairs])

    @reading
    def dual_coefficients(self) -> Array:
        """Return the weights as combinations of the support examples.

        Returns
        -------
        array of shape (classes, examples)
            C, with mu of class c = sum over p of C[c, p] (support example p); a binary model has one row.
        """
        found = np.zeros((self.model.classes, self.support.count))
        for c in range(self.model.classes):
            span = self.model.span(c)
            own = span.coefficients(self.model.gaussian(c).weights()[0, : span.count])
            if self.is_binary:
                found[c] = own
            else:
                # With a tolerance below rounding an example may occur twice.
                np.add.at(found[c], span.examples, own)
        return found

    @reading
    def __copy__(self) -> Self:
        # A copy that shared its memory would learn for both.
        other = self._shallow_copy()
        other.model, other._lock = self.model.copy(), Lock()
        return other

    def new_batch(
        self,
        rows: Rows | NamedRows,
        labels: NDArray[Any],
        places: NDArray[np.intp] | None,
        weights: Array | None,
        sample_weights: Array | None = None,
    ) -> LabeledBatch:
        if weights is not None and not weights.all():
            # Skipped, not removed: rows are columns of a precomputed kernel.
            places = nonzero_rows(np.arange(len(rows)) if places is None else places, weights)
        return LabeledBatch(rows, labels, weights, places, None)

    def _covariance(self) -> Covariance:
        return Identity() if isinstance(self.rule, Rule) and self.rule.order == 1 else AppendableFull()

    def _form(self) -> dict[str, bool]:
        # Without a Sigma a class costs no more in a span of all examples; with a budget it may use all of them.
        one_span = isinstance(self._covariance(), Identity) or self.config.budget is not None
        return {"joint": self.config.multi_class == "joint", "one_span": one_span}

    def _known_classes(self) -> int:
        return self.model.classes

    def _check_rows(self, rows: Rows | NamedRows) -> None:
        if isinstance(rows, NamedRows):
            raise TypeError("a kernel learner takes rows of numbered features, not of named ones")
        rows.check()
        self._check_width(rows)
        if self.kernel.is_precomputed and rows.width != len(rows):
            raise ValueError(f"a precomputed kernel is a square matrix, got {len(rows)} x {rows.width}")

    def _check_width(self, rows: Rows) -> None:
        known = self.model.n_features
        if known is not None and rows.width != known:
            raise ValueError(f"X has {rows.width} features, but this learner has learned from {known}")

    def _learn_batch(self, batch: LabeledBatch, classes: int, record: Recorded | None) -> Counts:
        assert isinstance(batch.rows, Rows)
        if batch.all_skipped:
            return Counts()
        before, threads = self.counts, allowed_threads()
        most = _ROWS_AT_ONCE if self.model.one_span else _ROWS_OF_CLASSES // max(1, classes)
        at_once = max(16, min(_ROWS_AT_ONCE, most))
        # Kernels take long, and may be functions of the user.
        with self.model.all_or_nothing(), one_blas_thread(), interruptible():
            for block in batch.rows.blocks(at_once, batch.places):
                self._learn_some(self._kernel_batch(batch, batch.rows, block), record, threads)
            self.model.n_features = batch.rows.width
        return self.counts - before

    def _kernel_batch(self, batch: LabeledBatch, rows: Rows, block: Block) -> _KernelBatch:
        part = slice(block.start, block.start + block.count)
        chosen = np.arange(part.start, part.stop) if batch.places is None else batch.places[part]
        x = as_doubles(block)
        if self.kernel.is_precomputed:
            check_symmetric(as_dense(x), as_dense(rows.columns(chosen)).T)
        x = self.support.like(x)
        weights = None if batch.weights is None else batch.weights[chosen]
        return _KernelBatch(x, chosen, batch.labels[chosen], weights, part, self.kernel.with_each_other(x, chosen))

    def _learn_some(self, batch: _KernelBatch, record: Recorded | None, threads: int) -> None:
        model = self.model
        known = np.array([model.classes], dtype=np.int64)
        model.add_classes(self._axis.classes_after(batch.labels, model.classes) - model.classes)
        inside = model.coordinates(self.kernel.with_support(batch.x, self.support))
        rooms = self._rooms(len(batch))
        wanted = [min(span.count + len(batch), room) for span, room in zip(model.spans, rooms, strict=True)]
        model.make_room(wanted * model.classes if model.one_span else wanted)
        sizes, form = model.sizes, model.covariance
        spans = [
            self._coordinates(batch, found, size, room)
            for found, size, room in zip(inside, sizes[: len(inside)], rooms, strict=True)
        ]
        at_once = min(form.block(max(sizes), max(sizes), 1, model.joint), len(batch))
        rule, natives = self.config.native_rule, model.native(**self.config.native)
        # The work is that of all classes together; each thread takes one class at a time.
        threads = threads if form.uses_threads(int(math.hypot(*sizes))) else 1
        out: dict[str, Any] = {} if record is None else record.out(batch.part)
        handles = [native for _, native in spans]
        given = batch.labels, batch.weights, at_once, threads
        taken = learn_coordinates(rule, natives, known, model.joint, handles, *given, **out)
        self._extend(batch, [coordinates for coordinates, _ in spans], taken)

    def _rooms(self, rows: int) -> list[int]:
        """Return the most examples that each span may have after another `rows` rows."""
        if not self.model.one_span:
            return [span.count + rows for span in self.model.spans]
        # One more than allowed shows that there are too many.
        return [max(self.config.budget or self.config.max_support + 1, self.model.spans[0].count)]

    def _extend(self, batch: _KernelBatch, coordinates: list[Array], taken: list[list[int]]) -> None:
        """Add rows to the support of the spans that took them."""
        model = self.model
        rows = sorted(set().union(*taken))
        if not rows:
            return
        numbers: Any = batch.numbers if self.kernel.is_precomputed else batch.x
        if not self.is_binary:
            places = np.zeros(len(batch), dtype=np.intp)
            model.shared, places[rows] = model.shared.including(numbers[rows])
            numbers = places
        model.spans = [
            span.extended(numbers[some], own[some, : span.count + len(some)]) if some else span
            for span, own, some in zip(model.spans, coordinates, taken, strict=True)
        ]
        if self.config.budget is None and self.support.count > self.config.max_support:
            raise ValueError(
                f"the support has reached max_support={self.config.max_support} examples, after "
                f"{self.counts.seen} rows; allow more, or set a budget"
            )

    def _coordinates(self, batch: _KernelBatch, inside: Array, size: int, room: int) -> tuple[Array, Coordinates]:
        """Return the coordinates of a batch in a span with room for more examples: padded, and for the loops."""
        check_memory_for_blas()
        residuals = batch.kernels - inside @ inside.T
        norms = np.maximum(batch.kernels.diagonal(), 0.0)
        # Round residual norms up. If a norm were too small, the coordinates along its vector would be too large
        # forever; if it is too large, a later example makes up for the difference.
        left = residuals.diagonal() + _ROUNDING * norms
        tolerance = self._tolerance()
        rounding = min(tolerance, _EXACT) * norms
        left[left <= rounding] = 0.0
        known, coordinates = inside.shape[1], padded(inside, size)
        return coordinates, Coordinates(coordinates, residuals, left, rounding, tolerance * norms, known, room)

    def _tolerance(self) -> float:
        if self.config.tolerance is not None:
            return float(self.config.tolerance)
        return _EXACT if self.config.budget is None else _WITH_BUDGET

    def _score_weights(self) -> Array:
        dual = self.dual_coefficients()
        weights: Array = dual[0] if self.is_binary else dual.T
        return weights

    def _variances(self, block: Any, kernels: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._axis.squeeze(self.model.margin_variances(kernels, self.kernel.squared_norms(block)))

    def _concatenated(self, parts: list[Array]) -> Array:
        return np.concatenate([self._axis.empty_scores(0, self.model.classes), *parts])

    def _map_blocks(self, x: Any, function: Callable[[Any, Array], Any]) -> list[Any]:
        """Apply a function to each block of rows and its kernels with the support."""
        if self.model.n_features is None:
            raise ValueError("this learner has not learned from any row yet")
        rows = as_rows(x)
        self._check_width(rows)

        def mapped(block: Block) -> Any:
            kernels = self.kernel.with_support(block, self.support)
            check_memory_for_blas()
            return function(block, kernels)

        return [mapped(as_doubles(block)) for block in rows.blocks(_ROWS_SCORED_AT_ONCE)]


def kernel_config(rule: str | Rule | OwnRule, given: Mapping[str, Any], **faces: Face) -> LearnerConfig:
    """Return the configuration of a kernel learner; `given["kernel"]` is a `Kernel`, which gets the intercept."""
    config = LearnerConfig.create(rule, given, face=Face.KERNEL_LEARNER, **faces)
    kernel = replace(config.kernel, constant=config.intercept)
    return replace(config, settings=config.settings | {"kernel": kernel})


_ARGUMENTS = (
    Argument("n_classes", "int | None", None, "As for `Learner`."),
    Argument("kernel_parameters", "dict | None", None, "gamma, degree and coef0, as the kernel takes them."),
    *arguments_for(Face.KERNEL_LEARNER),
)
KernelLearner.__init__.__signature__ = signature(_ARGUMENTS, rule="scw1")  # type: ignore[attr-defined]
KernelLearner.__doc__ = fill_settings(KernelLearner.__doc__, _ARGUMENTS[2:])
