"""JSON lines: one object per line, whose keys name the features."""

from __future__ import annotations

from scwlearn.data.formats import Format
from scwlearn.data.tables.json_text import JsonReader, JsonWriter

FORMAT = Format(
    suffixes=(".jsonl", ".ndjson"),
    reader=JsonReader,
    writer=JsonWriter,
    confidence=lambda line: 50 if line.startswith(b"{") else 0,
    sign="{",
)
