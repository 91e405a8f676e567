"""Sample and class weights on skewed features of very different scales: no weight makes a rule diverge."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn import Learner
from scwlearn.rules import Rule, all_rules
from stress.trial import Trial

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

# As many rows as it takes to learn, and to measure an error to 1 %.
_LEARNED, _HELD_OUT = 3000, 1500
# How much larger the error may be than without weights.
_MORE = 0.15
# Rules with a Sigma more often: with weights, they have more to go wrong.
_RULES = all_rules() + 2 * [rule for rule in all_rules() if rule.order == 2]


def draw_counts(random: Random, classes: int) -> tuple[Array, Labels]:
    """Return counts of words as in e-mails, and classes: most are 0, others have long tails, and scales differ."""
    numbers = np.random.default_rng(random.getrandbits(64))
    rows, features = _LEARNED + _HELD_OUT, random.randint(20, 60)
    shares = numbers.dirichlet(np.full(classes, 5.0))
    y = numbers.choice(classes, size=rows, p=0.5 * shares + 0.5 / classes)
    tilt = 0.8 * numbers.normal(size=(classes, features))
    often = np.clip(0.15 + 0.3 * numbers.random(features) + 0.1 * np.sign(tilt), 0.02, 0.9)
    present = numbers.random((rows, features)) < often[y]
    sizes = np.exp(1.2 * numbers.normal(size=(rows, features)) + 0.5 * tilt[y])
    return present * sizes * 10.0 ** numbers.uniform(-1, random.choice([0, 1, 3]), features), y


def draw_weights(random: Random, y: Labels, classes: int) -> Array:
    """Return one weight for all rows, one per class, or random ones."""
    numbers = np.random.default_rng(random.getrandbits(64))
    kind = random.randrange(4)
    if kind < 2:
        return np.full(len(y), 10.0 ** random.uniform(-2, 2))
    if kind == 2:
        # Larger ratios move the decision, as they should.
        return np.asarray((10.0 ** random.uniform(-2, 2) * numbers.uniform(1, 2, classes))[y])
    return np.asarray(10.0 ** random.uniform(-1.5, 1.5) * numbers.uniform(0.5, 2, len(y)))


def _error(rule: Rule, settings: dict[str, Any], x: Array, y: Labels, weights: Array | None) -> float:
    """Return the error on held-out rows after one pass."""
    several = settings["n_classes"] is not None
    learner = Learner(rule, **settings)
    learner.learn(x[:_LEARNED], y[:_LEARNED] if several else 2 * y[:_LEARNED] - 1, weights=weights)
    assert learner.model is not None
    assert np.isfinite(learner.model.weights()).all()
    scores = learner.scores(x[_LEARNED:])
    found = scores.argmax(axis=1) if several else scores >= 0
    return float((found != y[_LEARNED:]).mean())


def _case(random: Random) -> int:
    rule, classes = random.choice(_RULES), random.choice([2, 2, 3, 4])
    forms = ["full", "full", "diagonal", "diagonal-drop"] if rule.order == 2 else ["identity"]
    settings: dict[str, Any] = {
        "covariance": random.choice(forms),
        "scale": random.choice(["none", "standard", "standard", "rms"]),
        "average": random.random() < 0.3,
        "intercept": True,
        "n_classes": None if classes == 2 and random.random() < 0.7 else classes,
    }
    if settings["n_classes"] is not None:
        settings["multi_class"] = random.choice(["joint", "joint", "ovr"])
        joint = settings["multi_class"] == "joint"
        settings["shared_covariance"] = rule.order == 2 and joint and random.random() < 0.3
    x, y = draw_counts(random, classes)
    weights = draw_weights(random, y[:_LEARNED], classes)
    plain, weighted = _error(rule, settings, x, y, None), _error(rule, settings, x, y, weights)
    told = f"{rule.name} {settings}, weights {weights.min():.3g} to {weights.max():.3g}"
    assert weighted < plain + _MORE, f"error {weighted:.3f}, without weights {plain:.3f}: {told}"
    return 2 * _LEARNED


TRIAL = Trial(
    claim="No sample weight, class weight or random weights of 0.01 to 100 make a rule diverge",
    unit="rows",
    case=_case,
    quick=20,
    long=10_000,
)
