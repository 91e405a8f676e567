"""Text in chunks of whole lines, and what is made of them ahead of time: for files of any size, pipes, terminals."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import NamedTuple, TypeVar

from scwlearn.data.io.streams import Source, Stream, open_source

# How long to wait, when nobody wants more, for threads that are held up by a read (seconds): they end by themselves
# when the read does.
_PATIENCE = 1.0

T = TypeVar("T")
R = TypeVar("R")


class LongLine(NamedTuple):
    """What stands in place of a line that is too long to be kept: how it begins."""

    beginning: bytes


def whole_lines(
    source: Source,
    chunk_bytes: int,
    max_line_bytes: int,
    stopped: Event,
    *,
    buffers: int = 1,
    eager: bool = False,
    behind_long: bool = False,
) -> Generator[memoryview | LongLine, None, None]:
    """Chunks of whole lines, each ending with a newline, until the file ends or `stopped` is set.

    They lie in a ring of buffers: a chunk is good until, after it, as many are asked for as there are buffers. A chunk
    is as much as fits, or, if eager, as many lines as a read has ended. A line that is too long is the last thing that
    comes, unless it is to go on behind it.
    """
    with open_source(source, stopped) as stream:
        buffer = bytearray(chunk_bytes)
        in_use: deque[bytearray] = deque()
        used = 0
        while True:
            count = stream.readinto(memoryview(buffer)[used:])
            if stopped.is_set():
                return
            if not count:
                if used:
                    yield memoryview(buffer[:used].removesuffix(b"\n") + b"\n")
                return
            used += count
            if used < len(buffer) and not (eager and buffer.find(b"\n", used - count, used) >= 0):
                continue
            end = buffer.rfind(b"\n", 0, used) + 1
            rest = buffer[end:used]
            if end:
                yield memoryview(buffer)[:end]
            elif len(buffer) >= max_line_bytes:
                yield LongLine(bytes(buffer[:100]))
                if not behind_long:
                    return
                rest = _behind_line(stream, buffer, stopped)
            # A line that fills the buffer gets a larger one, until it has been read. There is always room for a byte:
            # to read none would look like the end.
            size = max(chunk_bytes if end else min(2 * len(buffer), max_line_bytes), len(rest) + 1)
            if end:
                in_use.append(buffer)
                buffer = in_use.popleft() if len(in_use) == buffers else bytearray(size)
            if size != len(buffer):
                buffer = bytearray(size)
            used = len(rest)
            buffer[:used] = rest


def _behind_line(stream: Stream, buffer: bytearray, stopped: Event) -> bytearray:
    """Reads to the end of a line, and returns what was read behind it."""
    while True:
        count = stream.readinto(buffer)
        end = buffer.find(b"\n", 0, count) + 1
        if end or not count or stopped.is_set():
            return buffer[end:count]


def work_ahead(
    items: Generator[T, None, None], work: Callable[[T], R], threads: int, stopped: Event
) -> Generator[R, None, None]:
    """What `work` makes of the items, in their order, as many ahead of the consumer as there are threads.

    The threads take turns in asking for an item, and work on theirs at the same time; when one is asked for, the
    consumer has all but the last `threads` before it. No threads: the consumer does it all. Errors are raised at the
    consumer, after what was made of the items before. However it ends, `stopped` is set and the items are closed.
    """
    if not threads:
        with closing(items):
            yield from map(work, items)
        return
    wanted: SimpleQueue[bool] = SimpleQueue()
    promised: SimpleQueue[SimpleQueue[tuple[R | None, BaseException | None]]] = SimpleQueue()
    asking = Lock()

    def make() -> None:
        while wanted.get():
            made: SimpleQueue[tuple[R | None, BaseException | None]] = SimpleQueue()
            try:
                with asking:
                    promised.put(made)
                    item = next(items, None)
                made.put((None if item is None else work(item), None))
            except BaseException as error:
                made.put((None, error))
        with asking:
            items.close()

    # Not waited for when Python ends: nothing may be able to end a read.
    workers = [Thread(target=make, name=f"scwlearn reading ahead {i}", daemon=True) for i in range(threads)]
    try:
        for worker in workers:
            worker.start()
            wanted.put(True)
        while True:
            result, error = promised.get().get()
            if error is not None:
                raise error
            if result is None:
                return
            wanted.put(True)
            yield result
    finally:
        stopped.set()
        for _ in workers:
            wanted.put(False)
        until = time.monotonic() + _PATIENCE
        for worker in workers:
            if worker.ident is not None:
                worker.join(max(0.0, until - time.monotonic()))
