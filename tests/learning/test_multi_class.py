"""Multi-class learners equal the reference for every rule, form, kind of row and instruction set."""

import functools

import numpy as np
import pytest
from scipy import sparse

from learner_examples import FORMS, every_form, state
from multi_class_examples import (
    CLASSES,
    COVARIANCES,
    ROWS,
    assert_close,
    every_covariance,
    every_rule,
    examples,
    reference_settings,
)
from multi_class_reference import run
from reference import defaults_of
from scwlearn import Learner, _native
from scwlearn.rules import all_rules, find_rule

pytestmark = pytest.mark.native


ROW_KINDS = {
    "float64": lambda x: x.astype(np.float64),
    "float32": lambda x: x,
    "Fortran order": lambda x: np.asfortranarray(x, dtype=np.float64),
    "csr, int32": lambda x: csr(x, np.float64, np.int32),
    "csr, int64": lambda x: csr(x, np.float64, np.int64),
    "csr, float32, int32": lambda x: csr(x, np.float32, np.int32),
    "csr, float32, int64": lambda x: csr(x, np.float32, np.int64),
    "csr with zeros": lambda x: with_zeros(x),
    "lists": lambda x: x.tolist(),
}


def csr(x, values, indices):
    matrix = sparse.csr_matrix(x, dtype=values)
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(indices)
    return matrix


def with_zeros(x):
    """A sparse matrix that stores zeros, too."""
    rows, columns = x.shape
    offsets = np.arange(0, x.size + 1, columns)
    return sparse.csr_array((x.astype(np.float64).ravel(), np.tile(np.arange(columns), rows), offsets), shape=x.shape)


@functools.cache
def textbook(name, covariance, form, intercept, initial_variance, classes=CLASSES):
    x, y = examples(classes, empty_rows=not intercept)
    how = reference_settings(form) | defaults_of(name)
    return run(name, x.astype(float), y, covariance, initial_variance=initial_variance, intercept=intercept, **how)


@every_rule
@every_covariance
@every_form
@pytest.mark.parametrize(("intercept", "initial_variance"), [(False, 1.0), (True, 0.5)])
def test_learning_equals_the_reference(name, covariance, form, intercept, initial_variance):
    x, y = examples(empty_rows=not intercept)
    weights, variances, mistakes, updates = textbook(name, covariance, form, intercept, initial_variance)
    assert updates > 30
    states = set()
    for kind, make in ROW_KINDS.items():
        how = {"intercept": intercept, "initial_variance": initial_variance, **FORMS[form], **defaults_of(name)}
        learner = Learner(name, n_classes=0, covariance=covariance, **how)
        counts = learner.learn(make(x), y)
        assert (counts.seen, counts.mistakes, counts.updates) == (ROWS, mistakes, updates), kind
        assert learner.n_classes == CLASSES
        assert_close(learner.model.weights(), weights)
        assert_close(learner.model.variances(), variances)
        states.add(state(learner))
    # All row formats hold the same numbers, added in the same order.
    assert len(states) == 1


@every_form
@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("name", ["scw1", "romma", "iellip"])
@pytest.mark.parametrize("classes", [1, 2, 5, 8, 17, 67])
def test_any_number_of_classes(name, classes, form):
    x, y = examples(classes)
    for covariance in COVARIANCES:
        weights, variances, mistakes, updates = textbook(name, covariance, form, False, 1.0, classes)
        learner = Learner(name, n_classes=0, covariance=covariance, **FORMS[form], **defaults_of(name))
        counts = learner.learn(sparse.csr_array(x), y)
        assert (counts.mistakes, counts.updates) == (mistakes, updates)
        assert_close(learner.model.weights(), weights)
        assert_close(learner.model.variances(), variances)
        used = state(learner)
        _native.use_instruction_set("portable")
        portable = Learner(name, n_classes=0, covariance=covariance, **FORMS[form], **defaults_of(name))
        portable.learn(x, y)
        assert state(portable) == used


@pytest.mark.parametrize("rivals", ["uniform", "proportional"])
@every_covariance
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_the_perceptron_with_all_rivals_equals_the_reference(rivals, covariance, shared):
    x, y = examples()
    weights, _, mistakes, updates = run("perceptron", x.astype(float), y, covariance, rivals=rivals, shared=shared)
    learner = Learner("perceptron", n_classes=0, rivals=rivals, covariance=covariance, shared_covariance=shared)
    counts = learner.learn(x, y)
    assert (counts.mistakes, counts.updates) == (mistakes, updates)
    assert_close(learner.model.weights(), weights)
    best = Learner("perceptron", n_classes=0, covariance=covariance)
    best.learn(x, y)
    assert not np.allclose(best.model.weights(), weights)


def test_tied_rivals_share_equally():
    learner = Learner("perceptron", rivals="proportional", n_classes=4)
    learner.learn([[1.0, 2.0]], [1])
    assert_close(learner.model.weights(), np.outer([-1 / 3, 1, -1 / 3, -1 / 3], [1.0, 2.0]))


