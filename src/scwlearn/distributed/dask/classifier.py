"""`DaskClassifier`: a local model, trained on Dask's collections."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any, Self

from distributed import Client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from scwlearn._util.threads import one_blas_thread
from scwlearn.distributed.dask import predictions
from scwlearn.distributed.dask.partitions import Partitions, check_suitable, column_names, rounds_of_tasks
from scwlearn.distributed.dask.runner import DaskRunner
from scwlearn.distributed.plan import ROUNDS, Plan, few_examples, warm_up_of
from scwlearn.distributed.tasks import Report, seen_by
from scwlearn.estimators.base import OnlineClassifier
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack, unpack
from scwlearn.learning.data_warnings import DataWarning
from scwlearn.learning.settings import Face
from scwlearn.stream import StreamClassifier


class DaskClassifier(BaseEstimator):  # type: ignore[misc]
    """A classifier that is trained on a Dask cluster.

    Workers learn from the partitions in parallel, from each in the order of its rows, and the models are merged some
    times on the way (docs/dask.md). The result depends on the partitions, not on the workers.

    Parameters
    ----------
    model : estimator or StreamClassifier
        The local model, without a kernel, such as ``SCW1()``. It is not changed.
    rounds : int, optional
        How many times the models of all partitions are merged. With more than 1, the partitions are kept in the memory
        of the cluster during training. 4 if not given.
    client : distributed.Client, optional
        The connection to the cluster; the current client if not given.

    Attributes
    ----------
    model_ : estimator or StreamClassifier
        What has been learned.
    classes_ : array
        The known labels, sorted.
    reports_ : list of Report
        What each task of the last call learned from: examples, mistakes, updates, seconds.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from scwlearn import SCW1
    >>> from scwlearn.datasets import make_synthetic
    >>> from scwlearn.distributed.dask import DaskClassifier
    >>> X, y = (da.from_array(each, chunks=500) for each in make_synthetic(2000))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
    ...     model = DaskClassifier(SCW1()).fit(X, y)
    >>> model.local().n_seen_
    2000
    """

    _part_to_save = "local()"

    def __init__(self, model: Any, rounds: int | None = None, client: Client | None = None) -> None:
        self.model = model
        self.rounds = rounds
        self.client = client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train a new model in one pass over the partitions.

        Parameters
        ----------
        X : Dask DataFrame, array or bag, or list of delayed parts
            The examples: numbers for an estimator, anything for a `StreamClassifier`. A delayed part is a tuple
            ``(X, y)`` or ``(X, y, sample_weight)``.
        y : Dask Series, array or bag, or a name
            Their labels, in the partitions of `X`; or the column of a data frame, or key of records, that has them.
        sample_weight : Dask Series, array or bag, or a name, optional
            The weight of each example.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For data or models of a wrong kind, and partitions that do not match. This classifier is then unchanged.
        UnreadablePart
            If the model cannot learn from a partition. A ValueError.
        SchedulerLost, WorkerDied
            If the cluster fails.
        """
        _check_model(self.model)
        learned, reports = self._learned(self._new_model(), X, y, sample_weight)
        if len(predictions.classes_of(learned)) < 2 and not isinstance(learned, StreamClassifier):
            found = predictions.classes_of(learned).tolist()
            raise ValueError(f"y holds {len(found)} class(es), {found}; a classifier needs two classes")
        return self._take(learned, reports, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue training: from what this classifier has learned, or else from what its model has; see `fit`."""
        _check_model(self.model)
        start = getattr(self, "model_", self.model)
        return self._take(*self._learned(start, X, y, sample_weight), y, sample_weight)

    def predict(self, X: Any) -> Any:
        """Predict the label of each example, lazily.

        Parameters
        ----------
        X : Dask DataFrame, array or bag, or list of delayed rows
            The examples. Columns that had the labels or weights in training are ignored.

        Returns
        -------
        Dask Series, array or bag, or list of delayed arrays
            The labels, in the partitions of `X`.
        """
        return predictions.predict(self._fitted(), X, self._names)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class, lazily.

        Parameters
        ----------
        X : Dask DataFrame, array or bag, or list of delayed rows
            The examples.

        Returns
        -------
        Dask DataFrame, array or bag, or list of delayed arrays
            The probabilities in the order of `classes_`; a data frame has a column, and a dict in a bag has a key, for
            each class.
        """
        return predictions.predict_proba(self._fitted(), X, self._names)

    def local(self) -> Any:
        """Return a copy of the model that was learned, which needs no cluster."""
        return copy(self._fitted())

    @property
    def classes_(self) -> NDArray[Any]:
        """The known labels, sorted."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no classes_ before fit or partial_fit")
        return predictions.classes_of(self.model_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied.
        return type(self)(clone(self.model, safe=False), self.rounds, self.client)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}

    def _fitted(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} has not learned yet; call fit or partial_fit first")
        return self.model_

    def _new_model(self) -> Any:
        """Return a copy of the model that has not learned."""
        if not isinstance(self.model, StreamClassifier):
            model = clone(self.model)
            if getattr(model, "n_epochs", 1) != 1:
                raise ValueError(
                    f"n_epochs is {model.n_epochs!r}, but fit makes one pass; call partial_fit for each further one"
                )
            return model
        if seen := self.model.counts.seen:
            raise ValueError(
                f"fit trains a new model, but this StreamClassifier has learned from {seen} examples; continue with "
                "partial_fit, or pass a new one"
            )
        return copy(self.model)

    def _learned(self, model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, list[Report]]:
        """Return a model that goes on from the given one, and the reports of the tasks."""
        check_suitable(X, [y, sample_weight], records=isinstance(model, StreamClassifier))
        partitions = Partitions.of(X, y, sample_weight)
        runner = DaskRunner(self.client)
        with one_blas_thread():
            packed = pack(SavedModel.from_model(model))
        rounds = ROUNDS if self.rounds is None else self.rounds
        plan = Plan(len(partitions.parts), rounds, warm_up=warm_up_of(seen_by(packed)))
        rows = partitions.jobs(runner.client, keep=plan.rounds > 1)
        reports: list[Report] = []
        try:
            for done in runner.run_rounds(packed, rounds_of_tasks(plan), lambda report: None, rows=rows):
                packed = done.model
                reports += done.reports
        finally:
            for job in rows:
                job.forget()
        if not any(report.seen for report in reports):
            raise ValueError(f"X has no examples: all {plan.parts} partitions are empty")
        for message in few_examples(sum(report.seen for report in reports), plan.parts):
            warnings.warn(message, DataWarning, stacklevel=3)
        return unpack(packed).to_model(), reports

    def _take(self, model: Any, reports: list[Report], *given: Any) -> Self:
        self.model_, self.reports_ = model, reports
        self._names = column_names(given)
        return self


def _check_model(model: Any) -> None:
    has_kernel = getattr(model, "_face", None) is Face.KERNEL_ESTIMATOR
    if has_kernel or not isinstance(model, OnlineClassifier | StreamClassifier):
        raise TypeError(
            "model must be an estimator of scwlearn without a kernel, such as SCW1(), or a StreamClassifier, got "
            f"{model!r}"
        )
