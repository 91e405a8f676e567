"""Single examples: the native handle, the steps in Python, and dicts with the keys of the last one."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

from scwlearn import Learner, StreamClassifier
from scwlearn.data.features import Features
from stream_examples import SETTINGS, full_state, learner_state, one_by_one

pytestmark = pytest.mark.native

LABELS = ("pear", "apple", "quince", "fig", "plum", "lime", "kiwi", "date", "melon")
KEYS = [f"key {i}" for i in range(8)]


def draw_numbers(rows=120, classes=4, seed=0):
    """Return examples with the same keys, or with some of them, and labels of 1, 2, and then more classes."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(classes, len(KEYS)))
    examples, labels = [], []
    for i in range(rows):
        x = rng.normal(size=len(KEYS)) * (rng.random(len(KEYS)) < (1.0, 0.6)[i % 3 == 0])
        known = min(classes, 1 + i // 10)
        labels.append(LABELS[int((directions[:known] @ x).argmax())])
        # Every other dict has keys that are equal, but other objects.
        keys = KEYS if i % 2 else [f"key {j}" for j in range(len(KEYS))]
        kept = slice(None) if i % 4 else slice(0, 5)
        examples.append(dict(zip(keys[kept], x[kept].tolist(), strict=True)) | ({"late": 1} if i > 70 else {}))
    return examples, labels


def native_state(model):
    """Return the state of a classifier, or of the members and the mixture of a committee."""
    if not model.rule.is_committee:
        return full_state(model)
    learner = model._classifier.learner
    return [*map(learner_state, learner.members()), learner.mixture.state.tobytes(), learner.counts]


COSTS = {"costs": {"pear": {"apple": 5.0}}}


@pytest.mark.parametrize(
    ("rule", "settings"),
    [("scw1", given) for given in SETTINGS.values()]
    + [("pa1", {}), ("auto", {}), ("auto", {"class_weight": "balanced"}), ("arow", COSTS)],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 4, 9])
def test_the_native_handle_equals_the_steps_in_python(rule, settings, classes):
    model, steps = StreamClassifier(rule, **settings), StreamClassifier(rule, **settings)._classifier
    for i, (x, y) in enumerate(zip(*draw_numbers(classes=classes), strict=True)):
        assert model.predict_one(x) == steps.predict_one(x)
        assert model.predict_proba_one(x) == steps.probabilities_one(x)
        w = (1.0, 0.5, 0, 2)[i % 4]
        model.learn_one(x, y, w)
        steps.learn_one(x, y, w)
    model.predict_one({})
    assert model._classifier.by_one.is_current
    other = StreamClassifier(rule, **settings)
    other._classifier = steps
    assert native_state(model) == native_state(other)
    assert list(model.predict_proba_one({})) == sorted(model.classes)


def test_the_native_handle_does_the_work_once_nothing_is_new(monkeypatch):
    examples, labels = draw_numbers()
    model = one_by_one(StreamClassifier("scw1"), examples, labels)
    for name in ("learn_one", "predict_one", "probabilities_one"):
        monkeypatch.delattr(f"scwlearn.learning.classify_one.ClassifyOne.{name}")
    for x, y in zip(examples, labels, strict=True):
        model.learn_one(x, model.predict_one(x))
        model.learn_one(x, y)
        assert sum(model.predict_proba_one(x).values()) == pytest.approx(1)


def change(x, how):
    if how == "value":
        x[KEYS[2]] = 17.5
    elif how == "whole":
        x[KEYS[2]] = 3
    elif how == "bool":
        x[KEYS[2]] = True
    elif how == "array":
        x[KEYS[2]] = np.float64(17.5)
    elif how == "zero":
        x[KEYS[2]] = x[KEYS[4]] = 0.0
    elif how == "nothing":
        x[KEYS[2]] = None
    elif how == "word":
        x[KEYS[2]] = "word"
    elif how == "less":
        del x[KEYS[2]]
    elif how == "more":
        x["more"] = 1.0
    elif how == "other key":
        x["other"] = x.pop(KEYS[2])
    elif how == "order":
        x[KEYS[2]] = x.pop(KEYS[2])
    elif how == "swap":
        x[KEYS[2]], x[KEYS[3]] = x[KEYS[3]], x[KEYS[2]]
    elif how == "empty":
        x.clear()
    elif how == "number key":
        x[7] = x.pop(KEYS[2])
    elif how == "infinite":
        x[KEYS[2]] = float("inf")


