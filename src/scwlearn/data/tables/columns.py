"""Columns of tables: the kind of each, the features, labels and weights in its cells, and rows made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types
from numpy.typing import NDArray

from scwlearn._native import LARGEST_VALUE
from scwlearn.data.batch import NamedRows
from scwlearn.data.features import ALLOWED_NUMBER
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.rows import Rows, same_type
from scwlearn.data.schema import MAX_LABEL_LENGTH, split_words
from scwlearn.data.weights import ALLOWED_WEIGHT, is_weight

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# Placeholders for a missing number, and for numbers that are too large.
_LIKE_A_NUMBER = rf"^\s*([+-]?(nan|inf|infinity)|na|n/a|null|none)\s*$|{_NUMBER}"
# From here on, floats cannot represent all integers.
_FIRST_INEXACT = 2.0**53
_NUMERIC_HINT = "correct the cell, leave such records out with {on_error=skip}, or name the column in {categorical}"


class Features(NamedTuple):
    """Features of one column, row by row."""

    #: Names of the features, each of which occurs.
    names: list[str]
    #: Number of features in each row; bools if no row has more than one.
    counts: NDArray[np.bool_] | NDArray[np.int64]
    #: Name number, increasing within a row, and value of each feature.
    numbers: NDArray[np.int32]
    values: NDArray[np.float64]


def kind_of_type(given: Any) -> str | None:
    """Return the kind of columns of an Arrow type; "string" if the cells decide, None if it cannot be used."""
    if types.is_dictionary(given):
        kind = kind_of_type(given.value_type)
        return "categorical" if kind == "string" else kind
    if types.is_boolean(given) or types.is_integer(given) or types.is_floating(given) or types.is_decimal(given):
        return "numeric"
    if types.is_null(given):
        return "numeric"
    if _is_text(given):
        return "string"
    if (types.is_list(given) or types.is_large_list(given)) and _is_text(given.value_type):
        return "text"
    return None


def _is_text(given: Any) -> bool:
    return bool(types.is_string(given) or types.is_large_string(given) or types.is_string_view(given))


def kind_of_cells(column: Any, *, numbers: bool) -> str:
    """Return the kind of a column of strings, given its first cells.

    Numeric if numbers may come as strings and all non-empty cells are numbers, or stand for one (nan, NA, inf), which
    is an error when they are read. Text if the cells have at least three words on average and more than half of
    them are different. Else categorical.
    """
    if numbers and _are_numbers(column):
        return "numeric"
    cells = column.drop_null()
    words = compute.mean(compute.count_substring_regex(cells, pattern=r"[^\s]+")).as_py() or 0
    return "text" if words >= 3 and 2 * compute.count_distinct(cells).as_py() > len(cells) else "categorical"


def _are_numbers(column: Any) -> bool:
    _, missing, bad = _as_numbers(column)
    if not bad.any():
        return True
    odd = compute.match_substring_regex(column.filter(pa.array(bad)), pattern=_LIKE_A_NUMBER, ignore_case=True)
    return bool(compute.all(odd).as_py()) and not (bad | missing).all()


def _as_numbers(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the cells of a column as numbers, 0 if missing; which are missing; and which are not valid numbers.

    The cells are numbers, bools, or strings, which may have white space around them.
    """
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    bad = np.zeros(len(column), dtype=bool)
    if _is_text(column.type):
        try:
            numbers = compute.cast(column, pa.float64())
        except pa.ArrowInvalid:
            column = compute.utf8_trim_whitespace(column)
            column = compute.if_else(compute.equal(column, ""), None, column)
            bad = ~_array(compute.match_substring_regex(column, pattern=_NUMBER).fill_null(True))
            plain = compute.utf8_ltrim(compute.if_else(bad, None, column), characters="+")
            numbers = compute.cast(plain, pa.float64())
    elif types.is_boolean(column.type):
        numbers = compute.cast(compute.cast(column, pa.uint8()), pa.float64())
    else:
        numbers = compute.cast(column, pa.float64(), safe=False)
    values = _array(numbers.fill_null(0.0) if numbers.null_count else numbers)
    return values, _missing(column), bad | ~(np.abs(values) <= LARGEST_VALUE)


def _array(column: Any) -> NDArray[Any]:
    array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return array


def _missing(column: Any) -> NDArray[np.bool_]:
    return _array(column.is_null()) if column.null_count else np.zeros(len(column), dtype=bool)


