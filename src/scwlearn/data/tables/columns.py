"""Columns as Arrow holds them: what kind each is, and the numbers, labels and features in its cells."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LARGEST_VALUE, LARGEST_WEIGHT, SMALLEST_WEIGHT
from scwlearn.data.tables.assembling import Part, counted

#: Labels are kept side by side, each as long as the longest.
LONGEST_LABEL = 256

#: What is spelled out before each of several names: a namespace, a key, a column. Longer, a small file would take all
#: memory.
LONGEST_PREFIX = 256

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# What others write where they have no number, and numbers that are too large.
_IN_PLACE_OF_A_NUMBER = rf"^\s*([+-]?(nan|inf|infinity)|na|n/a|null|none)\s*$|{_NUMBER}"
# From here on whole numbers have gaps as floats.
_WHOLE = 2.0**53
_SHOWN = 40


class Bad(NamedTuple):
    """The rows whose cells in one column cannot be used, and why."""

    column: str
    rows: NDArray[np.intp]
    problem: str
    #: From a row to the excerpt of its cell.
    found: Callable[[int], str]
    hint: str | None = None


class Numbers(NamedTuple):
    """Cells as numbers; 0 where there is none."""

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    bad: NDArray[np.bool_]


def words_of(text: str) -> list[str]:
    """The words of a text: what is between characters that are neither letters, digits nor ``_``, in lower case.

    Examples
    --------
    >>> from scwlearn.data.tables.columns import words_of
    >>> words_of("Don't panic: it's 42 o'clock!")
    ['don', 't', 'panic', 'it', 's', '42', 'o', 'clock']
    """
    return _words(text.lower())


_words = re.compile(r"\w+").findall


def kind_of_type(kind: Any) -> str | None:
    """What a column of an Arrow type is; "string" where its cells decide, None where it is nothing that can be used."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return "categorical" if kind_of_type(kind.value_type) == "string" else kind_of_type(kind.value_type)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numeric"
    if types.is_null(kind):
        return "numeric"
    if _is_text(kind):
        return "string"
    if (types.is_list(kind) or types.is_large_list(kind)) and _is_text(kind.value_type):
        return "text"
    return None


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def kind_of_cells(column: Any, *, numbers: bool) -> str:
    """What a column of strings is, by its first cells; `numbers` says whether numbers may be written as strings.

    Numeric if all cells that are not empty are numbers, or stand in place of one (nan, NA, inf), which is an error when
    they are read; text if they have three words or more on average and more than half of them differ; categorical
    otherwise.
    """
    import pyarrow.compute as compute

    if numbers and _are_numbers(column):
        return "numeric"
    cells = column.drop_null()
    words = compute.mean(compute.count_substring_regex(cells, pattern=r"[^\s]+")).as_py() or 0
    return "text" if words >= 3 and 2 * compute.count_distinct(cells).as_py() > len(cells) else "categorical"


