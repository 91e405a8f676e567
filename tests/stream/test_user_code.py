"""Code of the user's that runs in the middle of a call: hashes, numbers and handlers that change things."""

import dataclasses
import subprocess
import sys
import threading

import numpy as np
import pytest
from stress.model_state import everything

from actors import Number
from scwlearn import KernelSCW1, Learner, StreamClassifier
from scwlearn._native import Lock
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import as_rows
from scwlearn.learning import lesson
from scwlearn.rules import HOLD, Step, find_rule

pytestmark = pytest.mark.native


class Key:
    """A key whose hash is computed in Python, where it may do something first."""

    def __init__(self, name, action=None):
        self.name, self.action = name, action

    def __hash__(self):
        if self.action is not None:
            self.action()
        return hash(self.name)

    def __eq__(self, other):
        return self.name == other.name


CALLS = {
    "score_one": lambda learner, x: learner.score_one(x),
    "score_and_variance_one": lambda learner, x: learner.score_and_variance_one(x),
    "score_many": lambda learner, x: learner.score_many([x]),
    "learn_one": lambda learner, x: learner.learn_one(x, 1),
    "learn_many": lambda learner, x: learner.learn_many([x], [1]),
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@every_call
def test_a_hash_that_empties_its_dict_is_noticed(call):
    learner = Learner("arow")
    learner.learn_one({Key(f"n{i}"): 1.0 + i for i in range(5)}, 1)
    before = everything(learner)
    for _ in range(50):
        x = {}

        def empty(x=x, junk=[]):  # noqa: B006
            x.clear()
            junk[:] = [bytearray(64) for _ in range(100)]

        key = Key("n3")
        x[key] = 7.5
        key.action = empty
        with pytest.raises(ValueError, match="changed while it was read"):
            call(learner, x)
    assert everything(learner) == before


@every_call
@pytest.mark.parametrize("value", [0.5, -1.0, 3, -1, True])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, OverflowError, TypeError])
def test_no_error_of_a_hash_is_lost(call, value, error):
    learner = Learner("arow")
    learner.learn_one({Key("a"): 1.0, Key("b"): 2.0}, 1)
    before = everything(learner)
    for number in range(10):
        hashed = []

        def fail(hashed=hashed, number=number):
            hashed.append(1)
            if len(hashed) > number:
                raise error("of a hash")

        key = Key("a")
        x = {key: value}
        key.action = fail
        try:
            call(learner, x)
        except error as raised:
            assert "of a hash" in str(raised)  # noqa: PT017
        else:
            assert len(hashed) <= number, "the error was lost"
            break
        if call is not CALLS["learn_many"]:
            assert everything(learner) == before
    assert number > 0


def stream(labels):
    model = StreamClassifier("arow", classes=labels)
    model.learn_many([{"a": 1.0}, {"z": 1.0}], labels[:2])
    model.predict_one({"a": 1.0})
    return model


def learner(classes):
    model = Learner("arow", n_classes=classes)
    model.learn_many([{"a": 1.0}, {"z": 1.0}], [-1, 1] if classes is None else [0, 1])
    return model


