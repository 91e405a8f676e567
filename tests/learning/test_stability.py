"""Long, collinear, badly scaled streams: Sigma stays positive where the textbook form does not."""

import numpy as np
import pytest
from scipy import sparse

from collinear_streams import FEATURES, STREAMS
from learner_examples import FORMS, every_form, in_order_of_appearance
from multi_class_full_examples import assert_close, sigmas, taught
from reference import Textbook, run
from scwlearn import Learner

pytestmark = pytest.mark.native

LONG = 200_000
every_stream = pytest.mark.parametrize("name", STREAMS)


def updates_until_indefinite(stream, rows):
    """Return the number of updates after which the textbook form has x'Sigma x <= 0 for a row; None if never."""
    model, updates = Textbook(stream.rule, FEATURES, dtype=stream.values, **stream.parameters), 0
    with np.errstate(invalid="ignore"):
        for x, y in zip(*stream.rows(rows), strict=True):
            if not x @ model.S @ x > 0:
                return updates
            updates += model.learn_one(x, stream.values(y))[1]
    return None


@every_stream
def test_the_textbook_form_becomes_indefinite_on_these_streams(name):
    # When it happens depends on rounding: after some 700, 10,000, 1,000 and 1,600 updates on one machine.
    assert updates_until_indefinite(STREAMS[name], LONG) is not None


@every_stream
def test_sigma_stays_symmetric_and_positive(name):
    x, y = STREAMS[name].rows(LONG)
    learner = Learner(STREAMS[name].rule, covariance="full", **STREAMS[name].parameters)
    trace = learner.trace(x, y)
    assert learner.counts.updates > 35_000
    assert (trace.variance > 0).all()
    assert (learner.margin_variances(x) > 0).all()
    matrix = learner.model.matrix()
    assert np.array_equal(matrix, matrix.T)
    eigenvalues = np.linalg.eigvalsh(matrix)
    # An eigenvalue below the rounding error of the largest may have either sign; directions tell more.
    assert eigenvalues[0] > -1e-15 * eigenvalues[-1]
    directions = np.random.default_rng(1).normal(size=(1000, FEATURES))
    directions[:500] -= directions[:500].mean(axis=1, keepdims=True)
    assert (learner.margin_variances(directions) > 0).all()


@every_stream
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_learning_continues_to_the_end_of_the_stream(name, as_rows):
    x, y = STREAMS[name].rows(LONG)
    learner = Learner(STREAMS[name].rule, covariance="full", **STREAMS[name].parameters)
    parts = [learner.learn(as_rows(x[part]), y[part]) for part in np.split(np.arange(LONG), 10)]
    assert np.isfinite(learner.model.weights()).all()
    mistakes = [part.mistakes / part.seen for part in parts]
    assert mistakes[-1] < 0.35
    assert mistakes[-1] <= mistakes[0] + 0.01
    # One label in ten is wrong, so there is always a loss to learn from.
    assert all(part.updates > 0.1 * part.seen for part in parts)


def test_the_variance_is_exact_to_eight_digits_at_a_scale_of_1e8():
    x, y = STREAMS["AROW, float64, scale 1e8, noise 1e-3"].rows(30)
    trace = Learner("arow", covariance="full").trace(x[:, :3], y)
    # Integers are exact: Sigma^-1 = I + sum of x x' over the updates, solved by Cramer's rule.
    precision = np.array([[int(i == j) for j in range(3)] for i in range(3)], dtype=object) * 2**200
    whole = np.vectorize(lambda value: int(value * 2.0**50) * 2**50, otypes=[object])

    def determinant(a):
        return sum(a[0, i] * (a[1, i - 2] * a[2, i - 1] - a[1, i - 1] * a[2, i - 2]) for i in range(3))

    for row, variance, moved in zip(x[:, :3], trace.variance, trace.precision > 0, strict=True):
        row = whole(row)
        total = 0
        for i in range(3):
            replaced = precision.copy()
            replaced[:, i] = row
            total += row[i] * determinant(replaced)
        exact = total / determinant(precision)
        assert abs(variance / exact - 1) < 1e-6
        if moved:
            precision = precision + np.outer(row, row)


@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop"])
@every_stream
def test_a_long_diagonal_stream_stays_positive(name, covariance):
    x, y = STREAMS[name].rows(LONG)
    learner = Learner(STREAMS[name].rule, covariance=covariance, **STREAMS[name].parameters)
    for _ in range(2):
        learner.learn(x, y)
        assert (learner.model.variances() > 0).all()
        assert np.isfinite(learner.model.weights()).all()
    assert learner.learn(x, y).updates > 0


