"""Probabilities of any number of classes: the textbook's curve, two classes, new ones, laws and bad input."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration_textbook import ClassTextbook
from scwlearn.model.calibration import Calibration

pytestmark = pytest.mark.native


def stream(rows, classes=4, *, seed=0, slope=2.0, scale=1.0):
    """Scores, variances and labels whose log-odds are slope F_r/sqrt(1 + v), more for later classes; and their P."""
    random = np.random.default_rng(seed)
    v = random.gamma(1.0, 1.0, rows)
    f = random.standard_normal((rows, classes)) * np.sqrt(1 + v)[:, None]
    u = slope * f / np.sqrt(1 + v)[:, None] + np.linspace(-1, 1, classes)
    p = np.exp(u) / np.exp(u).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < random.random(rows)[:, None]).sum(axis=1)
    return f * scale, v, np.minimum(labels, classes - 1), p


def learned(scores, *columns, **settings):
    calibration = Calibration(np.shape(scores)[1], **settings)
    calibration.learn(scores, *columns)
    return calibration


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize(("weighted", "window", "scale"), [(False, 30_000, 1.0), (True, 40, 1e6)])
def test_the_curve_of_classes_equals_the_textbook(classes, weighted, window, scale):
    f, v, labels, _ = stream(200, classes, scale=scale)
    w = np.random.default_rng(1).exponential(1.0, len(f)) if weighted else np.ones(len(f))
    calibration, textbook = Calibration(classes, window=window), ClassTextbook(classes, window)
    for row in range(len(f)):
        calibration.learn(f[[row]], v[[row]], labels[[row]], w[[row]])
        textbook.learn(f[row], v[row], labels[row], w[row])
        if row % 25 == 0 or row < 10:
            expected = [textbook.probabilities(*looks) for looks in zip(f[:20], v[:20], strict=True)]
            np.testing.assert_allclose(calibration.probabilities(f[:20], v[:20]), expected, rtol=1e-8)
            np.testing.assert_allclose(calibration.constants, textbook.line[2:], rtol=1e-7, atol=1e-10)


def test_many_rows_at_once_are_one_by_one_bit_for_bit():
    f, v, labels, _ = stream(1000)
    w = np.random.default_rng(1).uniform(0, 3, len(f))
    many, single = learned(f, v, labels, w), Calibration(4)
    for row in range(len(f)):
        single.learn(f[[row]], v[[row]], labels[[row]], w[[row]])
    np.testing.assert_array_equal(many.state, single.state)
    whole = many.probabilities(f, v)
    for row in range(20):
        np.testing.assert_array_equal(many.probabilities(f[[row]], v[[row]])[0], whole[row])


def test_it_recovers_the_true_probabilities():
    f, v, labels, p = stream(50_000)
    calibration = learned(f, v, labels, window=1e9)
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.01
    np.testing.assert_allclose(np.diff(calibration.constants), 2 / 3, atol=0.1)


@pytest.mark.parametrize("classes", [2, 3, 50])
def test_probabilities_sum_to_one_and_are_positive(classes):
    f, v, labels, _ = stream(500, classes, slope=8)
    p = learned(f, v, labels).probabilities(f * 100, v)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert ((p > 0) & (p < 1)).all()


def test_the_order_of_the_classes_does_not_matter():
    f, v, labels, _ = stream(1000)
    order = np.array([2, 0, 3, 1])
    one, other = learned(f, v, labels), learned(f[:, order], v, np.argsort(order)[labels])
    np.testing.assert_allclose(other.probabilities(f[:, order], v), one.probabilities(f, v)[:, order], rtol=1e-8)


def test_the_probability_of_a_class_rises_with_its_score():
    f, v, labels, _ = stream(500)
    calibration = learned(f, v, labels)
    for row in range(20):
        scores = np.repeat(f[[row]], 200, axis=0)
        scores[:, 1] = np.linspace(-20, 20, 200)
        assert (np.diff(calibration.probabilities(scores, np.full(200, v[row]))[:, 1]) >= -1e-12).all()


def test_two_scores_are_close_to_the_binary_curve():
    f, v, labels, _ = stream(20_000, 2)
    signs = np.where(labels, 1, -1)
    binary = Calibration()
    binary.learn(f[:, 1] - f[:, 0], v, signs == 1)
    expected = binary.probabilities(f[:, 1] - f[:, 0], v)
    np.testing.assert_allclose(learned(f, v, labels).probabilities(f, v)[:, 1], expected, atol=0.05)


@pytest.mark.parametrize("rows", [0, 1, 30, 5000])
def test_a_binary_curve_expands_to_classes(rows):
    f, v, labels, p = stream(rows + 3000, 3)
    binary = Calibration(window=2000)
    two = np.where(labels == 1, 1, -1)
    binary.learn((f[:, 1] - f[:, 0])[:rows], v[:rows], two[:rows] == 1)
    calibration = binary.expanded()
    assert (calibration.window, calibration.rows) == (2000, rows)
    expected = binary.probabilities(f[:, 1] - f[:, 0], v)
    np.testing.assert_allclose(calibration.probabilities(f[:, :2], v)[:, 1], expected, atol=0.1)
    calibration.add_classes(1)
    calibration.learn(f[rows:], v[rows:], labels[rows:])
    assert np.isfinite(calibration.state).all()
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.04


def test_an_expanded_curve_is_close_to_one_learned_from_the_start():
    f, v, labels, _ = stream(4000, 2)
    binary = Calibration()
    binary.learn((f[:, 1] - f[:, 0])[:3000], v[:3000], np.where(labels, 1, -1)[:3000] == 1)
    calibration = binary.expanded()
    calibration.learn(f[3000:], v[3000:], labels[3000:])
    always = learned(f, v, labels)
    np.testing.assert_allclose(calibration.probabilities(f, v), always.probabilities(f, v), atol=0.05)


def test_a_class_may_be_added_later():
    f, v, labels, p = stream(30_000, 3)
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
    f, v, labels, _ = stream(1000, 4)
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
    # The two rows that brought a class.
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
    f, v, labels, _ = stream(5000, 3)
    scores = np.hstack([f, np.zeros((5000, 1))])
    assert learned(scores, v, labels).probabilities(scores, v)[:, 3].mean() < 0.01


def test_classes_are_equally_probable_before_the_first_row():
    assert Calibration(4).probabilities([[0.0, 1.0, -5.0, 3.0]], [1.0]).tolist() == [[0.25] * 4]


def test_a_weight_of_zero_changes_nothing():
    f, v, labels, _ = stream(100)
    w = np.where(np.arange(100) % 3 == 0, 0.0, 2.0)
    kept = w > 0
    f[~kept], v[~kept] = np.nan, np.nan
    np.testing.assert_array_equal(
        learned(f, v, labels, w).state, learned(f[kept], v[kept], labels[kept], w[kept]).state
    )


SIZES = np.array([0.0, 5e-324, 1e-200, 1.0, 1e3, 1e150, 1e300, 1.7e308])


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_no_extreme_makes_it_anything_but_finite(rows, seed):
    random = np.random.default_rng(seed)
    f = random.choice(SIZES, (rows, 3)) * random.choice([-1, 1], (rows, 3))
    v, w = random.choice([0.0, 1e-200, 1.0, 1e300], rows), random.choice([0.0, 1e-300, 1.0, 1e300], rows)
    labels = random.integers(0, 3, rows)
    calibration = learned(f, v, labels, w)
    assert np.isfinite(calibration.state).all()
    p = calibration.probabilities([*f, [1e308, -1e308, 0.0]], [*v, 0.0])
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_copies_and_pickles_go_on_as_if_never_stopped():
    f, v, labels, _ = stream(200)
    calibration = learned(f[:100], v[:100], labels[:100])
    others = [copy(calibration), deepcopy(calibration), calibration.copy(), pickle.loads(pickle.dumps(calibration))]
    before = calibration.state.copy()
    whole = learned(f, v, labels)
    for other in others:
        other.learn(f[100:], v[100:], labels[100:])
        np.testing.assert_array_equal(other.state, whole.state)
    np.testing.assert_array_equal(calibration.state, before)


def test_merged_shards_are_about_the_whole_in_any_order():
    f, v, labels, p = stream(20_000)
    parts = [learned(f[i::4], v[i::4], labels[i::4]) for i in range(4)]
    states = [part.state.copy() for part in parts]
    merged = Calibration.merged(parts)
    assert merged.rows == 20_000
    assert abs(merged.probabilities(f, v) - p).mean() < 0.02
    backwards = Calibration.merged(parts[::-1])
    np.testing.assert_allclose(backwards.probabilities(f, v), merged.probabilities(f, v), atol=1e-9)
    for part, state in zip(parts, states, strict=True):
        np.testing.assert_array_equal(part.state, state)
    for few in ([parts[0], Calibration(4)], [Calibration(4), parts[0]]):
        np.testing.assert_array_equal(Calibration.merged(few).state, parts[0].state)


def test_what_parts_went_on_from_counts_once():
    f, v, labels, p = stream(6000)
    together, plain = Calibration(4), Calibration(4)
    for first in range(0, 6000, 500):
        for k, prior in enumerate((together, plain)):
            parts = [prior.copy() for _ in range(8)]
            for i, part in enumerate(parts):
                rows = slice(first + i, first + 500, 8)
                # What was a score of 3 becomes one of 1; the beginning is not to have all the say.
                part.learn(f[rows] * (3 if first < 2000 else 1), v[rows], labels[rows])
            if k == 0:
                together = Calibration.merged(parts, prior)
            else:
                plain = Calibration.merged(parts)
    assert together.rows == 6000
    off, off_plain = (abs(calibration.probabilities(f, v) - p).mean() for calibration in (together, plain))
    assert off < 0.05
    assert off < 0.6 * off_plain


def test_arranged_moves_classes_and_adds_new_ones():
    f, v, labels, _ = stream(1000, 3)
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


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([[1.0, np.nan]], [1.0], [1]), "row 0: score must be finite"),
        (([[1.0, np.inf]], [1.0], [1]), "row 0: score must be finite"),
        (([[1.0, 1.0]] * 2, [1.0, -1.0], [1, 1]), "row 1: variance must be finite and >= 0"),
        (([[1.0, 1.0]], [1.0], [2]), "row 0: label must be a class number from 0 to 1"),
        (([[1.0, 1.0]], [1.0], [-1]), "row 0: label must be a class number from 0 to 1"),
        (([[1.0, 1.0, 1.0]], [1.0], [1]), "one column per class"),
        (([[1.0, 1.0]], [1.0, 1.0], [1, 1]), "one variance per row"),
        (([[1.0, 1.0]], [1.0], [1, 1]), "one class number per row"),
        (([[1.0, 1.0]], [1.0], [1], [np.inf]), "row 0: weight must be finite and >= 0"),
        (([[1.0, 1.0]], [1.0], [1], [1.0, 1.0]), "one weight per row"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(columns, message):
    calibration = learned([[1.0, 0.0]], [1.0], [1])
    before = calibration.state.copy()
    with pytest.raises(ValueError, match=message):
        calibration.learn(*columns)
    np.testing.assert_array_equal(calibration.state, before)


def test_labels_must_be_integers_and_parts_must_fit():
    with pytest.raises(TypeError, match="labels must be class numbers"):
        Calibration(2).learn([[1.0, 1.0]], [1.0], [1.0])
    with pytest.raises(ValueError, match="the same number of scores"):
        Calibration.merged([Calibration(2), Calibration(3)])
    with pytest.raises(ValueError, match="nothing to merge"):
        Calibration.merged([])


def test_a_state_of_a_broken_file_does_no_harm():
    calibration = Calibration(3)
    calibration.state[:] = np.nan
    calibration.learn([[1.0, 0.0, 2.0]] * 3, [1.0] * 3, [0, 1, 2])
    calibration.probabilities([[1.0, 0.0, 2.0]], [1.0])
