"""JSON lines: one object per line, whose keys name the features."""

from __future__ import annotations

import re

from scwlearn.data.formats import Format
from scwlearn.data.tables import table_class

_OBJECT = re.compile(rb'\{\s*(?:["}]|$)')

FORMAT = Format(
    suffixes=(".jsonl", ".ndjson"),
    reader=table_class("json_text", "JsonReader"),
    writer=table_class("json_writer", "JsonWriter"),
    # An object, or else what is more probably an object with an error than a word of VW text.
    confidence=lambda line: 50 if _OBJECT.match(line) else 35 if line.startswith(b"{") else 0,
    sign="{",
    cut_at="lines",
)
