"""Merge model files that were trained apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scwlearn.data.formats import get_format
from scwlearn.data.schema import Schema
from scwlearn.files import SavedModel, read
from scwlearn.files.json_reader import dump_json
from scwlearn.files.saved_model import Made
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.merging import merge
from scwlearn.learning.merging.gaussians import check_same


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
    saved = [read(path) for path in paths]
    schema = _common_schema(paths, saved)
    try:
        if schema is None or not all(isinstance(one.learner, Classifier) for one in saved):
            merged = SavedModel.from_model(merge([one.to_model() for one in saved], how, weights))
        else:
            # Models of the command need no scikit-learn, and their data may differ in width.
            _check_columns(paths, saved)
            merged = saved[0].continued(merge([one.learner for one in saved], how, weights))
    except (TypeError, ValueError) as error:
        message = re.sub(r"\bmodels\[(\d+)\]", lambda found: paths[int(found[1])], str(error))
        raise ValueError(message) from None
    return replace(merged, notes=_common_notes(saved), schema=schema, record=None, made=made, batch=None)


def _check_columns(paths: Sequence[str], saved: Sequence[SavedModel]) -> None:
    """Raise a ValueError unless the columns of all data frames have the same names."""
    names = [one.attributes.get("feature_names_in_") for one in saved]
    for path, other in zip(paths, names, strict=True):
        check_same("feature_names_in_", names[0], other, paths[0], path)


def _common_notes(saved: Sequence[SavedModel]) -> dict[str, Any]:
    """Return the notes that all models have, with the same values."""
    texts = [{name: dump_json(value) for name, value in one.notes.items()} for one in saved]
    return {name: value for name, value in saved[0].notes.items() if all(t.get(name) == texts[0][name] for t in texts)}


def _common_schema(paths: Sequence[str], saved: Sequence[SavedModel]) -> Schema | None:
    """Return the schema of all models; None if one has none."""
    first: Schema | None = None
    for path, one in zip(paths, saved, strict=True):
        schema = one.schema
        if schema is None:
            return None
        first = first or schema
        if difference := _difference(first, schema):
            raise ValueError(f"{paths[0]} and {path} read their data in different ways: {difference}")
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
