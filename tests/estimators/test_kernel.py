"""The kernel estimators."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import scwlearn
from helpers import state
from scwlearn import KernelLearner, KernelPA1, KernelPerceptron, KernelSCW1
from scwlearn.kernels.functions import PARAMETERS
from scwlearn.rules import all_rules

EVERY = [getattr(scwlearn, rule.kernel_estimator) for rule in all_rules()]
every_estimator = pytest.mark.parametrize("Estimator", EVERY, ids=lambda e: e.__name__)


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.15, random_state=0)


@every_estimator
def test_a_fitted_estimator_shows_its_model(Estimator, moons):
    x, y = moons
    model = Estimator(gamma=2.0, random_state=1).fit(x, y)
    assert model.score(x, y) > 0.85
    assert model.n_seen_ == 300
    assert 0 < model.n_support_ <= model.n_updates_ <= 300
    assert model.support_vectors_.shape == (model.n_support_, 2)
    assert model.dual_coef_.shape == (1, model.n_support_)
    assert model.gamma_ == 2.0
    scores = (rbf_kernel(x, model.support_vectors_, gamma=2.0) + 1.0) @ model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(x), scores, rtol=0, atol=1e-8)
    assert hasattr(model, "margin_variance") == (model._rule.order == 2)


@every_estimator
def test_copies_are_equal_and_independent(Estimator, moons):
    x, y = moons
    model = Estimator(gamma=2.0).fit(x[:200], y[:200])
    before = model.decision_function(x)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.decision_function(x), before)
        other.partial_fit(x[200:], y[200:])
        assert np.array_equal(model.decision_function(x), before)
    assert not clone(model).__sklearn_is_fitted__()


def test_partial_fit_in_pieces_equals_fit(moons):
    x, y = moons
    whole = KernelSCW1(gamma=2.0, shuffle=False).fit(x, y)
    parts = KernelSCW1(gamma=2.0)
    for start in range(0, 300, 100):
        parts.partial_fit(x[start : start + 100], y[start : start + 100], classes=[0, 1])
    assert parts.n_updates_ == whole.n_updates_
    np.testing.assert_allclose(parts.decision_function(x), whole.decision_function(x), rtol=0, atol=1e-9)


class Width:
    """A kernel that is an object."""

    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, a, b):
        return rbf_kernel(a, b, gamma=self.gamma)


def weighted(a, b, weights):
    return (a * weights) @ b.T


@pytest.mark.parametrize(
    "kernel",
    [partial(rbf_kernel, gamma=2.0), Width(2.0), Width(2.0).__call__, partial(weighted, weights=np.ones(2))],
    ids=["partial", "object", "method", "partial of an array"],
)
def test_a_kernel_that_is_an_object_learns_on(moons, kernel):
    x, y = moons
    whole = KernelSCW1(kernel=kernel).partial_fit(x, y)
    start = KernelSCW1(kernel=kernel).partial_fit(x[:200], y[:200])
    for parts in (start, copy.copy(start), copy.deepcopy(start), pickle.loads(pickle.dumps(start))):
        parts.partial_fit(x[200:], y[200:])
        np.testing.assert_allclose(parts.decision_function(x), whole.decision_function(x), rtol=0, atol=1e-9)


def test_another_kernel_is_noticed_and_an_equal_partial_is_not(moons):
    x, y = moons
    model = KernelSCW1(kernel=partial(rbf_kernel, gamma=2.0)).partial_fit(x, y)
    model.set_params(kernel=partial(rbf_kernel, gamma=2.0)).partial_fit(x, y)
    for other in (partial(rbf_kernel, gamma=1.0), partial(rbf_kernel), partial(weighted, gamma=2.0), Width(2.0), "rbf"):
        with pytest.raises(ValueError, match=r"^kernel cannot change from functools.partial"):
            model.set_params(kernel=other).partial_fit(x, y)
    thing = KernelSCW1(kernel=Width(2.0)).partial_fit(x, y)
    with pytest.raises(ValueError, match=r"^kernel cannot change"):
        thing.set_params(kernel=Width(2.0)).partial_fit(x, y)


def test_gamma_resolves_as_in_svc(moons):
    x, y = moons
    assert KernelSCW1().fit(x, y).gamma_ == pytest.approx(1 / (2 * x.var()))
    assert KernelSCW1(gamma="auto").fit(x, y).gamma_ == 0.5
    thin = sparse.csr_array(np.where(np.abs(x) > 0.5, x, 0.0))
    assert KernelSCW1().fit(thin, y).gamma_ == pytest.approx(1 / (2 * thin.toarray().var()))
    with pytest.raises(AttributeError, match="no gamma"):
        _ = KernelSCW1(kernel="linear").fit(x, y).gamma_


def test_margin_variance_is_smaller_near_the_data(moons):
    x, y = moons
    model = KernelSCW1(gamma=2.0).fit(x, y)
    near, away = model.margin_variance(x), model.margin_variance(x + 20.0)
    assert near.max() < away.min()
    np.testing.assert_allclose(away, 2.0 * model.initial_variance, rtol=0.6)


def test_a_precomputed_kernel_equals_the_named_one(moons):
    x, y = moons
    kernels = rbf_kernel(x, gamma=2.0)
    model = KernelSCW1(gamma=2.0, n_epochs=2, random_state=0).fit(x[:200], y[:200])
    computed = KernelSCW1(kernel="precomputed", n_epochs=2, random_state=0).fit(kernels[:200, :200], y[:200])
    np.testing.assert_allclose(computed.decision_function(kernels[:, :200]), model.decision_function(x), atol=1e-9)
    assert np.array_equal(x[:200][computed.support_], model.support_vectors_)
    with pytest.raises(AttributeError, match="support_ has"):
        _ = computed.support_vectors_
    with pytest.raises(AttributeError, match="support_vectors_ has"):
        _ = model.support_


def test_a_rejected_call_changes_nothing(moons):
    x, y = moons
    model = KernelSCW1(gamma=2.0).fit(x, y)
    computed = KernelSCW1(kernel="precomputed").fit(rbf_kernel(x), y)
    spoiled = x.copy()
    spoiled[7, 1] = np.inf
    refused = [
        (model, lambda m: m.partial_fit(spoiled, y), "infinity"),
        (model, lambda m: m.set_params(max_support=10).fit(x, np.arange(300) % 3), "max_support"),
        (model, lambda m: m.set_params(multi_class="ovr").partial_fit(x, y), "multi_class cannot change"),
        (model, lambda m: m.set_params(budget=5).partial_fit(x, y), "budget cannot change"),
        (model, lambda m: m.set_params(gamma=-1.0).fit(x, y), "positive"),
        (model, lambda m: m.set_params(gamma="wide").fit(x, y), "'scale' or 'auto'"),
        (model, lambda m: m.set_params(kernel="poly", degree=np.nan).fit(x, y), "degree"),
        (computed, lambda m: m.partial_fit(rbf_kernel(x), y), "precomputed"),
        (computed, lambda m: m.fit(rbf_kernel(x)[:, :-1], y), "square"),
        (computed, lambda m: m.decision_function(rbf_kernel(x)[:, :-1]), "299 features"),
    ]
    for estimator, call, message in refused:
        settings, before = estimator.get_params(), state(estimator)
        with pytest.raises(ValueError, match=message):
            call(estimator)
        estimator.set_params(**settings)
        assert state(estimator) == before


def test_pipelines_searches_and_one_vs_rest_work(moons):
    x, y = moons
    search = GridSearchCV(make_pipeline(StandardScaler(), KernelSCW1()), {"kernelscw1__gamma": [0.01, 1.0, 4.0]}, cv=3)
    assert search.fit(x, y).best_params_["kernelscw1__gamma"] > 0.01
    digits, labels = load_digits(return_X_y=True)
    many = OneVsRestClassifier(KernelSCW1()).fit(digits[:400], labels[:400])
    assert many.score(digits[400:800], labels[400:800]) > 0.8
    joint = KernelSCW1().fit(digits[:400], labels[:400])
    assert joint.score(digits[400:800], labels[400:800]) > 0.8
    assert joint.n_support_ < sum(one.n_support_ for one in many.estimators_)


def test_a_binary_estimator_equals_its_learner(moons):
    x, y = moons
    learner = KernelLearner("pa1", kernel_parameters={"gamma": 2.0}, C=1.0)
    learner.learn(x, 2 * y - 1)
    model = KernelPA1(gamma=2.0, C=1.0, fit_intercept=False, shuffle=False).fit(x, y)
    assert np.array_equal(model.decision_function(x), learner.scores(x))


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_a_multi_class_estimator_equals_its_learner(moons, multi_class):
    x, y = moons[0], np.where(moons[0][:, 0] > 1, 2, moons[1])
    learner = KernelLearner("scw1", n_classes=3, multi_class=multi_class, kernel_parameters={"gamma": 2.0}, C=1.0)
    learner.learn(x, y)
    how = {"multi_class": multi_class, "C": 1.0, "fit_intercept": False, "shuffle": False}
    model = KernelSCW1(gamma=2.0, **how).fit(x, np.array(["a", "b", "c"])[y])
    assert np.array_equal(model.decision_function(x), learner.scores(x))
    assert np.array_equal(model.margin_variance(x), learner.margin_variances(x))
    assert np.array_equal(model.dual_coef_, learner.dual_coefficients())
    computed = KernelSCW1(kernel="precomputed", **how).fit(rbf_kernel(x, gamma=2.0), y)
    np.testing.assert_allclose(computed.decision_function(rbf_kernel(x, gamma=2.0)), learner.scores(x), atol=1e-8)
    assert np.array_equal(x[computed.support_], model.support_vectors_)
    assert model.score(x, np.array(["a", "b", "c"])[y]) > 0.85


def test_a_kernel_separates_what_a_plane_cannot(moons):
    x, y = moons
    assert KernelPerceptron(gamma=2.0, n_epochs=5).fit(x, y).score(x, y) > scwlearn.Perceptron(n_epochs=5).fit(
        x, y
    ).score(x, y)


@pytest.mark.parametrize("name", ["gamma", "degree", "coef0"])
@pytest.mark.parametrize("value", [10**400, -(10**400), np.inf, True, "1"])
def test_a_parameter_of_the_kernel_is_a_finite_number(name, value, moons):
    with pytest.raises(ValueError, match=f"^{name} must be a "):
        KernelSCW1(kernel="poly", **{name: value}).fit(*moons)


@pytest.mark.parametrize("kernel", PARAMETERS)
def test_every_kernel_takes_indices_of_64_bits(kernel, moons):
    narrow = sparse.csr_array(moons[0])
    wide = narrow.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    learned = [KernelSCW1(kernel=kernel, random_state=0).fit(x, moons[1]).decision_function(x) for x in (narrow, wide)]
    assert np.array_equal(*learned)
