"""Probabilities of two classes: the textbook's curve, the laws of online learning, extremes and bad input."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration_textbook import KNOTS, Textbook
from scwlearn import Learner
from scwlearn.model.calibration import Calibration

pytestmark = pytest.mark.native


def stream(rows, *, seed=0, slope=1.5, offset=-0.5, scale=1.0):
    """Scores, variances and labels whose log-odds are slope f/sqrt(1 + v) + offset (for scale 1)."""
    random = np.random.default_rng(seed)
    v = random.gamma(1.0, 1.0, rows)
    f = 2 * random.standard_normal(rows) * np.sqrt(1 + v)
    p = 1 / (1 + np.exp(-(slope * f / np.sqrt(1 + v) + offset)))
    return f * scale, v, np.where(random.random(rows) < p, 1, -1), p


def learn(calibration, scores, variances, signs, weights=None):
    calibration.learn(scores, variances, np.asarray(signs) == 1, weights)


def learned(*columns, **settings):
    calibration = Calibration(**settings)
    learn(calibration, *columns)
    return calibration


def line(calibration):
    return *calibration.slopes, *calibration.constants


@pytest.mark.parametrize("window", [30_000, 40])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_the_curve_equals_the_textbook(window, weighted, scale):
    f, v, y, _ = stream(300, scale=scale)
    w = np.random.default_rng(1).exponential(1.0, len(f)) if weighted else np.ones(len(f))
    calibration, textbook = Calibration(window=window), Textbook(window)
    for row in range(len(f)):
        learn(calibration, f[row : row + 1], v[row : row + 1], y[row : row + 1], w[row : row + 1])
        textbook.learn(f[row], v[row], y[row], w[row])
        if row % 25 == 0 or row < 10:
            expected = [textbook.probability(*looks) for looks in zip(f[:20], v[:20], strict=True)]
            np.testing.assert_allclose(calibration.probabilities(f[:20], v[:20]), expected, rtol=1e-9)
            np.testing.assert_allclose(line(calibration), textbook.line, rtol=1e-8, atol=1e-12)


def test_batches_equal_single_rows_bit_for_bit():
    f, v, y, _ = stream(2000)
    w = np.random.default_rng(1).uniform(0, 3, len(f))
    many, single = learned(f, v, y, w), Calibration()
    for row in range(len(f)):
        learn(single, f[row : row + 1], v[row : row + 1], y[row : row + 1], w[row : row + 1])
    np.testing.assert_array_equal(many.state, single.state)
    whole = many.probabilities(f, v)
    assert [many.probabilities(f[i : i + 1], v[i : i + 1])[0] for i in range(50)] == whole[:50].tolist()


def test_it_recovers_a_logistic_line():
    f, v, y, p = stream(100_000)
    calibration = learned(f, v, y, window=1e9)
    a, b, c = line(calibration)
    assert (a, c) == pytest.approx((1.5, -0.5), abs=0.1)
    assert b < 0.1
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.01


def test_it_recovers_a_curve_that_is_not_logistic():
    random = np.random.default_rng(0)
    f, v = random.uniform(-3, 3, 50_000), np.full(50_000, 1e-9)
    p = np.where(abs(f) < 1, 0.5, np.where(f > 0, 0.9, 0.2))
    y = np.where(random.random(len(f)) < p, 1, -1)
    calibration = learned(f, v, y)
    a, b, c = line(calibration)
    by_line = 1 / (1 + np.exp(-(a * f + b * np.sign(f) * 8 + c)))
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.05 < 0.07 < abs(by_line - p).mean()


def test_swapped_labels_swap_the_probabilities():
    f, v, y, _ = stream(3000)
    p, q = learned(f, v, y).probabilities(f, v), learned(-f, v, -y).probabilities(-f, v)
    np.testing.assert_allclose(p, 1 - q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("power", [-12, 12])
def test_the_scale_of_scores_without_variance_does_not_matter(power):
    f, v, y, _ = stream(3000)
    scale = 2.0**power
    p, q = learned(f, 0 * v, y).probabilities(f, 0 * v), learned(f * scale, 0 * v, y).probabilities(f * scale, 0 * v)
    np.testing.assert_allclose(p, q, rtol=1e-9)


def test_probabilities_never_fall_where_the_score_rises():
    random = np.random.default_rng(3)
    for _ in range(20):
        rows = int(random.integers(1, 300))
        f, v = random.standard_normal(rows) * 10 ** random.uniform(-3, 3), random.gamma(0.5, 1, rows)
        calibration = learned(f, v, random.choice([-1, 1], rows))
        for variance in (0.0, 0.1, 100.0):
            scores = np.sort(np.append(f, random.standard_normal(1000) * 30))
            chances = calibration.probabilities(scores, np.full(len(scores), variance))
            assert (np.diff(chances) >= -1e-12).all()
            assert ((chances > 0) & (chances < 1)).all()


def test_a_weight_of_zero_changes_nothing():
    f, v, y, _ = stream(100)
    calibration = learned(f, v, y)
    before = calibration.state.copy()
    learn(calibration, f, v, -y, np.zeros(len(f)))
    np.testing.assert_array_equal(calibration.state, before)
    w = np.where(np.arange(100) % 3 == 0, 0.0, 2.0)
    np.testing.assert_array_equal(learned(f, v, y, w).state, learned(f[w > 0], v[w > 0], y[w > 0], w[w > 0]).state)


def test_a_weight_of_two_is_close_to_two_rows():
    f, v, y, _ = stream(20_000)
    twice = learned(np.repeat(f, 2), np.repeat(v, 2), np.repeat(y, 2), window=1e9)
    heavy = learned(f, v, y, np.full(len(f), 2.0), window=1e9)
    np.testing.assert_allclose(heavy.probabilities(f, v), twice.probabilities(f, v), atol=0.01)


def test_the_first_probabilities_are_near_the_base_rate():
    calibration = Calibration()
    assert calibration.probabilities([0.0, 5.0], [1.0, 1.0]).tolist() == [0.5, 0.5]
    random = np.random.default_rng(0)
    learn(calibration, random.standard_normal(50), np.ones(50), np.where(random.random(50) < 0.1, 1, -1))
    p = calibration.probabilities([-1.0, 0.0, 1.0], [1.0, 1.0, 1.0])
    assert p.max() < 0.35


def test_a_short_window_follows_drift():
    f, v, y, _ = stream(20_000)
    changed = stream(20_000, seed=1, slope=0.2, offset=1.0)
    short, long = (learned(f, v, y, window=window) for window in (1000, 1e9))
    for calibration in (short, long):
        learn(calibration, *(column[:3000] for column in changed[:3]))
    off = [abs(c.probabilities(*changed[:2]) - changed[3]).mean() for c in (short, long)]
    assert off[0] < 0.05 < off[1]


def test_growing_scores_of_a_separable_stream_stay_finite():
    y = np.where(np.arange(5000) % 2, 1, -1)
    f = y * np.linspace(0.1, 1, 5000) * np.exp(np.arange(5000) / 20)
    calibration = learned(f, np.exp(-np.arange(5000) / 10), y)
    assert np.isfinite(calibration.state).all()
    p = calibration.probabilities([-f.max(), -1, 1, f.max()], np.zeros(4))
    assert ((p > 0) & (p < 1)).all()
    assert p[0] < 0.01 < 0.99 < p[-1]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 5e-324, 1e-200, 1.0, 1e3, 1e150, 1e300, 1.7e308]),
            st.sampled_from([0.0, 5e-324, 1e-200, 1.0, 1e150, 1e300]),
            st.sampled_from([0.0, 1e-300, 1.0, 1e10, 1e300]),
            st.booleans(),
            st.booleans(),
        ),
        max_size=60,
    )
)
def test_extreme_input_stays_finite(rows):
    f, v, w = (np.array([row[i] for row in rows]) for i in range(3))
    f = np.where([row[3] for row in rows], f, -f)
    y = np.where([row[4] for row in rows], 1, -1)
    calibration = learned(f, v, y, w)
    assert np.isfinite(calibration.state).all()
    p = calibration.probabilities([*f, 1e300, -1e300, 0.0], [*v, 0.0, 1e300, 0.0])
    assert ((p > 0) & (p < 1)).all()


def test_a_long_stream_with_a_short_window_stays_finite():
    f, v, y, p = stream(300_000)
    calibration = learned(f, v, y, window=500)
    assert np.isfinite(calibration.state).all()
    assert abs(calibration.probabilities(f, v) - p).mean() < 0.1


def test_copies_and_pickles_learn_on_independently():
    f, v, y, _ = stream(200)
    calibration = learned(f[:100], v[:100], y[:100])
    others = [
        copy(calibration),
        deepcopy(calibration),
        calibration.copy(),
        pickle.loads(pickle.dumps(calibration, protocol=5)),
    ]
    before = calibration.state.copy()
    whole = learned(f, v, y)
    for other in others:
        learn(other, f[100:], v[100:], y[100:])
        np.testing.assert_array_equal(other.state, whole.state)
    np.testing.assert_array_equal(calibration.state, before)


def test_a_read_only_state_is_copied():
    f, v, y, _ = stream(100)
    calibration, shared = Calibration(), Calibration().state
    shared.flags.writeable = False
    before = shared.copy()
    calibration.state = shared
    learn(calibration, f, v, y)
    assert calibration.rows == 100
    np.testing.assert_array_equal(shared, before)


def test_predicting_changes_nothing():
    f, v, y, _ = stream(100)
    calibration = learned(f, v, y)
    before = calibration.state.copy()
    calibration.probabilities(f, v)
    np.testing.assert_array_equal(calibration.state, before)


def test_merged_shards_are_close_to_the_whole_in_any_order():
    f, v, y, p = stream(20_000)
    parts = [learned(f[i::4], v[i::4], y[i::4]) for i in range(4)]
    merged = Calibration.merged(parts)
    assert merged.rows == 20_000
    np.testing.assert_allclose(merged.probabilities(f, v), learned(f, v, y).probabilities(f, v), atol=0.03)
    assert abs(merged.probabilities(f, v) - p).mean() < 0.02
    np.testing.assert_allclose(
        Calibration.merged(parts[::-1]).probabilities(f, v), merged.probabilities(f, v), atol=1e-9
    )
    nested = Calibration.merged([Calibration.merged(parts[:2]), Calibration.merged(parts[2:])])
    np.testing.assert_allclose(nested.probabilities(f, v), merged.probabilities(f, v), atol=1e-9)
    swapped = Calibration.merged([parts[1], parts[0]])
    np.testing.assert_array_equal(swapped.state, Calibration.merged(parts[:2]).state)


def test_merging_with_an_empty_one_changes_nothing():
    f, v, y, _ = stream(500)
    calibration = learned(f, v, y)
    for parts in ([calibration], [calibration, Calibration()], [Calibration(), calibration]):
        np.testing.assert_array_equal(Calibration.merged(parts).state, calibration.state)


def test_mirrored_equals_training_on_swapped_labels():
    f, v, y, _ = stream(5000)
    y = np.where(np.random.default_rng(1).random(5000) < 0.2, 1, y)
    mirrored, other = learned(f, v, y).mirrored(), learned(-f, v, -y)
    np.testing.assert_allclose(mirrored.probabilities(f, v), other.probabilities(f, v), rtol=1e-9)
    np.testing.assert_allclose(line(mirrored), line(other), rtol=1e-9)
    np.testing.assert_array_equal(line(mirrored.mirrored()), line(learned(f, v, y)))
    for calibration in (mirrored, other):
        learn(calibration, f, v, -y)
    np.testing.assert_allclose(mirrored.probabilities(f, v), other.probabilities(f, v), rtol=1e-9)


def test_a_common_prior_counts_once():
    f, v, y, p = stream(6000)
    start = learned(f[:3000], v[:3000], y[:3000])
    same = Calibration.merged([start.copy() for _ in range(3)], start)
    # It is drawn anew, from what the last rows taught too.
    np.testing.assert_allclose(same.probabilities(f, v), start.probabilities(f, v), atol=0.02)
    assert same.rows == 3000
    # Merged again and again, the scores of the beginning would have all the say.
    together, plain = Calibration(), Calibration()
    for first in range(0, 6000, 500):
        for k, prior in enumerate((together, plain)):
            parts = [prior.copy() for _ in range(8)]
            for i, part in enumerate(parts):
                rows = slice(first + i, first + 500, 8)
                # The model becomes surer: what was a score of 3 is one of 1.
                learn(part, f[rows] * (3 if first < 2000 else 1), v[rows], y[rows])
            if k == 0:
                together = Calibration.merged(parts, prior)
            else:
                plain = Calibration.merged(parts)
    assert together.rows == 6000
    off, off_plain = (abs(calibration.probabilities(f, v) - p).mean() for calibration in (together, plain))
    assert off < 0.05
    assert off < 0.6 * off_plain


def test_a_merged_calibration_learns_on():
    f, v, y, p = stream(20_000)
    merged = Calibration.merged(
        [learned(f[:5000], v[:5000], y[:5000]), learned(f[5000:9000], v[5000:9000], y[5000:9000])]
    )
    learn(merged, f[9000:], v[9000:], y[9000:])
    assert merged.rows == 20_000
    assert abs(merged.probabilities(f, v) - p).mean() < 0.02


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1.0, np.nan], [1.0, 1.0], [1, 1]), "row 1: score must be finite"),
        (([1.0, np.inf], [1.0, 1.0], [1, 1]), "row 1: score must be finite"),
        (([1.0, 1.0], [1.0, -1e-9], [1, 1]), "row 1: variance must be finite and >= 0"),
        (([1.0, 1.0], [np.inf, 1.0], [1, 1]), "row 0: variance must be finite and >= 0"),
        (([1.0, 1.0], [1.0, 1.0], [1, -1]), "row 1: label must be a class number from 0 to 1"),
        (([1.0, 1.0], [1.0, 1.0], [1]), "one class number per row"),
        (([1.0, 1.0], [1.0], [1]), "one variance per row"),
        (([1.0, 1.0], [1.0, 1.0], [1, 1], [1.0]), "one weight per row"),
        (([1.0, 1.0], [1.0, 1.0], [1, 1], [1.0, -1.0]), "row 1: weight must be finite and >= 0"),
        (
            ([1.0, 1.0], [1.0, 1.0], [1, 1], [1.0, np.nan]),
            "row 1: weight must be finite and >= 0",
        ),
    ],
)
def test_bad_rows_are_rejected_and_change_nothing(columns, message):
    calibration = learned([1.0], [1.0], [1])
    before = calibration.state.copy()
    with pytest.raises(ValueError, match=message):
        calibration.learn(*columns)
    np.testing.assert_array_equal(calibration.state, before)


def test_bad_settings_and_states_are_rejected():
    with pytest.raises(ValueError, match="window must be a number strictly between 1 and inf"):
        Calibration(window=0.5)
    with pytest.raises(ValueError, match="nothing to merge"):
        Calibration.merged([])
    calibration = Calibration()
    with pytest.raises(ValueError, match="state has the wrong length"):
        calibration.state = calibration.state[:-1]
    with pytest.raises(ValueError, match="n_scores must be at least 1"):
        Calibration(0)


def test_a_corrupt_state_does_no_harm():
    calibration = Calibration()
    calibration.state[:] = np.nan
    learn(calibration, [1.0, -1.0], [1.0, 0.0], [1, -1])
    assert np.isnan(calibration.probabilities([1.0], [1.0])).all()


@pytest.mark.parametrize("rule", ["scw1", "arow", "pa1", "perceptron"])
def test_probabilities_of_a_trained_learner_hold_on_new_rows(rule):
    random = np.random.default_rng(5)
    x = random.standard_normal((6000, 5))
    p = 1 / (1 + np.exp(-(x @ [1.0, -0.5, 0.3, 0.0, 0.0] - 0.7)))
    y = np.where(random.random(6000) < p, 1, -1)
    learner, calibration = Learner(rule, intercept=True), Calibration()
    before = learner.trace(x[:4000], y[:4000])
    learn(calibration, before.score, before.variance, y[:4000])
    chances = calibration.probabilities(learner.scores(x[4000:]), learner.margin_variances(x[4000:]))
    new = y[4000:] > 0
    base = new.mean()
    assert ((chances - new) ** 2).mean() < 0.95 * base * (1 - base)


@pytest.mark.native
def test_rounding_breaks_no_ties_where_the_curve_is_level():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=500)
    calibration = Calibration()
    learn(calibration, scores, np.ones(500), np.where(scores + rng.normal(size=500) > 0, 1, -1))
    for height in (0.1, -0.7, 1 / 3):
        shifts = slice(len(calibration.state) - len(KNOTS) - 5, -5)  # before the five numbers of the score
        calibration.state[shifts] = height - KNOTS
        assert (calibration.shifts == height - KNOTS).all()
        assert len(set(calibration.probabilities(scores, np.ones(500)).tolist())) == 1
