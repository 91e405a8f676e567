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


@dataclass(frozen=True)
class About:
    """What a classifier keeps of the file that it was loaded from, for the next one; as in `SavedModel`."""

    notes: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema | None = None
    made: Made | None = None
    record: Record | None = None
    batch: int | None = None
    #: Counts in the file. The record and the batch say nothing about a classifier that has learned more.
    counts: Counts = field(default_factory=Counts)


def common_about(models: Mapping[str, Any]) -> About | None:
    """Return what is true of the merged model of some classifiers, each with a title.

    Raises ValueError if they read data in different ways.
    """
    if all(model.about is None for model in models.values()):
        return None
    known = [About() if model.about is None else model.about for model in models.values()]
    schemas = {title: about.schema for title, about in zip(models, known, strict=True)}
    vocabularies = {title: getattr(model.learner, "vocabulary", None) for title, model in models.items()}
    return About(common_notes([about.notes for about in known]), common_schema(schemas, vocabularies))


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


def common_schema(schemas: Mapping[str, Schema | None], vocabularies: Mapping[str, Any]) -> Schema | None:
    """Return the schema of all models, each with a title; None if one has none.

    Raises ValueError if they read data in different ways, of which the names of their features tell, too.
    """
    if not any(schemas.values()):
        return None
    (name, first), *others = ((title, own or schema_of_names(vocabularies[title])) for title, own in schemas.items())
    for title, other in others:
        if first is None or other is None:
            return None
        if difference := _difference(first, other):
            raise ValueError(f"{name} and {title} read their data in different ways: {difference}")
    return first


def _difference(one: Schema, other: Schema) -> str:
    """Return what differs; named features may come from any format and any columns."""
    kinds = ["numbered features" if get_format(s.format).numbered else "named features" for s in (one, other)]
    if kinds[0] != kinds[1]:
        return " and ".join(kinds)
    parts = []
    for name in ("label", "weight", "zero_based"):
        values = [getattr(schema, name) for schema in (one, other)]
        if values[0] != values[1]:
            shown = [", ".join(v) if isinstance(v, tuple) else str(v) for v in values]
            parts.append(f"{name} {shown[0] or 'none'} and {shown[1] or 'none'}")
    return "; ".join(parts)
