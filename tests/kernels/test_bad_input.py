"""Input that kernel learners reject; afterwards they are as before."""

import pickle

import numpy as np
import pytest

from kernel_examples import draw, every_axis, new, petals, rbf, rings, several_classes, taught
from scwlearn import _native
from scwlearn.kernels import KernelLearner
from scwlearn.learning.counters import Counts

pytestmark = pytest.mark.native


@every_axis
@pytest.mark.parametrize("settings", [{"max_support": 60}, {"budget": 40}], ids=str)
def test_rejected_rows_change_nothing(axis, settings):
    x, y = draw(axis, 400)
    learner = taught(new(axis, **settings), x[:50], y[:50])
    before = pickle.dumps(learner)
    bad = x.copy()
    bad[350, 1] = np.nan
    several = axis != "binary"
    shape = (400, 4) if several else (400,)
    rejected = [
        (bad, y, {}, ValueError, "NaN"),
        (x[:, :1], y, {}, ValueError, "1 features"),
        (x, y[:-1], {}, ValueError, "400"),
        (x, y - 3, {}, ValueError, "from 0" if several else "-1"),
        (x, y + 0.5, {}, ValueError, "integers" if several else "-1"),
        (x, y.astype(str), {}, (TypeError, ValueError), "class numbers" if several else "-1"),
        (x, y, {"weights": np.full(400, -1.0)}, ValueError, "weight"),
        (x, y, {"weights": np.ones(3)}, ValueError, "400 weights"),
        (x, y, {"order": np.zeros(3)}, ValueError, "order"),
        (x, y, {"scores_out": np.empty((400, 3))}, ValueError, "scores_out must have the shape"),
        (x, y, {"scores_out": np.empty(shape, np.float32)}, TypeError, "scores_out"),
        (x, y, {"variances_out": np.empty(399)}, ValueError, "variances_out must have the shape"),
        (x, y, {"variances_out": np.empty((400, 1))}, ValueError, "variances_out must have the shape"),
        (x, y, {"variances_out": [0.0] * 400}, TypeError, "variances_out must be a writable NumPy array"),
    ]
    if several:
        skipping = np.where(np.arange(400) == 300, 5, y)
        rejected.append((x, skipping, {}, ValueError, "label 5 where 4 classes"))
    if "max_support" in settings:
        rejected.append((x, y, {}, ValueError, "max_support=60"))
    for rows, labels, given, error, message in rejected:
        with pytest.raises(error, match=message):
            learner.learn(rows, labels, **given)
        assert pickle.dumps(learner) == before


@every_axis
def test_a_kernel_that_fails_late_leaves_no_trace(axis):
    x, y = draw(axis, 400)
    calls = []

    def fails(a, b):
        calls.append(a)
        kernels = rbf(a, b)
        if len(calls) > 3:
            kernels[0, 0] = np.nan
        return kernels

    learner = new(axis, kernel=fails)
    with pytest.raises(ValueError, match=r"nan .*must be finite"):
        learner.learn(x, y)
    assert (learner.counts, learner.support.count, learner.n_features) == (Counts(), 0, None)
    assert learner.n_classes == (None if axis == "binary" else 0)


@every_axis
def test_a_row_whose_kernel_with_itself_overflows_has_a_score_and_an_infinite_variance(axis):
    x, y = draw(axis, 60)
    learner = taught(new(axis, kernel="poly", kernel_parameters={"degree": 3}), x, y)
    scores, variances = learner.scores_and_variances(np.full((1, x.shape[1]), 1e80))
    assert np.isfinite(scores).all()
    assert np.isinf(variances).all()


@every_axis
def test_a_rule_that_fails_late_leaves_no_trace(axis):
    x, y = draw(axis, 300)
    calls = []

    def fails(margin, variance):
        calls.append(margin)
        if len(calls) == 400:
            raise RuntimeError("enough")
        return 0.1, 0.1 / variance

    learner = new(axis, rule=fails)
    learner.learn(x[:10], np.full(10, 1 if axis == "binary" else 0))
    calls.clear()
    before = learner.scores(x), learner.counts, learner.support.count, learner.n_classes
    with pytest.raises(RuntimeError, match="enough"):
        learner.learn(np.tile(x, (3, 1)), np.tile(y, 3))
    assert np.array_equal(learner.scores(x), before[0])
    assert (learner.counts, learner.support.count, learner.n_classes) == before[1:]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"kernel": "gauss"}, ValueError, "one of linear"),
        ({"kernel": 3}, TypeError, "name or a function"),
        ({"kernel_parameters": {"degree": 2}}, TypeError, "takes gamma"),
        ({"kernel": "linear", "kernel_parameters": {"gamma": 2}}, TypeError, "no parameters"),
        ({"budget": 0}, ValueError, "budget must be an integer >= 1"),
        ({"budget": 2.5}, TypeError, "budget must be an integer >= 1"),
        ({"tolerance": 2.0}, ValueError, "between 0 and 1"),
        ({"max_support": -1}, ValueError, "max_support must be an integer >= 1"),
        ({"intercept": 1}, TypeError, "True or False"),
        ({"initial_variance": 0.0}, ValueError, "initial_variance"),
        ({"C": -1.0}, ValueError, "C must"),
        ({"multi_class": "all"}, ValueError, "joint, ovr"),
        ({"rivals": "uniform"}, ValueError, "Perceptron"),
        ({"rule": "perceptron", "rivals": "some"}, ValueError, "max, uniform"),
        ({"rule": "perceptron", "rivals": "uniform", "multi_class": "ovr"}, ValueError, "joint"),
        ({"n_classes": -1}, ValueError, "an integer >= 0"),
        ({"n_classes": 2.0}, TypeError, "must be an integer"),
    ],
)
def test_an_invalid_setting_is_rejected(settings, error, message):
    with pytest.raises(error, match=message):
        KernelLearner(**settings)


