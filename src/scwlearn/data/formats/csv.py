"""CSV: cells separated by commas, semicolons, bars or tabs."""

from __future__ import annotations

from scwlearn.data.formats import Format, after_quoted_cell
from scwlearn.data.tables import table_class


def _confidence(line: bytes) -> int:
    if after_quoted_cell(line) in (b",", b";", b""):
        return 45
    return 20 if max(map(line.count, (b",", b";", b"|"))) > line.count(b"\t") else 0


FORMAT = Format(
    suffixes=(".csv",),
    reader=table_class("delimited", "DelimitedReader", None),
    writer=table_class("delimited_writer", "DelimitedWriter", ","),
    confidence=_confidence,
    sign="a comma, semicolon or bar",
    options=("label", "weight", "features", "header", "delimiter"),
    fixed_columns=True,
    cut_at="records",
)
