"""Examples as they come from any source, and how they are to be read from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import place_rows
from scwlearn.data.rows import Rows

#: What a column of a table may hold: numbers, one of some words, or words.
COLUMN_KINDS = ("numeric", "categorical", "text")


@dataclass(frozen=True)
class NamedRows:
    """Rows whose columns have names, each once. They need not be the same in the next batch, nor in the same order.

    Examples
    --------
    >>> from scwlearn.data.examples import NamedRows
    >>> from scwlearn.data.rows import Rows
    >>> [*NamedRows(Rows([[1.0, 0.0], [0.5, 2.0]]), ["free", "offer"]).dicts()]
    [{'free': 1.0}, {'free': 0.5, 'offer': 2.0}]
    """

    rows: Rows
    names: list[Any]

    def __post_init__(self) -> None:
        if len(self.names) != self.rows.width:
            raise ValueError(f"names must hold {self.rows.width} names, one for each column, got {len(self.names)}")

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, start: int, stop: int) -> NamedRows:
        """Some consecutive rows, with the names that stand in them."""
        rows = self.rows.part(start, stop)
        values, columns, offsets = rows.compressed()
        if len(columns) >= len(self.names):
            return NamedRows(rows, self.names)
        # Few rows of many names: whoever looks them up is not to look for all.
        present, places = np.unique(columns, return_inverse=True)
        arrays = values, places.astype(np.int32).ravel(), offsets
        return NamedRows(Rows.from_checked(*arrays, len(present)), [self.names[i] for i in present.tolist()])

    def chosen(self, numbers: NDArray[np.intp]) -> NamedRows:
        """The rows of these numbers."""
        return NamedRows(self.rows.chosen(numbers), self.names)

    def dicts(self) -> Iterator[dict[Any, float]]:
        """The rows one by one, without zeros."""
        values, columns, offsets = self.rows.compressed()
        for begin, end in pairwise(offsets.tolist()):
            pairs = zip(columns[begin:end].tolist(), values[begin:end].tolist(), strict=True)
            yield {self.names[column]: value for column, value in pairs if value}

    def in_columns(self, features: Sequence[int] | NDArray[np.int64], signs: list[float] | None, width: int) -> Rows:
        """The rows of a model with so many columns, by the feature that each name is.

        What is not from 0 to below the width says nothing; values of one feature are added up, each with its sign.
        """
        signed = None if signs is None else np.array(signs)
        arrays = place_rows(*self.rows.compressed(), np.asarray(features, dtype=np.int64), signed, width)
        return Rows.from_arrays(*arrays, width)

    def occurrences(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
        """In how many rows each name stands with a value that is not zero, those of weight 0 left out."""
        values, columns, offsets = self.rows.compressed()
        says = values != 0
        if weights is not None and not weights.all():
            says &= np.repeat(weights != 0, np.diff(offsets))
        return np.bincount(columns if says.all() else columns[says], minlength=len(self.names)).astype(np.int64)


@dataclass(frozen=True)
class Examples:
    """Consecutive examples of one source.

    The rows are numbered features (`Rows`: column j means the same in every batch, and a later batch may be wider), or
    named ones (`NamedRows`).
    """

    x: Rows | NamedRows
    #: Numbers, strings or bools; what stands where there is none says `labelled`. None: the source has no labels.
    labels: NDArray[Any] | None
    #: What the source says that each weighs; None: it does not say.
    weights: NDArray[np.float64] | None
    #: Where each stands in its source, from 1: its line, or its record where these are not lines (tables, a header not
    #: counted).
    lines: NDArray[np.int64]
    #: What to call the source in a message.
    source: str
    #: Whether each has a label; None: all have, or none has where `labels` is None.
    labelled: NDArray[np.bool_] | None = None
    #: What each is called by the source (VW's tags); None: it does not say.
    tags: list[str] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def with_rows(self, x: Rows | NamedRows) -> Examples:
        """The same with other rows."""
        return replace(self, x=x)

    def chosen(self, numbers: NDArray[np.intp]) -> Examples:
        """Some of the examples, in the order of these numbers."""

        def pick(values: Any) -> Any:
            return None if values is None else values[numbers]

        return replace(
            self,
            x=self.x.chosen(numbers),
            labels=pick(self.labels),
            weights=pick(self.weights),
            lines=pick(self.lines),
            labelled=pick(self.labelled),
            tags=None if self.tags is None else [self.tags[i] for i in numbers.tolist()],
        )

    def widened(self, width: int) -> Examples:
        """With at least so many numbered features; those that were not there are zero."""
        if isinstance(self.x, NamedRows) or self.x.width >= width:
            return self
        return self.with_rows(self.x.widened(width))

    def part(self, start: int, stop: int) -> Examples:
        """Some consecutive examples."""

        def cut(values: Any) -> Any:
            return None if values is None else values[start:stop]

        return replace(
            self,
            x=self.x.part(start, stop),
            labels=cut(self.labels),
            weights=cut(self.weights),
            lines=cut(self.lines),
            labelled=cut(self.labelled),
            tags=cut(self.tags),
        )


@dataclass(frozen=True)
class Schema:
    """How examples are read from data. A model keeps it, so that what it is to predict is read as what it learned."""

    #: "libsvm", "vw", "csv", "tsv", "jsonl", "parquet" or "arrow".
    format: str
    #: The column or key of the label, and that of the weight; None where the format has its own place for it, or for
    #: none.
    label: str | None = None
    weight: str | None = None
    #: Columns or keys (for VW: namespaces) that are left out.
    ignore: tuple[str, ...] = ()
    #: Of tables: what the columns are that become features (COLUMN_KINDS), decided when the first rows were read.
    columns: Mapping[str, str] = field(default_factory=dict)
    #: Of LIBSVM: whether indices count from 0.
    zero_based: bool = False

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """From what `to_json` gave."""
        known = {f.name for f in fields(cls)}
        given = {name: value[name] for name in value if name in known}
        return cls(**given | {"ignore": tuple(given.get("ignore", ()))})


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
