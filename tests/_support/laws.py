"""The promises that every learner keeps, as laws: each takes a maker of new learners and drawn examples.

The examples are continuous, so that no comparison inside a rule is a tie which rounding could decide either way.
"""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

LAWS = []
FORMATS = (np.asarray, sparse.csr_array)


def law(function):
    LAWS.append(function)
    return function


def draw_examples(seed, rows, features, density, noise=0.2):
    """Rows with zeros among them and labels that follow a hidden vector, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < density)
    x[np.arange(rows), rng.integers(0, features, rows)] += rng.uniform(0.5, 1.5, rows)
    y = np.where(x @ rng.normal(size=features) + 0.1 * rng.normal(size=rows) >= 0, 1, -1)
    y[rng.random(rows) < noise] *= -1
    return x, y


def taught(learner, *batches):
    for x, y in batches:
        learner.learn(x, y)
    return learner


def counted(learner):
    return learner.counts.seen, learner.counts.mistakes, learner.counts.updates


def state(learner):
    """The model and the counts, bit for bit."""
    gaussian = learner.model
    if gaussian is None:
        return None, counted(learner)
    return gaussian.memory.tobytes(), gaussian.scalars.tobytes(), counted(learner)


def everything(learner):
    """The same with all that it knows of names."""
    if learner.vocabulary is None:
        return state(learner), None
    most, hashed, key_type, names, slots = learner.vocabulary.__getstate__()
    return state(learner), (most, hashed, key_type, list(names.items()), slots)


def assert_same(one, other):
    assert state(one) == state(other)


def sigma(learner):
    gaussian = learner.model
    return gaussian.matrix() if gaussian.covariance.name == "full" else np.diag(gaussian.variances()[0])


def assert_alike(one, other, order=slice(None)):
    """The same model to rounding, with the features of the other in the given order."""
    assert (one.counts.seen, one.counts.mistakes) == (other.counts.seen, other.counts.mistakes)
    for a, b in (
        (one.model.weights(), other.model.weights()[:, order]),
        (sigma(one), sigma(other)[order][:, order]),
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * max(1.0, np.abs(b).max()))


@law
def dense_rows_are_sparse_rows(new, x, y):
    assert_alike(taught(new(), (x, y)), taught(new(), (sparse.csr_array(x), y)))


@law
def single_precision_rows_are_the_numbers_that_they_hold(new, x, y):
    x = x.astype(np.float32)
    for as_rows in FORMATS:
        assert_alike(taught(new(), (as_rows(x), y)), taught(new(), (as_rows(x.astype(np.float64)), y)))


@law
def many_at_once_are_one_by_one(new, x, y):
    for as_rows in FORMATS:
        at_once = taught(new(), (as_rows(x), y))
        # With a full covariance the rows of a batch are multiplied together, which rounds otherwise.
        same = assert_alike if at_once.model.covariance.name == "full" else assert_same
        one_by_one = ((as_rows(x[i : i + 1]), y[i : i + 1]) for i in range(len(y)))
        same(taught(new(), *one_by_one), at_once)
        for cuts in ([1], [len(y) // 2], [2, len(y) // 2, len(y) - 1]):
            parts = zip(np.split(x, cuts), np.split(y, cuts), strict=True)
            same(taught(new(), *((as_rows(a), b) for a, b in parts)), at_once)


@law
def one_example_is_a_batch_of_one(new, x, y):
    batches, vectors = new(), new()
    batches.learn(x[:1], y[:1])
    vectors.learn(x[:1], y[:1])
    for row, label in zip(x[1:], y[1:], strict=True):
        before = batches.scores(row[np.newaxis])[0]
        assert vectors.score_one(row) == pytest.approx(before, rel=1e-9, abs=1e-9)
        assert vectors.learn_one(row, label) == pytest.approx(before, rel=1e-9, abs=1e-9)
        batches.learn(row[np.newaxis], [label])
        assert_same(vectors, batches)


@law
def learning_in_an_order_is_learning_the_rows_so_ordered(new, x, y):
    order = np.random.default_rng(1).permutation(len(y))
    for as_rows in FORMATS:
        ordered = new()
        ordered.learn(as_rows(x), y, order=order)
        assert state(ordered) == state(taught(new(), (as_rows(x[order]), y[order])))


@law
def an_order_of_features_changes_nothing(new, x, y):
    order = np.random.default_rng(2).permutation(x.shape[1])
    for as_rows in FORMATS:
        plain, shuffled = taught(new(), (as_rows(x), y)), taught(new(), (as_rows(x[:, order]), y))
        constant = [x.shape[1]] if plain.config.intercept else []
        assert_alike(shuffled, plain, np.concatenate([order, constant]).astype(int))


@law
def new_features_may_appear(new, x, y):
    early, half = x.copy(), len(y) // 2
    early[:half, -2:] = 0
    for as_rows in FORMATS:
        grown = taught(new(), (as_rows(early[:half, :-2]), y[:half]))
        grown.widen(x.shape[1])
        known = taught(new(), (as_rows(early[:half]), y[:half]))
        assert_alike(grown, known)
        assert_alike(taught(grown, (as_rows(x[half:]), y[half:])), taught(known, (as_rows(x[half:]), y[half:])))


@law
def sigma_stays_positive(new, x, y):
    for scale in (1e-3, 1.0, 1e3):
        learner = taught(new(), (scale * x, y))
        assert (learner.model.variances() > 0).all()
        assert (learner.margin_variances(scale * x) > 0).all()
        assert (np.linalg.eigvalsh(sigma(learner)) > 0).all()


@law
def predicting_changes_nothing(new, x, y):
    learner = taught(new(), (x, y))
    before = state(learner)
    for as_rows in FORMATS:
        rows = as_rows(x)
        learner.scores(rows)
        learner.margin_variances(rows)
        learner.model.weights()[:] = 7
        learner.model.variances()[:] = 7
    assert state(learner) == before


@law
def a_copy_goes_on_as_if_never_stopped(new, x, y):
    half = len(y) // 2
    never_stopped = taught(new(), (x[:half], y[:half]), (x[half:], y[half:]))
    for duplicate in (copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))):
        original = taught(new(), (x[:half], y[:half]))
        before = state(original)
        assert state(taught(duplicate(original), (x[half:], y[half:]))) == state(never_stopped)
        # What the copy learned stays its own.
        assert state(original) == before


@law
def a_model_in_read_only_memory_goes_on_as_if_never_stopped(new, x, y):
    half = len(y) // 2
    learner = taught(new(), (x[:half], y[:half]))
    for array in (learner.model.memory, learner.model.scalars, learner.model.known, learner._tally):
        array.flags.writeable = False
    assert state(taught(learner, (x[half:], y[half:]))) == state(
        taught(new(), (x[:half], y[:half]), (x[half:], y[half:]))
    )


@law
def a_new_learner_can_be_copied(new, x, y):
    for duplicate in (copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))):
        assert state(taught(duplicate(new()), (x, y))) == state(taught(new(), (x, y)))


@law
def the_same_input_gives_the_same_result(new, x, y):
    for as_rows in FORMATS:
        assert state(taught(new(), (as_rows(x), y))) == state(taught(new(), (as_rows(x.copy()), list(y))))


@law
def learning_leaves_the_input_alone(new, x, y):
    rows, labels, csr = x.copy(), y.copy(), sparse.csr_array(x)
    taught(new(), (rows, labels), (csr, labels))
    assert np.array_equal(rows, x)
    assert np.array_equal(labels, y)
    assert np.array_equal(csr.toarray(), x)


def spoiled(x, value):
    """The rows with one bad value, in the last row: whoever learns before he looks is caught."""
    x = x.copy()
    x[-1, -1] = value
    return x


@law
def bad_input_raises_before_anything_changes(new, x, y):
    bad = [
        *((as_rows(spoiled(x, value)), y) for value in (np.nan, np.inf, -np.inf, 1e200, -1e200) for as_rows in FORMATS),
        *((as_rows(np.hstack([x, x])), y) for as_rows in FORMATS),
        (x[:, :-1], y),
        (x[0], y),
        (x.astype(complex), y),
        (x.astype(str), y),
        (x, y[:-1]),
        (x, np.append(y, 1)),
        (x, y[:, None]),
        *((x, np.append(y[:-1].astype(float), wrong)) for wrong in (0, 2, 0.5, np.nan)),
        (x, [*y[:-1], "yes"]),
    ]
    learner = taught(new(), (x, y))
    before, untouched = state(learner), state(new())
    for rows, labels in bad:
        with pytest.raises((ValueError, TypeError)):
            learner.learn(rows, labels)
        with pytest.raises((ValueError, TypeError)):
            learner.trace(rows, labels)
        assert state(learner) == before
        if np.shape(rows)[-1] == x.shape[1]:
            fresh = new()
            with pytest.raises((ValueError, TypeError)):
                fresh.learn(rows, labels)
            assert state(fresh) == untouched


@law
def an_empty_row_changes_nothing_but_the_counts(new, x, y):
    for as_rows in FORMATS:
        learner = taught(new(), (x, y))
        if learner.config.intercept:
            return
        gaussian = learner.model
        before = gaussian.weights().tobytes(), gaussian.variances().tobytes()
        seen, mistakes, updates = counted(learner)
        # A score of 0 predicts +1.
        learner.learn(as_rows(np.zeros((3, x.shape[1]))), [1, -1, -1])
        assert counted(learner) == (seen + 3, mistakes + 2, updates)
        assert (gaussian.weights().tobytes(), gaussian.variances().tobytes()) == before


@law
def an_empty_batch_changes_nothing(new, x, y):
    learner = taught(new(), (x, y))
    before = state(learner)
    learner.learn(x[:0], y[:0])
    assert state(learner) == before
    assert learner.scores(x[:0]).shape == learner.margin_variances(x[:0]).shape == (0,)


@law
def an_empty_sparse_batch_changes_nothing(new, x, y):
    learner, nothing = taught(new(), (x, y)), sparse.csr_array(x[:0])
    before = state(learner)
    learner.learn(nothing, y[:0])
    assert state(learner) == before
    assert learner.scores(nothing).shape == learner.margin_variances(nothing).shape == (0,)


@law
def values_at_the_edge_of_what_is_allowed_leave_the_model_finite(new, x, y):
    rng = np.random.default_rng(3)
    x = np.where(x == 0, 0, np.sign(x) * 10.0 ** rng.choice([-150, -75, 0, 75, 150], x.shape))
    for as_rows in FORMATS:
        learner = taught(new(), (as_rows(x), y))
        assert learner.counts.seen == len(y)
        assert np.isfinite(learner.model.weights()).all()
        assert np.isfinite(learner.model.variances()).all()
        assert (learner.model.variances() > 0).all()
