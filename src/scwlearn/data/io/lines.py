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
    parse: Callable[..., Parsed],
    *,
    errors: Callable[[str], dict[str, Any]],
    line_format: str,
    state: Callable[[Text], Any] | None = None,
) -> Generator[tuple[Any, int], None, None]:
    """Yield the parsed content of each chunk that has examples, and the number of lines before it.

    `parse` runs in parallel; what `state` returns for each chunk, in order, is passed to it. `errors` returns fields
    of a DataError, given the kind of an error of the parser. `line_format` is shown if there are no examples.
    """
    threads, skips, most = options.threads(), options.skips, options.max_line_bytes
    chunks = whole_records(stream, options, chunk_bytes=_CHUNK_BYTES, max_bytes=most, buffers=max(threads, 1))

    def work(chunk: Any) -> Parsed | TooLong:
        if isinstance(chunk, TooLong):
            return chunk
        return parse(np.frombuffer(chunk, dtype=np.uint8)) if state is None else parse(*chunk)

    examples = bad_lines = lines = 0
    with closing(read_ahead(_with_state(chunks, state) if state else chunks, work, threads, stream.stopped)) as results:
        for parsed in results:
            found: list[DataError] = []
            if isinstance(parsed, TooLong):
                found = [line_too_long(stream.name, lines + 1, most, parsed.beginning)]
                parsed = Parsed(None, 0, 1, 1, [])
            for kind, line, column, text in parsed.errors:
                place: dict[str, Any] = {"line": lines + line, "column": column}
                found.append(DataError(**errors(kind), found=excerpt(text), source=stream.name, **place))
            examples += parsed.examples
            bad_lines += parsed.bad_lines
            if skips:
                options.handle(found)
                options.skipped.count += parsed.bad_lines - len(found)
            if parsed.examples:
                yield parsed.content, lines
            if found and not skips:
                # The parser stopped at the error: the content precedes it.
                raise found[0]
            lines += parsed.lines
    if not examples:
        unread = f" ({bad_lines} lines could not be read)" if bad_lines else ""
        raise DataError(f"no examples{unread}; a line is {line_format}", source=stream.name)


def _with_state(
    chunks: Generator[memoryview | TooLong, None, None], state: Callable[[Text], Any]
) -> Generator[tuple[Text, Any] | TooLong, None, None]:
    for chunk in chunks:
        if isinstance(chunk, TooLong):
            yield chunk
        else:
            text = np.frombuffer(chunk, dtype=np.uint8)
            yield text, state(text)
