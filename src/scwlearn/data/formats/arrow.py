"""Arrow files (Feather) and streams."""

from __future__ import annotations

from scwlearn.data.formats import Format
from scwlearn.data.tables import arrow_class

FORMAT = Format(
    suffixes=(".arrow", ".arrows", ".feather", ".ipc"),
    reader=arrow_class("ArrowReader"),
    writer=arrow_class("ArrowWriter", "arrow_writer"),
    # A stream has no magic bytes; the second are how its first message starts.
    magic=(b"ARROW1", b"\xff\xff\xff\xff"),
    fixed_columns=True,
    count_units=arrow_class("count_arrow"),
    count_rows=arrow_class("count_arrow_rows"),
)
