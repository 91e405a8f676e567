"""CSV: cells separated by commas, semicolons, bars or tabs."""

from __future__ import annotations

from functools import partial

from scwlearn.data.formats import Format
from scwlearn.data.tables import table_class
from scwlearn.data.writer import DelimitedWriter

FORMAT = Format(
    suffixes=(".csv",),
    reader=table_class("delimited", "DelimitedReader", None),
    writer=partial(DelimitedWriter, ","),
    confidence=lambda line: 20 if max(map(line.count, (b",", b";", b"|"))) > line.count(b"\t") else 0,
    sign="a comma, semicolon or bar",
    options=("label", "weight", "features", "header", "delimiter"),
    fixed_columns=True,
    cut_at="records",
)
