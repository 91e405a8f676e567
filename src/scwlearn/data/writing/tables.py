"""Tables, written: CSV and TSV, Parquet, Arrow."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any, BinaryIO

from scwlearn.data.examples import Examples
from scwlearn.data.io.errors import DataError
from scwlearn.data.writing.cells import label_texts, label_values, number_text, place, plain_words, table_of

#: More columns than these make no table that anybody could use.
MOST_COLUMNS = 10_000


class CsvWriter:
    """Text with a header; what is nothing, 0 too, is an empty cell."""

    def __init__(
        self, file: BinaryIO, delimiter: str, *, label: str, weight: str, columns: Mapping[str, str], zero_based: bool
    ) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        self._own, self._columns, self._zero_based = (label, weight), columns, zero_based
        self._has: list[bool] | None = None

    def write(self, examples: Examples) -> None:
        """Some more."""
        has = [examples.labels is not None, examples.weights is not None]
        if self._has is None:
            self._has = has
            own = [name for name, there in zip(self._own, has, strict=True) if there]
            self._csv.writerow([*self._columns, *own])
        check_same(examples, has, self._has)
        table = table_of(examples, self._columns, zero_based=self._zero_based)
        columns = [self._texts(name, column, examples) for name, column in table.items()]
        if examples.labels is not None:
            columns.append(label_texts(examples))
        if examples.weights is not None:
            columns.append([number_text(weight) for weight in examples.weights.tolist()])
        self._csv.writerows(zip(*columns, strict=True))

    def end(self) -> None:
        """No more. The file stays open."""
        self._text.detach()

    def _texts(self, name: str, column: list[Any], examples: Examples) -> list[str | None]:
        kind = self._columns[name]
        if kind == "numeric":
            return [None if value is None else number_text(value) for value in column]
        texts = column if kind == "categorical" else [None if words is None else plain_words(words) for words in column]
        for row, (value, text) in enumerate(zip(column, texts, strict=True)):
            if value is not None and (not text or "\0" in text):
                what = (
                    "a cell is not empty and has no NUL" if kind == "categorical" else "words are plain, in lower case"
                )
                raise ValueError(
                    f"{place(examples, row)}, column {name!r}: {what}; found {value!r}; "
                    "jsonl, parquet and arrow have any"
                )
        return texts


class ArrowWriter:
    """Parquet and Arrow files: numbers, strings and lists of strings as such; null for nothing, 0 too."""

    def __init__(
        self, file: BinaryIO, format: str, *, label: str, weight: str, columns: Mapping[str, str], zero_based: bool
    ) -> None:
        self._file, self._format, self._label, self._weight = file, format, label, weight
        self._columns, self._zero_based = columns, zero_based
        self._writer: Any = None
        self._has: list[bool] = []

    def write(self, examples: Examples) -> None:
        """Some more."""
        import pyarrow as pa

        has = [examples.labels is not None, examples.weights is not None]
        if self._writer is None:
            self._has = has
            self._writer = self._begun(self._types(examples))
        check_same(examples, has, self._has)
        table: dict[str, Any] = dict(table_of(examples, self._columns, zero_based=self._zero_based))
        if examples.labels is not None:
            table[self._label] = label_values(examples)
        if examples.weights is not None:
            table[self._weight] = examples.weights
        schema = self._schema
        try:
            arrays = [pa.array(column, type=schema.field(name).type) for name, column in table.items()]
        except pa.ArrowException as error:
            # Only labels can change their type on the way.
            message = f"{place(examples, 0)}: all labels are of the type {schema.field(self._label).type}; {error}"
            raise ValueError(message) from None
        self._writer.write_batch(pa.record_batch(arrays, schema=schema))

    def end(self) -> None:
        """No more. The file stays open."""
        if self._writer is not None:
            self._writer.close()

    def _types(self, examples: Examples) -> list[tuple[str, Any]]:
        import pyarrow as pa

        kinds = {"numeric": pa.float64(), "categorical": pa.string(), "text": pa.list_(pa.string())}
        types = [(name, kinds[kind]) for name, kind in self._columns.items()]
        if examples.labels is not None:
            labels = {"U": pa.string(), "f": pa.float64()}
            types.append((self._label, labels.get(examples.labels.dtype.kind, pa.int64())))
        if examples.weights is not None:
            types.append((self._weight, pa.float64()))
        return types

    def _begun(self, types: list[tuple[str, Any]]) -> Any:
        import pyarrow as pa
        from pyarrow import ipc, parquet

        self._schema = pa.schema(types)
        file = pa.PythonFile(self._file, mode="w")
        return (parquet.ParquetWriter if self._format == "parquet" else ipc.new_file)(file, self._schema)


def check_same(examples: Examples, has: list[bool], first: list[bool]) -> None:
    """A ValueError for examples that have labels or weights where the first had none, or the other way round."""
    for what, there, before in zip(("labels", "weights"), has, first, strict=True):
        if there != before:
            first_had, these = ("have", "have none") if before else ("have none", "have")
            raise ValueError(
                f"{place(examples, 0)}: the first examples {first_had} {what}, these {these}; a table has one header"
            )


def check_columns(columns: Mapping[str, str], label: str, weight: str) -> None:
    """A ValueError for columns that make no table."""
    for name in (label, weight):
        if name in columns:
            raise DataError(
                f"a column is called {name!r}, as the label or the weight is to be",
                hint="choose other names with {label} and {weight}",
            )
    check_count(len(columns))


def check_count(columns: int) -> None:
    """A ValueError for more columns than a table has."""
    if columns > MOST_COLUMNS:
        raise ValueError(
            f"the table would have {columns} columns, at most {MOST_COLUMNS} are written; libsvm, vw and jsonl "
            "have features without columns"
        )
