"""Merging fitted estimators: those without a kernel, of one class and with the same parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import NotFittedError

from scwlearn.estimators.linear import LinearClassifier
from scwlearn.learning.merging import merged
from scwlearn.learning.merging.gaussians import check_same
from scwlearn.learning.merging.models import How, everyone

# It says in which order `fit` goes through the examples, and is no part of the model.
_NOT_COMPARED = "random_state"


@merged.register
def _(
    first: LinearClassifier, models: Sequence[LinearClassifier], prior: LinearClassifier | None, how: How
) -> LinearClassifier:
    for title, model in everyone(models, prior).items():
        if not model.__sklearn_is_fitted__():
            raise NotFittedError(
                f"{title} is a {type(model).__name__} that is not fitted yet; fitted ones can be merged"
            )
        _check_alike(first, model, title)
    together: LinearClassifier = object.__new__(type(first))
    together.__dict__.update(first.__dict__)
    learners = [model._learner for model in models]
    together._learner = merged(learners[0], learners, None if prior is None else prior._learner, how)
    return together


def _check_alike(first: LinearClassifier, model: LinearClassifier, title: str) -> None:
    names = "models[0]", title
    wanted = model.get_params(deep=False)
    for parameter, value in first.get_params(deep=False).items():
        if parameter != _NOT_COMPARED:
            check_same(parameter, value, wanted[parameter], *names)
    check_same("n_features_in_", first.n_features_in_, model.n_features_in_, *names)
    one, other = _feature_names(first), _feature_names(model)
    kind, other_kind = ("without names" if some is None else "with names" for some in (one, other))
    check_same("kind of features", kind, other_kind, *names)
    for i, (name, other_name) in enumerate(zip(one or [], other or [], strict=True)):
        check_same(f"feature_names_in_[{i}]", name, other_name, *names)


def _feature_names(model: LinearClassifier) -> list[Any] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else names.tolist()
