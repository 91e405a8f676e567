"""SCW-I written from the paper in NumPy, with a full covariance and with a kernel."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray


def scw1(x: NDArray[np.float64], y: NDArray[np.int8], *, C: float, eta: float) -> tuple[int, int]:
    """Run one pass of Proposition 1 as printed; return mistakes and updates."""
    phi = NormalDist().inv_cdf(eta)
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    mu, Sigma = np.zeros(x.shape[1]), np.eye(x.shape[1])
    mistakes = updates = 0
    for row, label in zip(x, y.tolist(), strict=True):
        score = float(mu @ row)
        mistakes += (1 if score >= 0 else -1) != label
        m = label * score
        s = Sigma @ row
        v = float(row @ s)
        # An empty row carries no information.
        if v <= 0 or m >= phi * sqrt(v):
            continue
        alpha = min(C, max(0.0, (-m * psi + sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)))
        root = (-alpha * v * phi + sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
        beta = alpha * phi / (root + v * alpha * phi)
        mu += alpha * label * s
        Sigma -= beta * np.outer(s, s)
        updates += 1
    return mistakes, updates


def kernel_scw1(x: NDArray[np.float64], y: NDArray[np.int8], *, C: float, eta: float, gamma: float) -> tuple[int, int]:
    """Run one pass of the corrected Lemma 1 with the kernel exp(-gamma |x - z|^2); return mistakes and updates."""
    phi = NormalDist().inv_cdf(eta)
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    support, nu, pi = np.empty((0, x.shape[1])), np.empty(0), np.empty((0, 0))
    mistakes = updates = 0
    for row, label in zip(x, y.tolist(), strict=True):
        k = np.exp(-gamma * np.square(support - row).sum(axis=1))
        c = pi @ k
        score, v = float(nu @ k), float(k @ c) + 1.0
        mistakes += (1 if score >= 0 else -1) != label
        m = label * score
        if m >= phi * sqrt(v):
            continue
        alpha = min(C, max(0.0, (-m * psi + sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)))
        root = (-alpha * v * phi + sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
        beta = alpha * phi / (root + v * alpha * phi)
        support = np.vstack([support, row])
        nu = np.append(nu + alpha * label * c, alpha * label)
        pi = np.pad(pi - beta * np.outer(c, c), (0, 1))
        pi[-1, :-1] = pi[:-1, -1] = -beta * c
        pi[-1, -1] = -beta
        updates += 1
    return mistakes, updates
