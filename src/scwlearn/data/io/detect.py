"""Which format data have, told by how they begin; what they are called only decides where that leaves a doubt."""

from __future__ import annotations

import os
import re

from scwlearn.data.io.errors import DataError, excerpt

#: All formats, with the endings of names that hint at them.
FORMATS = {
    "libsvm": (".libsvm", ".svm", ".svmlight"),
    "vw": (".vw",),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
}
_PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")
# An Arrow stream, unlike a file, has no name of its own: it begins with a message, and this is how those do.
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
# No text has these: all control characters but tab, newline, vertical tab, form feed, return and escape.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")

# Nothing is ever given back: what a line of some thousand numbers is would take for ever to find out.
_NUMBER = rb"[+-]?+(?>\d++\.?+\d*+|\.\d++)(?>[eE][+-]?+\d++)?+"
_LIBSVM = re.compile(
    rb"(?>%(n)s(?>,%(n)s)*+[ \t]++)?+(?>qid:\d++[ \t]++)?+\d++:%(n)s(?>[ \t]++\d++:%(n)s)*+[ \t]*+(?:#.*)?"
    % {b"n": _NUMBER}
)
# The label and what may follow it, before the first bar. A comma in what comes first is that of a table.
_VW = re.compile(rb"[^\s|,]*\||(?:[^\s|,]+[ \t]+){1,3}[^\s|]*\|")
_LIKE_LIBSVM = re.compile(rb"\S+[ \t]+(?:qid|[+-]?\d+):\S")


def enough_to_detect(head: bytes) -> bool:
    """Whether a beginning tells as much as more of it would: it has a line that says something, or is not text."""
    whole, _, _ = head.rpartition(b"\n")
    return _says_something(_first_line(whole) or b"#") or head.startswith(tuple(_BINARY)) or bool(_NO_TEXT.search(head))


def detect_format(head: bytes, name: str) -> str:
    """The format of data that begin so (`head`: after unpacking) and are called so.

    Examples
    --------
    >>> from scwlearn.data.io.detect import detect_format
    >>> detect_format(b"+1 3:0.5 7:1\\n", "data"), detect_format(b"1 |words a b\\n", "data")
    ('libsvm', 'vw')
    """
    for magic, binary in _BINARY.items():
        if head.startswith(magic):
            return binary
    if not head:
        raise ValueError(f"{name} is empty")
    _check_text(head, name)
    line = _first_line(head)
    return _of_line(line) or format_of_name(name) or _in_doubt(line, name)


def _first_line(head: bytes) -> bytes:
    """The first line that is more than a comment or a label; else the first that is not blank."""
    lines = [line for line in map(bytes.strip, head.split(b"\n")) if line]
    return next((line for line in lines if _says_something(line)), lines[0] if lines else b"")


def _says_something(line: bytes) -> bool:
    return not line.startswith(b"#") and not re.fullmatch(_NUMBER, line)


def _of_line(line: bytes) -> str | None:
    if line.startswith(b"{"):
        return "jsonl"
    if _VW.match(line):
        return "vw"
    if _LIBSVM.fullmatch(line):
        return "libsvm"
    tabs, commas = line.count(b"\t"), line.count(b",")
    if tabs or commas:
        return "tsv" if tabs >= commas else "csv"
    return "libsvm" if _LIKE_LIBSVM.match(line) else None


def format_of_name(name: str) -> str | None:
    """The format that the ending of a file's name stands for, or None."""
    stem = os.path.basename(name).lower()
    for ending in _PACKED_ENDINGS:
        stem = stem.removesuffix(ending)
    return next((kind for kind, endings in FORMATS.items() if stem.endswith(endings)), None)


def _check_text(head: bytes, name: str) -> None:
    """A ValueError for what is no text in UTF-8."""
    found = _NO_TEXT.search(head)
    place = None if found is None else found.start()
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # Where what was looked at ends, it may end inside of a character.
        if error.end < len(head) or "unexpected end" not in error.reason:
            place = error.start if place is None else min(place, error.start)
    if place is not None:
        raise ValueError(
            f"{name} is neither text in UTF-8 nor Parquet or Arrow: byte {place + 1} is 0x{head[place]:02x}; "
            f"it begins with {excerpt(head)}"
        )


def _in_doubt(line: bytes, name: str) -> str:
    raise DataError(
        "unknown format; looked for index:value (libsvm), a bar (vw), a comma (csv), a tab (tsv), { (jsonl)",
        found=excerpt(line),
        source=name,
        hint=f"name one of {', '.join(FORMATS)} with {{format}}",
    )
