"""Theorem 1 of the paper, corrected: the losses of a run of SCW-I and their bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scwlearn.data.rows import Rows, as_rows
from scwlearn.learning.learner import Learner
from scwlearn.rules import find_rule

Array = NDArray[np.float64]

# Relative tolerance of feasibility, well above rounding errors.
_TOLERANCE = 1e-9

# Lengths of a mean that are tried, relative to the shortest that any single constraint allows.
_UNITS = 30.0 ** np.arange(7)


@dataclass(frozen=True, eq=False)
class LossBound:
    """Both sides of Theorem 1 on one run of SCW-I.

    A comparison N(mu, sigma) is feasible if, on each round that updated the model, y mu.x is at least the margin
    and x'sigma x at most the variance after the update. For every feasible comparison

        sum l = k sum alpha^2 v <= k (B + excess),   k = (1 + phi^2)/phi^2,

    and the excess is 0 unless C limits a step so much that the example stays far on the wrong side. The paper omits
    the first k and the excess; docs/paper.md has a proof, and a run that needs each.

    Attributes
    ----------
    phi, factor : float
        Confidence phi = Phi^-1(eta), and k.
    losses : array of shape (n_rows,)
        Confidence loss l of each round, computed from its margin and variance; 0 without an update.
    squares : array of shape (n_rows,)
        alpha^2 v of each round; losses = factor * squares holds for each.
    bound : float
        B = Tr(sigma)/a - log det(sigma/a) - d + mu' Sigma_{n+1}^-1 mu, with a the initial variance; infinity
        if no mean is feasible.
    excess : float
        2 sum alpha (y mu.x - m') max(0, -1 - phi m'/sqrt(u)), m' and u the margin and variance after the
        update; infinity if no mean is feasible.
    mu : array of shape (n_features,) or None
        Mean of the comparison; None if none is feasible.
    sigma : array of shape (n_features, n_features)
        Covariance of the comparison.
    mu_feasible, sigma_feasible : bool
        Whether each satisfies its condition on every round with an update.
    mistakes : int
        Number of wrong predictions; a score of 0 predicts +1.
    cap_covers_mistakes : bool
        Whether the loss can reach 1 on every mistake, C^2 (1 + phi^2) v/phi^2 >= 1. Only then is the number of
        mistakes at most the sum of the losses; no C ensures it, because v shrinks.

    Examples
    --------
    >>> from scwlearn import loss_bound
    >>> run = loss_bound([[1.0, 0.2], [-0.8, 0.5], [0.3, -0.9]], [1, -1, 1], C=10.0, eta=0.9)
    >>> run.mistakes, run.loss <= run.loss_limit
    (0, True)
    """

    phi: float
    factor: float
    losses: Array
    squares: Array
    bound: float
    excess: float
    mu: Array | None
    sigma: Array
    mu_feasible: bool
    sigma_feasible: bool
    mistakes: int
    cap_covers_mistakes: bool

    @property
    def loss(self) -> float:
        """Sum of the losses: the left side of the theorem."""
        return float(self.losses.sum())

    @property
    def loss_limit(self) -> float:
        """Upper bound on the sum of the losses if the comparison is feasible: the right side."""
        return self.factor * (self.bound + self.excess)

    @property
    def feasible(self) -> bool:
        """Whether the comparison satisfies both conditions of the theorem."""
        return self.mu_feasible and self.sigma_feasible

    @property
    def holds(self) -> bool:
        """Whether the sum of alpha^2 v is at most B: guaranteed if `feasible` and the excess is 0."""
        return float(self.squares.sum()) <= self.bound * (1 + _TOLERANCE)


def loss_bound(
    x: Any,
    y: ArrayLike,
    *,
    C: float = 1.0,
    eta: float = 0.75,
    initial_variance: float = 1.0,
    mu: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
) -> LossBound:
    """Run SCW-I with a full covariance over the rows and compute both sides of Theorem 1.

    Parameters
    ----------
    x : matrix, dense or sparse
        The rows, in the order of the rounds; there is no intercept.
    y : vector of -1 and +1
        Their labels.
    C, eta, initial_variance : float
        Parameters of SCW-I, and the variance of its prior.
    mu : vector, optional
        Mean of the comparison. By default the feasible one with the smallest bound, that is, the smallest
        mu' Sigma_{n+1}^-1 mu.
    sigma : positive definite matrix, optional
        Covariance of the comparison. By default Sigma_{n+1}, which is always feasible.

    Returns
    -------
    LossBound
        Both sides, the comparison, and whether it is feasible.

    Raises
    ------
    ValueError
        If `mu` or `sigma` has the wrong shape or a value that is not finite, or if `sigma` is not symmetric and
        positive definite.

    Examples
    --------
    >>> from scwlearn.learning.bounds import loss_bound
    >>> run = loss_bound([[1.0, 0.2], [-0.8, 0.5], [0.3, -0.9]], [1, -1, 1], C=10.0, eta=0.9)
    >>> bool(abs(run.losses - run.factor * run.squares).max() < 1e-12)
    True
    >>> run.feasible, run.loss <= run.loss_limit
    (True, True)
    """
    rows = as_rows(x)
    chosen_mu = None if mu is None else _checked("mu", mu, (rows.width,))
    chosen_sigma = None if sigma is None else _checked("sigma", sigma, (rows.width, rows.width))
    learner = Learner("scw1", covariance="full", initial_variance=initial_variance, C=C, eta=eta)
    phi = find_rule("scw1").constants(learner.parameters)["phi"]
    trace = learner.trace(rows, y)
    model = learner.model
    assert model is not None

    v, alpha, labels = trace.variance, trace.alpha, np.asarray(y, dtype=np.float64)
    margin = labels * trace.score
    moved = alpha > 0
    towards = labels[moved, None] * _dense(rows, moved)
    least = (margin + alpha * v)[moved]
    most = (v / (1 + trace.precision * v))[moved]
    # Sigma_{n+1} = root root' and mu = root w, so mu' Sigma_{n+1}^-1 mu = |w|^2 needs no inverse.
    root = model.root()
    spread = root if chosen_sigma is None else _square_root(chosen_sigma)
    w = _shortest(towards @ root, least) if chosen_mu is None else np.linalg.solve(root, chosen_mu)
    if chosen_mu is None and w is not None:
        chosen_mu = root @ w

    excess = np.inf
    if chosen_mu is not None:
        wrong = np.maximum(0.0, -1 - phi * least / np.sqrt(most))
        excess = 2 * float(np.sum(alpha[moved] * np.maximum(0.0, towards @ chosen_mu - least) * wrong))

    factor = (1 + phi**2) / phi**2
    with np.errstate(over="ignore"):  # an infinite cap is no cap
        cap = np.square(C * np.sqrt(factor * v))
    mistaken = (trace.score >= 0) != (labels > 0)
    return LossBound(
        phi=phi,
        factor=factor,
        losses=np.where(moved, np.minimum(_uncapped_loss(margin, v, phi), cap), 0.0),
        squares=np.square(alpha * np.sqrt(v)),
        bound=np.inf if w is None else _divergence(spread, initial_variance) + float(w @ w),
        excess=excess,
        mu=chosen_mu,
        sigma=model.matrix() if chosen_sigma is None else chosen_sigma,
        mu_feasible=chosen_mu is not None and _satisfies(towards, least, chosen_mu),
        sigma_feasible=bool(np.all(np.square(towards @ spread).sum(axis=1) <= most * (1 + _TOLERANCE))),
        mistakes=int(mistaken.sum()),
        cap_covers_mistakes=bool(np.all(cap[mistaken] >= 1)),
    )


def _checked(name: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = np.asarray(given, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape} for {shape[0]} features, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array


def _square_root(sigma: Array) -> Array:
    if not np.allclose(sigma, sigma.T, rtol=1e-12, atol=0.0):
        raise ValueError("sigma must be symmetric")
    try:
        root: Array = np.linalg.cholesky(sigma).astype(np.float64)
    except np.linalg.LinAlgError:
        raise ValueError("sigma must be positive definite") from None
    return root


def _dense(rows: Rows, chosen: NDArray[np.bool_]) -> Array:
    """Return the chosen rows as a dense matrix."""
    parts = [block.matrix()[chosen] for block in rows.blocks(max(1, len(rows)))] or [np.empty((0, rows.width))]
    return np.asarray(parts[0].toarray() if hasattr(parts[0], "toarray") else parts[0], dtype=np.float64)


def _uncapped_loss(margin: Array, v: Array, phi: float) -> Array:
    """Compute f_phi(z) for z = m/sqrt(v), avoiding cancellation for z > 0."""
    zeta, psi = 1 + phi**2, 1 + phi**2 / 2
    # As in the rule: beyond 1e150 the square of z would overflow, but the cap applies long before.
    z = np.clip(margin / np.sqrt(np.where(v > 0, v, 1.0)), -1e150, phi)
    root = np.hypot(z * phi**2 / 2, phi * np.sqrt(zeta))
    larger = np.where(z > 0, zeta * (phi - z) * (phi + z) / (np.abs(z) * psi + root), root - z * psi)
    loss: Array = larger**2 / (phi**2 * zeta)
    return loss


def _divergence(spread: Array, a: float) -> float:
    """Return Tr(S)/a - log det(S/a) - d for S = spread spread', twice the KL divergence of N(0, S) from the prior."""
    scaled = spread / np.sqrt(a)
    return float(np.square(scaled).sum() - 2 * np.linalg.slogdet(scaled).logabsdet - len(scaled))


