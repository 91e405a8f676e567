"""The linear estimators: what they learn and show, and how they work with scikit-learn, frames and files."""

import copy
import importlib
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import scwlearn
from helpers import state
from reference import NAMES
from scwlearn import AROW, CW, PA1, PA2, SCW1, SCW2, Learner, Perceptron
from scwlearn.data.rows import Rows
from scwlearn.learning.growing import AUTO_FULL_LIMIT
from scwlearn.rules import HOLD, Parameter, Step, all_rules, find_rule, rule

EVERY = [getattr(scwlearn, rule.estimator) for rule in all_rules()]
every_estimator = pytest.mark.parametrize("Estimator", EVERY, ids=lambda e: e.__name__)


@pytest.fixture(scope="module")
def cancer():
    x, y = load_breast_cancer(return_X_y=True)
    return scale(x), y


@every_estimator
def test_a_fitted_estimator_shows_its_model(Estimator, cancer):
    x, y = cancer
    model = Estimator().fit(x, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.coef_.shape == (1, 30)
    assert model.intercept_.shape == (1,)
    assert model.n_features_in_ == 30
    assert model.n_seen_ == 569
    assert 0 < model.n_mistakes_ < 569
    assert 0 < model.n_updates_ <= 569
    scores = x @ model.coef_[0] + model.intercept_[0]
    assert np.allclose(model.decision_function(x), scores)
    assert np.array_equal(model.predict(x), model.classes_[(scores >= 0).astype(int)])


@pytest.mark.parametrize("name", NAMES)
def test_one_pass_of_a_paper_algorithm_is_accurate(name, cancer):
    x, y = cancer
    assert getattr(scwlearn, find_rule(name).estimator)().fit(x, y).score(x, y) > 0.9


@every_estimator
def test_fit_equals_a_learner_with_a_constant_feature(Estimator, cancer):
    x, y = cancer
    model = Estimator(shuffle=False).fit(x, y)
    learner = Learner(Estimator._rule, average=model.average)
    counts = learner.learn(np.hstack([x, np.ones((len(x), 1))]), np.where(y == 1, 1, -1))
    assert (model.n_mistakes_, model.n_updates_) == (counts.mistakes, counts.updates)
    weights = np.append(model.coef_[0], model.intercept_)
    assert np.allclose(weights, learner.shown_weights(), rtol=1e-9, atol=1e-9)


@every_estimator
def test_without_an_intercept_it_is_zero(Estimator, cancer):
    x, y = cancer
    assert Estimator(fit_intercept=False).fit(x, y).intercept_.tolist() == [0.0]


@every_estimator
def test_partial_fit_in_pieces_equals_fit(Estimator, cancer):
    x, y = cancer
    pieces = Estimator()
    for part in np.array_split(np.arange(len(y)), 7):
        pieces.partial_fit(x[part], y[part], classes=[0, 1])
    np.testing.assert_allclose(pieces.coef_, Estimator(shuffle=False).fit(x, y).coef_, rtol=1e-9, atol=1e-12)


@every_estimator
def test_copies_keep_the_model_and_clones_the_parameters(Estimator, cancer):
    x, y = cancer
    model = Estimator().fit(x[:300], y[:300])
    before = model.coef_
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]
    for other in others:
        other.partial_fit(x[300:], y[300:])
        assert other.n_seen_ == 569
    assert model.n_seen_ == 300
    assert np.array_equal(model.coef_, before)
    model.partial_fit(x[300:], y[300:])
    for other in others:
        assert np.array_equal(other.coef_, model.coef_)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "coef_")


@every_estimator
def test_sparse_and_dense_rows_give_the_same_model(Estimator, cancer):
    x, y = cancer
    x = np.where(np.abs(x) > 0.7, x, 0)
    dense = Estimator(random_state=0).fit(x, y)
    for convert in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        model = Estimator(random_state=0).fit(convert(x), y)
        assert np.allclose(model.coef_, dense.coef_, rtol=1e-9, atol=1e-9)
        assert np.allclose(model.decision_function(convert(x)), dense.decision_function(x))


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["ham", "spam"], ["ham", "spam"]),
        ([True, False], [False, True]),
        ([-1.0, 1.0], [-1.0, 1.0]),
        (np.array(["a", "b"], dtype=object), ["a", "b"]),
    ],
)
def test_labels_of_any_one_type_are_returned(labels, classes):
    model = SCW1().fit([[1.0], [-1.0]] * 5, list(labels) * 5)
    assert model.classes_.tolist() == classes
    assert model.predict([[1.0], [-1.0]]).tolist() == list(labels)


def test_a_score_of_zero_predicts_the_second_class():
    model = Perceptron(fit_intercept=False).fit([[1.0, 0.0], [-1.0, 0.0]], ["b", "a"])
    assert model.predict([[0.0, 0.0]]).tolist() == ["b"]


