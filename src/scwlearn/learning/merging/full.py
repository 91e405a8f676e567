"""Merging with a full Sigma, in factors from beginning to end.

L = Sigma^-1 is never formed: its eigenvalues may lie so far apart that the small ones, which say where a model knows
nothing, would be lost to rounding. From Sigma = U D U' comes Q = D^-1/2 U^-1 with L = Q'Q. The QR decomposition of all
sqrt(w_k) Q_k, one below the other, gives an upper triangular T with T'T = sum of w_k L_k: kl needs no more. For the
others the prior is looked at through T, where it has the eigenvalues c and the directions V:

    T'^-1 L_0 T^-1 = V c V',    L = T'V p V'T

with p = 1 - (w_1 + .. + w_K - 1) c for bcm. As L_k >= L_0, p lies between 1/(w_1 + .. + w_K) and 1 where weights are at
least 1: to take the prior away, which is in every L_k, costs no digits. A triangular factor of V p V' makes a
triangular factor of L, and so U and D again: Sigma is positive by construction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.learning.merging.coordinates import LEAST_EVIDENCE, shares
from scwlearn.learning.merging.shards import Shard, Shards, check_finite
from scwlearn.model import Gaussian
from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import SPREAD_SCALE


def merge_full(shards: Shards, rule: str) -> tuple[Array, Array, Array]:
    """The merged mean, D and U; D and U have the places of the first Gaussian."""
    order = np.argsort(_places(shards.gaussians[0]))
    upper, pulled = _stacked(shards, order)
    root = inverse = _inverse(upper)
    move = inverse @ pulled
    if rule != "kl":
        prior = _root(Shard(shards.prior, 1.0, 1.0), order) @ inverse
        seen = prior.T @ prior
        check_finite(seen)
        c, V = _linalg().eigh(seen, check_finite=False)
        if rule == "bcm":
            p = _without_prior(shards, c)
            moved = V.T @ pulled / p
        else:
            p, moved = _by_evidence(shards, order, c, V.T @ upper, inverse @ V)
        root = inverse @ _inverse(_triangle(np.sqrt(p)[:, np.newaxis] * V.T))
        move = inverse @ (V @ moved)
    mean = shards.prior.weights()
    mean[order] += move
    diagonal = np.diag(root)
    return mean, diagonal**2, root / diagonal


def _stacked(shards: Shards, order: NDArray[np.intp]) -> tuple[Array, Array]:
    """T, and T'^-1 times the sum of w_k L_k (mu_k - mu_0)."""
    size = len(order)
    upper = np.empty((0, size + 1))
    for shard in shards:
        root = _root(shard, order)
        # The mean goes through the decomposition as one column more, so that L_k mu_k is not formed either.
        block = np.column_stack([root, root @ _moved(shards, shard, order)])
        upper = _triangle(np.vstack([upper, block]))[:size]
    return upper[:, :size], upper[:, size]


def _without_prior(shards: Shards, c: Array) -> Array:
    times, kept = sum(shard.weight / shard.growth for shard in shards), 1 / shards.growth
    # Below the bound only where rounding has lost what a Sigma knew.
    p: Array = np.maximum(1 - (times - kept) * c, min(1.0, kept / times))
    return p


def _by_evidence(shards: Shards, order: NDArray[np.intp], c: Array, into: Array, out: Array) -> tuple[Array, Array]:
    """p, and how far the mean moves, in the directions V: there all evidence together has no correlations.

    As for a diagonal Sigma, with those directions for the coordinates; `into` and `out` lead there and back.
    """
    times = np.array([shard.weight / shard.growth for shard in shards])[:, np.newaxis]
    known = np.array([np.square(_root(shard, order) @ out).sum(axis=0) for shard in shards])
    moved = np.array([into @ _moved(shards, shard, order) for shard in shards])
    evidence = np.maximum(known - times * c, 0.0)
    p: Array = c / shards.growth + (evidence * shares(evidence)).sum(axis=0)
    return p, (shares(np.maximum(evidence, LEAST_EVIDENCE * times)) * moved).sum(axis=0)


def _root(shard: Shard, order: NDArray[np.intp]) -> Array:
    """sqrt(w) Q with Sigma^-1 = Q'Q, by the features in that order."""
    gaussian = shard.gaussian
    d, u = gaussian.spread[1] * gaussian.scalars[SPREAD_SCALE], gaussian.spread[2:].T
    root: Array = _inverse(u) * np.sqrt(shard.weight / d)[:, np.newaxis]
    return root[:, _places(gaussian)[order]]


def _moved(shards: Shards, shard: Shard, order: NDArray[np.intp]) -> Array:
    moved: Array = (shard.gaussian.weights() - shards.prior.weights())[order]
    return moved


def _linalg() -> Any:
    """SciPy's, which takes long to load: who only learns need not wait for it."""
    import scipy.linalg

    return scipy.linalg


def _places(gaussian: Gaussian) -> NDArray[np.intp]:
    places: NDArray[np.intp] = gaussian.spread[0].astype(np.intp)
    return places


def _inverse(upper: Array) -> Array:
    inverse: Array = _linalg().lapack.dtrtri(upper)[0]
    return inverse


def _triangle(rows: Array) -> Array:
    """R, upper triangular and with a positive diagonal, with R'R = rows'rows."""
    upper: Array = _linalg().qr(rows, mode="r", check_finite=False)[0][: rows.shape[1]]
    return upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, np.newaxis]
