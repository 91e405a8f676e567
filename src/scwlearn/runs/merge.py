"""Merge model files that were trained apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scwlearn.data.formats import get_format
from scwlearn.data.schema import Schema
from scwlearn.files import SavedModel, read
from scwlearn.files.json_reader import dump_json
from scwlearn.files.saved_model import Made
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.merging.gaussians import check_same
from scwlearn.learning.merging.models import merge_titled


def merge_files(
    paths: Sequence[str],
    how: str = "auto",
    weights: Sequence[float] | None = None,
    *,
    made: Made | None = None,
) -> SavedModel:
    """Merge files of models with the same algorithm and settings; `made` says how the result was made.

    Raises ValueError if a file is not a model, or the models cannot be merged.
    """
    saved = {title: read(path) for title, path in zip(_titles(paths), paths, strict=True)}
    schema, first = _common_schema(saved), next(iter(saved.values()))
    try:
        if schema is None or not all(isinstance(one.learner, Classifier) for one in saved.values()):
            models = {title: one.to_model() for title, one in saved.items()}
            merged = SavedModel.from_model(merge_titled(models, how, weights))
        else:
            # Models of the command need no scikit-learn, and their data may differ in width.
            _check_columns(saved)
            merged = first.continued(merge_titled({t: one.learner for t, one in saved.items()}, how, weights))
    except TypeError as error:
        raise ValueError(str(error)) from None
    notes = _common_notes([one.notes for one in saved.values()])
    return replace(merged, notes=notes, schema=schema, record=None, made=made, batch=None)


def _titles(paths: Sequence[str]) -> list[str]:
    """Return the paths, each once: errors and `merge_titled` know the models by these titles."""
    titles: dict[str, None] = {}
    for path in paths:
        title = path
        while title in titles:
            title += " (again)"
        titles[title] = None
    return [*titles]


def _check_columns(saved: Mapping[str, SavedModel]) -> None:
    """Raise a ValueError unless the columns of all data frames have the same names."""
    names = {title: one.attributes.get("feature_names_in_") for title, one in saved.items()}
    first = next(iter(names))
    for title, other in names.items():
        check_same("feature_names_in_", names[first], other, first, title)


def _common_notes(notes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the notes that all models have, with the same values."""
    texts = [{name: dump_json(value) for name, value in own.items()} for own in notes]
    return {name: value for name, value in notes[0].items() if all(own.get(name) == texts[0][name] for own in texts)}


def _common_schema(saved: Mapping[str, SavedModel]) -> Schema | None:
    """Return the schema of all models; None if one has none."""
    (name, first), *_ = ((title, one.schema) for title, one in saved.items())
    for title, one in saved.items():
        if first is None or one.schema is None:
            return None
        if difference := _difference(first, one.schema):
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
