"""Fuzz the readers of Arrow and Parquet files: tables of any types and values, and damaged ones.

The first bytes choose how the file is written and read, the rest its columns. The bytes of Arrow's buffers may be
damaged, but not its metadata, which pyarrow itself does not survive.
"""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from fuzz.drawn import Drawn
from fuzz.targets.reader import check
from scwlearn.data.features import Features
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.tables.arrow import table_rows

_NAMES = ("y", "w", "a", "b", "n", "c", "t", "d", "o", "", "y", "é", "a.b")
_KINDS = {"n": "numeric", "c": "categorical", "t": "text", "d": "date", "b": "ignore"}
_LEAVES: tuple[tuple[pa.DataType, Callable[[Drawn], Any]], ...] = (
    (pa.null(), lambda drawn: None),
    (pa.bool_(), lambda drawn: drawn.flag()),
    (pa.int8(), lambda drawn: drawn.integer(1)),
    (pa.uint64(), lambda drawn: drawn.integer(signed=False)),
    (pa.int64(), lambda drawn: drawn.integer()),
    (pa.int32(), lambda drawn: drawn.integer(1)),
    (pa.float16(), lambda drawn: drawn.byte() / 4),
    (pa.float32(), lambda drawn: drawn.float()),
    (pa.float64(), lambda drawn: drawn.float()),
    (pa.float64(), lambda drawn: drawn.below(10) / 2),
    (pa.decimal128(38, 4), lambda drawn: decimal.Decimal(drawn.integer()) / 10000),
    (pa.decimal256(70, -5), lambda drawn: decimal.Decimal(drawn.integer()) * 100000),
    (pa.string(), lambda drawn: drawn.text(8)),
    (pa.large_string(), lambda drawn: drawn.text(20)),
    (pa.string_view(), lambda drawn: drawn.text(20)),
    (pa.binary(), lambda drawn: drawn.bytes(4)),
    (pa.date32(), lambda drawn: drawn.integer(4)),
    (pa.date64(), lambda drawn: datetime.date.fromordinal(1 + drawn.integer(3, signed=False) % 3_000_000)),
    (pa.timestamp("s"), lambda drawn: drawn.integer()),
    (pa.timestamp("ns", "UTC"), lambda drawn: drawn.integer()),
    (pa.timestamp("us", "Europe/Berlin"), lambda drawn: drawn.integer()),
    (pa.time64("us"), lambda drawn: drawn.integer(signed=False) % 86_400_000_000),
    (pa.duration("s"), lambda drawn: drawn.integer()),
)
_DEEPEST, _MOST_ROWS, _MOST_COLUMNS, _MOST_DAMAGE = 3, 6, 5, 4
_MAGIC = b"ARROW1\0\0"


def run(data: bytes) -> None:
    """Write a table, and read it from the file and from memory."""
    drawn = Drawn(data)
    way, options = drawn.byte(), drawn.byte()
    try:
        table = _table(drawn)
        content = _written(table, way, drawn)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, OSError):
        # Values or types that the format does not have.
        return
    features = Features(kinds=_KINDS if options & 1 else {}, ngram=2 if options & 2 else 1)
    reader_options = ReaderOptions(
        labels=("required", "optional", "ignored", "optional")[way >> 5 & 3],
        on_error="skip" if options & 4 else "raise",
        read_ahead=False,
        batch_rows=2 if options & 8 else 2**16,
        slots=16 if options & 16 else 0,
    )
    weight = "w" if options & 32 else None
    try:
        _, batches = read_batches([io.BytesIO(content)], options=reader_options, weight=weight, features=features)
        for batch in batches:
            check(batch)
    except (ValueError, OSError):
        return
    if not way & 7:
        _read_from_memory(table, features)


def _read_from_memory(table: pa.Table, features: Features) -> None:
    try:
        rows = table_rows(table, features)
    except ValueError:
        return
    assert len(rows) == table.num_rows


def _table(drawn: Drawn) -> pa.Table:
    rows, columns, names = drawn.below(_MOST_ROWS + 1), [], []
    for _ in range(1 + drawn.below(_MOST_COLUMNS)):
        names.append(drawn.choice(_NAMES))
        columns.append(_column(drawn, rows))
    return pa.Table.from_arrays(columns, names)


def _column(drawn: Drawn, rows: int) -> pa.Array:
    type, draw = _type(drawn, 0)
    values = [None if drawn.below(8) == 7 else draw(drawn) for _ in range(rows + 1)]
    array = pa.array(values, type)
    if drawn.below(4) == 3:
        is_nested = pa.types.is_nested(type)
        places = pa.array(range(len(array)), pa.int8())
        array = pa.DictionaryArray.from_arrays(places, array) if is_nested else array.dictionary_encode()
    # Also with an offset.
    start = drawn.below(2)
    return array[start : start + rows]


def _type(drawn: Drawn, depth: int) -> tuple[pa.DataType, Callable[[Drawn], Any]]:
    """Return a type, and a function that draws a value of it."""
    number = drawn.below(len(_LEAVES) + 4)
    if number < len(_LEAVES) or depth == _DEEPEST:
        return _LEAVES[number % len(_LEAVES)]
    inner, draw = _type(drawn, depth + 1)
    match number - len(_LEAVES):
        case 0:
            return pa.list_(inner), lambda drawn: [draw(drawn) for _ in range(drawn.below(4))]
        case 1:
            return pa.large_list(inner), lambda drawn: [draw(drawn) for _ in range(drawn.below(4))]
        case 2:
            return pa.map_(pa.string(), inner), lambda drawn: [("k", draw(drawn))]
        case _:
            names = ("y", "x", "")[: 1 + drawn.below(3)]
            fields = pa.struct([(name, inner) for name in names])
            return fields, lambda drawn: {name: draw(drawn) for name in names}


def _written(table: pa.Table, way: int, drawn: Drawn) -> bytes:
    """Return the content of a file; one of Arrow may be damaged."""
    file = io.BytesIO()
    if not way & 3:
        parquet.write_table(table, file, row_group_size=2 if way & 4 else 100, use_dictionary=bool(way & 8))
        return file.getvalue()
    is_stream = bool(way & 4)
    with (ipc.new_stream if is_stream else ipc.new_file)(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2 if way & 8 else 100)
    content = bytearray(file.getvalue())
    bodies = [body for body in _bodies(content, 0 if is_stream else len(_MAGIC)) if body]
    for _ in range(drawn.below(_MOST_DAMAGE + 1) if bodies and way & 16 else 0):
        body = drawn.choice(bodies)
        content[body[drawn.integer(2, signed=False) % len(body)]] = drawn.byte()
    return bytes(content)


def _bodies(content: bytearray, start: int) -> Iterator[range]:
    """Yield where the messages of an Arrow file have their buffers."""
    at = start
    for message in ipc.MessageReader.open_stream(pa.py_buffer(bytes(content[start:]))):
        # A mark, the length of the metadata, and the metadata come first.
        at += 8 + int.from_bytes(content[at + 4 : at + 8], "little")
        yield range(at, at + len(message.body or b""))
        at += len(message.body or b"")
