"""Formats of one example a line, written: LIBSVM, VW, JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, BinaryIO, Protocol

import numpy as np

from scwlearn.data.examples import Examples
from scwlearn.data.io.errors import DataError
from scwlearn.data.rows import Rows
from scwlearn.data.writing.cells import (
    Cells,
    cells_of,
    label_texts,
    label_values,
    named_cells,
    number_text,
    place,
    table_of,
)

# What ends a name in VW text, or is taken for something else.
_NOT_IN_VW = re.compile(r"[ |:\x00-\x1f\x7f]")
# What stands where a label does, and is read as something else than this word.
_NO_WORD = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf|infinity)|'.*|.*,.*", re.ASCII | re.IGNORECASE | re.DOTALL
)
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)


class Writer(Protocol):
    """Writes examples to a file, batch after batch."""

    def write(self, examples: Examples) -> None:
        """Some more."""

    def end(self) -> None:
        """No more."""


class LibsvmWriter:
    """Numbered features. Names that are numbers are those numbers; others are numbered as they come."""

    def __init__(self, file: BinaryIO, *, zero_based: bool, names: bool) -> None:
        self._file, self._first = file, 0 if zero_based else 1
        #: The names in their order, where they are numbered.
        self.numbered: dict[str, int] | None = {} if names else None

    def write(self, examples: Examples) -> None:
        """Some more."""
        _check_weightless(examples)
        cells = self._cells(examples)
        labels = _needed_labels(examples)
        values = [*map(number_text, cells.values.tolist())]
        features = [f"{index}:{value}" for index, value in zip(cells.numbers.tolist(), values, strict=True)]
        self._file.write("".join(_lines(labels, features, cells)).encode())

    def end(self) -> None:
        """No more."""

    def _cells(self, examples: Examples) -> Cells:
        if isinstance(examples.x, Rows):
            cells = cells_of(examples.x)
            return Cells(cells.offsets, cells.numbers + self._first, cells.values)
        names, cells = named_cells(examples)
        indices = np.array([self._index(name, examples) for name in names], dtype=np.int64)
        numbers = indices[cells.numbers] if len(names) else cells.numbers
        order = np.lexsort((numbers, cells.rows))
        return Cells(cells.offsets, numbers[order], cells.values[order])

    def _index(self, name: str, examples: Examples) -> int:
        if self.numbered is not None:
            return self.numbered.setdefault(name, len(self.numbered)) + self._first
        if not _INDEX.fullmatch(name) or not self._first <= int(name) < 2**63:
            raise DataError(
                "LIBSVM data have numbered features",
                found=repr(name),
                source=examples.source,
                hint="number them, and write their names to a file, with {names}",
            )
        return int(name)


class VwWriter:
    """Named features, all in the namespace without a name; "space^name" is read as that namespace's."""

    def __init__(self, file: BinaryIO, *, zero_based: bool) -> None:
        self._file, self._zero_based = file, zero_based

    def write(self, examples: Examples) -> None:
        """Some more."""
        names, cells = named_cells(examples, zero_based=self._zero_based)
        for name in names:
            if not name or _NOT_IN_VW.search(name):
                raise ValueError(
                    f"{examples.source}: a name in VW text has no space, colon or bar; found {name!r}; "
                    "jsonl has any name"
                )
        values = ["" if value == 1 else ":" + number_text(value) for value in cells.values.tolist()]
        numbers = cells.numbers.tolist()
        features = [names[number] + value for number, value in zip(numbers, values, strict=True)]
        self._file.write("".join(_lines(self._heads(examples), features, cells)).encode())

    def end(self) -> None:
        """No more."""

    def _heads(self, examples: Examples) -> list[str]:
        """What stands before the features."""
        weights = [1.0] * len(examples) if examples.weights is None else examples.weights.tolist()
        tags = [""] * len(examples) if examples.tags is None else examples.tags
        words = examples.labels is not None and examples.labels.dtype.kind == "U"
        heads = []
        for row, (label, weight, tag) in enumerate(zip(label_texts(examples), weights, tags, strict=True)):
            if label is None and weight != 1:
                raise ValueError(f"{place(examples, row)}: VW text has weights behind labels only; found {weight}")
            if label is not None and words and (not label or _NOT_IN_VW.search(label) or _NO_WORD.fullmatch(label)):
                allowed = "a label in VW text is a number, or a word that is none, without space, colon, comma or bar"
                raise ValueError(f"{place(examples, row)}: {allowed}; found {label!r}")
            if _NOT_IN_VW.search(tag):
                raise ValueError(f"{place(examples, row)}: a tag has no space, colon or bar; found {tag!r}")
            before = ([] if label is None else [label]) + ([] if weight == 1 else [number_text(weight)])
            heads.append(" ".join([*before, f"'{tag}" if tag else ""]) + "|")
        return heads