@dataclass(frozen=True)
class Column:
    """A column of some records, and the errors by row, to which those of its own bad cells are added."""

    name: str
    cells: Any
    errors: dict[int, DataError]

    def reject(self, rows: NDArray[np.bool_], problem: str, hint: str | None = None) -> None:
        """Add the errors of some rows; a row keeps its first error."""
        for row in np.flatnonzero(rows).tolist():
            if row not in self.errors:
                found = shown(self.cells[row].as_py())
                self.errors[row] = DataError(problem, found=found, column=self.name, hint=hint)

    def features(self, kind: str) -> Features | None:
        """Return the features, or None if there are none."""
        name = self.name
        if kind == "text":
            return self._words()
        if kind == "categorical":
            codes, strings = _encoded(self.cells)
            there = codes >= 0
            codes = codes if there.all() else codes[there]
            return Features([f"{name}={s}" for s in strings], there, codes, np.ones(len(codes))) if len(codes) else None
        values, _, wrong = _as_numbers(self.cells)
        if wrong.any():
            problem = f"a cell of a numeric column must be empty or {ALLOWED_NUMBER}"
            self.reject(wrong, problem, _NUMERIC_HINT)
            return None
        there = values != 0
        values = values if there.all() else values[there]
        return Features([name], there, np.zeros(len(values), dtype=np.int32), values) if len(values) else None

    def _words(self) -> Features | None:
        """Return the number of times that each word occurs."""
        bags: list[Any]
        if _is_text(self.cells.type):
            bags = [split_words(text or "") for text in self.cells.to_pylist()]
        else:
            bags = [[word for word in bag or () if word is not None] for bag in self.cells.to_pylist()]
        codes, words = _encoded(pa.array(chain.from_iterable(bags), type=pa.string()))
        if not words:
            return None
        rows = np.repeat(np.arange(len(bags)), [*map(len, bags)])
        cells, counts = np.unique(rows * len(words) + codes, return_counts=True)
        in_row = np.bincount(cells // len(words), minlength=len(bags))
        names = [f"{self.name}={word}" for word in words]
        return Features(names, in_row, (cells % len(words)).astype(np.int32), counts.astype(np.float64))

    def labels(self, kind: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the labels, numbers, bools or strings, and which are missing."""
        if kind == "categorical":
            codes, values = _encoded(self.cells)
            texts = [str(value) for value in values]
            long = [code for code, text in enumerate(texts) if len(text) > MAX_LABEL_LENGTH]
            self.reject(np.isin(codes, long), f"a label must have at most {MAX_LABEL_LENGTH} characters")
            return np.array([*(text[:MAX_LABEL_LENGTH] for text in texts), ""])[codes], codes < 0
        if types.is_boolean(self.cells.type):
            return _array(self.cells.fill_null(False)).astype(bool), _missing(self.cells)
        numbers, missing, wrong = _as_numbers(self.cells)
        self.reject(wrong, f"a label must be a number, as the first ones are: {ALLOWED_NUMBER}")
        return _as_integers(self.cells, numbers), missing

    def weights(self) -> NDArray[np.float64]:
        """Return the weights."""
        values, missing, wrong = _as_numbers(self.cells)
        self.reject(wrong | missing | ~is_weight(values), f"a weight must be {ALLOWED_WEIGHT}")
        return values


def _encoded(column: Any) -> tuple[NDArray[np.int32], list[Any]]:
    """Return the number of each cell's value, -1 if missing, and the values by first appearance."""
    if types.is_dictionary(column.type):
        # Its dictionary may list values that do not occur.
        column = column.cast(column.type.value_type)
    encoded = column.dictionary_encode()
    indices = encoded.indices
    codes = _array(indices.fill_null(-1) if indices.null_count else indices)
    return codes.astype(np.int32, copy=False), encoded.dictionary.to_pylist()


def _as_integers(column: Any, values: NDArray[np.float64]) -> NDArray[Any]:
    """Return integers as int64, including those that floats cannot represent."""
    if len(values) and not (values == np.floor(values)).all():
        return values
    if not len(values) or np.abs(values).max() < _FIRST_INEXACT:
        return values.astype(np.int64)
    try:
        return _array(compute.cast(column, pa.int64()).fill_null(0))
    except pa.ArrowInvalid:
        return values


def joined(columns: Sequence[Features], count: int) -> NamedRows:
    """Return `count` rows with the features of all columns."""
    offsets = np.zeros(count + 1, dtype=np.int64)
    for column in columns:
        offsets[1:] += column.counts
    np.cumsum(offsets, out=offsets)
    values = np.empty(int(offsets[-1]), dtype=np.float64)
    numbers = np.empty(len(values), dtype=np.int32)
    names: list[str] = []
    free = offsets[:-1].copy()
    for column in columns:
        places = _places(column, free)
        values[places] = column.values
        numbers[places] = column.numbers + np.int32(len(names))
        free += column.counts
        names += column.names
    unique = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if len(unique) < len(names):
        # "a=b" may be a numeric column, and also the string "b" in the column "a".
        united = np.array([unique[name] for name in names], dtype=np.int64)[numbers]
        return NamedRows.summed(np.repeat(np.arange(count), np.diff(offsets)), united, values, [*unique], count)
    return NamedRows(Rows.from_csr(values, *same_type(numbers, offsets), len(names)), names)


def _places(column: Features, free: NDArray[np.int64]) -> NDArray[np.int64]:
    if column.counts.dtype == np.bool_:
        return free if len(column.values) == len(free) else free[column.counts]
    counts = column.counts.astype(np.int64)
    before = np.cumsum(counts) - counts
    return np.asarray(np.repeat(free - before, counts) + np.arange(len(column.values)))
