"""Merging fitted estimators, linear ones and committees, of one class with the same parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import NotFittedError

from scwlearn._util.plain_values import plain_setting
from scwlearn.estimators.base import OnlineClassifier
from scwlearn.estimators.committee import CommitteeClassifier
from scwlearn.estimators.linear import LinearClassifier
from scwlearn.learning.merging import merged
from scwlearn.learning.merging.gaussians import check_same
from scwlearn.learning.merging.models import Method

# The seed of `fit` and the number of its threads are not part of the model.
_NOT_COMPARED = ("random_state", "n_jobs")


@merged.register(LinearClassifier)
@merged.register(CommitteeClassifier)
def _(
    first: OnlineClassifier, models: Sequence[OnlineClassifier], prior: OnlineClassifier | None, method: Method
) -> OnlineClassifier:
    by_title = method.titled(models, prior)
    for title, model in by_title.items():
        if not model.__sklearn_is_fitted__():
            raise NotFittedError(
                f"{title} is a {type(model).__name__} that is not fitted yet; only fitted ones can be merged"
            )
        _check_alike(first, model, (next(iter(by_title)), title))
    together: OnlineClassifier = object.__new__(type(first))
    together.__dict__.update(first._state())
    classifiers = [model._current_classifier for model in models]
    before = None if prior is None else prior._current_classifier
    together._classifier = merged(classifiers[0], classifiers, before, method)
    return together


def _check_alike(first: OnlineClassifier, model: OnlineClassifier, names: tuple[str, str]) -> None:
    wanted = model.get_params(deep=False)
    for parameter, value in first.get_params(deep=False).items():
        if parameter not in _NOT_COMPARED:
            check_same(parameter, plain_setting(value), plain_setting(wanted[parameter]), *names)
    check_same("n_features_in_", first.n_features_in_, model.n_features_in_, *names)
    one, other = _feature_names(first), _feature_names(model)
    kind, other_kind = ("without names" if some is None else "with names" for some in (one, other))
    check_same("kind of features", kind, other_kind, *names)
    for i, (name, other_name) in enumerate(zip(one or [], other or [], strict=True)):
        check_same(f"feature_names_in_[{i}]", name, other_name, *names)


def _feature_names(model: OnlineClassifier) -> list[Any] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else names.tolist()
