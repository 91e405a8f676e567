"""The scikit-learn estimators: SCW1, KernelSCW1, AROW and so on, two for each rule; and AutoClassifier, a committee.

They are generated from the declarations of the rules, including those that users declare.
"""

from __future__ import annotations

import scwlearn.estimators.merging  # noqa: F401  (registers how they are merged)
from scwlearn.estimators.base import OnlineClassifier
from scwlearn.estimators.committee import make_committee
from scwlearn.estimators.linear import make_estimator
from scwlearn.rules import AUTO, all_rules, estimator_names

_made: dict[str, type[OnlineClassifier]] = {}


def __getattr__(name: str) -> type[OnlineClassifier]:
    if name == AUTO.estimator:
        if name not in _made:
            _made[name] = make_committee()
        return _made[name]
    for rule in all_rules():
        if name in (rule.estimator, rule.kernel_estimator):
            # A rule that was declared again, say in a notebook, gets new classes.
            if name not in _made or _made[name]._rule is not rule:
                if name == rule.estimator:
                    _made[name] = make_estimator(rule)
                else:
                    from scwlearn.estimators.kernel import make_kernel_estimator

                    _made[name] = make_kernel_estimator(rule)
            return _made[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return estimator_names()
