"""Model files that were trained apart, merged into one model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scwlearn.data.examples import Schema
from scwlearn.files import SavedModel, read
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.merging import merge
from scwlearn.runs.trained_model import Model, schema_of


def merge_files(
    paths: Sequence[str],
    how: str = "auto",
    weights: Sequence[float] | None = None,
    *,
    made: dict[str, Any] | None = None,
) -> SavedModel:
    """One model out of those in these files, as a file holds it; they have learned by the same algorithm and settings.

    Where the models say how their data are read, they must agree, and the merged model says it, too. `made` is noted.
    """
    stored = [read(path) for path in paths]
    schema = _common_schema(paths, stored)
    notes: dict[str, Any] = {} if made is None else {"made": made}
    if schema is not None:
        notes["data"] = schema.to_json()
    try:
        if schema is not None and all(isinstance(one.learner, ClassLearner) for one in stored):
            return _merged_learners([Model.of(one) for one in stored], how, weights, notes)
        return SavedModel.from_model(merge([one.to_model() for one in stored], how, weights), notes)
    except (TypeError, ValueError) as error:
        raise ValueError(_with_names(str(error), paths)) from None


def _merged_learners(
    models: Sequence[Model], how: str, weights: Sequence[float] | None, notes: dict[str, Any]
) -> SavedModel:
    """Those that the command made need no scikit-learn, and may be of data of different widths."""
    return SavedModel.from_learner(merge([model.learner for model in models], how, weights), notes)


def _common_schema(paths: Sequence[str], stored: Sequence[SavedModel]) -> Schema | None:
    """How the data of all are read; None where one does not say. Named features may have come in any format."""
    schemas = [schema_of(one) for one in stored]
    first = schemas[0]
    if first is None or None in schemas:
        return None
    for path, schema in zip(paths, schemas, strict=True):
        assert schema is not None
        if _compared(schema) != _compared(first):
            raise ValueError(f"{paths[0]} and {path} differ in how their data are read: {_difference(first, schema)}")
    return first


def _difference(one: Schema, other: Schema) -> str:
    """What two schemas do not agree in."""
    if (one.format == "libsvm") != (other.format == "libsvm"):
        return " and ".join("numbered features" if s.format == "libsvm" else "named features" for s in (one, other))
    parts = []
    for name in ("label", "weight", "ignore", "zero_based"):
        values = [getattr(schema, name) for schema in (one, other)]
        if values[0] != values[1]:
            shown = [", ".join(v) if isinstance(v, tuple) else str(v) for v in values]
            parts.append(f"{name} {shown[0] or 'none'} and {shown[1] or 'none'}")
    return "; ".join(parts)


def _compared(schema: Schema) -> Schema:
    return schema if schema.format == "libsvm" else replace(schema, format="named", columns={})


def _with_names(message: str, paths: Sequence[str]) -> str:
    """An error that calls the models by their files."""
    return re.sub(r"\bmodels\[(\d+)\]", lambda found: paths[int(found[1])], message)
