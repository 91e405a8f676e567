"""Calibration, binary and of several classes: the textbook's curve, laws of online learning, bad input."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration_streams import binary_stream, class_stream, learned
from calibration_textbook import ClassTextbook, Textbook
from scwlearn.model.calibration import Calibration

pytestmark = pytest.mark.native

STREAMS = {"binary": binary_stream, "classes": class_stream}
every_stream = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


@pytest.mark.parametrize("n_scores", [1, 2, 5])
@pytest.mark.parametrize(("window", "weighted", "scale"), [(30_000, False, 1.0), (40, True, 1e6), (40, False, 1e-6)])
def test_the_curve_equals_the_textbook(n_scores, window, weighted, scale):
    stream = binary_stream(150, scale=scale) if n_scores == 1 else class_stream(150, n_scores, scale=scale)
    f, v, labels, _ = stream
    w = np.random.default_rng(1).exponential(1.0, len(f)) if weighted else np.ones(len(f))
    calibration = Calibration(n_scores, window=window)
    textbook = Textbook(window) if n_scores == 1 else ClassTextbook(n_scores, window)
    for row in range(len(f)):
        calibration.learn(f[[row]], v[[row]], labels[[row]], w[[row]])
        textbook.learn(f[row], v[row], labels[row], w[row])
        if row % 25 == 0 or row < 10:
            expected = [textbook.probabilities(*given) for given in zip(f[:20], v[:20], strict=True)]
            np.testing.assert_allclose(calibration.probabilities(f[:20], v[:20]), expected, rtol=1e-8)
            line = *calibration.slopes, *calibration.constants
            np.testing.assert_allclose(line, textbook.line, rtol=1e-7, atol=1e-10)


@every_stream
def test_the_probabilities_of_a_batch_are_those_just_before_each_row(stream):
    f, v, labels, _ = stream(700)
    w = np.random.default_rng(1).exponential(size=len(f))
    w[::9] = 0.0
    # Numbers that overflowed may have no weight.
    f[9], v[18] = np.inf, np.inf
    n_scores = 1 if f.ndim == 1 else f.shape[1]
    one, batch, found = Calibration(n_scores), Calibration(n_scores), np.empty_like(f)
    for row in range(len(f)):
        if row in (9, 18):
            found[row] = np.nan
        else:
            found[row] = one.probabilities(f[[row]], v[[row]])[0]
            one.learn(f[[row]], v[[row]], labels[[row]], w[[row]])
    out = np.empty_like(f)
    batch.learn(f, v, labels, w, out)
    np.testing.assert_array_equal(out, found)
    assert batch.state.tobytes() == one.state.tobytes()
    with pytest.raises(ValueError, match="probabilities must have the size of scores"):
        batch.learn(f, v, labels, w, np.empty(3))


@every_stream
def test_batches_equal_single_rows_bit_for_bit(stream):
    f, v, labels, _ = stream(1000)
    w = np.random.default_rng(1).uniform(0, 3, len(f))
    many, single = learned(f, v, labels, w), learned(f[:0], v[:0], labels[:0])
    for row in range(len(f)):
        single.learn(f[[row]], v[[row]], labels[[row]], w[[row]])
    np.testing.assert_array_equal(many.state, single.state)
    whole = many.probabilities(f, v)
    for row in range(50):
        np.testing.assert_array_equal(many.probabilities(f[[row]], v[[row]])[0], whole[row])


@every_stream
def test_rows_of_weight_zero_are_ignored(stream):
    f, v, labels, _ = stream(100)
    w = np.where(np.arange(100) % 3 == 0, 0.0, 2.0)
    kept = w > 0
    f[~kept], v[~kept] = np.nan, np.nan
    calibration = learned(f, v, labels, w)
    np.testing.assert_array_equal(calibration.state, learned(f[kept], v[kept], labels[kept], w[kept]).state)
    before = calibration.state.copy()
    calibration.learn(f, v, labels, np.zeros(100))
    np.testing.assert_array_equal(calibration.state, before)


@every_stream
def test_predicting_changes_nothing(stream):
    f, v, labels, _ = stream(100)
    calibration = learned(f, v, labels)
    before = calibration.state.copy()
    calibration.probabilities(f, v)
    np.testing.assert_array_equal(calibration.state, before)


@every_stream
def test_copies_and_pickles_learn_on_independently(stream):
    f, v, labels, _ = stream(200)
    calibration, whole = learned(f[:100], v[:100], labels[:100]), learned(f, v, labels)
    before = calibration.state.copy()
    for duplicate in (copy, deepcopy, Calibration.copy, lambda one: pickle.loads(pickle.dumps(one, protocol=5))):
        other = duplicate(calibration)
        other.learn(f[100:], v[100:], labels[100:])
        np.testing.assert_array_equal(other.state, whole.state)
    np.testing.assert_array_equal(calibration.state, before)


@every_stream
def test_a_read_only_state_is_copied(stream):
    f, v, labels, _ = stream(100)
    calibration = learned(f[:0], v[:0], labels[:0])
    shared = calibration.state.copy()
    shared.flags.writeable = False
    before = shared.copy()
    calibration.state = shared
    calibration.learn(f, v, labels)
    assert calibration.rows == 100
    np.testing.assert_array_equal(shared, before)


SIZES = np.array([0.0, 5e-324, 1e-200, 1.0, 1e3, 1e150, 1e300, 1.7e308])


@pytest.mark.parametrize("n_scores", [1, 3])
@given(rows=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
def test_extreme_input_stays_finite(n_scores, rows, seed):
    random = np.random.default_rng(seed)
    f = random.choice(SIZES, (rows, n_scores)) * random.choice([-1, 1], (rows, n_scores))
    v = random.choice([0.0, 5e-324, 1e-200, 1.0, 1e150, 1e300], rows)
    w = random.choice([0.0, 1e-300, 1.0, 1e10, 1e300], rows)
    f = f[:, 0] if n_scores == 1 else f
    calibration = Calibration(n_scores)
    calibration.learn(f, v, random.integers(0, max(2, n_scores), rows), w)
    assert np.isfinite(calibration.state).all()
    more = [1e300, -1e300, 0.0] if n_scores == 1 else [[1e308, -1e308, 0.0]] * 3
    p = calibration.probabilities([*f, *more], [*v, 0.0, 1e300, 0.0])
    assert ((p > 0) & (p < 1)).all()
    if n_scores > 1:
        np.testing.assert_allclose(p.sum(axis=1), 1)


@every_stream
def test_merged_shards_are_close_to_the_whole_in_any_order(stream):
    f, v, labels, p = stream(20_000)
    parts = [learned(f[i::4], v[i::4], labels[i::4]) for i in range(4)]
    states = [part.state.copy() for part in parts]
    merged = Calibration.merged(parts)
    assert merged.rows == 20_000
    np.testing.assert_allclose(merged.probabilities(f, v), learned(f, v, labels).probabilities(f, v), atol=0.05)
    assert abs(merged.probabilities(f, v) - p).mean() < 0.02
    backwards = Calibration.merged(parts[::-1])
    nested = Calibration.merged([Calibration.merged(parts[:2]), Calibration.merged(parts[2:])])
    for other in (backwards, nested):
        np.testing.assert_allclose(other.probabilities(f, v), merged.probabilities(f, v), atol=1e-9)
    np.testing.assert_array_equal(Calibration.merged(parts[1::-1]).state, Calibration.merged(parts[:2]).state)
    for part, state in zip(parts, states, strict=True):
        np.testing.assert_array_equal(part.state, state)


@every_stream
def test_merging_with_an_empty_one_changes_nothing(stream):
    f, v, labels, _ = stream(500)
    calibration, empty = learned(f, v, labels), learned(f[:0], v[:0], labels[:0])
    for parts in ([calibration], [calibration, empty], [empty, calibration]):
        np.testing.assert_array_equal(Calibration.merged(parts).state, calibration.state)


@every_stream
def test_a_common_prior_counts_once(stream):
    f, v, labels, p = stream(6000)
    start = learned(f[:3000], v[:3000], labels[:3000])
    same = Calibration.merged([start.copy() for _ in range(3)], start)
    # The curve is fitted again, now with the last rows too.
    np.testing.assert_allclose(same.probabilities(f, v), start.probabilities(f, v), atol=0.05)
    assert same.rows == 3000
    # Merged again and again, the scores of the beginning would dominate.
    together, plain = (learned(f[:0], v[:0], labels[:0]) for _ in range(2))
    for first in range(0, 6000, 500):
        for k, prior in enumerate((together, plain)):
            parts = [prior.copy() for _ in range(8)]
            for i, part in enumerate(parts):
                rows = slice(first + i, first + 500, 8)
                # The model becomes surer: a score of 3 at first means what a score of 1 means later.
                part.learn(f[rows] * (3 if first < 2000 else 1), v[rows], labels[rows])
            if k == 0:
                together = Calibration.merged(parts, prior)
            else:
                plain = Calibration.merged(parts)
    assert together.rows == 6000
    error, error_plain = (abs(calibration.probabilities(f, v) - p).mean() for calibration in (together, plain))
    assert error < 0.05
    assert error < 0.6 * error_plain


@every_stream
def test_a_corrupt_state_does_no_harm(stream):
    f, v, labels, _ = stream(10)
    calibration = learned(f, v, labels)
    calibration.state[:] = np.nan
    calibration.learn(f, v, labels)
    assert np.isnan(calibration.probabilities(f, v)).all()


ONE, PAIR = [1.0, 1.0], [[1.0, 1.0]] * 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1.0, np.nan], ONE, [1, 1]), "row 1: score must be finite"),
        (([1.0, np.inf], ONE, [1, 1]), "row 1: score must be finite"),
        ((ONE, [1.0, -1e-9], [1, 1]), "row 1: variance must be finite and >= 0"),
        ((ONE, [np.inf, 1.0], [1, 1]), "row 0: variance must be finite and >= 0"),
        ((ONE, ONE, [1, -1]), "row 1: label must be a class number from 0 to 1"),
        ((ONE, ONE, [1]), "one class number per row"),
        ((ONE, [1.0], [1]), "one variance per row"),
        ((ONE, ONE, [1, 1], [1.0]), "one weight per row"),
        ((ONE, ONE, [1, 1], [1.0, -1.0]), "row 1: weight must be finite and >= 0"),
        ((ONE, ONE, [1, 1], [1.0, np.nan]), "row 1: weight must be finite and >= 0"),
        (([[1.0, np.nan]], [1.0], [1]), "row 0: score must be finite"),
        (([[1.0, np.inf]], [1.0], [1]), "row 0: score must be finite"),
        ((PAIR, [1.0, -1.0], [1, 1]), "row 1: variance must be finite and >= 0"),
        ((PAIR, ONE, [1, 2]), "row 1: label must be a class number from 0 to 1"),
        ((PAIR, ONE, [-1, 1]), "row 0: label must be a class number from 0 to 1"),
        (([[1.0, 1.0, 1.0]], [1.0], [1]), "one column per class"),
        (([[1.0, 1.0]], ONE, [1, 1]), "one variance per row"),
        ((PAIR, ONE, [1]), "one class number per row"),
        ((PAIR, ONE, [1, 1], [np.inf, 1.0]), "row 0: weight must be finite and >= 0"),
        ((PAIR, ONE, [1, 1], [1.0]), "one weight per row"),
    ],
)
def test_bad_rows_are_rejected_and_change_nothing(columns, message):
    calibration = learned([1.0], [1.0], [1]) if np.ndim(columns[0]) == 1 else learned([[1.0, 0.0]], [1.0], [1])
    before = calibration.state.copy()
    with pytest.raises(ValueError, match=message):
        calibration.learn(*columns)
    np.testing.assert_array_equal(calibration.state, before)


def test_bad_settings_states_and_parts_are_rejected():
    with pytest.raises(ValueError, match="window must be a number strictly between 1 and inf"):
        Calibration(window=0.5)
    with pytest.raises(ValueError, match="n_scores must be from 1 to 2147483647"):
        Calibration(0)
    calibration = Calibration()
    with pytest.raises(ValueError, match="state has the wrong length"):
        calibration.state = calibration.state[:-1]
    with pytest.raises(TypeError, match="labels must be class numbers"):
        Calibration(2).learn([[1.0, 1.0]], [1.0], [1.0])
    with pytest.raises(ValueError, match="nothing to merge"):
        Calibration.merged([])
    with pytest.raises(ValueError, match="the same number of scores"):
        Calibration.merged([Calibration(2), Calibration(3)])
