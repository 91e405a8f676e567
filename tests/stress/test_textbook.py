"""The trial of the textbook forms notices small faults, and knows where rounding or the bounds of the loops decide."""

from itertools import count
from random import Random

import numpy as np
import pytest
from stress import textbook
from stress.textbook import Setup

from multi_class_reference import SHARED_FORM, JointTextbook
from reference import FIRST_ORDER, GAUSSIAN_FORM, OWN_FORM

FORMS = ["binary", "joint", "shared", "ovr"]


def plant_larger_steps(monkeypatch, factor):
    """Let all steps move the weights by a little more."""

    def of_weights(step):
        def larger(w, x, y, **parameters):
            after = step(w, x, y, **parameters)
            return None if after is None else w + factor * (after - w)

        return larger

    def of_coefficients(step):
        def larger(m, v, t, **parameters):
            found = step(m, v, t, **parameters)
            return None if found is None else (factor * found[0], *found[1:])

        return larger

    def of_models(step):
        def larger(model, x, y, **parameters):
            theta, mu = model.theta, model.mu
            moved = step(model, x, y, **parameters)
            model.theta, model.mu = theta + factor * (model.theta - theta), mu + factor * (model.mu - mu)
            return moved

        return larger

    kinds = [(FIRST_ORDER, of_weights), (GAUSSIAN_FORM, of_coefficients), (SHARED_FORM, of_coefficients)]
    for steps, larger in [*kinds, (OWN_FORM, of_models)]:
        for name, step in steps.items():
            monkeypatch.setitem(steps, name, larger(step))


def failures(monkeypatch, cases, wanted):
    """Return how many cases fail, of those whose setup is wanted."""
    draw = textbook._draw
    wished = (setup for random in map(Random, count()) if wanted(setup := draw(random)))
    monkeypatch.setattr(textbook, "_draw", lambda random: next(wished))
    failed = 0
    for number in range(cases):
        try:
            textbook.TRIAL.case(Random(number))
        except AssertionError:
            failed += 1
    return failed


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_steps_that_are_off_by_1e_8_are_found(monkeypatch, form):
    plant_larger_steps(monkeypatch, 1 + 1e-8)
    assert failures(monkeypatch, 12, lambda setup: setup.form == form) > 6


@pytest.mark.slow
@pytest.mark.parametrize("form", ["joint", "shared"])
def test_a_wrong_rival_is_found(monkeypatch, form):
    move = JointTextbook.move_second_order

    def move_against_another(model, x, y, rival, margin):
        scores = model.W @ x
        others = [c for c in range(len(scores)) if c not in (y, rival)]
        wrong = max(others, key=lambda c: scores[c], default=rival)
        return move(model, x, y, wrong, scores[y] - scores[wrong])

    monkeypatch.setattr(JointTextbook, "move_second_order", move_against_another)
    # With two classes there is no other rival.
    assert failures(monkeypatch, 15, lambda setup: setup.form == form and setup.name == "arow") > 3


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bound", [0.9, 1.1])
def test_updates_up_to_another_margin_are_found(monkeypatch, form, bound):
    for steps in (GAUSSIAN_FORM, SHARED_FORM):
        step = steps["arow"]

        def other(m, v, t, *, r, step=step):
            return None if m >= bound else (step(m, v, t, r=r) or step(0.99, v, t, r=r))

        monkeypatch.setitem(steps, "arow", other)
    assert failures(monkeypatch, 15, lambda setup: setup.form == form and setup.name == "arow") > 3


@pytest.mark.slow
def test_batches_that_differ_from_single_rows_are_found(monkeypatch):
    learn = textbook.Learner.learn
    monkeypatch.setattr(textbook.Learner, "learn", lambda learner, x, y: learn(learner, x[::-1], y[::-1]))
    assert failures(monkeypatch, 12, lambda setup: setup.form == "binary") > 6


BINARY = Setup("pa", "identity", "binary", 1.0, False, 0.0, "max", {})
JOINT = BINARY._replace(form="joint")


