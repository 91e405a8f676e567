"""Laws that every learner keeps. Each takes a function that makes new learners, and examples.

`law` declares a law of all learners, `binary_law` and `class_law` one of learners on labels -1 and +1, or on class
numbers.
"""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from learner_examples import ROW_FORMATS, assert_alike, assert_same, in_order_of_appearance, sigma, state, taught

BINARY_LAWS, CLASS_LAWS = [], []
DUPLICATES = (copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner)))


def binary_law(function):
    BINARY_LAWS.append(function)
    return function


def class_law(function):
    CLASS_LAWS.append(function)
    return function


def law(function):
    return binary_law(class_law(function))


@binary_law
def dense_rows_equal_sparse_rows(new, x, y):
    assert_alike(taught(new(), (x, y)), taught(new(), (sparse.csr_array(x), y)))


@class_law
def dense_rows_equal_sparse_rows_to_the_last_bit(new, x, y):
    assert state(taught(new(), (x, y))) == state(taught(new(), (sparse.csr_array(x), y)))


@law
def float32_rows_equal_float64_rows_of_the_same_numbers(new, x, y):
    x = x.astype(np.float32)
    for as_rows in ROW_FORMATS:
        single = taught(new(), (as_rows(x), y))
        double = taught(new(), (as_rows(x.astype(np.float64)), y))
        if single.is_binary:
            assert_alike(single, double)
        else:
            assert state(single) == state(double)


