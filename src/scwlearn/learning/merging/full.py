"""Merging with a full Sigma, in factors from beginning to end.

L = Sigma^-1 is never formed: its eigenvalues may lie so far apart that the small ones, in directions about which a
model knows nothing, would be lost to rounding. From Sigma = U D U' follows Q = D^-1/2 U^-1 with L = Q'Q. The QR
decomposition of all sqrt(w_k) Q_k, stacked, gives an upper triangular T with T'T = sum of w_k L_k, which is all that kl
needs. For the other methods, the prior is expressed in the coordinates of T, with eigenvalues c and directions V:

    T'^-1 L_0 T^-1 = V c V',    L = T'V p V'T

with p = 1 - (w_1 + .. + w_K - 1) c for bcm. As L_k >= L_0, p lies between 1/(w_1 + .. + w_K) and 1 if the weights are
at least 1, so removing the prior, which is contained in every L_k, loses no digits. A triangular factor of V p V' gives
a triangular factor of L, and hence U and D: Sigma is positive definite by construction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.learning.merging.diagonal import LEAST_EVIDENCE, shares
from scwlearn.learning.merging.shards import Shard, Shards, check_finite
from scwlearn.model.covariance import Array
from scwlearn.model.full import factors
from scwlearn.model.gaussian import SPREAD_SCALE, Gaussian


def merge_full(shards: Shards, rule: str) -> tuple[Array, Array, Array]:
    """Return the merged mean, D and U; D and U have the places of the first Gaussian."""
    order = np.argsort(factors(shards.gaussians[0].memory)[0])
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
    mean = _weights(shards.prior).copy()
    mean[order] += move
    diagonal = np.diag(root)
    return mean, diagonal**2, root / diagonal


def _stacked(shards: Shards, order: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return T, and T'^-1 times the sum of w_k L_k (mu_k - mu_0)."""
    size = len(order)
    upper = np.empty((0, size + 1))
    for shard in shards:
        root = _root(shard, order)
        # The mean goes through the decomposition as one more column, so that L_k mu_k is not formed either.
        block = np.column_stack([root, root @ _moved(shards, shard, order)])
        upper = _triangle(np.vstack([upper, block]))[:size]
    return upper[:, :size], upper[:, size]


def _without_prior(shards: Shards, c: Array) -> Array:
    times, kept = sum(shard.weight / shard.growth for shard in shards), 1 / shards.growth
    # It is below the bound only if a Sigma has lost information to rounding.
    p: Array = np.maximum(1 - (times - kept) * c, min(1.0, kept / times))
    return p


def _by_evidence(shards: Shards, order: NDArray[np.intp], c: Array, into: Array, out: Array) -> tuple[Array, Array]:
    """Return p and the move of the mean in the directions V, in which all evidence together has no correlations.

    As for a diagonal Sigma, with these directions as the coordinates; `into` and `out` map there and back.
    """
    times = np.array([shard.weight / shard.growth for shard in shards])[:, np.newaxis]
    known = np.array([np.square(_root(shard, order) @ out).sum(axis=0) for shard in shards])
    moved = np.array([into @ _moved(shards, shard, order) for shard in shards])
    evidence = np.maximum(known - times * c, 0.0)
    p: Array = c / shards.growth + (evidence * shares(evidence)).sum(axis=0)
    return p, (shares(np.maximum(evidence, LEAST_EVIDENCE * times)) * moved).sum(axis=0)


def _root(shard: Shard, order: NDArray[np.intp]) -> Array:
    """Return sqrt(w) Q with Sigma^-1 = Q'Q, with the features in that order."""
    gaussian = shard.gaussian
    places, d, columns = factors(gaussian.memory)
    scaled = d * gaussian.scalars[0, SPREAD_SCALE]
    root: Array = _inverse(columns.T) * np.sqrt(shard.weight / scaled)[:, np.newaxis]
    return root[:, places.astype(np.intp)[order]]


def _moved(shards: Shards, shard: Shard, order: NDArray[np.intp]) -> Array:
    moved: Array = (_weights(shard.gaussian) - _weights(shards.prior))[order]
    return moved


def _weights(gaussian: Gaussian) -> Array:
    weights: Array = gaussian.weights()[0]
    return weights


def _linalg() -> Any:
    """Import SciPy's linear algebra when it is needed: it takes long to load."""
    import scipy.linalg

    return scipy.linalg


def _inverse(upper: Array) -> Array:
    inverse: Array = _linalg().lapack.dtrtri(upper)[0]
    return inverse


def _triangle(rows: Array) -> Array:
    """Return R, upper triangular with a positive diagonal, with R'R = rows'rows."""
    upper: Array = _linalg().qr(rows, mode="r", check_finite=False)[0][: rows.shape[1]]
    return upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, np.newaxis]
