"""Parquet files."""

from __future__ import annotations

from scwlearn.data.formats import Format
from scwlearn.data.tables import table_class

FORMAT = Format(
    suffixes=(".parquet", ".pq"),
    reader=table_class("arrow_tables", "ParquetReader"),
    writer=table_class("arrow_tables", "ParquetWriter"),
    magic=(b"PAR1",),
    fixed_columns=True,
)
