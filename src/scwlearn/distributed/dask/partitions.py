"""Dask's collections as parts of a plan: rows, labels and weights of each partition."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed
from dask.optimization import cull
from distributed import Client, Future
from pandas.api.types import is_numeric_dtype

from scwlearn import __version__
from scwlearn.distributed.dask.jobs import Job, Lazy, submit
from scwlearn.distributed.errors import UnreadablePart
from scwlearn.distributed.plan import Plan
from scwlearn.distributed.tasks import Learned, Place, learn_rows

_KINDS = "a Dask DataFrame, array or bag, or a list of delayed parts"


@dataclass(frozen=True)
class PartitionTask:
    """A task that learns from some rows of a partition."""

    place: Place
    plan: Plan
    version: str = __version__

    @property
    def size(self) -> int:
        """1: the size is not known until the partition is computed."""
        return 1

    def __call__(self, start: bytes, rows: tuple[Any, Any, Any] = (None, (), None)) -> Learned:
        """Go on from a packed model with the rows, labels and weights of the partition."""
        _, labels, _ = rows
        own = self.plan.rows(self.place.part, self.place.round, len(labels))
        x, y, weights = (_slice(each, own.start, own.stop) for each in rows)
        data = f"rows [{own.start}:{own.stop}] of the partition"
        return learn_rows(start, x, y, weights, place=self.place, data=data, version=self.version)


def rounds_of_tasks(plan: Plan) -> list[list[PartitionTask]]:
    """Return the tasks of each round of a plan whose parts are partitions."""
    return [
        [PartitionTask(Place(1, number, part), plan) for part in range(1, plan.parts + 1 if number else 2)]
        for number in range(plan.first_round, plan.rounds + 1)
    ]


def _slice(values: Any, first: int, last: int) -> Any:
    if values is None:
        return None
    return values.iloc[first:last] if hasattr(values, "iloc") else values[first:last]


@dataclass(frozen=True)
class Partitions:
    """The rows, labels and weights of collections, partition by partition.

    Parameters
    ----------
    parts : list of Delayed
        For each partition, a tuple of rows, labels, and weights or None.
    """

    parts: list[Any]

    @classmethod
    def of(cls, x: Any, y: Any = None, weights: Any = None) -> Partitions:
        """Return the partitions of collections.

        Parameters
        ----------
        x : Dask DataFrame, array or bag, or list of delayed parts
            The examples. Delayed parts are tuples of rows, labels and, if any, weights.
        y, weights : Dask Series, array or bag, or a name
            Labels and weights in the partitions of `x`; a name is a column of the data frame, or a key of the records.

        Raises
        ------
        TypeError
            For anything else.
        ValueError
            If the partitions do not match.
        """
        if are_delayed(x):
            if y is not None or weights is not None:
                raise TypeError("delayed parts are tuples (X, y) or (X, y, sample_weight); y must not be given as well")
            return cls(_optimized([_delayed(number, _of_tuple, part) for number, part in enumerate(x, 1)]))
        if y is None:
            raise TypeError("y is missing: a Dask collection of labels, or the name of a column of X")
        rows = split(x, "X")
        names, columns = [], []
        for title, given in (("y", y), ("sample_weight", weights)):
            is_name = _is_name(x, title, given)
            names.append(given if is_name else None)
            inside = is_name or given is None
            columns.append([None] * len(rows) if inside else _matching(x, len(rows), given, title))
        parts = zip(rows, *columns, strict=True)
        return cls(
            _optimized([_delayed(number, _of_collections, *part, *names) for number, part in enumerate(parts, 1)])
        )

    def jobs(self, client: Client, *, keep: bool) -> list[Job]:
        """Return a job for each partition, whose result is the tuple.

        Parameters
        ----------
        client : Client
            The connection to the cluster.
        keep : bool
            Whether partitions stay in memory until the jobs are forgotten; else only the first, which the warm-up
            needs as well.
        """
        return [
            Job(partial(submit, client, f"scwlearn-rows-part-{number}", _same, part))
            if keep or number == 1
            else Lazy(part)
            for number, part in enumerate(self.parts, 1)
        ]


def check_suitable(x: Any, names: Sequence[Any], *, records: bool) -> None:
    """Raise a TypeError if a model cannot learn from a collection.

    Parameters
    ----------
    x : Dask collection
        The examples.
    names : sequence
        Columns with labels or weights.
    records : bool
        Whether the model takes records (a `StreamClassifier`), or rows of numbers (an estimator).
    """
    if records and isinstance(x, da.Array):
        raise TypeError("X is a Dask array, but a StreamClassifier takes records: a Dask DataFrame or a bag of dicts")
    if not records and isinstance(x, db.Bag):
        raise TypeError("X is a Dask bag, but an estimator takes numbers; StreamClassifier takes bags of dicts")
    if not records and isinstance(x, dd.DataFrame):
        own = column_names(names)
        other = [name for name, kind in x.dtypes.items() if name not in own and not is_numeric_dtype(kind)]
        if other:
            raise TypeError(
                f"columns of X are not numeric: {_shown(other)}; drop or encode them, or use a StreamClassifier, which "
                "takes any columns"
            )


def column_names(given: Iterable[Any]) -> list[Any]:
    """Return those of the labels and weights of `fit` that are names."""
    return [
        each for each in given if isinstance(each, Hashable) and each is not None and not dask.is_dask_collection(each)
    ]


def split(x: Any, title: str) -> list[Any]:
    """Return the partitions of a collection as delayed values."""
    if isinstance(x, dd.DataFrame | dd.Series | db.Bag):
        return list(x.to_delayed())
    if isinstance(x, da.Array):
        return list(whole_rows(x).to_delayed().reshape(-1))
    raise TypeError(
        f"{title} must be {_KINDS}, got {type(x).__name__}; dask.array.from_array and dask.dataframe.from_pandas make "
        "collections of data in memory"
    )


def whole_rows(x: da.Array) -> da.Array:
    """Return an array whose chunks have all columns."""
    return x.rechunk({1: -1}) if x.ndim == 2 and x.numblocks[1] > 1 else x


def are_delayed(x: Any) -> bool:
    """Return whether these are delayed parts, or futures of parts."""
    return isinstance(x, list | tuple) and bool(x) and all(isinstance(part, Delayed | Future) for part in x)


def _is_name(x: Any, title: str, given: Any) -> bool:
    if given is None or dask.is_dask_collection(given):
        return False
    if isinstance(x, dd.DataFrame) and isinstance(given, Hashable):
        if given not in x.columns:
            raise ValueError(f"{title} is {given!r}, but X has no such column; it has {_shown(x.columns)}")
        return True
    if isinstance(x, db.Bag) and isinstance(given, str):
        return True
    names = " or the name of a column of X" if isinstance(x, dd.DataFrame) else ""
    raise TypeError(f"{title} must be a Dask collection with the partitions of X{names}, got {type(given).__name__}")


def _shown(names: Any, most: int = 5) -> str:
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")


def _matching(x: Any, count: int, given: Any, title: str) -> list[Any]:
    """Return the partitions of labels or weights; raise a ValueError if they cannot be those of `x`."""
    if getattr(given, "ndim", 1) != 1:
        raise ValueError(f"{title} must have one dimension, got {given.ndim}")
    parts = split(given, title)
    hint = "rechunk or repartition one of them"
    if len(parts) != count:
        raise ValueError(f"X has {count} partitions, but {title} has {len(parts)}; {hint}")
    for kind, places in ((da.Array, _chunks), (dd.DataFrame | dd.Series, _divisions)):
        if isinstance(x, kind) and isinstance(given, kind):
            own, others = places(x), places(given)
            if own is not None and others is not None and own != others:
                raise ValueError(f"the partitions of X and {title} differ: {own} and {others}; {hint}")
    return parts


def _chunks(x: da.Array) -> tuple[int, ...] | None:
    """Return the number of rows of each chunk; None if they are not known."""
    return None if any(np.isnan(rows) for rows in x.chunks[0]) else x.chunks[0]


def _divisions(x: Any) -> tuple[Any, ...] | None:
    """Return where the index is cut; None if it is not known."""
    return tuple(x.divisions) if x.known_divisions else None


def _optimized(parts: list[Any]) -> list[Any]:
    """Return delayed values, optimized together.

    Optimized one by one, when they are submitted, they would give the tasks that they share different definitions, and
    the scheduler may then wait forever.
    """
    return [Delayed(part.key, cull(part.dask, part.key)[0]) for part in dask.optimize(*parts)]


def _delayed(number: int, function: Any, *values: Any) -> Any:
    name = f"scwlearn-read-part-{number}-{uuid4().hex}"
    return dask.delayed(function, pure=False)(*values, number, dask_key_name=name)


def _same(rows: Any) -> Any:
    return rows


def _of_tuple(part: Any, number: int) -> tuple[Any, Any, Any]:
    """Return a delayed part as rows, labels and weights."""
    if not isinstance(part, tuple | list) or len(part) not in (2, 3):
        raise UnreadablePart(
            f"partition {number} must be a tuple (X, y) or (X, y, sample_weight), got {type(part).__name__}"
        )
    return _checked(*part, *([None] if len(part) == 2 else []), number=number)


def _of_collections(x: Any, y: Any, weights: Any, y_name: Any, weights_name: Any, number: int) -> tuple[Any, Any, Any]:
    """Return a partition as rows, labels and weights, some of which may be columns of the rows."""
    names = [name for name in (y_name, weights_name) if name is not None]
    x = x if hasattr(x, "shape") else list(x)
    try:
        y = y if y_name is None else _column(x, y_name)
        weights = weights if weights_name is None else _column(x, weights_name)
    except KeyError as error:
        raise UnreadablePart(f"partition {number}: a record has no {error}") from error
    return _checked(without(x, names), y, weights, number=number)


def _column(x: Any, name: Any) -> Any:
    return x[name] if hasattr(x, "shape") else [record[name] for record in x]


def without(x: Any, names: Sequence[Any]) -> Any:
    """Return the rows of a partition without columns, some of which may not exist."""
    if not names:
        return x
    if hasattr(x, "shape"):
        return x.drop(columns=list(names), errors="ignore")
    return [{key: value for key, value in record.items() if key not in names} for record in x]


def _checked(x: Any, y: Any, weights: Any, *, number: int) -> tuple[Any, Any, Any]:
    """Return rows, labels and weights; raise an UnreadablePart if their numbers differ."""
    labels = np.asarray(y) if hasattr(y, "__array__") else list(y)
    if weights is not None:
        weights = np.asarray(weights if hasattr(weights, "__array__") else list(weights))
    rows = x.shape[0] if hasattr(x, "shape") else len(x)
    for title, values in (("labels", labels), ("weights", weights)):
        if values is not None and len(values) != rows:
            raise UnreadablePart(f"partition {number} has {rows} rows but {len(values)} {title}")
    return x, labels, weights
