"""Every rule keeps every law, with every covariance, on two classes and in every form of more."""

from functools import partial

import pytest

import laws_of_dicts  # noqa: F401
from laws import BINARY_LAWS, CLASS_LAWS
from learner_examples import CLASS_AXES, draw_class_examples, draw_examples
from scwlearn import Learner
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import all_rules

pytestmark = pytest.mark.native

# Rows, features, density, classes, and settings. The last case is for binary learners only.
CASES = [
    (26, 5, 0.4, 3, {"intercept": True, "initial_variance": 0.5}),
    (15, 9, 1.0, 9, {"intercept": False, "initial_variance": 3.0, "average": True}),
    (12, 3, 0.8, 2, {"intercept": True, "average": True}),
]
LAWS = [(axis, law) for axis in CLASS_AXES for law in (BINARY_LAWS if axis == "binary" else CLASS_LAWS)]


@pytest.mark.parametrize(("axis", "law"), LAWS, ids=[f"{axis}-{law.__name__}" for axis, law in LAWS])
@pytest.mark.parametrize("rule", [rule.name for rule in all_rules()])
def test_law(axis, law, rule):
    for seed, (rows, features, density, classes, own) in enumerate(CASES if axis == "binary" else CASES[:2]):
        settings = own | CLASS_AXES[axis]
        if axis == "binary":
            x, y = draw_examples(seed, rows, features, density)
        else:
            x, y = draw_class_examples(seed, rows, features, density, classes)
        for covariance in COVARIANCE_NAMES:
            law(partial(Learner, rule, covariance=covariance, **settings), x, y)
