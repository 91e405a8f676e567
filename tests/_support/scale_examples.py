"""Rows of all scales, for the tests of the running scale."""

import numpy as np

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
