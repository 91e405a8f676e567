"""Batches of a run: the type, range and order of their labels."""

import io

import numpy as np
import pytest

from scwlearn.data.schema import Schema
from scwlearn.runs.batches import training_labels
from scwlearn.runs.metrics import LabelCounts
from table_text import Reading


def batches(text):
    return Reading(io.BytesIO(text.encode()), Schema("libsvm"))


def test_whole_numbers_are_integer_labels():
    (examples,) = batches("1 1:1\n-1 1:1\n")
    assert training_labels(examples).dtype == np.int64
    (examples,) = batches("1.5 1:1\n1 1:1\n")
    assert training_labels(examples).tolist() == [1.5, 1.0]


def test_labels_that_floats_cannot_tell_apart_are_rejected():
    (examples,) = batches("9007199254740991 1:1\n9007199254740993 1:1\n")
    with pytest.raises(ValueError, match=r"line 2: label 9007199254740992; numeric labels must be below 2\^53"):
        training_labels(examples)


def test_labels_in_long_runs_look_sorted():
    order = LabelCounts()
    for part in np.split(np.repeat([0, 1, 2], 100), 5):
        order.update(part)
    assert order.looks_sorted
    order.update(np.tile([0, 1, 2], 100))
    assert not order.looks_sorted
