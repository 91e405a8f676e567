"""The scikit-learn classes themselves: SCW1, AROW, PA1 and the rest, one for each rule.

Made from the declarations, so that an algorithm is written in one place. A rule that a user declares gets
its class here too, under the estimator's name that it gave.
"""

from __future__ import annotations

from scwlearn.classifiers import OnlineClassifier, make_estimator
from scwlearn.rules import all_rules

_made: dict[str, type[OnlineClassifier]] = {}


def __getattr__(name: str) -> type[OnlineClassifier]:
    for rule in all_rules():
        if rule.estimator == name:
            # A rule that was declared again, in a notebook, gets a new class.
            if name not in _made or _made[name]._rule is not rule:
                _made[name] = make_estimator(rule)
            return _made[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [rule.estimator for rule in all_rules()]
