"""Labels, weights and examples of a stream: which are allowed, and that errors change nothing."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from scwlearn import StreamClassifier
from scwlearn.rules import HOLD, Step, find_rule
from stream_examples import EXAMPLES, SETTINGS, TARGETS, X, full_state, new, one_by_one, taught, weights_of

pytestmark = pytest.mark.native

some_kinds = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)


# Labels


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["b", "a", "ccc"], ["a", "b", "ccc"]),
        ([3, 1, 2], [1, 2, 3]),
        ([True, False], [False, True]),
        ([np.str_("b"), np.str_("a")], ["a", "b"]),
        ([np.bool_(True), np.bool_(False)], [False, True]),
        ([np.int8(3), 1, np.float32(2.5)], [1, 2.5, 3]),
        ([2**63 - 1, 1, -(2**63), 0.5], [-(2**63), 0.5, 1, 2**63 - 1]),
        (["", "é"], ["", "é"]),
    ],
    ids=str,
)
def test_labels_may_be_of_any_one_kind(labels, expected):
    each, at_once = StreamClassifier("arow"), StreamClassifier("arow")
    for _ in range(3):
        one_by_one(each, [X] * len(labels), labels)
    at_once.learn_many([X] * 3 * len(labels), labels * 3)
    for model in (each, at_once):
        assert model.classes == expected
        assert list(model.predict_proba_one(X)) == expected
        assert model.predict_one(X) in expected
        assert type(model.predict_one(X)) in {str, int, float, bool}
    assert full_state(each)[0] == full_state(at_once)[0]


@pytest.mark.parametrize(
    ("known", "label"),
    [("ab", 1), ("ab", True), ([1, 2], "1"), ([True, False], "True"), ("ab", None), ("abc", 1.5), ([1, 2, 3], "4")],
)
def test_a_label_of_another_kind_is_rejected_and_changes_nothing(known, label):
    model = StreamClassifier("arow", scale="rms", class_weight="balanced")
    one_by_one(model, [X] * len(known), known)
    before = full_state(model)
    for learn in (
        lambda: model.learn_one({"a": 1.0, "new": 1.0}, label),
        lambda: model.learn_many([X, {"new": 1.0}], [label, label]),
        lambda: model.learn_many([X, {"new": 1.0}, X], [known[0], label, known[1]]),
    ):
        with pytest.raises(TypeError, match="label"):
            learn()
        assert full_state(model) == before


@pytest.mark.parametrize(
    "label", [None, float("nan"), float("inf"), 1j, b"a", [1], {"a": 1}, np.datetime64("2020-01-01"), pd.NA, (1, 2)]
)
def test_a_value_that_is_not_a_label_is_rejected(label):
    for known in ([], [1.0, 2.0], [1.0, 2.0, 3.0]):
        model = one_by_one(StreamClassifier("arow"), [X] * len(known), known)
        before = full_state(model)
        with pytest.raises((TypeError, ValueError)):
            model.learn_one(X, label)
        with pytest.raises((TypeError, ValueError)):
            model.learn_many([X, X], [1.0, label])
        assert full_state(model) == before


def test_missing_labels_are_rejected():
    model = StreamClassifier("arow")
    wrong = [
        np.array([1.0, np.nan]),
        np.array([1, float("nan")], dtype=object),
        np.ma.array([1, 2], mask=[False, True]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None]),
        np.array([["a"], ["b"]]),
    ]
    for labels in wrong:
        with pytest.raises((TypeError, ValueError)):
            model.learn_many([X, X], labels)
        assert full_state(model) == full_state(StreamClassifier("arow"))
    for classes in ([1.0, float("nan")], [None], [1, "a"], []):
        with pytest.raises((TypeError, ValueError)):
            StreamClassifier("arow", classes=classes)


def test_labels_and_weights_must_match_the_examples_in_number():
    model = taught()
    before = full_state(model)
    with pytest.raises(ValueError, match="y must hold 2 labels"):
        model.learn_many([X, X], ["pear"])
    with pytest.raises(ValueError, match="weights"):
        model.learn_many([X, X], ["pear", "pear"], [1.0])
    with pytest.raises(ValueError, match="weights"):
        model.learn_many([X], ["pear"], 1.0)
    with pytest.raises(TypeError, match="got one dict"):
        model.learn_many(X, ["pear"])
    assert full_state(model) == before


# Bad examples

BAD = {
    "nan": {"feature 1": 1.0, "new": float("nan")},
    "inf": {"feature 1": float("inf")},
    "object": {"feature 1": object()},
    "numbers": {"feature 1": [1.0, 2.0]},
    "list in a dict": {"feature 1": {"deep": [1.0]}},
    "too large": {"feature 1": 1e200},
    "mixed keys": {"feature 1": 1.0, 2: 1.0},
    "other keys": {2: 1.0},
    "no dict": [("feature 1", 1.0)],
    "nothing": None,
}
every_bad = pytest.mark.parametrize("bad", BAD.values(), ids=BAD)


@every_bad
@pytest.mark.parametrize(
    "settings",
    ["default", "scale", "scale-drop", "scale-hash", "standard", "standard-drop", "unit", "balanced", "full", "ovr"],
)
def test_a_bad_example_is_rejected_and_changes_nothing(bad, settings):
    # With one, two, three and all classes known; the label is known or new.
    for count in (5, 20, 35, 60):
        model = new("arow", settings)
        model.learn_many(EXAMPLES[:count], TARGETS[:count])
        before = full_state(model)
        for label in ("pear", "zucchini"):
            for learn, arguments in (
                (model.learn_one, (bad, label)),
                (model.learn_one, (bad, label, 0.0)),
                (model.learn_many, ([bad], [label])),
                (model.learn_many, ([X, {"newer": 1.0}, bad, X], ["pear", "another", label, "a third"])),
            ):
                with pytest.raises((TypeError, ValueError)):
                    learn(*arguments)
                assert full_state(model) == before
        for call in (model.predict_one, model.predict_proba_one, model.explain):
            if count > 5 or call is model.explain:
                with pytest.raises((TypeError, ValueError)):
                    call(bad)
        for call in (model.predict_many, model.predict_proba_many):
            with pytest.raises((TypeError, ValueError)):
                call([X, bad])
        assert full_state(model) == before


@pytest.mark.parametrize("bad", [bad for name, bad in BAD.items() if name != "other keys"])
def test_a_bad_first_example_leaves_no_trace(bad):
    model = StreamClassifier("arow", scale="rms")
    for learn in (lambda: model.learn_one(bad, "a"), lambda: model.learn_many([{"a": 1.0}, bad], ["a", "b"])):
        with pytest.raises((TypeError, ValueError)):
            learn()
        assert full_state(model) == full_state(StreamClassifier("arow", scale="rms"))


def test_an_error_names_the_example():
    with pytest.raises(ValueError, match=r"\b1\b"):
        taught().learn_many([X, {"a": float("nan")}], ["pear", "apple"])


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), 1e101, 1e-101])
@pytest.mark.parametrize("settings", ["default", "without-figs", "balanced"])
def test_an_invalid_weight_is_rejected_and_changes_nothing(weight, settings):
    for count in (0, 5, 20, 60):
        model = new("arow", settings)
        model.learn_many(EXAMPLES[:count], TARGETS[:count])
        before = full_state(model)
        for label in ("pear", "apple", "fig", "zucchini"):
            with pytest.raises(ValueError, match=r"weight|^w must be"):
                model.learn_one({"newer": 1.0}, label, weight)
            with pytest.raises(ValueError, match="weight"):
                model.learn_many([X, {"newer": 1.0}], ["pear", label], [1.0, weight])
            assert full_state(model) == before


@some_kinds
def test_a_weight_of_zero_changes_nothing(settings):
    for count in (0, 5, 20, 60):
        model = StreamClassifier("scw1", **settings)
        model.learn_many(EXAMPLES[:count], TARGETS[:count])
        before = full_state(model)
        for label in ("pear", "apple", "zucchini"):
            model.learn_one({"newer": 1e9, "feature 1": 1e9}, label, 0.0)
            assert full_state(model) == before
            model.learn_many([{"newer": 1e9}, {"newest": 1.0}], [label, "rhubarb"], [0.0, 0])
            assert full_state(model) == before


def test_examples_of_weight_zero_are_ignored():
    weights = weights_of(len(TARGETS))
    kept = np.flatnonzero(weights)
    whole, part = StreamClassifier("scw1", scale="rms"), StreamClassifier("scw1", scale="rms")
    whole.learn_many(EXAMPLES, TARGETS, weights)
    part.learn_many([EXAMPLES[i] for i in kept], [TARGETS[i] for i in kept], weights[kept])
    assert full_state(whole) == full_state(part)


def test_a_class_of_weight_zero_is_ignored():
    weights = {"fig": 0.0, "quince": 0}
    model, others = StreamClassifier("arow", class_weight=weights), StreamClassifier("arow", class_weight=weights)
    model.learn_many(EXAMPLES, TARGETS)
    kept = [i for i, label in enumerate(TARGETS) if label not in weights]
    others.learn_many([EXAMPLES[i] for i in kept], [TARGETS[i] for i in kept])
    assert full_state(model) == full_state(others)
    assert model.classes == ["apple", "pear", "plum"]


# Rules


def failing(limit):
    """Return AROW as a user's rule that raises at its nth call, or never, and its calls so far."""

    def step(m, v, r):
        asked[0] += 1
        if asked[0] == limit[0]:
            raise RuntimeError("enough")
        return HOLD if m >= 1 else Step((1 - m) / (v + r), 1 / r)

    asked = [0]
    return dataclasses.replace(find_rule("arow"), function=step, name="failing"), asked


