"""Single dicts and vectors, and what keys, values and rules may do while an example is learned."""

import copy
import gc
import pickle
import threading
import weakref
from array import array

import numpy as np
import pytest
from scipy import sparse

from actors import Number
from learner_examples import draw_examples, everything, state
from scwlearn import Learner
from scwlearn.model.covariances import COVARIANCE_NAMES

pytestmark = pytest.mark.native

KINDS = {"dict": {"a": 1.0, "b": -2.0}, "vector": np.array([1.0, -2.0])}
every_kind = pytest.mark.parametrize("x", KINDS.values(), ids=KINDS)
every_covariance = pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
CALLS = (lambda learner, x: learner.score_one(x), lambda learner, x: learner.learn_one(x, 1))
TOO_SOON = "changed by code that it called while it learned.*only predictions are allowed"


def arow(m, v):
    return (max(0.0, 1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0.0, 0.0)


def with_rule(x, meanwhile, covariance="diagonal"):
    """A learner that knows x, and whose rule from now on first does something else."""

    def rule(m, v):
        for action in todo:
            action(m)
        return arow(m, v)

    todo = []
    learner = Learner(rule, covariance=covariance)
    learner.learn_one(x, 1)
    todo.append(lambda m: meanwhile(learner, m))
    return learner


@every_kind
@every_covariance
def test_a_rule_that_learns_while_it_runs_is_refused(x, covariance):
    learner = with_rule(x, lambda learner, m: learner.learn_one(x, -1), covariance)
    before = everything(learner)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=TOO_SOON):
            learner.learn_one(x, 1)
        assert everything(learner) == before


@every_kind
@every_covariance
def test_a_rule_may_score(x, covariance):
    seen = []
    learner = with_rule(x, lambda learner, m: seen.append((m, learner.score_one(x))), covariance)
    plain = with_rule(x, lambda learner, m: None, covariance)
    score = learner.learn_one(x, 1)
    assert seen == [(pytest.approx(score), pytest.approx(score))]
    assert score == plain.learn_one(x, 1)
    assert state(learner) == state(plain)


@pytest.mark.threads
@every_kind
def test_another_thread_scores_while_a_rule_runs_and_learns_afterwards(x):
    threads, scores, has_scored = [], [], threading.Event()

    def use():
        scores.append(learner.score_one(x))
        has_scored.set()
        learner.learn_one(x, 1)

    def elsewhere(learner, m):
        if not threads:
            threads.append(threading.Thread(target=use))
            threads[0].start()
            has_scored.wait()

    learner = with_rule(x, elsewhere)
    score = learner.learn_one(x, 1)
    threads[0].join()
    assert scores == [pytest.approx(score)]
    alone = with_rule(x, lambda learner, m: None)
    alone.learn_one(x, 1)
    alone.learn_one(x, 1)
    assert everything(learner) == everything(alone)


class Name:
    """A name that does something when it is compared."""

    def __init__(self, text, action=None):
        self.text, self.action = text, action

    def __hash__(self):
        return hash(self.text)

    def __eq__(self, other):
        for name in (self, other):
            if name.action is not None and other is not self:
                name.action()
        return self.text == other.text


def large(name=str):
    """More features than any scratch memory made for a few has room for."""
    return {name(f"n{i}"): 1.0 for i in range(5000)}


# Keys, and dicts that run code
ACTORS = {
    "number": (str, lambda action: {"a": 1.0, "b": Number(action), "c": 1.0}),
    "name": (Name, lambda action: {Name("a"): 1.0, Name("b", action): 1.0, Name("c"): 1.0}),
}
every_actor = pytest.mark.parametrize(("name", "make"), ACTORS.values(), ids=ACTORS)


@every_actor
@pytest.mark.parametrize("fresh", [True, False], ids=["first", "later"])
def test_a_key_or_value_that_learns_while_it_is_read_is_refused(name, make, fresh):
    learner = Learner("arow")
    if not fresh:
        learner.learn_one({name("a"): 1.0, name("b"): 1.0}, 1)
    elif name is Name:
        pytest.skip("nothing to compare it with")
    before = everything(learner)
    with pytest.raises(RuntimeError, match=TOO_SOON):
        learner.learn_one(make(lambda: learner.learn_one(large(name), 1)), 1)
    assert everything(learner) == before
    learner.learn_one({name("a"): 1.0, name("c"): 1.0}, 1)