@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop", "full"])
@pytest.mark.parametrize("rule", ["cw", "scw1", "scw2", "arow", "nherd", "narow", "second_order_perceptron"])
def test_a_feature_seen_a_hundred_thousand_times_keeps_a_variance(rule, covariance):
    # The same row with alternating labels shrinks one direction again and again, and leaves the others alone.
    x = np.tile([3.0, 0.0, 4.0], (100_000, 1))
    y = np.resize([1, -1, -1], 100_000)
    learner = Learner(rule, covariance=covariance)
    learner.learn(x, y)
    assert (learner.model.variances() > 0).all()
    assert learner.model.variances()[0, 1] == 1.0
    # NAROW stops at 1/b = 1; all other rules go on.
    assert learner.margin_variances(x[:1])[0] < (1.0 + 1e-9 if rule == "narow" else 1e-2)
    assert np.isfinite(learner.model.weights()).all()


@pytest.mark.parametrize("rule", ["romma", "aggressive_romma"])
@pytest.mark.parametrize("covariance", ["identity", "diagonal", "full"])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_romma_equals_the_reference_on_noisy_labels(rule, covariance, as_rows):
    # No vector satisfies every row, so the weights keep growing, and their norm, which the rule uses, must stay exact.
    # (Computed with 120 digits, ROMMA makes the same mistakes and updates as the textbook form on these rows.)
    rng = np.random.default_rng(0)
    x, hidden = rng.normal(size=(4000, FEATURES)), rng.normal(size=FEATURES)
    y = np.where(x @ hidden >= 0, 1, -1)
    y[rng.random(4000) < 0.2] *= -1
    weights, _, mistakes, updates = run(rule, x, y, covariance)
    learner = Learner(rule, covariance=covariance)
    counts = learner.learn(as_rows(x), y)
    assert (counts.mistakes, counts.updates) == (mistakes, updates)
    np.testing.assert_allclose(learner.model.weights()[0], weights, rtol=0, atol=1e-6 * np.linalg.norm(weights))


@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop", "full"])
def test_an_ellipsoid_that_grows_without_end_stays_finite(covariance):
    # With b near 1 each mistake multiplies the unseen directions by up to 100.
    rng = np.random.default_rng(0)
    x, hidden = rng.normal(size=(3000, FEATURES)), rng.normal(size=FEATURES)
    y = np.where(x @ hidden + rng.normal(size=3000) >= 0, 1, -1)
    learner = Learner("iellip", covariance=covariance, b=0.9999, c=0.99)
    learner.learn(x, y)
    assert np.isfinite(learner.model.variances()).all()
    assert (learner.model.variances() > 0).all()
    assert np.isfinite(learner.model.weights()).all()
    assert np.isfinite(learner.margin_variances(x)).all()


OTHERS = ("scw1", "scw2", "arow", "nherd", "narow", "second_order_perceptron")


# CW does not depend on the scale of the features.
@pytest.mark.parametrize(
    ("name", "scale"), [("cw", 1e-30), ("cw", 1.0), ("cw", 1e30), *((name, 1.0) for name in OTHERS)]
)
@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop", "full"])
def test_learning_continues_to_the_end_of_a_long_noisy_stream(name, covariance, scale):
    # CW drives the variances of a noisy stream to almost zero, but must not stop learning.
    rng = np.random.default_rng(5)
    x, hidden = scale * rng.normal(size=(30000, 6)), rng.normal(size=6)
    y = np.where(x @ hidden >= 0, 1, -1)
    y[rng.random(30000) < 0.05] *= -1
    learner = Learner(name, covariance=covariance)
    counts = [learner.learn(x[i : i + 5000], y[i : i + 5000]) for i in range(0, 30000, 5000)]
    assert counts[-1].updates > 0.2 * counts[0].updates
    assert counts[-1].mistakes < 0.45 * 5000
    assert np.isfinite(learner.model.weights()).all()
    assert (learner.model.variances() > 0).all()