@pytest.mark.parametrize(
    "settings",
    ["default", "scale", "scale-drop", "scale-hash", "standard", "standard-drop", "unit", "balanced", "full", "ovr"],
)
def test_a_rule_that_raises_leaves_everything_as_it_was(settings):
    limit = [0]
    rule, asked = failing(limit)
    for count in (0, 5, 20, 35):
        limit[0] = 0
        model, other = new(rule, settings), new(rule, settings)
        model.learn_many(EXAMPLES[:count], TARGETS[:count])
        before = full_state(model)
        for at in (1, 3, 20):
            asked[0], limit[0] = 0, at
            with pytest.raises(RuntimeError, match="enough"):
                model.learn_many(EXAMPLES[count:], TARGETS[count:])
            assert full_state(model) == before
        for label in ("pear", "zucchini"):
            asked[0], limit[0] = 0, 1
            with pytest.raises(RuntimeError, match="enough"):
                model.learn_one({"new": 1.0, "feature 1": 2.0}, label)
            assert full_state(model) == before
        limit[0] = 0
        model.learn_many(EXAMPLES[count:], TARGETS[count:])
        other.learn_many(EXAMPLES, TARGETS)
        assert full_state(model) == full_state(other)


def test_the_rule_must_be_a_name_or_a_declared_rule():
    for wrong in (lambda m, v: (0.0, 0.0), None, 3):
        with pytest.raises(TypeError, match="the name of an algorithm or a Rule"):
            StreamClassifier(wrong)


