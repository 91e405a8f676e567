"""Rows of all scales, for the tests of the running scale."""

import numpy as np
from scipy import sparse

ROWS, FEATURES = 60, 21


def examples(seed=0, rows=ROWS, features=FEATURES):
    """Return rows with features of very different scale and many zeros, the last one always, and noisy labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.6)
    y = np.where(x @ rng.normal(size=features) + 0.5 * rng.normal(size=rows) >= 0, 1, -1)
    x *= 10 ** rng.uniform(-3, 3, features)
    x[:, -1] = 0
    return x.astype(np.float32).astype(np.float64), y


def state(scale):
    return None if scale.state is None else (scale.state.shape, scale.state.tobytes())


def dense(rows):
    """Return rows as a matrix."""
    parts = [block.matrix() for block in rows.blocks(7)]
    return np.vstack([part.toarray() if sparse.issparse(part) else part for part in parts])


def awkward():
    """Return rows with features that are dense, constant, almost constant, binary, late, far from 0, or rare."""
    x, _ = examples()
    rng = np.random.default_rng(5)
    x[:, 0] = 7.3
    x[:, 1] = 0.1 + 0.2 * np.r_[np.zeros(30), np.full(30, 1e-16)]
    x[:, 2] = 1e6 + rng.normal(size=ROWS)
    x[:, 3] = rng.random(ROWS) < 0.5
    x[:, 4] = np.arange(ROWS) >= 40
    x[:, 5] = np.where(np.arange(ROWS) < 5, x[:, 5], 0)
    x[:, 6] = rng.standard_cauchy(ROWS)
    return x
