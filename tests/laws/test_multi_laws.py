"""What every learner of several classes promises, for every rule in every form: the laws of laws.py, and of classes."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st
from scipy import sparse

from helpers import several
from laws import FORMATS, learning_leaves_the_input_alone, spoiled, taught
from multi_examples import FORMS, in_order_of_appearance, state
from scwlearn.rules import all_rules

pytestmark = pytest.mark.native

# One of theirs holds as it is.
LAWS = [learning_leaves_the_input_alone]
COVARIANCES = ("identity", "diagonal", "diagonal-drop", "full")


def law(function):
    LAWS.append(function)
    return function


def draw_examples(seed, rows, features, classes, density):
    """Rows with zeros among them, and classes in the order in which they come."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < density)
    x[np.arange(rows), rng.integers(0, features, rows)] += rng.uniform(0.5, 1.5, rows)
    labels = (x @ rng.normal(size=(features, classes)) + 0.3 * rng.normal(size=(rows, classes))).argmax(axis=1)
    return x, in_order_of_appearance(labels)


def assert_alike(one, other, features=slice(None), classes=slice(None)):
    """The same models to rounding, with the features and classes of the other in the given order."""
    assert (one.counts.seen, one.counts.mistakes) == (other.counts.seen, other.counts.mistakes)
    for a, b in (
        (one.model.weights(), other.model.weights()[classes][:, features]),
        (one.model.variances(), other.model.variances()[classes][:, features]),
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * max(1.0, np.abs(b).max()))


def assert_same(one, other):
    """The same to the last bit, unless rows are multiplied together, which rounds otherwise."""
    if one.model.covariance.name == "full":
        assert_alike(one, other)
    else:
        assert state(one) == state(other)


@law
def dense_rows_are_sparse_rows_to_the_last_bit(new, x, y):
    assert state(taught(new(), (x, y))) == state(taught(new(), (sparse.csr_array(x), y)))


@law
def single_precision_rows_are_the_numbers_that_they_hold(new, x, y):
    x = x.astype(np.float32)
    for as_rows in FORMATS:
        assert state(taught(new(), (as_rows(x), y))) == state(taught(new(), (as_rows(x.astype(np.float64)), y)))


@law
def many_at_once_are_one_by_one(new, x, y):
    for as_rows in FORMATS:
        at_once = taught(new(), (as_rows(x), y))
        one_by_one = ((as_rows(x[i : i + 1]), y[i : i + 1]) for i in range(len(y)))
        assert_same(taught(new(), *one_by_one), at_once)
        for cuts in ([1], [len(y) // 2], [2, len(y) // 2, len(y) - 1]):
            parts = zip(np.split(x, cuts), np.split(y, cuts), strict=True)
            assert_same(taught(new(), *((as_rows(a), b) for a, b in parts)), at_once)


@law
def room_for_more_classes_changes_nothing(new, x, y):
    half = len(y) // 2
    plain, roomy = taught(new(), (x[:half], y[:half])), taught(new(), (x[:half], y[:half]))
    roomy.model = roomy.model.with_room(40)
    assert roomy.model.lanes >= 40
    assert state(taught(roomy, (x[half:], y[half:]))) == state(taught(plain, (x[half:], y[half:])))


@law
def learning_in_an_order_is_learning_the_rows_so_ordered(new, x, y):
    order = np.random.default_rng(1).permutation(len(y))
    labels = np.empty_like(y)
    labels[order] = in_order_of_appearance(y[order])
    for as_rows in FORMATS:
        ordered = new()
        ordered.learn(as_rows(x), labels, order=order)
        assert state(ordered) == state(taught(new(), (as_rows(x[order]), labels[order])))


@law
def an_order_of_features_changes_nothing(new, x, y):
    order = np.random.default_rng(2).permutation(x.shape[1])
    plain, shuffled = taught(new(), (x, y)), taught(new(), (x[:, order], y))
    constant = [x.shape[1]] if plain.config.intercept else []
    assert_alike(shuffled, plain, features=np.concatenate([order, constant]).astype(int))


@law
def classes_by_other_numbers_are_the_same_classes(new, x, y):
    """From weights among which nobody ties: the first of equals is a matter of numbers."""
    rng = np.random.default_rng(3)
    classes = y.max() + 1
    numbers = rng.permutation(classes)
    plain, renumbered = new(n_classes=int(classes)), new(n_classes=int(classes))
    for learner in (plain, renumbered):
        learner.learn(
            np.zeros((1, x.shape[1])) if not learner.config.intercept else x[:0],
            [0] if not learner.config.intercept else [],
        )
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


@law
def predicting_changes_nothing(new, x, y):
    learner = taught(new(), (x, y))
    before = state(learner)
    for as_rows in FORMATS:
        learner.scores(as_rows(x))[:] = 7
        learner.margin_variances(as_rows(x))[:] = 7
        learner.score_one(x[0])[:] = 7
        learner.model.weights()[:] = 7
        learner.model.variances()[:] = 7
    assert state(learner) == before


@law
def what_was_written_down_is_what_was_scored(new, x, y):
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
def a_copy_goes_on_as_if_never_stopped(new, x, y):
    half = len(y) // 2
    never_stopped = taught(new(), (x[:half], y[:half]), (x[half:], y[half:]))
    for duplicate in (copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))):
        original = taught(new(), (x[:half], y[:half]))
        original.score_one(x[0])
        before = state(original)
        assert state(taught(duplicate(original), (x[half:], y[half:]))) == state(never_stopped)
        assert state(original) == before
        assert state(taught(duplicate(new()), (x, y))) == state(taught(new(), (x, y)))


