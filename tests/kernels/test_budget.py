"""Kernel learners with a budget: a full support learns from projections onto its span."""

import numpy as np
import pytest

from kernel_examples import GAMMA, RULES, new, petals, rbf, rings, several_classes, taught
from learner_examples import in_order_of_appearance
from reference import GAUSSIAN_FORM, defaults_of
from scwlearn.kernels import KernelLearner

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("quiet_blas")]


@pytest.mark.parametrize("rule", ["scw1", "cw", "arow", "nherd", "pa"])
@pytest.mark.parametrize("budget", [1, 25])
def test_a_full_support_learns_from_projections_onto_its_span(rule, budget):
    x, y = rings(350, noise=0.2)
    learner = KernelLearner(rule, kernel_parameters=GAMMA, budget=budget, **defaults_of(rule))
    learner.learn(x[:250], y[:250])
    assert learner.support.count == budget
    gaussian = learner.model.gaussian(0)
    mean, sigma = gaussian.weights()[0, :budget], gaussian.matrix()[:budget, :budget]
    scores, variances = [], []
    for row, label in zip(x[250:], y[250:], strict=True):
        t = np.linalg.solve(learner.support.factor, rbf(row[None], learner.support.examples)[0])
        inside = t @ sigma @ t
        f, v = mean @ t, inside + 1.0 - t @ t
        scores.append(f)
        variances.append(v)
        if rule == "pa":
            alpha, k = max(0.0, 1 - label * f) / v, 0.0
        else:
            alpha, _, k, _ = GAUSSIAN_FORM[rule](label * f, v, 0, **defaults_of(rule)) or (0.0, 0.0, 0.0, 1.0)
        mean = mean + alpha * label * (sigma @ t)
        sigma = sigma - k / (1 + k * inside) * np.outer(sigma @ t, sigma @ t)
    trace = learner.trace(x[250:], y[250:])
    np.testing.assert_allclose(trace.score, scores, rtol=0, atol=1e-8)
    np.testing.assert_allclose(trace.variance, variances, rtol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_an_outlier_does_little_to_a_full_support(rule):
    x, y = rings(300)
    learner = taught(KernelLearner(rule, kernel_parameters={"gamma": 4.0}, budget=40), x, y)
    assert learner.support.count == 40
    before = learner.scores(x)
    learner.learn([[6.0, 6.0]], [-np.sign(learner.scores([[6.0, 6.0]])[0]) or 1])
    assert np.abs(learner.scores(x) - before).max() <= 1e-3 * np.abs(before).max()


@pytest.mark.parametrize("rule", ["scw1", "pa1"])
@several_classes
def test_a_budget_is_kept_and_costs_little_accuracy(axis, rule):
    x, y = petals(800, 4, noise=0.02)
    learner, free = new(axis, rule=rule, budget=30), taught(new(axis, rule=rule), x, y)
    for start in range(0, 800, 100):
        learner.learn(x[start : start + 100], y[start : start + 100])
        assert learner.support.count <= 30
    assert learner.support.count < free.support.count
    errors = [(one.scores(x).argmax(axis=1) != y).mean() for one in (learner, free)]
    assert errors[0] < errors[1] + 0.1
    assert learner.counts.updates > 30


@several_classes
def test_a_new_class_learns_in_the_span_of_a_full_support(axis):
    x, y = petals(800, 4, noise=0.0)
    learner = new(axis, budget=20)
    early = y < 3
    learner.learn(x[early], in_order_of_appearance(y[early]))
    assert learner.support.count == 20
    learner.learn(x, np.where(early, 0, 3))
    assert learner.support.count == 20
    assert (learner.scores(x).argmax(axis=1) == 3)[~early].mean() > 0.7
