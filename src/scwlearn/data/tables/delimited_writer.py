"""Writer of CSV and TSV."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, BinaryIO

from scwlearn._native import LARGEST_VALUE, MISSING_NUMBERS
from scwlearn.data.batch import Batch
from scwlearn.data.detect import is_number_text, trimmed
from scwlearn.data.features import ALLOWED_NUMBER, Features
from scwlearn.data.formats import starts_binary
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.reader import SAMPLE_BYTES
from scwlearn.data.tables.resolve import sample_size
from scwlearn.data.tables.table_writer import TableWriter
from scwlearn.data.writer import WriterOptions, error_at, label_values, value_text

# Cells that are read as they are only within quotes: with a character that separates cells in some table, so that the
# delimiter can be detected, or with blanks at an end.
_NEEDS_QUOTES = re.compile(r'["\r\n\t,;|]|\A | \Z')
# Names that do not look like another format.
_PLAIN_NAME = re.compile(r"\w(?:[\w .=^~*()/+%&-]*[\w.=^~*()/+%&-])?")
# How a text is read from a table.
_TEXT = Features(kinds={"text": "text"})
_OTHERS = "jsonl, json, parquet and arrow"


class DelimitedWriter(TableWriter):
    """Writer of CSV or TSV; missing values and zeros are empty cells."""

    def __init__(self, delimiter: str, file: BinaryIO, options: WriterOptions) -> None:
        super().__init__(file, options)
        self._delimiter = delimiter
        self._labels = _LabelCells(1)

    def start(self, batch: Batch, names: list[str]) -> None:
        """Write the header, in quotes unless it shows the format without them."""
        is_plain = len(names) > 1 and all(map(_PLAIN_NAME.fullmatch, names))
        if not is_plain or starts_binary(names[0].encode()):
            names = [_quoted(name) for name in names]
        header = f"{self._delimiter.join(names)}\n".encode()
        self._labels = _LabelCells(len(names), len(header))
        self.file.write(header)

    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write records."""
        columns = [self._cells(name, column, batch) for name, column in table.items()]
        # A record of one empty cell would be a blank line.
        records = map(self._delimiter.join, zip(*columns, strict=True))
        lines = [f"{record}\n" if record else '""\n' for record in records]
        self._labels.check(batch, lines)
        self.file.write("".join(lines).encode())

    def finish(self) -> None:
        """Check that the labels of a short table are read as they are."""
        self._labels.decide()

    def _cells(self, name: str, column: list[Any], batch: Batch) -> list[str]:
        kind = self.columns.get(name, "numeric")
        texts: list[str | None] = [*map(value_text, column)] if kind != "text" else [*map(_joined, column)]
        if kind == "numeric" and name != self.options.label:
            return [text or "" for text in texts]
        allowed = "a string must not contain NUL"
        if kind == "text":
            allowed = f"words must be at most {_TEXT.max_word_length} letters, digits and _, in lower case"
        for row, (value, text) in enumerate(zip(column, texts, strict=True)):
            if text is not None and ("\0" in text or (kind == "text" and not _reads_back(text, value))):
                problem = f"in the column {name!r}, {allowed}; {_OTHERS} allow any string"
                raise error_at(batch, row, problem, shown(value))
        return ["" if text is None else _quoted(text) if _NEEDS_QUOTES.search(text) else text for text in texts]


class _LabelCells:
    """Check of labels that are strings, in cells, which have no types: a reader takes them for numbers if they look so.

    The first records show a reader what the labels are. If they are numbers, "01" and "1" would be the same one.
    """

    def __init__(self, columns: int, header: int = 0) -> None:
        # How many records, and how many of their bytes, a reader looks at.
        self._left, self._bytes = sample_size(columns), SAMPLE_BYTES - header
        self._are_numbers: bool | None = None
        self._has_some = False
        self._changed: DataError | None = None

    def check(self, batch: Batch, lines: Sequence[str]) -> None:
        """Raise a DataError for a label that is read as another one."""
        if batch.labels is not None and batch.labels.dtype.kind not in "UO":
            return
        labels, start = label_values(batch), 0
        while self._are_numbers is None and start < len(batch):
            self._look_at(batch, start, labels[start], len(lines[start].encode()))
            start += 1
        if self._are_numbers:
            for label in {*labels[start:]} - {None}:
                if isinstance(label, str) and not _is_shortest_number(label):
                    raise _label_error(batch, labels.index(label, start), label)

    def decide(self) -> None:
        """Take the labels for numbers unless one has shown that they are not; raise the error of an earlier one."""
        if self._are_numbers is None:
            self._are_numbers = True
            if self._changed is not None:
                raise self._changed

    def _look_at(self, batch: Batch, row: int, label: Any, size: int) -> None:
        self._left, self._bytes = self._left - 1, self._bytes - size
        is_behind = self._left < 0 or self._bytes < 0
        if is_behind and self._has_some:
            self.decide()
        elif isinstance(label, str) and trimmed(label).lower() not in MISSING_NUMBERS:
            # The first label decides if it is behind these records.
            if is_behind and self._changed is not None:
                raise self._changed
            self._has_some = True
            if not is_number_text(trimmed(label)):
                self._are_numbers = False
            elif is_behind:
                self.decide()
        if isinstance(label, str) and self._are_numbers is not False and not _is_shortest_number(label):
            self._changed = self._changed or _label_error(batch, row, label)
            if self._are_numbers:
                raise self._changed


def _label_error(batch: Batch, row: int, label: str) -> DataError:
    problem = "the labels of CSV and TSV are read as numbers if the first ones look like numbers"
    allowed = f"all of them must then be {ALLOWED_NUMBER}, in its shortest form; {_OTHERS} allow any string"
    return error_at(batch, row, f"{problem}; {allowed}", shown(label))


def _is_shortest_number(label: str) -> bool:
    """Return whether a label is written as the number that it is read as, so that no other label becomes the same."""
    if not is_number_text(label) or label == "-0":
        return False
    number = float(label)
    return abs(number) <= LARGEST_VALUE and bool(value_text(number) == label)


def _joined(words: list[str] | None) -> str | None:
    return None if words is None else " ".join(words)


def _reads_back(text: str, words: list[str]) -> bool:
    try:
        return _TEXT.read({"text": text}) == {f"text={word}": count for word, count in Counter(words).items()}
    except DataError:
        return False


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
