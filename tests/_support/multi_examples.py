"""What the tests of several classes share: how they learn, rows of classes that come one by one, all that is known."""

import functools

import numpy as np
import pytest

from learner_examples import FORMS, in_order_of_appearance
from reference import NAMES


def memory(learner):
    """The bytes of its models, with the room for more classes."""
    gaussians = learner.model
    return gaussians.memory.tobytes(), gaussians.scalars.tobytes(), gaussians.classes, learner.counts


ROWS, FEATURES, CLASSES = 240, 13, 6

COVARIANCES = ("identity", "diagonal", "diagonal-drop")

every_rule = pytest.mark.parametrize("name", NAMES)

every_covariance = pytest.mark.parametrize("covariance", COVARIANCES)


@functools.cache
def examples(classes=CLASSES, empty_rows=True):
    """Rows of several classes, noisy, half of the values zero; classes come one after the other, some of them late."""
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(ROWS, FEATURES)) * rng.uniform(0.3, 2, FEATURES) * (rng.random((ROWS, FEATURES)) < 0.5)
    if empty_rows:
        x[rng.integers(0, ROWS, 5)] = 0
    x = x.astype(np.float32)
    late = np.repeat([0.0, -1e9], [classes - 2, 2]) if classes > 4 else 0.0
    scores = x @ rng.normal(size=(FEATURES, classes)) + rng.normal(size=(ROWS, classes))
    scores[: ROWS // 2] += late
    return x, in_order_of_appearance(scores.argmax(axis=1))


def how_of(form):
    """What the textbook calls the form."""
    return {"shared" if k == "shared_covariance" else k: v for k, v in FORMS[form].items()}


def assert_close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * max(1.0, np.linalg.norm(expected)))
