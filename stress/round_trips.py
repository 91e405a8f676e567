"""Files of every format: what is written is read again to the last bit, or refused for a reason."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import Features
from scwlearn.data.formats import format_names, get_format
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows
from scwlearn.data.writing import write_batches
from stress.hard_text import draw_alphabet, draw_float, draw_text
from stress.limits import looks_numeric, refusals
from stress.trial import Trial

#: Name, value, label, weight and tag of an example, as they should be read.
Example = tuple[dict[str, float], Any, float, str]

_FILES = 20
_SUFFIXES = ("", "", ".gz", ".bz2", ".xz", ".zst")
_TABLES = ("csv", "tsv", "parquet", "arrow")


@dataclass(frozen=True)
class Data:
    """Examples, and how to write them."""

    batches: list[Batch]
    #: Kinds of the columns; None if every feature is a number.
    columns: dict[str, str] | None
    label: str = "label"
    weight: str = "weight"
    zero_based: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `write_batches`."""
        return {
            "label": self.label, "weight": self.weight, "columns": self.columns, "zero_based": self.zero_based,
        }  # fmt: skip

    def is_labelled(self) -> bool:
        """Return whether an example has a label."""
        return any(batch.labels is not None for batch in self.batches)

    def is_weighted(self) -> bool:
        """Return whether there are weights."""
        return any(batch.weights is not None for batch in self.batches)

    def examples(self) -> list[Example]:
        """Return the examples, in one form for all formats."""
        return examples_of(self.batches, first=0 if self.zero_based else 1)

    def names(self) -> list[str]:
        """Return the names of all features, with those that are always 0."""
        first = 0 if self.zero_based else 1
        width, names = 0, dict[str, None]()
        for batch in self.batches:
            if isinstance(batch.x, NamedRows):
                names.update(dict.fromkeys(batch.x.names))
            else:
                width = max(width, batch.x.width)
        # Not all names are needed of a row that is too wide for a table.
        return [*names, *(str(number) for number in range(first, first + min(width, 20_000)))]


def examples_of(batches: Iterable[Batch], *, first: int) -> list[Example]:
    """Return the examples of batches; numbered features are named from `first`."""
    found: list[Example] = []
    for batch in batches:
        count = len(batch)
        if isinstance(batch.x, NamedRows):
            features = [*batch.x.dicts()]
        else:
            rows = [*NamedRows.of_numbers(batch.x).dicts()]
            features = [{str(number + first): value for number, value in row.items()} for row in rows]
        labels = [None] * count if batch.labels is None else batch.labels.tolist()
        if batch.labelled is not None:
            labels = [label if has else None for label, has in zip(labels, batch.labelled.tolist(), strict=True)]
        weights = [1.0] * count if batch.weights is None else batch.weights.tolist()
        tags = [""] * count if batch.tags is None else batch.tags
        found += zip(features, labels, weights, tags, strict=True)
    return found


def _case(random: Random) -> int:
    format = random.choice(format_names())
    for _ in range(_FILES):
        data = _draw_data(random, format)
        file = partial(_through_a_file, random) if random.random() < 0.05 else _through_memory
        text = file(data, format)
        if text is None:
            continue
        batches = _read(random, data, format, text)
        _check_same(data, format, batches)
        if random.random() < 0.2:
            _check_other_format(random, data, format, batches)
    return _FILES


def _through_memory(data: Data, format: str) -> bytes | None:
    file = io.BytesIO()
    return file.getvalue() if _is_written(data, file, format) else None


