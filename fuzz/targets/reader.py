"""Fuzz the readers of text: any bytes are read, or refused with an error that says where and why."""

from __future__ import annotations

import io
from typing import Any

from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import Features
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches

_FORMATS = ("csv", "tsv", "json", "jsonl", "libsvm", "vw", None, None)
# Declared for data with these names.
_KINDS = {"a": "numeric", "b": "categorical", "about": "text", "d": "date"}


def run(data: bytes) -> None:
    """Read bytes with options that the last two select.

    In this process: readers in threads would make the branches depend on chance.
    """
    text, options, way = data[:-2], *data[-2:].rjust(2, b"\0")
    reader_options = ReaderOptions(
        labels=("required", "optional", "ignored", "required")[options & 3],
        on_error="skip" if options & 4 else "raise",
        read_ahead=False,
        chunk_bytes=32 if options & 8 else 2**16,
        max_line_bytes=2**16,
        max_record_bytes=2**16,
        eager=bool(options & 16),
        slots=16 if options & 32 else 0,
    )
    format = _FORMATS[way & 7]
    given: dict[str, Any] = {}
    if format not in ("libsvm", None):
        kinds = {name: kind for name, kind in _KINDS.items() if options & 64 and name.encode() in text[:100]}
        given["features"] = Features(kinds=kinds, ngram=2 if kinds else 1)
    if format in ("csv", "tsv", "json", "jsonl"):
        given["weight"] = "w" if way & 8 else None
        given["label"] = ("y" if way & 8 or "json" in format else "-1") if way & 16 else None
    if format in ("csv", "tsv"):
        given["header"] = False if way & 32 else None
    if format == "libsvm":
        given["zero_based"] = bool(way & 8)
    try:
        schema, batches = read_batches([io.BytesIO(text)], options=reader_options, format=format, **given)
        read = [*batches]
    except (ValueError, OSError):
        return
    for batch in read:
        check(batch)
    # A model keeps the schema, and reads the same data in the same way.
    header = {"header": given["header"]} if "header" in given else {}
    _, batches = read_batches([io.BytesIO(text)], schema, reader_options, format=schema.format, **header)
    assert [batch.lines.tolist() for batch in batches] == [batch.lines.tolist() for batch in read]


def check(batch: Batch) -> None:
    """Check what every batch guarantees."""
    count = len(batch)
    assert count > 0
    rows = batch.x.rows if isinstance(batch.x, NamedRows) else batch.x
    assert len(rows) == count
    if isinstance(batch.x, NamedRows):
        names = [name for name in batch.x.names if name is not None]
        assert rows.width == len(batch.x.names)
        assert len(names) == len(set(names))
    assert (batch.lines[1:] > batch.lines[:-1]).all()
    for part in (batch.labels, batch.weights, batch.labelled):
        assert part is None or len(part) == count
    # The rows claim to be checked, so they are checked again as a new matrix.
    for block in rows.blocks(count):
        type(rows)(block.matrix())
