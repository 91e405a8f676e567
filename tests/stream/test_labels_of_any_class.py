"""Labels of any class mean the same in all calls, or are refused by all."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scwlearn
from scalars import SCALARS, STRINGS, Counted, objects
from scwlearn import AROW, StreamClassifier
from scwlearn.learning.tuning import tune
from stream_examples import X, full_state, one_by_one

pytestmark = pytest.mark.native


@pytest.mark.parametrize("of", STRINGS.values(), ids=STRINGS)
@pytest.mark.parametrize(
    "listed", [list, tuple, iter, objects, lambda labels: pd.Series(objects(labels), dtype=object)]
)
def test_a_label_is_the_string_that_it_is(of, listed):
    ham, spam = of("ham"), of("spam")
    rows, many, each = [{"see": 1.0}, {"offer": 1.0}] * 5, StreamClassifier("arow"), StreamClassifier("arow")
    many.learn_many(rows, listed([ham, spam] * 5))
    one_by_one(each, rows, [ham, spam] * 5)
    declared = StreamClassifier("arow", classes=listed([spam, ham]))
    known = one_by_one(StreamClassifier("arow", classes=["spam", "ham"]), rows, [ham, spam] * 5)
    for model in (many, each, declared, known):
        assert model.classes == ["ham", "spam"]
        assert [*map(type, model.classes)] == [str, str]
    assert full_state(many) == full_state(each)
    assert many.predict_many(rows[:2]) == ["ham", "spam"]
    if listed is iter:
        return
    matrix = np.eye(4)
    for estimator in (
        AROW().fit(matrix, listed([ham, spam] * 2)),
        AROW().partial_fit(matrix[:1], listed([ham]), classes=listed([spam, ham])),
    ):
        assert estimator.classes_.tolist() == ["ham", "spam"]
        assert {*map(type, estimator.classes_.tolist())} == {str}
    assert tune("arow", matrix, listed([ham, spam] * 2)) == tune("arow", matrix, ["ham", "spam"] * 2)


texts = st.text("ab\xe9\u20ac", max_size=3)


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(labels=st.lists(st.tuples(texts, st.sampled_from([*STRINGS])), min_size=1, max_size=6))
def test_labels_of_any_class_are_those_of_str(labels):
    plain, said = [text for text, _ in labels], [STRINGS[kind](text) for text, kind in labels]
    expected = StreamClassifier("arow")
    expected.learn_many([X] * len(labels), plain)
    each, many = one_by_one(StreamClassifier("arow"), [X] * len(labels), said), StreamClassifier("arow")
    many.learn_many([X] * len(labels), said)
    assert full_state(each) == full_state(many) == full_state(expected)


def is_longer_than_a_double(scalar):
    return scalar.dtype.kind == "f" and scalar.dtype.itemsize > 8


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: scalar.dtype.char)
def test_a_scalar_is_a_label_in_all_calls_or_in_none(scalar):
    def outcome(learn):
        model = StreamClassifier("arow")
        try:
            learn(model)
        except (TypeError, ValueError):
            return None
        return full_state(model)

    learned = outcome(lambda model: model.learn_one(X, scalar))
    assert (learned is not None) == (scalar.dtype.kind in "biufU" and not is_longer_than_a_double(scalar))
    for labels in ([scalar], objects([scalar]), np.array([scalar])):
        found = outcome(lambda model, labels=labels: model.learn_many([X], labels))
        assert found == learned


@pytest.mark.parametrize("labels", [[True, 0.5], [np.True_, 1], [0.5, False], [np.False_, True, 3], [1, True]])
def test_true_is_one_among_numbers(labels):
    each, many = one_by_one(StreamClassifier("arow"), [X] * len(labels), labels), StreamClassifier("arow")
    many.learn_many([X] * len(labels), labels)
    objected = StreamClassifier("arow")
    objected.learn_many([X] * len(labels), objects(labels))
    assert each.classes == many.classes == objected.classes
    # Whether the class is True or 1 makes no difference.
    assert full_state(each)[:3] == full_state(many)[:3] == full_state(objected)[:3]


@pytest.mark.parametrize("label", [2**63, -(2**63) - 1, 10**5000, np.uint64(2**63), Counted(10**30)], ids=hex)
def test_a_label_beyond_64_bits_is_refused(label):
    refused = pytest.raises(ValueError, match=r"must be from -2\*\*63 to 2\*\*63 - 1")
    for known in ([], [1], [1, 2, 3]):
        model = one_by_one(StreamClassifier("arow"), [X] * len(known), known)
        before = full_state(model)
        for learn in (
            lambda model=model: model.learn_one(X, label),
            lambda model=model: model.learn_many([X, X], [1, label]),
            lambda model=model: model.learn_many([X, X], objects([1, label])),
        ):
            with refused:
                learn()
            assert full_state(model) == before
    for refuses in (
        lambda: StreamClassifier("arow", classes=[1, label]),
        lambda: AROW().fit([[1.0], [2.0]], objects([1, label])),
        lambda: AROW().partial_fit([[1.0], [2.0]], [1, 2], classes=[1, 2, label]),
    ):
        with refused:
            refuses()


def test_the_largest_labels_are_learned_and_saved(tmp_path):
    model, labels = StreamClassifier("arow"), [2**63 - 1, -(2**63), np.uint64(5)]
    model.learn_many([X] * 3, labels)
    model.save(tmp_path / "model")
    assert scwlearn.load(tmp_path / "model").classes == model.classes == [-(2**63), 5, 2**63 - 1]


@pytest.mark.parametrize("y", [{"a", "b"}, frozenset("ab"), b"ab", bytearray(b"ab"), {"a": 1, "b": 2}, "ab"])
def test_labels_have_an_order(y):
    with pytest.raises(TypeError, match="y must be a list with one label per example, got"):
        StreamClassifier("arow").learn_many([X, X], y)


def test_the_order_of_declared_classes_does_not_matter():
    assert StreamClassifier("arow", classes={"b", "a"}).classes == ["a", "b"]


@pytest.mark.parametrize("label", [1 + 0j, np.complex128(1), np.timedelta64(1), np.timedelta64(1, "s")], ids=repr)
def test_a_value_that_equals_a_label_and_is_none_is_refused(label):
    model = StreamClassifier("arow")
    model.learn_many([{"a": 1.0}, {"a": 2.0}], [1, 0])
    for learn in (lambda: model.learn_one({"a": 1.0}, label), lambda: model.learn_many([{"a": 1.0}], [label])):
        with pytest.raises(TypeError, match="labels must be strings, numbers or bools"):
            learn()
    assert model.counts.seen == 2
