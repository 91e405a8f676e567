"""TSV: tab-separated values with a header."""

from __future__ import annotations

from scwlearn.data.tables.delimited import delimited_format

FORMAT = delimited_format(
    "\t",
    suffixes=(".tsv", ".tab"),
    confidence=lambda line: 20 if line.count(b"\t") >= max(1, line.count(b",")) else 0,
    sign="a tab",
)
