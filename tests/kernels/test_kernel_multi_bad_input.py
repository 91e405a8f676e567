"""What a kernel learner for several classes refuses, and that it stays as it was."""

import pickle

import numpy as np
import pytest

from helpers import kernel_several
from kernel_examples import petals, rbf, taught
from scwlearn import _native
from scwlearn.kernels import KernelLearner
from scwlearn.learning.counters import Counts

pytestmark = pytest.mark.native


@pytest.fixture(params=["joint", "ovr"])
def new(request):
    """A maker of new learners."""
    return lambda **how: kernel_several(multi_class=request.param, kernel_parameters={"gamma": 1.0}, **how)


@pytest.mark.parametrize("how", [{"max_support": 60}, {"budget": 40}])
def test_what_is_refused_changes_nothing(new, how):
    x, y = petals(400, 4)
    learner = new(rule="scw1", **how)
    learner.learn(x[:50], y[:50])
    before = pickle.dumps(learner)
    bad = x.copy()
    bad[350, 1] = np.nan
    refused = [
        (bad, y, {}, ValueError, "NaN"),
        (x[:, :1], y, {}, ValueError, "1 features"),
        (x, y[:-1], {}, ValueError, "400"),
        (x, y - 1, {}, ValueError, "from 0"),
        (x, y + 0.5, {}, ValueError, "whole numbers"),
        (x, y.astype(str), {}, TypeError, "whole numbers"),
        (x, np.where(np.arange(400) == 300, 5, y), {}, ValueError, "label 5 where 4 classes"),
        (x, y, {"weights": np.full(400, -1.0)}, ValueError, "weight"),
        (x, y, {"weights": np.ones(3)}, ValueError, "400 weights"),
        (x, y, {"order": np.zeros(3)}, ValueError, "order"),
        (x, y, {"scores_out": np.empty((400, 3))}, ValueError, "scores_out"),
        (x, y, {"scores_out": np.empty((400, 4), np.float32)}, TypeError, "scores_out"),
    ]
    if "max_support" in how:
        refused.append((x, y, {}, ValueError, "max_support=60"))
    for rows, labels, more, error, message in refused:
        with pytest.raises(error, match=message):
            learner.learn(rows, labels, **more)
        assert pickle.dumps(learner) == before


def test_a_rule_that_fails_late_leaves_no_class_behind(new):
    x, y = petals(300, 4)
    asked = []

    def fails(margin, variance):
        asked.append(margin)
        if len(asked) == 400:
            raise RuntimeError("enough")
        return 0.1, 0.1 / variance

    learner = new(rule=fails)
    learner.learn(x[:10], np.zeros(10, dtype=int))
    asked.clear()
    before = learner.scores(x), learner.counts, learner.support.count
    with pytest.raises(RuntimeError, match="enough"):
        learner.learn(np.tile(x, (3, 1)), np.tile(y, 3))
    assert np.array_equal(learner.scores(x), before[0])
    assert (learner.counts, learner.support.count) == before[1:]
    assert learner.n_classes == 1


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"multi_class": "all"}, ValueError, "joint, ovr"),
        ({"rivals": "uniform"}, ValueError, "Perceptron"),
        ({"rule": "perceptron", "rivals": "some"}, ValueError, "max, uniform"),
        ({"rule": "perceptron", "rivals": "uniform", "multi_class": "ovr"}, ValueError, "joint"),
        ({"n_classes": -1}, ValueError, "an integer >= 0"),
        ({"n_classes": 2.0}, TypeError, "must be an integer"),
        ({"kernel": "gauss"}, ValueError, "one of linear"),
        ({"budget": 0}, ValueError, "an integer >= 1"),
        ({"C": -1.0}, ValueError, "C must"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(how, error, message):
    with pytest.raises(error, match=message):
        KernelLearner(**({"n_classes": 0} | how))


def test_nothing_is_said_before_anything_is_learned():
    with pytest.raises(ValueError, match="not learned"):
        KernelLearner(n_classes=3).scores([[1.0]])
    with pytest.raises(ValueError, match="an integer >= 0"):
        KernelLearner(n_classes=0).add_classes(-1)
    x, y = petals(50, 3)
    learner = taught(KernelLearner(n_classes=0, kernel="precomputed"), rbf(x, x), y)
    with pytest.raises(ValueError, match=r"needs k\(x, x\)"):
        learner.margin_variances(rbf(x, x))


def test_a_model_that_would_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("scwlearn._util.memory.available_memory", lambda: 10_000)
    x, y = petals(100, 3)
    learner = KernelLearner(n_classes=0)
    with pytest.raises(ValueError, match="examples for 3 classes needs"):
        learner.learn(x, y)
    assert (learner.n_classes, learner.counts, learner.n_features) == (0, Counts(), None)


def test_native_calls_refuse_what_does_not_fit():
    x, y = petals(40, 3)
    learner = taught(KernelLearner(n_classes=0), x, y)
    binary = taught(KernelLearner("pa1"), x, np.where(y == 1, 1, -1))
    models, sizes, tally = learner.model.native(0.0), learner.model.sizes, np.zeros(3, dtype=np.int64)
    rule = _native.Rule("arow", [1.0])

    def spans_of(widths, rows=2):
        zeros = np.zeros(rows)
        return [
            _native.Coordinates(np.zeros((rows, width)), np.zeros(rows * rows), zeros.copy(), zeros, zeros, 0, width)
            for width in widths
        ]

    all_spans = spans_of(sizes)

    def call(
        models=models, known=3, joint=True, spans=all_spans, labels=2, weights=None, rivals="max", work=10**6,
        scores=None, variances=None, block=2, threads=1,
    ):  # fmt: skip
        _native.learn_coordinates_of_classes(
            rule, models, np.array([known]), joint, spans, np.zeros(labels, dtype=np.int32), weights, rivals,
            np.empty(work), scores, variances, block, threads,
        )  # fmt: skip

    call()
    other = learner.model.gaussian(0)
    other.scalars = other.scalars.copy()
    for bad in (
        {"models": []}, {"models": [*models[:2], None]}, {"known": 4}, {"known": -1}, {"spans": spans_of(sizes[:2])},
        {"spans": [None] * 3}, {"spans": spans_of([sizes[0] + 1, *sizes[1:]])}, {"spans": spans_of(sizes, rows=3)},
        {"spans": [*spans_of(sizes[:2]), *spans_of(sizes[2:], rows=3)]}, {"labels": 3}, {"weights": np.ones(3)},
        {"rivals": "none"}, {"work": 3}, {"scores": np.empty((3, 3))}, {"scores": np.empty(2)},
        {"variances": np.empty(3)}, {"block": 0}, {"threads": 0}, {"models": [*models[:2], other.native(tally)]},
        {"models": [*models[:2], binary.model.gaussian(0).native(tally)]},
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=r"\w"):
            call(**bad)
