"""Rows of many classes are learned in parts, with the result of learning them together."""

from copy import copy

import numpy as np
import pytest

from scwlearn import StreamClassifier
from scwlearn._util.memory import check_memory
from scwlearn.data.rows import as_rows
from scwlearn.learning import lesson
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.config import LearnerConfig

pytestmark = pytest.mark.native

ROWS, WIDTH = 120, 6
NUMBERS = np.random.default_rng(0)
X, Y = NUMBERS.normal(size=(ROWS, WIDTH)), np.sort(NUMBERS.integers(0, 40, ROWS))
DICTS = [{f"feature {i}": value for i, value in enumerate(row)} for row in X.tolist()]


def learned(order=None, weights=None):
    classifier = Classifier(LearnerConfig.create("scw1", {"covariance": "diagonal"}))
    classifier.learn(as_rows(X), Y, order=order, weights=weights)
    return classifier


def assert_same(one, other):
    assert one.classes.values == other.classes.values
    assert one.counts == other.counts
    np.testing.assert_array_equal(one.weights(), other.weights())
    np.testing.assert_array_equal(one.variances(), other.variances())
    np.testing.assert_array_equal(one.calibration.state, other.calibration.state)


@pytest.mark.parametrize("most_scores", [1, 250, 2000])
@pytest.mark.parametrize("weights", [None, np.arange(ROWS) % 3.0])
def test_rows_of_many_classes_are_learned_in_parts_as_together(monkeypatch, most_scores, weights):
    whole = learned(weights=weights)
    monkeypatch.setattr(lesson, "_MOST_SCORES", most_scores)
    assert_same(learned(weights=weights), whole)


@pytest.mark.parametrize("most_scores", [250, 2**25])
def test_an_order_may_repeat_rows(monkeypatch, most_scores):
    order = np.append(np.arange(ROWS // 2), np.arange(ROWS // 2))
    expected = Classifier(LearnerConfig.create("scw1", {"covariance": "diagonal"}))
    expected.learn(as_rows(X[order]), Y[order])
    monkeypatch.setattr(lesson, "_MOST_SCORES", most_scores)
    assert_same(learned(order=order), expected)


@pytest.mark.parametrize("most_scores", [1, 250])
def test_dicts_of_many_classes_are_learned_in_parts_as_together(monkeypatch, most_scores):
    whole, parted = StreamClassifier("scw1"), StreamClassifier("scw1")
    whole.learn_many(DICTS, Y)
    monkeypatch.setattr(lesson, "_MOST_SCORES", most_scores)
    parted.learn_many(DICTS, Y)
    assert_same(parted._classifier, whole._classifier)


def test_a_part_that_fails_leaves_the_model_as_it_was(monkeypatch):
    monkeypatch.setattr(lesson, "_MOST_SCORES", 250)
    classifier = learned()
    before, taught = copy(classifier), []

    def teach(self, snapshot):
        taught.append(len(self.rows))
        if len(taught) == 3:
            raise MemoryError
        original(self, snapshot)

    original = lesson.Lesson.teach
    monkeypatch.setattr(lesson.Lesson, "teach", teach)
    with pytest.raises(MemoryError):
        classifier.learn(as_rows(X), Y)
    assert_same(classifier, before)


def test_the_scores_of_a_first_batch_of_many_classes_are_not_kept_together(monkeypatch):
    monkeypatch.setattr(lesson, "_MOST_SCORES", 250)
    held = []

    def spy(size):
        held.append(size)
        check_memory(size)
        return original(size)

    original = lesson.memory_held
    monkeypatch.setattr(lesson, "memory_held", spy)
    learned()
    StreamClassifier("scw1").learn_many(DICTS, Y)
    # Apart from 40 classes, a row counts for some numbers of its own.
    assert 0 < max(held) <= 16 * 250 * 2
