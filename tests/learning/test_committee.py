"""What can go wrong while a committee learns: errors and Ctrl-C between members, other threads, several epochs."""

import threading
from copy import copy

import numpy as np
import pytest
from scipy import sparse

import scwlearn.learning.committee.learner
from scwlearn import AutoClassifier
from scwlearn._native import CommitteeByOne

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((9500, 12))


def labels(classes, late=0):
    y = RANDOM.integers(0, classes, len(X))
    if late:
        y[300:] = RANDOM.integers(0, classes + late, len(X) - 300)
    return y


def whole_state(model):
    learner = model._classifier.learner
    arrays = [a for g in learner.model.gaussians for a in (g.memory, g.scalars, g.known)]
    arrays += [learner.running_scale.state, learner.mixture.state]
    return [array.tobytes() for array in arrays], learner.counts, model.classes_.tolist()


def stop_before(monkeypatch, call, stop):
    """Let `stop` run before a call of the native loop, whose blocks are small."""
    monkeypatch.setattr(scwlearn.learning.committee.learner, "WORK_OF_A_BLOCK", 1e5)
    calls = []

    class Stopped:
        def __init__(self, *args):
            self.committee = CommitteeByOne(*args)

        def learn_rows(self, *args):
            calls.append(args)
            if len(calls) == call:
                stop()
            self.committee.learn_rows(*args)

    monkeypatch.setattr(scwlearn.learning.committee.learner, "CommitteeByOne", Stopped)
    return calls


@pytest.mark.parametrize("rows", [20, 9000])
@pytest.mark.parametrize(("classes", "late"), [(2, 0), (2, 1), (3, 0), (3, 2)])
def test_an_interruption_in_a_block_leaves_all_as_they_were_unless_it_is_the_last(
    monkeypatch, ctrl_c, rows, classes, late
):
    y = labels(classes, late)
    part = X[300 : 300 + rows], y[300 : 300 + rows]
    model = AutoClassifier(shuffle=False).fit(X[:300], y[:300])
    before = whole_state(model)
    with monkeypatch.context() as patch:
        calls = stop_before(patch, None, ctrl_c)
        expected = whole_state(copy(model).partial_fit(*part))
    assert len(calls) >= (10 if rows == 9000 else 1)
    for call in range(1, len(calls) + 1):
        interrupted = copy(model)
        with monkeypatch.context() as patch:
            stop_before(patch, call, ctrl_c)
            with pytest.raises(KeyboardInterrupt):
                interrupted.partial_fit(*part)
        assert whole_state(interrupted) == (before if call < len(calls) else expected)


def test_ctrl_c_waits_for_a_few_rows_of_a_large_model(monkeypatch, ctrl_c):
    x = sparse.random_array((60, 50_000), density=0.001, format="csr", rng=0)
    y = np.arange(60) % 2
    model = AutoClassifier(shuffle=False).fit(x, y)
    expected = AutoClassifier(shuffle=False).fit(x, y).partial_fit(x[:10], y[:10])
    stop_before(monkeypatch, 1, ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(x[:10], y[:10])
    assert whole_state(model) == whole_state(expected)


# Not marked: matrices are predicted with weights that another thread changes.
def test_others_may_predict_while_classes_are_added():
    y = RANDOM.integers(0, 3, 4000)
    model = AutoClassifier(shuffle=False, covariance="diagonal").fit(X[:300], y[:300])
    problems, stop = [], threading.Event()

    def predict():
        while not stop.is_set():
            try:
                chances = model.predict_proba(X[:50])
                assert np.isfinite(chances).all()
            except Exception as error:
                problems.append(error)

    thread = threading.Thread(target=predict)
    thread.start()
    for step in range(30):
        model.partial_fit(X[step * 100 : step * 100 + 100], np.append(y[:99], 3 + step))
    stop.set()
    thread.join()
    assert not problems
    assert len(model.classes_) == 33


def test_wide_data_is_calibrated_on_the_first_epoch_only():
    x = np.random.default_rng(1).standard_normal((60, 400))
    y = (x[:, 0] > 0).astype(int)
    once, often = (AutoClassifier(n_epochs=n, shuffle=False).fit(x, y) for n in (1, 5))
    mixtures = [model._classifier.learner.mixture for model in (once, often)]
    assert mixtures[0].rows == mixtures[1].rows == 60
    np.testing.assert_array_equal(mixtures[0].state, mixtures[1].state)
    assert often.n_seen_ == 300
