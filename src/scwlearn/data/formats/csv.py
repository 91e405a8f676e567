"""CSV: comma-separated values with a header."""

from __future__ import annotations

from scwlearn.data.tables.delimited import delimited_format

FORMAT = delimited_format(
    ",",
    suffixes=(".csv",),
    confidence=lambda line: 20 if line.count(b",") > line.count(b"\t") else 0,
    sign="a comma",
)
