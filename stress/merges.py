"""Merged models against their formulas in rational arithmetic, and against models merged in another order.

The formulas of docs/merging.md are evaluated in fractions, from the numbers that the models hold. An error is measured
in standard deviations of the merged model, and is allowed to be as large as the rounding of the terms that are added up
there: precisions, pulls and means of the models and of the prior.

The directions of ev with a full Sigma are no fractions. There, the order of the models must not matter, not even where
their evidence is the same in many directions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn import Learner, merge
from scwlearn.model.gaussian import Gaussian
from scwlearn.rules import Rule
from stress.exact import factors
from stress.hard_streams import draw_hard_rows, draw_mild_parameters
from stress.long_streams import RULES
from stress.rounding import condition
from stress.trial import Trial

#: How many times the rounding of the terms is allowed.
ALLOWED = 1000.0

_ROUNDING = 2.0**-53
# From here on, no digit is certain.
_WORST_CONDITION = 1e10
_CLASSES = 3
# Directions of eigenvalues that are nearly equal may magnify rounding by this.
_MAGNIFIED = 1e9

Objects = NDArray[np.object_]


class Exact(NamedTuple):
    """A mean and a precision in fractions."""

    mean: Objects
    precision: Objects


def fractions_of(numbers: Any) -> Objects:
    """Return doubles as fractions."""
    found = np.empty(np.shape(numbers), dtype=object)
    found.ravel()[:] = [Fraction(float(number)) for number in np.ravel(numbers)]
    return found


def inverse(matrix: Objects) -> Objects:
    """Return the inverse of a positive definite matrix, by elimination."""
    size = len(matrix)
    rows = np.hstack([matrix, np.array([[Fraction(int(i == j)) for j in range(size)] for i in range(size)])])
    for i in range(size):
        rows[i] = rows[i] / rows[i, i]
        for j in range(size):
            if j != i and rows[j, i]:
                rows[j] = rows[j] - rows[j, i] * rows[i]
    return rows[:, size:]


def exact(model: Gaussian, lane: int, size: int, *, shared: bool) -> Exact:
    """Return a class of a model with `size` features; what the model does not know is the prior."""
    prior = fractions_of([1 / model.initial_variance])[0]
    mean, precision = np.full(size, Fraction(0), dtype=object), np.full((size, size), Fraction(0), dtype=object)
    precision[np.diag_indices(size)] = prior
    known = model.size
    if lane < model.classes:
        mean[:known] = fractions_of(model.weights()[lane])
    if lane < model.classes or shared:
        lane = min(lane, model.classes - 1)
        if model.covariance.correlated:
            d, columns = (fractions_of(part) for part in factors(model, lane))
            precision[:known, :known] = inverse((columns.T * d).dot(columns))
        else:
            precision[np.arange(known), np.arange(known)] = 1 / fractions_of(model.variances()[lane])
    return Exact(mean, precision)


def merged_exactly(rule: str, models: Sequence[Exact], weights: Sequence[float], prior: Exact) -> Exact:
    """Return the merged mean and precision: of bcm and kl, and of ev without correlations."""
    counts = fractions_of(weights)
    if rule == "kl":
        precision = sum(w * model.precision for w, model in zip(counts, models, strict=True)) / sum(counts)
        pull = sum(w * model.precision.dot(model.mean) for w, model in zip(counts, models, strict=True)) / sum(counts)
    else:
        gains = [w * (model.precision - prior.precision) for w, model in zip(counts, models, strict=True)]
        if rule == "ev":
            return _averaged(models, gains, prior)
        before = prior.precision.dot(prior.mean)
        precision = prior.precision + sum(gains)
        pull = before + sum(w * (m.precision.dot(m.mean) - before) for w, m in zip(counts, models, strict=True))
    return Exact(inverse(precision).dot(pull), precision)


def _averaged(models: Sequence[Exact], gains: Sequence[Objects], prior: Exact) -> Exact:
    mean, precision = prior.mean.copy(), prior.precision.copy()
    for i in range(len(mean)):
        own = [gain[i, i] for gain in gains]
        if sum(own):
            mean[i] += sum(w * (m.mean[i] - prior.mean[i]) for w, m in zip(own, models, strict=True)) / sum(own)
            precision[i, i] += sum(w * w for w in own) / sum(own)
    return Exact(mean, precision)


def _case(random: Random) -> int:
    rule, size = random.choice(RULES), random.randint(1, 5)
    while rule.name == "iellip":
        # Growth is merged by other formulas.
        rule = random.choice(RULES)
    form = random.choice(["binary", "binary", "shared", "ovr", "joint"])
    settings: dict[str, Any] = {
        "covariance": random.choice(["full", "full", "diagonal", "diagonal-drop"]),
        "initial_variance": 2.0 ** random.randint(-9, 9),
        **_draw_parameters(random, rule),
    }
    forms: dict[str, dict[str, Any]] = {"ovr": {"multi_class": "ovr"}, "shared": {"shared_covariance": True}}
    settings |= forms.get(form, {})
    settings |= {} if form == "binary" else {"n_classes": 0}
    start = Learner(rule, **settings)
    if random.random() < 0.4:
        _learn(random, start, size, _CLASSES)
    models = [copy(start) for _ in range(random.randint(2, 5))]
    for model in models:
        fewest = size if start.model is not None else random.randint(1, size)
        _learn(random, model, fewest, random.randint(2, _CLASSES) if start.model is None else _CLASSES)
    how = random.choice(["bcm", "kl"] + ["ev"] * (form in ("binary", "ovr") or settings["covariance"] == "full"))
    weights = random.choice([[1.0] * len(models), [random.choice([0.5, 1.0, 3.0]) for _ in models]])
    told = f"{how} {weights} of {len(models)} models by {rule.name} {settings}, {size} features"
    before = start if start.model is not None else None
    check = _check_order if how == "ev" and settings["covariance"] == "full" else _check
    check(models, how, weights, before, form, told)
    return 1


def _draw_parameters(random: Random, rule: Rule) -> dict[str, float]:
    return draw_mild_parameters(random, rule) if random.random() < 0.5 else {}


def _learn(random: Random, learner: Learner, features: int, classes: int) -> None:
    numbers = np.random.default_rng(random.getrandbits(64))
    rows = random.choice([3, 20, 100])
    x = numbers.normal(size=(rows, features))
    kind = random.choice(["hard", "hard", "normal", "orthogonal"])
    if kind == "hard":
        x = draw_hard_rows(random, rows, features)
    elif kind == "orthogonal":
        # The same for all models, so that their evidence has common directions, with equal eigenvalues.
        basis = np.linalg.qr(np.random.default_rng(features).normal(size=(features, features)))[0]
        x = basis[np.arange(rows) % features]
    if learner.is_binary:
        learner.learn(x, numbers.choice([-1, 1], rows))
        return
    y = numbers.integers(0, classes, rows)
    y[:classes] = np.arange(classes)
    learner.learn(x, y)


def _check(models: list[Learner], how: str, weights: list[float], prior: Learner | None, form: str, told: str) -> None:
    gaussians = [model.model for model in [*models, *([] if prior is None else [prior])] if model.model is not None]
    shared = form == "shared"
    correlated = gaussians[0].covariance.correlated
    conditions = [condition(g, lane) for g in gaussians for lane in range(g.classes)] if correlated else [1.0]
    if max(conditions) > _WORST_CONDITION:
        return
    found = merge(models, how, weights, prior=prior).model
    assert found is not None
    size, classes = found.size, found.classes
    start = gaussians[-1] if prior is not None else Gaussian.prior(found.covariance, size, found.initial_variance)
    known = [[exact(model, lane, size, shared=shared) for lane in range(classes)] for model in gaussians[: len(models)]]
    starts = [exact(start, lane, size, shared=shared) for lane in range(classes)]
    means = [each.mean for model in [*known, starts] for each in model]
    # Classes with one large Sigma are merged at once.
    if form in ("joint", "shared") and classes > 1 and not (shared and correlated):
        learned = known if how == "kl" else [model for model in known if _has_learned(model, starts)]
        if len(learned) > 1:
            _align(learned, starts)
    for lane in range(classes):
        shards = [model[lane] for model in known]
        expected = merged_exactly(how, shards, weights, starts[lane])
        _compare(found, lane, shards, starts[lane], expected, weights, how, max(conditions), means, told)


def _check_order(
    models: list[Learner], how: str, weights: list[float], prior: Learner | None, form: str, told: str
) -> None:
    gaussians = [model.model for model in [*models, *([] if prior is None else [prior])] if model.model is not None]
    worst = max(condition(g, lane) for g in gaussians for lane in range(g.classes))
    if worst > _WORST_CONDITION:
        return
    one = merge(models, how, weights, prior=prior).model
    other = merge(models[::-1], how, weights[::-1], prior=prior).model
    assert one is not None
    assert other is not None
    allowed = _ROUNDING * _MAGNIFIED * one.size * (1 + sum(weights)) * math.sqrt(worst)
    for lane in range(one.classes):
        moved, spread = one.weights()[lane] - other.weights()[lane], np.linalg.inv(one.root(lane))
        # In standard deviations of the merged model, relative to all that was merged.
        known = [g.weights()[lane] for g in gaussians if lane < g.classes]
        terms = sum(np.linalg.norm(spread[:, : len(mean)] @ mean) for mean in known)
        assert np.linalg.norm(spread @ moved) <= allowed * terms, (
            f"mean of {told}: {np.linalg.norm(spread @ moved) / terms:.1e}, allowed {allowed:.1e}"
        )
        lengths = np.linalg.svd(spread @ other.root(lane), compute_uv=False)
        assert np.abs(lengths - 1).max() <= allowed, f"Sigma of {told}: {lengths}, allowed {allowed:.1e}"


def _has_learned(model: Sequence[Exact], starts: Sequence[Exact]) -> bool:
    """Whether any class of a model differs from the prior."""
    return any(
        (each.mean != start.mean).any() or (each.precision != start.precision).any()
        for each, start in zip(model, starts, strict=True)
    )


def _align(models: Sequence[list[Exact]], starts: Sequence[Exact]) -> None:
    """Shift all classes of each model alike, so that they have moved least, weighted by their precisions."""
    for classes in models:
        own = [1 / np.diagonal(inverse(model.precision)) for model in classes]
        moved = sum(p * (m.mean - s.mean) for p, m, s in zip(own, classes, starts, strict=True)) / sum(own)
        classes[:] = [Exact(model.mean - moved, model.precision) for model in classes]


def _compare(
    found: Gaussian,
    lane: int,
    models: Sequence[Exact],
    prior: Exact,
    expected: Exact,
    weights: Sequence[float],
    how: str,
    worst: float,
    means: Sequence[Objects],
    told: str,
) -> None:
    error = fractions_of(found.weights()[lane]) - expected.mean
    total = sum(weights) if how != "kl" else 1.0
    shares = [weight / sum(weights) if how == "kl" else weight for weight in weights]
    pulls = [(share, model.precision.dot(model.mean)) for share, model in zip(shares, models, strict=True)]
    pulls.append((1 + total, prior.precision.dot(prior.mean)))
    allowed = ALLOWED * _ROUNDING * len(error) * (1 + 2 * total) * worst
    if found.covariance.correlated:
        sigma = inverse(expected.precision)
        terms = sum(share * _length(pull, sigma) for share, pull in pulls)
        terms += sum(_length(mean, expected.precision) for mean in means)
        d, columns = factors(found, lane)
        rows = fractions_of(columns)
        inner = rows.dot(expected.precision).dot(rows.T).astype(float)
        spread = float(np.abs(np.linalg.eigvalsh(inner * np.outer(np.sqrt(d), np.sqrt(d))) - 1).max())
        moved = _length(error, expected.precision)
        assert spread <= allowed, f"Sigma of {told}: {spread / allowed * ALLOWED:.1e} roundings"
        assert moved <= allowed * terms, (
            f"mean of {told}: {moved / max(allowed * terms, 1e-300) * ALLOWED:.1e} roundings"
        )
        return
    precision = np.diagonal(expected.precision)
    variances = fractions_of(found.variances()[lane])
    terms = sum(Fraction(share) * abs(pull) for share, pull in pulls) / precision
    terms = terms + sum(abs(mean) for mean in means)
    if how == "ev":
        gains, away = _evidence(models, prior, weights)
        # With hardly any evidence, rounding decides whether there is any.
        sure = [gain > before / 10**6 for gain, before in zip(gains, np.diagonal(prior.precision), strict=True)]
        pairs = zip(sure, away, gains, error, strict=True)
        terms = terms + np.array([a / g if is_sure else abs(e) * 10**20 for is_sure, a, g, e in pairs])
    spread = max(float(abs(v * p - 1)) for v, p in zip(variances, precision, strict=True))
    assert spread <= allowed, f"variances of {told}: {spread:.1e}, allowed {allowed:.1e}"
    wrong = [float(e) for e, t in zip(abs(error), terms, strict=True) if e > Fraction(allowed) * t]
    assert not wrong, f"mean of {told}: {wrong}, {[*map(float, terms)]}"


def _evidence(models: Sequence[Exact], prior: Exact, weights: Sequence[float]) -> tuple[Objects, Objects]:
    """Return the evidence about each weight, and what its rounding can move."""
    before = np.diagonal(prior.precision)
    gains, away = before * 0, before * 0
    for weight, model in zip(fractions_of(weights), models, strict=True):
        gains = gains + weight * (np.diagonal(model.precision) - before)
        away = away + weight * (np.diagonal(model.precision) + before) * (abs(model.mean) + abs(prior.mean))
    return gains, away


def _length(vector: Objects, metric: Objects) -> float:
    """Return the root of vector' metric vector."""
    return math.sqrt(vector.dot(metric).dot(vector))


TRIAL = Trial(
    claim="Merged models are those of the formulas in rational arithmetic, up to the rounding of their terms; in ev "
    "with a full covariance, the order of the models does not matter",
    unit="merges",
    case=_case,
    quick=25,
    long=10_000,
)
