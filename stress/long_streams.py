"""Long collinear, badly scaled and contradicting streams with a full Sigma, against exact sums over their updates.

The bounds are those of docs/numerics.md: rounding, times the condition of the correlations, times a constant.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner
from scwlearn.learning.counters import Trace
from scwlearn.model.gaussian import Gaussian
from scwlearn.rules import all_rules, all_variants
from stress.hard_streams import draw_batches, draw_mild_parameters, draw_mild_weights
from stress.rounding import Followed, Recorder, worst_condition
from stress.trial import Trial

Array = NDArray[np.float64]

#: Rules that change Sigma.
RULES = [rule for rule in [*all_rules(), *all_variants()] if rule.order == 2]


def draw_settings(random: Random) -> dict[str, Any]:
    """Return settings of a learner with a full Sigma."""
    return {
        "covariance": "full",
        "initial_variance": 2.0 ** random.randint(-20, 20),
        "intercept": random.random() < 0.3,
        "variance_floor": random.choice([0.0, 0.0, 0.0, 1e-6]),
    }


def draw_features(random: Random) -> int:
    """Return a number of features, mostly small."""
    return random.choice([1, 2, 3, 4, 6, 8, random.randint(9, 24)])


def _case(random: Random) -> int:
    rule = random.choice(RULES)
    parameters, settings, features = draw_mild_parameters(random, rule), draw_settings(random), draw_features(random)
    learner = Learner(rule, **settings | parameters)
    told = f"{rule.name} {parameters} {settings}, {features} features"
    size = features + learner.config.intercept
    followed, recorder = Followed(size, learner.config.initial_variance), Recorder(rule, parameters)
    # CW changes Sigma by many orders of magnitude within some rows, so that every condition must be seen.
    rows = 300 if rule.name == "cw" else random.choice([300, 3000, 20_000 + 400_000 // (features + 2)])
    next_check = 1
    for x, y in draw_batches(random, rows, features, learner, 20_000):
        weights, given = draw_mild_weights(random, len(x)), sparse.csr_array(x) if random.random() < 0.3 else x
        worst = worst_condition(learner, given, y, weights)
        trace = learner.trace(given, y, weights=weights)
        assert learner.model is not None
        _check_invariants(learner.model, x, trace, told)
        constant = np.ones((len(x), size - features))
        followed.add(recorder.updates(np.hstack([x, constant]), y, weights, trace), worst, learner.model)
        if not followed.is_compared:
            break
        if followed.updates >= next_check:
            next_check = followed.updates + followed.updates // 2
            followed.check(learner.model, told)
    else:
        assert learner.model is not None
        followed.check(learner.model, told)
    return followed.updates


def _check_invariants(model: Gaussian, x: Array, trace: Trace, told: str) -> None:
    assert np.isfinite(model.memory).all(), f"not finite: {told}"
    # The variances of smaller rows may underflow.
    assert (trace.variance[np.abs(x).max(axis=1) > 1e-20] > 0).all(), f"a variance is not positive: {told}"
    assert (trace.variance >= 0).all(), f"a variance is negative: {told}"
    model.covariance.check(model.memory, model.size)


TRIAL = Trial(
    claim="A full Sigma and its mean, after long collinear, badly scaled and contradicting streams, are the exact sums "
    "over the updates up to rounding times the condition",
    unit="updates",
    case=_case,
    quick=15,
    long=10_000,
)