def _satisfies(sides: Array, least: Array, w: Array) -> bool:
    """Whether sides @ w >= least, up to rounding."""
    size = np.linalg.norm(sides, axis=1) * np.linalg.norm(w) + np.abs(least)
    return bool(np.all(sides @ w >= least - _TOLERANCE * size))


def _shortest(sides: Array, least: Array) -> Array | None:
    """Return the shortest w with sides @ w >= least, or None: least distance programming by NNLS.

    Lawson and Hanson 1974, Solving least squares problems, chapter 23. NNLS seeks u >= 0 with sides'u = 0 and
    least.u = 1, which exists if and only if no w does; otherwise its residual is (-w, 1)/(1 + |w|^2). Scaling w by
    units near its length keeps the residual away from 0.
    """
    from scipy.optimize import nnls

    norms = np.linalg.norm(sides, axis=1)
    norms[norms == 0] = 1.0
    sides, least = sides / norms[:, None], least / norms
    target = np.append(np.zeros(sides.shape[1]), 1.0)
    if not np.any(least > 0):
        return target[:-1]
    for unit in float(least.max()) * _UNITS:
        columns = np.vstack([sides.T, least / unit])
        over = target - columns @ nnls(columns, target)[0]
        w: Array = -unit * over[:-1] / max(over[-1], 1e-4)
        if over[-1] > 1e-4 and _satisfies(sides, least, w):
            return w
    return None
