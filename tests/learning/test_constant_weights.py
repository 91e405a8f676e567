"""A constant sample weight, from 0.01 to 100, makes no rule diverge on skewed features of very different scales."""

from functools import cache

import numpy as np
import pytest

from scwlearn import Learner
from scwlearn.rules import Rule, all_rules, find_rule

WEIGHTS = [0.01, 0.03, 0.1, 0.3, 0.5, 0.9, 2.0, 10.0, 100.0]
ROWS, LEARNED, FEATURES, SEEDS = 4600, 3600, 57, 2


@cache
def examples(seed):
    """Counts of words as in e-mails: most are 0, others have long tails; 39 % of the rows are positive."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(ROWS) < 0.39, 1, -1)
    positive = (y > 0)[:, np.newaxis]
    tilt = 0.8 * rng.normal(size=FEATURES)
    present = rng.random((ROWS, FEATURES)) < 0.25 + 0.2 * rng.random(FEATURES) + 0.1 * np.sign(tilt) * positive
    sizes = np.exp(1.2 * rng.normal(size=(ROWS, FEATURES)) + 0.5 * tilt * positive)
    return present * sizes * 10 ** rng.uniform(-1, 3, FEATURES), y


def error_of(rule, weight, **settings):
    """Return the error on held-out rows after one pass with this weight, the mean over several streams."""
    errors = []
    for seed in range(SEEDS):
        x, y = examples(seed)
        learner = Learner(rule, intercept=True, **settings)
        learner.learn(x[:LEARNED], y[:LEARNED], weights=np.full(LEARNED, weight))
        assert np.isfinite(learner.model.weights()).all()
        errors.append(((learner.scores(x[LEARNED:]) >= 0) != (y[LEARNED:] > 0)).mean())
    return np.mean(errors)


def forms_of(rule):
    return ["full", "diagonal", "diagonal-drop"] if rule.order == 2 else ["identity"]


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize(
    ("name", "covariance"), [(rule.name, covariance) for rule in all_rules() for covariance in forms_of(rule)]
)
def test_no_constant_weight_makes_a_rule_diverge(name, covariance, scale):
    settings = {"covariance": covariance, "scale": scale}
    plain = error_of(name, 1.0, **settings)
    errors = [error_of(name, weight, **settings) for weight in WEIGHTS]
    assert max(errors) < min(plain + 0.12, 0.48)
    # A little less than all of a step makes little difference.
    assert abs(errors[WEIGHTS.index(0.9)] - plain) < 0.07


def test_half_of_both_parts_of_the_step_of_cw_would_diverge():
    # What the weight of CW must not be. The other test could not fail if these streams did not tell.
    def half_of_both(m, v, n, phi):
        return find_rule("cw").function(m, v, n, 1.0, phi)

    rule = Rule(half_of_both, "half_of_both", "", "HalfOfBoth", 2, find_rule("cw").parameters, True, False, True, "")
    with pytest.raises(ValueError, match="the rule returned precision = inf"):
        error_of(rule, 0.5, covariance="full", scale="standard")
