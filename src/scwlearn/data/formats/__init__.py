"""Data formats, one module each: its detector, its reader and its writer.

A format has the name of its module, which defines `FORMAT`. Adding a format means adding a module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

from scwlearn.data.io.decompress import compression_of
from scwlearn.data.io.errors import DataError, shown

if TYPE_CHECKING:
    from scwlearn.data.io.streams import Stream
    from scwlearn.data.options import ReaderOptions
    from scwlearn.data.reader import Reader
    from scwlearn.data.schema import Schema
    from scwlearn.data.writer import Writer, WriterOptions

_COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# A cell in quotes at the start of a line, and the character behind it, unless a tab separates the label of VW text.
_QUOTED_CELL = re.compile(rb'"(?>[^"]|"")*+"([,;]|\t(?![^"\t]*\|)|$)')
#: A number. Nothing backtracks: matching a line of thousands of numbers would take forever.
NUMBER = rb"[+-]?+(?>\d++\.?+\d*+|\.\d++)(?>[eE][+-]?+\d++)?+"


def number_pattern(mark: str) -> re.Pattern[str]:
    """Return the pattern of a number with a decimal mark, given as a pattern."""
    return re.compile(NUMBER.decode().replace(r"\.", mark), re.ASCII)


class Format(NamedTuple):
    """A data format."""

    #: Suffixes of file names.
    suffixes: tuple[str, ...]
    #: Returns the reader of an open stream.
    reader: Callable[[Stream, Schema, ReaderOptions], Reader]
    #: Returns the writer to an open file.
    writer: Callable[[BinaryIO, WriterOptions], Writer]
    #: First bytes of a binary format.
    magic: tuple[bytes, ...] = ()
    #: Returns how surely a line is of this text format; the highest value wins, and 0 means that it is not.
    confidence: Callable[[bytes], int] = lambda line: 0
    #: What `confidence` looks for, for messages.
    sign: str = ""
    #: Fields of the schema that a user may set.
    options: tuple[str, ...] = ("label", "weight", "features")
    #: Whether features have numbers, not names.
    numbered: bool = False
    #: Whether a value may be a text, whose words have an order.
    has_texts: bool = True
    #: Whether a file has one set of columns, which must be known before it is written.
    fixed_columns: bool = False
    #: Whether text can be cut at the end of any line, or of any record, which may span lines.
    cut_at: Literal["lines", "records"] | None = None
    #: Returns the number of units between which a table can be cut, rows or record batches, and about how many rows.
    count_units: Callable[[str], tuple[int, int]] | None = None
    #: Returns the number of rows in the first units of a table.
    count_rows: Callable[[str, int], int] = lambda path, units: units


@cache
def format_names() -> tuple[str, ...]:
    """Return the names of all formats, without importing them."""
    return tuple(module.name for module in iter_modules(__path__))


@cache
def get_format(name: str) -> Format:
    """Return a format by name."""
    found: Format = import_module(f"{__name__}.{name}").FORMAT
    return found


def _all_formats() -> dict[str, Format]:
    return {name: get_format(name) for name in format_names()}


def format_of_path(path: str) -> str | None:
    """Return the format that the suffix of a file name stands for, or None."""
    # The query of a URL is not part of the name.
    stem = os.path.basename(path.partition("?")[0] if "://" in path else path).lower()
    for suffix in _COMPRESSED_SUFFIXES:
        stem = stem.removesuffix(suffix)
    return next((name for name, found in _all_formats().items() if stem.endswith(found.suffixes)), None)


def starts_binary(text: bytes) -> bool:
    """Return whether data that starts so would be taken for a binary format, or for compressed."""
    return _binary_format(text) is not None or compression_of(text) is not None


def after_quoted_cell(line: bytes) -> bytes | None:
    """Return the delimiter behind the quoted cell that a line starts with, or nothing at its end; None without one."""
    found = _QUOTED_CELL.match(line)
    return None if found is None else found[1]


def is_enough(head: bytes, known: str | None = None) -> bool:
    """Return whether no more bytes can change which format `deciding` of them shows."""
    return _binary_format(head) is not None or _decided(head, known) is not None or b"\0" in head


def deciding(head: bytes, known: str | None = None) -> bytes:
    """Return the bytes that `detect_format` should see: the same ones, however many more have arrived by now.

    That is the text up to the first telling line; all of it if there is none, or if that line is ambiguous. What may be
    VW text is not, if that is the known format of a model.
    """
    return _decided(head, known) or head


def _decided(head: bytes, known: str | None) -> bytes | None:
    """Return the text up to the first telling line; None if there is none yet, or if it is ambiguous."""
    end = 0
    for line in head.split(b"\n")[:-1]:
        end += len(line) + 1
        if _is_telling(line.strip()):
            return None if known != "vw" and _is_ambiguous(line.strip()) else head[:end]
    return None


def detect_format(head: bytes, name: str) -> str:
    """Return the format of data by its content, or by its name if the content is ambiguous.

    Parameters
    ----------
    head : bytes
        The first bytes, decompressed.
    name : str
        Name of the source.

    Returns
    -------
    str
        Name of the format.

    Raises
    ------
    DataError
        If the format is unknown, or the data is not text in UTF-8.

    Examples
    --------
    >>> from scwlearn.data.formats import detect_format
    >>> detect_format(b"+1 3:0.5 7:1\\n", "data"), detect_format(b"1 |words a b\\n", "data")
    ('libsvm', 'vw')
    """
    binary = _binary_format(head)
    if binary is not None:
        return binary
    if not head:
        raise DataError("empty file", source=name)
    _check_text(head, name)
    line = _first_line(head)
    formats = _all_formats()
    confidence = _confidences(line)
    if _touches_a_bar(line) and confidence["vw"] == max(confidence.values()):
        if not _has_blanks(line) or _splits_evenly(head):
            confidence["csv"] = confidence["vw"] + 1
        elif not all(b"|" in each for each in map(bytes.strip, head.split(b"\n")[:-1]) if _is_telling(each)):
            confidence["vw"] = 1
    best = max(confidence, key=confidence.__getitem__)
    found = best if confidence[best] else format_of_path(name)
    if found is None:
        signs = ", ".join(f"{found.sign} ({each})" for each, found in formats.items() if found.sign)
        hint = f"set {{format}} to one of {', '.join(formats)}"
        raise DataError(f"unknown format; looked for {signs}", found=shown(line), source=name, hint=hint)
    return found


def _confidences(line: bytes) -> dict[str, int]:
    return {name: found.confidence(line) for name, found in _all_formats().items()}


def _is_ambiguous(line: bytes) -> bool:
    """Return whether a line may be VW text, or of a table with a bar in it: only further lines show which.

    The bars of VW text may differ in number, but each line has one.
    """
    confidence = _confidences(line)
    return _touches_a_bar(line) and _has_blanks(line) and confidence["vw"] == max(confidence.values())


def _touches_a_bar(line: bytes) -> bool:
    """Return whether a cell of a table seems to precede the first bar.

    In VW text, that is a blank, or a tag that starts with ' or follows a label, which is a number as a rule.
    """
    start, bar, _ = line.partition(b"|")
    is_vw = re.search(rb"[ \t]$|(?:^|[ \t])'\S*$", start) or re.match(NUMBER + rb"[ \t]", start)
    return bool(bar and start and not is_vw)


def _has_blanks(line: bytes) -> bool:
    return b" " in line or b"\t" in line


def _splits_evenly(head: bytes) -> bool:
    """Return whether bars split all records of a table into the same number of cells."""
    from scwlearn.data.tables.delimited import splits_evenly

    return splits_evenly(head, "|")


def _binary_format(head: bytes) -> str | None:
    return next((name for name, found in _all_formats().items() if found.magic and head.startswith(found.magic)), None)


def _first_line(head: bytes) -> bytes:
    """Return the first line that is more than a comment or a number; else the first that is not blank."""
    lines = [line for line in map(bytes.strip, head.split(b"\n")) if line]
    return next(filter(_is_telling, lines), lines[0] if lines else b"")


def _is_telling(line: bytes) -> bool:
    return bool(line) and not line.startswith(b"#") and not re.fullmatch(NUMBER, line)


def _check_text(head: bytes, name: str) -> None:
    """Raise a DataError if the data is not text in UTF-8."""
    # Other control characters may be part of names and strings.
    place = head.index(b"\0") if b"\0" in head else None
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # The head may end inside a character.
        if error.end < len(head) or "unexpected end" not in error.reason:
            place = error.start if place is None else min(place, error.start)
    if place is not None:
        problem = f"neither text in UTF-8 nor Parquet or Arrow: byte {place + 1} is 0x{head[place]:02x}"
        raise DataError(problem, found=shown(head), source=name, hint=_utf16_hint(head))


def _utf16_hint(head: bytes) -> str | None:
    """Return what to do about text that seems to be UTF-16 without a byte order mark: half of its bytes are NUL."""
    for encoding, first in (("UTF-16LE", 1), ("UTF-16BE", 0)):
        if 2 * head[first::2].count(0) > len(head[first::2]) and not head[1 - first :: 2].count(0):
            return f"if this is {encoding} text, convert it: iconv -f {encoding} -t UTF-8"
    return None
