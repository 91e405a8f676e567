"""The settings of an estimator that cannot change once it has learned."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np

from scwlearn._util.plain_values import plain_setting
from scwlearn.learning.settings import Face, settings_for
from scwlearn.rules import Rule


def fixed_settings(estimator: Any, face: Face, rule: Rule) -> dict[str, Any]:
    """Return the present values of the settings of an estimator that training fixes."""
    names = [setting.name_in(face) for setting in settings_for(face, rule) if not setting.mutable]
    return {name: _kept(getattr(estimator, name)) for name in names if hasattr(estimator, name)}


def check_fixed(estimator: Any, fixed: Mapping[str, Any]) -> None:
    """Raise a ValueError if a setting of an estimator is not what it was when training began."""
    for name, before in fixed.items():
        now = getattr(estimator, name)
        if not _is_same(before, _kept(now)):
            raise ValueError(
                f"{name} cannot change from {before!r} to {now!r} once the model has learned; "
                "call fit, or clone the estimator first"
            )


def _kept(value: Any) -> Any:
    # Copied, since the user may change a dict of class weights or of a member in place. A function that is an object
    # is not equal to its copy.
    return value if callable(value) else deepcopy(plain_setting(value))


def _is_same(before: Any, now: Any) -> bool:
    if not (isinstance(before, partial) and isinstance(now, partial)):
        return before is now or bool(before == now)
    # Two partials are never equal, though they may do the same. Their arguments may be arrays.
    return (
        _is_same(before.func, now.func)
        and len(before.args) == len(now.args)
        and before.keywords.keys() == now.keywords.keys()
        and all(map(_is_same_argument, before.args, now.args))
        and all(_is_same_argument(value, now.keywords[name]) for name, value in before.keywords.items())
    )


def _is_same_argument(before: Any, now: Any) -> bool:
    return before is now or np.array_equal(before, now)
