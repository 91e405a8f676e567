"""Writers of Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from scwlearn.data.batch import Batch
from scwlearn.data.tables.table_writer import TableWriter
from scwlearn.data.writer import error_at, label_values


class ArrowWriter(TableWriter):
    """Writer of Arrow files: numbers, strings and lists of strings; missing values and zeros are null."""

    has_bools = True
    new_writer: Any = staticmethod(ipc.new_file)

    def start(self, batch: Batch, names: list[str]) -> None:
        """Write the schema."""
        kinds = {"numeric": pa.float64(), "categorical": pa.string(), "text": pa.list_(pa.string())}
        types = {name: kinds[self.columns.get(name, "numeric")] for name in names}
        if self.options.label in names:
            found = self.options.label_types
            if found is None:
                found = frozenset(map(type, label_values(batch, with_bools=True)))
            types[self.options.label] = _label_type(found)
        self._schema = pa.schema(types)
        self._writer = self.new_writer(pa.PythonFile(self.file, mode="w"), self._schema)

    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write a record batch."""
        if batch.labels is not None:
            self._check_label_types(batch, table[self.options.label])
        arrays = [_array(column, self._schema.field(name).type) for name, column in table.items()]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def finish(self) -> None:
        """Write the footer."""
        self._writer.close()

    def _check_label_types(self, batch: Batch, labels: list[Any]) -> None:
        """Raise a DataError for a label that the type of the first ones does not hold."""
        column = self._schema.field(self.options.label).type
        bad = {each for each in {*map(type, labels)} if not _holds(column, each)}
        if bad:
            row = next(row for row, label in enumerate(labels) if type(label) in bad)
            problem = f"all labels must have the type {column}, as the first ones have"
            raise error_at(batch, row, problem, f"the type {_label_type({type(labels[row])})}")


class ParquetWriter(ArrowWriter):
    """Writer of Parquet files."""

    new_writer = parquet.ParquetWriter


def _label_type(types: Iterable[type]) -> Any:
    """Return the type of a column of labels; missing ones have the type of None."""
    found = {*types} - {type(None)}
    if str in found:
        return pa.string()
    return pa.float64() if float in found else pa.int64() if int in found else pa.bool_() if found else pa.null()


def _holds(column: Any, label: type) -> bool:
    """Return whether a column of that type holds labels of a type; bools are numbers among numbers."""
    own = {pa.float64(): float, pa.int64(): int}.get(column, label)
    return label is type(None) or column == _label_type({label, own})


def _array(values: list[Any], type: Any) -> Any:
    """Return values as an array; None is null. `pa.array` would import pandas."""
    if type == pa.null():
        return pa.nulls(len(values))
    is_there = np.array([value is not None for value in values], dtype=bool)
    buffers = [pa.py_buffer(np.packbits(is_there, bitorder="little"))]
    if type == pa.bool_():
        bits = np.array([value is True for value in values], dtype=bool)
        return pa.Array.from_buffers(type, len(values), [*buffers, pa.py_buffer(np.packbits(bits, bitorder="little"))])
    if type in (pa.float64(), pa.int64()):
        numbers = np.array(
            [0 if value is None else value for value in values], dtype=str(type).replace("double", "float64")
        )
        return pa.Array.from_buffers(type, len(values), [*buffers, pa.py_buffer(numbers)])
    items = [() if value is None else value if type != pa.string() else value.encode() for value in values]
    buffers.append(pa.py_buffer(np.cumsum([0, *map(len, items)]).astype(np.int32)))
    if type == pa.string():
        return pa.Array.from_buffers(type, len(values), [*buffers, pa.py_buffer(b"".join(map(bytes, items)))])
    words = _array([word for each in items for word in each], type.value_type)
    return pa.Array.from_buffers(type, len(values), buffers, children=[words])
