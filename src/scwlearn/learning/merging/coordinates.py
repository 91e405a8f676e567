"""Merging where each weight stands for itself: a diagonal Sigma, or none."""

from __future__ import annotations

import numpy as np

from scwlearn.learning.merging.shards import Shards
from scwlearn.model import Gaussian
from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import MEAN_SCALE, SPREAD_SCALE

# So many weights are merged at a time: what is kept of each model on the way stays small.
_AT_ONCE = 2**16

#: Relative to the prior. Less evidence than this is rounding, or there is none because the rule moved the mean only:
#: then all models that moved count the same.
LEAST_EVIDENCE = 1e-12


def merge_coordinates(shards: Shards, rule: str) -> tuple[Array, Array]:
    """The merged mean and variances."""
    size = shards.prior.size
    mean, variances = np.empty(size), np.empty(size)
    for start in range(0, size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        mean[part], variances[part] = _merge_part(shards, rule, part)
    return mean, variances


def _merge_part(shards: Shards, rule: str, part: slice) -> tuple[Array, Array]:
    # One row for each model. L is a precision, dL what it has gained over the prior.
    w = np.array(shards.weights)[:, np.newaxis]
    L = np.array([_precision(gaussian, part) for gaussian in shards.gaussians])
    before = _mean(shards.prior, part)
    moved = np.array([_mean(gaussian, part) for gaussian in shards.gaussians]) - before
    # What has become of the prior in each, and in what they become.
    L_k = _precision(shards.prior, part) / np.array([shard.growth for shard in shards])[:, np.newaxis]
    L_0 = _precision(shards.prior, part) / shards.growth
    dL = np.maximum(L - L_k, 0.0)
    if rule == "ev":
        evidence = w * dL
        share = shares(w * np.maximum(dL, LEAST_EVIDENCE * L_k * (moved != 0)))
        precision = L_0 + (evidence * shares(evidence)).sum(axis=0)
    else:
        # L (mu - mu_0) = sum of w L_k (mu_k - mu_0), for kl and for bcm.
        precision = (w * L).sum(axis=0) if rule == "kl" else L_0 + (w * dL).sum(axis=0)
        share = w * L / precision
    return before + (share * moved).sum(axis=0), 1 / precision


def _mean(gaussian: Gaussian, part: slice) -> Array:
    mean: Array = gaussian.mean[part] * gaussian.scalars[MEAN_SCALE]
    return mean


def _precision(gaussian: Gaussian, part: slice) -> Array:
    scale: float = gaussian.scalars[SPREAD_SCALE]
    if gaussian.covariance.name == "identity":
        return np.full(len(gaussian.mean[part]), 1 / (scale * gaussian.initial_variance))
    precision: Array = 1 / (scale * gaussian.spread[part])
    return precision


def shares(evidence: Array) -> Array:
    """Of each model in all evidence about a weight; 0 where there is none."""
    total = evidence.sum(axis=0)
    share: Array = np.divide(evidence, total, out=np.zeros_like(evidence), where=total > 0)
    return share
