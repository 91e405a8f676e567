"""CSV: comma-separated values with a header."""

from __future__ import annotations

from functools import partial

from scwlearn.data.formats import Format
from scwlearn.data.tables import table_class
from scwlearn.data.writer import DelimitedWriter

FORMAT = Format(
    suffixes=(".csv",),
    reader=table_class("delimited", "DelimitedReader", b","),
    writer=partial(DelimitedWriter, ","),
    confidence=lambda line: 20 if line.count(b",") > line.count(b"\t") else 0,
    sign="a comma",
    fixed_columns=True,
)
