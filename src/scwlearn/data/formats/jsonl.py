"""JSON lines: one object per line, whose keys name the features."""

from __future__ import annotations

from scwlearn.data.formats import Format
from scwlearn.data.tables import table_class

FORMAT = Format(
    suffixes=(".jsonl", ".ndjson"),
    reader=table_class("json_text", "JsonReader"),
    writer=table_class("json_text", "JsonWriter"),
    confidence=lambda line: 50 if line.startswith(b"{") else 0,
    sign="{",
    cut_at="lines",
)
