"""The paper's results for svmguide3 (Table 3), over 20 random permutations."""

import numpy as np
import pytest

from scwlearn import Learner
from scwlearn.learning.tuning import tune

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def svmguide3(load_data):
    return load_data("svmguide3", 21)


def mean_over_permutations(rule, x, y, parameters):
    random = np.random.default_rng(0)
    orders = [random.permutation(len(y)) for _ in range(20)]
    counts = [Learner(rule, covariance="full", **parameters).learn(x[o], y[o]) for o in orders]
    return np.mean([c.mistakes for c in counts]) / len(y), np.mean([c.updates for c in counts])


def test_scw1_makes_the_mistakes_and_updates_of_the_paper(svmguide3):
    rate, updates = mean_over_permutations("scw1", *svmguide3, {"C": 0.5, "eta": 0.8})
    assert rate == pytest.approx(0.209, abs=0.004)
    assert 520 <= updates <= 570


@pytest.mark.parametrize(("rule", "paper"), [("scw2", 0.213), ("arow", 0.218)])
def test_a_tuned_rule_makes_the_mistakes_of_the_paper(rule, paper, svmguide3):
    x, y = svmguide3
    order = np.random.default_rng(1).permutation(len(y))
    parameters = tune(rule, x[order], y[order], covariance="full", intercept=False)
    rate, _ = mean_over_permutations(rule, x, y, parameters)
    assert rate == pytest.approx(paper, abs=0.006)
