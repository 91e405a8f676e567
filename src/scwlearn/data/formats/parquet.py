"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from scwlearn.data.io.streams import Stream
from scwlearn.data.tables.arrow_tables import arrow_format, seekable
from scwlearn.data.tables.table import Table


def _open(stream: Stream, table: Table, batch_rows: int, opened: ExitStack) -> tuple[list[str], Iterable[Any]]:
    from pyarrow import parquet

    file = parquet.ParquetFile(seekable(stream, opened), pre_buffer=False)
    names = file.schema_arrow.names
    table.check_names(names)
    return names, file.iter_batches(batch_rows, columns=table.wanted(names), use_threads=False)


def _new_writer(file: Any, schema: Any) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema)


FORMAT = arrow_format("Parquet", _open, _new_writer, suffixes=(".parquet", ".pq"), magic=(b"PAR1",))
