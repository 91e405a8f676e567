"""Examples of several classes for a full covariance, and learners trained on them."""

import functools

import numpy as np

from learner_examples import FORMS, in_order_of_appearance
from scwlearn import Learner

ROWS, CLASSES = 180, 6


@functools.cache
def examples(width, density, classes=CLASSES):
    """Noisy rows of several classes, which come one after the other, the last two late."""
    rng = np.random.default_rng(width)
    x = rng.normal(size=(ROWS, width)) * (rng.random((ROWS, width)) < density)
    x[np.arange(ROWS), rng.integers(0, width, ROWS)] += rng.uniform(0.5, 1.5, ROWS)
    scores = x @ rng.normal(size=(width, classes)) + 0.5 * rng.normal(size=(ROWS, classes))
    scores[: ROWS // 2, -2:] -= 1e9
    return x, in_order_of_appearance(scores.argmax(axis=1))


def taught(rule, form, x, y, **how):
    """A learner that has learned, and the scores before each row."""
    if rule == "cw":  # with its default it shrinks so fast that rounding soon matters
        how = {"eta": 0.7} | how
    learner = Learner(rule, n_classes=0, covariance="full", **FORMS[form], **how)
    scores = np.empty((x.shape[0], max(y) + 1))
    learner.learn(x, y, scores_out=scores)
    return learner, scores


def sigmas(learner):
    return np.array([learner.model.matrix(c) for c in range(learner.n_classes)])


def assert_close(got, expected, within=1e-9):
    np.testing.assert_allclose(got, expected, rtol=0, atol=within * max(1.0, np.abs(expected).max()))
