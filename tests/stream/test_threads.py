"""Stream classifiers under concurrency: threads, Ctrl-C, and numbers whose conversion runs user code."""

import copy
import sys
import threading

import numpy as np
import pytest

from scwlearn import StreamClassifier
from scwlearn.rules import Rule, Step
from stream_examples import (
    EXAMPLES,
    TARGETS,
    X,
    full_state,
    taught,
)

pytestmark = [pytest.mark.native, pytest.mark.threads]


@pytest.fixture
def impatient():
    """Switch threads as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "settings", [{}, {"scale": "rms"}, {"scale": "standard"}, {"max_features": 50}, {"multi_class": "ovr"}], ids=str
)
def test_threads_may_predict_while_one_learns(settings):
    model, failed, done = StreamClassifier("arow", **settings), [], threading.Event()
    rows = [{"x": 1.0, "name 3": 1.0}, {}, {"x": -2.0, "unknown": "word"}] * 4

    def check(labels, probabilities):
        assert all(label in range(60) for label in labels)
        for row in probabilities:
            assert sum(row) == pytest.approx(1)
            assert min(row) > 0

    def predict():
        try:
            while not done.is_set():
                each = [model.predict_proba_one(x) for x in rows]
                check([model.predict_one(x) for x in rows], [list(probabilities.values()) for probabilities in each])
                assert all(list(probabilities) == sorted(probabilities) for probabilities in each)
                check(model.predict_many(rows), model.predict_proba_many(rows).tolist())
        except BaseException as error:
            failed.append(error)

    model.learn_one({"x": 1.0}, 0)
    readers = [threading.Thread(target=predict) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for i in range(240):
            example = {"x": (-1.0) ** i, f"name {i}": 1.0, f"name {i // 2}": 2.0}
            if i % 7:
                model.learn_one(example, i // 4)
            else:
                model.learn_many([example, {"x": 0.5}], [i // 4, 0])
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not failed
    alone = StreamClassifier("arow", **settings)
    alone.learn_one({"x": 1.0}, 0)
    for i in range(240):
        example = {"x": (-1.0) ** i, f"name {i}": 1.0, f"name {i // 2}": 2.0}
        alone.learn_many([example, {"x": 0.5}][: 1 + (i % 7 == 0)], [i // 4, 0][: 1 + (i % 7 == 0)])
    assert full_state(model) == full_state(alone)


class Acting:
    """A number that calls a function when it is converted the nth time."""

    def __init__(self, action, asked=1):
        self.action, self.asked = action, asked

    def __float__(self):
        self.asked -= 1
        if self.asked == 0:
            self.action()
        return 1.0


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("count", [0, 5, 20, 35, 60])
def test_ctrl_c_leaves_no_unknown_class_behind(count):
    model = StreamClassifier("arow", class_weight="balanced")
    model.learn_many(EXAMPLES[:count], TARGETS[:count])
    before = full_state(model)
    with pytest.raises(KeyboardInterrupt):
        # It is converted once when it is checked.
        model.learn_many([X, X, {"a": Acting(interrupt, 2)}], ["pear", "zucchini", "pear"])
    assert full_state(model) == before


@pytest.mark.parametrize("count", [20, 60])
def test_a_new_class_may_appear_while_an_example_is_read(count):
    for predict in (
        lambda model, x: model.predict_one(x),
        lambda model, x: list(model.predict_proba_one(x)),
        lambda model, x: model.predict_many([{}, x, {}]),
        lambda model, x: model.predict_proba_many([{}, x, {}]).shape,
    ):
        model = taught(count=count, covariance="diagonal")
        # Prepared, so that its memory does not move while it grows.
        model._classifier.learner.score_one(X)
        twin = copy.copy(model)
        acting = {"feature 1": Acting(lambda model=model: model.learn_one(X, "zucchini"))}
        assert predict(model, acting) in (predict(twin, {"feature 1": 1.0}), predict(model, {"feature 1": 1.0}))
        assert "zucchini" in model.classes


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("trial", range(4))
def test_concurrent_readers_share_the_handle_of_the_current_model(trial):
    base = taught(count=35, scale=("none", "rms", "standard", "unit")[trial % 4])
    # The first reader of a copy, or after a new class, makes the handle for single examples.
    model, alone, failed, done = copy.copy(base), copy.copy(base), [], threading.Event()

    def predict():
        try:
            while not done.is_set():
                model.predict_one({"feature 1": 1.0})
                model.predict_proba_one({"feature 2": 1.0})
        except BaseException as error:
            failed.append(error)

    def learn(one):
        for i in range(35, len(TARGETS)):
            one.learn_one(EXAMPLES[i] | {f"{j} of {i}": 1.0 for j in range(30)}, TARGETS[i])
            one._classifier.add_classes(np.array([f"class {i}"]))

    readers = [threading.Thread(target=predict) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        learn(model)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not failed
    learn(alone)
    assert full_state(model) == full_state(alone)


def test_predictions_within_a_batch_know_the_classes_before_it():
    found = []

    def ask(m, v):
        found.append(model.predict_proba_one({"a": 1.0}))
        return Step(0.1, 0.1)

    model = StreamClassifier(Rule(ask, "ask", "", "Ask", 2, (), True, True, False, "2026"))
    model.learn_one({"a": 1.0}, "first")
    model.learn_many([{"a": 1.0}, {"b": 1.0}, {"c": 1.0}], ["first", "second", "third"])
    model.learn_many([{"a": 1.0}, {"b": 1.0}, {"d": 1.0}], ["third", "fourth", "fifth"])
    assert {len(chances) for chances in found} >= {0, 1, 3}
    assert all(sum(chances.values()) == pytest.approx(1.0) for chances in found if chances)
