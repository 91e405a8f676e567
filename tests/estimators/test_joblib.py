"""Estimators in the processes and threads of joblib: the same bits as without."""

from copy import copy

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone

import scwlearn
from scwlearn import SCW1
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack
from scwlearn.rules import estimator_names

X = np.random.default_rng(0).normal(size=(120, 6)) * np.arange(1, 7)
Y = np.digitize(X[:, 0] - X[:, 1], [-2, 2])


def digest(model):
    """All that a model file holds."""
    return pack(SavedModel.from_model(model))


def estimators():
    """One of each kind, of which some use threads of their own."""
    found = [getattr(scwlearn, name)() for name in estimator_names()]
    threaded = {"SCW1": {"multi_class": "ovr"}, "AutoClassifier": {}}
    found += [getattr(scwlearn, name)(n_jobs=2, **settings) for name, settings in threaded.items()]
    return [each.set_params(random_state=0) for each in found]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", pytest.param("threading", marks=pytest.mark.threads)])
def test_joblib_trains_every_estimator_bit_for_bit(backend):
    models = estimators()
    expected = [digest(clone(model).fit(X, Y).partial_fit(X, Y)) for model in models]
    with Parallel(n_jobs=3, backend=backend) as parallel:
        fitted = parallel(delayed(model.fit)(X, Y) for model in models)
        trained = parallel(delayed(model.partial_fit)(X, Y) for model in fitted)
        assert [digest(model) for model in trained] == expected
        answers = parallel(delayed(model.predict_proba)(X) for model in trained if hasattr(model, "predict_proba"))
    alone = [model.predict_proba(X) for model in trained if hasattr(model, "predict_proba")]
    assert [each.tobytes() for each in answers] == [each.tobytes() for each in alone]


@pytest.mark.slow
@pytest.mark.threads
def test_threads_of_joblib_take_turns_with_an_estimator():
    model = SCW1(random_state=0).fit(X, Y)
    with Parallel(n_jobs=3, backend="threading") as parallel:
        parallel(delayed(model.partial_fit)(X[i::8], Y[i::8]) for i in range(8))
    assert model.n_seen_ == 2 * len(X)


@pytest.mark.slow
def test_each_process_of_joblib_has_a_copy_of_an_estimator():
    model = SCW1(random_state=0).fit(X, Y)
    parts = [(X[i::2], Y[i::2]) for i in range(2)]
    learned = Parallel(n_jobs=2)(delayed(model.partial_fit)(*part) for part in parts)
    assert [digest(each) for each in learned] == [digest(copy(model).partial_fit(*part)) for part in parts]
    assert model.n_seen_ == len(X)
