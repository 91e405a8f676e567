"""JSON arrays: a list of objects, whose keys name the features."""

from __future__ import annotations

import re

from scwlearn.data.formats import Format
from scwlearn.data.tables import table_class

_RECORDS = re.compile(rb'\[\s*+(?:\{\s*+(?:["}]|$)|\]?\s*+$)')
# A list of numbers may be the first line of a table.
_START = re.compile(rb"\[\s*(?:[\[{\]]|$)")

FORMAT = Format(
    suffixes=(".json",),
    reader=table_class("json_text", "JsonArrayReader"),
    writer=table_class("json_writer", "JsonArrayWriter"),
    confidence=lambda line: 50 if _RECORDS.match(line) else 35 if _START.match(line) else 0,
    sign="[{",
)
