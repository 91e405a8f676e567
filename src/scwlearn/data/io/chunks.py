"""Text in chunks of whole records, parsed ahead of the consumer by threads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import NamedTuple, TypeVar

from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions

# How long to wait for threads that block in a read (seconds). They are daemons and end when the read does.
_JOIN_TIMEOUT = 1.0

T = TypeVar("T")
R = TypeVar("R")


class TooLong(NamedTuple):
    """Beginning of a record that is too long to be kept, in place of a chunk."""

    beginning: bytes


def whole_records(
    stream: Stream,
    options: ReaderOptions,
    *,
    chunk_bytes: int,
    max_bytes: int,
    buffers: int = 1,
    last_end: Callable[[bytearray, int], int] | None = None,
) -> Generator[memoryview | TooLong, None, None]:
    """Yield chunks of whole records, each ending with a newline, until the stream ends or is stopped.

    The chunks lie in a ring of buffers: a chunk is valid until as many more chunks as there are buffers are requested.
    `options.eager` yields the records that a read has completed at once. `last_end` returns the end of the last whole
    record in the first bytes of a buffer, or 0; by default a record is a line. A record of more than `max_bytes` that
    does not fit a chunk is reported as `TooLong`; reading continues after the next newline if errors are skipped.
    """
    chunk_bytes = options.chunk_bytes or chunk_bytes
    buffer = bytearray(chunk_bytes)
    in_use: deque[bytearray] = deque()
    used = 0
    while True:
        count = stream.readinto(memoryview(buffer)[used:])
        if stream.stopped.is_set():
            return
        if not count:
            if used:
                yield memoryview(buffer[:used].removesuffix(b"\n") + b"\n")
            return
        used += count
        is_full = used == len(buffer)
        if not is_full and not (options.eager and buffer.find(b"\n", used - count, used) >= 0):
            continue
        end = last_end(buffer, used) if last_end else buffer.rfind(b"\n", 0, used) + 1
        if not end and not is_full:
            continue
        rest = buffer[end:used]
        if end:
            yield memoryview(buffer)[:end]
        elif len(buffer) >= max_bytes:
            yield TooLong(bytes(buffer[:100]))
            if not options.skips:
                return
            rest = _after_line(stream, buffer)
        # A record that fills the buffer gets a larger one until it has been read. There is always room for one byte:
        # reading none would look like the end.
        size = max(chunk_bytes if end else min(2 * len(buffer), max_bytes), len(rest) + 1)
        if end:
            in_use.append(buffer)
            buffer = in_use.popleft() if len(in_use) == buffers else bytearray(size)
        if size != len(buffer):
            buffer = bytearray(size)
        used = len(rest)
        buffer[:used] = rest


def _after_line(stream: Stream, buffer: bytearray) -> bytearray:
    """Read to the end of the line, and return what was read after it."""
    while True:
        count = stream.readinto(buffer)
        end = buffer.find(b"\n", 0, count) + 1
        if end or not count or stream.stopped.is_set():
            return buffer[end:count]


def read_ahead(
    items: Generator[T, None, None], work: Callable[[T], R], threads: int, stopped: Event
) -> Generator[R, None, None]:
    """Yield ``work(item)`` for each item in order, computed ahead of the consumer by threads.

    The threads take turns in requesting an item, and work on their items in parallel. When an item is requested, the
    consumer has received all but the last `threads` results. Without threads, the consumer does the work. Errors are
    raised in the consumer, after the results of earlier items. At the end, `stopped` is set and the items are closed.
    """
    if not threads:
        with closing(items):
            yield from map(work, items)
        return
    requests: SimpleQueue[bool] = SimpleQueue()
    promised: SimpleQueue[SimpleQueue[tuple[R | None, BaseException | None]]] = SimpleQueue()
    turn = Lock()

    def run() -> None:
        while requests.get():
            result: SimpleQueue[tuple[R | None, BaseException | None]] = SimpleQueue()
            try:
                with turn:
                    promised.put(result)
                    item = next(items, None)
                result.put((None if item is None else work(item), None))
            except BaseException as error:
                result.put((None, error))
        with turn:
            items.close()

    # Daemons, because nothing can end a blocking read when Python exits.
    workers = [Thread(target=run, name=f"scwlearn reading ahead {i}", daemon=True) for i in range(threads)]
    try:
        for worker in workers:
            worker.start()
            requests.put(True)
        while True:
            value, error = promised.get().get()
            if error is not None:
                raise error
            if value is None:
                return
            requests.put(True)
            yield value
    finally:
        stopped.set()
        for _ in workers:
            requests.put(False)
        deadline = time.monotonic() + _JOIN_TIMEOUT
        for worker in workers:
            if worker.ident is not None:
                worker.join(max(0.0, deadline - time.monotonic()))
