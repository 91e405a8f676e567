"""Merging Gaussians that continued from a common prior."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from scwlearn._native import KEPT_BY_AVERAGES, SMALLEST_VARIANCE
from scwlearn.learning.merging.diagonal import counted_jointly, merge_diagonal
from scwlearn.learning.merging.full import merge_full
from scwlearn.learning.merging.shards import Shards, check_finite
from scwlearn.model.average import LATEST_MISTAKES, Average, moved_by
from scwlearn.model.covariance import Array, Covariance
from scwlearn.model.full import factors
from scwlearn.model.gaussian import (
    GROWTH,
    MEAN_SCALE,
    NORM2,
    NORM2_PEAK,
    ROUNDS,
    SPREAD_SCALE,
    Gaussian,
    lanes_for,
    prior_scalars,
)
from scwlearn.rules import Parameter

#: Merge methods; "auto" selects one of the others.
MERGE_RULES = ("auto", "bcm", "ev", "kl")

# Well above the scale at which the native loops multiply it into the variances.
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
    """Merge Gaussians that continued from a common prior, each with its own examples.

    Several classes are merged class by class, and a shared Sigma as one.

    Parameters
    ----------
    gaussians : sequence of Gaussian
        Models of one size, covariance and number of classes. They are not changed.
    rule : {"auto", "bcm", "ev", "kl"}
        How to merge; see `scwlearn.merge`.
    weights : sequence of float, optional
        The weight of the evidence of each; 1 if not given.
    prior : Gaussian, optional
        The model that all of them continued from; N(0, initial_variance I) if not given.

    Returns
    -------
    Gaussian
        The merged model.

    Raises
    ------
    ValueError
        For models that differ in more than what they have learned, and for weights or variances that overflow.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.learning.merging import merge_gaussians
    >>> one, other = Learner("arow", covariance="diagonal"), Learner("arow", covariance="diagonal")
    >>> _ = one.learn([[1.0, 0.0]], [1]), other.learn([[0.0, 1.0]], [-1])
    >>> merged = merge_gaussians([one.model, other.model])
    >>> merged.weights(), merged.variances()
    (array([[ 0.5, -0.5]]), array([[0.5, 0.5]]))
    """
    given = check_models(gaussians)
    check_merge_rule(rule)
    counted = check_model_weights(weights, len(given))
    first = given[0]
    start = first if prior is None else prior
    for i, gaussian in enumerate(given):
        _check_alike(start, gaussian, "models[0]" if prior is None else "prior", f"models[{i}]")
    if first.classes == 0:
        return first.copy()
    stacks = _stacks(given, counted, prior)
    merged = _merge_stacks(stacks, rule, again=prior is not None, joint=first.joint)
    whole = merged[0] if first.is_binary else _joined(first, merged)
    if first.average is not None:
        return replace(whole, average=_merge_averages(whole, given, rule, counted, prior))
    return whole


def _merge_averages(
    merged: Gaussian, models: Sequence[Gaussian], rule: str, weights: Sequence[float], prior: Gaussian | None
) -> Average:
    """Merge the averages as the means are merged, and add up their recent mistakes."""
    weights_after = merged.weights()
    began = 0.0 if prior is None else float(prior.scalars[0, ROUNDS])
    rounds = [float(model.scalars[0, ROUNDS]) - began for model in models]
    # Where the merged model is the only one that has learned, its average is, too, to the last bit.
    only = models[int(np.argmax(rounds))]
    if sum(map(bool, rounds)) <= 1 and only.average is not None and np.array_equal(only.weights(), weights_after):
        return only.average.with_lanes(merged.lanes, np.arange(merged.classes))
    averages, start = [model.at_average() for model in models], None
    if prior is not None:
        start = prior.at_average()
        before, of_all = start.weights(), moved_by(began, sum(rounds))
        # Each average has moved at the rate for its own rounds.
        shares = [of_all / moved_by(began, count) if count else 0.0 for count in rounds]
        averages = [each.at(before + by * (each.weights() - before)) for each, by in zip(averages, shares, strict=True)]
    middle = merge_gaussians(averages, rule, weights, start).weights()
    mistakes = sum(weight * _recent_mistakes(model) for model, weight in zip(models, weights, strict=True))
    if prior is not None:
        # What the models have in common has faded in each of them. It counts once, faded by the rounds of all.
        left = [KEPT_BY_AVERAGES**count for count in rounds]
        common = sum(weight * kept for weight, kept in zip(weights, left, strict=True)) - math.prod(left)
        mistakes = mistakes - common * _recent_mistakes(prior)
    average = Average.start(merged.size, merged.lanes, len(merged.scalars))
    average.lag[:, : merged.classes] = (weights_after - middle).T
    average.state[0, LATEST_MISTAKES:] = np.maximum(mistakes, 0.0)
    return average


def _recent_mistakes(model: Gaussian) -> Array:
    """Return the recent mistakes of the mean and of the average."""
    assert model.average is not None
    return model.average.state[0, LATEST_MISTAKES:]


def _joined(first: Gaussian, rows: Sequence[Gaussian]) -> Gaussian:
    """Return a model like the first with these classes, or of one model of all of them, with room for no others."""
    covariance, variance = first.covariance, first.initial_variance
    lanes = lanes_for(first.classes)
    if _is_one_sigma(first):
        memory, scalars = rows[0].memory, rows[0].scalars
    else:
        memory = covariance.start(first.size, first.classes, variance)
        for lane, row in enumerate(rows):
            covariance.fill(memory, lane, row.memory)
        scalars = prior_scalars(1 if first.joint else lanes)
        scalars[: first.classes] = [row.scalars[0] for row in rows[: len(scalars)]]
    memory = covariance.enlarge(memory, lanes, variance, np.arange(first.classes))
    return replace(first, memory=memory, scalars=scalars, known=first.known.copy(), average=None)


def _is_one_sigma(gaussian: Gaussian) -> bool:
    """Whether all classes share one large Sigma, with which they are merged at once."""
    return gaussian.covariance.correlated and gaussian.covariance.shared


def _stacks(models: Sequence[Gaussian], weights: Sequence[float], prior: Gaussian | None) -> list[Shards]:
    """Return what is merged: the models of each class, or, with one Sigma for all classes, the whole models."""
    first = models[0]
    if _is_one_sigma(first):
        start = prior or Gaussian.prior(first.covariance, first.size, first.initial_variance, classes=first.classes)
        stacks = [Shards(models, weights, start)]
    else:
        # The same for all classes.
        start = prior or Gaussian.prior(type(first.covariance)(), first.size, first.initial_variance)
        starts = [start] * first.classes if start.is_binary else start.by_class()
        rows = zip(*(model.by_class() for model in models), strict=True)
        stacks = [Shards(row, weights, before) for row, before in zip(rows, starts, strict=True)]
    for shards in stacks:
        shards.check()
    return stacks


def _merge_stacks(stacks: Sequence[Shards], rule: str, *, again: bool, joint: bool) -> list[Gaussian]:
    """Merge the models of each class. Classes that are trained jointly have one set of scalars."""
    if rule == "auto":
        rule = _best_rule(stacks[0].prior.covariance, again=again)
    if rule == "kl":
        known = [shards.normed() for shards in stacks]
    else:
        # A model counts as a whole: one that has learned anything, of any class, takes part in all.
        learned = [any(some) for some in zip(*(shards.evidence() for shards in stacks), strict=True)]
        known = [shards.only(learned) for shards in stacks]
    covariance = known[0].prior.covariance
    is_weighted = joint and covariance.name != "identity"
    counts_jointly = is_weighted and rule == "ev" and not covariance.correlated
    if is_weighted and not counts_jointly and len(stacks) > 1 and len(known[0].gaussians) > 1:
        _align(known)
    gaussians = [shards.gaussians[0].copy() for shards in known]
    if len(known[0].gaussians) > 1 or known[0].weights[0] != 1:
        counted = counted_jointly(known) if counts_jointly and len(known) > 1 else None
        _merge_into(gaussians, known, rule, counted, joint=joint)
    for gaussian, shards in zip(gaussians, stacks, strict=True):
        gaussian.scalars[0, ROUNDS] = shards.rounds()
    return gaussians


def _align(stacks: Sequence[Shards]) -> None:
    """Shift all classes of a model alike, so that they have moved least, weighted by their precisions.

    What all classes have in common changes no prediction of joint classes, so each model has its own. But the merged
    classes would have different shares of it, because each class weights the models differently. Without variances,
    classes have nothing in common, because their steps sum to 0. Their rounded sum must not be mistaken for a move.
    """
    for number in range(len(stacks[0].gaussians)):
        moved, precision = 0.0, 0.0
        for shards in stacks:
            gaussian = shards.gaussians[number]
            own = 1 / gaussian.variances()[0]
            moved = moved + own * (gaussian.weights()[0] - shards.prior.weights()[0])
            precision = precision + own
        for shards in stacks:
            gaussian = shards.gaussians[number]
            gaussian.mean[:] -= moved / precision / gaussian.scalars[0, MEAN_SCALE]


def _best_rule(covariance: Covariance, *, again: bool) -> str:
    # docs/merging.md has the measurements.
    if covariance.correlated:
        return "bcm"
    if covariance.name == "identity":
        return "ev"
    return "ev" if again else "bcm"


def _merge_into(
    gaussians: Sequence[Gaussian], stacks: Sequence[Shards], rule: str, counted: Sequence[Array] | None, *, joint: bool
) -> None:
    """Turn copies of the first Gaussian of each stack into the merged ones."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = [_merged(shards, rule, gaussian, counted) for shards, gaussian in zip(stacks, gaussians, strict=True)]
        # Not by BLAS, whose threads take longer than this.
        norms = [float(np.einsum("ij,ij->", means, means)) for means, _ in found]
    check_finite(norms)
    least = [float(np.min(variances, initial=np.inf)) for _, variances in found]
    if joint:
        norms, least = [sum(norms)] * len(found), [min(least)] * len(found)
    for shards, gaussian, (means, variances), norm2, smallest in zip(
        stacks, gaussians, found, norms, least, strict=True
    ):
        scalars = gaussian.scalars[0]
        kept = gaussian.covariance.diagonal_in_place(gaussian.memory)
        if kept.size:
            # Below the floor a common scale takes over, so that the variances keep their ratios.
            scale = min(1.0, max(smallest / SMALLEST_VARIANCE, _SMALLEST_SCALE))
            kept[:] = np.maximum(variances / scale, SMALLEST_VARIANCE)
            scalars[SPREAD_SCALE] = scale
        gaussian.covariance.means(gaussian.memory)[: len(means)] = means
        scalars[[MEAN_SCALE, NORM2, NORM2_PEAK]] = 1.0, norm2, norm2
        scalars[GROWTH] = shards.prior.scalars[0, GROWTH] * shards.growth_by(rule)


