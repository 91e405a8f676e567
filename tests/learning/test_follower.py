"""A second thread that calibrates behind the learner: the same bits as one thread, and all or nothing."""

from threading import Thread

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from scwlearn import SCW1
from scwlearn.datasets import make_synthetic
from scwlearn.learning import in_blocks, lesson
from scwlearn.learning.class_axis import Recorded
from scwlearn.learning.follower import Follower

ROWS = 500


def learn_in_parts(monkeypatch, threads):
    """Let batches of a few rows be learned in parts."""
    monkeypatch.setattr(in_blocks, "ROWS_OF_A_PART", 64)
    monkeypatch.setattr(lesson, "_MANY_ROWS", 128)
    monkeypatch.setattr(lesson, "allowed_threads", lambda: threads)


@pytest.fixture(params=[1, 2])
def threads(request, monkeypatch):
    learn_in_parts(monkeypatch, request.param)


def fit(x, y, **settings):
    return SCW1(covariance="diagonal", **settings).fit(x, y)


def state_of(model):
    return model._classifier.calibration.state


@pytest.mark.parametrize(
    "settings", [{"shuffle": True}, {"scale": "standard"}, {"n_epochs": 2}, {"class_weight": {1: 2.0}}]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_two_threads_give_the_bits_of_one(settings, classes, monkeypatch):
    x, y = make_synthetic(ROWS, label_noise=0.1)
    y = np.where(x[:, 0] > 1, 2, y) if classes == 3 else y
    states = []
    for threads in 1, 2:
        learn_in_parts(monkeypatch, threads)
        states.append(state_of(fit(x, y, random_state=0, **settings)))
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_n_jobs_does_not_prevent_a_thread_that_calibrates(n_jobs, monkeypatch):
    learn_in_parts(monkeypatch, 2)
    monkeypatch.setattr(in_blocks, "WORK_FOR_THREADS", 1)
    parts, follow = [], Follower.follow
    monkeypatch.setattr(Follower, "follow", lambda self, *part: parts.append(part) or follow(self, *part))
    fit(*make_synthetic(ROWS), n_jobs=n_jobs)
    assert len(parts) > 1


@pytest.mark.usefixtures("threads")
def test_a_batch_gives_the_bits_of_single_rows():
    x, y = make_synthetic(ROWS, label_noise=0.1)
    one_by_one = SCW1(covariance="diagonal")
    for row, label in zip(x, y, strict=True):
        one_by_one.partial_fit([row], [label], classes=[-1, 1])
    np.testing.assert_array_equal(state_of(fit(x, y, shuffle=False)), state_of(one_by_one))


@pytest.mark.usefixtures("threads")
def test_rows_that_must_be_sorted_count_once():
    x, y = make_synthetic(ROWS)
    unsorted = csr_matrix(x)
    last = slice(*unsorted.indptr[-2:])
    unsorted.indices[last] = unsorted.indices[last][::-1].copy()
    unsorted.data[last] = unsorted.data[last][::-1].copy()
    unsorted.has_sorted_indices = False
    np.testing.assert_array_equal(
        state_of(fit(unsorted, y, shuffle=False)), state_of(fit(csr_matrix(x), y, shuffle=False))
    )


@pytest.mark.usefixtures("threads")
def test_an_invalid_row_leaves_the_curve_as_it_was():
    x, y = make_synthetic(ROWS)
    model = fit(x, y)
    before = state_of(model).copy()
    bad = x.copy()
    bad[-1, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        model.partial_fit(bad, y)
    np.testing.assert_array_equal(state_of(model), before)


def test_an_error_in_a_later_part_leaves_the_curve_as_it_was(monkeypatch):
    learn_in_parts(monkeypatch, 2)
    x, y = make_synthetic(ROWS)
    classifier = fit(x, y)._classifier
    before, learn, calls = classifier.calibration.state.copy(), lesson.Lesson._calibrate, []

    def fail_later(self, snapshot, scores, *rest):
        calls.append(len(scores))
        if len(calls) > 1:
            raise MemoryError
        learn(self, snapshot, scores, *rest)

    monkeypatch.setattr(lesson.Lesson, "_calibrate", fail_later)
    with pytest.raises(MemoryError):
        classifier.learn(x, y)
    np.testing.assert_array_equal(classifier.calibration.state, before)


def test_without_a_thread_the_curve_learns_after_the_batch(monkeypatch):
    x, y = make_synthetic(ROWS)
    expected = state_of(fit(x, y, random_state=0))
    learn_in_parts(monkeypatch, 2)

    def fail(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", fail)
    np.testing.assert_array_equal(state_of(fit(x, y, random_state=0)), expected)


def test_an_error_of_the_thread_is_raised_when_it_ends():
    def fail(record, part):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), Follower(fail) as follower:
        follower.follow(Recorded(np.zeros(1), np.zeros(1)), slice(0, 1))


def test_the_error_of_the_learner_comes_first():
    def fail(record, part):
        raise ValueError("no")

    def learn():
        with Follower(fail) as follower:
            follower.follow(Recorded(np.zeros(1), np.zeros(1)), slice(0, 1))
            raise KeyError

    with pytest.raises(KeyError):
        learn()
