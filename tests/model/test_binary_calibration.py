"""Calibration in the binary case: what the curve recovers, its symmetries, drift and long streams."""

import numpy as np
import pytest

from calibration_streams import binary_stream, learned
from calibration_textbook import KNOTS
from scwlearn import Learner
from scwlearn.model.calibration import Calibration

pytestmark = pytest.mark.native


def line(calibration):
    return *calibration.slopes, *calibration.constants


def test_it_recovers_a_logistic_line():
    f, v, y, p = binary_stream(100_000)
    calibration = learned(f, v, y, window=1e9)
    a, b, c = line(calibration)
    assert (a, c) == pytest.approx((1.5, -0.5), abs=0.1)
    assert b < 0.1
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.01


def test_it_recovers_a_curve_that_is_not_logistic():
    random = np.random.default_rng(0)
    f, v = random.uniform(-3, 3, 50_000), np.full(50_000, 1e-9)
    p = np.where(abs(f) < 1, 0.5, np.where(f > 0, 0.9, 0.2))
    calibration = learned(f, v, random.random(len(f)) < p)
    a, b, c = line(calibration)
    by_line = 1 / (1 + np.exp(-(a * f + b * np.sign(f) * 8 + c)))
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.05 < 0.07 < abs(by_line - p).mean()


def test_swapped_labels_swap_the_probabilities():
    f, v, y, _ = binary_stream(3000)
    p, q = learned(f, v, y).probabilities(f, v), learned(-f, v, 1 - y).probabilities(-f, v)
    np.testing.assert_allclose(p, 1 - q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("power", [-12, 12])
def test_the_scale_of_scores_without_variance_does_not_matter(power):
    f, v, y, _ = binary_stream(3000)
    scale = 2.0**power
    p, q = learned(f, 0 * v, y).probabilities(f, 0 * v), learned(f * scale, 0 * v, y).probabilities(f * scale, 0 * v)
    np.testing.assert_allclose(p, q, rtol=1e-9)


def test_probabilities_never_fall_where_the_score_rises():
    random = np.random.default_rng(3)
    for _ in range(20):
        rows = int(random.integers(1, 300))
        f, v = random.standard_normal(rows) * 10 ** random.uniform(-3, 3), random.gamma(0.5, 1, rows)
        calibration = learned(f, v, random.integers(0, 2, rows))
        for variance in (0.0, 0.1, 100.0):
            scores = np.sort(np.append(f, random.standard_normal(1000) * 30))
            probabilities = calibration.probabilities(scores, np.full(len(scores), variance))
            assert (np.diff(probabilities) >= -1e-12).all()
            assert ((probabilities > 0) & (probabilities < 1)).all()


def test_a_weight_of_two_is_close_to_two_rows():
    f, v, y, _ = binary_stream(20_000)
    twice = learned(np.repeat(f, 2), np.repeat(v, 2), np.repeat(y, 2), window=1e9)
    heavy = learned(f, v, y, np.full(len(f), 2.0), window=1e9)
    np.testing.assert_allclose(heavy.probabilities(f, v), twice.probabilities(f, v), atol=0.01)


def test_the_first_probabilities_are_near_the_base_rate():
    calibration = Calibration()
    assert calibration.probabilities([0.0, 5.0], [1.0, 1.0]).tolist() == [0.5, 0.5]
    random = np.random.default_rng(0)
    calibration.learn(random.standard_normal(50), np.ones(50), random.random(50) < 0.1)
    p = calibration.probabilities([-1.0, 0.0, 1.0], [1.0, 1.0, 1.0])
    assert p.max() < 0.35


def test_a_short_window_follows_drift():
    f, v, y, _ = binary_stream(20_000)
    changed = binary_stream(20_000, seed=1, slope=0.2, offset=1.0)
    short, long = (learned(f, v, y, window=window) for window in (1000, 1e9))
    for calibration in (short, long):
        calibration.learn(*(column[:3000] for column in changed[:3]))
    off = [abs(c.probabilities(*changed[:2]) - changed[3]).mean() for c in (short, long)]
    assert off[0] < 0.05 < off[1]


def test_growing_scores_of_a_separable_stream_stay_finite():
    y = np.where(np.arange(5000) % 2, 1, -1)
    f = y * np.linspace(0.1, 1, 5000) * np.exp(np.arange(5000) / 20)
    calibration = learned(f, np.exp(-np.arange(5000) / 10), y > 0)
    assert np.isfinite(calibration.state).all()
    p = calibration.probabilities([-f.max(), -1, 1, f.max()], np.zeros(4))
    assert ((p > 0) & (p < 1)).all()
    assert p[0] < 0.01 < 0.99 < p[-1]


def test_a_long_stream_with_a_short_window_stays_finite():
    f, v, y, p = binary_stream(100_000)
    calibration = learned(f, v, y, window=500)
    assert np.isfinite(calibration.state).all()
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.1


def test_mirrored_equals_training_on_swapped_labels():
    f, v, y, _ = binary_stream(5000)
    y = np.where(np.random.default_rng(1).random(5000) < 0.2, 1, y)
    mirrored, other = learned(f, v, y).mirrored(), learned(-f, v, 1 - y)
    np.testing.assert_allclose(mirrored.probabilities(f, v), other.probabilities(f, v), rtol=1e-9)
    np.testing.assert_allclose(line(mirrored), line(other), rtol=1e-9)
    np.testing.assert_array_equal(line(mirrored.mirrored()), line(learned(f, v, y)))
    for calibration in (mirrored, other):
        calibration.learn(f, v, 1 - y)
    np.testing.assert_allclose(mirrored.probabilities(f, v), other.probabilities(f, v), rtol=1e-9)


def test_a_merged_calibration_learns_on():
    f, v, y, p = binary_stream(20_000)
    merged = Calibration.merged(
        [learned(f[:5000], v[:5000], y[:5000]), learned(f[5000:9000], v[5000:9000], y[5000:9000])]
    )
    merged.learn(f[9000:], v[9000:], y[9000:])
    assert merged.rows == 20_000
    assert abs(merged.probabilities(f, v) - p).mean() < 0.02


@pytest.mark.parametrize("rule", ["scw1", "arow", "pa1", "perceptron"])
def test_probabilities_of_a_trained_learner_hold_on_new_rows(rule):
    random = np.random.default_rng(5)
    x = random.standard_normal((6000, 5))
    p = 1 / (1 + np.exp(-(x @ [1.0, -0.5, 0.3, 0.0, 0.0] - 0.7)))
    y = np.where(random.random(6000) < p, 1, -1)
    learner, calibration = Learner(rule, intercept=True), Calibration()
    before = learner.trace(x[:4000], y[:4000])
    calibration.learn(before.score, before.variance, y[:4000] > 0)
    probabilities = calibration.probabilities(learner.scores(x[4000:]), learner.margin_variances(x[4000:]))
    new = y[4000:] > 0
    base = new.mean()
    assert ((probabilities - new) ** 2).mean() < 0.95 * base * (1 - base)


def test_rounding_breaks_no_ties_where_the_curve_is_level():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=500)
    calibration = Calibration()
    calibration.learn(scores, np.ones(500), scores + rng.normal(size=500) > 0)
    for height in (0.1, -0.7, 1 / 3):
        shifts = slice(len(calibration.state) - len(KNOTS) - 5, -5)  # before the five numbers of the score
        calibration.state[shifts] = height - KNOTS
        assert (calibration.shifts == height - KNOTS).all()
        assert len(set(calibration.probabilities(scores, np.ones(500)).tolist())) == 1