def _are_numbers(column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as compute

    _, missing, bad = as_numbers(column)
    if not bad.any():
        return True
    odd = compute.match_substring_regex(column.filter(pa.array(bad)), pattern=_IN_PLACE_OF_A_NUMBER, ignore_case=True)
    return bool(compute.all(odd).as_py()) and not (bad | missing).all()


def as_numbers(column: Any) -> Numbers:
    """The numbers in a column of numbers, bools or strings. White space around one does not matter."""
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_dictionary(column.type):
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
    elif pa.types.is_boolean(column.type):
        numbers = compute.cast(compute.cast(column, pa.uint8()), pa.float64())
    else:
        numbers = compute.cast(column, pa.float64(), safe=False)
    values = _array(numbers.fill_null(0.0) if numbers.null_count else numbers)
    bad = bad | ~(np.abs(values) <= LARGEST_VALUE)
    return Numbers(values, _missing(column), bad)


def _array(column: Any) -> NDArray[Any]:
    array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return array


def _missing(column: Any) -> NDArray[np.bool_]:
    return _array(column.is_null()) if column.null_count else np.zeros(len(column), dtype=bool)


def found(column: Any, row: int) -> str:
    """What is in a cell, for a message."""
    value = column[row].as_py()
    if value is None or value == "":
        return "nothing"
    shown = repr(value[:_SHOWN] if isinstance(value, str | bytes) else value)
    return shown + "..." * (isinstance(value, str | bytes) and len(value) > _SHOWN)


def features_of(name: str, column: Any, kind: str, bad: list[Bad]) -> Part | None:
    """What a column gives to the rows; None for nothing. What is wrong goes to `bad`."""
    if kind == "numeric":
        return _numeric(name, column, bad)
    if kind == "categorical":
        return _categorical(name, column)
    return _bags(name, column)


def _numeric(name: str, column: Any, bad: list[Bad]) -> Part | None:
    values, _, wrong = as_numbers(column)
    if wrong.any():
        allowed = f"the column is numeric: a cell is empty or a finite number of at most {LARGEST_VALUE:g} in size"
        hint = "use {categorical} for a column of strings"
        bad.append(Bad(name, np.flatnonzero(wrong), allowed, partial(found, column), hint))
        return None
    there = values != 0
    values = values if there.all() else values[there]
    return Part([name], there, np.zeros(len(values), dtype=np.int32), values) if len(values) else None


def _categorical(name: str, column: Any) -> Part | None:
    codes, values = coded(column)
    there = codes >= 0
    codes = codes if there.all() else codes[there]
    return Part([f"{name}={value}" for value in values], there, codes, np.ones(len(codes))) if len(codes) else None


def coded(column: Any) -> tuple[NDArray[np.int32], list[Any]]:
    """The number of each cell's value, -1 where it is missing, and the values in the order in which they come."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        # What it lists need not occur.
        column = column.cast(column.type.value_type)
    encoded = column.dictionary_encode()
    indices = encoded.indices
    codes = _array(indices.fill_null(-1) if indices.null_count else indices)
    return codes.astype(np.int32, copy=False), encoded.dictionary.to_pylist()


def _bags(name: str, column: Any) -> Part | None:
    import pyarrow as pa

    if _is_text(column.type):
        bags = [words_of(text) if text is not None else () for text in column.to_pylist()]
    else:
        bags = [[word for word in bag if word is not None] if bag is not None else () for bag in column.to_pylist()]
    codes, words = coded(pa.array(chain.from_iterable(bags), type=pa.string()))
    rows = np.repeat(np.arange(len(bags)), [*map(len, bags)])
    return counted(rows, codes, [f"{name}={word}" for word in words], len(bags)) if words else None


def labels_of(name: str, column: Any, kind: str, bad: list[Bad]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels in a column, numbers, bools or strings, and where there is none."""
    import pyarrow as pa

    if kind == "categorical":
        codes, distinct = coded(column)
        texts = [str(value) for value in distinct]
        long = [code for code, text in enumerate(texts) if len(text) > LONGEST_LABEL]
        if long:
            rows = np.flatnonzero(np.isin(codes, long))
            allowed = f"a label has at most {LONGEST_LABEL} characters"
            bad.append(Bad(name, rows, allowed, partial(found, column)))
        return np.array([*(text[:LONGEST_LABEL] for text in texts), ""])[codes], codes < 0
    if pa.types.is_boolean(column.type):
        return _array(column.fill_null(False)).astype(bool), _missing(column)
    values, missing, wrong = as_numbers(column)
    if wrong.any():
        allowed = f"the labels are numbers: finite ones of at most {LARGEST_VALUE:g} in size"
        bad.append(Bad(name, np.flatnonzero(wrong), allowed, partial(found, column)))
    return _whole(column, values), missing


def _whole(column: Any, values: NDArray[np.float64]) -> NDArray[Any]:
    """Whole numbers as such, large ones too."""
    import pyarrow as pa
    import pyarrow.compute as compute

    if len(values) and not (values == np.floor(values)).all():
        return values
    if not len(values) or np.abs(values).max() < _WHOLE:
        return values.astype(np.int64)
    try:
        return _array(compute.cast(column, pa.int64()).fill_null(0))
    except pa.ArrowInvalid:
        return values


def weights_of(name: str, column: Any, bad: list[Bad]) -> NDArray[np.float64]:
    """The weights in a column."""
    values, missing, wrong = as_numbers(column)
    wrong = wrong | missing | ~((values == 0) | ((values >= SMALLEST_WEIGHT) & (values <= LARGEST_WEIGHT)))
    if wrong.any():
        allowed = f"a weight is 0 or a number from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
        bad.append(Bad(name, np.flatnonzero(wrong), allowed, partial(found, column)))
    return values
