"""Examples for learners on two classes or more, and ways to compare what learners know."""

import numpy as np
import pytest
from scipy import sparse

from scwlearn.rules import HOLD, Parameter, Step, rule

#: How more than two classes are trained.
FORMS = {"joint": {}, "shared": {"shared_covariance": True}, "ovr": {"multi_class": "ovr"}}
#: The settings of a binary learner, and of a multi-class learner in every form.
CLASS_AXES = {"binary": {}} | {form: {"n_classes": 0, **settings} for form, settings in FORMS.items()}
ROW_FORMATS = (np.asarray, sparse.csr_array)

every_form = pytest.mark.parametrize("form", FORMS)


def draw_examples(seed, rows, features, density, noise=0.2):
    """Draw rows with zeros among them and labels -1 and +1 that follow a hidden vector, with noise.

    Values are continuous, so that no comparison in a rule is a tie that rounding could decide either way.
    """
    rng = np.random.default_rng(seed)
    x = _draw_rows(rng, rows, features, density)
    y = np.where(x @ rng.normal(size=features) + 0.1 * rng.normal(size=rows) >= 0, 1, -1)
    y[rng.random(rows) < noise] *= -1
    return x, y


def draw_class_examples(seed, rows, features, density, classes):
    """Draw rows with zeros among them and class numbers in order of appearance."""
    rng = np.random.default_rng(seed)
    x = _draw_rows(rng, rows, features, density)
    scores = x @ rng.normal(size=(features, classes)) + 0.3 * rng.normal(size=(rows, classes))
    return x, in_order_of_appearance(scores.argmax(axis=1))


def _draw_rows(rng, rows, features, density):
    x = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < density)
    x[np.arange(rows), rng.integers(0, features, rows)] += rng.uniform(0.5, 1.5, rows)
    return x


def in_order_of_appearance(labels):
    """Number labels in the order in which they first appear."""
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]


def taught(learner, *batches):
    """Return the learner after it has learned from the batches."""
    for x, y in batches:
        learner.learn(x, y)
    return learner


def state(learner):
    """Return the model and the counts, bit for bit; room for further classes does not count."""
    model = learner.model
    if model is None:
        return learner.n_classes, learner.counts
    sets = None if model.joint else model.classes
    arrays = [model.scalars[:sets]]
    if model.average is not None:
        arrays += [model.average.lag[:, : model.classes], model.average.state[:sets]]
    arrays += [model.memory] if model.is_binary else [model.weights(), model.variances()]
    return *(array.tobytes() for array in arrays), learner.counts


def everything(learner):
    """Return the state and the names of the features."""
    if learner.vocabulary is None:
        return state(learner), None
    most, hashed, key_type, names, slots = learner.vocabulary.__getstate__()
    return state(learner), (most, hashed, key_type, list(names.items()), slots)


def sigma(learner, number=0):
    """Return Sigma of a class as a matrix."""
    model = learner.model
    return model.matrix(number) if model.covariance.correlated else np.diag(model.variances()[number])


def assert_alike(one, other, features=slice(None)):
    """Assert that models are equal up to rounding, with the features of the other in the given order."""
    assert (one.counts.seen, one.counts.mistakes) == (other.counts.seen, other.counts.mistakes)
    pairs = [(one.model.weights(), other.model.weights()[:, features])]
    pairs += [(one.shown_weights(), other.shown_weights()[:, features])]
    pairs += [(sigma(one, c), sigma(other, c)[features][:, features]) for c in range(other.model.classes)]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * max(1.0, np.abs(b).max()))


def assert_same(one, other):
    """Assert that models are equal to the last bit, or up to rounding where blocks of rows are multiplied together."""
    if one.model.covariance.correlated:
        assert_alike(one, other)
    else:
        assert state(one) == state(other)


def declare_arow():
    """Declare AROW again, outside of the package, as "mine"."""

    @rule(
        title="mine",
        estimator="Mine",
        order=2,
        parameters=(Parameter("r", 1.0, ""),),
        large_margin=True,
        non_separable=True,
        cite="2026",
    )
    def mine(m, v, r):
        return HOLD if m >= 1 else Step(alpha=(1 - m) / (v + r), precision=1 / r)