@law
def a_batch_equals_its_rows_one_by_one(new, x, y):
    for as_rows in ROW_FORMATS:
        at_once = taught(new(), (as_rows(x), y))
        assert_same(taught(new(), *((as_rows(x[i : i + 1]), y[i : i + 1]) for i in range(len(y)))), at_once)
        for cuts in ([1], [2, len(y) // 2, len(y) - 1]):
            parts = zip(np.split(x, cuts), np.split(y, cuts), strict=True)
            assert_same(taught(new(), *((as_rows(a), b) for a, b in parts)), at_once)


@binary_law
def learn_one_equals_a_batch_of_one(new, x, y):
    batches, vectors = taught(new(), (x[:1], y[:1])), taught(new(), (x[:1], y[:1]))
    for row, label in zip(x[1:], y[1:], strict=True):
        before = batches.scores(row[np.newaxis])[0]
        assert vectors.score_one(row) == pytest.approx(before, rel=1e-9, abs=1e-9)
        assert vectors.learn_one(row, label) == pytest.approx(before, rel=1e-9, abs=1e-9)
        batches.learn(row[np.newaxis], [label])
        assert state(vectors) == state(batches)


@law
def an_order_equals_rows_in_that_order(new, x, y):
    order = np.random.default_rng(1).permutation(len(y))
    labels = y.copy()
    if not new().is_binary:
        labels[order] = in_order_of_appearance(y[order])
    for as_rows in ROW_FORMATS:
        ordered = new()
        ordered.learn(as_rows(x), labels, order=order)
        assert state(ordered) == state(taught(new(), (as_rows(x[order]), labels[order])))


@law
def the_order_of_features_does_not_matter(new, x, y):
    order = np.random.default_rng(2).permutation(x.shape[1])
    for as_rows in ROW_FORMATS:
        plain, shuffled = taught(new(), (as_rows(x), y)), taught(new(), (as_rows(x[:, order]), y))
        constant = [x.shape[1]] if plain.config.intercept else []
        assert_alike(shuffled, plain, np.concatenate([order, constant]).astype(int))


@class_law
def the_numbers_of_classes_do_not_matter(new, x, y):
    # From weights without ties: the first of equal scores depends on the numbers.
    rng = np.random.default_rng(3)
    classes = int(y.max()) + 1
    numbers = rng.permutation(classes)
    plain, renumbered = new(n_classes=classes), new(n_classes=classes)
    for learner in (plain, renumbered):
        first = x[:0] if learner.config.intercept else np.zeros((1, x.shape[1]))
        learner.learn(first, [0] * len(first))
    start = rng.normal(size=(plain.model.size, classes))
    norm2 = np.square(start).sum(axis=0)
    for learner, columns in ((plain, np.arange(classes)), (renumbered, np.argsort(numbers))):
        learner.model.covariance.means(learner.model.memory)[:classes] = start[:, columns].T
        scalars = learner.model.scalars
        scalars[: 1 if learner.model.joint else classes, 2] = norm2.sum() if learner.model.joint else norm2[columns]
        scalars[:, 3] = scalars[:, 2]
    plain.learn(x, y)
    renumbered.learn(x, numbers[y])
    assert renumbered.counts.updates == plain.counts.updates
    np.testing.assert_allclose(renumbered.model.weights()[numbers], plain.model.weights(), rtol=0, atol=1e-8)
    np.testing.assert_allclose(renumbered.model.variances()[numbers], plain.model.variances(), rtol=1e-8)


@class_law
def room_for_more_classes_changes_nothing(new, x, y):
    half = len(y) // 2
    plain, roomy = taught(new(), (x[:half], y[:half])), taught(new(), (x[:half], y[:half]))
    roomy.model = roomy.model.with_room(40)
    assert roomy.model.lanes >= 40
    assert state(taught(roomy, (x[half:], y[half:]))) == state(taught(plain, (x[half:], y[half:])))


@law
def new_features_may_appear(new, x, y):
    early, half = x.copy(), len(y) // 2
    early[:half, -2:] = 0
    for as_rows in ROW_FORMATS:
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
        assert all((np.linalg.eigvalsh(sigma(learner, c)) > 0).all() for c in range(learner.model.classes))


@law
def predicting_changes_nothing(new, x, y):
    learner = taught(new(), (x, y))
    before = state(learner)
    for as_rows in ROW_FORMATS:
        learner.scores(as_rows(x))[:] = 7
        learner.margin_variances(as_rows(x))[:] = 7
        scores = learner.score_one(x[0])
        if not learner.is_binary:
            scores[:] = 7
        learner.model.weights()[:] = 7
        learner.model.variances()[:] = 7
    assert state(learner) == before


@class_law
def recorded_scores_are_those_before_learning(new, x, y):
    learner, written = new(), np.empty((len(y), y.max() + 1))
    learner.learn(x, y, scores_out=written)
    again = new()
    for i in range(len(y)):
        if i:
            scores, exact = again.scores(x[i : i + 1])[0], again.model.covariance.name != "full"
            known = written[i, : again.n_classes]
            np.testing.assert_allclose(scores, known, rtol=0, atol=0 if exact else 1e-8 * max(1.0, np.abs(known).max()))
        again.learn(x[i : i + 1], y[i : i + 1])


@law
def a_copy_goes_on_and_leaves_the_original_alone(new, x, y):
    half = len(y) // 2
    never_stopped = state(taught(new(), (x[:half], y[:half]), (x[half:], y[half:])))
    fresh = state(taught(new(), (x, y)))
    original = taught(new(), (x[:half], y[:half]))
    # Its native handle must not be copied.
    original.score_one(x[0])
    before = state(original)
    for duplicate in DUPLICATES:
        assert state(taught(duplicate(original), (x[half:], y[half:]))) == never_stopped
        assert state(original) == before
        assert state(taught(duplicate(new()), (x, y))) == fresh


@law
def a_model_in_read_only_memory_goes_on(new, x, y):
    half = len(y) // 2
    plain = taught(new(), (x[:half], y[:half]), (x[half:], y[half:]))
    single, batch = taught(new(), (x[:half], y[:half])), taught(new(), (x[:half], y[:half]))
    for learner in (single, batch):
        for array in (learner.model.memory, learner.model.scalars, learner.model.known, learner._tally):
            array.flags.writeable = False
        learner.scores(x)
    for row, label in zip(x[half:], y[half:], strict=True):
        single.learn_one(row, label)
    assert state(taught(batch, (x[half:], y[half:]))) == state(plain)
    assert_same(single, plain)


@law
def a_learner_with_other_parameters_is_a_copy(new, x, y):
    half = len(y) // 2
    for known in ([], [(x[:half], y[:half])]):
        learner = taught(new(), *known)
        other = learner.with_parameters(learner.parameters)
        assert state(taught(other, (x, y))) == state(taught(new(), *known, (x, y)))
        assert learner.counts.seen == (half if known else 0)
        assert state(taught(learner, (x, y))) == state(other)


@law
def the_same_input_gives_the_same_result(new, x, y):
    for as_rows in ROW_FORMATS:
        assert state(taught(new(), (as_rows(x), y))) == state(taught(new(), (as_rows(x.copy()), list(y))))


@law
def learning_leaves_the_input_alone(new, x, y):
    rows, labels, csr = x.copy(), y.copy(), sparse.csr_array(x)
    taught(new(), (rows, labels), (csr, labels))
    assert np.array_equal(rows, x)
    assert np.array_equal(labels, y)
    assert np.array_equal(csr.toarray(), x)


def _with_bad_value(x, value):
    # In the last row, so that learning before checking is noticed.
    x = x.copy()
    x[-1, -1] = value
    return x


@law
def bad_input_raises_and_changes_nothing(new, x, y):
    learner = taught(new(), (x, y))
    bad_labels = (0, 2, 0.5, np.nan) if learner.is_binary else (-1, 0.5, y.max() + 2, np.nan)
    bad = [
        *((as_rows(_with_bad_value(x, value)), y) for value in (np.nan, -np.inf, 1e200) for as_rows in ROW_FORMATS),
        *((as_rows(np.hstack([x, x])), y) for as_rows in ROW_FORMATS),
        (x[:, :-1], y),
        (x[0], y),
        (x.astype(complex), y),
        (x.astype(str), y),
        (x, y[:-1]),
        (x, np.append(y, 1)),
        (x, y[:, None]),
        *((x, np.append(y[:-1].astype(float), wrong)) for wrong in bad_labels),
        (x, [*y[:-1], "yes"]),
    ]
    before, untouched = state(learner), state(new())
    for rows, labels in bad:
        with pytest.raises((ValueError, TypeError)):
            learner.learn(rows, labels)
        if learner.is_binary:
            with pytest.raises((ValueError, TypeError)):
                learner.trace(rows, labels)
        assert state(learner) == before
        if np.shape(rows)[-1] == x.shape[1]:
            fresh = new()
            with pytest.raises((ValueError, TypeError)):
                fresh.learn(rows, labels)
            assert state(fresh) == untouched


@law
def every_call_that_scores_refuses_bad_values(new, x, y):
    learner = taught(new(), (x, y))
    for value in (np.nan, np.inf, -np.inf, 1.1e150, -1e200):
        bad = _with_bad_value(x, value)
        with pytest.raises(ValueError, match="at most 1e"):
            learner.score_one(bad[-1])
        for as_rows in ROW_FORMATS:
            for call in (learner.scores, learner.margin_variances, learner.scores_and_variances):
                with pytest.raises(ValueError, match="at most 1e"):
                    call(as_rows(bad))


@law
def an_empty_row_changes_only_the_counts(new, x, y):
    learner = taught(new(), (x, y))
    if learner.config.intercept:
        return
    # Where all scores are 0, the prediction is +1 or the first class.
    labels = [1, -1, -1] if learner.is_binary else [0, 1, 1]
    for as_rows in ROW_FORMATS:
        before = learner.model.weights().tobytes(), learner.model.variances().tobytes()
        counts = learner.learn(as_rows(np.zeros((3, x.shape[1]))), labels)
        assert (counts.seen, counts.mistakes, counts.updates) == (3, 2, 0)
        assert (learner.model.weights().tobytes(), learner.model.variances().tobytes()) == before


@law
def an_empty_batch_changes_nothing(new, x, y):
    learner = taught(new(), (x, y))
    before, shape = state(learner), (0,) if learner.is_binary else (0, learner.n_classes)
    for nothing in (x[:0], sparse.csr_array(x[:0])):
        learner.learn(nothing, y[:0])
        assert state(learner) == before
        assert learner.scores(nothing).shape == learner.margin_variances(nothing).shape == shape


@law
def the_largest_and_smallest_values_leave_the_model_finite(new, x, y):
    rng = np.random.default_rng(3)
    x = np.where(x == 0, 0, np.sign(x) * 10.0 ** rng.choice([-150, -75, 0, 75, 150], x.shape))
    for as_rows in ROW_FORMATS:
        learner = taught(new(), (as_rows(x), y))
        assert learner.counts.seen == len(y)
        assert np.isfinite(learner.model.weights()).all()
        assert np.isfinite(learner.model.variances()).all()
        assert (learner.model.variances() > 0).all()