@every_rule
@every_form
def test_classes_known_in_advance_take_part_from_the_start(name, form):
    x, y = examples()
    how = reference_settings(form) | defaults_of(name)
    weights, variances, mistakes, updates = run(name, x.astype(float), y, "diagonal", n_classes=CLASSES + 1, **how)
    learner = Learner(name, n_classes=CLASSES, covariance="diagonal", **FORMS[form], **defaults_of(name))
    learner.add_classes(1)
    assert learner.n_classes == CLASSES + 1
    counts = learner.learn(x, y)
    assert (counts.mistakes, counts.updates) == (mistakes, updates)
    assert_close(learner.model.weights(), weights)
    assert_close(learner.model.variances(), variances)


@every_rule
def test_parameters_reach_the_rule(name):
    values = {"C": 0.3, "eta": 0.6, "r": 4.0, "b": 0.8, "c": 0.4}
    given = {p.name: values[p.name] for p in find_rule(name).parameters}
    x, y = examples()
    weights, _, mistakes, updates = run(name, x.astype(float), y, "diagonal", **given)
    learner = Learner(name, n_classes=0, covariance="diagonal", **given)
    counts = learner.learn(x, y)
    assert (counts.mistakes, counts.updates) == (mistakes, updates)
    assert_close(learner.model.weights(), weights)


@pytest.mark.parametrize("name", [r.name for r in all_rules()])
@every_covariance
@every_form
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_scores_and_variances_equal_the_gaussian(name, covariance, form, as_rows):
    x, y = examples()
    learner = Learner(name, n_classes=0, covariance=covariance, intercept=True, initial_variance=0.5, **FORMS[form])
    learner.learn(x, y)
    wide = np.hstack([x.astype(np.float64), np.ones((ROWS, 1))])
    assert_close(learner.scores(as_rows(x)), wide @ learner.model.weights().T)
    assert_close(learner.margin_variances(as_rows(x)), wide**2 @ learner.model.variances().T)


@every_rule
@every_form
def test_two_classes_one_versus_rest_equal_the_binary_learner(name, form):
    x, y = examples(2)
    binary = Learner(name, covariance="diagonal", intercept=True, **defaults_of(name))
    counts = binary.learn(x, 2 * y - 1)
    ovr = Learner(name, n_classes=2, multi_class="ovr", covariance="diagonal", intercept=True, **defaults_of(name))
    assert ovr.learn(x, y).updates == counts.updates
    assert_close(ovr.model.weights(), np.outer([-1, 1], binary.model.weights()))
    assert_close(ovr.model.variances(), np.tile(binary.model.variances(), (2, 1)))


# One example at a time


@pytest.mark.parametrize("name", [r.name for r in all_rules()])
@every_form
def test_learn_one_equals_a_batch_of_one(name, form):
    x, y = examples()
    x = x.astype(np.float64)
    batches, vectors = (
        Learner(name, n_classes=0, covariance="diagonal", intercept=True, **FORMS[form]) for _ in range(2)
    )
    for i in range(60):
        scores = np.empty((1, max(batches.n_classes, y[i] + 1)))
        batches.learn(x[i : i + 1], y[i : i + 1], scores_out=scores)
        if i:
            np.testing.assert_array_equal(vectors.score_one(x[i]), scores[0, : vectors.n_classes])
        weigh_nothing = vectors.learn_one(x[i], y[i], 0.0)
        np.testing.assert_array_equal(weigh_nothing, scores[0, : vectors.n_classes])
        np.testing.assert_array_equal(vectors.learn_one(x[i], y[i]), scores[0])
        assert state(vectors) == state(batches)


def test_one_example_at_a_time_makes_room_for_any_number_of_classes():
    learner, batch = (
        Learner("arow", n_classes=0, covariance="diagonal"),
        Learner("arow", n_classes=0, covariance="diagonal"),
    )
    x = np.random.default_rng(0).normal(size=(40, 3))
    for i, row in enumerate(x):
        learner.learn_one(row, i)
    batch.learn(x, np.arange(40))
    assert learner.n_classes == 40
    assert state(learner) == state(batch)


@pytest.mark.parametrize(
    ("x", "y", "w", "error"),
    [
        ([1.0, 2.0], 0, 1.0, ValueError),
        ([1.0, 2.0, np.nan], 0, 1.0, ValueError),
        ([1.0, 2.0, 1e200], 0, 1.0, ValueError),
        ([[1.0, 2.0, 3.0]], 0, 1.0, ValueError),
        ([1.0, 2.0, 3.0], 5, 1.0, ValueError),
        ([1.0, 2.0, 3.0], -1, 1.0, ValueError),
        ([1.0, 2.0, 3.0], 0.5, 1.0, ValueError),
        ([1.0, 2.0, 3.0], "a", 1.0, TypeError),
        ([1.0, 2.0, 3.0], 0, -1.0, ValueError),
        ([1.0, 2.0, 3.0], 0, np.nan, ValueError),
    ],
)
def test_a_bad_example_changes_nothing(x, y, w, error):
    learner = Learner("arow", n_classes=0, covariance="diagonal")
    learner.learn(np.eye(3), [0, 1, 2])
    before = state(learner)
    with pytest.raises(error):
        learner.learn_one(x, y, w)
    assert state(learner) == before
