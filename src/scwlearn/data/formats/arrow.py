"""Arrow files (Feather) and streams."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from scwlearn.data.io.streams import Stream
from scwlearn.data.tables.arrow_tables import BoundedReads, arrow_format, seekable
from scwlearn.data.tables.table import Table

_FILE_MAGIC = b"ARROW1"
# A stream has no magic bytes; this is how its first message starts.
_MESSAGE_START = b"\xff\xff\xff\xff"


def _open(stream: Stream, table: Table, batch_rows: int, opened: ExitStack) -> tuple[list[str], Iterable[Any]]:
    from pyarrow import ipc

    if stream.peek(lambda head: len(head) >= len(_FILE_MAGIC)).startswith(_FILE_MAGIC):
        reader = ipc.open_file(seekable(stream, opened))
        batches = map(reader.get_batch, range(reader.num_record_batches))
    else:
        reader = batches = ipc.open_stream(BoundedReads(stream))
    names = reader.schema.names
    table.check_names(names)
    wanted = table.wanted(names)
    return names, (batch.select(wanted) for batch in batches)


def _new_writer(file: Any, schema: Any) -> Any:
    from pyarrow import ipc

    return ipc.new_file(file, schema)


FORMAT = arrow_format(
    "Arrow",
    _open,
    _new_writer,
    suffixes=(".arrow", ".arrows", ".feather", ".ipc"),
    magic=(_FILE_MAGIC, _MESSAGE_START),
)
