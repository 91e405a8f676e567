"""Formats with one example per line, parsed chunk by chunk by native code."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.io.chunks import TooLong, read_ahead, whole_records
from scwlearn.data.io.errors import DataError, excerpt, line_too_long
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions

# Large enough that Python costs nothing, small enough that a few chunks take little memory.
_CHUNK_BYTES = 4 * 2**20

Text = NDArray[np.uint8]


class Parsed(NamedTuple):
    """Result of parsing a chunk of lines."""

    content: Any
    #: Number of examples, of lines, and of lines with an error.
    examples: int
    lines: int
    bad_lines: int
    #: Kind, line, column and excerpt of the first errors.
    errors: list[tuple[str, int, int, bytes]]


def parse_lines(
    stream: Stream,
    options: ReaderOptions,
    parse: Callable[[Text, Any], Parsed],
    *,
    errors: Callable[[str], dict[str, str]],
    line_format: str,
    state: Callable[[Text], Any] = lambda text: None,
) -> Generator[tuple[Any, int], None, None]:
    """Yield the parsed content of each chunk that has examples, and the number of lines before it.

    Parameters
    ----------
    stream : Stream
        The text.
    options : ReaderOptions
        Options of the reader.
    parse : callable
        Parses a chunk, in parallel with others.
    errors : callable
        Returns the `problem` and perhaps the `hint` of a DataError, given the kind of an error.
    line_format : str
        What a line looks like, for the message that there are no examples.
    state : callable
        Sees the chunks in order; what it returns for a chunk is passed to `parse`.
    """
    threads = options.threads()

    def chunks() -> Generator[tuple[Text, Any] | TooLong, None, None]:
        most, buffers = options.max_line_bytes, max(threads, 1)
        for chunk in whole_records(stream, options, chunk_bytes=_CHUNK_BYTES, max_bytes=most, buffers=buffers):
            if isinstance(chunk, TooLong):
                yield chunk
            else:
                text = np.frombuffer(chunk, dtype=np.uint8)
                yield text, state(text)

    def work(chunk: tuple[Text, Any] | TooLong) -> Parsed | TooLong:
        return chunk if isinstance(chunk, TooLong) else parse(*chunk)

    examples = bad_lines = lines = 0
    with closing(read_ahead(chunks(), work, threads, stream.stopped)) as results:
        for parsed in results:
            if isinstance(parsed, TooLong):
                found = [line_too_long(stream.name, lines + 1, options.max_line_bytes, parsed.beginning)]
                parsed = Parsed(None, 0, 1, 1, [])
            else:
                found = [
                    DataError(**errors(kind), found=excerpt(text), source=stream.name, line=lines + line, column=column)
                    for kind, line, column, text in parsed.errors
                ]
            examples += parsed.examples
            bad_lines += parsed.bad_lines
            if options.skips:
                options.handle(found)
                options.skipped.count += parsed.bad_lines - len(found)
            if parsed.examples:
                yield parsed.content, lines
            if found and not options.skips:
                # The parser stopped at the error: the content precedes it.
                raise found[0]
            lines += parsed.lines
    if not examples:
        unread = f" ({bad_lines} lines could not be read)" if bad_lines else ""
        raise DataError(f"no examples{unread}; a line is {line_format}", source=stream.name)
