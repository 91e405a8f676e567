"""From the settings of a linear classifier, as its scikit-learn class takes them, to the learners that do its work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scwlearn._util.checks import check_bool
from scwlearn.learning.classifier import SEVERAL, Recipe
from scwlearn.learning.learner import Learner
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.rules import Rule

# What both learners take under the same name.
_SAME = ("covariance", "initial_variance", "variance_floor", "scale", "max_features", "overflow")


def linear_recipe(rule: Rule, settings: Mapping[str, Any]) -> Recipe:
    """How to make the learners of a rule with these settings; what is not set keeps its default."""
    own = {p.name: settings[p.name] for p in rule.parameters if p.name in settings}
    how = {name: settings[name] for name in _SAME if name in settings}
    how["intercept"] = check_bool("fit_intercept", settings.get("fit_intercept", True))
    several = {name: settings[name] for name in SEVERAL if name in settings}
    return Recipe(Learner, MultiLearner, rule, own, how, several)
