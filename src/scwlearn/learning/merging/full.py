"""Merging with a full Sigma, in factors from beginning to end.

L = Sigma^-1 is never formed: its eigenvalues may lie so far apart that the small ones, in directions about which a
model knows nothing, would be lost to rounding. From Sigma = U D U' follows Q = D^-1/2 U^-1 with L = Q'Q. The QR
decomposition of all sqrt(w_k) Q_k, stacked, gives an upper triangular T with T'T = sum of w_k L_k, which is all that kl
needs. Q_k is triangular, too, if model k has its features at the same places as the first model. For bcm, the prior is
expressed in the coordinates of T:

    L = T'P T,    P = I - (w_1 + .. + w_K - 1) C'C,    C = Q_0 T^-1

As L_k >= L_0, the eigenvalues of P lie between 1/(w_1 + .. + w_K) and 1 if the weights are at least 1, so removing the
prior, which is contained in every L_k, loses no digits. The Cholesky factor F of P gives a triangular root of Sigma,
T^-1 F^-1, and hence U and D: Sigma is positive definite by construction. If rounding has made an eigenvalue of P too
small, and for ev, the eigenvalues c and directions V of C'C = V c V' replace it: L = T'V p V'T.

For ev, L_0 + the evidence E_k of all models is the identity in the coordinates of T, so V are the directions in which
their sum is diagonal. Each model counts in a direction v by its share v'E_k v of the sum. If several eigenvalues are
equal, any basis of their space would do, and rounding chooses one. There, E_k within the space, a matrix, takes the
place of v'E_k v. It is what the shares would be in a basis in which all E_k are diagonal, if there is one, and depends
on no basis if there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.memory import check_memory_for_blas
from scwlearn._util.threads import one_blas_thread
from scwlearn.learning.merging.diagonal import LEAST_EVIDENCE, shares
from scwlearn.learning.merging.shards import Shard, Shards, check_finite
from scwlearn.model.covariance import Array
from scwlearn.model.full import factors
from scwlearn.model.gaussian import SPREAD_SCALE, Gaussian

# From this size on, threads of BLAS gain more than they lose on a busy machine, where each of many short calls waits
# for the slowest of them: with 300 features and other processes on both cores, a merge took 7 s instead of 0.05 s.
_SIZE_FOR_THREADS = 2000
# Columns that a QR decomposition takes at a time.
_QR_BLOCK = 16
# How far apart eigenvalues may be, relative to the largest, to count as equal: much more than rounding moves them, and
# much less than data do.
_CLOSE = 1e-8
# At this many times that distance, less than rounding is left of the evidence between two directions.
_APART = 9.0
# Products of triangles are computed in strips, to skip most zeros: this many, of at least this width.
_STRIPS = 4
_LEAST_STRIP = 64


def merge_full(shards: Shards, rule: str) -> tuple[Array, Array, Array]:
    """Return the merged means (classes, size), D and U; D and U have the places of the first Gaussian.

    The Gaussians have one Sigma each, which several classes may share.
    """
    with _blas_threads(shards.prior.size):
        return _merge(shards, rule)


def _blas_threads(size: int) -> AbstractContextManager[None]:
    # The limit holds for libraries that are loaded.
    _lapack()
    return one_blas_thread() if size < _SIZE_FOR_THREADS else nullcontext()


def _merge(shards: Shards, rule: str) -> tuple[Array, Array, Array]:
    order = np.argsort(factors(shards.gaussians[0].memory)[0])
    upper, pulled = _stacked(shards, order)
    if rule == "ev":
        root, move = _by_evidence(shards, order, upper)
    else:
        root = _right_inverse(upper)
        if rule == "bcm":
            root, pulled = _without_prior(shards, order, root, pulled)
        move = _product(root, pulled)
    means: Array = shards.prior.weights()
    means[:, order] += move.T
    diagonal = np.diag(root).copy()
    root /= diagonal
    return means, diagonal**2, root


def _stacked(shards: Shards, order: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return T, and T'^-1 times the sum of w_k L_k (mu_k - mu_0), one column per class."""
    first, *others = shards
    upper = _root(first, order)[0]
    pulled = _product(upper, _moved(shards, first, order))
    for shard in others:
        root, is_upper = _root(shard, order)
        # The means go through the decomposition, so that L_k mu_k is not formed either.
        below = _product(root, _moved(shards, shard, order))
        upper, pulled = _decomposed(upper, root, pulled, below, is_upper=is_upper)
    return upper, pulled


def _without_prior(shards: Shards, order: NDArray[np.intp], inverse: Array, pulled: Array) -> tuple[Array, Array]:
    """Return the root of Sigma, T^-1 F^-1, and F'^-1 times what is pulled, for bcm; may overwrite `inverse`."""
    times, kept = sum(shard.weight / shard.growth for shard in shards), 1 / shards.growth
    # P is below the bound only if a Sigma has lost information to rounding.
    bound = min(1.0, kept / times)
    seen = _seen(shards.prior, order, inverse)
    F = _cholesky(seen, times - kept, bound)
    if F is None:
        c, V = _eigen(seen)
        F = _triangle(np.sqrt(np.maximum(1 - (times - kept) * c, bound))[:, np.newaxis] * V.T)
    return _divided(inverse, F), _blas().dtrsm(1.0, F, pulled, trans_a=1)


