"""Lists of dicts: errors, Ctrl-C, and threads that score while one learns."""

import pickle
import sys
import threading

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from learner_examples import everything
from scwlearn import Learner

pytestmark = pytest.mark.native

HOWS = {
    "any number": {},
    "drop": {"max_features": 300},
    "hash": {"max_features": 256, "overflow": "hash"},
}
every_how = pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)


def growing_stream(rows, stored=6):
    """Examples of common names and of some that are new each time."""
    rng = np.random.default_rng(0)
    for i in range(rows):
        x = {f"common {j}": float(rng.normal()) for j in rng.choice(20, stored, replace=False)}
        yield x | {f"new {i}": 1.0, "words": [f"w{i // 2}", "w"]}, 1 if rng.random() < 0.5 else -1


@every_how
def test_a_long_list_is_learned_to_its_end(how):
    # More examples than one call of the native loop takes.
    stream = list(growing_stream(9000))
    one, many = Learner("scw1", **how), Learner("scw1", **how)
    scores = [one.learn_one(x, y) for x, y in stream]
    assert many.learn_many([x for x, _ in stream], [y for _, y in stream]).tolist() == scores
    assert everything(one) == everything(many)


@every_how
def test_an_empty_list_changes_nothing(how):
    learner = Learner("arow", **how)
    assert learner.learn_many([], []).shape == (0,)
    assert learner.model is None
    learner.learn_one({"a": 1.0}, 1)
    before = everything(learner)
    assert learner.learn_many([], []).shape == learner.score_many([]).shape == (0,)
    assert everything(learner) == before


@every_how
def test_a_list_with_anything_but_dicts_is_refused(how):
    learner = Learner("arow", **how)
    for _ in range(2):
        before = everything(learner)
        for wrong in ([1.0], None, "a", [("a", 1.0)]):
            with pytest.raises(TypeError, match=r"examples\[1\] must be a dict of named features, got"):
                learner.learn_many([{"a": 1.0}, wrong], [1, -1])
            if learner.model is not None:
                with pytest.raises(TypeError, match=r"examples\[1\] must be a dict of named features, got"):
                    learner.score_many([{"a": 1.0}, wrong])
        for y in ([1], [1, 0], [1, -1, 1]):
            with pytest.raises(ValueError, match="label"):
                learner.learn_many([{"a": 1.0}, {"b": 1.0}], y)
        for weights in ([1.0], [1.0, -1.0], [1.0, np.nan]):
            with pytest.raises(ValueError, match="weight"):
                learner.learn_many([{"a": 1.0}, {"b": 1.0}], [1, -1], weights)
        assert everything(learner) == before
        learner.learn_many([{"a": 1.0}], [1])


def test_the_keys_of_a_list_are_of_one_type():
    learner = Learner("arow")
    with pytest.raises(
        TypeError, match=r"keys of mixed types: examples\[2\] has the key 1, where all before are of type str"
    ):
        learner.learn_many([{"a": 1.0}, {}, {1: 1.0}], [1, 1, 1])
    assert learner.model is None


POSITIVE = [name for name in "abcdefghij" if murmurhash3_32(name) >= 0]
LATE = {
    "too much in a slot": (dict.fromkeys(POSITIVE[:2], 1e150), {"max_features": 1, "overflow": "hash"}),
    "no text to hash": ({"a": "\udc80"}, HOWS["hash"]),
    "a large number": ({10**5000: "a"}, HOWS["any number"]),
}


@pytest.mark.parametrize(("bad", "how"), LATE.values(), ids=LATE)
def test_errors_late_in_a_list_are_found_before_learning(bad, how):
    learner = Learner("arow", **how)
    key = type(next(iter(bad)))
    for _ in range(2):
        before = everything(learner)
        with pytest.raises(ValueError, match=r"add up to more than|not valid Unicode|must be from -2\*\*63"):
            learner.learn_many([{key(1): 1.0}, {key(2): 1.0}, bad], [1, 1, 1])
        assert everything(learner) == before
        learner.learn_many([{key(1): 1.0}], [1])


def test_large_values_in_different_rows_are_learned():
    learner = Learner("arow")
    learner.learn_many([{"a": 1e150, "b": -1e150, "c": "word"}], [1])
    assert learner.counts.seen == 1


def test_a_learner_from_rows_takes_no_list_of_dicts():
    learner = Learner("arow")
    learner.learn_one([1.0, 2.0], 1)
    for call in (lambda: learner.learn_many([{"a": 1.0}], [1]), lambda: learner.score_many([{"a": 1.0}])):
        with pytest.raises(ValueError, match="features without names; continue with examples of the same kind"):
            call()


