"""TSV: cells separated by tabs."""

from __future__ import annotations

from functools import partial

from scwlearn.data.formats import Format
from scwlearn.data.tables import table_class
from scwlearn.data.writer import DelimitedWriter

FORMAT = Format(
    suffixes=(".tsv", ".tab"),
    reader=table_class("delimited", "DelimitedReader", "\t"),
    writer=partial(DelimitedWriter, "\t"),
    confidence=lambda line: 20 if line.count(b"\t") >= max(1, line.count(b",")) else 0,
    sign="a tab",
    options=("label", "weight", "features", "header"),
    fixed_columns=True,
    cut_at="records",
)
