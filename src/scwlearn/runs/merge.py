"""Merge model files that were trained apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scwlearn.data.run_record import Made
from scwlearn.files import SavedModel, read
from scwlearn.learning.about import common_notes, common_schema
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
    titles = _titles(paths)
    saved = {title: read(path) for title, path in zip(titles, paths, strict=True)}
    schema = common_schema({title: one.schema for title, one in saved.items()}, columns=True)
    first = saved[titles[0]]
    try:
        if not all(one.schema is not None and isinstance(one.learner, Classifier) for one in saved.values()):
            models = {title: one.to_model() for title, one in saved.items()}
            merged = SavedModel.from_model(merge_titled(models, how, weights))
        else:
            # Models of the command need no scikit-learn, and their data may differ in width.
            _check_columns(saved)
            merged = first.continued(merge_titled({t: one.learner for t, one in saved.items()}, how, weights))
    except TypeError as error:
        raise ValueError(str(error)) from None
    notes = common_notes([one.notes for one in saved.values()])
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