def test_sigma_does_not_grow_when_cw_reaches_the_smallest_variance():
    # CW shrinks a variance by the square of its error: wrong labels take it to the smallest one within some rows. With
    # features of very different sizes, columns of U are as large as their D is small; raising D would raise Sigma.
    random = np.random.default_rng(0)
    rows, block = 20_000, 500
    numeric = random.normal(size=(rows, 6)) * 10.0 ** np.arange(-1, 5) + [0, 0, 0, 0, 3000, 3000]
    x = np.hstack([numeric, np.eye(8)[random.integers(0, 8, rows)]])
    y = np.where((numeric[:, 0] > 0) != (random.random(rows) < 0.3), 1, -1)
    learner = Learner("cw", covariance="full", eta=0.9)
    before = np.ones(x.shape[1])
    for start in range(0, rows, block):
        learner.learn(x[start : start + block], y[start : start + block])
        variances = learner.model.variances()
        assert np.all(variances <= before * (1 + 1e-9))
        before = variances
    assert learner.counts.mistakes < 0.5 * rows
    assert before.min() < 1e-190


@pytest.mark.parametrize("rule", ["arow", "nherd"])
def test_a_direction_at_the_smallest_variance_does_not_stop_the_others(rule):
    random = np.random.default_rng(0)
    x = np.vstack([np.tile([1e140, 0.0, 0.0], (6, 1)), random.normal(size=(5000, 3))])
    y = np.where(x @ [0.0, 1.0, -1.0] >= 0, 1, -1)
    y[:6:2] = -1
    learner = Learner(rule, covariance="full")
    learner.learn(x, y)
    variances = learner.model.variances()[0]
    assert variances[0] < 1e-190
    assert np.all(variances[1:] < 0.1)


CLASS_STREAMS = {
    "scw1, scale 1e4, noise 1e-8": ("scw1", 1e4, 1e-8),
    "scw1, scale 1e8, noise 1e-3": ("scw1", 1e8, 1e-3),
    "arow, scale 1e8, noise 1e-3": ("arow", 1e8, 1e-3),
}
CLASS_ROWS = 30_000


def class_stream(scale, noise):
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=CLASS_ROWS), rng.normal(size=(CLASS_ROWS, 10))
    directions = rng.normal(size=(10, 3))
    y = (common[:, None] * [-1, 0, 1] + own @ directions / np.linalg.norm(directions, axis=0)).argmax(axis=1)
    wrong = rng.random(CLASS_ROWS) < 0.1
    y[wrong] = rng.integers(0, 3, wrong.sum())
    return scale * (common[:, None] + noise * own), y


@pytest.mark.parametrize("name", CLASS_STREAMS)
@every_form
@pytest.mark.parametrize("block", [1, 64])
def test_several_classes_keep_sigma_positive_and_go_on_learning(name, form, block, use_class_block):
    use_class_block(block)
    rule, scale, noise = CLASS_STREAMS[name]
    x, y = class_stream(scale, noise)
    learner = Learner(rule, covariance="full", n_classes=3, **FORMS[form])
    parts = [learner.learn(x[part], y[part]) for part in np.split(np.arange(CLASS_ROWS), 6)]
    directions = np.random.default_rng(1).normal(size=(1000, 10))
    directions[:500] -= directions[:500].mean(axis=1, keepdims=True)
    assert (learner.margin_variances(x) > 0).all()
    assert (learner.margin_variances(directions) > 0).all()
    for matrix in sigmas(learner):
        assert np.array_equal(matrix, matrix.T)
        eigenvalues = np.linalg.eigvalsh(matrix)
        # An eigenvalue below the rounding error of the largest may have either sign; directions tell more.
        assert eigenvalues[0] > -1e-15 * eigenvalues[-1]
    assert np.isfinite(learner.model.weights()).all()
    mistakes = [part.mistakes / part.seen for part in parts]
    assert mistakes[-1] < 0.6
    assert mistakes[-1] <= mistakes[0] + 0.02
    # Some labels are always wrong, so there is always a loss to learn from.
    assert all(part.updates > 0.1 * part.seen for part in parts)


@pytest.mark.parametrize("form", ["joint", "shared"])
def test_blocks_of_several_classes_are_as_exact_as_rows_on_a_nearly_singular_sigma(form, use_class_block):
    x, y = class_stream(1e8, 1e-3)
    x, y = x[:2000], y[:2000]
    use_class_block(1)
    by_row, _ = taught("arow", form, x, in_order_of_appearance(y))
    use_class_block(64)
    blocks, _ = taught("arow", form, x, in_order_of_appearance(y))
    assert blocks.counts == by_row.counts
    np.testing.assert_allclose(blocks.margin_variances(x), by_row.margin_variances(x), rtol=1e-6)
    assert_close(blocks.scores(x), by_row.scores(x), 1e-6)
