"""Examples of several classes, some of which appear late."""

import functools

import numpy as np
import pytest

from learner_examples import FORMS, in_order_of_appearance
from reference import NAMES


def memory(learner):
    """Return the bytes of the model, room for more classes included."""
    gaussians = learner.model
    return gaussians.memory.tobytes(), gaussians.scalars.tobytes(), gaussians.classes, learner.counts


ROWS, FEATURES, CLASSES = 240, 13, 6

COVARIANCES = ("identity", "diagonal", "diagonal-drop")

every_rule = pytest.mark.parametrize("name", NAMES)

every_covariance = pytest.mark.parametrize("covariance", COVARIANCES)


@functools.cache
def examples(classes=CLASSES, empty_rows=True):
    """Return noisy rows of several classes, half of the values zero; classes appear one by one, some of them late."""
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(ROWS, FEATURES)) * rng.uniform(0.3, 2, FEATURES) * (rng.random((ROWS, FEATURES)) < 0.5)
    if empty_rows:
        x[rng.integers(0, ROWS, 5)] = 0
    x = x.astype(np.float32)
    late = np.repeat([0.0, -1e9], [classes - 2, 2]) if classes > 4 else 0.0
    scores = x @ rng.normal(size=(FEATURES, classes)) + rng.normal(size=(ROWS, classes))
    scores[: ROWS // 2] += late
    return x, in_order_of_appearance(scores.argmax(axis=1))


def reference_settings(form):
    """Return the settings of a form as the reference names them."""
    return {"shared" if k == "shared_covariance" else k: v for k, v in FORMS[form].items()}


def assert_close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * max(1.0, np.linalg.norm(expected)))