@every_axis
def test_an_untrained_learner_has_no_scores(axis):
    for call in (new(axis).scores, new(axis).margin_variances):
        with pytest.raises(ValueError, match="not learned"):
            call([[1.0]])


@several_classes
def test_a_negative_number_of_classes_is_rejected(axis):
    with pytest.raises(ValueError, match="an integer >= 0"):
        new(axis).add_classes(-1)


def test_a_model_that_does_not_fit_into_memory_is_rejected(monkeypatch):
    monkeypatch.setattr("scwlearn._util.memory.available_memory", lambda: 10_000)
    monkeypatch.setattr("scwlearn._util.memory._UNCHECKED_BYTES", 0)
    x, y = petals(100, 3)
    learner = KernelLearner(n_classes=0)
    with pytest.raises(ValueError, match="examples for 3 classes needs"):
        learner.learn(x, y)
    assert (learner.n_classes, learner.counts, learner.n_features) == (0, Counts(), None)


def test_native_calls_reject_arrays_that_do_not_fit():
    learner = KernelLearner("scw1")
    x, y = rings(20)
    learner.learn(x, y)
    rule = _native.Rule("arow", [1.0])
    model, size = learner.model.gaussian(0).native(learner.model.tally), learner.model.gaussian(0).size

    def call(rows=2, width=size, residuals=4, support=0, room=9, block=2, threads=1, weights=None):
        coordinates = _native.Coordinates(
            np.zeros((rows, width)), np.zeros(residuals), np.zeros(2), np.zeros(2), np.zeros(2), support, room
        )
        labels = np.ones(2, dtype=np.int8)
        known = np.ones(1, dtype=np.int64)
        _native.learn_coordinates(rule, [model], known, True, [coordinates], labels, weights, block, threads)

    for bad in (
        {"rows": 3}, {"width": size - 1}, {"residuals": 3}, {"support": size - 1, "room": size + 1}, {"support": -1},
        {"room": -1}, {"weights": np.ones(3)}, {"block": 0}, {"threads": 0},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"\w"):
            call(**bad)


def test_native_calls_for_classes_reject_arrays_that_do_not_fit():
    x, y = petals(40, 3)
    learner = taught(KernelLearner(n_classes=0), x, y)
    binary = taught(KernelLearner("pa1"), x, np.where(y == 1, 1, -1))
    models, sizes, tally = learner.model.native(), learner.model.sizes, np.zeros(3, dtype=np.int64)
    rule = _native.Rule("arow", [1.0])

    def spans_of(widths, rows=2):
        zeros = np.zeros(rows)
        return [
            _native.Coordinates(np.zeros((rows, width)), np.zeros(rows * rows), zeros.copy(), zeros, zeros, 0, width)
            for width in widths
        ]

    all_spans = spans_of(sizes)

    def call(
        models=models, known=3, joint=True, spans=all_spans, labels=2, weights=None, scores=None,
        variances=None, block=2, threads=1,
    ):  # fmt: skip
        _native.learn_coordinates(
            rule, models, np.array([known]), joint, spans, np.zeros(labels, dtype=np.int32), weights, block,
            threads, None, scores, variances,
        )  # fmt: skip

    call()
    other = learner.model.gaussian(0)
    other.scalars = other.scalars.copy()
    for bad in (
        {"models": []}, {"models": [*models[:2], None]}, {"known": 4}, {"known": -1}, {"spans": spans_of(sizes[:2])},
        {"spans": [None] * 3}, {"spans": spans_of([sizes[0] + 1, *sizes[1:]])}, {"spans": spans_of(sizes, rows=3)},
        {"spans": [*spans_of(sizes[:2]), *spans_of(sizes[2:], rows=3)]}, {"labels": 3}, {"weights": np.ones(3)},
        {"scores": np.empty((3, 3))}, {"scores": np.empty(2)},
        {"variances": np.empty(3)}, {"block": 0}, {"threads": 0}, {"models": [*models[:2], other.native(tally)]},
        {"models": [*models[:2], binary.model.gaussian(0).native(tally)]},
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=r"\w"):
            call(**bad)