def ties(setup, rows, labels):
    """Return whether each row is a tie for the model of those before it."""
    x, numbers = np.array(rows, dtype=float), np.random.default_rng(0)
    stream, found = textbook._Stream(setup, x.shape[1] + setup.intercept), []
    for row, label in zip(x, np.array(labels), strict=True):
        found.append(stream.is_tie(row, label))
        stream.learn(row[np.newaxis], label[np.newaxis], numbers, as_sparse=False)
    return found


@pytest.mark.parametrize("setup", [BINARY, BINARY._replace(name="perceptron"), BINARY._replace(name="romma")])
@pytest.mark.parametrize("form", ["binary", "joint", "ovr"])
def test_scores_of_weights_that_never_moved_are_no_ties(setup, form):
    labels = [1, -1] if form == "binary" else [0, 1]
    assert ties(setup._replace(form=form), [[1.0, 0.0], [0.0, 1.0]], labels) == [False, False]


@pytest.mark.parametrize(
    ("setup", "rows", "labels"),
    [
        # The margin of a row that comes again is where the step has put it.
        (BINARY, [[1.0, 2.0], [1.0, 2.0]], [1, 1]),
        (JOINT, [[1.0, 0.0], [1.0, 2.0], [1.0, 2.0]], [0, 1, 1]),
        # Here theta decides.
        (BINARY._replace(name="narow", covariance="full", parameters={"b": 1.0}), [[1.0, 2.0], [1.0, 2.0]], [-1, -1]),
        # A prediction of either class.
        (BINARY, [[1.0, 2.0], [2.0, -1.0]], [1, 1]),
        # A step that is no more than rounding of the scores, towards a class that is known or new.
        (JOINT._replace(name="perceptron"), [[1e9, 0.0], [1e9, 1e9], [1e-9, 0.0]], [0, 1, 0]),
        (JOINT._replace(name="perceptron"), [[1e9, 0.0], [1e9, 1e9], [1e-9, 0.0]], [0, 1, 2]),
        # alpha is too large.
        (BINARY, [[1e-140, 0.0]], [1]),
        (JOINT, [[1e-140, 0.0], [1e-140, 0.0]], [0, 1]),
        # The factor that shrinks the mean is.
        (BINARY._replace(name="romma"), [[1e77, 1e77], [1e-77, 0.0]], [1, -1]),
        (BINARY._replace(name="romma", form="ovr"), [[1e77, 1e77], [1e-77, 0.0]], [0, 1]),
        # ROMMA at a multiple of its weights.
        (BINARY._replace(name="romma"), [[1.0, 2.0], [-2.0, -4.0]], [1, 1]),
        # The precision that a step adds is cut, but no variance falls below the floor.
        (BINARY._replace(name="arow", covariance="diagonal", floor=0.1, parameters={"r": 1.0}), [[1e60, 1.0]], [1]),
    ],
)
def test_the_last_row_is_a_tie(setup, rows, labels):
    assert ties(setup, rows, labels)[-1]


@pytest.mark.parametrize("setup", [*map(textbook._draw, map(Random, range(100)))], ids=lambda setup: setup.name)
def test_random_rows_are_no_ties(setup):
    numbers = np.random.default_rng(0)
    labels = numbers.choice([-1, 1], 12) if setup.form == "binary" else [0, 1, 2, *numbers.integers(0, 3, 9)]
    # A change of 1e-5 decides little.
    assert sum(ties(setup, numbers.normal(size=(12, 4)) / np.sqrt(setup.initial_variance), labels)) <= 1


@pytest.mark.parametrize("form", FORMS)
def test_textbooks_keep_their_digits_at_large_rows(form):
    setup = Setup("narow", "diagonal-drop", form, 1.0, False, 1e-3, "max", {"b": 1.0})
    stream, x = textbook._Stream(setup, 3), np.array([[-3e36, 1e36, 2e35], [-1e36, 1e36, 1e36]])
    labels = np.array([1, -1] if form == "binary" else [0, 1])
    for row, label in zip(x, labels, strict=True):
        assert stream.learn(row[np.newaxis], label[np.newaxis], np.random.default_rng(0), as_sparse=False)
        assert not stream.is_lost()
        assert stream.is_close()
