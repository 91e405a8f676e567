"""Estimators with labels of any kind in any number of classes, linear and with a kernel."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import get_tags

import scwlearn
from class_examples import LINEAR, blobs, same_model
from learner_examples import draw_examples
from scwlearn import AROW, PA1, SCW1, KernelPA1, KernelPerceptron, KernelSCW1, Perceptron
from scwlearn.rules import all_rules, find_rule

SCHEMES = [*(("joint", rule) for rule in all_rules()), ("ovr", find_rule("scw1")), ("ovr", find_rule("pa1"))]
every_scheme = pytest.mark.parametrize(
    ("multi_class", "rule"), SCHEMES, ids=lambda value: getattr(value, "name", value)
)
KINDS_OF_KERNEL = [
    (KernelSCW1, {}),
    (KernelSCW1, {"budget": 40}),
    (KernelSCW1, {"multi_class": "ovr"}),
    (KernelPA1, {}),
]


# Learning


@every_scheme
def test_linear_estimators_learn_ten_digits(rule, multi_class, digits):
    x, y = digits
    model = getattr(scwlearn, rule.estimator)(multi_class=multi_class, n_epochs=2, random_state=1).fit(
        x[:1200], y[:1200]
    )
    assert model.classes_.tolist() == list(range(10))
    assert model.coef_.shape == (10, 64)
    assert model.intercept_.shape == (10,)
    scores = model.decision_function(x[1200:])
    assert scores.shape == (597, 10)
    np.testing.assert_allclose(scores, x[1200:] @ model.coef_.T + model.intercept_, atol=1e-9 * np.abs(scores).max())
    assert np.array_equal(model.predict(x[1200:]), model.classes_[scores.argmax(axis=1)])
    assert model.score(x[1200:], y[1200:]) > 0.8
    assert model.n_seen_ == 2400


@every_scheme
def test_kernel_estimators_learn_ten_digits(rule, multi_class, digits):
    x, y = digits
    model = getattr(scwlearn, rule.kernel_estimator)(gamma=0.1, multi_class=multi_class, n_epochs=2).fit(
        x[:150], y[:150]
    )
    assert model.classes_.tolist() == list(range(10))
    assert model.dual_coef_.shape == (10, model.n_support_)
    assert model.support_vectors_.shape == (model.n_support_, 64)
    scores = model.decision_function(x[150:250])
    expected = (rbf_kernel(x[150:250], model.support_vectors_, gamma=0.1) + 1) @ model.dual_coef_.T
    np.testing.assert_allclose(scores, expected, atol=1e-8 * np.abs(scores).max())
    assert np.array_equal(model.predict(x[150:250]), scores.argmax(axis=1))
    assert model.score(x[150:250], y[150:250]) > 0.7
    probabilities = model.predict_proba(x[150:250])
    assert probabilities.shape == (100, 10)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(probabilities.argmax(axis=1), model.predict(x[150:250]))
    assert get_tags(model).classifier_tags.multi_class


def test_second_order_models_have_variances_per_class(digits):
    x, y = digits
    for covariance in ("full", "diagonal"):
        model = SCW1(covariance=covariance).fit(x, y)
        assert model.covariance_kind_ == covariance
        assert model.variance_.shape == (10, 64)
        assert ((model.variance_ > 0) & (model.variance_ <= 1)).all()
        variances = model.margin_variance(x[:20])
        assert variances.shape == (20, 10)
        # The intercept is a feature that is always 1; it is independent of the others only in a diagonal Sigma.
        if covariance == "diagonal":
            assert (variances > x[:20] ** 2 @ model.variance_.T).all()
        else:
            assert model.covariance_.shape == (10, 64, 64)
            np.testing.assert_allclose(np.einsum("kii->ki", model.covariance_), model.variance_)
    with pytest.raises(AttributeError, match="needs a full covariance"):
        _ = model.covariance_


def test_classes_may_share_one_covariance(digits):
    x, y = digits
    model = AROW(shared_covariance=True, covariance="diagonal").fit(x, y)
    assert (model.variance_ == model.variance_[0]).all()
    assert model.score(x, y) > 0.9


# New classes


@pytest.mark.parametrize("name", LINEAR)
def test_a_batch_with_new_classes_equals_its_rows_one_by_one(name):
    x, y = blobs(rows=80)
    batch, rows = (getattr(scwlearn, name)(**_diagonal(name)) for _ in range(2))
    batch.partial_fit(x, y)
    for i in range(len(y)):
        rows.partial_fit(x[i : i + 1], y[i : i + 1])
    same_model(batch, rows)


def _diagonal(name):
    # A full covariance processes rows in blocks, which rounds differently.
    (rule,) = (rule for rule in all_rules() if rule.estimator == name)
    return {"covariance": rule.diagonal} if rule.order == 2 else {}


@pytest.mark.parametrize("kind", KINDS_OF_KERNEL)
def test_a_kernel_batch_with_new_classes_equals_its_rows_one_by_one(kind):
    x, y = blobs(rows=60)
    new, how = kind
    batch, rows, pieces = (new(gamma=0.1, **how) for _ in range(3))
    names = np.array(["d", "b", "e", "a", "c"])[y]
    batch.partial_fit(x, names)
    for i in range(len(y)):
        rows.partial_fit(x[i : i + 1], names[i : i + 1])
    for start in range(0, len(y), 17):
        pieces.partial_fit(x[start : start + 17], names[start : start + 17])
    for other in (rows, pieces):
        assert other.classes_.tolist() == batch.classes_.tolist() == list("abcde")
        assert other.n_updates_ == batch.n_updates_
        np.testing.assert_allclose(other.decision_function(x), batch.decision_function(x), rtol=0, atol=1e-7)
        np.testing.assert_allclose(other.predict_proba(x), batch.predict_proba(x), rtol=0, atol=1e-5)
    assert batch.score(x, names) > 0.5


def test_a_late_class_starts_from_the_prior():
    x, y = blobs(4)
    early = y != 3
    model = SCW1().partial_fit(x[early], y[early])
    assert model.classes_.tolist() == [0, 1, 2]
    before = model.coef_
    model.partial_fit(x[:1], y[:1], classes=[3], sample_weight=[0.0])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(model.coef_[:3], before)
    assert not model.coef_[3].any()
    np.testing.assert_array_equal(model.variance_[3], 1.0)
    model.partial_fit(x, y)
    assert model.score(x[~early], y[~early]) > 0.5


def test_a_third_class_keeps_the_scores_of_the_first_two():
    x, y = draw_examples(0, 100, 5, 1.0)
    for multi_class in ("joint", "ovr"):
        model = SCW1(multi_class=multi_class).partial_fit(x, y)
        scores = model.decision_function(x)
        model.partial_fit(x[:1], y[:1], classes=[7], sample_weight=[0.0])
        three = model.decision_function(x)
        assert three.shape == (100, 3)
        gap = three[:, 1] - three[:, 0]
        np.testing.assert_allclose(gap if multi_class == "joint" else gap / 2, scores, atol=1e-12)


@pytest.mark.parametrize("how", [{}, {"budget": 20}])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_a_third_class_keeps_the_kernel_scores_of_the_first_two(multi_class, how):
    x, y = draw_examples(0, 100, 5, 1.0)
    model = KernelSCW1(multi_class=multi_class, gamma=0.2, **how).partial_fit(x, np.where(y > 0, "a", "b"))
    scores, variances, predicted = model.decision_function(x), model.margin_variance(x), model.predict(x)
    assert model.dual_coef_.shape == (1, model.n_support_)
    model.partial_fit(x[:1], ["a"], classes=["0"], sample_weight=[0.0])
    three = model.decision_function(x)
    assert three.shape == (100, 3)
    assert model.dual_coef_.shape == (3, model.n_support_)
    gap = three[:, 2] - three[:, 1]
    np.testing.assert_allclose(gap if multi_class == "joint" else gap / 2, scores, atol=1e-12)
    assert not three[:, 0].any()
    np.testing.assert_allclose(model.margin_variance(x)[:, 1:], np.tile(variances, (2, 1)).T, rtol=1e-9)
    sure = three.max(axis=1) > 0
    assert np.array_equal(model.predict(x)[sure], predicted[sure])


def test_the_order_of_appearance_does_not_change_binary_scores():
    x, y = draw_examples(1, 80, 5, 1.0)
    assert y[0] == -1 or y[0] == 1
    known, come = SCW1().partial_fit(x, y, classes=[-1, 1]), SCW1().partial_fit(x, y)
    swapped = SCW1().partial_fit(x, -y)
    np.testing.assert_allclose(come.decision_function(x), known.decision_function(x), atol=1e-12)
    np.testing.assert_allclose(swapped.coef_, -known.coef_, atol=1e-12)
    assert come.classes_.tolist() == [-1, 1]


def test_a_single_class_is_predicted():
    x = np.random.default_rng(0).normal(size=(20, 3))
    model = SCW1().partial_fit(x, ["b"] * 20)
    assert model.classes_.tolist() == ["b"]
    assert set(model.predict(x)) == {"b"}
    assert model.partial_fit(x, ["a"] * 20).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "labels",
    [
        ["ham", "spam", "news"],
        [3, 1, 2],
        [2.0, 1.0, -1.0],
        [np.str_("x"), np.str_("yy"), np.str_("zzz")],
        [np.int8(3), np.int8(-3), np.int8(0)],
    ],
)
def test_labels_of_any_kind_are_returned(labels):
    x, y = blobs(3, rows=60)
    named = np.array(labels)[y]
    model = AROW().partial_fit(x, named)
    assert model.classes_.tolist() == sorted(np.array(labels).tolist())
    assert model.predict(x).dtype == named.dtype
    assert (model.predict(x) == named).mean() > 0.6
    one_by_one = AROW()
    for row, label in zip(x, named, strict=True):
        one_by_one.partial_fit([row], [label])
    assert one_by_one.classes_.tolist() == model.classes_.tolist()


def test_labels_of_another_kind_are_rejected():
    x, y = blobs(3)
    model = AROW().partial_fit(x, y)
    before = pickle.dumps(model)
    with pytest.raises(TypeError, match=r"y has labels of type str, but the classes are \[0, 1, 2\]"):
        model.partial_fit(x, y.astype(str))
    with pytest.raises(TypeError, match="mixed types"):
        model.partial_fit(x[:2], [1, "a"])
    with pytest.raises(ValueError, match="classes is empty"):
        model.partial_fit(x, y, classes=[])
    assert pickle.dumps(model) == before


def test_a_rejected_batch_adds_no_class():
    x, y = blobs(3)
    model = AROW(covariance="diagonal").partial_fit(x, y)
    before = model.coef_.copy()
    bad = x.copy()
    bad[-1, 0] = np.nan
    for classes in (None, [8]):
        with pytest.raises(ValueError, match=r"X\[199, 0\] = nan"):
            model.partial_fit(bad, y + 5, classes=classes)
        assert model.classes_.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("known", [2, 3])
def test_declared_classes_are_forgotten_if_the_rows_are_rejected(known):
    x, y = blobs(known)
    model = KernelSCW1(gamma=0.1, max_support=150).partial_fit(x[:50], y[:50])
    before, classes = model.predict_proba(x), model.classes_.tolist()
    with pytest.raises(ValueError, match="max_support"):
        model.partial_fit(np.random.default_rng(0).normal(size=(400, 6)), np.arange(400) % 7, classes=[8, 9])
    assert model.classes_.tolist() == classes == list(range(known))
    np.testing.assert_array_equal(model.predict_proba(x), before)
    model.partial_fit(x[50:60], y[50:60], classes=[9])
    assert model.classes_.tolist() == [*classes, 9]
    assert model.predict_proba(x).shape == (200, known + 1)


def test_copies_of_kernel_models_are_independent():
    x, y = blobs(4)
    model = KernelSCW1(gamma=0.1).partial_fit(x[:100], y[:100])
    before = model.decision_function(x)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.partial_fit(x[100:], y[100:] + 10)
        assert len(other.classes_) == 8
    np.testing.assert_array_equal(model.decision_function(x), before)
    assert model.classes_.tolist() == [0, 1, 2, 3]


def test_copies_of_linear_models_are_independent():
    x, y = blobs(4)
    model = SCW1().partial_fit(x[:100], y[:100])
    frozen = model.coef_.copy()
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.partial_fit(x[100:], y[100:] + 10)
        assert len(other.classes_) == 8
    np.testing.assert_array_equal(model.coef_, frozen)
    assert model.classes_.tolist() == [0, 1, 2, 3]


def test_sparse_rows_equal_dense_rows(digits):
    x, y = digits
    for estimator in (SCW1(covariance="diagonal"), PA1(), Perceptron(rivals="uniform")):
        estimator.set_params(random_state=0)
        dense = copy.copy(estimator).fit(x, y)
        in_csr = copy.copy(estimator).fit(sparse.csr_array(x), y)
        np.testing.assert_array_equal(dense.predict(x), in_csr.predict(sparse.csr_array(x)))


@pytest.mark.parametrize("rivals", ["max", "uniform", "proportional"])
def test_a_perceptron_may_have_several_rivals(rivals, digits):
    x, y = digits
    assert Perceptron(rivals=rivals).fit(x, y).score(x, y) > 0.85
    with pytest.raises(ValueError, match="rivals"):
        Perceptron(rivals="none").fit(x, y)
    assert KernelPerceptron(rivals=rivals, gamma=0.1, n_epochs=2).fit(x[:500], y[:500]).score(x[:500], y[:500]) > 0.85


def test_multi_class_settings_are_checked_in_the_binary_case():
    x, y = draw_examples(0, 10, 3, 1.0)
    with pytest.raises(ValueError, match="multi_class must be"):
        SCW1(multi_class="all").fit(x, y)
    with pytest.raises(ValueError, match="shared_covariance"):
        SCW1(multi_class="ovr", shared_covariance=True).fit(x, y)
    with pytest.raises(ValueError, match="multi_class must be"):
        KernelSCW1(multi_class="all").fit(x, y)
    with pytest.raises(TypeError, match="no parameter 'shared_covariance'"):
        KernelSCW1(shared_covariance=True)
    with pytest.raises(ValueError, match="multi_class cannot change"):
        KernelSCW1().fit(x, y).set_params(multi_class="ovr").partial_fit(x, y)


@pytest.mark.parametrize("estimator", [Perceptron, KernelPerceptron])
def test_rivals_cannot_change_during_training(estimator):
    x, y = np.eye(3), [0, 1, 2]
    model = estimator().fit(x, y)
    with pytest.raises(ValueError, match="rivals cannot change from 'max' to 'uniform'"):
        model.set_params(rivals="uniform").partial_fit(x, y)


# Names


def test_top_features_and_explanations_use_column_names():
    import pandas as pd

    x, y = blobs(3)
    frame = pd.DataFrame(x, columns=[f"f{i}" for i in range(6)])
    for model in (SCW1(), SCW1(covariance="diagonal"), Perceptron()):
        model.fit(frame, y)
        top = model.top_features(2)
        assert list(top) == [0, 1, 2]
        largest = np.abs(model.coef_[1]).argmax()
        assert top[1][0].name == f"f{largest}"
        assert top[1][0].weight == model.coef_[1, largest]
        parts = model.explain(x[3])
        for number, label in enumerate(model.classes_):
            adds = [part.adds for part in parts[label]]
            assert sum(adds) == pytest.approx(model.decision_function(frame[3:4])[0, number])
            assert parts[label][-1].name == "(intercept)"
            assert np.abs(adds[:-1]).tolist() == sorted(np.abs(adds[:-1]), reverse=True)
        sure = np.isnan(top[1][0].deviation)
        assert sure == isinstance(model, Perceptron)


def test_a_binary_explanation_is_that_of_the_second_class():
    x, y = draw_examples(0, 50, 4, 1.0)
    model = SCW1().partial_fit(x, np.where(y > 0, "a", "b"))
    parts = model.explain(sparse.csr_array(x[:1]))
    assert list(parts) == list(model.top_features()) == ["b"]
    assert sum(part.adds for part in parts["b"]) == pytest.approx(model.decision_function(x[:1])[0])