@every_actor
def test_a_key_or_value_may_score_while_it_is_read(name, make):
    one, other = Learner("arow"), Learner("arow")
    for learner in (one, other):
        learner.learn_one({name("a"): 1.0, name("b"): 1.0} | large(name), 1)
    acting, idle = make(lambda: one.score_one(large(name))), make(lambda: None)
    assert one.score_one(acting) == other.score_one(idle)
    assert one.learn_one(acting, -1) == other.learn_one(idle, -1)
    assert state(one) == state(other)


@every_actor
def test_a_key_may_learn_while_its_example_is_scored(name, make):
    learner = Learner("arow")
    learner.learn_one({name("a"): 1.0, name("b"): 1.0}, 1)
    learner.score_one(make(lambda: learner.learn_one(large(name), 1)))
    assert learner.counts.seen > 1
    assert list(learner.names) == [name("a"), name("b"), *large(name)]


@every_actor
def test_a_dict_that_changes_during_reading_is_refused(name, make):
    learner = Learner("arow")
    learner.learn_one({name("a"): 1.0, name("b"): 1.0}, 1)
    before = everything(learner)
    for call in CALLS:
        x = {}
        x.update(make(x.clear))
        with pytest.raises(ValueError, match="x changed while it was read"):
            call(learner, x)
        assert everything(learner) == before


def test_names_of_a_failed_example_are_forgotten():
    def fail(learner, m):
        learner.score_one({"new": 1.0})
        raise ZeroDivisionError

    learner = with_rule(KINDS["dict"], fail)
    before = everything(learner)
    with pytest.raises(ZeroDivisionError):
        learner.learn_one({"new": 1.0, "other": 1.0}, 1)
    assert everything(learner) == before
    assert learner.score_one({"new": 1.0}) == 0.0


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_a_name_that_cannot_be_added_changes_nothing(asked):
    class Fickle(Name):
        """Has a hash only so many times."""

        left = 100

        def __hash__(self):
            self.left -= 1
            if self.left < 0:
                raise ZeroDivisionError
            return super().__hash__()

    learner = Learner("arow")
    learner.learn_one({Fickle("a"): 1.0}, 1)
    before = everything(learner)
    x = {Fickle("new"): 1.0, Fickle("other"): 1.0}
    list(x)[1].left = asked - 1
    with pytest.raises(ZeroDivisionError):
        learner.learn_one(x, 1)
    assert everything(learner) == before
    learner.learn_one({Fickle("new"): 1.0}, 1)


