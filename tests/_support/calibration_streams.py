"""Scores, variances and labels of known probabilities, for the tests of calibration."""

import numpy as np

from scwlearn.model.calibration import Calibration


def binary_stream(rows, *, seed=0, slope=1.5, offset=-0.5, scale=1.0):
    """Return scores, variances, labels 0 and 1, and P(1) with log-odds slope f/sqrt(1 + v) + offset (for scale 1)."""
    random = np.random.default_rng(seed)
    v = random.gamma(1.0, 1.0, rows)
    f = 2 * random.standard_normal(rows) * np.sqrt(1 + v)
    p = 1 / (1 + np.exp(-(slope * f / np.sqrt(1 + v) + offset)))
    return f * scale, v, (random.random(rows) < p).astype(int), p


def class_stream(rows, classes=4, *, seed=0, slope=2.0, scale=1.0):
    """Return scores, variances, class numbers, and P with logits slope F_r/sqrt(1 + v), larger for later classes."""
    random = np.random.default_rng(seed)
    v = random.gamma(1.0, 1.0, rows)
    f = random.standard_normal((rows, classes)) * np.sqrt(1 + v)[:, None]
    u = slope * f / np.sqrt(1 + v)[:, None] + np.linspace(-1, 1, classes)
    p = np.exp(u) / np.exp(u).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < random.random(rows)[:, None]).sum(axis=1)
    return f * scale, v, np.minimum(labels, classes - 1), p


def learned(scores, *columns, **settings):
    """Return a calibration that has learned from some rows."""
    calibration = Calibration(1 if np.ndim(scores) == 1 else np.shape(scores)[1], **settings)
    calibration.learn(scores, *columns)
    return calibration