def _through_a_file(random: Random, data: Data, format: str) -> bytes | None:
    """Write to a file, which may be compressed and may replace another; return what it holds, still compressed."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / f"data{random.choice(_SUFFIXES)}"
        before = random.choice([None, b"before"])
        if before is not None:
            path.write_bytes(before)
        if _is_written(data, path, format):
            assert os.listdir(directory) == [path.name]
            return path.read_bytes()
        # Neither half a file nor a temporary one.
        assert os.listdir(directory) == ([] if before is None else [path.name])
        assert before is None or path.read_bytes() == before
        return None


def _is_written(data: Data, target: Any, format: str) -> bool:
    reasons = refusals(data, format)
    refusal = None
    try:
        count = write_batches(data.batches, target, format, **data.options)
    except ValueError as error:
        refusal = str(error)
    if refusal is not None:
        assert reasons, f"{format} was refused: {refusal}"
        assert refusal.isprintable(), f"not one line of text: {refusal!r}"
        return False
    assert not reasons, f"{format} was written in spite of {reasons}"
    assert count == len(data.examples())
    return True


def _read(random: Random, data: Data, format: str, text: bytes) -> list[Batch]:
    options: dict[str, Any] = {"zero_based": True} if data.zero_based and format == "libsvm" else {}
    if "label" in get_format(format).options:
        # Other names may be those of a label, or stand for its position.
        options["label"] = data.label if data.is_labelled() else "there is no label"
        if data.is_weighted():
            options["weight"] = data.weight
    if "header" in get_format(format).options and not data.is_labelled():
        options["header"] = True
    # Cells have no types, and the values of few records show too little.
    columns = data.columns
    if format in _TABLES and columns is None:
        columns = dict.fromkeys(data.names(), "numeric")
    if columns is not None and format not in ("libsvm", "vw"):
        own = (data.label, data.weight)
        options["features"] = Features(kinds={name: kind for name, kind in columns.items() if name not in own})
    if not _shows_its_format(data, format):
        options["format"] = format
    chunk = random.randint(1, 300) if format not in ("csv", "tsv") and random.random() < 0.2 else None
    reader = ReaderOptions(labels="optional", read_ahead=random.random() < 0.01, chunk_bytes=chunk)
    schema, batches = read_batches([io.BytesIO(text)], options=reader, **options)
    names = data.names() if data.columns is None else data.columns
    is_one_column = len(names) + data.is_labelled() + data.is_weighted() == 1
    expected = "csv" if format == "tsv" and is_one_column and "format" not in options else format
    assert schema.format == expected, f"{format} was detected as {schema.format}: {text[:200]!r}"
    return [*batches]


def _shows_its_format(data: Data, format: str) -> bool:
    """Return whether the format can be detected without the name of the file."""
    if format == "libsvm":
        return any(features for features, *_ in data.examples())
    names = [*data.names(), *(data.columns or ()), data.label, data.weight]
    return format not in ("csv", "tsv") or not any("\n" in name for name in names)


def _check_same(data: Data, format: str, batches: list[Batch]) -> None:
    found = examples_of(batches, first=0 if data.zero_based and format == "libsvm" else 1)
    before = data.examples()
    labels = [label for _, label, *_ in before]
    are_numbers = format in ("csv", "tsv") and any(isinstance(label, str) for label in labels) and looks_numeric(labels)
    expected = [_as_held(format, example, are_numbers=are_numbers) for example in before]
    assert len(found) == len(expected), f"{len(expected)} examples became {len(found)}"
    for held, read in zip(expected, found, strict=True):
        assert held == read, f"{format}: {held!r} became {read!r}"
        kinds = [_kind(label) for label in (held[1], read[1])]
        assert kinds[0] == kinds[1], f"{format}: the label {held[1]!r} became {read[1]!r}"


def _as_held(format: str, example: Example, *, are_numbers: bool) -> Example:
    """Return an example as a format holds it: cells have no types, and only VW text has tags."""
    features, label, weight, tag = example
    if isinstance(label, bool) and format in ("libsvm", "vw", "csv", "tsv"):
        label = int(label)
    if label is not None and are_numbers:
        label = float(label)
    return features, label, weight, tag if format == "vw" else ""


def _kind(label: Any) -> str:
    if label is None or isinstance(label, bool | str):
        return type(label).__name__
    return "number"


def _check_other_format(random: Random, data: Data, format: str, batches: list[Batch]) -> None:
    """Write what was read in another format, and what is read there in the first one again."""
    other = random.choice(format_names())
    between = replace(data, batches=batches)
    text = _through_memory(between, other)
    if text is None:
        return
    back = _read(random, between, other, text)
    _check_same(between, other, back)
    again = replace(data, batches=back)
    text = _through_memory(again, format)
    if text is not None:
        _check_same(again, format, _read(random, again, format, text))


def _draw_data(random: Random, format: str) -> Data:
    """Draw examples, most of which the format can hold."""
    alphabet = draw_alphabet(random)
    numbered = random.random() < (0.8 if format == "libsvm" else 0.1)
    rows = random.choice([1, 1, 2, 3, 4, 5, 6]) if random.random() < 0.98 else random.randint(7, 60)
    columns = None
    if not numbered and format not in ("libsvm", "vw") and random.random() < 0.4:
        columns = {draw_text(random, alphabet): random.choice(["numeric", "categorical", "text"]) for _ in range(3)}
    names = _draw_names(random, alphabet, columns)
    zero_based = numbered and random.random() < 0.3
    labels = _draw_labels(random, alphabet, rows, simple=format == "libsvm")
    batches = []
    cuts = sorted(random.randint(0, rows) for _ in range(random.choice([0, 0, 1, 2])))
    weighted, tagged = format != "libsvm" and random.random() < 0.4, random.random() < 0.3
    for start, stop in pairwise([0, *cuts, rows]):
        x = _draw_rows(random, stop - start, None if numbered else names, columns)
        given = None if labels is None else labels[start:stop]
        batches.append(_batch(random, alphabet, x, given, weighted=weighted, tagged=tagged))
    own = [draw_text(random, alphabet) for _ in range(2)] if random.random() < 0.2 else ["label", "weight"]
    return Data(batches, columns, own[0], own[1], zero_based)


def _draw_names(random: Random, alphabet: str, columns: dict[str, str] | None) -> list[str]:
    """Return names of features; in columns, mostly those that belong to one."""
    names: dict[str, None] = {}
    if columns is None:
        wide = 3000 if random.random() < 0.001 else 6
        names.update(dict.fromkeys(draw_text(random, alphabet) for _ in range(random.randint(0, wide))))
        return [*names]
    for column, kind in columns.items():
        if kind == "numeric":
            names[column] = None
        else:
            words = [draw_text(random, alphabet) for _ in range(3)]
            names.update(dict.fromkeys(f"{column}={word}" for word in words))
    if random.random() < 0.02:
        names[draw_text(random, alphabet)] = None
    return [*names]


def _draw_rows(random: Random, rows: int, names: list[str] | None, columns: dict[str, str] | None) -> Rows | NamedRows:
    """Draw the features of some examples, with names or numbers; a row may be empty, and zeros may be stored."""
    if names is None:
        width = random.choice([0, 1, 3, 30, 20_000, 2**62]) if random.random() < 0.3 else 8
    else:
        width = len(names)
    values: list[float] = []
    numbers: list[int] = []
    offsets = [0]
    for _ in range(rows):
        most = min(width, 6) if width < 1000 or names is None else width
        chosen = sorted({random.randrange(width) for _ in range(random.randint(0, most))}) if width else []
        taken: set[str] = set()
        for number in chosen:
            value = draw_float(random)
            if columns is not None and names is not None and names[number] not in columns:
                column = names[number].partition("=")[0]
                if column in taken and columns.get(column) == "categorical" and random.random() < 0.95:
                    continue
                taken.add(column)
                value = _draw_count(random, columns.get(column))
            numbers.append(number)
            values.append(value)
        offsets.append(len(values))
    index = np.int64 if width >= 2**31 else np.int32
    x = Rows.from_csr(np.array(values, np.float64), np.array(numbers, index), np.array(offsets, index), width)
    return x if names is None else NamedRows(x, names)


def _draw_count(random: Random, kind: str | None) -> float:
    if random.random() < 0.01:
        return random.choice([0.0, -1.0, 0.5, 2.0**20 + 1, 1e150])
    return 1.0 if kind == "categorical" else float(random.randint(1, 3))


def _draw_labels(random: Random, alphabet: str, rows: int, *, simple: bool) -> list[Any] | None:
    """Draw labels of one kind, some of which are missing; None for examples without labels."""
    kind = random.choice(["int", "float", "bool"] if simple else ["int", "float", "bool", "str", "str", "str", "none"])
    if kind == "none":
        return None
    words = random.choice([0.0, 0.05, 1.0])
    draw: dict[str, Callable[[], Any]] = {
        "int": lambda: random.choice([0, 1, -1, random.randint(-300, 300), 2**53 - 1]),
        "float": lambda: draw_float(random),
        "bool": lambda: random.random() < 0.5,
        "str": lambda: draw_text(random, alphabet, words=words) or "a",
    }
    labels = [draw[kind]() for _ in range(rows)]
    if random.random() < 0.02:
        odd: dict[str, list[Any]] = {
            "int": [2**53, -(2**60), 1.5],
            "float": [math.nan, math.inf, 1e200, 7],
            "bool": ["a"],
            "str": ["", 1],
        }
        labels[random.randrange(rows)] = random.choice(odd[kind])
    if not simple and random.random() < 0.2:
        labels = [None if random.random() < 0.4 else label for label in labels]
    return labels


def _batch(
    random: Random, alphabet: str, x: Rows | NamedRows, labels: list[Any] | None, *, weighted: bool, tagged: bool
) -> Batch:
    """Return a batch; its labels are an array of their type, or of Python objects."""
    rows = len(x)
    weights = tags = None
    if weighted:
        weights = np.array([_draw_weight(random) for _ in range(rows)], dtype=np.float64)
    if tagged:
        tags = [draw_text(random, alphabet) if random.random() < 0.7 else "" for _ in range(rows)]
    batch = Batch(x, None, weights, np.arange(1, rows + 1), "source", tags=tags)
    if labels is None:
        return batch
    labelled = np.array([label is not None for label in labels], dtype=bool)
    known = [label for label in labels if label is not None]
    filled = [known[0] if label is None else label for label in labels] if known else [0] * rows
    array = np.array(filled) if len({*map(type, filled)}) == 1 else np.array(filled, dtype=object)
    if array.tolist() != filled or random.random() < 0.1:
        array = np.empty(rows, dtype=object)
        array[:] = filled
    return batch.with_labels(array, labelled)


def _draw_weight(random: Random) -> float:
    if random.random() < 0.01:
        return random.choice([math.nan, math.inf, -1.0, 1e-101, 1e101, 5e-324])
    return random.choice([0.0, 1.0, 1.0, 2.0, 0.1, 1e-100, 1e100, random.random()])


TRIAL = Trial(
    claim="A file in any format holds the examples to the last bit, or writing it is refused for a reason",
    unit="files",
    case=_case,
    quick=50,
    # More than 100,000 files in each format.
    long=42_000,
)
