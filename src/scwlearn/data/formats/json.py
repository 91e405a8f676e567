"""JSON arrays: a list of objects, whose keys name the features."""

from __future__ import annotations

import re

from scwlearn.data.formats import Format
from scwlearn.data.tables.json_text import JsonArrayReader, JsonArrayWriter

# A list of numbers may be the first line of a table.
_START = re.compile(rb"\[\s*(?:[\[{\]]|$)")

FORMAT = Format(
    suffixes=(".json",),
    reader=JsonArrayReader,
    writer=JsonArrayWriter,
    confidence=lambda line: 50 if _START.match(line) else 0,
    sign="[{",
)