@pytest.mark.parametrize(
    "how",
    [
        "value",
        "whole",
        "bool",
        "array",
        "zero",
        "nothing",
        "word",
        "less",
        "more",
        "other key",
        "order",
        "swap",
        "empty",
    ],
)
@pytest.mark.parametrize("settings", [{}, {"scale": "standard"}, {"max_features": 16, "overflow": "hash"}], ids=str)
def test_a_dict_may_change_between_predicting_and_learning(how, settings):
    examples, labels = draw_numbers(classes=2)
    model, alone = (one_by_one(StreamClassifier("scw1", **settings), examples, labels) for _ in range(2))
    x = {key: 1.0 + i for i, key in enumerate(KEYS)}
    predicted = model.predict_one(x)
    model.predict_proba_one(x)
    change(x, how)
    assert model.predict_one(x) == alone.predict_one(dict(x))
    model.learn_one(x, "pear")
    alone.learn_one(dict(x), "pear")
    assert full_state(model) == full_state(alone)
    assert predicted in ("pear", "apple")


@pytest.mark.parametrize(("how", "error"), [("number key", TypeError), ("infinite", ValueError)])
def test_a_dict_that_becomes_invalid_after_predicting_is_rejected(how, error):
    model = one_by_one(StreamClassifier("scw1"), *draw_numbers(classes=2))
    x = dict.fromkeys(KEYS, 1.0)
    model.predict_one(x)
    before = full_state(model)
    change(x, how)
    with pytest.raises(error):
        model.learn_one(x, "pear")
    assert full_state(model) == before


def test_a_value_at_the_address_of_the_last_one_is_read_anew():
    model = one_by_one(StreamClassifier("scw1"), *draw_numbers(classes=2))
    x = dict.fromkeys(KEYS, 1.0)
    for i in range(100):
        # The float before is freed, and the new one gets its memory.
        x[KEYS[0]] = i * 0.5
        assert model.predict_proba_one(x) == model.predict_proba_one({**x, "unknown": 1.0})


class Replacing:
    """A number that replaces the first key of a dict by another when it is converted."""

    def __init__(self, x, key):
        self.x, self.key = x, key

    def __float__(self):
        del self.x[next(iter(self.x))]
        self.x[self.key] = 2.0
        return 1.0


def test_a_key_that_goes_while_the_dict_is_read_is_not_kept():
    learner = Learner("arow", covariance="diagonal")
    first, new, other = ("".join(["ke", "y", end]) for end in "abc")
    learner.learn_one({first: 1.0, other: -1.0, new: 3.0}, 1)
    for _ in range(3):
        x = {"".join(["key", "a"]): 1.0, other: 1.0}
        x[other] = Replacing(x, new)
        learner.score_one(x)
        assert list(x) == [other, new]
        assert learner.score_one({first: 1.0, new: 2.0}) == learner.score_one({new: 2.0, first: 1.0})


@pytest.mark.parametrize("key", [str, int, lambda i: 10**18 + i])
@pytest.mark.parametrize("count", [1, 5, 64, 65, 300])
def test_keys_may_come_in_any_order(key, count):
    rng = np.random.default_rng(0)
    values = rng.normal(size=count).tolist()
    known = {key(i): value for i, value in enumerate(values)}
    learner = Learner("arow", covariance="diagonal")
    learner.learn_one(known, 1)
    score = learner.score_one(known)
    for _ in range(5):
        shuffled = {key(i): values[i] for i in rng.permutation(count).tolist()}
        assert learner.score_one(shuffled) == score
        assert learner.score_one(known) == score


def test_the_keys_of_a_failed_example_are_forgotten():
    new, fails = {"known": 1.0, "new": 1.0}, []

    def rule(margin, variance):
        if fails:
            # Its names have features while it is learned from.
            learner.score_one(new)
            raise KeyError(fails.pop())
        return 0.5, 0.1

    learner = Learner(rule)
    learner.learn_one({"known": 1.0}, 1)
    fails.append("new")
    with pytest.raises(KeyError):
        learner.learn_one(new, 1)
    learner.learn_one({"known": 1.0, "other": 1.0}, 1)
    assert learner.score_one(new) == learner.score_one({"known": 1.0})
    learner.learn_one(new, 1)
    assert learner.names == {"known": 0, "other": 1, "new": 2}


@pytest.mark.parametrize(
    ("labels", "same"),
    [
        (["no", "yes"], [np.str_("no"), np.str_("yes")]),
        ([False, True], [0, 1.0]),
        ([1, 2], [np.int64(1), np.float64(2.0)]),
        ([0.5, -1.5], [np.float64(0.5), np.float64(-1.5)]),
    ],
    ids=str,
)
def test_equal_labels_are_one_class(labels, same):
    model, other = StreamClassifier("scw1"), StreamClassifier("scw1")
    for i in range(20):
        x = {"x": (-1.0) ** i, "y": 1}
        model.learn_one(x, labels[i % 2])
        other.learn_one(x, same[i % 2] if i > 1 else labels[i % 2])
    assert full_state(model) == full_state(other)
    assert [model.predict_one({"x": x}) for x in (1.0, -1.0)] == labels
    assert list(model.predict_proba_one({"x": 1.0})) == sorted(labels)