@pytest.mark.parametrize("labels", [["a", "b", "a", "b"], ["a", "b", "c", "a"]], ids=["two", "three"])
def test_an_example_whose_score_or_variance_overflows_is_predicted_with_a_probability(labels):
    model = StreamClassifier("scw1", initial_variance=1e90)
    model.learn_many([{"x": 1.0, "y": -0.5}, {"x": -1.0}, {"y": 2.0}, {"x": 0.5, "y": 1.0}], labels)
    far = {"x": 1e150, "y": -1e150}
    alone, (together,) = model.predict_proba_one(far), model.predict_proba_many([far])
    assert [*alone.values()] == together.tolist()
    assert sum(alone.values()) == pytest.approx(1)
    assert max(alone, key=alone.get) == model.predict_one(far) == model.predict_many([far])[0]


@pytest.mark.parametrize("bad", [{"a": float("nan")}, {f"n{i}": 1.0 for i in range(5)}], ids=len)
@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("at", [0, 3, 5])
@pytest.mark.parametrize("new", [[], ["z"], ["z", "w"]], ids=str)
@pytest.mark.parametrize("known", [[], ["x", "y"], ["x", "y", "v"]], ids=str)
def test_a_bad_example_is_refused_by_its_number_whatever_the_labels_and_weights(known, new, at, weight, bad):
    model = StreamClassifier("arow", max_features=4)
    if known:
        model.learn_many([{"a": float(i)} for i in range(len(known))], known)
    before = full_state(model)
    examples = [{"a": 1.0, "b": 2.0}] * 6
    examples[at] = bad
    labels = ["x", "y", "x", *(new or ["y"]), "x", "y"][:6]
    weights = [1.0] * 6
    weights[at] = weight
    with pytest.raises(ValueError, match=rf"^examples\[{at}\]"):
        model.learn_many(examples, labels, weights)
    assert full_state(model) == before
    if known:
        with pytest.raises(ValueError, match=r"^x"):
            model.learn_one(bad, "x", weight)
        assert full_state(model) == before
