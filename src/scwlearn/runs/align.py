"""Examples of any source as a classifier takes them: in its own features, by name or by number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scwlearn.data.examples import Examples, NamedRows
from scwlearn.data.rows import Rows
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.linear import LinearLearner


def fitting(learner: ClassLearner, examples: Examples, names: Sequence[str] | None = None) -> Rows | NamedRows:
    """The rows of examples for a classifier; features that it has never met say nothing.

    `names` are those of its columns, where it learned from columns that had names.
    """
    inner = learner.learner
    width: int | None = inner.n_features
    if width is None:
        raise ValueError("the model has not learned from any example yet")
    vocabulary = getattr(inner, "vocabulary", None)
    if vocabulary is not None:
        return _by_name(examples, numbers=vocabulary.key_type is int)
    if isinstance(examples.x, NamedRows):
        if names is None:
            raise _other_kind(examples, "numbered")
        places = {name: place for place, name in enumerate(names)}
        return examples.x.in_columns([places.get(name, -1) for name in examples.x.names], None, width)
    rows = examples.x
    if rows.width > width and not isinstance(inner, LinearLearner):
        # Without its weight a feature says nothing; a kernel would say another thing.
        raise ValueError(
            f"{examples.source} has features up to number {rows.width}; the model, which has a kernel, knows {width}"
        )
    return rows.widened(width) if rows.width < width else rows.narrowed(width)


def _by_name(examples: Examples, *, numbers: bool) -> NamedRows:
    """Where the names are numbers, only numbered features can be meant."""
    if isinstance(examples.x, NamedRows) == numbers:
        raise _other_kind(examples, "numbered" if numbers else "named")
    named = by_number(examples).x
    assert isinstance(named, NamedRows)
    return named


def by_number(examples: Examples) -> Examples:
    """Numbered features by names: their numbers, as the source has them from 0."""
    if isinstance(examples.x, NamedRows):
        return examples
    values, columns, offsets = examples.x.compressed(np.int64)
    numbers, places = np.unique(columns, return_inverse=True)
    rows = Rows.from_checked(values, places.astype(np.int32).ravel(), offsets.astype(np.int32), len(numbers))
    return examples.with_rows(NamedRows(rows, numbers.tolist()))


def _other_kind(examples: Examples, learned: str) -> ValueError:
    has = {"named": "numbered", "numbered": "named"}[learned]
    return ValueError(f"{examples.source} has {has} features, but the model learned from {learned} ones")
