"""Warnings about runs: when they appear, and what they say."""

from dataclasses import replace

import pytest

from report_examples import a_record
from scwlearn.data.run_record import Baseline, Point
from scwlearn.runs.coverage import Coverage
from scwlearn.runs.warnings import record_warnings, unknown_features

# As the examples of a record: 20 % of 1000 are mistakes.
CURVE = [Point(1000, 200, 300, 7, 0.1)]
NO_WARNING = a_record(curve=CURVE, baseline=Baseline("no", 0.4), holdout=None, holdout_baseline=None, settings={})
WORSE = replace(NO_WARNING, baseline=Baseline("no", 0.1))


def test_a_good_run_has_no_warning():
    assert record_warnings(NO_WARNING) == []
    assert record_warnings(a_record()) == []
    assert record_warnings(replace(NO_WARNING, curve=[])) == []


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({}, "--scale standard, another algorithm (scwlearn compare) or a shuffled order (--shuffle-buffer N)"),
        ({"scale": "rms"}, "another algorithm (scwlearn compare) or a shuffled order (--shuffle-buffer N)"),
        ({"scale": "rms", "shuffle_buffer": 9}, "another algorithm (scwlearn compare)"),
    ],
)
def test_a_model_worse_than_the_baseline(settings, advice):
    assert record_warnings(replace(WORSE, settings=settings)) == [
        f"the model makes more mistakes (20.00%) than always predicting 'no' would (10.00%); try {advice}"
    ]


def test_a_baseline_must_be_beaten_only_where_that_is_meaningful():
    few = [Point(99, 50, 60, 7, 0.1)]
    assert record_warnings(replace(WORSE, curve=few)) == []
    # Class weights trade mistakes on frequent classes for fewer on rare ones.
    assert record_warnings(replace(WORSE, settings={"class_weight": "balanced"})) == []
    # A record of an earlier version.
    assert record_warnings(replace(WORSE, baseline=None)) == []
    # As large as the error, up to rounding.
    assert record_warnings(replace(WORSE, baseline=Baseline("no", 0.2 - 1e-16))) == []


def test_a_model_worse_than_the_baseline_on_held_out_examples():
    held_out = replace(NO_WARNING, holdout={"count": 20, "error": 0.3}, holdout_baseline=Baseline(7, 0.25))
    assert record_warnings(held_out) == [
        "on the held-out examples, the model makes more mistakes (30.00%) than always predicting 7 would (25.00%); "
        "try --scale standard, another algorithm (scwlearn compare) or a shuffled order (--shuffle-buffer N)"
    ]
    both = record_warnings(replace(held_out, baseline=Baseline("no", 0.1)))
    assert [text.partition(" makes")[0] for text in both] == ["the model", "on the held-out examples, the model"]
    assert ["; try " in text for text in both] == [False, True]
    assert record_warnings(replace(held_out, holdout={"count": 19, "error": 0.3})) == []
    assert record_warnings(replace(held_out, holdout={"count": 20, "error": 0.25})) == []


@pytest.mark.parametrize(
    ("buffer", "advice"),
    [(0, "--shuffle-buffer N, with N larger than the runs"), (100, "a larger --shuffle-buffer")],
)
def test_sorted_labels(buffer, advice):
    record = replace(NO_WARNING, sorted_labels=True, settings={"shuffle_buffer": buffer})
    assert record_warnings(record) == [
        "labels come in long runs, as in a sorted file: do not trust the error, and expect the model to forget the "
        f"classes that it saw first; shuffle the file, or use {advice}"
    ]


def test_sorted_labels_are_advised_about_once():
    _, worse = record_warnings(replace(WORSE, sorted_labels=True))
    assert worse.endswith("; try --scale standard or another algorithm (scwlearn compare)")


def test_labels_that_are_no_classes():
    one = replace(NO_WARNING, classes=["only"], baseline=Baseline("only", 0.0))
    assert record_warnings(one) == ["all examples have the label only; a classifier needs at least two classes"]
    many = replace(NO_WARNING, classes=[*range(101)])
    assert record_warnings(many) == ["101 distinct labels in 1,000 examples; is this a regression target?"]


@pytest.mark.parametrize(
    ("labels", "weights", "unseen", "known"),
    [
        (["ham", "spam"], {"ham": 2.0, "Spam": 3.0, "egg": 1.0}, "Spam, egg", "ham, spam"),
        ([-1, 1], {"1": 2.0, "+1": 3.0, "-1.0": 1.0, "2": 5.0}, "2", "-1, 1"),
        ([*range(12)], {"12": 2.0}, "12", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"),
    ],
)
def test_class_weights_of_labels_that_are_not_in_the_data(labels, weights, unseen, known):
    record = replace(NO_WARNING, classes=labels, settings={"class_weight": weights})
    assert record_warnings(record) == [
        f"--class-weight names labels that are not in the data: {unseen}; the labels are {known}"
    ]


def test_class_weights_of_labels_in_the_data():
    for weights in ({"no": 1.0, "yes": 2.0}, {"no": 3.0, "maybe": 0.0}, "balanced", None):
        assert record_warnings(replace(NO_WARNING, settings={"class_weight": weights})) == []


@pytest.mark.parametrize(
    ("coverage", "message"),
    [
        (
            Coverage(20, 0, "Size", "size"),
            "the model knows none of the features in the data, and ignores them, such as 'Size'; it knows "
            "'size'; check that columns, keys and namespaces are named as in the training data",
        ),
        (
            Coverage(2000, 247, 57, 12),
            "the model knows only 12.35% of the features in the data, and ignores the others, such as 57; the last "
            "that it knows is 12; check that features are numbered as in the training data",
        ),
    ],
)
def test_unknown_features(coverage, message):
    assert unknown_features(coverage) == [message]
