"""CSV text against Python's csv module and pyarrow: the same cells, and the same numbers to the last bit.

Python's csv module accepts any text. The others differ from it as follows:

* Ours refuses records with more or fewer cells than the header, cells of numeric columns that are no numbers, numbers
  beyond 1e150, a quote that is not closed, and text that is not UTF-8. Blanks around a cell without quotes are no part
  of it.
* pyarrow refuses some of the texts with quotes inside cells or after the closing quote, and reads others differently.
  Only tables that a program may write, where all quotes are doubled, are compared with it.
"""

from __future__ import annotations

import csv
import io
import math
import re
from functools import partial
from random import Random

import pyarrow as pa
from pyarrow import csv as arrow_csv

from scwlearn import Features
from scwlearn.data.batch import NamedRows
from scwlearn.data.io.errors import DataError
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from stress.decimal_numbers import draw_numbers
from stress.hard_inputs import LARGEST
from stress.trial import Trial
from table_text import ends_open

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NO_NUMBER = ("", "na", "n/a", "nan", "nat", "null", "none", "?")
_LETTERS = "ab 0é€😀.-_'#\\/\u2028\x0b=:"
_EDITS = ['"', '""', ",", ";", "\n", "\r", "\r\n", " ", "\t", "a", "1", "é", '",', ',"', "\ufeff", ""]
Cells = list[list[str]]


def _draw_word(random: Random, delimiter: str) -> str:
    letters = _LETTERS + random.choice(["", "", '"', delimiter, "\n"])
    return "".join(random.choices(letters, k=random.randint(0, 7))).strip(" \t")


def _draw_table(random: Random, kinds: list[str], rows: int, delimiter: str) -> Cells:
    """Return cells, a quarter of them empty."""
    columns = []
    for kind in kinds:
        numbers = [text for text in draw_numbers(random, 64) if abs(float(text)) <= LARGEST] or ["0"]
        words = [_draw_word(random, delimiter) for _ in range(20)]
        chosen = random.choices(numbers if kind == "numeric" else words, k=rows)
        columns.append([cell if random.random() < 0.75 else "" for cell in chosen])
    return [list(row) for row in zip(*columns, strict=True)]


def _case(random: Random) -> int:
    kinds = [random.choice(["numeric", "categorical"]) for _ in range(random.randint(2, 5))]
    names, delimiter = [f"c{i}" for i in range(len(kinds))], random.choice(",,;|\t")
    is_broken = random.random() < 0.5
    table = _draw_table(random, kinds, random.choice([3, 8]) if is_broken else 500, delimiter)
    file = io.StringIO(newline="")
    ends = random.choice(["\n", "\r\n"])
    write = partial(csv.writer, file, delimiter=delimiter, lineterminator=ends)
    writer = write(quoting=csv.QUOTE_ALL) if random.random() < 0.3 else write()
    writer.writerows([names, *table])
    text = file.getvalue()
    if not is_broken:
        _compare(text, kinds, names, delimiter, table)
        _compare_with_arrow(text, kinds, names, delimiter)
        return len(table)
    start = text.index("\n") + 1
    for _ in range(random.randint(1, 3)):
        at = random.randint(start, len(text))
        text = text[:at] + random.choice(_EDITS) + text[at + random.randint(0, 1) :]
    _compare(text, kinds, names, delimiter, None)
    return len(table)


def _read(text: str, kinds: list[str], names: list[str], delimiter: str) -> list[dict[str, float]] | None:
    """Return the features of each record; None if the text is refused."""
    features = Features(kinds=dict(zip(names, kinds, strict=True)))
    how = {"format": "csv", "label": "y", "delimiter": delimiter, "features": features, "header": True}
    # The label makes every record one with an example.
    options = ReaderOptions(labels="optional")
    try:
        _, batches = read_batches([io.BytesIO(text.encode())], None, options, **how)  # type: ignore[arg-type]
        found = []
        for batch in batches:
            assert isinstance(batch.x, NamedRows)
            found += [*batch.x.dicts()]
    except DataError:
        return None
    return found


def _features(row: list[str], kinds: list[str], names: list[str]) -> dict[str, float]:
    """Return the features of the cells of a record."""
    found = {}
    for name, kind, cell in zip(names, kinds, row, strict=True):
        if kind == "categorical" and cell:
            found[f"{name}={cell}"] = 1.0
        elif kind == "numeric" and cell.lower() not in _NO_NUMBER and (value := float(cell)):
            found[name] = value
    return found


def _compare(text: str, kinds: list[str], names: list[str], delimiter: str, table: Cells | None) -> None:
    found = _read(text, kinds, names, delimiter)
    records = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row][1:]
    # A line of nothing but blanks is no record.
    blanks = " \t".replace(delimiter, "")
    records = [row for row in records if len(row) > 1 or row[0].strip(blanks)]
    if found is None:
        assert table is None, f"refused: {text!r}"
        assert not _is_allowed(text, delimiter, records, kinds), f"refused: {text!r}"
        return
    if table is not None:
        records = table
    expected = [_features([cell.strip(blanks) for cell in row], kinds, names) for row in records]
    assert len(found) == len(expected), f"{len(found)} records of {len(expected)}: {text!r}"
    for row, one, other in zip(records, found, expected, strict=True):
        # Blanks in quotes belong to the cell.
        assert {name.strip(blanks) for name in map(_trimmed, one)} == {*map(_trimmed, other)}, f"{row}: {one}"
        assert [*one.values()] == [*other.values()], f"{row}: {one}, not {other}"


def _trimmed(feature: str) -> str:
    name, equals, cell = feature.partition("=")
    return name + equals + cell.strip(" \t")


def _is_allowed(text: str, delimiter: str, records: Cells, kinds: list[str]) -> bool:
    """Return whether our reader must accept a text."""
    blanks = " \t".replace(delimiter, "")
    if not records or ends_open(text, delimiter) or any(len(row) != len(kinds) for row in records):
        return False
    return all(
        _is_number(cell.strip(blanks))
        for row in records
        for cell, kind in zip(row, kinds, strict=True)
        if kind == "numeric"
    )


def _is_number(cell: str) -> bool:
    if cell.lower() in _NO_NUMBER or cell.lower() in ("true", "false"):
        return True
    return _NUMBER.fullmatch(cell) is not None and abs(float(cell)) <= LARGEST


def _compare_with_arrow(text: str, kinds: list[str], names: list[str], delimiter: str) -> None:
    types = {name: pa.float64() if kind == "numeric" else pa.string() for name, kind in zip(names, kinds, strict=True)}
    table = arrow_csv.read_csv(
        io.BytesIO(text.encode()),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=types, null_values=[""], quoted_strings_can_be_null=True),
    )
    found = _read(text, kinds, names, delimiter)
    assert found is not None
    for row, one in zip(table.to_pylist(), found, strict=True):
        expected = {}
        for name, value in row.items():
            if isinstance(value, str) and value:
                expected[f"{name}={value}"] = 1.0
            elif isinstance(value, float) and value and not math.isnan(value):
                expected[name] = value
        assert one == expected, f"{one}, by pyarrow {expected}"


TRIAL = Trial(
    claim="CSV text has the cells that Python's csv module and pyarrow find in it, and the same numbers to the bit",
    unit="rows",
    case=_case,
    quick=20,
    long=40_000,
)
