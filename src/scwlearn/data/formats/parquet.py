"""Parquet files."""

from __future__ import annotations

from scwlearn.data.formats import Format
from scwlearn.data.tables import arrow_class

FORMAT = Format(
    suffixes=(".parquet", ".pq"),
    reader=arrow_class("ParquetReader"),
    writer=arrow_class("ParquetWriter", "arrow_writer"),
    magic=(b"PAR1",),
    fixed_columns=True,
    count_units=arrow_class("count_parquet"),
)
