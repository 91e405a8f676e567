"""TSV: cells separated by tabs."""

from __future__ import annotations

from scwlearn.data.formats import Format, after_quoted_cell
from scwlearn.data.tables import table_class


def _confidence(line: bytes) -> int:
    if after_quoted_cell(line) == b"\t":
        return 45
    return 20 if line.count(b"\t") >= max(1, line.count(b",")) else 0


FORMAT = Format(
    suffixes=(".tsv", ".tab"),
    reader=table_class("delimited", "DelimitedReader", "\t"),
    writer=table_class("delimited_writer", "DelimitedWriter", "\t"),
    confidence=_confidence,
    sign="a tab",
    options=("label", "weight", "features", "header"),
    fixed_columns=True,
    cut_at="records",
)