@every_covariance
def test_the_order_of_a_dict_changes_nothing_but_rounding(covariance):
    x, y = draw_examples(7, 60, 12, 0.6)
    one, other = Learner("scw1", covariance=covariance), Learner("scw1", covariance=covariance)
    names = {str(i): 1.0 for i in range(12)}
    for learner in (one, other):
        learner.learn_one(names, 1)
    for row, label in zip(x, y, strict=True):
        example = {str(i): value for i, value in enumerate(row)}
        backwards = dict(reversed(example.items()))
        assert one.learn_one(example, label) == pytest.approx(other.learn_one(backwards, label), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(one.model.weights(), other.model.weights(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.model.variances(), other.model.variances(), rtol=0, atol=1e-9)


def test_tens_of_thousands_of_names_are_found_and_distinguished():
    rng = np.random.default_rng(3)
    count, stored = 30_000, 100
    places = np.array([rng.choice(count, stored, replace=False) for _ in range(600)])
    values, y = rng.normal(size=places.shape), rng.choice([-1, 1], len(places))
    # Strings of every width in which Python stores them, each with a similar one of another width.
    letters = "a\xe9\u20ac\U0001d4d0"
    names = [f"{letters[i % 4]}{i // 4}" for i in range(count)]
    named, rows = (Learner("arow", covariance="diagonal") for _ in range(2))
    known = {}
    for at, row in zip(places, values, strict=True):
        for i in at:
            known.setdefault(i, len(known))
        named.learn_one({names[i]: v for i, v in zip(at, row, strict=True)}, y[named.counts.seen])
    indices = np.vectorize(known.get)(places)
    csr = sparse.csr_array(
        (values.ravel(), indices.ravel(), np.arange(0, values.size + 1, stored)), (len(y), len(known))
    )
    rows.learn(csr, y)
    assert named.names == {names[i]: place for i, place in known.items()}
    np.testing.assert_allclose(named.model.weights()[:, : len(known)], rows.model.weights(), rtol=0, atol=1e-9)
    expected = csr @ rows.model.weights()[0]
    for i in range(0, len(y), 7):
        example = {names[j]: v for j, v in zip(places[i], values[i], strict=True)} | {"never seen": 1.0}
        assert named.score_one(example) == pytest.approx(expected[i], rel=1e-9, abs=1e-9)


@every_kind
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_a_copy_learns_independently(x, duplicate):
    learner = Learner("arow")
    learner.learn_one(x, 1)
    learner.score_one(x)
    before = everything(learner)
    twin = duplicate(learner)
    twin.learn_one(x, -1)
    assert everything(learner) == before
    learner.learn_one(x, -1)
    assert everything(learner) == everything(twin)


@every_kind
def test_a_model_that_is_assigned_is_the_one_that_learns(x):
    learner = Learner("arow")
    learner.learn_one(x, 1)
    learner.score_one(x)
    kept = learner.model
    before = kept.weights()
    learner.model = kept.copy()
    learner.learn_one(x, -1)
    assert np.array_equal(kept.weights(), before)
    assert not np.array_equal(learner.model.weights(), before)


def test_examples_of_the_other_kind_are_refused():
    named, plain = Learner("arow"), Learner("arow")
    named.learn_one(KINDS["dict"], 1)
    plain.learn_one(KINDS["vector"], 1)
    for learner, x, kind in ((named, KINDS["vector"], "with names"), (plain, KINDS["dict"], "without names")):
        before = everything(learner)
        for call in CALLS:
            with pytest.raises(ValueError, match=f"features {kind}; continue with examples of the same kind"):
                call(learner, x)
        assert everything(learner) == before


@every_kind
def test_a_cycle_through_the_rule_is_collected(x):
    learner = with_rule(x, lambda learner, m: None)
    learner.learn_one(x, 1)
    gone = weakref.ref(learner)
    del learner
    gc.collect()
    assert gone() is None


def test_a_cycle_through_a_key_is_collected():
    name, learner = Name("a"), Learner("arow")
    learner.learn_one({name: 1.0}, 1)
    name.learner = learner
    gone = weakref.ref(learner), weakref.ref(name)
    del learner, name
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_a_cycle_through_the_type_of_a_key_is_collected():
    class Own(Name):
        pass

    learner = Learner("arow")
    learner.learn_one({Own("a"): 0.0}, 1)
    Own.learner = learner
    gone = weakref.ref(learner), weakref.ref(Own)
    del learner, Own
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


@every_kind
def test_an_untrained_learner_has_no_scores(x):
    with pytest.raises(ValueError, match="not learned from any row yet"):
        Learner("arow").score_one(x)


@every_kind
@pytest.mark.parametrize("y", [0, 2, 0.5, float("nan")])
def test_an_invalid_label_is_refused(x, y):
    learner = Learner("arow")
    for _ in range(2):
        before = everything(learner)
        with pytest.raises(ValueError, match=r"labels (must be|are) -1 (or|and) \+1"):
            learner.learn_one(x, y)
        assert everything(learner) == before
        learner.learn_one(x, 1)


def test_a_vector_may_lie_anywhere_in_memory():
    x, y = draw_examples(1, 20, 5, density=1.0)
    plain, other = Learner("scw1"), Learner("scw1")
    askew = np.frombuffer(b"?" + x.tobytes(), np.uint8)[1:].view(np.float64).reshape(x.shape)
    for rows in (np.asfortranarray(x), x.astype(np.float32), askew):
        for i, label in enumerate(y.tolist()):
            assert plain.learn_one(np.array(rows[i], dtype=np.float64), label) == other.learn_one(rows[i], label)
            assert plain.score_one(np.array(rows[i], dtype=np.float64)) == other.score_one(rows[i])


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        lambda x: array("d", x),
        lambda x: memoryview(array("d", x)),
        lambda x: np.array(x, dtype=">f8"),
        lambda x: np.array(x, dtype=object),
        lambda x: np.repeat(x, 2)[::2],
        lambda x: np.array(x).view(np.matrix).A1,
    ],
    ids=["list", "tuple", "array", "memory", "big-endian", "objects", "strided", "matrix"],
)
def test_a_vector_may_be_of_any_type(make):
    plain, other = Learner("scw1"), Learner("scw1")
    for x, y in ([1.0, -2.0], 1), ([0.5, 3.0], -1), ([-1.0, 0.25], 1):
        assert plain.learn_one(np.array(x), y) == other.learn_one(make(x), y)
        assert plain.score_one(np.array(x)) == other.score_one(make(x))
    assert everything(plain) == everything(other)


