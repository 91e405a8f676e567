"""Line formats: text parsed chunk by chunk, ahead of who works on it; faults raised or counted, with their place."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.io.chunks import LongLine, whole_lines, work_ahead
from scwlearn.data.io.errors import DataError, excerpt, line_too_long
from scwlearn.data.io.streams import Source, name_of, stop_of
from scwlearn.data.options import ReaderOptions

#: Long enough that Python costs nothing, short enough that few of them are soon done and take little memory.
CHUNK_BYTES = 4 * 2**20


class FoundFault(NamedTuple):
    """What a parser found: its kind, its line in the chunk and its column, from 1, and what stands there."""

    kind: str
    line: int
    column: int
    found: bytes


class Parsed(NamedTuple):
    """What a parser made of a chunk: how many lines and examples it has, how many lines are at fault, and the first."""

    lines: int
    rows: int
    faulty: int
    faults: Iterable[FoundFault]
    made: Any


def parsed_chunks(
    source: Source,
    parse: Callable[[NDArray[np.uint8], Any], Parsed],
    fault: Callable[..., DataError],
    line_form: str,
    options: ReaderOptions,
    *,
    before: Callable[[NDArray[np.uint8]], Any] = lambda text: None,
) -> Generator[tuple[Any, int], None, None]:
    """What `parse` made of each chunk that has examples, and how many lines were before it.

    `fault` makes the error of a kind,  and `line_form` how a line looks. Chunks are parsed
    at the same time; what has to be known of those before is found out by `before`, which sees one after the other, and
    given to `parse`.
    """
    name = name_of(source)
    rows_before = lines_before = 0
    faulty = 0
    with closing(_parsed(source, parse, before, options)) as chunks:
        for parsed in chunks:
            if isinstance(parsed, LongLine):
                found = [line_too_long(name, lines_before + 1, options.max_line_bytes, parsed.beginning)]
                parsed = Parsed(1, 0, 1, (), None)
            else:
                found = [
                    fault(kind, found=excerpt(text), source=name, line=lines_before + line, column=column)
                    for kind, line, column, text in parsed.faults
                ]
            faulty += parsed.faulty
            rows_before += parsed.rows
            if options.skips:
                options.drop(found)
                options.skipped.count += parsed.faulty - len(found)
            if parsed.rows:
                yield parsed.made, lines_before
            if not options.skips:
                # The parser stopped there: what it has made stands before it.
                options.drop(found)
            lines_before += parsed.lines
    if not rows_before:
        bad = f" ({faulty} of its lines could not be read)" if faulty else ""
        raise DataError(f"no examples{bad}; a line is {line_form}", source=name)


def _parsed(
    source: Source,
    parse: Callable[[NDArray[np.uint8], Any], Parsed],
    before: Callable[[NDArray[np.uint8]], Any],
    options: ReaderOptions,
) -> Generator[Parsed | LongLine, None, None]:
    stopped, threads = stop_of(source), options.threads()

    def in_order() -> Generator[tuple[NDArray[np.uint8], Any] | LongLine, None, None]:
        chunks = whole_lines(
            source,
            options.chunk_bytes or CHUNK_BYTES,
            options.max_line_bytes,
            stopped,
            buffers=max(threads, 1),
            eager=options.eager,
            behind_long=options.skips,
        )
        with closing(chunks):
            for chunk in chunks:
                if isinstance(chunk, LongLine):
                    yield chunk
                else:
                    text = np.frombuffer(chunk, dtype=np.uint8)
                    yield text, before(text)

    def work(item: tuple[NDArray[np.uint8], Any] | LongLine) -> Parsed | LongLine:
        return item if isinstance(item, LongLine) else parse(*item)

    with closing(work_ahead(in_order(), work, threads, stopped)) as results:
        yield from results