class JsonlWriter:
    """An object a line: features by name, or, where columns are given, as what these hold."""

    def __init__(
        self, file: BinaryIO, *, label: str, weight: str, columns: Mapping[str, str] | None, zero_based: bool
    ) -> None:
        self._file, self._label, self._weight = file, label, weight
        self._columns, self._zero_based = columns, zero_based

    def write(self, examples: Examples) -> None:
        """Some more."""
        objects = self._objects(examples)
        for key in (self._label, self._weight):
            row = next((row for row, features in enumerate(objects) if key in features), None)
            if row is not None:
                raise DataError(
                    f"a feature is called {key!r}, as the label or the weight is to be",
                    source=examples.source,
                    line=int(examples.lines[row]),
                    hint="choose other keys with {label} and {weight}",
                )
        weights = [None] * len(examples) if examples.weights is None else examples.weights.tolist()
        lines = []
        for label, weight, features in zip(label_values(examples), weights, objects, strict=True):
            own = {self._label: _plain(label), self._weight: _plain(weight)}
            whole = {key: value for key, value in own.items() if value is not None} | features
            lines.append(json.dumps(whole, ensure_ascii=False, separators=(",", ":")) + "\n")
        self._file.write("".join(lines).encode())

    def end(self) -> None:
        """No more."""

    def _objects(self, examples: Examples) -> list[dict[str, Any]]:
        if self._columns is not None:
            table = table_of(examples, self._columns, zero_based=self._zero_based)
            return [
                {key: _plain(column[row]) for key, column in table.items() if column[row] is not None}
                for row in range(len(examples))
            ]
        names, cells = named_cells(examples, zero_based=self._zero_based)
        pairs = [
            (names[number], _plain(value))
            for number, value in zip(cells.numbers.tolist(), cells.values.tolist(), strict=True)
        ]
        offsets = cells.offsets.tolist()
        return [dict(pairs[begin:end]) for begin, end in pairwise(offsets)]


def _plain(value: Any) -> Any:
    """A number as it is written shortest."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _lines(heads: list[str], features: list[str], cells: Cells) -> list[str]:
    offsets = cells.offsets.tolist()
    return [
        " ".join([head, *features[begin:end]]) + "\n"
        for head, (begin, end) in zip(heads, pairwise(offsets), strict=True)
    ]


def _check_weightless(examples: Examples) -> None:
    if examples.weights is not None and (examples.weights != 1).any():
        row = int(np.flatnonzero(examples.weights != 1)[0])
        raise ValueError(
            f"{place(examples, row)}: LIBSVM data have no place for weights; found {examples.weights[row]}; "
            "vw, csv, tsv, jsonl, parquet and arrow have"
        )


def _needed_labels(examples: Examples) -> list[str]:
    labels = label_texts(examples)
    if examples.labels is not None and examples.labels.dtype.kind == "U":
        raise ValueError(
            f"{place(examples, 0)}: labels of LIBSVM data are numbers; found {labels[0]!r}; "
            "vw, csv, tsv, jsonl, parquet and arrow have any"
        )
    missing = [row for row, label in enumerate(labels) if label is None]
    if missing:
        raise ValueError(f"{place(examples, missing[0])}: LIBSVM data have a label in each line; found none")
    return [str(label) for label in labels]
