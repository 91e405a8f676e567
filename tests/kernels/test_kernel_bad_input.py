"""What a kernel learner refuses, and that it stays as it was."""

import pickle

import numpy as np
import pytest

from kernel_examples import rbf, rings
from scwlearn import _native
from scwlearn.kernels import KernelLearner

pytestmark = pytest.mark.native


def test_what_is_refused_changes_nothing():
    x, y = rings(400)
    learner = KernelLearner("scw1", max_support=80)
    learner.learn(x[:100], y[:100])
    before = pickle.dumps(learner)
    calls = []

    def spoiled(a, b):
        calls.append(a)
        kernels = rbf(a, b)
        if len(calls) > 3:
            kernels[0, 0] = np.nan
        return kernels

    bad = x.copy()
    bad[350, 1] = np.nan
    for rows, labels, message in (
        (x, y, "max_support=80"),
        (bad, y, "NaN"),
        (x[:, :1], y, "1 features"),
        (x, y[:-1], "labels|length|400"),
        (x, np.full(400, 3), "-1"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.learn(rows, labels)
        assert pickle.dumps(learner) == before
    own = KernelLearner("scw1", kernel=spoiled)
    with pytest.raises(ValueError, match=r"nan .*must be finite"):
        own.learn(x, y)
    assert own.counts.seen == 0
    assert own.support.count == 0
    assert own.model.n_features is None


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"kernel": "gauss"}, ValueError, "one of linear"),
        ({"kernel": 3}, TypeError, "name or a function"),
        ({"kernel_parameters": {"degree": 2}}, TypeError, "takes gamma"),
        ({"kernel": "linear", "kernel_parameters": {"gamma": 2}}, TypeError, "no parameters"),
        ({"budget": 0}, ValueError, "an integer >= 1"),
        ({"budget": 2.5}, TypeError, "must be an integer >= 1"),
        ({"tolerance": 2.0}, ValueError, "between 0 and 1"),
        ({"max_support": -1}, ValueError, "an integer >= 1"),
        ({"intercept": 1}, TypeError, "True or False"),
        ({"initial_variance": 0.0}, ValueError, "initial_variance"),
        ({"C": -1.0}, ValueError, "C must"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(how, error, message):
    with pytest.raises(error, match=message):
        KernelLearner("scw1", **how)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: np.zeros(3), r"shape \(3,\)"),
        (lambda a, b: np.random.default_rng(0).normal(size=(len(a), len(b))), "not symmetric"),
        (lambda a, b: 1e-10 * np.random.default_rng(0).normal(size=(len(a), len(b))), "not symmetric"),
        (lambda a, b: np.full((len(a), len(b)), np.inf), "inf"),
    ],
)
def test_a_function_that_is_no_kernel_is_refused(kernel, message):
    x, y = rings(50)
    with pytest.raises(ValueError, match=message):
        KernelLearner("scw1", kernel=kernel).learn(x, y)


def test_a_precomputed_kernel_is_square():
    x, y = rings(50)
    with pytest.raises(ValueError, match="square"):
        KernelLearner("scw1", kernel="precomputed").learn(rbf(x, x)[:, :40], y)
    x, y = rings(300)
    lopsided = rbf(x, x)
    lopsided[250, 10] = 0.5
    with pytest.raises(ValueError, match="symmetric"):
        KernelLearner("scw1", kernel="precomputed").learn(lopsided, y)
    with pytest.raises(TypeError, match="complex"):
        KernelLearner("scw1", kernel=lambda a, b: rbf(a, b) + 0j).learn(x, y)
    learner = KernelLearner("scw1", kernel="precomputed")
    learner.learn(rbf(x, x), y)
    with pytest.raises(ValueError, match=r"needs k\(x, x\)"):
        learner.margin_variances(rbf(x, x))


def test_nothing_is_said_before_anything_is_learned():
    with pytest.raises(ValueError, match="not learned"):
        KernelLearner("scw1").scores([[1.0]])


def test_native_calls_refuse_what_does_not_fit():
    learner = KernelLearner("scw1")
    x, y = rings(20)
    learner.learn(x, y)
    rule = _native.Rule("arow", [1.0])
    model, size = learner.model.gaussian(0).native(learner.model.tally), learner.model.gaussian(0).size

    def call(rows=2, width=size, residuals=4, support=0, room=9, work=10**6, block=2, threads=1, weights=None):
        coordinates = _native.Coordinates(
            np.zeros((rows, width)), np.zeros(residuals), np.zeros(2), np.zeros(2), np.zeros(2), support, room
        )
        labels = np.ones(2, dtype=np.int8)
        _native.learn_coordinates(rule, model, coordinates, labels, weights, np.empty(work), None, block, threads)

    for bad in (
        {"rows": 3}, {"width": size - 1}, {"residuals": 3}, {"support": size - 1, "room": size + 1}, {"support": -1},
        {"room": -1}, {"work": 3}, {"weights": np.ones(3)}, {"block": 0}, {"threads": 0},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"\w"):
            call(**bad)