@law
def models_in_read_only_memory_go_on_as_if_never_stopped(new, x, y):
    half = len(y) // 2
    plain = taught(new(), (x[:half], y[:half]), (x[half:], y[half:]))
    single = taught(new(), (x[:half], y[:half]))
    batch = taught(new(), (x[:half], y[:half]))
    for learner in (single, batch):
        gaussians = learner.model
        for array in (gaussians.memory, gaussians.scalars, gaussians.known, learner._tally):
            array.flags.writeable = False
        learner.scores(x)
    for row, label in zip(x[half:], y[half:], strict=True):
        single.learn_one(row, label)
    assert state(taught(batch, (x[half:], y[half:]))) == state(plain)
    assert_same(single, plain)


@law
def a_learner_with_other_parameters_shares_the_models(new, x, y):
    learner = taught(new(), (x, y))
    other = learner.with_parameters(learner.parameters)
    other.learn(x, y)
    assert learner.counts.seen == other.counts.seen == 2 * len(y)
    assert state(learner) == state(taught(new(), (x, y), (x, y)))


@law
def bad_input_raises_before_anything_changes(new, x, y):
    bad = [
        *((as_rows(spoiled(x, value)), y) for value in (np.nan, np.inf, 1e200) for as_rows in FORMATS),
        *((as_rows(np.hstack([x, x])), y) for as_rows in FORMATS),
        (x[:, :-1], y),
        (x[0], y),
        (x.astype(complex), y),
        (x, y[:-1]),
        (x, y[:, None]),
        *((x, np.append(y[:-1], wrong)) for wrong in (-1, 0.5, y.max() + 2, np.nan)),
        (x, [*y[:-1], "yes"]),
    ]
    learner = taught(new(), (x, y))
    before, untouched = state(learner), state(new())
    for rows, labels in bad:
        with pytest.raises((ValueError, TypeError)):
            learner.learn(rows, labels)
        assert state(learner) == before
        fresh = new()
        if np.shape(rows)[-1] == x.shape[1]:
            with pytest.raises((ValueError, TypeError)):
                fresh.learn(rows, labels)
            assert state(fresh) == untouched


@law
def an_empty_row_changes_nothing_but_the_counts(new, x, y):
    for as_rows in FORMATS:
        learner = taught(new(), (x, y))
        if learner.config.intercept:
            return
        before, counts = state(learner)[:2], learner.counts
        # Where all scores are 0 the first class is predicted.
        learner.learn(as_rows(np.zeros((3, x.shape[1]))), [0, 1, 1])
        assert (learner.counts - counts).mistakes == 2
        assert (learner.counts - counts).updates == 0
        assert state(learner)[:2] == before


@law
def an_empty_batch_changes_nothing(new, x, y):
    for nothing in (x[:0], sparse.csr_array(x[:0])):
        learner = taught(new(), (x, y))
        before = state(learner)
        learner.learn(nothing, y[:0])
        assert state(learner) == before
        assert learner.scores(nothing).shape == learner.margin_variances(nothing).shape == (0, learner.n_classes)


@law
def values_at_the_edge_of_what_is_allowed_leave_the_models_finite(new, x, y):
    rng = np.random.default_rng(3)
    x = np.where(x == 0, 0, np.sign(x) * 10.0 ** rng.choice([-150, -75, 0, 75, 150], x.shape))
    for as_rows in FORMATS:
        learner = taught(new(), (as_rows(x), y))
        assert learner.counts.seen == len(y)
        assert np.isfinite(learner.model.weights()).all()
        assert np.isfinite(learner.model.variances()).all()
        assert (learner.model.variances() > 0).all()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("rule", [r.name for r in all_rules()])
@pytest.mark.parametrize("form", FORMS)
def test_law(law, rule, form):
    # Shrinking a seed makes nothing simpler.
    @settings(max_examples=3, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    @given(
        examples=st.builds(
            draw_examples,
            seed=st.integers(0, 2**32),
            rows=st.integers(12, 50),
            features=st.integers(3, 12),
            classes=st.integers(2, 9),
            density=st.sampled_from([0.4, 0.8, 1.0]),
        ),
        intercept=st.booleans(),
        initial_variance=st.sampled_from([1.0, 0.5, 3.0]),
    )
    def holds(examples, intercept, initial_variance):
        for covariance in COVARIANCES:
            note(f"covariance={covariance!r}")
            how = {"intercept": intercept, "initial_variance": initial_variance, **FORMS[form]}
            law(partial(several, rule, covariance=covariance, **how), *examples)

    holds()