def _merged(shards: Shards, rule: str, gaussian: Gaussian, counted: Sequence[Array] | None) -> tuple[Array, Array]:
    """Return the merged means (classes, size), and the variances or D; write U into the Gaussian."""
    if not gaussian.covariance.correlated:
        mean, variances = merge_diagonal(shards, rule, counted)
        means = mean[np.newaxis]
    else:
        means, variances, u = merge_full(shards, rule)
        check_finite(u)
        factors(gaussian.memory)[2][:] = u.T
    check_finite(means, variances)
    return means, variances


def check_models(models: Iterable[Model]) -> list[Model]:
    """Return the models as a list, or raise an error if there are none."""
    if not isinstance(models, Iterable):
        raise TypeError(f"models must be a list of models, got a {type(models).__name__}")
    given = list(models)
    if not given:
        raise ValueError("models must hold at least one model, got none")
    return given


def check_merge_rule(rule: str) -> None:
    """Raise a ValueError for an unknown way to merge."""
    if not isinstance(rule, str) or rule not in MERGE_RULES:
        raise ValueError(f"rule must be one of {', '.join(MERGE_RULES)}, got {rule!r}")


def check_model_weights(weights: Iterable[float] | None, count: int) -> list[float]:
    """Return the weights of `count` models, 1 each if none are given."""
    if weights is None:
        return [1.0] * count
    given = list(weights)
    if len(given) != count:
        raise ValueError(f"weights must hold one number for each of the {count} models, got {len(given)}")
    return [Parameter(f"weights[{i}]", 1.0, "", high=_LARGEST_WEIGHT).check(w) for i, w in enumerate(given)]


def check_same(what: str, one: object, other: object, name: str, other_name: str, *, hint: str | None = None) -> None:
    """Raise a ValueError unless two models agree in something; `hint` says what to do then."""
    if one != other:
        raise ValueError(
            f"{name} and {other_name} differ in {what}: {_shown(one)} and {_shown(other)}; "
            + (hint or "merged models may differ only in what they have learned")
        )


def _shown(value: object) -> str:
    # Rules and functions are shown by name.
    return str(getattr(value, "name", getattr(value, "__name__", value)))


def _check_alike(one: Gaussian, other: Gaussian, name: str, other_name: str) -> None:
    check_same("covariance", one.covariance.name, other.covariance.name, name, other_name)
    check_same("average", one.average is not None, other.average is not None, name, other_name)
    for what in ("initial_variance", "size", "classes"):
        check_same(what, getattr(one, what), getattr(other, what), name, other_name)
