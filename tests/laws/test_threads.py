"""The number of threads changes no bit of any model."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import scwlearn
from learner_examples import in_order_of_appearance, state
from scwlearn import SCW1, AutoClassifier, Learner, TunedClassifier, merge
from scwlearn.data.rows import as_rows
from scwlearn.learning.tuning import tune
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import all_rules

pytestmark = [pytest.mark.native, pytest.mark.threads]

JOBS = (1, 2, 3)
FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def draw(seed, rows, features, classes):
    """Return examples whose classes appear one after the other."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, features)) * (random.random((rows, features)) < 0.5)
    scores = x @ random.standard_normal((features, classes)) + random.standard_normal((rows, classes))
    known = 2 + np.arange(rows) * classes // rows
    return x, in_order_of_appearance(np.where(np.arange(classes) <= known[:, np.newaxis], scores, -9).argmax(axis=1))


def learned(learner, x, y, weights, jobs):
    """Let a learner learn on some threads; return all that it knows and says."""
    batch = learner.new_batch(as_rows(x), y.astype(np.int32), None, weights)
    record = learner.learn_batch(batch._replace(jobs=jobs))
    return state(learner), learner.counts, record.scores.tobytes(), record.variances.tobytes()


@pytest.fixture(autouse=True)
def _work_that_is_worth_threads(monkeypatch):
    for module in ("in_blocks", "committee.learner"):
        monkeypatch.setattr(f"scwlearn.learning.{module}.WORK_FOR_THREADS", 0)


@every_form
@pytest.mark.parametrize("rule", [rule.name for rule in all_rules()])
def test_classes_against_the_rest_learn_the_same_on_any_number_of_threads(rule, form):
    for seed, covariance in enumerate(COVARIANCE_NAMES):
        x, y = draw(seed, 300, 7, 6 if covariance == "full" else 33)
        weights = None if seed % 2 else np.random.default_rng(seed).choice([0.5, 1.0, 2.0], len(y))
        for average in (False, True):
            settings = {"covariance": covariance, "multi_class": "ovr", "average": average, "intercept": True}
            one, *others = (learned(Learner(rule, n_classes=0, **settings), form(x), y, weights, j) for j in JOBS)
            assert others == [one] * len(others)


def test_every_instruction_set_learns_the_same_on_any_number_of_threads(instruction_set):
    x, y = draw(0, 400, 20, 20)
    for covariance in ("diagonal", "full"):
        settings = {"n_classes": 0, "covariance": covariance, "multi_class": "ovr"}
        one, *others = (learned(Learner("scw1", **settings), x, y, None, jobs) for jobs in JOBS)
        assert others == [one] * len(others)


def test_a_rule_of_ones_own_learns_on_one_thread():
    x, y = draw(0, 60, 5, 20)
    settings = {"n_classes": 0, "covariance": "diagonal", "multi_class": "ovr"}
    one, *others = (
        learned(Learner(lambda margin, variance: (max(0.0, 1 - margin), 0.5 / variance), **settings), x, y, None, jobs)
        for jobs in JOBS
    )
    assert others == [one] * len(others)


def committee_state(model):
    learner = model._classifier.learner
    arrays = [learner.mixture.state, learner._tally]
    arrays += [] if learner.running_scale is None else learner.running_scale.arrays
    for gaussian in learner.model.gaussians:
        arrays += [gaussian.memory, gaussian.scalars, *(gaussian.average_arrays or ())]
    return [array.tobytes() for array in arrays]


@every_form
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "settings",
    [
        {"covariance": "diagonal"},
        {"multi_class": "ovr"},
        {"members": ["pa1", {"rule": "scw1", "scale": "unit"}, {"rule": "arow", "scale": "rms"}, "scw2"]},
        {"class_weight": "balanced", "members": ["arow"]},
    ],
    ids=str,
)
def test_members_of_a_committee_learn_the_same_on_any_number_of_threads(form, classes, settings):
    x, y = draw(1, 3000, 20, classes)
    models = [AutoClassifier(n_jobs=jobs, shuffle=False, **settings).fit(form(x), y) for jobs in JOBS]
    one, *others = map(committee_state, models)
    assert others == [one] * len(others)
    for model in models:
        model.set_params(n_jobs=2 if model.n_jobs == 1 else 1).partial_fit(form(x[::-1]), y[::-1])
    one, *others = map(committee_state, models)
    assert others == [one] * len(others)


def test_members_that_share_cache_lines_learn_the_same_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("scwlearn.learning.committee.models.CACHED_FEATURES", 0)
    x, y = draw(2, 3000, 20, 2)
    models = [AutoClassifier(covariance="diagonal", n_jobs=jobs, shuffle=False).fit(x, y) for jobs in JOBS]
    for model in models:
        model.set_params(n_jobs=4 - model.n_jobs).partial_fit(x, y)
    one, *others = map(committee_state, models)
    assert others == [one] * len(others)


@pytest.mark.parametrize("classes", [2, 3])
def test_cells_of_a_grid_learn_the_same_on_any_number_of_threads(classes):
    x, y = draw(3, 300, 6, classes)
    models = [TunedClassifier(SCW1(), random_state=0, n_jobs=jobs).fit(x, y) for jobs in (*JOBS, None, -1)]
    assert len({pickle.dumps((m.results_, m.best_estimator_.coef_)) for m in models}) == 1
    assert len({str(tune("arow", x, y, n_jobs=jobs)) for jobs in (*JOBS, None, -1)}) == 1


@pytest.mark.parametrize("settings", [{}, {"multi_class": "ovr"}], ids=str)
@pytest.mark.parametrize("n_jobs", [-2, None, 2])
def test_estimators_learn_the_same_on_any_number_of_threads(n_jobs, settings):
    x, y = draw(4, 200, 6, 17)
    one, other = (SCW1(n_jobs=jobs, random_state=0, n_epochs=2, **settings).fit(x, y) for jobs in (1, n_jobs))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))
    assert one.n_mistakes_ == other.n_mistakes_


def test_the_number_of_threads_is_not_part_of_a_model(tmp_path):
    x, y = draw(5, 100, 6, 4)
    one, two = SCW1(multi_class="ovr", random_state=0).fit(x, y), SCW1(multi_class="ovr", n_jobs=2).fit(x, y)
    merge([one, two])
    two.save(tmp_path / "two")
    again = scwlearn.load(tmp_path / "two")
    assert again.n_jobs is None
    assert two.get_params() | {"n_jobs": None} == again.get_params()
    again.set_params(n_jobs=-1).partial_fit(x, y)


@pytest.mark.parametrize(("n_jobs", "error"), [(0, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError)])
def test_a_number_of_threads_that_makes_no_sense_is_refused(n_jobs, error):
    x, y = draw(6, 30, 3, 2)
    for model in (SCW1(n_jobs=n_jobs), AutoClassifier(n_jobs=n_jobs), TunedClassifier(n_jobs=n_jobs)):
        with pytest.raises(error, match="n_jobs must be"):
            model.fit(x, y)
