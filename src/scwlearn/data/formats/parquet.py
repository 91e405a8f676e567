"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from scwlearn.data.formats import Format
from scwlearn.data.tables.arrow_tables import ArrowReader, ArrowWriter


class _Reader(ArrowReader):
    def record_batches(self, opened: ExitStack) -> Iterable[Any]:
        """Open the file."""
        from pyarrow import parquet

        file = parquet.ParquetFile(self.seekable(opened), pre_buffer=False)
        self.set_names(file.schema_arrow.names)
        batches: Iterable[Any] = file.iter_batches(self.options.batch_rows, columns=self.wanted(), use_threads=False)
        return batches


class _Writer(ArrowWriter):
    def new_writer(self, file: Any, schema: Any) -> Any:
        """Return Arrow's writer."""
        from pyarrow import parquet

        return parquet.ParquetWriter(file, schema)


FORMAT = Format(
    suffixes=(".parquet", ".pq"),
    reader=_Reader,
    writer=_Writer,
    magic=(b"PAR1",),
    fixed_columns=True,
)
