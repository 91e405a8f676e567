"""Lazy predictions for Dask's collections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scwlearn.distributed.dask.partitions import are_delayed, split, whole_rows, without
from scwlearn.stream import StreamClassifier


def predict(model: Any, x: Any, left_out: Sequence[Any] = ()) -> Any:
    """Return the labels of a collection, as a collection of the same kind: a Series for a data frame.

    Parameters
    ----------
    model : estimator or StreamClassifier
        A local model that has learned.
    x : Dask DataFrame, array or bag, or list of delayed rows
        The examples.
    left_out : sequence
        Names of columns that are no features.
    """
    return _mapped(_labels, model, x, left_out)


def predict_proba(model: Any, x: Any, left_out: Sequence[Any] = ()) -> Any:
    """Return the probability of each class, in the order of the classes; see `predict`."""
    return _mapped(_probabilities, model, x, left_out)


def classes_of(model: Any) -> NDArray[Any]:
    """Return the labels that a model knows, sorted."""
    return model._classifier.classes.in_order if isinstance(model, StreamClassifier) else model.classes_


def _mapped(function: Callable[..., Any], model: Any, x: Any, left_out: Sequence[Any]) -> Any:
    # One node of the graph, which all partitions use.
    shared = dask.delayed(model, name=f"scwlearn-model-{dask.base.tokenize(model)}", traverse=False)
    if isinstance(x, dd.DataFrame):
        meta = _frame(x._meta, function, model, left_out)
        return x.map_partitions(_frame, function, shared, left_out, meta=meta)
    if isinstance(x, da.Array):
        meta = function(model, np.empty((0, 0)))
        whole = whole_rows(x)
        axes = {"drop_axis": 1} if meta.ndim == 1 else {"chunks": (whole.chunks[0], (meta.shape[1],))}
        return whole.map_blocks(_block, function, shared, dtype=meta.dtype, meta=meta, **axes)
    if isinstance(x, db.Bag):
        return x.map_partitions(_records, function, shared, left_out)
    if are_delayed(x):
        return [dask.delayed(function)(shared, part) for part in x]
    split(x, "X")
    return None


def _labels(model: Any, x: Any) -> NDArray[Any]:
    classes = classes_of(model)
    if not _length(x):
        return classes[:0]
    if not isinstance(model, StreamClassifier):
        labels: NDArray[Any] = model.predict(x)
        return labels
    return np.array(model.predict_many(x), dtype=classes.dtype)


def _probabilities(model: Any, x: Any) -> NDArray[Any]:
    if not _length(x):
        return np.empty((0, len(classes_of(model))))
    stream = isinstance(model, StreamClassifier)
    probabilities: NDArray[Any] = (model.predict_proba_many if stream else model.predict_proba)(x)
    return probabilities


def _length(x: Any) -> int:
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def _block(x: Any, function: Callable[..., Any], model: Any) -> Any:
    return function(model, x)


def _frame(x: pd.DataFrame, function: Callable[..., Any], model: Any, left_out: Sequence[Any]) -> Any:
    """Return predictions with the index of the frame."""
    found = function(model, without(x, left_out))
    if found.ndim == 1:
        return pd.Series(found, index=x.index, name="prediction")
    return pd.DataFrame(found, index=x.index, columns=classes_of(model))


def _records(records: Any, function: Callable[..., Any], model: Any, left_out: Sequence[Any]) -> list[Any]:
    """Return a label, or a dict of probabilities, for each record."""
    found = function(model, without(list(records), left_out))
    if found.ndim == 1:
        return list(found.tolist())
    labels = classes_of(model).tolist()
    return [dict(zip(labels, row, strict=True)) for row in found.tolist()]
