"""What the writers of all formats share: their base class, and checks that a reader will accept what is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from scwlearn._native import LARGEST_VALUE, LONGEST_LABEL
from scwlearn._util.checks import is_unicode
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import ALLOWED_NUMBER
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.labels import FIRST_INEXACT
from scwlearn.data.weights import ALLOWED_WEIGHT, is_weight

_ALLOWED_TEXT = f"a string of 1 to {LONGEST_LABEL} characters, in valid Unicode and without NUL at the end"
_ALLOWED_INTEGER = "an integer below 2^53 in magnitude"


@dataclass(frozen=True, kw_only=True)
class WriterOptions:
    """Options of all writers; see `write_batches`."""

    label: str = "label"
    weight: str = "weight"
    columns: Mapping[str, str] | None = None
    zero_based: bool = False
    #: Whether names that are not numbers are numbered.
    number_names: bool = False
    #: Whether any batch has labels, and weights, and the types of all labels; None: as the first batch.
    has_labels: bool | None = None
    has_weights: bool | None = None
    label_types: frozenset[type] | None = None


class Writer(ABC):
    """Writer of batches to an open file, which stays open."""

    def __init__(self, file: BinaryIO, options: WriterOptions) -> None:
        self.file, self.options = file, options
        self._has_words: bool | None = None

    def write(self, batch: Batch) -> None:
        """Write the examples of a batch; raise a DataError if a reader would refuse them or read others."""
        self._check_labels(batch)
        if batch.weights is not None and not (good := is_weight(batch.weights)).all():
            row = int(np.argmin(good))
            raise error_at(batch, row, f"a weight must be {ALLOWED_WEIGHT}", batch.weights[row])
        self.write_batch(batch)

    @abstractmethod
    def write_batch(self, batch: Batch) -> None:
        """Write the examples of a batch, whose labels and weights are valid."""

    def finish(self) -> None:  # noqa: B027
        """Write what follows the last batch: by default, nothing."""

    def _check_labels(self, batch: Batch) -> None:
        labels = label_values(batch)
        for label in {*labels} - {None}:
            problem = _label_problem(label)
            has_words = isinstance(label, str)
            if self._has_words is None:
                self._has_words = has_words
            if problem is None and has_words != self._has_words:
                problem = f"all labels must be {'strings' if self._has_words else 'numbers'}, as the first ones are"
            if problem is not None:
                raise error_at(batch, labels.index(label), problem, shown(label))


def _label_problem(label: Any) -> str | None:
    """Return why no format can hold a label."""
    if isinstance(label, str):
        fits = 0 < len(label) <= LONGEST_LABEL and not label.endswith("\0") and is_unicode(label)
        return None if fits else f"a label must be {_ALLOWED_TEXT}"
    if isinstance(label, int):
        return None if abs(label) < FIRST_INEXACT else f"an integer label must be {_ALLOWED_INTEGER}"
    if isinstance(label, float):
        return None if abs(label) <= LARGEST_VALUE else f"a label must be {ALLOWED_NUMBER}"
    return "a label must be a string, a number or a bool"


def with_names(batch: Batch, *, zero_based: bool = False) -> NamedRows:
    """Return the features by name; the name of a numbered one is its index."""
    if isinstance(batch.x, NamedRows):
        return NamedRows(batch.x.rows, [str(name) for name in batch.x.names])
    rows = NamedRows.of_numbers(batch.x)
    return NamedRows(rows.rows, [str(number + (not zero_based)) for number in rows.names])


def value_text(value: Any) -> Any:
    """Return the shortest text that is read as the same number; strings and None stay the same."""
    return value if value is None or isinstance(value, str) else repr(value).removesuffix(".0")


def error_at(batch: Batch, row: int, problem: str, found: Any = None, hint: str | None = None) -> DataError:
    """Return the error of an example that cannot be written."""
    shown = None if found is None else str(found)
    return DataError(problem, found=shown, source=batch.source, line=int(batch.lines[row]), hint=hint)


def label_values(batch: Batch, *, with_bools: bool = False) -> list[Any]:
    """Return the labels as Python values, missing ones as None, and bools as numbers unless the format has them."""
    if batch.labels is None:
        return [None] * len(batch)
    labels = batch.labels
    values = [label.item() if isinstance(label, np.generic) else label for label in labels.tolist()]
    if not with_bools and labels.dtype.kind in "bO":
        values = [int(value) if isinstance(value, bool) else value for value in values]
    if batch.labelled is None:
        return values
    return [label if has_label else None for label, has_label in zip(values, batch.labelled.tolist(), strict=True)]


def check_names(batch: Batch, x: NamedRows, is_valid: Callable[[str], bool], problem: str) -> None:
    """Raise a DataError for the first name that cannot be written, unless its feature is 0 in all rows."""
    bad = [column for column, name in enumerate(x.names) if not is_valid(name)]
    if not bad:
        return
    values, columns, offsets = x.rows.compressed()
    found = np.flatnonzero(np.isin(columns, bad) & (values != 0))
    if len(found):
        row = int(np.searchsorted(offsets, found[0], side="right")) - 1
        raise error_at(batch, row, problem, shown(x.names[columns[found[0]]]))