@pytest.mark.parametrize(
    ("x", "error"),
    [
        (None, ValueError),
        (1.0, ValueError),
        ([1.0], ValueError),
        ([[1.0, 2.0]], ValueError),
        (["a", "b"], TypeError),
        (b"ab", ValueError),
        ([1.0, np.nan], ValueError),
        ([1.0, 10**400], ValueError),
        ([1j, 2j], TypeError),
        (np.array(["2026-11-19", "2026-11-20"], "M8[D]"), TypeError),
        (np.array([1, 2], "m8[s]"), TypeError),
        (np.ma.array([1.0, 2.0], mask=[True, False]), ValueError),
        (np.asmatrix([1.0, 2.0]), ValueError),
        (sparse.csr_array([[1.0, 2.0]]), ValueError),
        (np.array(["a", 1.0], object), ValueError),
        (np.zeros(2, [("a", "f8")]), TypeError),
    ],
    ids=str,
)
def test_anything_but_a_vector_of_the_known_length_is_refused(x, error):
    learner = Learner("scw1")
    learner.learn_one([1.0, -2.0], 1)
    before = everything(learner)
    with pytest.raises(error):
        learner.score_one(x)
    with pytest.raises(error):
        learner.learn_one(x, 1)
    assert everything(learner) == before


def test_ctrl_c_after_an_example_with_new_names_keeps_it(monkeypatch, ctrl_c):
    learner = Learner("scw1")
    learner.learn_one({"a": 1.0}, 1)
    single = Learner._new_handle

    class Interrupted:
        def __init__(self, one):
            self.one = one

        def __getattr__(self, name):
            return getattr(self.one, name)

        def learn_named(self, x, y, w):
            if (score := self.one.learn_named(x, y, w)) is not None:
                ctrl_c()
            return score

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "_new_handle", lambda *arguments: Interrupted(single(*arguments)))
        with pytest.raises(KeyboardInterrupt):
            learner.learn_one({f"name {i}": 1.0 for i in range(100)}, -1)
    learner._named = None
    assert len(learner.names) == 101 <= learner.n_features
    assert learner.counts.seen == 2
    learner.learn_one({"name 99": 1.0}, 1)


def test_a_learner_from_dicts_does_not_share_its_memory():
    learner = Learner("arow")
    learner.learn_one({"a": 1.0}, 1)
    other = learner.with_parameters({"r": 2.0})
    other.learn_one({"a": 1.0, "b": 1.0}, -1)
    assert (other.parameters, [*other.names], other.counts.seen) == ({"r": 2.0}, ["a", "b"], 2)
    assert (learner.parameters, [*learner.names], learner.counts.seen) == ({"r": 1.0}, ["a"], 1)
    assert learner.score_one({"a": 1.0, "b": 1.0}) == learner.score_one({"a": 1.0})