MODELS = {
    "two labels": lambda: stream([0, 1]),
    "three labels": lambda: stream([0, 1, 2]),
    "binary": lambda: learner(None),
    "classes": lambda: learner(3),
}
CHANGES = {
    "learn_one": lambda model: model.learn_one({"q": 1.0}, 1),
    "learn_many": lambda model: model.learn_many([{"q": 1.0}, {"r": 1.0}], [1, 1]),
    "many names": lambda model: model.learn_many([{f"q{i}": 1.0 for i in range(99)}], [1]),
    "a new class": lambda model: model.learn_one({"q": 1.0}, 3),
    "new classes": lambda model: model.learn_many([{"q": 1.0}, {"r": 1.0}], [3, 4]),
    "widen": lambda model: getattr(model, "_classifier", model).widen(100),
    "add_classes": lambda model: (
        model.add_classes(9) if isinstance(model, Learner) else model._classifier.add_classes(np.arange(3, 9))
    ),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", ["a", "new"])
def test_a_number_must_not_change_the_model_that_reads_it(make, change, name):
    model, refused = make(), []

    def nested():
        with pytest.raises((RuntimeError, ValueError)):
            change(model)
        refused.append(everything(model))

    before = everything(model)
    model.learn_one({name: Number(nested), "z": 1.0}, 1)
    assert set(map(str, refused)) == {str(before)}
    plain = make()
    plain.learn_one({name: 2.0, "z": 1.0}, 1)
    assert everything(model) == everything(plain)


def test_a_rule_must_not_change_the_model_that_asks_it():
    asked = []

    def rule(margin, variance):
        asked.append(1)
        for change in (lambda: learner.learn([[1.0, 0.0]], [1]), lambda: learner.learn_one([1.0, 0.0], 1)):
            with pytest.raises(RuntimeError, match="only predictions are allowed"):
                change()
        return max(0.0, 1 - margin) / (variance + 1), 1 / (variance + 1)

    learner = Learner(rule)
    learner.learn([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    assert (learner.counts.seen, len(asked)) == (2, 2)


def named(dicts):
    names = ["inner", "x", "y", "z"]
    return NamedRows(as_rows(np.array([[x.get(name, 0.0) for name in names] for x in dicts])), names)


# Each way in which a classifier learns: a batch for one that knows "a" and "b", and how it is given.
DICTS = [{"x": 1.0}, {"y": -1.0}, {"z": 2.0}, {"x": 2.0, "y": 1.0}]
BATCHES = {
    "known classes": ["a", "b", "b", "a"],
    "a third class": ["a", "c", "b", "c"],
    "a third class first": ["c", "a", "b", "a"],
    "many classes": ["a", "c", "d", "e"],
}
WAYS = {
    "one by one": lambda model, y: [model.learn_one(x, label) for x, label in zip(DICTS, y, strict=True)],
    "dicts": lambda model, y: model.learn_many(DICTS, y),
    "rows": lambda model, y: model._classifier.learn(np.eye(4), np.array(y)),
    "names": lambda model, y: model._classifier.learn(named(DICTS), np.array(y)),
}
INNER = {
    "one by one": lambda model: model.learn_one({"inner": 1.0}, "a"),
    "dicts": lambda model: model.learn_many([{"inner": 1.0}, {"new": 1.0}], ["a", "new"]),
    "rows": lambda model: model._classifier.learn(np.ones((1, 4)), np.array(["new"])),
    "names": lambda model: model._classifier.learn(named([{"inner": 1.0}]), np.array(["new"])),
}


@pytest.mark.parametrize("known", [0, 2, 4])
@pytest.mark.parametrize("most_scores", [1, 2**25], ids=["in parts", "whole"])
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("way", WAYS)
def test_a_rule_must_not_teach_the_classifier_that_asks_it(monkeypatch, way, batch, most_scores, known):
    monkeypatch.setattr(lesson, "_MOST_SCORES", most_scores)
    inner, refused = [], []

    def step(m, v, r):
        if inner:
            with pytest.raises(RuntimeError, match="only predictions are allowed"):
                inner[0](model)
            refused.append(1)
        return Step(alpha=(1 - m) / (v + 1), precision=1.0) if m < 1 else HOLD

    asking = dataclasses.replace(find_rule("arow"), function=step, name="asking")

    def new():
        model = StreamClassifier(asking, classes=["a", "b", "p", "q"][:known] or None)
        WAYS[way](model, ["b", "a", "b", "a"])
        return model

    model, inner[:] = new(), []
    inner.append(INNER[way])
    WAYS[way](model, batch)
    inner.clear()
    plain = new()
    WAYS[way](plain, batch)
    assert refused
    assert everything(model) == everything(plain)


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("name", ["arow", "auto"])
def test_a_number_must_not_teach_the_classifier_that_reads_it(name, batch):
    for known in (0, 1, 2, 3):
        model, refused = StreamClassifier(name), []
        model.learn_many(DICTS[:known], ["a", "b", "p"][:known])

        def nested(model=model, refused=refused):
            with pytest.raises(RuntimeError, match="only predictions are allowed"):
                model.learn_one({"inner": 1.0}, "a")
            refused.append(1)

        model.learn_many([*DICTS[:-1], {"x": Number(nested)}], batch)
        assert refused
        plain = StreamClassifier(name)
        plain.learn_many(DICTS[:known], ["a", "b", "p"][:known])
        plain.learn_many([*DICTS[:-1], {"x": 2.0}], batch)
        assert everything(model) == everything(plain)


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("inner", ["fit", "partial_fit"])
def test_a_kernel_must_not_teach_the_estimator_that_calls_it(call, fitted, inner):
    refused = []

    def kernel(a, b):
        if asking:
            with pytest.raises(RuntimeError, match="only predictions are allowed"):
                getattr(estimator, inner)(np.eye(3), ["a", "b", "new"])
            refused.append(1)
        return a @ b.T

    asking, estimator = False, KernelSCW1(kernel=kernel, random_state=0)
    if fitted:
        estimator.partial_fit(np.eye(3), ["a", "b", "a"])
    asking = True
    getattr(estimator, call)(np.eye(3), ["a", "b", "c"])
    asking = False
    assert refused
    plain = KernelSCW1(kernel=kernel, random_state=0)
    if fitted:
        plain.partial_fit(np.eye(3), ["a", "b", "a"])
    getattr(plain, call)(np.eye(3), ["a", "b", "c"])
    assert estimator.classes_.tolist() == plain.classes_.tolist() == ["a", "b", "c"]
    assert estimator.decision_function(np.eye(3)).tolist() == plain.decision_function(np.eye(3)).tolist()


def test_what_the_hash_of_a_label_has_learned_is_kept():
    class Label(str):
        action = None

        def __hash__(self):
            if self.action is not None:
                self.action()
            return super().__hash__()

    model = StreamClassifier("arow", class_weight={"a": 2.0})
    model.learn_many(DICTS[:2], ["a", "b"])
    label, asked = Label("a"), []

    def nested():
        if not asked:
            asked.append(1)
            model.learn_one({"inner": 1.0}, "c")

    label.action = nested
    model.learn_one({"x": 1.0}, label)
    assert model.counts.seen == 4
    assert model.classes == ["a", "b", "c"]


@pytest.mark.parametrize("call", ["predict_one", "predict_proba_one", "predict_many", "predict_proba_many"])
@pytest.mark.parametrize("rule", ["arow", "auto"])
def test_another_thread_can_learn_at_every_line_of_a_prediction(rule, call):
    # So a handler of a signal, which may run there, can wait for that thread.
    pa = pytest.importorskip("pyarrow")
    model = StreamClassifier(rule)
    model.learn_many([{"a": 1.0, "b": 2.0}, {"a": -1.0}], ["ham", "spam"])
    x = {"a": 1.0} if call.endswith("one") else pa.table({"a": [1.0, 2.0], "b": [0.5, 1.0]})
    taught = []

    def learn():
        model.learn_one({f"new {len(taught)}": 1.0, "a": 1.0}, "ham")

    def trace(frame, event, arg):
        if "scwlearn" in frame.f_code.co_filename and len(taught) < 40:
            sys.settrace(None)
            thread = threading.Thread(target=learn, daemon=True)
            thread.start()
            thread.join(60)
            taught.append(not thread.is_alive())
            sys.settrace(trace)
        return trace

    # A copy has no handle yet.
    model._classifier = model.copy()._classifier
    sys.settrace(trace)
    try:
        getattr(model, call)(x)
    finally:
        sys.settrace(None)
    assert taught
    assert all(taught)


def test_a_subinterpreter_is_refused():
    script = """
import warnings
import _xxsubinterpreters as interpreters

warnings.simplefilter("ignore")
try:
    interpreters.run_string(interpreters.create(), "from scwlearn import StreamClassifier; StreamClassifier('arow')")
except interpreters.RunFailedError as error:
    assert "does not support subinterpreters" in str(error), error
else:
    raise AssertionError("not refused")
"""
    if sys.version_info >= (3, 13):
        pytest.skip("has another interface")
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=300)


def test_a_handle_keeps_its_lock():
    handle = learner(None).dict_handle()
    with pytest.raises(ValueError, match="one lock"):
        handle.attach(Lock())


def test_a_block_that_learns_needs_the_lock_and_is_not_entered_twice():
    lock = Lock()
    with pytest.raises(RuntimeError, match="does not have the lock"), lock.learning:
        pass
    with lock.changing, lock.learning:
        with pytest.raises(RuntimeError, match="only predictions are allowed"), lock.changing:
            pass
        with pytest.raises(RuntimeError, match="only predictions are allowed"), lock.learning:
            pass
        with lock:
            pass
    with lock.changing, lock.learning:
        pass
