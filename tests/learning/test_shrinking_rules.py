"""Rules that shrink the mean of several classes with a full Sigma: beside plain NumPy, also where a scale is worked in.

A scale of the mean is worked into the weights of all classes when it gets too small, within a block too, while the
updates of some classes are still waiting; most of them take no step in that round.
"""

import numpy as np
import pytest

from learner_examples import FORMS, in_order_of_appearance
from scwlearn import KernelLearner, Learner
from scwlearn.model.full import Full
from scwlearn.rules import HOLD, Rule, Step

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("quiet_blas")]

ROWS, WIDTH, CLASSES, PRIOR = 300, 6, 5, 0.5


def shrinking(m, v):
    return Step(1 / v, precision=0.05 / v, shrink=0.01, grow=0.9) if m < 1 else HOLD


RULE = Rule(shrinking, "shrinking", "", "Shrinking", 2, (), True, True, False, "")


def examples():
    """Classes 3 and 4 are not heard of any more after some rows."""
    rng = np.random.default_rng(4)
    labels = rng.integers(0, CLASSES, ROWS)
    labels[60:] %= 3
    return rng.normal(size=(ROWS, WIDTH)), in_order_of_appearance(labels)


def plain(x, y, form):
    """Weights and Sigma of each class after all rows, and how many rows moved a class."""
    W, S, updates = np.zeros((CLASSES, WIDTH)), np.tile(PRIOR * np.eye(WIDTH), (CLASSES, 1, 1)), 0
    known, grown = 0, 1.0
    for row, label in zip(x, y, strict=True):
        if label == known:
            known, S[label] = known + 1, S[label] if form == "ovr" else PRIOR * grown * np.eye(WIDTH)
            if form == "shared" and label:
                S[label] = S[0]
        scores = W[:known] @ row
        moved = False
        if form == "ovr":
            for c in range(known):
                sign = 1 if c == label else -1
                step = shrinking(sign * scores[c], row @ S[c] @ row)
                if step.alpha:
                    moved = True
                    W[c] = step.shrink * W[c] + sign * step.alpha * S[c] @ row
                    S[c] = step.grow * np.linalg.inv(np.linalg.inv(S[c]) + step.precision * np.outer(row, row))
        elif known > 1:
            rival = int(np.argmax(np.where(np.arange(known) == label, -np.inf, scores)))
            step = shrinking(scores[label] - scores[rival], row @ (S[label] + S[rival]) @ row)
            if step.alpha:
                moved = True
                W *= step.shrink
                W[label] += step.alpha * S[label] @ row
                W[rival] -= step.alpha * S[rival] @ row
                for c in range(known) if form == "shared" else (label, rival):
                    S[c] = np.linalg.inv(np.linalg.inv(S[c]) + step.precision * np.outer(row, row))
                S[:known] *= step.grow
                grown *= step.grow
        updates += moved
    return W, S, updates


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("form", FORMS)
def test_classes_without_a_step_shrink_with_the_others(form, block, monkeypatch):
    monkeypatch.setattr(Full, "block", lambda self, size, stored, lanes, joint: block)
    x, y = examples()
    W, S, updates = plain(x, y, form)
    learner = Learner(RULE, n_classes=0, covariance="full", initial_variance=PRIOR, **FORMS[form])
    assert learner.learn(x, y).updates == updates > 100  # 0.01^100 is less than a scale holds
    np.testing.assert_allclose(learner.model.weights(), W, rtol=0, atol=1e-9 * np.abs(W).max())
    for c in range(CLASSES):
        np.testing.assert_allclose(learner.model.matrix(c), S[c], rtol=1e-8, atol=1e-9 * np.abs(S[c]).max())


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("form", ["joint", "ovr"])
def test_kernel_classes_without_a_step_shrink_with_the_others(form, block, monkeypatch):
    monkeypatch.setattr(Full, "block", lambda self, size, stored, lanes, joint: block)
    x, y = examples()
    W, S, updates = plain(x, y, form)
    learner = KernelLearner(RULE, n_classes=0, kernel="linear", initial_variance=PRIOR, **FORMS[form])
    assert learner.learn(x, y).updates == updates
    np.testing.assert_allclose(learner.scores(x), x @ W.T, rtol=0, atol=1e-8 * np.abs(W).max())
    variances = np.einsum("ni,kij,nj->nk", x, S, x)
    np.testing.assert_allclose(learner.margin_variances(x), variances, rtol=1e-7)