def _cholesky(seen: Array, times: float, bound: float) -> Array | None:
    """Return the factor F of P = I - times C'C; None if an eigenvalue of P is below the bound by more than rounding."""
    size, dpotrf = len(seen), _lapack().dpotrf
    P = -times * seen
    P[np.diag_indices(size)] += 1.0
    above = P.copy(order="F")
    above[np.diag_indices(size)] -= bound - 10 * size * np.finfo(float).eps
    if dpotrf(above, clean=0, overwrite_a=1)[1]:
        return None
    F, failed = dpotrf(P, clean=0, overwrite_a=1)
    return None if failed else F


def _by_evidence(shards: Shards, order: NDArray[np.intp], upper: Array) -> tuple[Array, Array]:
    """Return the root of Sigma and the move of the means for ev.

    As for a diagonal Sigma, with the directions V, in which all evidence together has no correlations, as coordinates.
    """
    inverse = _right_inverse(upper)
    c, V = _eigen(_seen(shards.prior, order, inverse))
    out = _blas().dtrmm(1.0, inverse, V)
    times = np.array([shard.weight / shard.growth for shard in shards])[:, np.newaxis]
    known = np.array([np.square(_root_times(shard, order, out)).sum(axis=0) for shard in shards])
    into = [_product(upper, _moved(shards, shard, order)) for shard in shards]
    moved = np.array([_product(V, pulled, transposed=True) for pulled in into])
    evidence = np.maximum(known - times * c, 0.0)
    p = c / shards.growth + (evidence * shares(evidence)).sum(axis=0)
    counted = np.maximum(evidence, LEAST_EVIDENCE * times)
    move = (shares(counted)[:, :, np.newaxis] * moved).sum(axis=0)
    for space in _spaces(c, evidence.sum(axis=0) > LEAST_EVIDENCE * times.sum()):
        precision, move[space] = _within(space, shards, order, out, c, (evidence, counted), moved)
        p[space], turned = _eigen(precision)
        V[:, space] = _product(V[:, space], turned)
    return _divided(inverse, _triangle(np.sqrt(p)[:, np.newaxis] * V.T)), _product(out, move)


def _spaces(c: Array, has_evidence: NDArray[np.bool_]) -> list[slice]:
    """Return the runs of eigenvalues, which rise, that are almost equal; where there is no evidence, none counts."""
    apart = (np.diff(c) > _APART * _CLOSE * c[-1:]) | ~has_evidence[1:] | ~has_evidence[:-1]
    ends = [0, *(np.flatnonzero(apart) + 1).tolist(), len(c)]
    return [slice(start, end) for start, end in pairwise(ends) if end > start + 1]


def _within(
    space: slice,
    shards: Shards,
    order: NDArray[np.intp],
    out: Array,
    c: Array,
    evidence: tuple[Array, Array],
    moved: Array,
) -> tuple[Array, Array]:
    """Return the precision and the move of the means within a space of almost equal eigenvalues.

    `evidence` has that of each model in each direction, as it counts for the precision and for the means. What it has
    between two directions fades as their eigenvalues differ, so that nothing depends on where the space ends. The
    bell-shaped fading keeps the evidence of each model positive semidefinite.
    """
    own = c[space]
    near = np.exp(-np.square((own[:, np.newaxis] - own) / (_CLOSE * c[-1])) / 2)
    np.fill_diagonal(near, 0.0)
    along = [each[:, space] for each in evidence]
    scales = [np.sqrt(each.sum(axis=0)) for each in along]
    precision, move = np.diag(own / shards.growth), np.zeros_like(moved[0, space])
    for shard, gain, counted, pulled in zip(shards, *along, moved[:, space], strict=True):
        rows = _root_times(shard, order, out[:, space])
        between = near * _product(rows, rows, transposed=True)
        share, counts = ((between + np.diag(each)) / scale for each, scale in zip((gain, counted), scales, strict=True))
        precision += _product(share, share.T)
        move += _product(counts, pulled) / scales[1][:, np.newaxis]
    return precision, move


def _root(shard: Shard, order: NDArray[np.intp]) -> tuple[Array, bool]:
    """Return sqrt(w) Q with Sigma^-1 = Q'Q, with the features in that order, and whether it is upper triangular."""
    places, d, columns = factors(shard.gaussian.memory)
    root = _left_inverse(columns.T)
    root *= _scales(shard, d)
    at = places[order].astype(np.intp)
    if np.array_equal(at, np.arange(len(at))):
        return root, True
    return np.asfortranarray(root[:, at]), False


