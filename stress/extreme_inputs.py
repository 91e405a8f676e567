"""Inputs at the ends of their bounds: a model never holds a NaN or an infinity, and goes on learning."""

from __future__ import annotations

import warnings
from copy import copy
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner, StreamClassifier, merge
from scwlearn.learning.data_warnings import DataWarning
from scwlearn.model.calibration import Calibration
from scwlearn.model.gaussian import GROWTH, MEAN_SCALE, SPREAD_SCALE, Gaussian
from scwlearn.rules import HOLD, Rule, Step, all_rules, all_variants
from stress.hard_inputs import draw_extreme_values, draw_parameters, draw_sample_weights
from stress.trial import Trial

_CLASSES = 3


def _case(random: Random) -> int:
    return random.choice([_learner_case, _learner_case, _learner_case, _classifier_case, _calibration_case])(random)


def _learner_case(random: Random) -> int:
    rule, own = random.choice([*all_rules(), *all_variants()]), random.random() < 0.1
    if own:
        rule = _own_rule(random)
    parameters = draw_parameters(random, rule) if random.random() < 0.7 else {}
    classes = random.choice([None, None, 0, _CLASSES])
    settings = _draw_settings(random, rule, several=classes is not None)
    features, told = random.randint(1, 12), f"{rule.name} {parameters} {settings}, {classes} classes"
    learners = [Learner(rule, n_classes=classes, **settings, **parameters) for _ in range(2)]
    rows = 0
    for batch in range(random.randint(1, 8)):
        learner = learners[batch % 2 if random.random() < 0.2 else 0]
        rows += _learn(random, learner, features, classes)
        assert learner.model is not None
        _check_gaussian(learner.model, told)
        if learner.running_scale is not None:
            _check_finite(learner.running_scale.arrays[0], f"scale of {told}")
    if all(learner.model is not None for learner in learners) and not own:
        _merge_case(random, learners, told)
    return rows


def _merge_case(random: Random, learners: list[Learner], told: str) -> None:
    rule = random.choice(["auto", "bcm", "ev", "kl"])
    try:
        with np.errstate(all="ignore"):
            merged = merge(learners, rule)
    except ValueError as error:
        if "too large or too small for floats" not in str(error):
            raise
    else:
        _check_gaussian(merged._fitted(), f"merged by {rule}: {told}")


def _draw_settings(random: Random, rule: Rule, *, several: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "covariance": random.choice(["full", "full", "diagonal", "diagonal-drop", "identity"]),
        "intercept": random.random() < 0.5,
        "scale": random.choice(["none", "none", "none", "rms", "standard", "unit"]),
        "average": random.random() < 0.4,
    }
    if rule.order == 2:
        settings["initial_variance"] = random.choice([1.0, 1.0, 10.0 ** random.uniform(-99, 99)])
        if settings["covariance"] != "identity":
            settings["variance_floor"] = random.choice([0.0, 0.0, 0.0, 1e-300, 1e-8, 0.999])
    if several:
        settings["multi_class"] = random.choice(["joint", "ovr"])
        settings["shared_covariance"] = rule.order == 2 and settings["multi_class"] == "joint" and random.random() < 0.4
    return settings


def _own_rule(random: Random) -> Rule:
    """Return a rule whose steps are far too long."""
    sizes = [10.0 ** random.uniform(-310, 305) for _ in range(4)]
    alpha, precision = random.choice([0.0, 1.0, sizes[0]]), random.choice([0.0, 1.0, sizes[1]])
    shrink = random.choice([1.0, 0.0, -1.0, sizes[2], -sizes[2], 1e-40, 1e60, 1e149])
    grow = random.choice([1.0, 1.0, sizes[3], 1e-149, 1e-40, 1e40, 1e149])

    def step(m: float, t: float) -> Step:
        return HOLD if t % 3 == 0 else Step(alpha if m < 1 else -alpha, precision, shrink, grow)

    return Rule(step, "far_too_long", "", "FarTooLong", 2, (), True, True, False, "2026")


