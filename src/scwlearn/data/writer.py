"""Writers of data formats: their base classes, and batches taken apart into features, labels and table cells."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import Features
from scwlearn.data.io.errors import DataError

#: Column that a feature came from, and the string in it.
_Origin = tuple[str, str]

# How a text is read from a table.
_TEXT = Features(kinds={"text": "text"})


@dataclass(frozen=True, kw_only=True)
class WriterOptions:
    """Options of all writers; see `write_batches`."""

    label: str = "label"
    weight: str = "weight"
    columns: Mapping[str, str] | None = None
    zero_based: bool = False
    #: Whether names that are not numbers are numbered.
    number_names: bool = False


class Writer(ABC):
    """Writer of batches to an open file, which stays open."""

    def __init__(self, file: BinaryIO, options: WriterOptions) -> None:
        self.file, self.options = file, options

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Write the examples of a batch."""

    def finish(self) -> None:  # noqa: B027
        """Write what follows the last batch: by default, nothing."""


class TableWriter(Writer):
    """Writer of a table, all of whose batches have the same columns."""

    def __init__(self, file: BinaryIO, options: WriterOptions) -> None:
        super().__init__(file, options)
        self.columns: Mapping[str, str] = options.columns or {}
        self._names: list[str] | None = None

    def write(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        table = table_of(batch, self.columns, zero_based=self.options.zero_based)
        if batch.labels is not None:
            table[self.options.label] = label_values(batch)
        if batch.weights is not None:
            table[self.options.weight] = batch.weights.tolist()
        if self._names is None:
            self._names = [*table]
            self.start(batch, self._names)
        for what, name in (("labels", self.options.label), ("weights", self.options.weight)):
            if (name in table) != (name in self._names):
                these, first = ("have", "none") if name in table else ("have no", "them")
                problem = f"these examples {these} {what}, but the first ones had {first}; a table has one header"
                raise error_at(batch, 0, problem)
        self.write_table(batch, table)

    @abstractmethod
    def start(self, batch: Batch, names: list[str]) -> None:
        """Write what precedes the first batch, given the names of all columns."""

    @abstractmethod
    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write the cells of a batch: numbers, strings, lists of strings, and None if missing."""


class DelimitedWriter(TableWriter):
    """Writer of CSV or TSV; missing values and zeros are empty cells."""

    def __init__(self, delimiter: str, file: BinaryIO, options: WriterOptions) -> None:
        import csv

        super().__init__(file, options)
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        # Blanks around a cell are part of it only within quotes.
        self._quoted = csv.writer(self._text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def start(self, batch: Batch, names: list[str]) -> None:
        """Write the header."""
        (self._quoted if _have_blanks(names) else self._csv).writerow(names)

    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write records."""
        columns = [self._texts(name, column, batch) for name, column in table.items()]
        has_blanks = any(
            self.columns.get(name) != "numeric" and _have_blanks(texts)
            for name, texts in zip(table, columns, strict=True)
        )
        (self._quoted if has_blanks else self._csv).writerows(zip(*columns, strict=True))

    def finish(self) -> None:
        """Detach from the file, which stays open."""
        self._text.detach()

    def _texts(self, name: str, column: list[Any], batch: Batch) -> list[str | None]:
        kind = self.columns.get(name, "numeric")
        if kind == "numeric":
            return [*map(value_text, column)]
        if kind == "text":
            texts = [None if words is None else " ".join(words) for words in column]
            allowed = f"words must be at most {_TEXT.max_word_length} letters, digits and _, in lower case"
        else:
            texts, allowed = column, "a string must not be empty or contain NUL"
        for row, (value, text) in enumerate(zip(column, texts, strict=True)):
            if text is None:
                continue
            if not text or "\0" in text or (kind == "text" and not _reads_back(text, value)):
                problem = f"in the column {name!r}, {allowed}; jsonl, parquet and arrow allow any string"
                raise error_at(batch, row, problem, repr(value))
        return texts


def _have_blanks(texts: Iterable[str | None]) -> bool:
    """Return whether blanks begin or end a text."""
    return any(text != text.strip(" \t") for text in texts if text)


def _reads_back(text: str, words: list[str]) -> bool:
    try:
        return _TEXT.read({"text": text}) == {f"text={word}": count for word, count in Counter(words).items()}
    except DataError:  # a surrogate
        return False


def with_names(batch: Batch, *, zero_based: bool = False) -> NamedRows:
    """Return the features by name; the name of a numbered one is its index."""
    if isinstance(batch.x, NamedRows):
        return NamedRows(batch.x.rows, [str(name) for name in batch.x.names])
    rows = NamedRows.of_numbers(batch.x)
    return NamedRows(rows.rows, [str(number + (not zero_based)) for number in rows.names])


def value_text(value: Any) -> Any:
    """Return the shortest text that is read as the same number; strings and None stay the same."""
    return value if value is None or isinstance(value, str) else repr(value).removesuffix(".0")


def error_at(batch: Batch, row: int, problem: str, found: Any = None, hint: str | None = None) -> DataError:
    """Return the error of an example that cannot be written."""
    shown = None if found is None else str(found)
    return DataError(problem, found=shown, source=batch.source, line=int(batch.lines[row]), hint=hint)


def table_of(batch: Batch, columns: Mapping[str, str], *, zero_based: bool = False) -> dict[str, list[Any]]:
    """Return the cells of a table with these columns: a number, a string, a list of strings, or None."""
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
            _add_string(table[origin[0]], row, value, origin, columns, batch)
        else:
            shown = ", ".join(map(repr, columns)) or "none"
            problem = f"the feature {x.names[number]!r} belongs to no column; the columns are {shown}"
            raise error_at(batch, row, problem)
    return table


def _origin(name: str, columns: Mapping[str, str]) -> _Origin | None:
    """Return the categorical or text column that a feature came from, and its string; None if there is none."""
    at = name.find("=")
    while at >= 0:
        if columns.get(name[:at], "numeric") != "numeric":
            return name[:at], name[at + 1 :]
        at = name.find("=", at + 1)
    return None


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
        if value < 0 or not value.is_integer():
            raise error_at(batch, row, f"the text column {name!r} counts words", f"{string!r} with value {value}")
        cells[row] = (cells[row] or []) + [string] * int(value)


def label_values(batch: Batch) -> list[Any]:
    """Return the labels as Python values, bools as numbers and missing ones as None."""
    if batch.labels is None:
        return [None] * len(batch)
    labels = batch.labels.astype(np.int64) if batch.labels.dtype.kind == "b" else batch.labels
    labelled = [True] * len(batch) if batch.labelled is None else batch.labelled.tolist()
    return [label if has_label else None for label, has_label in zip(labels.tolist(), labelled, strict=True)]
