"""The sets that come with scikit-learn, which is imported when one of them is loaded and not before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Problem = tuple[NDArray[np.float64], NDArray[np.int8]]


def breast_cancer() -> Problem:
    """Benign (+1) against malignant tumours, standardised."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return _standardised(x), np.where(y == 1, 1, -1).astype(np.int8)


def digits_even_or_odd() -> Problem:
    """Even (+1) against odd digits of 8 x 8 pixels, standardised."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return _standardised(x), np.where(y % 2 == 0, 1, -1).astype(np.int8)


def _standardised(x: Any) -> NDArray[np.float64]:
    from sklearn.preprocessing import scale

    scaled: NDArray[np.float64] = np.ascontiguousarray(scale(x))
    return scaled
