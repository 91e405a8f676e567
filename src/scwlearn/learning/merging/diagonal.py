"""Merging models without covariance between features: a diagonal Sigma, or none."""

from __future__ import annotations

import numpy as np

from scwlearn.learning.merging.shards import Shards
from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import MEAN_SCALE, SPREAD_SCALE, Gaussian

# Weights merged at a time, to bound temporary memory.
_AT_ONCE = 2**16

#: Relative to the prior. Less evidence than this is rounding, or there is none because the rule moved only the mean:
#: then the models that moved count by their weights alone.
LEAST_EVIDENCE = 1e-12


def merge_diagonal(shards: Shards, rule: str) -> tuple[Array, Array]:
    """Return the merged mean and variances."""
    size = shards.prior.size
    mean, variances = np.empty(size), np.empty(size)
    for start in range(0, size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        mean[part], variances[part] = _merge_part(shards, rule, part)
    return mean, variances


def _merge_part(shards: Shards, rule: str, part: slice) -> tuple[Array, Array]:
    # One row per model k. L is a precision: L_k of the model, L_0k of the prior within it, dL_k the gain over that.
    # Sigma may have grown since the prior, which reduces its precision.
    w_k = np.array(shards.weights)[:, np.newaxis]
    L_k = np.array([_precision(gaussian, part) for gaussian in shards.gaussians])
    before = _mean(shards.prior, part)
    moved = np.array([_mean(gaussian, part) for gaussian in shards.gaussians]) - before
    L_0k = _precision(shards.prior, part) / np.array([shard.growth for shard in shards])[:, np.newaxis]
    L_0 = _precision(shards.prior, part) / shards.growth
    dL_k = np.maximum(L_k - L_0k, 0.0)
    if rule == "ev":
        evidence = w_k * dL_k
        share = shares(w_k * np.maximum(dL_k, LEAST_EVIDENCE * L_0k * (moved != 0)))
        L = L_0 + (evidence * shares(evidence)).sum(axis=0)
    else:
        # L (mu - mu_0) = sum of w_k L_k (mu_k - mu_0), for kl and for bcm.
        L = (w_k * L_k).sum(axis=0) if rule == "kl" else L_0 + (w_k * dL_k).sum(axis=0)
        share = w_k * L_k / L
    return before + (share * moved).sum(axis=0), 1 / L


def _mean(gaussian: Gaussian, part: slice) -> Array:
    mean: Array = gaussian.mean[part] * gaussian.scalars[0, MEAN_SCALE]
    return mean


def _precision(gaussian: Gaussian, part: slice) -> Array:
    scale: float = gaussian.scalars[0, SPREAD_SCALE]
    if gaussian.covariance.name == "identity":
        return np.full(len(gaussian.mean[part]), 1 / (scale * gaussian.initial_variance))
    precision: Array = 1 / (scale * gaussian.covariance.diagonal_in_place(gaussian.memory)[part])
    return precision


def shares(evidence: Array) -> Array:
    """Return each model's share of the evidence about a weight; 0 where there is none."""
    total = evidence.sum(axis=0)
    share: Array = np.divide(evidence, total, out=np.zeros_like(evidence), where=total > 0)
    return share
