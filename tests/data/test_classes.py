"""Class numbers of labels, and class weights."""

import numpy as np
import pytest

from scwlearn.data.labels import Classes, count_labels
from scwlearn.data.weights import ClassWeights


def test_classes_are_numbered_in_order_of_appearance():
    classes = Classes().add(np.array(["b", "d"]))
    found = classes.find(np.array(["d", "c", "a", "c", "b"]))
    assert found.numbers.tolist() == [1, 2, 3, 2, 0]
    assert found.new.tolist() == ["c", "a"]
    wider = classes.add(found.new)
    assert wider.labels.tolist() == ["b", "d", "c", "a"]
    assert wider.in_order.tolist() == ["a", "b", "c", "d"]
    assert len(classes) == 2


@pytest.mark.parametrize("count", [2, 20])
@pytest.mark.parametrize("kind", ["U3", "i8", "i4", "f8", "?", "O"])
def test_labels_are_found_in_any_representation(kind, count):
    labels = np.unique(np.arange(count).astype(kind))[::-1]
    classes = Classes().add(labels)
    some = np.random.default_rng(0).integers(len(labels), size=100)
    found = classes.find(labels[some])
    assert found.numbers.tolist() == some.tolist()
    assert found.numbers.dtype == np.int32
    assert not len(found.new)


def test_large_labels_are_not_confused_by_rounding():
    classes = Classes().add(np.array([2**53, 0]))
    assert classes.find(np.array([2**53 + 1, 0])).numbers.tolist() == [2, 1]
    assert Classes().add(np.array([2.0**53, 0.0])).find(np.array([2**53 + 1, 0])).numbers.tolist() == [2, 1]


def test_fixed_class_weights_count_nothing():
    weights, seen = ClassWeights({"a": 2.0}).of(np.array([0, 1], dtype=np.int32), Classes().add(np.array(["a", "b"])))
    assert weights.tolist() == [2.0, 1.0]
    assert len(seen) == 0


@pytest.mark.parametrize("span", [1, 7, 100, 200, 255, 2**16 - 1, 2**16, 2**32 - 1])
@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">u8"])
def test_labels_of_every_range_of_a_type_are_counted(kind, span):
    least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    span = min(span, most - least)
    for low in {least, most - span, min(most - span, max(least, -(span // 2)))}:
        values = sorted({low, low + span // 2, low + span})
        labels = np.array([values[-1], *values, values[0]], dtype=kind)
        found, counts = count_labels(labels)
        assert found.dtype == np.dtype(kind).newbyteorder("=") or found.dtype == kind
        assert found.tolist() == values
        assert dict(zip(values, counts.tolist(), strict=True)) == {v: labels.tolist().count(v) for v in values}
