"""Readers of data formats: a stream is cut into chunks, which threads parse and which become batches in order."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from mmap import mmap
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.exit import stopped_at_exit
from scwlearn._util.memory import new_memory, receive, start_thread
from scwlearn._util.threads import allowed_threads
from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import DataError, NoExamples, shown
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema

#: Size of the text that shows the schema, whatever the size of a chunk.
SAMPLE_BYTES = 2**19
# How long to wait for threads that block in a read (seconds). They are daemons and end when the read does.
_JOIN_TIMEOUT = 1.0

# Size of a chunk whose records have many more features than words: a batch must fit into memory.
_CHUNK_OF_MANY_FEATURES = 2**16

#: Kind, line, column and excerpt of an error of a native parser.
NativeError = tuple[str, int, int, bytes]
T = TypeVar("T")
R = TypeVar("R")


class Parsed(NamedTuple):
    """Examples of a chunk, whose lines count from the beginning of the chunk."""

    batches: Iterable[Batch]
    #: Number of lines of the chunk.
    lines: int
    #: Errors of the first records that are left out, in order, and the number of others.
    errors: Sequence[DataError] = ()
    more_errors: int = 0
    #: Why nothing after the chunk can be read.
    broken: DataError | None = None
    #: Places of all records of a table that are left out.
    bad: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    #: Number of examples that are left out because they have no label.
    unlabelled: int = 0
    #: Parses what is left of a chunk whose examples fill more than one batch; called when these have been consumed.
    rest: Callable[[], Parsed] | None = None


class TooLong(NamedTuple):
    """Beginning of a record that is too long to be kept, in place of a chunk."""

    beginning: bytes


class Reader(ABC):
    """Reader of one stream, by default of text with one example per line."""

    #: What the stream should contain, if it has no examples.
    expected = ""
    #: Size of a chunk, unless the options set it.
    chunk_bytes = 2**20
    #: More threads parse faster than one of them can read.
    max_threads = 8
    #: Whether a record may have no line, or several: then records are counted to say which are left out.
    is_table = False
    #: Kind of the labels, if the first one after the records that show the schema has decided it.
    decided_labels: str | None = None
    #: Whether the schema is complete. Until then, chunks are parsed one after the other.
    is_resolved = True

    def __init__(self, stream: Stream, schema: Schema, options: ReaderOptions) -> None:
        self.stream, self.schema, self.options = stream, schema, options
        if schema.features.interactions or schema.features.ngram > 2:
            self.chunk_bytes = min(self.chunk_bytes, _CHUNK_OF_MANY_FEATURES)
        self.threads = min(allowed_threads(), self.max_threads) if options.read_ahead else 0
        #: What follows the chunk that is parsed, until the schema is complete; its last record may be cut.
        self.ahead = b""
        #: Longest record.
        self.max_bytes = options.max_line_bytes

    @property
    def flags(self) -> tuple[bool, bool, int]:
        """Arguments of native parsers: whether labels are optional and errors skipped; how many errors to describe."""
        options = self.options
        return options.optional_labels, options.skips, max(options.skipped.keep, 1) if options.skips else 1

    @abstractmethod
    def parse(self, chunk: Any) -> Parsed:
        """Parse a chunk, in parallel with others; raise a DataError if reading cannot continue after it."""

    def read(self) -> Generator[Any, None, None]:
        """Yield the schema as soon as it is complete, then the batches.

        An error is raised after the examples before it, whether it is in a record or in the stream, such as truncated
        gzip data.
        """
        skips, skipped, name = self.options.skips, self.options.skipped, self.stream.name
        lines = bad = 0
        found = is_announced = False
        skipped.begin()
        try:
            with closing(self._parsed()) as results:
                for batches, count, errors, more, broken, bad_places, unlabelled, _ in results:
                    if self.is_resolved and not is_announced:
                        is_announced = True
                        yield self.schema
                    skipped.unlabelled += unlabelled
                    if skips:
                        for error in errors:
                            skipped.add(error.at(name, lines))
                        skipped.count += more
                        skipped.leave_out(bad_places + lines)
                    for batch in batches:
                        if errors and not skips:
                            batch = batch.slice(0, int(np.searchsorted(batch.lines, errors[0].line)))
                        if len(batch):
                            found = True
                            yield replace(batch, lines=batch.lines + lines)
                    if errors and not skips:
                        raise errors[0]
                    if broken is not None:
                        raise broken
                    lines += count
                    skipped.reach(None if self.is_table else lines)
                    bad += len(errors) + more
        except DataError as error:
            error.at(name, lines)
            raise
        if not found:
            unread = f" ({bad} records could not be read)" if bad else ""
            raise NoExamples(f"no examples{unread}; {self.expected}", source=name)

    def _parsed(self) -> Generator[Parsed, None, None]:
        with closing(self._parsed_chunks()) as results:
            for parsed in results:
                yield parsed
                while (rest := parsed.rest) is not None:
                    # Not ahead: a few bytes may have many features.
                    del parsed
                    parsed = rest()
                    yield parsed

    def _parsed_chunks(self) -> Generator[Parsed, None, None]:
        chunks = self.chunks()
        # If the schema is complete, it is announced by nothing, once threads have begun to read ahead.
        first = [Parsed((), 0)] if self.is_resolved else []
        while not self.is_resolved:
            chunk = next(chunks, None)
            if chunk is None:
                return
            first.append(self._parse(chunk))
            if not self.is_resolved:
                yield first.pop()
        yield from read_ahead(chunks, self._parse, self.threads, self.stream.stopped, first)

    def _parse(self, chunk: Any) -> Parsed:
        return Parsed((), 1, [self.too_long(chunk.beginning)]) if isinstance(chunk, TooLong) else self.parse(chunk)

    def too_long(self, beginning: bytes) -> DataError:
        """Return the error of a record that is too long, or raise it if reading cannot continue after it."""
        hint = "raise the limit with {max_line_bytes}"
        return DataError(f"a line has at most {self.max_bytes} bytes", found=shown(beginning), line=1, hint=hint)

    def last_end(self, buffer: mmap, used: int) -> int:
        """Return the end of the last whole record in the first bytes of a buffer, or 0."""
        return buffer.rfind(b"\n", 0, used) + 1

    def may_begin(self, text: memoryview) -> bool:
        """Return whether an eager reader may parse the beginning of its text without waiting for a whole chunk."""
        return True

    def _look_ahead(self, size: int, rest: bytes) -> bytes:
        """Return what follows a chunk, of which `rest` is in memory, as far as it shows the schema."""
        if self.is_resolved or self.options.eager:
            return b""
        following = rest + self.stream.ahead(max(0, SAMPLE_BYTES - size - len(rest)))
        return following + b"\n" if size + len(following) < SAMPLE_BYTES else following

    def chunks(self) -> Generator[Any, None, None]:
        """Yield chunks of whole records, each ending with a newline, until the stream ends, fails or is stopped.

        The chunks lie in a ring of buffers: a chunk is valid until as many more chunks as there are threads are
        requested. A record of more than `max_bytes` that does not fit a chunk is reported as `TooLong`; reading
        continues after the next newline if errors are skipped.
        """
        stream, options = self.stream, self.options
        chunk_bytes = options.chunk_bytes or self.chunk_bytes
        # What shows the schema is parsed before threads can help.
        buffer = new_memory(chunk_bytes if self.is_resolved else min(chunk_bytes, SAMPLE_BYTES))
        in_use: deque[mmap] = deque()
        used, has_begun = 0, False
        while True:
            try:
                count = stream.readinto(memoryview(buffer)[used:])
            except (DataError, OSError):
                if end := self.last_end(buffer, used):
                    yield memoryview(buffer)[:end]
                raise
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
            has_begun = has_begun or is_full or self.may_begin(memoryview(buffer)[:used])
            if not has_begun:
                continue
            end = self.last_end(buffer, used)
            if not end and not is_full:
                continue
            rest = buffer[end:used]
            if end:
                self.ahead = self._look_ahead(end, rest)
                yield memoryview(buffer)[:end]
                self.ahead = b""
            elif len(buffer) >= self.max_bytes:
                yield TooLong(bytes(buffer[:100]))
                if not options.skips:
                    return
                rest = _after_line(stream, buffer)
            # A record that fills the buffer gets a larger one until it has been read. There is always room for one
            # byte: reading none would look like the end.
            size = max(chunk_bytes if end else min(2 * len(buffer), self.max_bytes), len(rest) + 1)
            if end:
                in_use.append(buffer)
                buffer = in_use.popleft() if len(in_use) == max(self.threads, 1) else new_memory(size)
            if size != len(buffer):
                buffer = new_memory(size)
            used = len(rest)
            buffer[:used] = rest


def rest_of(text: NDArray[np.uint8], used: NDArray[np.int64]) -> NDArray[np.uint8] | None:
    """Return what is left of a text, of which a native parser has used some bytes; None if that is nothing."""
    return text[int(used[0]) :].copy() if used[0] < len(text) else None


def _after_line(stream: Stream, buffer: mmap) -> bytes:
    """Read to the end of the line, and return what was read after it."""
    while True:
        count = stream.readinto(buffer)
        end = buffer.find(b"\n", 0, count) + 1
        if end or not count or stream.stopped.is_set():
            return buffer[end:count]


class LineReader(Reader):
    """Reader of text that native code parses."""

    # Large enough that Python costs nothing, small enough that a few chunks take little memory.
    chunk_bytes = 4 * 2**20

    @abstractmethod
    def problem(self, kind: str) -> dict[str, str]:
        """Return the problem and the hint for an error of the parser."""

    def parsed(self, batches: Iterable[Batch], lines: int, bad: tuple[int, list[NativeError]]) -> Parsed:
        """Return what the parser found: examples, lines, and the number of bad lines with the first errors."""
        count, first = bad
        errors = [
            DataError(**self.problem(kind), found=shown(text), line=line, column=column)
            for kind, line, column, text in first
        ]
        return Parsed(batches, lines, errors, count - len(errors))


def read_ahead(
    items: Generator[T, None, None], work: Callable[[T], R], threads: int, stopped: Event, first: Iterable[R] = ()
) -> Generator[R, None, None]:
    """Yield the results in `first`, then ``work(item)`` for each item in order, computed ahead by threads.

    The threads take turns in requesting an item, and work on their items in parallel. When an item is requested, the
    consumer has received all but the last `threads` results. Without threads, the consumer does the work. Errors are
    raised in the consumer, after the results of earlier items. At the end, `stopped` is set and the items are closed.
    A process that is forked meanwhile gets no more results.
    """
    if not threads:
        with closing(items):
            yield from first
            yield from map(work, items)
        return
    requests: SimpleQueue[bool] = SimpleQueue()
    promised: SimpleQueue[SimpleQueue[tuple[R | None, BaseException | None]]] = SimpleQueue()
    turn, process = Lock(), os.getpid()

    def run() -> None:
        # A thread that has no memory even to say so ends, which the consumer notices.
        with suppress(MemoryError):
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
    started: list[Thread] = []

    def stop() -> None:
        stopped.set()
        for _ in started:
            requests.put(False)
        deadline = time.monotonic() + _JOIN_TIMEOUT
        for worker in started:
            worker.join(max(0.0, deadline - time.monotonic()))

    try:
        with stopped_at_exit(stop):
            for worker in workers:
                if not start_thread(worker):
                    break
                started.append(worker)
                requests.put(True)
            yield from first
            if not started:
                with closing(items):
                    yield from map(work, items)
                return
            while True:
                if os.getpid() != process:
                    # Its file is read by the threads of the other process.
                    raise RuntimeError(
                        "these batches are read ahead by threads, which a forked process does not have; begin to read "
                        "after the fork, or without read_ahead"
                    )
                value, error = receive(receive(promised, started), started)
                if error is not None:
                    raise error
                if value is None:
                    return
                requests.put(True)
                yield value
    finally:
        stop()
