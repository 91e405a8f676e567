"""Gaussians that went on from a common prior, made into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from scwlearn.learning.merging.coordinates import merge_coordinates
from scwlearn.learning.merging.full import merge_full
from scwlearn.learning.merging.shards import Shards, check_finite
from scwlearn.model import Gaussian
from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import GROWTH, MEAN_SCALE, NORM2, NORM2_PEAK, ROUNDS, SPREAD_SCALE
from scwlearn.rules import Parameter

#: How models can be merged; "auto" takes one of the others.
MERGE_RULES = ("auto", "bcm", "ev", "kl")

# The least variance that the native loops keep (native/core/interface.hpp).
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
    >>> from scwlearn.learning.merging import merge_gaussians
    >>> one, other = Learner("arow", covariance="diagonal"), Learner("arow", covariance="diagonal")
    >>> _ = one.learn([[1.0, 0.0]], [1]), other.learn([[0.0, 1.0]], [-1])
    >>> merged = merge_gaussians([one.gaussian, other.gaussian])
    >>> merged.weights(), merged.variances()
    (array([ 0.5, -0.5]), array([0.5, 0.5]))
    """
    given = check_models(gaussians)
    check_rule(rule)
    counted = check_weights(weights, len(given))
    return merge_side_by_side([given], rule, counted, None if prior is None else [prior])[0]


def merge_side_by_side(
    stacks: Sequence[Sequence[Gaussian]],
    rule: str,
    weights: Sequence[float],
    priors: Sequence[Gaussian] | None,
    *,
    joint: bool = False,
) -> list[Gaussian]:
    """Models that have several Gaussians each: one stack for each of them (a class, say), in the order of the models.

    Joint ones have one set of scalars for all their Gaussians.
    """
    everyone = [_shards(stack, weights, None if priors is None else priors[i]) for i, stack in enumerate(stacks)]
    first = everyone[0].prior
    if rule == "auto":
        rule = _best_rule(first.covariance.name, again=priors is not None)
    if rule == "kl":
        known = [shards.normed() for shards in everyone]
    else:
        # A model counts as a whole: one that has learned anything, of any class, takes part in all.
        taught = [any(some) for some in zip(*(shards.evidence() for shards in everyone), strict=True)]
        known = [shards.only(taught) for shards in everyone]
    gaussians = [shards.gaussians[0].copy() for shards in known]
    if len(known[0].gaussians) > 1 or known[0].weights[0] != 1:
        _put(known, rule, gaussians, joint=joint)
    for gaussian, shards in zip(gaussians, everyone, strict=True):
        gaussian.scalars[ROUNDS] = shards.rounds()
    return gaussians


def _shards(gaussians: Sequence[Gaussian], weights: Sequence[float], prior: Gaussian | None) -> Shards:
    start = gaussians[0] if prior is None else prior
    for i, gaussian in enumerate(gaussians):
        _check_alike(start, gaussian, "models[0]" if prior is None else "prior", f"models[{i}]")
    shards = Shards(gaussians, weights, prior or Gaussian.prior(start.covariance, start.size, start.initial_variance))
    if prior is not None:
        shards.check()
    return shards


def _best_rule(covariance: str, *, again: bool) -> str:
    # docs/merging.md has the measurements.
    if covariance == "full":
        return "bcm"
    if covariance == "identity":
        return "ev"
    return "ev" if again else "bcm"


def _put(stacks: Sequence[Shards], rule: str, gaussians: Sequence[Gaussian], *, joint: bool) -> None:
    """Make the Gaussians, copies of the first of each stack, what all of them become."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = [_found(shards, rule, gaussian) for shards, gaussian in zip(stacks, gaussians, strict=True)]
        norms = [float(mean @ mean) for mean, _ in found]
    check_finite(norms)
    least = [float(np.min(variances, initial=np.inf)) for _, variances in found]
    if joint:
        norms, least = [sum(norms)] * len(found), [min(least)] * len(found)
    for shards, gaussian, (mean, variances), norm2, smallest in zip(
        stacks, gaussians, found, norms, least, strict=True
    ):
        scalars = gaussian.scalars
        kept = gaussian.spread[1] if gaussian.covariance.name == "full" else gaussian.spread
        if kept.size:
            # Below the floor a common scale takes over, so that the variances keep their ratios.
            scale = min(1.0, max(smallest / _SMALLEST_VARIANCE, _SMALLEST_SCALE))
            kept[:] = np.maximum(variances / scale, _SMALLEST_VARIANCE)
            scalars[SPREAD_SCALE] = scale
        gaussian.mean[:] = mean
        scalars[[MEAN_SCALE, NORM2, NORM2_PEAK]] = 1.0, norm2, norm2
        scalars[GROWTH] = shards.prior.scalars[GROWTH] * shards.growth_by(rule)


def _found(shards: Shards, rule: str, gaussian: Gaussian) -> tuple[Array, Array]:
    """The merged mean and variances, or D; U is put where it belongs."""
    if gaussian.covariance.name != "full":
        mean, variances = merge_coordinates(shards, rule)
    else:
        mean, variances, u = merge_full(shards, rule)
        check_finite(u)
        gaussian.spread[2:] = u.T
    check_finite(mean, variances)
    return mean, variances


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
