"""What the file of a model says besides what the model has learned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scwlearn.data.formats import get_format
from scwlearn.data.run_record import Made, Record
from scwlearn.data.schema import Schema
from scwlearn.learning.counters import Counts

_COLUMNS = ("label", "weight")


@dataclass(frozen=True)
class About:
    """What a model keeps of the file that it was loaded from, for the next one; as in `SavedModel`."""

    notes: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema | None = None
    made: Made | None = None
    record: Record | None = None
    batch: int | None = None
    #: Counts in the file. The record says nothing about a model that has learned more.
    counts: Counts | None = None


def common_about(models: Mapping[str, Any]) -> About | None:
    """Return what is true of the merged model of some classifiers or learners, each with a title.

    Raises ValueError if the numbers of their features count from different ones.
    """
    known = {title: model.about for title, model in models.items()}
    if all(about is None for about in known.values()):
        return None
    schemas = {title: about and about.schema for title, about in known.items()}
    schema = common_schema(schemas)
    notes = common_notes([{} if about is None else about.notes for about in known.values()])
    if schema is not None and any(other and _difference(schema, other, _COLUMNS) for other in schemas.values()):
        # Nothing asks how Python read the labels. Later data show which column has them.
        schema = None
    return About(notes, schema)


def schema_of_names(vocabulary: Any) -> Schema | None:
    """Return how data are read for features with these names, unless a schema says it; None to detect it.

    Integers are the numbers of features in LIBSVM data.
    """
    is_numbered = vocabulary is not None and vocabulary.key_type is int
    return Schema("libsvm", zero_based=True) if is_numbered else None


def common_notes(notes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the notes that all models have, with the same values."""
    texts = [{name: json.dumps(value, sort_keys=True) for name, value in own.items()} for own in notes]
    return {name: value for name, value in notes[0].items() if all(own.get(name) == texts[0][name] for own in texts)}


def common_schema(schemas: Mapping[str, Schema | None], *, columns: bool = False) -> Schema | None:
    """Return how data are read for all models, each with a title; a model without a schema says nothing about that.

    Raises ValueError if they number features differently, or have the label or the weight in other `columns`.
    """
    known = {title: schema for title, schema in schemas.items() if schema is not None}
    if not known:
        return None
    (name, first), *others = known.items()
    for title, other in others:
        if difference := _difference(first, other, ("zero_based", *(_COLUMNS if columns else ()))):
            raise ValueError(f"{name} and {title} read their data in different ways: {difference}")
    return first


def _difference(one: Schema, other: Schema, fields: Sequence[str]) -> str:
    """Return what differs; named features may come from any format and any columns that are declared alike."""
    kinds = ["numbered features" if get_format(s.format).numbered else "named features" for s in (one, other)]
    if kinds[0] != kinds[1]:
        return " and ".join(kinds)
    parts = []
    for name in fields:
        values = [getattr(schema, name) for schema in (one, other)]
        if values[0] != values[1]:
            shown = [", ".join(v) if isinstance(v, tuple) else str(v) for v in values]
            parts.append(f"{name} {shown[0] or 'none'} and {shown[1] or 'none'}")
    return "; ".join(parts)