def test_auto_is_full_up_to_the_limit():
    y = [0, 1] * 10
    random = np.random.default_rng(0)
    few = AROW().fit(random.normal(size=(20, AUTO_FULL_LIMIT)), y)
    wide = random.normal(size=(20, AUTO_FULL_LIMIT + 1))
    many = AROW().fit(wide, y)
    assert (few.covariance_kind_, many.covariance_kind_) == ("full", "diagonal")
    assert CW().fit(wide, y).covariance_kind_ == "diagonal-drop"
    assert few.covariance_.shape == (AUTO_FULL_LIMIT, AUTO_FULL_LIMIT)
    assert np.allclose(np.diag(few.covariance_), few.variance_[0])
    assert many.variance_.shape == (1, AUTO_FULL_LIMIT + 1)
    with pytest.raises(AttributeError, match="needs a full covariance"):
        _ = many.covariance_


def test_margin_variance_falls_with_training(cancer):
    x, y = cancer
    for covariance in ("full", "diagonal", "diagonal-drop"):
        model = SCW1(covariance=covariance).fit(x, y)
        early = SCW1(covariance=covariance).fit(x[:20], y[:20])
        assert model.margin_variance(x).mean() < 0.8 * early.margin_variance(x).mean()
        assert np.allclose(model.margin_variance(sparse.csr_array(x)), model.margin_variance(x))


def test_first_order_estimators_have_no_covariance():
    assert "covariance" not in PA1().get_params()
    assert not hasattr(PA1().fit([[1.0], [2.0]], [0, 1]), "variance_")


def test_shuffling_depends_on_the_seed_alone(cancer):
    x, y = cancer
    first, again, other = (SCW1(n_epochs=2, random_state=s).fit(x, y).coef_ for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    np.random.seed(1)
    assert np.array_equal(SCW1(n_epochs=2).fit(x, y).coef_, first)
    assert not np.array_equal(SCW1(n_epochs=2).fit(x, y).coef_, first)
    assert np.array_equal(SCW1(shuffle=False).fit(x, y).coef_, SCW1().partial_fit(x, y).coef_)


def test_sorted_labels_do_no_harm():
    x, y = load_iris(return_X_y=True)
    for seed in range(5):
        model = SCW1(random_state=seed)
        assert cross_val_score(model, x, y, cv=5).mean() > 0.9
        assert model.fit(x, y).score(x, y) > 0.9
    assert SCW1(shuffle=False).fit(x, y).score(x, y) < 0.7


def test_epochs_equal_repeated_passes(cancer):
    x, y = cancer
    model = AROW(n_epochs=3, shuffle=False).fit(x, y)
    thrice = AROW(shuffle=False).fit(x, y).partial_fit(x, y).partial_fit(x, y)
    assert model.n_seen_ == 3 * len(y)
    assert np.array_equal(model.coef_, thrice.coef_)


def test_a_parameter_may_change_between_calls_but_not_the_covariance(cancer):
    x, y = cancer
    model = SCW1(covariance="diagonal").fit(x[:300], y[:300])
    softer = copy.deepcopy(model).set_params(C=0.01).partial_fit(x[300:], y[300:])
    assert not np.array_equal(softer.coef_, model.partial_fit(x[300:], y[300:]).coef_)
    before = state(model)
    model.set_params(covariance="full")
    with pytest.raises(ValueError, match="covariance cannot change from 'diagonal' to 'full'"):
        model.partial_fit(x, y)
    assert state(model.set_params(covariance="diagonal")) == before


@pytest.mark.slow
def test_grid_search_and_pipelines_work(cancer):
    x, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SCW2())
    search = GridSearchCV(pipeline, {"scw2__C": [0.1, 1.0], "scw2__eta": [0.6, 0.9]}, cv=3).fit(x, y)
    assert search.best_score_ > 0.95


def test_a_search_in_several_processes_works(cancer):
    x, y = cancer
    search = GridSearchCV(SCW1(), {"C": [0.1, 1.0]}, cv=2, n_jobs=2).fit(x, y)
    assert search.best_score_ > 0.9


def test_a_memory_mapped_model_can_learn_on(cancer, tmp_path):
    x, y = cancer
    model = SCW1(covariance="full").fit(x[:300], y[:300])
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r").partial_fit(x[300:], y[300:])
    assert np.array_equal(mapped.coef_, model.partial_fit(x[300:], y[300:]).coef_)