class Unlucky:
    def __hash__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("label", "error"), [(Unlucky(), ZeroDivisionError), (["a"], ValueError), (None, TypeError), (b"a", TypeError)]
)
def test_a_label_that_is_none_changes_nothing(label, error):
    model = one_by_one(StreamClassifier("scw1"), *draw_numbers(classes=3))
    before = full_state(model)
    with pytest.raises(error):
        model.learn_one({KEYS[0]: 1.0}, label)
    assert full_state(model) == before


@pytest.mark.parametrize("x", [None, [1.0], "text", 1.0])
def test_an_example_must_be_a_dict(x):
    model = one_by_one(StreamClassifier("scw1"), *draw_numbers(classes=2))
    for call in (model.predict_one, model.predict_proba_one, lambda x: model.learn_one(x, "pear")):
        with pytest.raises(TypeError, match="x must be a dict"):
            call(x)


def test_a_class_that_appears_later_is_predicted():
    model = one_by_one(StreamClassifier("scw1"), *draw_numbers(classes=2))
    assert list(model.predict_proba_one({"x": 1.0})) == ["apple", "pear"]
    for _ in range(5):
        model.learn_one({"x": 1.0}, "zucchini")
        assert model.predict_one({"x": 1.0}) in model.classes
    assert model.predict_one({"x": 1.0}) == "zucchini"
    assert list(model.predict_proba_one({"x": 1.0})) == ["apple", "pear", "zucchini"]


def test_the_most_probable_class_is_the_predicted_one_in_a_tie_of_several():
    model = StreamClassifier("pa1", classes=["c", "a", "b"])
    model.learn_one({"x": 1.0}, "b")
    model.predict_one({"x": 1.0})
    probabilities = model.predict_proba_one({"unknown": 1.0})
    assert max(probabilities, key=probabilities.get) == model.predict_one({"unknown": 1.0})


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("rule", ["scw1", "auto"])
def test_a_copy_has_a_handle_of_its_own(duplicate, rule):
    examples, labels = draw_numbers()
    model = one_by_one(StreamClassifier(rule), examples, labels)
    twin, before = duplicate(model), native_state(model)
    assert twin.predict_one(examples[0]) == model.predict_one(examples[0])
    one_by_one(twin, examples, labels)
    assert native_state(model) == before
    assert native_state(one_by_one(model, examples, labels)) == native_state(twin)


def test_a_handle_knows_what_is_assigned_later():
    examples, labels = draw_numbers(classes=2)
    model = one_by_one(StreamClassifier("scw1"), examples, labels)
    classifier = model._classifier
    assert classifier.by_one.is_current
    costly = classifier.with_costs({"pear": {"apple": 1e6}})
    assert costly.by_one.predict(examples[0]) is None
    assert classifier.by_one.predict(examples[0]) in LABELS
    classifier.features = Features(kinds={"late": "ignore"})
    before = full_state(model)
    model.learn_one({"late": 2.0}, "pear", 0)
    assert model.predict_proba_one({"late": 9.0}) == model.predict_proba_one({})
    assert full_state(model) == before


class Shouting(StreamClassifier):
    def predict_one(self, x):
        return super().predict_one(x).upper()


def test_a_subclass_may_override_a_call():
    examples, labels = draw_numbers(classes=2)
    model = one_by_one(Shouting("scw1"), examples, labels)
    plain = one_by_one(StreamClassifier("scw1"), examples, labels)
    assert [model.predict_one(x) for x in examples] == [plain.predict_one(x).upper() for x in examples]
    assert full_state(copy.copy(model)) == full_state(plain)


def test_a_cycle_through_the_handle_is_collected():
    model = one_by_one(StreamClassifier("scw1"), *draw_numbers(classes=2))
    learner = model._classifier.learner
    learner.owner = model
    found = weakref.ref(learner)
    del model, learner
    gc.collect()
    assert found() is None


@pytest.mark.parametrize("number", [float("nan"), -1.0, 1e300, "heavy", None])
def test_an_invalid_weight_changes_nothing(number):
    model = one_by_one(StreamClassifier("scw1"), *draw_numbers(classes=2))
    before = full_state(model)
    with pytest.raises((TypeError, ValueError)):
        model.learn_one(dict.fromkeys(KEYS, 1.0), "pear", number)
    assert full_state(model) == before
