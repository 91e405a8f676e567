"""The synthetic sets of the paper, by the recipe of Crammer et al. 2008."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def make_synthetic(
    n: int = 5000, *, label_noise: float = 0.0, noise_std: float = 2.0, seed: int | np.random.Generator = 0
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Rows of 20 features and their labels -1 and +1.

    The first two features are a Gaussian with standard deviations 10 and 1, turned by 45 degrees; the label
    says on which side of its long axis a point lies. The other 18 are noise. A share `label_noise` of the
    labels is flipped. Whoever cannot tell the directions apart has a hard time: the labels depend on the
    short axis alone.

    Examples
    --------
    >>> from scwlearn.datasets.synthetic import make_synthetic
    >>> X, y = make_synthetic(100, label_noise=0.1)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 20), [-1, 1])
    """
    if not 0 <= label_noise <= 1:
        raise ValueError(f"label_noise must be between 0 and 1, got {label_noise!r}")
    random = np.random.default_rng(seed)
    along, across = 10 * random.standard_normal(n), random.standard_normal(n)
    informative = np.column_stack([along - across, along + across]) / np.sqrt(2)
    x = np.hstack([informative, noise_std * random.standard_normal((n, 18))])
    y = np.where(across >= 0, 1, -1)
    flipped = random.random(n) < label_noise
    return x, np.where(flipped, -y, y).astype(np.int8)