@every_how
@pytest.mark.parametrize("fails_at", [0, 1, 7, 40])
def test_a_rule_that_fails_puts_everything_back(how, fails_at):
    def rule(m, v):
        left.append(left.pop() - 1)
        if left[-1] < 0:
            raise ZeroDivisionError
        return (1.0, 0.5 / v) if m < 1 else (0.0, 0.0)

    left, stream = [10**9], list(growing_stream(50))
    for taught in (False, True):
        learner = Learner(rule, covariance="diagonal", **how)
        if taught:
            learner.learn_one({"first": 1.0}, 1)
        before = everything(learner)
        left[-1] = fails_at
        with pytest.raises(ZeroDivisionError):
            learner.learn_many([x for x, _ in stream], [y for _, y in stream])
        left[-1] = 10**9
        assert everything(learner) == before
        learner.learn_many([x for x, _ in stream], [y for _, y in stream])
        assert learner.counts.seen == 50 + taught


@pytest.mark.parametrize("known", [0, 1, 20])
def test_ctrl_c_in_a_list_leaves_the_learner_as_it_was(known, monkeypatch, ctrl_c):
    learner, stream = Learner("scw1"), list(growing_stream(60))
    learner.learn_many([x for x, _ in stream[:known]], [y for _, y in stream[:known]])
    before, make_room, made = everything(learner), Learner._make_room, []

    def interrupted(self, one, x, y):
        made.append(x)
        if len(made) == 2:
            ctrl_c()
        return make_room(self, one, x, y)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "_make_room", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.learn_many([x for x, _ in stream[known:]], [y for _, y in stream[known:]])
    assert len(made) == 2
    assert everything(learner) == before


@pytest.fixture
def hasty_threads():
    """Threads that take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.threads
@every_how
@pytest.mark.parametrize("at_once", [1, 25], ids=["one", "many"])
def test_threads_may_score_while_one_learns(how, at_once, hasty_threads):
    stream = list(growing_stream(1500))
    alone, shared = Learner("scw1", **how), Learner("scw1", **how)
    for learner in (alone, shared):
        learner.learn_one(*stream[0])
    # As loaded from a file: without a native handle, which the first caller makes.
    shared = pickle.loads(pickle.dumps(shared))
    done, begin, failures, scored = threading.Event(), threading.Barrier(5), [], []

    def score(number):
        begin.wait()
        rng = np.random.default_rng(number)
        try:
            while not (done.is_set() and number in scored):
                x = stream[rng.integers(len(stream))][0]
                scores = [shared.score_one(x), *shared.score_many([x, {"never seen": 1.0}])]
                assert np.isfinite(scores).all()
                scored.append(number)
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=score, args=(number,)) for number in range(4)]
    for reader in readers:
        reader.start()
    try:
        begin.wait()
        for i in range(1, len(stream), at_once):
            part = stream[i : i + at_once]
            if at_once == 1:
                shared.learn_one(*part[0])
            else:
                shared.learn_many([x for x, _ in part], [y for _, y in part])
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert failures == []
    for x, y in stream[1:]:
        alone.learn_one(x, y)
    assert everything(shared) == everything(alone)


class Watched(Learner):
    """A learner that somebody else scores with whenever something about it has changed."""

    watch = None

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if self.watch is not None:
            self.watch()


def with_one_that_stays(cls, **how):
    """A learner, many names that it is not sure of, then one that it is; and the score of that one."""
    learner = cls("arow", **how)
    learner.learn_many([{f"old {i}": 1.0} for i in range(250)], [1] * 250, [1e-6] * 250)
    learner.learn_many([{"kept": 1.0}] * 200, [1] * 200)
    return learner, learner.score_one({"kept": 1.0})


@pytest.mark.parametrize("how", [HOWS["any number"], HOWS["drop"]], ids=["any number", "drop"])
def test_a_model_is_replaced_atomically(how):
    learner, constant = with_one_that_stays(Watched, **how)
    watched, places = [], {learner.names["kept"]}
    learner.__dict__["watch"] = lambda: watched.append(learner.score_one({"kept": 1.0}))
    for i in range(600):
        learner.learn_one({f"new {i}": 1.0}, 1)
        learner.watch()
        places.add(learner.names["kept"])
    assert set(watched) == {constant}
    # Each time after some of the old ones were dropped.
    assert len(places) == (8 if how else 1)


@pytest.mark.parametrize("how", [HOWS["any number"], HOWS["drop"]], ids=["any number", "drop"])
def test_a_call_uses_one_model_from_beginning_to_end(how):
    learner, constant = with_one_that_stays(Learner, **how)
    x = {"kept": 1.0} | {f"new {i}": 1.0 for i in range(20)}
    assert learner.score_one(x) == constant
    for _ in range(3):
        begun = learner._named
        while learner._named is begun:
            score = learner.score_one(x)
            learner.learn_one(x | {f"more {learner.counts.seen}": 1.0}, 1)
        learner.learn_one(x, -1)
        assert begun.score_named(x) == score != learner.score_one(x)
        assert np.isfinite(begun.score_named(dict.fromkeys(learner.names, 1.0)))
