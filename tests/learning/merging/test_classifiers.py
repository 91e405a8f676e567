"""Merging estimators and classifiers: classes are united by label."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import scwlearn
from learner_examples import FORMS, every_form
from merge_examples import every_rule
from scwlearn import AROW, PA1, SCW1, KernelSCW1, Perceptron, TunedClassifier, merge
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.config import LearnerConfig
from scwlearn.rules import all_rules

FEATURES = 6


def examples(labels, rows=240, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, FEATURES))
    numbers = (x @ rng.normal(size=(FEATURES, len(labels))) + 0.7 * rng.normal(size=(rows, len(labels)))).argmax(axis=1)
    return x, np.asarray(labels)[numbers]


def parts_of(x, y, count):
    return [(x[k::count], y[k::count]) for k in range(count)]


def fitted(make, *batches):
    """An estimator that meets the classes in the order in which they come."""
    model = make()
    for x, y in batches:
        model.partial_fit(x, y)
    return model


def told(model, classes):
    """A model that has heard of classes, and has learned nothing by that."""
    return model.partial_fit(np.ones((1, FEATURES)), classes[:1], classes=classes, sample_weight=[0.0])


def known(model):
    """All that an estimator or a class learner knows, bit for bit."""
    learner = getattr(model, "_classifier", model)
    inner = learner.learner
    models = inner.model
    mean = () if models is None else (models.memory.tobytes(), models.scalars.tobytes())
    weights = learner.class_weights.seen.tolist()
    return learner.classes.labels.tolist(), mean, inner.counts, learner.calibration.state.tobytes(), weights


def assert_alike(one, other, x, rtol=1e-9):
    assert one.classes_.tolist() == other.classes_.tolist()
    assert (one.n_seen_, one.n_updates_) == (other.n_seen_, other.n_updates_)
    for method in ("decision_function", "margin_variance", "predict_proba"):
        a, b = getattr(one, method)(x), getattr(other, method)(x)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(), err_msg=method)


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7, 5], [False, True], [0.0, 2.0, 5.0, 9.0]])
@every_form
def test_estimators_are_merged_like_their_learners(labels, form):
    x, y = examples(labels)
    shards = [AROW(covariance="full", **FORMS[form]).fit(*part) for part in parts_of(x, y, 3)]
    merged = merge(shards)
    assert type(merged) is AROW
    assert merged.classes_.tolist() == sorted(labels)
    assert merged.n_seen_ == len(y)
    expected = merge([shard._classifier.learner for shard in shards])
    gaussians = expected.model
    np.testing.assert_array_equal(merged.coef_, gaussians.weights().reshape(-1, FEATURES + 1)[:, :FEATURES])
    assert merged.score(x, y) > 0.6
    np.testing.assert_allclose(merged.predict_proba(x).sum(axis=1), 1.0)
    merged.partial_fit(x, y)
    assert merged.n_seen_ == 2 * len(y)
    assert [shard.n_seen_ for shard in shards] == [80, 80, 80]


@pytest.mark.parametrize("name", [rule.estimator for rule in all_rules()])
@pytest.mark.parametrize("classes", [2, 3])
def test_estimators_of_every_rule_can_be_merged(name, classes):
    x, y = examples(list("abc")[:classes])
    shards = [getattr(scwlearn, name)().fit(*part) for part in parts_of(x, y, 2)]
    merged = merge(shards, weights=[1, 2])
    assert merged.score(x, y) > 0.5
    assert pickle.loads(pickle.dumps(merged)).predict(x).tolist() == merged.predict(x).tolist()


@every_rule
def test_two_classes_in_reverse_order_are_aligned(how):
    x, y = examples(["a", "b"])
    first = np.argsort(y[:120], kind="stable")
    one = fitted(lambda: AROW(class_weight="balanced"), (x[first], y[first]))
    rest = 120 + np.argsort(y[120:], kind="stable")[::-1]
    other = fitted(lambda: AROW(class_weight="balanced"), (x[rest], y[rest]))
    assert one._classifier.classes.labels.tolist() == other._classifier.classes.labels.tolist()[::-1] == ["a", "b"]
    # The same rows, learned by a model with declared classes.
    same = told(AROW(class_weight="balanced"), ["a", "b"]).partial_fit(x[rest], y[rest])
    np.testing.assert_allclose(same.decision_function(x), other.decision_function(x), rtol=1e-12)
    merged = merge([one, other], how)
    assert merged._classifier.classes.labels.tolist() == ["a", "b"]
    assert_alike(merged, merge([one, same], how), x)
    assert merged._classifier.class_weights.seen.tolist() == [(y == "a").sum(), (y == "b").sum()]
    # In reverse, only the order of the two changes.
    backwards = merge([other, one], how)
    assert backwards._classifier.classes.labels.tolist() == ["b", "a"]
    assert_alike(backwards, merged, x)


@every_rule
@every_form
def test_classes_are_united_in_order_of_appearance(how, form):
    x, y = examples(list("abcd"))
    groups = [np.isin(y, list(some)) for some in ("ca", "dbc", "da")]
    shards = [fitted(lambda: AROW(**FORMS[form]), (x[rows], y[rows])) for rows in groups]
    before = [known(shard) for shard in shards]
    merged = merge(shards, how)
    came = [label for shard in shards for label in shard._classifier.classes.labels.tolist()]
    assert merged._classifier.classes.labels.tolist() == list(dict.fromkeys(came))
    assert merged.classes_.tolist() == list("abcd")
    assert merged.n_seen_ == sum(rows.sum() for rows in groups)
    assert merged.predict_proba(x).shape == (240, 4)
    if how != "kl":
        assert merged.score(x, y) > 0.6
    assert [known(shard) for shard in shards] == before
    # In any order, up to rounding.
    for order in ((2, 0, 1), (1, 2, 0)):
        assert_alike(merge([shards[i] for i in order], how), merged, x, rtol=1e-7)


@every_form
def test_each_class_keeps_its_model_at_any_index(form):
    x, y = examples(list("abc"))
    one = fitted(lambda: AROW(covariance="diagonal", **FORMS[form]), (x, y))
    # It knows all three, and declares two more: they have no examples, but change the places of the others.
    names = told(AROW(covariance="diagonal", **FORMS[form]), ["0", "1", "a", "b", "c"])
    merged = merge([names, one])
    assert merged.classes_.tolist() == ["0", "1", "a", "b", "c"]
    np.testing.assert_array_equal(merged.coef_[2:], one.coef_)
    np.testing.assert_array_equal(merged.variance_[2:], one.variance_)
    assert not merged.coef_[:2].any()
    np.testing.assert_array_equal(merged.decision_function(x)[:, 2:], one.decision_function(x))
    merged.partial_fit(x, y)
    assert merged.score(x, y) > 0.6


@every_form
def test_two_classes_may_become_more(form):
    x, y = examples(list("abc"))
    two = y != "c"
    binary = fitted(lambda: AROW(**FORMS[form]), (x[two], y[two]))
    # As in a stream, when a third class appears.
    heard = told(copy.copy(binary), ["c"])
    third = fitted(lambda: AROW(**FORMS[form]), (x[~two], y[~two]))
    alone = merge([binary, told(AROW(**FORMS[form]), ["a", "b", "c"])])
    assert_alike(alone, heard, x, rtol=1e-12)
    merged = merge([binary, third])
    assert merged.classes_.tolist() == ["a", "b", "c"]
    assert merged.n_seen_ == len(y)
    assert merged.predict_proba(x).shape == (240, 3)


def test_models_that_know_one_class_each_make_two():
    x, y = examples(["a", "b"])
    shards = [fitted(lambda: AROW(), (x[y == label], y[y == label])) for label in "ab"]
    merged, backwards = merge(shards), merge(shards[::-1])
    assert merged.classes_.tolist() == ["a", "b"]
    assert merged.score(x, y) > 0.6
    assert_alike(backwards, merged, x)


def test_models_that_know_one_class_each_make_three():
    x, y = examples(list("abc"))
    for form in FORMS.values():
        shards = [fitted(lambda form=form: AROW(**form), (x[y == label], y[y == label])) for label in "abc"]
        merged = merge(shards)
        assert merged.classes_.tolist() == list("abc")
        assert merged.score(x, y) > 0.5
        np.testing.assert_allclose(merged.predict_proba(x).sum(axis=1), 1.0)


@pytest.mark.parametrize("labels", ["ab", "abcd"])
def test_merging_with_an_untrained_model_changes_nothing(labels):
    x, y = examples(list(labels))
    model = fitted(lambda: AROW(class_weight="balanced"), (x, y))
    idle = told(AROW(class_weight="balanced"), [y[0]])
    for models in ([model, idle], [idle, model], [model]):
        merged = merge(models)
        assert known(merged) == known(model)
        assert_alike(merged, model, x, rtol=0)
        before = known(model)
        merged.partial_fit(x, y)
        assert known(model) == before


@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_the_same_order_gives_the_same_bits(labels):
    x, y = examples(list(labels))
    shards = [fitted(lambda: SCW1(), part) for part in parts_of(x, y, 3)]
    again = pickle.loads(pickle.dumps(shards))
    assert known(merge(shards)) == known(merge(again))


@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_repeated_merges_count_the_common_past_once(labels):
    x, y = examples(list(labels), rows=900)
    together = AROW(class_weight="balanced").partial_fit(x[:100], y[:100])
    for first in range(100, 900, 100):
        rows = slice(first, first + 100)
        parts = parts_of(x[rows], y[rows], 4)
        models = [copy.copy(together).partial_fit(*part) for part in parts]
        together = merge(models, prior=together)
    assert together.n_seen_ == 900
    assert together._classifier.calibration.rows > 880
    by_class = dict(
        zip(together._classifier.classes.labels.tolist(), together._classifier.class_weights.seen, strict=True)
    )
    assert by_class == {label: (y == label).sum() for label in labels}
    single = AROW(class_weight="balanced").partial_fit(x, y)
    assert together.score(x, y) > single.score(x, y) - 0.05
    np.testing.assert_allclose(together.predict_proba(x), single.predict_proba(x), atol=0.35)


def test_merged_probabilities_are_close_to_the_single_stream():
    for labels in ("ab", "abc"):
        x, y = examples(list(labels), rows=4000)
        single = AROW().partial_fit(x, y)
        merged = merge([AROW().partial_fit(*part) for part in parts_of(x, y, 4)])
        assert np.abs(merged.predict_proba(x) - single.predict_proba(x)).mean() < 0.05


def test_classifiers_are_merged():
    x, y = examples(["yes", "no", "perhaps"])
    config = LearnerConfig.create("arow", {"covariance": "diagonal", "intercept": True, "multi_class": "ovr"})
    shards = [Classifier(config) for _ in range(2)]
    for shard, part in zip(shards, parts_of(x, y, 2), strict=True):
        shard.learn(*part)
    merged = merge(shards)
    assert merged.counts.seen == len(y)
    assert (merged.predict(x) == y).mean() > 0.6


# Errors


def refusal(models, prior=None):
    before = [known(model) for model in models if hasattr(model, "_classifier")]
    with pytest.raises((ValueError, TypeError)) as caught:
        merge(models, prior=prior)
    assert [known(model) for model in models if hasattr(model, "_classifier")] == before
    return str(caught.value)


X, Y = examples(list("abc"))
ALIKE = "; merged models may differ only in what they have learned"
DIFFERENT = {
    "a parameter": (lambda: SCW1(C=2.0).fit(X, Y), "C: 0.5 and 2.0"),
    "the form": (lambda: SCW1(multi_class="ovr").fit(X, Y), "multi_class: joint and ovr"),
    "the covariance": (lambda: SCW1(covariance="diagonal").fit(X, Y), "covariance: auto and diagonal"),
    "the intercept": (lambda: SCW1(fit_intercept=False).fit(X, Y), "fit_intercept: True and False"),
    "weights of classes": (lambda: SCW1(class_weight="balanced").fit(X, Y), "class_weight: None and balanced"),
    "the algorithm": (lambda: AROW().fit(X, Y), "kind: SCW1 and AROW"),
    "the width": (lambda: SCW1().fit(X[:, :4], Y), "n_features_in_: 6 and 4"),
    "labels": (lambda: SCW1().fit(X, Y == "a"), "kind of labels: str and number"),
    "names": (lambda: SCW1().fit(frame("pqrstu"), Y), "kind of features: without names and with names"),
    "parameters since": (lambda: SCW1(C=2.0).fit(X, Y).set_params(C=0.5), "parameters: {C5} and {C2}"),
}


def frame(names):
    return pd.DataFrame(X, columns=list(names))


@pytest.mark.parametrize("what", DIFFERENT)
def test_estimators_that_differ_are_refused_and_not_changed(what):
    make, message = DIFFERENT[what]
    for short, long in (("{C5}", "{'C': 0.5, 'eta': 0.75}"), ("{C2}", "{'C': 2.0, 'eta': 0.75}")):
        message = message.replace(short, long)
    model, other = SCW1().fit(X, Y), make()
    assert refusal([model, other]) == f"models[0] and models[1] differ in {message}{ALIKE}"
    assert refusal([model], prior=other) == f"models[0] and prior differ in {message}{ALIKE}"


def test_names_of_features_are_compared():
    one, same, other = (SCW1().fit(frame(names), Y) for names in ("pqrstu", "pqrstu", "pqrzyu"))
    assert merge([one, same]).feature_names_in_.tolist() == list("pqrstu")
    assert refusal([one, other]) == f"models[0] and models[1] differ in feature_names_in_[3]: s and z{ALIKE}"


def test_the_seeds_of_shuffles_may_differ():
    shards = [SCW1(shuffle=True, random_state=seed).fit(X[seed::2], Y[seed::2]) for seed in range(2)]
    assert merge(shards).random_state == 0


def test_rivals_of_the_perceptron_are_compared():
    one, other = Perceptron().fit(X, Y), Perceptron(rivals="uniform").fit(X, Y)
    assert "differ in rivals: max and uniform" in refusal([one, other])


def test_an_estimator_that_is_not_fitted_is_refused():
    with pytest.raises(
        NotFittedError, match=r"models\[1\] is a PA1 that is not fitted yet; only fitted ones can be merged"
    ):
        merge([PA1().fit(X, Y), PA1()])


def test_costs_that_were_set_after_fit_are_compared_and_kept(tmp_path):
    costs = {"a": {"b": 5.0}}
    one = AROW(costs=costs, random_state=0).fit(X, Y)
    other = AROW(random_state=0).fit(X, Y).set_params(costs=costs)
    scwlearn.save(other, tmp_path / "m")
    for second in (other, scwlearn.load(tmp_path / "m")):
        assert merge([one, second])._classifier.costs.given == costs
        assert merge([second, one])._classifier.costs.given == costs


def test_estimators_with_kernels_are_refused():
    two = Y != "c"
    model = KernelSCW1().fit(X[two], Y[two])
    with pytest.raises(TypeError, match="KernelSCW1, which cannot be merged; learners, estimators and streams"):
        merge([model, model])
    tuned = TunedClassifier(AROW()).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(TypeError, match="TunedClassifier, which cannot be merged; merge its best_estimator_"):
        merge([tuned, tuned])
    with pytest.raises(TypeError, match="KernelLearner, which cannot be merged"):
        merge([model._classifier])
