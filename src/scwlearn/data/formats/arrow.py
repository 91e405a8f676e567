"""Arrow files (Feather) and streams."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from scwlearn.data.formats import Format
from scwlearn.data.tables.arrow_tables import ArrowReader, ArrowWriter, BoundedReads

_FILE_MAGIC = b"ARROW1"
# A stream has no magic bytes; this is how its first message starts.
_MESSAGE_START = b"\xff\xff\xff\xff"


class _Reader(ArrowReader):
    def record_batches(self, opened: ExitStack) -> Iterable[Any]:
        """Open the file or stream."""
        from pyarrow import ipc

        if self.stream.peek(lambda head: len(head) >= len(_FILE_MAGIC)).startswith(_FILE_MAGIC):
            reader = ipc.open_file(self.seekable(opened))
            batches = map(reader.get_batch, range(reader.num_record_batches))
        else:
            reader = batches = ipc.open_stream(BoundedReads(self.stream))
        self.set_names(reader.schema.names)
        wanted = self.wanted()
        return (batch.select(wanted) for batch in batches)


class _Writer(ArrowWriter):
    def new_writer(self, file: Any, schema: Any) -> Any:
        """Return Arrow's writer."""
        from pyarrow import ipc

        return ipc.new_file(file, schema)


FORMAT = Format(
    suffixes=(".arrow", ".arrows", ".feather", ".ipc"),
    reader=_Reader,
    writer=_Writer,
    magic=(_FILE_MAGIC, _MESSAGE_START),
    fixed_columns=True,
)
