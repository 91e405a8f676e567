"""What is suspicious about training data, found in a first batch of examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import NamedRows
from scwlearn.data.labels import count_labels, looks_sorted
from scwlearn.data.rows import Rows
from scwlearn.learning.data_warnings import EMPTY_EXAMPLES, MANY_LABELS, SORTED_LABELS, UNEVEN_FEATURES, has_many_labels

#: Only a model that has seen fewer examples is new, and its next batch a first one.
NEW = 1024

# Rows that are examined, and how many of them must have a feature to tell its size.
_SAMPLE, _FEWEST_VALUES = 256, 8
# Where the sizes of features differ by more, scaling helped on all data sets tried (docs/scaling.md).
_UNEVEN = 1000.0


class FeatureSize(NamedTuple):
    """Root mean square of the values of a feature that are not 0."""

    size: float
    #: The number of the column without names, None for the constant of the intercept.
    name: Any


class Findings(NamedTuple):
    """What is suspicious about a first batch of examples."""

    sorted_labels: bool = False
    #: The largest and the smallest feature and their sizes, if these differ too much.
    uneven_features: tuple[FeatureSize, FeatureSize] | None = None
    #: Whether most rows have no features.
    mostly_empty: bool = False
    #: The number of distinct labels and of examples, if there are too many labels for classes.
    many_labels: tuple[int, int] | None = None

    def messages(self) -> list[str]:
        """Return the warnings of the interfaces in Python."""
        found = []
        if self.many_labels:
            labels, examples = self.many_labels
            found.append(MANY_LABELS.format(labels, f"the first {examples:,} examples"))
        found += [f"{SORTED_LABELS}; shuffle the examples"] if self.sorted_labels else []
        if self.uneven_features:
            sizes = describe_sizes(self.uneven_features, "column", first=0)
            found.append(f'{UNEVEN_FEATURES.format(sizes)}; use scale="standard", or standardise them')
        if self.mostly_empty:
            found.append(EMPTY_EXAMPLES)
        return found


def describe_sizes(uneven: tuple[FeatureSize, FeatureSize], column: str, *, first: int) -> str:
    """Return the sizes of two features in words; numbered features are counted from `first`."""

    def named(name: Any) -> str:
        if name is None:
            return "the constant of the intercept"
        return f"{column} {name + first}" if isinstance(name, int) else repr(name)

    (most, large), (least, small) = uneven
    return f"{named(large)} is about {most:.1g}, {named(small)} about {least:.1g}"


def examine(
    rows: Rows | NamedRows | tuple[Any, ...],
    labels: NDArray[Any],
    places: slice | NDArray[np.intp],
    *,
    sizes: bool,
    constant: bool,
) -> Findings:
    """Examine the valid examples at some places of a batch, in learning order, given the label of each.

    `sizes` tells whether the sizes of features matter, `constant` whether there is an intercept.
    """
    changes = int(np.count_nonzero(labels[1:] != labels[:-1]))
    counts = count_labels(labels)[1].tolist()
    is_sorted = looks_sorted(counts, changes)
    many = (len(counts), len(labels)) if has_many_labels(len(counts), len(labels)) else None
    names: list[Any] = []
    sample = np.arange(_SAMPLE)[: len(rows)] if isinstance(places, slice) else places[:_SAMPLE]
    if isinstance(rows, tuple):
        stored, columns, lengths = _numbers_in([rows[place] for place in sample.tolist()], names)
    else:
        names = rows.names if isinstance(rows, NamedRows) else []
        numbered = rows.rows if isinstance(rows, NamedRows) else rows
        values, columns, offsets = numbered.take(sample).compressed()
        stored, lengths = np.abs(values), np.diff(offsets)
    there = stored > 0
    filled = np.bincount(np.repeat(np.arange(len(lengths)), lengths)[there], minlength=len(lengths))
    uneven = _uneven(stored[there], columns[there], names, constant=constant) if sizes else None
    return Findings(is_sorted, uneven, bool(2 * np.count_nonzero(filled) < len(filled)), many)


def _numbers_in(
    records: Sequence[Any], names: list[Any]
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Return the sizes of the values of dicts, their columns, and how many each has; append the names to `names`."""
    columns: dict[Any, int] = {}
    found = [
        (columns.setdefault(name, len(columns)), abs(value) if isinstance(value, int | float) else bool(value))
        for record in records
        for name, value in record.items()
    ]
    names.extend(columns)
    lengths = np.array([len(record) for record in records], dtype=np.intp)
    places, sizes = zip(*found, strict=True) if found else ((), ())
    return np.array(sizes, dtype=np.float64), np.array(places, dtype=np.intp), lengths


def _uneven(
    values: NDArray[Any], columns: NDArray[Any], names: list[Any], *, constant: bool
) -> tuple[FeatureSize, FeatureSize] | None:
    """Return the features with the largest and the smallest root mean square, if these are far apart."""
    if not len(values):
        return None
    last = int(columns.max())
    # Numbering the columns anew takes longer than counting, unless most of them have no values.
    used, place = (np.arange(last + 1), columns) if last < len(columns) else np.unique(columns, return_inverse=True)
    counts = np.bincount(place)
    known = counts >= _FEWEST_VALUES
    # Divided by the largest first, so that no square overflows.
    largest = values.max()
    squares = np.bincount(place, np.square(values / largest))[known] / counts[known]
    means = (largest * np.sqrt(squares)).tolist()
    sizes = [
        FeatureSize(mean, names[column] if names else column)
        for mean, column in zip(means, used[known].tolist(), strict=True)
    ]
    sizes += [FeatureSize(1.0, None)] if constant else []
    most, least = max(sizes, key=_size, default=None), min(sizes, key=_size, default=None)
    return (most, least) if most and least and most.size > _UNEVEN * least.size else None


def _size(feature: FeatureSize) -> float:
    return feature.size
