"""Readers of tables in Parquet files, Arrow files (Feather) and Arrow streams."""

from __future__ import annotations

import shutil
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc, parquet

from scwlearn._native import LONGEST_KEY
from scwlearn._util.memory import check_memory
from scwlearn.data.detect import SAMPLE, is_missing
from scwlearn.data.features import Features
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reader import Parsed, Reader
from scwlearn.data.records import record_batches
from scwlearn.data.schema import Schema, spec_of
from scwlearn.data.tables.arrow import check_no_nul, read_columns, table_error
from scwlearn.data.tables.resolve import check_names, is_complete, resolve_columns, resolve_kinds, sample_size

# Most cells of a chunk. As plain numbers, they are one batch.
_CHUNK_CELLS = 2**21
# Bytes of the record batches that show the schema, unless a single one has more.
_SAMPLE_SIZE = 2**23
# A stream that cannot be rewound is copied to memory up to this size, else to disk.
_MAX_IN_MEMORY = 64 * 2**20
_READ = 2**20
_ARROW_FILE = b"ARROW1"


class _RecordBatchReader(Reader):
    """Reader of record batches, whose first records complete the schema."""

    expected = "the table is empty"
    chunk_bytes = 8 * 2**20
    is_table = True
    is_resolved = False

    def __init__(self, stream: Stream, schema: Schema, options: ReaderOptions) -> None:
        super().__init__(stream, schema, options)
        self._names: list[str] = []
        # Record batches whose rows show the schema, until it is complete.
        self._sample: list[Any] = []
        self._spec = spec_of(schema, options)

    @abstractmethod
    def record_batches(self, opened: ExitStack) -> Iterable[Any]:
        """Open the stream, call `wanted` with its schema, and return record batches with the wanted columns."""

    def wanted(self, schema: Any) -> list[str]:
        """Find the label and the weight; return the columns to read, at least one, so that rows can be counted."""
        features = self.schema.features
        check_names(schema.names)
        check_no_nul(schema)
        leaves = [(name, field.name) for field in schema for name in leaf_names(field, features)]
        # A column "a.b" is one with b in a column a.
        self._names = [*dict.fromkeys(name for name, _ in leaves)]
        self.schema = resolve_columns(self.schema, self._names, self.options)
        self._spec = spec_of(self.schema, self.options)
        roles = () if self.options.ignores_labels else (self.schema.label, self.schema.weight)
        kinds, others = features.kinds, features.others
        wanted = [column for name, column in leaves if name in roles or kinds.get(name, others) != "ignore"]
        return [*dict.fromkeys(wanted)] or schema.names[:1]

    def chunks(self) -> Generator[Any, None, None]:
        """Yield record batches of limited size."""
        # The first rows show the schema before threads can help.
        limit = SAMPLE
        with _data_errors(self.schema.format), ExitStack() as opened:
            for batch in self._sampled(map(_validated, self.record_batches(opened))):
                most, start = self._chunk_rows(batch), 0
                while start < batch.num_rows:
                    count = min(most, limit)
                    yield batch.slice(start, count)
                    start, limit = start + count, self.options.batch_rows

    def _sampled(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Keep the record batches whose first rows show the schema; return these and all others."""
        is_decided = is_complete(self.schema) or self.schema.is_fixed
        # An eager reader does not wait for more than one batch.
        most, rows, size = 1 if is_decided or self.options.eager else SAMPLE, 0, 0
        try:
            for batch in batches:
                self._sample.append(batch)
                rows, size = rows + batch.num_rows, size + _buffer_size(batch)
                if rows >= most or (rows and size >= _SAMPLE_SIZE):
                    break
        except Exception as error:
            # It is raised after the rows before it.
            batches = _failing(error)
        return chain([*self._sample], batches)

    def _chunk_rows(self, batch: Any) -> int:
        """Return how many rows make a chunk. Only the data decides, because the last bits of a model depend on it."""
        rows: int = batch.num_rows
        most = self.chunk_bytes * rows // max(1, _buffer_size(batch))
        return max(1, min(self.options.batch_rows, most, _CHUNK_CELLS // len(batch.columns)))

    def parse(self, chunk: Any) -> Parsed:
        """Convert a record batch, or as many of its rows as fill a batch."""
        if not self.is_resolved:
            self._resolve()
        used = np.zeros(1, dtype=np.int64)
        rows, labels, weights, records, count, (bad, first) = self._read(chunk, used)
        errors = [table_error(fault, key, found, record=record) for fault, record, key, found in first]
        batches = record_batches(rows, labels, weights, records, self.stream.name, self.options.slots)
        rest = chunk.slice(int(used[0]))
        again = partial(self.parse, rest) if rest.num_rows else None
        return Parsed(batches, count, errors, len(bad) - len(errors), bad=bad, rest=again)

    def _read(self, chunk: Any, used: NDArray[np.int64] | None = None) -> Any:
        kind = self.schema.label_kind or "any"
        # Where Arrow lacks memory to describe its arrays, it ends the process.
        check_memory(0)
        return read_columns(chunk.__arrow_c_array__(), self._spec, kind, self.flags, used)

    def _resolve(self) -> None:
        """Complete the schema with the kinds of columns."""
        # Types that cannot be used are refused before their values are looked at.
        *_, (_, faults) = self._read(self._sample[0].slice(0, 0))
        for fault, record, key, found in faults:
            raise table_error(fault, key, found, record=record)
        schema, features = self.schema, self.schema.features
        label = None if self.options.ignores_labels else schema.label
        is_decided = is_complete(schema) or schema.is_fixed
        declared = {*features.kinds, schema.label, schema.weight}
        cells: defaultdict[str, list[Any]] = defaultdict(list)
        types: dict[str, Any] = {}
        left = sample_size(len(self._names))
        for batch in self._sample:
            for name, array in _leaves(zip(batch.schema.names, batch.columns, strict=True), features):
                types[name] = array.type
                is_open = not is_decided and name not in declared
                if name == label or (is_open and _kind_of_type(array.type) is None):
                    sample = array.slice(0, left)
                    with _data_errors(schema.format):
                        # `to_pylist` trusts all offsets and texts.
                        sample.validate(full=True)
                    cells[name] += sample.to_pylist()
            left = max(0, left - batch.num_rows)
        self._sample = []
        kinds = {name: _kind_of_type(type) for name, type in types.items()}
        for name, values in cells.items():
            # The values show nothing if all are missing.
            if _is_text(types[name]) and all(is_missing(value, features) for value in values):
                kinds[name] = "categorical"
        if not is_decided and features.others == "auto":
            found = {name: kind for name, kind in kinds.items() if kind is not None and name not in declared}
            schema = replace(schema, features=features.declare(found))
        schema = resolve_kinds(schema, self._names, cells, self.options, untyped=False)
        if label in types and schema.label_kind is None and not pa.types.is_null(types[label]):
            # Labels that are all missing have a type, too.
            schema = replace(schema, label_kind="categorical" if kinds[label] == "categorical" else "numeric")
        self.schema = schema
        self._spec = spec_of(self.schema, self.options)
        self.is_resolved = True

    def seekable(self, opened: ExitStack) -> _BoundedReads:
        """Return the stream, or a copy of it that can seek; Parquet and Arrow files list their contents at the end."""
        if self.stream.seekable():
            return _BoundedReads(self.stream)
        copy = opened.enter_context(SpooledTemporaryFile(_MAX_IN_MEMORY))  # noqa: SIM115
        shutil.copyfileobj(self.stream, copy, _READ)
        copy.seek(0)
        return _BoundedReads(copy)


class ParquetReader(_RecordBatchReader):
    """Reader of Parquet files."""

    def record_batches(self, opened: ExitStack) -> Iterable[Any]:
        """Open the file."""
        file = parquet.ParquetFile(self.seekable(opened), pre_buffer=False)
        columns = self.wanted(file.schema_arrow)
        rows = self.stream.units
        if rows is None:
            batches: Iterable[Any] = file.iter_batches(self.options.batch_rows, columns=columns, use_threads=False)
            return batches
        return _some_rows(file, rows, self.options.batch_rows, columns)


class ArrowReader(_RecordBatchReader):
    """Reader of Arrow files and streams."""

    def record_batches(self, opened: ExitStack) -> Iterable[Any]:
        """Open the file or stream."""
        if self.stream.peek(lambda head: len(head) >= len(_ARROW_FILE)).startswith(_ARROW_FILE):
            reader = ipc.open_file(self.seekable(opened))
            batches = map(reader.get_batch, self.stream.units or range(reader.num_record_batches))
        else:
            reader = batches = ipc.open_stream(_BoundedReads(self.stream))
        wanted = self.wanted(reader.schema)
        return (batch.select(wanted) for batch in batches)


def _validated(batch: Any) -> Any:
    """Return a record batch whose buffers are as large as lengths and last offsets say, which the native reader trusts.

    What it reads in them, it checks itself: a full validation would take a dictionary anew with each batch.
    """
    batch.validate()
    return batch


def _buffer_size(batch: Any) -> int:
    # All batches share the values of a dictionary.
    own = (column.indices if pa.types.is_dictionary(column.type) else column for column in batch.columns)
    # Reads no offsets, as `nbytes` would.
    return sum(int(column.get_total_buffer_size()) for column in own)


def _failing(error: Exception) -> Iterator[Any]:
    raise error
    yield


def count_parquet(path: str) -> tuple[int, int]:
    """Return the number of rows of a Parquet file, which is cut at rows."""
    with _data_errors("parquet"):
        rows = int(parquet.read_metadata(path).num_rows)
    return rows, rows


def count_arrow(path: str) -> tuple[int, int]:
    """Return the number of record batches of an Arrow file, between which it is cut, and of rows, if all are equal.

    A stream cannot be cut, and its rows cannot be counted: 1 and 0.
    """
    with _data_errors("arrow"), open(path, "rb") as file:
        if file.read(len(_ARROW_FILE)) != _ARROW_FILE:
            return 1, 0
        reader = ipc.open_file(file)
        batches = int(reader.num_record_batches)
        return batches, batches * reader.get_batch(0).num_rows if batches else 0


def count_arrow_rows(path: str, batches: int) -> int:
    """Return the number of rows in the first record batches of an Arrow file."""
    with _data_errors("arrow"), pa.memory_map(path) as file:
        reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=[0]))
        return sum(int(reader.get_batch(i).num_rows) for i in range(batches))


def _some_rows(file: Any, rows: range, batch_rows: int, columns: list[str]) -> Iterator[Any]:
    """Yield rows of a Parquet file; only the row groups that have some of them are read."""
    groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    ends = np.cumsum(groups)
    first, last = np.searchsorted(ends, [rows.start, rows.stop - 1], side="right")
    at = int(ends[first] - groups[first])
    for batch in file.iter_batches(batch_rows, [*range(first, last + 1)], columns=columns, use_threads=False):
        begin, end = max(rows.start - at, 0), min(rows.stop - at, batch.num_rows)
        at += batch.num_rows
        if begin < end:
            yield batch.slice(begin, end - begin)


def _is_struct(name: str, type: Any, features: Features) -> bool:
    """Return whether the children of a column are columns."""
    is_struct = pa.types.is_struct(_stored_type(type)) and features.kinds.get(name) != "ignore"
    # The parser refuses values under a longer name.
    return bool(is_struct) and len(name) <= LONGEST_KEY


def leaf_names(field: Any, features: Features, prefix: str = "") -> Iterator[str]:
    """Yield the names of the columns in a field, of which a struct has several."""
    name = prefix + field.name
    if _is_struct(name, field.type, features):
        for child in _stored_type(field.type):
            yield from leaf_names(child, features, name + features.separator)
    else:
        yield name


def _leaves(columns: Iterable[tuple[str, Any]], features: Features) -> Iterator[tuple[str, Any]]:
    """Yield columns by name, and those of a struct in its place."""
    for name, column in columns:
        array = _stored(column)
        if _is_struct(name, array.type, features):
            children = [f"{name}{features.separator}{child.name}" for child in array.type]
            yield from _leaves(zip(children, array.flatten(), strict=True), features)
        else:
            yield name, array


def _stored_type(type: Any) -> Any:
    """Return as what a type is stored: it must not matter whether pyarrow knows an extension type."""
    return type.storage_type if isinstance(type, pa.BaseExtensionType) else type


def _stored(array: Any) -> Any:
    """Return an array, or one with a dictionary, without an extension type."""
    if isinstance(array.type, pa.BaseExtensionType):
        return array.storage
    if pa.types.is_dictionary(array.type) and isinstance(array.type.value_type, pa.BaseExtensionType):
        return pa.DictionaryArray.from_arrays(array.indices, array.dictionary.storage, safe=False)
    return array


def _is_text(type: Any) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def _kind_of_type(type: Any) -> str | None:
    """Return the kind of columns of a type; None if their values show it."""
    if pa.types.is_dictionary(type):
        return "categorical" if _is_text(type.value_type) else _kind_of_type(type.value_type)
    if pa.types.is_date(type) or pa.types.is_timestamp(type):
        # As Python values, they would need pandas.
        return "date"
    return "text" if pa.types.is_list(type) or pa.types.is_large_list(type) else None


class _BoundedReads:
    """File whose reads allocate no more memory than there is to read, even if a corrupt file makes Arrow ask for it."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or all that are left."""
        pieces = []
        while size > 0 and (piece := self._file.read(min(size, _READ))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Do nothing: the file belongs to the caller."""


@contextmanager
def _data_errors(format: str) -> Iterator[None]:
    """Turn Arrow's errors into DataErrors."""
    try:
        yield
    except (pa.ArrowException, MemoryError, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # by the system: Arrow's own errors have no number
        reason = str(error).split("\n")[0] or "it asks for more memory than there is"
        raise DataError(f"invalid {format} data: {reason}") from None
