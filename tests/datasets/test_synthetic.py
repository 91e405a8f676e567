"""Synthetic data: the Gaussian and its noisy labels."""

import numpy as np
import pytest

from scwlearn.datasets import make_synthetic


def test_synthetic_labels_follow_the_short_axis_except_for_noise():
    x, clean = make_synthetic(20000, seed=3)
    across = x[:, 1] - x[:, 0]
    assert np.array_equal(clean, np.where(across >= 0, 1, -1))
    assert (x[:, :2] @ [1, 1] / np.sqrt(2)).std() == pytest.approx(10, rel=0.05)
    assert across.std() / np.sqrt(2) == pytest.approx(1, rel=0.05)
    _, noisy = make_synthetic(20000, label_noise=0.1, seed=3)
    assert np.mean(noisy != clean) == pytest.approx(0.1, abs=0.01)
    with pytest.raises(ValueError, match="label_noise must be between 0 and 1, got 2"):
        make_synthetic(label_noise=2)
