"""Merging models without covariance between features: a diagonal Sigma, or none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scwlearn import _native
from scwlearn.learning.merging.shards import Shard, Shards
from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import MEAN_SCALE, SPREAD_SCALE

#: Relative to the prior. Less evidence than this is rounding, or there is none because the rule moved only the mean:
#: then the models that moved count by their weights alone.
LEAST_EVIDENCE = 1e-12


def merge_diagonal(shards: Shards, rule: str, counted: Sequence[Array] | None = None) -> tuple[Array, Array]:
    """Return the merged mean and variances; weights that no model has changed keep those of the prior exactly.

    `counted` says how much each feature of each model counts for ev, in all classes (see `counted_jointly`); if it is
    not given, the evidence of this class counts.
    """
    mean, variances = np.empty(shards.prior.size), np.empty(shards.prior.size)
    own = [None] * len(shards.gaussians) if counted is None else counted
    models = [_parts(shard, each) for shard, each in zip(shards, own, strict=True)]
    prior = _parts(Shard(shards.prior, 1.0, 1.0))
    _native.merge_diagonal(rule, prior, models, shards.growth, LEAST_EVIDENCE, mean, variances)
    return mean, variances


def _parts(shard: Shard, counted: Array | None = None) -> tuple[Array, Array, float, float, float, float, Array | None]:
    """Return what the native merge needs of a model."""
    gaussian = shard.gaussian
    scales = gaussian.scalars[0, [MEAN_SCALE, SPREAD_SCALE]].tolist()
    if gaussian.covariance.name == "identity":
        variances = np.broadcast_to(gaussian.initial_variance, gaussian.size)
    else:
        variances = gaussian.covariance.diagonal_in_place(gaussian.memory)
    return gaussian.mean, variances, *scales, shard.weight, shard.growth, counted


def counted_jointly(classes: Sequence[Shards]) -> list[Array]:
    """Return how much each feature of each model counts: the root of its evidence about all classes together.

    If each class weighted the models by its own evidence, their averages would not fit together: the margin of an
    example is a difference of two classes. The root is a compromise. Without it, the models that moved furthest, which
    have the most evidence, count most; but with equal weights, a feature that one model has seen alone is diluted. For
    the same reason, a model counts a quarter of this for a class of which it has no evidence.
    """
    counted = []
    for number in range(len(classes[0].gaussians)):
        evidence = np.zeros(classes[0].prior.size)
        for shards in classes:
            gaussian, weight, growth = [*shards][number]
            before = 1 / shards.prior.variances()[0] / growth
            has_moved = gaussian.weights()[0] != shards.prior.weights()[0]
            gain = 1 / gaussian.variances()[0] - before
            evidence += weight * np.maximum(gain, LEAST_EVIDENCE * before * has_moved)
        counted.append(np.sqrt(evidence))
    return counted


def shares(evidence: Array) -> Array:
    """Return each model's share of the evidence about a weight; 0 where there is none."""
    total = evidence.sum(axis=0)
    share: Array = np.divide(evidence, total, out=np.zeros_like(evidence), where=total > 0)
    return share
