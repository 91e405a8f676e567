"""Calibration with several classes: what it recovers, beside the binary curve, and new classes."""

import numpy as np
import pytest

from calibration_streams import class_stream, learned
from scwlearn.model.calibration import Calibration

pytestmark = pytest.mark.native


def test_it_recovers_the_true_probabilities():
    f, v, labels, p = class_stream(50_000)
    calibration = learned(f, v, labels, window=1e9)
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.01
    np.testing.assert_allclose(np.diff(calibration.constants), 2 / 3, atol=0.1)


@pytest.mark.parametrize("classes", [2, 3, 50])
def test_probabilities_sum_to_one_and_are_positive(classes):
    f, v, labels, _ = class_stream(500, classes, slope=8)
    p = learned(f, v, labels).probabilities(f * 100, v)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert ((p > 0) & (p < 1)).all()


def test_the_order_of_the_classes_does_not_matter():
    f, v, labels, _ = class_stream(1000)
    order = np.array([2, 0, 3, 1])
    one, other = learned(f, v, labels), learned(f[:, order], v, np.argsort(order)[labels])
    np.testing.assert_allclose(other.probabilities(f[:, order], v), one.probabilities(f, v)[:, order], rtol=1e-8)


def test_the_probability_of_a_class_rises_with_its_score():
    f, v, labels, _ = class_stream(500)
    calibration = learned(f, v, labels)
    for row in range(20):
        scores = np.repeat(f[[row]], 200, axis=0)
        scores[:, 1] = np.linspace(-20, 20, 200)
        assert (np.diff(calibration.probabilities(scores, np.full(200, v[row]))[:, 1]) >= -1e-12).all()


def test_two_scores_are_close_to_the_binary_curve():
    f, v, labels, _ = class_stream(20_000, 2)
    binary = learned(f[:, 1] - f[:, 0], v, labels)
    expected = binary.probabilities(f[:, 1] - f[:, 0], v)
    np.testing.assert_allclose(learned(f, v, labels).probabilities(f, v)[:, 1], expected, atol=0.05)


@pytest.mark.parametrize("rows", [0, 1, 30, 5000])
def test_a_binary_curve_expands_to_classes(rows):
    f, v, labels, p = class_stream(rows + 3000, 3)
    binary = Calibration(window=2000)
    binary.learn((f[:, 1] - f[:, 0])[:rows], v[:rows], labels[:rows] == 1)
    calibration = binary.expanded()
    assert (calibration.window, calibration.rows) == (2000, rows)
    expected = binary.probabilities(f[:, 1] - f[:, 0], v)
    np.testing.assert_allclose(calibration.probabilities(f[:, :2], v)[:, 1], expected, atol=0.1)
    calibration.add_classes(1)
    calibration.learn(f[rows:], v[rows:], labels[rows:])
    assert np.isfinite(calibration.state).all()
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.04


def test_an_expanded_curve_is_close_to_one_learned_from_the_start():
    f, v, labels, _ = class_stream(4000, 2)
    binary = learned((f[:, 1] - f[:, 0])[:3000], v[:3000], labels[:3000])
    calibration = binary.expanded()
    calibration.learn(f[3000:], v[3000:], labels[3000:])
    always = learned(f, v, labels)
    np.testing.assert_allclose(calibration.probabilities(f, v), always.probabilities(f, v), atol=0.05)


def test_a_class_may_be_added_later():
    f, v, labels, p = class_stream(30_000, 3)
    known = labels[:5000] < 2
    calibration = Calibration(2)
    calibration.learn(f[:5000, :2][known], v[:5000][known], labels[:5000][known])
    calibration.add_classes(1)
    assert calibration.n_scores == 3
    assert calibration.constants[2] == 0
    first = calibration.probabilities(f[:10], v[:10])
    np.testing.assert_allclose(first.sum(axis=1), 1)
    calibration.learn(f[5000:], v[5000:], labels[5000:])
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.02


def test_classes_that_appear_within_a_batch_equal_classes_added_between():
    f, v, labels, _ = class_stream(1000, 4)
    come = [0, 0, 200, 500]
    for r, row in enumerate(come):
        f[:row, r] = -np.inf
        f[row, r] = -np.inf if row else f[row, r]
        labels[:row][labels[:row] == r] = 0
        labels[row] = r if row else labels[row]
    one = Calibration(2)
    for start, end in ((0, 200), (200, 500), (500, 1000)):
        if start:
            one.add_classes(1)
        one.learn(f[start:end, : one.n_scores], v[start:end], labels[start:end])
    many = learned(f, v, labels)
    np.testing.assert_array_equal(one.state, many.state)
    # All rows except the two that introduced a class.
    assert many.rows == 998
    p = many.probabilities(f[:300], v[:300])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p == 0, np.isinf(f[:300]))


def test_unknown_classes_are_equally_probable():
    scores = np.full((1, 3), -np.inf)
    calibration = learned(scores, np.zeros(1), np.array([0]))
    assert calibration.rows == 0
    assert calibration.probabilities(scores, [0.0]).tolist() == [[1 / 3] * 3]


def test_a_class_never_seen_is_improbable():
    f, v, labels, _ = class_stream(5000, 3)
    scores = np.hstack([f, np.zeros((5000, 1))])
    assert learned(scores, v, labels).probabilities(scores, v)[:, 3].mean() < 0.01


def test_classes_are_equally_probable_before_the_first_row():
    assert Calibration(4).probabilities([[0.0, 1.0, -5.0, 3.0]], [1.0]).tolist() == [[0.25] * 4]


def test_arranged_moves_classes_and_adds_new_ones():
    f, v, labels, _ = class_stream(1000, 3)
    calibration = learned(f, v, labels)
    wide = calibration.arranged([4, 0, 2], 5)
    assert wide.rows == 1000
    assert wide.constants.tolist() == [
        calibration.constants[1],
        0,
        calibration.constants[2],
        0,
        calibration.constants[0],
    ]
    scores = np.full((10, 5), -1e9)
    scores[:, [4, 0, 2]] = f[:10]
    np.testing.assert_allclose(
        wide.probabilities(scores, v[:10])[:, [4, 0, 2]], calibration.probabilities(f[:10], v[:10]), atol=0.02
    )
    for places in ([0, 1], [0, 1, 1], [0, 1, 5], [-1, 0, 1]):
        with pytest.raises(ValueError, match="places must be 3 different numbers below 5"):
            calibration.arranged(places, 5)
