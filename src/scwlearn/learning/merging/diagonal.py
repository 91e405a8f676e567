"""Merging models without covariance between features: a diagonal Sigma, or none."""

from __future__ import annotations

import numpy as np

from scwlearn import _native
from scwlearn.learning.merging.shards import Shard, Shards
from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import MEAN_SCALE, SPREAD_SCALE

#: Relative to the prior. Less evidence than this is rounding, or there is none because the rule moved only the mean:
#: then the models that moved count by their weights alone.
LEAST_EVIDENCE = 1e-12


def merge_diagonal(shards: Shards, rule: str) -> tuple[Array, Array]:
    """Return the merged mean and variances; weights that no model has changed keep those of the prior exactly."""
    mean, variances = np.empty(shards.prior.size), np.empty(shards.prior.size)
    models = [_parts(shard) for shard in shards]
    prior = _parts(Shard(shards.prior, 1.0, 1.0))
    _native.merge_diagonal(rule, prior, models, shards.growth, LEAST_EVIDENCE, mean, variances)
    return mean, variances


def _parts(shard: Shard) -> tuple[Array, Array, float, float, float, float]:
    """Return what the native merge needs of a model."""
    gaussian = shard.gaussian
    scales = gaussian.scalars[0, [MEAN_SCALE, SPREAD_SCALE]].tolist()
    if gaussian.covariance.name == "identity":
        variances = np.broadcast_to(gaussian.initial_variance, gaussian.size)
    else:
        variances = gaussian.covariance.diagonal_in_place(gaussian.memory)
    return gaussian.mean, variances, *scales, shard.weight, shard.growth


def shares(evidence: Array) -> Array:
    """Return each model's share of the evidence about a weight; 0 where there is none."""
    total = evidence.sum(axis=0)
    share: Array = np.divide(evidence, total, out=np.zeros_like(evidence), where=total > 0)
    return share