def _learn(random: Random, learner: Learner, features: int, classes: int | None) -> int:
    rows = random.choice([1, 5, 17, 64, random.randint(1, 300), random.randint(1, 3000)])
    x, weights = draw_extreme_values(random, rows, features), draw_sample_weights(random, rows)
    labels = _draw_labels(random, rows, several=classes is not None)
    if classes == 0 and learner.model is None:
        # New classes come in order.
        labels[: min(rows, _CLASSES)] = np.arange(min(rows, _CLASSES))
        weights = None
    elif learner.n_classes is not None:
        labels = np.minimum(labels, learner.n_classes - 1)
    if weights is not None and not weights.all() and learner.model is None:
        weights = None
    form = random.choice(["dense", "float32", "sparse", "one by one"])
    if form == "one by one":
        for i in range(min(rows, 300)):
            learner.learn_one(x[i], int(labels[i]), 1.0 if weights is None else float(weights[i]))
    elif form == "float32":
        learner.learn(np.clip(x, -1e38, 1e38).astype(np.float32), labels, weights=weights)
    else:
        learner.learn(sparse.csr_array(x) if form == "sparse" else x, labels, weights=weights)
    return rows


def _draw_labels(random: Random, rows: int, *, several: bool) -> NDArray[np.int64]:
    numbers = np.random.default_rng(random.getrandbits(64))
    if several:
        return numbers.integers(0, _CLASSES, rows)
    return numbers.choice([-1, 1] if random.random() < 0.8 else [random.choice([-1, 1])], rows)


def _classifier_case(random: Random) -> int:
    """A classifier or a committee, with the calibration of its probabilities."""
    algorithm = random.choice(["auto", "auto", *(rule.name for rule in all_rules())])
    model = StreamClassifier(algorithm, class_weight=random.choice([None, "balanced", {0: 1e90, 1: 1e-90}]))
    rows = 0
    for _ in range(random.randint(1, 5)):
        count, features = random.choice([1, 20, random.randint(1, 400)]), random.randint(1, 6)
        x, weights = draw_extreme_values(random, count, features), draw_sample_weights(random, count)
        labels = _draw_labels(random, count, several=True) % random.choice([2, _CLASSES])
        if weights is not None:
            # Products with the weights of classes have the same bounds.
            weights = np.where(weights == 0.0, 0.0, np.clip(weights, 1e-9, 1e9))
        examples = [dict(enumerate(map(float, row))) for row in x]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            model.learn_many(examples, labels.tolist(), None if weights is None else weights.tolist())
        rows += count
    learner, calibration = model._classifier.learner, model._classifier.calibration
    for gaussian in getattr(learner.model, "gaussians", [learner.model] if learner.model is not None else []):
        _check_gaussian(gaussian, algorithm)
    _check_finite(learner.mixture.state if algorithm == "auto" else calibration.state, f"calibration of {algorithm}")
    return rows


def _calibration_case(random: Random) -> int:
    numbers = np.random.default_rng(random.getrandbits(64))
    rows, classes = random.choice([1, 50, 3000]), random.choice([1, 2, 5])
    scores = draw_extreme_values(random, rows, classes) * random.choice([1.0, 1e150])
    variances = np.abs(draw_extreme_values(random, rows, 1)[:, 0]) * random.choice([1.0, 1e150])
    calibration = Calibration(classes, window=1 + 10.0 ** random.uniform(-10, 300))
    labels = numbers.integers(0, max(2, classes), rows)
    given = scores[:, 0] if classes == 1 else scores
    calibration.learn(given, variances, labels, draw_sample_weights(random, rows))
    _check_finite(calibration.state, "calibration")
    found = copy(calibration).probabilities(given, variances)
    assert ((found > 0) & (found < 1)).all() or classes > 1, "a probability of 0 or 1"
    assert np.isfinite(found).all(), "a probability that is no number"
    return rows


def _check_gaussian(model: Gaussian, told: str) -> None:
    _check_finite(model.memory, f"memory of {told}")
    _check_finite(model.scalars, f"scalars of {told}")
    assert (model.scalars[:, [SPREAD_SCALE, GROWTH]] > 0).all(), f"no variance left: {told}"
    assert model.scalars[:, MEAN_SCALE].all(), f"no mean left: {told}"
    model.covariance.check(model.memory, model.size)
    with np.errstate(over="ignore"):
        variances = model.variances()
    assert (variances > 0).all(), f"variances of {told}: {variances}"
    if model.average is not None:
        _check_finite(model.average.lag, f"lag of {told}")
        _check_finite(model.average.state, f"average of {told}")


def _check_finite(numbers: NDArray[np.float64], what: str) -> None:
    assert np.isfinite(numbers).all(), f"not finite: {what}"


TRIAL = Trial(
    claim="Values, weights and parameters at the ends of their bounds leave no NaN and no infinity in a model",
    unit="rows",
    case=_case,
    quick=150,
    long=100_000,
)
