"""Arrow files (Feather) and streams."""

from __future__ import annotations

from scwlearn.data.formats import Format
from scwlearn.data.tables import table_class

FORMAT = Format(
    suffixes=(".arrow", ".arrows", ".feather", ".ipc"),
    reader=table_class("arrow_tables", "ArrowReader"),
    writer=table_class("arrow_tables", "ArrowWriter"),
    # A stream has no magic bytes; the second are how its first message starts.
    magic=(b"ARROW1", b"\xff\xff\xff\xff"),
    fixed_columns=True,
)
