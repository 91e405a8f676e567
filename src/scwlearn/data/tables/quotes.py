"""Quoted cells of delimited text: where records end, and the line on which each starts.

A quote opens a cell only at its start, as in all CSV readers; a quote inside a quoted cell is doubled.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


class QuotedCells(NamedTuple):
    """Offsets of the first and last quotes of quoted cells, and of the first quote of a cell that is not closed."""

    begins: NDArray[np.intp]
    ends: NDArray[np.intp]
    open: int | None

    def are_outside(self, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which offsets are not inside quoted cells."""
        return np.asarray(np.searchsorted(self.begins, places) == np.searchsorted(self.ends, places))


def quoted_cells(text: bytes | bytearray, delimiter: bytes) -> QuotedCells:
    """Find the quoted cells of text that starts with a record."""
    letters = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(letters == _QUOTE)
    begins, ends = quotes[0::2], quotes[1::2]
    neighbors = np.array([delimiter[0], _NEWLINE, _RETURN, _QUOTE], dtype=np.uint8)
    before = letters[begins[begins > 0] - 1]
    after = letters[ends[ends < len(text) - 1] + 1]
    if not (np.isin(before, neighbors).all() and np.isin(after, neighbors).all()):
        # Quotes inside cells that do not start with one do not come in pairs.
        return _search_quoted_cells(text, delimiter)
    return QuotedCells(begins, ends, int(begins[-1]) if len(begins) > len(ends) else None)


def _search_quoted_cells(text: bytes | bytearray, delimiter: bytes) -> QuotedCells:
    cell = re.compile(rb'(?<![^\r\n%s])"(?:[^"]++|"")*+("?)' % re.escape(delimiter))
    found = [(match.start(), match.end() - 1, match[1]) for match in cell.finditer(text)]
    closed = [(begin, end) for begin, end, quote in found if quote]
    begins = np.array([begin for begin, _, _ in found], dtype=np.intp)
    ends = np.array([end for _, end in closed], dtype=np.intp)
    return QuotedCells(begins, ends, found[-1][0] if len(found) > len(closed) else None)


def open_quote(text: bytes, delimiter: bytes) -> int | None:
    """Return the offset of the quote that opens a cell that is not closed, or None."""
    if b'"' not in text or quoted_cells(text, delimiter).open is None:
        return None
    # Pairs do not show where a cell with doubled quotes starts.
    return _search_quoted_cells(text, delimiter).open


def last_record_end(text: bytearray, end: int, delimiter: bytes) -> int:
    """Return the offset after the last whole record before `end`; 0 if there is none."""
    if text.find(b'"', 0, end) < 0:
        return text.rfind(b"\n", 0, end) + 1
    part = bytes(text[:end])
    newlines = np.flatnonzero(np.frombuffer(part, dtype=np.uint8) == _NEWLINE)
    newlines = newlines[quoted_cells(part, delimiter).are_outside(newlines)]
    return int(newlines[-1]) + 1 if len(newlines) else 0


def line_count(text: bytes) -> int:
    """Return the number of line ends: newlines, returns, or both together."""
    newlines = text.count(b"\n")
    return newlines + text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else newlines


def line_ends(text: bytes) -> NDArray[np.intp]:
    """Return the offsets of line ends."""
    letters = np.frombuffer(text, dtype=np.uint8)
    next_letters = np.append(letters[1:], 0)
    return np.flatnonzero((letters == _NEWLINE) | ((letters == _RETURN) & (next_letters != _NEWLINE)))


def record_ends(text: bytes, delimiter: bytes) -> NDArray[np.intp]:
    """Return the offsets of line ends that are not inside quoted cells."""
    ends = line_ends(text)
    return ends[quoted_cells(text, delimiter).are_outside(ends)]


def record_lines(text: bytes, first_line: int, lines: int, delimiter: bytes, count: int) -> NDArray[np.int64]:
    """Return the line on which each of the `count` records starts; blank lines are not records."""
    if lines == count:
        return np.arange(first_line, first_line + count)
    starts = np.append(0, record_ends(text, delimiter) + 1)
    starts = starts[starts < len(text)]
    first = np.frombuffer(text, dtype=np.uint8)[starts]
    starts = starts[(first != _NEWLINE) & (first != _RETURN)]
    return np.asarray(first_line + np.searchsorted(line_ends(text), starts), dtype=np.int64)