@pytest.mark.parametrize(("Estimator", "loss"), [(PA1, "hinge"), (PA2, "squared_hinge")])
def test_pa_equals_that_of_scikit_learn(Estimator, loss, cancer):
    linear_model = pytest.importorskip("sklearn.linear_model")
    Theirs = getattr(linear_model, "PassiveAggressiveClassifier", None)
    if Theirs is None:
        pytest.skip("this scikit-learn has it no more")
    x, y = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Theirs(C=0.5, loss=loss, max_iter=1, shuffle=False, fit_intercept=False, tol=None).fit(x, y)
    ours = Estimator(C=0.5, fit_intercept=False, average=False, shuffle=False).fit(x, y)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=1e-12, atol=1e-12)


def test_booleans_are_labels_of_classes_0_and_1(cancer):
    x, y = cancer
    model = SCW1().partial_fit(x, y.astype(bool), classes=[0, 1]).partial_fit(x, pd.Series(y == 1, dtype="boolean"))
    assert model.classes_.tolist() == [0, 1]
    assert model.partial_fit(x, y, classes=[0.0, 1.0]).classes_.dtype.kind == "i"


def test_text_in_a_pipeline_stays_sparse():
    texts = ["cheap pills now", "meeting at noon", "pills cheap cheap", "lunch at noon today"] * 500
    # As dense rows these would take 17 GB.
    model = make_pipeline(HashingVectorizer(n_features=2**20), SCW1()).fit(texts, ["spam", "ham"] * 1000)
    assert model.predict(["cheap cheap pills", "noon meeting"]).tolist() == ["spam", "ham"]
    assert model[-1].margin_variance(model[:-1].transform(texts)).shape == (2000,)


@pytest.mark.parametrize("Frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_column_names(Frame, cancer):
    x, y = cancer
    names = [f"f{i}" for i in range(30)]
    frame = Frame(dict(zip(names, x.T, strict=True)))
    model = CW(random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == names
    assert np.array_equal(model.coef_, CW(random_state=0).fit(x, y).coef_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])


def test_memory_maps_are_read_in_place(cancer, tmp_path):
    x, y = cancer
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert all(np.shares_memory(block.values, mapped) for block in Rows(mapped).blocks(100))
    assert np.array_equal(SCW1(random_state=0).fit(mapped, y).coef_, SCW1(random_state=0).fit(x, y).coef_)


@pytest.mark.usefixtures("registry")
def test_a_user_defined_rule_becomes_an_estimator(cancer):
    @rule(
        title="Part PA",
        estimator="PartPA",
        order=1,
        parameters=(Parameter("share", 0.5, "How much of the PA step to take.", high=2.0),),
        large_margin=True,
        non_separable=True,
        cite="Made for this test 2026",
    )
    def part_pa(m, v, share):
        return HOLD if m >= 1 else Step(alpha=share * (1 - m) / v)

    x, y = cancer
    model = scwlearn.PartPA(share=1.0, random_state=0).fit(x, y)
    assert np.allclose(model.coef_, scwlearn.PA(average=False, random_state=0).fit(x, y).coef_)


class Narrower(SCW1):
    """A user's subclass with fewer parameters."""

    def __init__(self, *, C=1.0):
        super().__init__(C=C, eta=0.8, shuffle=False)


def test_a_subclass_may_take_fewer_parameters(cancer):
    x, y = cancer
    model = Narrower(C=0.5).fit(x, y)
    assert np.array_equal(model.coef_, SCW1(C=0.5, eta=0.8, shuffle=False).fit(x, y).coef_)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).partial_fit(x, y).coef_, model.partial_fit(x, y).coef_)


@pytest.mark.slow
@pytest.mark.usefixtures("registry")
def test_an_estimator_of_a_users_module_can_be_unpickled_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "elsewhere.py").write_text(
        "from scwlearn.rules import HOLD, Step, rule\n"
        "@rule(title='Elsewhere', estimator='Elsewhere', order=1, large_margin=True, non_separable=True, cite='2026')\n"
        "def elsewhere(m, v):\n"
        "    return HOLD if m >= 1 else Step(alpha=0.5 * (1 - m) / v)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("elsewhere")
    model = scwlearn.Elsewhere().fit([[1.0], [-1.0]], [1, 0])
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    code = "import pickle, sys; sys.path.insert(0, '.'); print(pickle.load(open('model.pkl', 'rb')).predict([[2.0]]))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(scwlearn.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[1]"
    monkeypatch.delitem(sys.modules, "elsewhere")


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.parameters], ids=lambda rule: rule.name)
def test_every_parameter_of_a_rule_may_change_between_calls_of_partial_fit(rule):
    x, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    model = getattr(scwlearn, rule.estimator)().partial_fit(x[:5], y[:5])
    changed = {parameter.name: 0.9 * parameter.default for parameter in rule.parameters}
    model.set_params(**changed).partial_fit(x[5:], y[5:])
    assert model._classifier.learner.parameters == changed
