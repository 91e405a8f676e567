"""Text in chunks of whole lines, and what is made of them ahead of time: for files of any size, pipes, terminals."""

from __future__ import annotations

import io
import os
import select
import stat
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, nullcontext
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, BinaryIO, TypeVar

Source = str | os.PathLike[str] | BinaryIO

# How long to wait at a time for a pipe that has nothing to say (milliseconds), and, when nobody wants more, for
# threads that are held up by a read (seconds): they end by themselves when the read does.
_WAIT = 100
_PATIENCE = 1.0

T = TypeVar("T")
R = TypeVar("R")


class LongLineError(ValueError):
    """A line that is too long to be kept; `beginning` is how it begins."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__("a line is too long")
        self.beginning = beginning


def check_source(source: Any) -> None:
    """A TypeError for what is neither a path nor a binary file."""
    if isinstance(source, io.TextIOBase):
        raise TypeError("source is a file in text mode; open it with mode='rb' or pass its .buffer")
    if not (isinstance(source, str | os.PathLike) or hasattr(source, "read")):
        raise TypeError(f"source must be a path or a binary file, got {source!r}")


def name_of(source: Source) -> str:
    """What to call a source in a message."""
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
    return name if isinstance(name, str) else "the file"


def whole_lines(
    source: Source, chunk_bytes: int, max_line_bytes: int, stopped: Event, *, buffers: int = 1
) -> Generator[memoryview, None, None]:
    """Chunks of whole lines, each ending with a newline, until the file ends or `stopped` is set.

    They lie in a ring of buffers: a chunk is good until, after it, as many are asked for as there are buffers.
    """
    with _opened(source) as file:
        read = _reader(file, stopped)
        buffer = bytearray(chunk_bytes)
        in_use: deque[bytearray] = deque()
        used = 0
        while True:
            count = read(memoryview(buffer)[used:])
            if stopped.is_set():
                return
            used += count
            if not count:
                if used:
                    yield memoryview(buffer[:used].removesuffix(b"\n") + b"\n")
                return
            if used < len(buffer):
                continue
            end = buffer.rfind(b"\n") + 1
            if end:
                yield memoryview(buffer)[:end]
            elif len(buffer) >= max_line_bytes:
                raise LongLineError(bytes(buffer[:100]))
            # A line that fills the buffer gets a larger one, until it has been read. There is always room for a byte:
            # to read none would look like the end.
            rest = buffer[end:]
            size = max(chunk_bytes if end else min(2 * len(buffer), max_line_bytes), len(rest) + 1)
            if end:
                in_use.append(buffer)
                buffer = in_use.popleft() if len(in_use) == buffers else bytearray(size)
            if size != len(buffer):
                buffer = bytearray(size)
            used = len(rest)
            buffer[:used] = rest


def _opened(source: Source) -> AbstractContextManager[Any]:
    return open(source, "rb", buffering=0) if isinstance(source, str | os.PathLike) else nullcontext(source)


def _reader(file: Any, stopped: Event) -> Callable[[memoryview], int]:
    """A function that reads into memory and answers how much: 0 at the end of the file, and when stopped."""
    into = getattr(file, "readinto", None)
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    can_wait = isinstance(raw, io.FileIO) and not stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
    poll = select.poll() if can_wait and hasattr(select, "poll") else None
    if poll is not None:
        # A thread that waits inside a read cannot be stopped, and Python aborts at its end if it finds one in
        # standard input. So we wait outside, and read what is there.
        poll.register(raw, select.POLLIN)
        into = getattr(file, "readinto1", into)

    def read(memory: memoryview) -> int:
        while poll is not None and not poll.poll(_WAIT):
            if stopped.is_set():
                return 0
        if into is not None:
            count = into(memory)
        else:
            data = file.read(len(memory))
            count = None if data is None else len(data)
            memory[: count or 0] = data or b""
        if count is None:
            raise BlockingIOError(f"{name_of(file)} does not wait for more to read; open it in blocking mode")
        return int(count)

    return read


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
