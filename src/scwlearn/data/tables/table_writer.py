"""What the writers of tables share: batches taken apart into the cells of columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from scwlearn._native import LONGEST_KEY
from scwlearn._util.checks import is_unicode
from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import shown
from scwlearn.data.writer import Writer, WriterOptions, error_at, label_values, with_names

#: Column that a feature came from, and the string in it.
_Origin = tuple[str, str]

# A reader takes about a million features of a record.
_MOST_WORDS = 2**20
# Cells that are in memory at a time. Sparse rows have more of them than values.
_MOST_CELLS = 2**23


class TableWriter(Writer):
    """Writer of a table, all of whose batches have the same columns."""

    #: Whether the format has bools; else they are the numbers 0 and 1.
    has_bools = False

    def __init__(self, file: BinaryIO, options: WriterOptions) -> None:
        super().__init__(file, options)
        self.columns: Mapping[str, str] = options.columns or {}
        self._names: list[str] | None = None

    def write_batch(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        label, weight = self.options.label, self.options.weight
        if self._names is None:
            has_labels, has_weights = self.options.has_labels, self.options.has_weights
            has_labels = batch.labels is not None if has_labels is None else has_labels
            has_weights = batch.weights is not None if has_weights is None else has_weights
            self._names = [*self.columns, *[label] * has_labels, *[weight] * has_weights]
            if not self._names:
                raise error_at(batch, 0, "examples without labels, weights and features; a table needs a column")
            self._check_names(batch, self._names)
            self.start(batch, self._names)
        for what, name, given in (("labels", label, batch.labels), ("weights", weight, batch.weights)):
            if given is not None and name not in self._names:
                problem = f"these examples have {what}, but the first ones had none; a table has one header"
                raise error_at(batch, 0, problem)
        for part, table in tables_of(batch, self.columns, zero_based=self.options.zero_based):
            if label in self._names:
                table[label] = label_values(part, with_bools=self.has_bools)
            if weight in self._names:
                table[weight] = [1.0] * len(part) if part.weights is None else part.weights.tolist()
            self.write_table(part, table)

    @staticmethod
    def _check_names(batch: Batch, names: list[str]) -> None:
        for name in names:
            # Readers of Arrow's C interface would take NUL for the end of a name.
            if "\0" in name or not is_unicode(name):
                problem = "the name of a column must be valid Unicode without NUL; jsonl and json allow NUL"
                raise error_at(batch, 0, problem, shown(name))

    @abstractmethod
    def start(self, batch: Batch, names: list[str]) -> None:
        """Write what precedes the first batch, given the names of all columns."""

    @abstractmethod
    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write the cells of some examples: numbers, strings, lists of strings, and None if missing."""


def tables_of(
    batch: Batch, columns: Mapping[str, str], *, zero_based: bool = False
) -> Iterator[tuple[Batch, dict[str, list[Any]]]]:
    """Yield a batch in parts, each with its cells in these columns: a number, a string, a list of strings, or None."""
    for name, kind in columns.items():
        if kind != "numeric" and len(name) > LONGEST_KEY:
            limit = f"the name of a categorical or text column must have at most {LONGEST_KEY} characters"
            raise error_at(batch, 0, limit, shown(name))
    rows = max(1, _MOST_CELLS // max(1, len(columns)))
    for start in range(0, len(batch), rows):
        part = batch.slice(start, start + rows)
        yield part, _table_of(part, columns, zero_based)


def _table_of(batch: Batch, columns: Mapping[str, str], zero_based: bool) -> dict[str, list[Any]]:
    x = with_names(batch, zero_based=zero_based)
    table: dict[str, list[Any]] = {column: [None] * len(batch) for column in columns}
    numeric = [table[name] if columns.get(name) == "numeric" else None for name in x.names]
    origins = [_origin(name, columns) for name in x.names]
    values, numbers, offsets = x.rows.compressed()
    rows = np.repeat(np.arange(len(batch)), np.diff(offsets))
    for row, number, value in zip(rows.tolist(), numbers.tolist(), values.tolist(), strict=True):
        cells, origin = numeric[number], origins[number]
        if not value:
            continue
        if cells is not None:
            cells[row] = value
        elif origin is not None:
            _check_string(row, origin, columns, batch)
            _add_string(table[origin[0]], row, value, origin, columns, batch)
        else:
            shown = ", ".join(map(repr, columns)) or "none"
            problem = f"the feature {x.names[number]!r} belongs to no column; the columns are {shown}"
            raise error_at(batch, row, problem)
    return table


def _origin(name: str, columns: Mapping[str, str]) -> _Origin | None:
    """Return the categorical or text column that a feature came from, and its string; None if there is none."""
    at = name.find("=")
    while 0 <= at <= LONGEST_KEY:
        if columns.get(name[:at], "numeric") != "numeric":
            return name[:at], name[at + 1 :]
        at = name.find("=", at + 1)
    return None


def _check_string(row: int, origin: _Origin, columns: Mapping[str, str], batch: Batch) -> None:
    """Raise a DataError for a string that is read as another one, or is refused."""
    name, string = origin
    is_bool = columns[name] == "categorical" and string != string.lower() and string.lower() in ("true", "false")
    if not string or is_bool or not is_unicode(string):
        allowed = (
            "must not be empty, which means that it is missing, and must be valid Unicode; bools are in lower case"
        )
        raise error_at(batch, row, f"a string in the column {name!r} {allowed}", shown(string))


def _add_string(
    cells: list[Any], row: int, value: float, origin: _Origin, columns: Mapping[str, str], batch: Batch
) -> None:
    name, string = origin
    if columns[name] == "categorical":
        if cells[row] is not None or value != 1:
            found = f"{cells[row]!r} and {string!r}" if value == 1 else f"{string!r} with value {value}"
            raise error_at(batch, row, f"the categorical column {name!r} holds one string of value 1", found)
        cells[row] = string
    else:
        if value < 0 or not value.is_integer() or value > _MOST_WORDS:
            raise error_at(batch, row, f"the text column {name!r} counts words", f"{string!r} with value {value}")
        cells[row] = (cells[row] or []) + [string] * int(value)
