"""Gaussians that went on from a common prior, made into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from scwlearn.covariance import Gaussian
from scwlearn.covariance.gaussian import GROWTH, MEAN_SCALE, NORM2, NORM2_PEAK, ROUNDS, SPREAD_SCALE
from scwlearn.merging.coordinates import merge_coordinates
from scwlearn.merging.full import merge_full
from scwlearn.merging.shards import Shards, check_finite
from scwlearn.rules import Parameter

#: How models can be merged; "auto" takes one of the others.
MERGE_RULES = ("auto", "bcm", "ev", "kl")

# The least variance that the native loops keep (native/interface.hpp).
_SMALLEST_VARIANCE = 1e-200
# Well above that at which they work a scale into the variances.
_SMALLEST_SCALE = 1e-40
# Products of these with any precision stay finite.
_LARGEST_WEIGHT = 1e50

Model = TypeVar("Model")


def merge_gaussians(
    gaussians: Sequence[Gaussian],
    rule: str = "auto",
    weights: Sequence[float] | None = None,
    prior: Gaussian | None = None,
) -> Gaussian:
    """The Gaussian that knows what these know, each of which went on from the prior with examples of its own.

    See `scwlearn.merge` for the rules. All are of one size and keep Sigma in the same way. Sigma does not depend on
    the means, so that several classes with one Sigma can be merged class by class.

    Parameters
    ----------
    gaussians : sequence of Gaussian
        They are not changed.
    rule : {"auto", "bcm", "ev", "kl"}
        How to merge.
    weights : sequence of float, optional
        How often the evidence of each counts.
    prior : Gaussian, optional
        What all of them went on from; N(0, initial_variance I) if none is given.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.merging import merge_gaussians
    >>> one, other = Learner("arow", covariance="diagonal"), Learner("arow", covariance="diagonal")
    >>> _ = one.learn([[1.0, 0.0]], [1]), other.learn([[0.0, 1.0]], [-1])
    >>> merged = merge_gaussians([one.gaussian, other.gaussian])
    >>> merged.weights(), merged.variances()
    (array([ 0.5, -0.5]), array([0.5, 0.5]))
    """
    given = check_models(gaussians)
    check_rule(rule)
    counted = check_weights(weights, len(given))
    start = given[0] if prior is None else prior
    for i, gaussian in enumerate(given):
        _check_alike(start, gaussian, "models[0]" if prior is None else "prior", f"models[{i}]")
    shards = Shards(given, counted, prior or Gaussian.prior(start.covariance, start.size, start.initial_variance))
    if prior is not None:
        shards.check()
    if rule == "auto":
        rule = _best_rule(start.covariance.name, again=prior is not None)
    return _merged(shards, rule)


def _best_rule(covariance: str, *, again: bool) -> str:
    # docs/merging.md has the measurements.
    if covariance == "full":
        return "bcm"
    if covariance == "identity":
        return "ev"
    return "ev" if again else "bcm"


def _merged(shards: Shards, rule: str) -> Gaussian:
    known = shards.normed() if rule == "kl" else shards.with_evidence()
    gaussian = known.gaussians[0].copy()
    if len(known.gaussians) > 1 or known.weights[0] != 1:
        _put(known, rule, gaussian)
    gaussian.scalars[ROUNDS] = shards.rounds()
    return gaussian


def _put(shards: Shards, rule: str, gaussian: Gaussian) -> None:
    """Make the Gaussian, a copy of the first, what all of them become."""
    kept, scalars = gaussian.spread, gaussian.scalars
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if gaussian.covariance.name == "full":
            mean, variances, u = merge_full(shards, rule)
            check_finite(u)
            gaussian.spread[2:] = u.T
            kept = gaussian.spread[1]
        else:
            mean, variances = merge_coordinates(shards, rule)
        norm2 = mean @ mean
    check_finite(mean, variances, norm2)
    if kept.size:
        # Below the floor a common scale takes over, so that the variances keep their ratios.
        scale = min(1.0, max(float(variances.min()) / _SMALLEST_VARIANCE, _SMALLEST_SCALE))
        kept[:] = np.maximum(variances / scale, _SMALLEST_VARIANCE)
        scalars[SPREAD_SCALE] = scale
    gaussian.mean[:] = mean
    scalars[[MEAN_SCALE, NORM2, NORM2_PEAK]] = 1.0, norm2, norm2
    scalars[GROWTH] = shards.prior.scalars[GROWTH] * shards.growth_by(rule)


def check_models(models: Iterable[Model]) -> list[Model]:
    """The models as a list of at least one."""
    if not isinstance(models, Iterable):
        raise TypeError(f"models must be a list of models, got a {type(models).__name__}")
    given = list(models)
    if not given:
        raise ValueError("models must hold at least one model, got none")
    return given


def check_rule(rule: str) -> None:
    """An error where there is no such way to merge."""
    if not isinstance(rule, str) or rule not in MERGE_RULES:
        raise ValueError(f"rule must be one of {', '.join(MERGE_RULES)}, got {rule!r}")


def check_weights(weights: Iterable[float] | None, count: int) -> list[float]:
    """The weights of so many models: 1 each, or those given."""
    if weights is None:
        return [1.0] * count
    given = list(weights)
    if len(given) != count:
        raise ValueError(f"weights must hold one number for each of the {count} models, got {len(given)}")
    return [Parameter(f"weights[{i}]", 1.0, "", high=_LARGEST_WEIGHT).check(w) for i, w in enumerate(given)]


def check_same(what: str, one: object, other: object, name: str, other_name: str) -> None:
    """An error where two models are not of one kind."""
    if one != other:
        raise ValueError(
            f"{name} and {other_name} differ in {what}: {_shown(one)} and {_shown(other)}; "
            "models can be merged that differ in nothing but what they have learned"
        )


def _shown(value: object) -> str:
    # A rule is shown by its name, and so is a function.
    return str(getattr(value, "name", getattr(value, "__name__", value)))


def _check_alike(one: Gaussian, other: Gaussian, name: str, other_name: str) -> None:
    check_same("covariance", one.covariance.name, other.covariance.name, name, other_name)
    check_same("initial_variance", one.initial_variance, other.initial_variance, name, other_name)
    check_same("size", one.size, other.size, name, other_name)
