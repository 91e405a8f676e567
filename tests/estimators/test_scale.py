"""Estimators that scale their features."""

import pickle

import numpy as np
import pytest

import scwlearn
from scaled_examples import FEATURES, FORMATS, NUMBERS, SIGNS, WEIGHTS, X, every_format
from scwlearn.model.scales import SCALE_NAMES
from scwlearn.rules import all_rules

pytestmark = pytest.mark.native


NAMES = [rule.estimator for rule in all_rules()]


every_name = pytest.mark.parametrize("name", NAMES)
every_scale = pytest.mark.parametrize("scale", SCALE_NAMES)


def as_weights_see_them(x, scale, model):
    """Return rows with values that are not clipped, or rows divided by what makes their length 1."""
    own = model._classifier.learner.running_scale
    if scale == "standard":
        return np.clip(x, own.centres - 3 * own.scales, own.centres + 3 * own.scales)
    return x / np.linalg.norm(x / own.scales, axis=1)[:, np.newaxis] if scale == "unit" else x


@every_name
@every_scale
@pytest.mark.parametrize("classes", [2, 4])
@every_format
def test_coefficients_apply_to_features_as_given(name, classes, as_format, scale):
    x, y = as_format(X), (NUMBERS if classes > 2 else SIGNS)
    model = getattr(scwlearn, name)(scale=scale, n_epochs=2).fit(x, y)
    scores = model.decision_function(x)
    by_hand = as_weights_see_them(X, scale, model) @ model.coef_.T + model.intercept_
    tolerance = 1e-6 if as_format is FORMATS["float32"] else 1e-9
    np.testing.assert_allclose(
        scores, by_hand[:, 0] if classes == 2 else by_hand, rtol=tolerance, atol=tolerance * np.abs(scores).max()
    )
    for i in (0, 7):
        parts = model.explain(X[i])
        sums = [sum(part.adds for part in of_class) for of_class in parts.values()]
        np.testing.assert_allclose(sums, np.atleast_1d(scores[i]), rtol=1e-6, atol=1e-6 * np.abs(scores).max())


@every_name
@every_scale
@pytest.mark.parametrize("classes", [2, 4])
def test_scaled_batches_equal_the_whole(name, classes, scale):
    y = NUMBERS if classes > 2 else SIGNS
    settings = {"scale": scale} | (
        {"covariance": "diagonal"} if hasattr(getattr(scwlearn, name)(), "covariance") else {}
    )
    whole, parts = getattr(scwlearn, name)(**settings), getattr(scwlearn, name)(**settings)
    whole.partial_fit(X, y, classes=np.unique(y), sample_weight=WEIGHTS)
    for part in np.array_split(np.arange(len(y)), 7):
        parts.partial_fit(X[part], y[part], classes=np.unique(y), sample_weight=WEIGHTS[part])
    assert np.array_equal(whole.coef_, parts.coef_)
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    twin = pickle.loads(pickle.dumps(parts))
    assert np.array_equal(twin.partial_fit(X, y).coef_, whole.partial_fit(X, y).coef_)


@every_scale
def test_units_do_not_matter_when_scaled(scale):
    one = scwlearn.SCW1(scale=scale, random_state=0).fit(X, NUMBERS)
    other = scwlearn.SCW1(scale=scale, random_state=0).fit(X * 2.0 ** np.arange(-20, 40, 10), NUMBERS)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X * 2.0 ** np.arange(-20, 40, 10)))
    unscaled = scwlearn.SCW1(random_state=0).fit(X, NUMBERS)
    assert not np.array_equal(unscaled.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_variances_apply_to_features_as_given(multi_class, covariance):
    for y in (SIGNS, NUMBERS):
        model = scwlearn.AROW(scale="rms", covariance=covariance, multi_class=multi_class, fit_intercept=False).fit(
            X, y
        )
        if covariance == "full":
            matrices = np.atleast_3d(model.covariance_).reshape(-1, FEATURES, FEATURES)
            by_hand = np.einsum("ni,kij,nj->nk", X, matrices, X)
            np.testing.assert_allclose(np.diagonal(matrices, axis1=1, axis2=2), model.variance_, rtol=1e-9)
        else:
            by_hand = X**2 @ model.variance_.T
        np.testing.assert_allclose(model.margin_variance(X), by_hand[:, 0] if y is SIGNS else by_hand, rtol=1e-8)


@every_scale
def test_a_rejected_batch_leaves_the_scale_unchanged(scale):
    model = scwlearn.AROW(scale=scale).partial_fit(X[:40], NUMBERS[:40])
    before, x = pickle.dumps(model._classifier.learner.running_scale.state), X.copy()
    x[-1, -1] = np.nan
    for rows, labels in ((x, NUMBERS), (X, NUMBERS.astype(str)), (X[:, :3], NUMBERS)):
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(rows, labels)
        assert pickle.dumps(model._classifier.learner.running_scale.state) == before
    with pytest.raises(ValueError, match="scale cannot change"):
        model.set_params(scale="none").partial_fit(X, NUMBERS)
