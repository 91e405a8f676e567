"""What the native readers of records return: their rows and labels as batches, and their errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LONGEST_LABEL
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import ALLOWED_NUMBER, feature_error
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.labels import FIRST_INEXACT
from scwlearn.data.weights import ALLOWED_WEIGHT

#: Values, columns and offsets of the rows; the names of the columns; their hashes, if names are hashed.
RowArrays = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], list[str], Any]
#: Labels as numbers, NaN if it is a word or missing; the number of each word, or -1; the words; whether all are bools.
LabelArrays = tuple[NDArray[np.float64], NDArray[np.int32], list[str], bool]

# Largest batch with string labels, which are kept in an array, each as long as the longest.
_MAX_ROWS_WITH_STRINGS = 2**16
_PROBLEMS = {
    "label": f"a label must be {ALLOWED_NUMBER}",
    "label integer": "an integer label must be less than 2^53 in magnitude, so that it is exact",
    "label numbers": f"a label must be a number, as the first ones are: {ALLOWED_NUMBER}",
    "label words": "a label must be a string, as the first ones are",
    "label length": f"a label must have at most {LONGEST_LABEL} characters",
    "label nul": "a label must not end with a NUL character",
    "label missing": "a record needs a label",
    "weight": f"a weight must be {ALLOWED_WEIGHT}",
}


def record_batches(
    rows: RowArrays,
    labels: LabelArrays,
    weights: NDArray[np.float64] | None,
    lines: NDArray[np.int64],
    source: str,
    slots: int,
) -> Iterable[Batch]:
    """Return what a native reader returns as batches: one, or several to save memory if the labels are strings."""
    numbers, word_numbers, words, all_bools = labels
    whole = Batch(NamedRows.of_arrays(*rows, slots), word_numbers, weights, lines, source)
    if words:
        return with_words(whole, words)
    return [whole.with_labels(_typed(numbers, all_bools=all_bools), ~np.isnan(numbers))]


def with_words(whole: Batch, words: list[str]) -> Iterator[Batch]:
    """Replace the labels of a batch, which are numbers of words or -1, by the words, in parts to save memory."""
    for start in range(0, len(whole), _MAX_ROWS_WITH_STRINGS):
        part = whole if len(whole) <= _MAX_ROWS_WITH_STRINGS else whole.slice(start, start + _MAX_ROWS_WITH_STRINGS)
        numbers = np.asarray(part.labels)
        yield part.with_labels(np.array(words)[numbers], numbers >= 0)


def _typed(numbers: NDArray[np.float64], *, all_bools: bool) -> NDArray[Any]:
    """Return labels as bools, as integers if all are, or as they are."""
    if all_bools:
        return np.asarray(numbers == 1)
    known = np.nan_to_num(numbers)
    are_integers = bool((known == np.floor(known)).all() and (np.abs(known) < FIRST_INEXACT).all())
    return known.astype(np.int64) if are_integers else known


def record_error(kind: str, key: str, found: bytes, *, line: int, skippable: bool = True) -> DataError:
    """Return the error of a record: a fault of its label or weight, or one that the builder of rows reports."""
    # The text may be cut inside a character.
    text = found.decode(errors="ignore")
    if kind in _PROBLEMS:
        hint = "name it in {categorical}" if kind == "label integer" else None
        return DataError(_PROBLEMS[kind], found=shown(text), line=line, column=key or None, hint=hint)
    error = feature_error(kind, key, text, skippable=skippable)
    error.line = line
    return error