def _root_times(shard: Shard, order: NDArray[np.intp], out: Array) -> Array:
    """Return the product of `_root` and another matrix."""
    places, d, columns = factors(shard.gaussian.memory)
    by_place = np.empty_like(out, order="F")
    by_place[places[order].astype(np.intp)] = out
    product: Array = _blas().dtrsm(1.0, columns.T, by_place, overwrite_b=1)
    product *= _scales(shard, d)
    return product


def _scales(shard: Shard, d: Array) -> Array:
    scales: Array = np.sqrt(shard.weight / (d * shard.gaussian.scalars[0, SPREAD_SCALE]))[:, np.newaxis]
    return scales


def _seen(prior: Gaussian, order: NDArray[np.intp], inverse: Array) -> Array:
    """Return C'C: the precision of the prior in the coordinates of T; only the upper triangle is right."""
    _, d, columns = factors(prior.memory)
    if (d == d[0]).all() and np.count_nonzero(columns) == len(d):
        # A multiple of the identity in any order, so that C is triangular.
        seen = np.zeros_like(inverse, order="F")
        for start, end in _strips(len(d)):
            seen[:end, start:end] = _blas().dtrmm(1.0, inverse[:end, :end], inverse[:end, start:end], trans_a=1)
        seen /= d[0] * prior.scalars[0, SPREAD_SCALE]
    else:
        seen = _blas().dsyrk(1.0, _root_times(Shard(prior, 1.0, 1.0), order, inverse), trans=1)
    return seen


def _moved(shards: Shards, shard: Shard, order: NDArray[np.intp]) -> Array:
    """Return mu_k - mu_0: (size, classes)."""
    moved: Array = (shard.gaussian.weights() - shards.prior.weights()).T[order]
    return moved


def _product(one: Array, other: Array, *, transposed: bool = False) -> Array:
    """Return the product of matrices, by SciPy's BLAS: the threads of NumPy's would still spin while those work."""
    product: Array = _blas().dgemm(1.0, one, other, trans_a=transposed)
    return product


def _left_inverse(upper: Array) -> Array:
    """Return X with X U = I up to rounding of |X||U|; that of U X is multiplied by the condition of U.

    Where U is a root of Sigma, X is one of its inverse that is as exact as U.
    """
    inverse: Array = _lapack().dtrtri(upper)[0]
    return inverse


def _right_inverse(upper: Array) -> Array:
    """Return X with T X = I up to rounding of |T||X|; that of X T is multiplied by the condition of T.

    Where T'T = Sigma^-1, X is a root of Sigma that is as exact as T.
    """
    # A triangle is inverted from its diagonal outwards, so that the transposed one has the other side.
    inverse: Array = np.asfortranarray(_lapack().dtrtri(upper.T, lower=1)[0].T)
    return inverse


def _divided(inverse: Array, F: Array) -> Array:
    """Return T^-1 F^-1, in the memory of T^-1."""
    for start, end in _strips(len(F)):
        inverse[start:end, start:] = _blas().dtrsm(1.0, F[start:, start:], inverse[start:end, start:], side=1)
    return inverse


def _strips(size: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each strip of rows or columns of an upper triangle."""
    step = max(_LEAST_STRIP, -(-size // _STRIPS))
    return ((start, min(start + step, size)) for start in range(0, size, step))


def _eigen(seen: Array) -> tuple[Array, Array]:
    """Return the eigenvalues and eigenvectors of a symmetric matrix, of which only the upper triangle is read."""
    import scipy.linalg

    check_finite(seen)
    check_memory_for_blas()
    c, V = scipy.linalg.eigh(seen, lower=False, driver="evd", check_finite=False)
    return c, V


def _triangle(rows: Array) -> Array:
    """Return R, upper triangular, with R'R = rows'rows for as many rows as columns."""
    empty = np.zeros_like(rows, order="F"), np.zeros((len(rows), 1))
    return _decomposed(empty[0], np.asfortranarray(rows), empty[1], empty[1], is_upper=False)[0]


def _decomposed(upper: Array, rows: Array, pulled: Array, below: Array, *, is_upper: bool) -> tuple[Array, Array]:
    """Return R of the QR decomposition of a triangle and rows below it, and Q' times the columns beside both.

    Overwrites the triangle and the rows. The signs of R's rows are arbitrary.
    """
    lapack, size = _lapack(), len(upper)
    zeros = size if is_upper else 0
    block = max(1, min(_QR_BLOCK, size))
    upper, reflectors, t, _ = lapack.dtpqrt(zeros, block, upper, rows, overwrite_a=1, overwrite_b=1)
    pulled = lapack.dtpmqrt(zeros, reflectors, t, pulled, below, trans="T")[0]
    return upper, pulled


def _lapack() -> Any:
    """Import SciPy's linear algebra when it is needed: it takes long to load."""
    import scipy.linalg.lapack

    check_memory_for_blas()
    return scipy.linalg.lapack


def _blas() -> Any:
    import scipy.linalg.blas

    check_memory_for_blas()
    return scipy.linalg.blas
