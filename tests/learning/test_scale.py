"""Feature scaling inside a learner equals a running scale before it, and is rolled back with it."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from helpers import several
from scaled_examples import FEATURES, NUMBERS, SIGNS, WEIGHTS, X, every_format
from scwlearn import Learner
from scwlearn.data.batch import Batch
from scwlearn.data.rows import as_rows
from scwlearn.learning.grid import count_grid, learn_grid, learn_together
from scwlearn.model.scale import RunningScale
from scwlearn.model.scales import SCALE_NAMES
from stream_examples import learner_state as knows

pytestmark = pytest.mark.native

ORDER = np.random.default_rng(0).permutation(len(X))
# With replacement; without the rows of weight 0 there are more or fewer places than rows.
DRAWN = np.random.default_rng(0).integers(len(X), size=len(X))

KINDS = {
    "two": (Learner, SIGNS, {}),
    "two-constant": (Learner, SIGNS, {"intercept": True}),
    "several": (several, NUMBERS, {"n_classes": 4}),
    "several-constant": (several, NUMBERS, {"n_classes": 4, "intercept": True}),
    "ovr": (several, NUMBERS, {"n_classes": 4, "multi_class": "ovr"}),
    "shared": (several, NUMBERS, {"n_classes": 4, "shared_covariance": True}),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_covariance = pytest.mark.parametrize("covariance", ["diagonal", "full", "identity"])


SCALES = ("none", *SCALE_NAMES)


@pytest.fixture(params=SCALE_NAMES)
def scaling(request):
    """Return each kind of scale."""
    return request.param


def arow(m, v):
    return (max(0.0, 1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0.0, 0.0)


def pair(kind, covariance="diagonal", rule=None, scale="rms"):
    make, labels, settings = KINDS[kind]
    rule = rule or ("pa1" if covariance == "identity" else "scw1")
    return make(rule, covariance=covariance, scale=scale, **settings), labels


def scaled_outside(scaling, kind, covariance, x, weights=None, order=None):
    """A learner without a scale, behind one."""
    learner, labels = pair(kind, covariance, scale="none")
    scale = RunningScale(scaling)
    if order is not None:
        x, labels, weights = x[order], labels[order], None if weights is None else weights[order]
    weighs = np.ones(len(labels), dtype=bool) if weights is None else weights > 0
    learner.learn(scale.learn(x[weighs]), labels[weighs], weights=None if weights is None else weights[weighs])
    return learner, scale


def same(inside, outside, scale):
    assert inside.model.memory.tobytes() == outside.model.memory.tobytes()
    assert inside.model.scalars.tobytes() == outside.model.scalars.tobytes()
    assert inside.counts == outside.counts
    assert inside.running_scale.state.tobytes() == scale.state.tobytes()


@every_kind
@every_covariance
@every_format
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighed"])
@pytest.mark.parametrize("order", [None, ORDER, DRAWN], ids=["in-turn", "ordered", "drawn"])
def test_scaling_equals_a_running_scale_before_the_learner(kind, covariance, as_format, weights, order, scaling):
    x = as_format(X)
    inside, labels = pair(kind, covariance, scale=scaling)
    inside.learn(x, labels, weights=weights, order=order)
    outside, scale = scaled_outside(scaling, kind, covariance, x, weights, order)
    same(inside, outside, scale)
    before = knows(inside)
    assert np.array_equal(inside.scores(x), outside.scores(scale.apply(x)))
    assert np.array_equal(inside.margin_variances(x), outside.margin_variances(scale.apply(x)))
    assert knows(inside) == before


@every_kind
@every_covariance
def test_learn_one_equals_a_batch_of_one(kind, covariance, scaling):
    each, batches = pair(kind, covariance, scale=scaling)[0], pair(kind, covariance, scale=scaling)[0]
    labels = KINDS[kind][1]
    for i, (x, label, weight) in enumerate(zip(X, labels, WEIGHTS, strict=True)):
        batches.learn(x[np.newaxis], [label], weights=[weight])
        each.learn_one(x, int(label), weight)
        assert knows(each) == knows(batches)
        np.testing.assert_allclose(each.score_one(x), batches.scores(X[i : i + 1])[0], rtol=1e-9, atol=1e-12)


@every_kind
def test_batches_and_vectors_may_alternate(kind, scaling):
    mixed, labels = pair(kind, scale=scaling)
    whole = pair(kind, scale=scaling)[0]
    whole.learn(X, labels)
    for part in np.array_split(np.arange(len(X)), 9):
        mixed.learn(X[part[:5]], labels[part[:5]])
        for i in part[5:]:
            mixed.learn_one(X[i], int(labels[i]))
    assert knows(mixed) == knows(whole)


@every_kind
@every_format
def test_scoring_does_not_change_the_scale(kind, as_format, scaling):
    learner, labels = pair(kind, scale=scaling)
    learner.learn(as_format(X[:40]), labels[:40])
    before = knows(learner)
    learner.scores(as_format(X * 100))
    learner.margin_variances(as_format(X * 100))
    learner.score_one(X[0] * 100)
    assert knows(learner) == before


def test_tracing_learns_the_same(scaling):
    inside = Learner("scw1", covariance="diagonal", scale=scaling)
    outside, scale = Learner("scw1", covariance="diagonal"), RunningScale(scaling)
    trace = inside.trace(X, SIGNS, order=ORDER)
    other = outside.trace(scale.learn(X[ORDER]), SIGNS[ORDER])
    assert all(np.array_equal(one, two) for one, two in zip(trace, other, strict=True))


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_recorded_scores_are_in_the_order_of_the_rows(multi_class, scaling):
    learners = [
        Learner("scw1", n_classes=0, covariance="diagonal", scale=scaling, multi_class=multi_class) for _ in range(2)
    ]
    out = [np.empty((len(X), 4)) for _ in range(2)]
    variances = [np.empty(len(X)) for _ in range(2)]
    order = np.r_[np.arange(10), 10 + np.random.default_rng(1).permutation(len(X) - 10)]
    learners[0].learn(X, NUMBERS, order=order, weights=WEIGHTS, scores_out=out[0], variances_out=variances[0])
    learners[1].learn(X[order], NUMBERS[order], weights=WEIGHTS[order], scores_out=out[1], variances_out=variances[1])
    np.testing.assert_array_equal(out[0][order], out[1])
    np.testing.assert_array_equal(variances[0][order], variances[1])
    assert knows(learners[0]) == knows(learners[1])


# The way back


@every_kind
@pytest.mark.parametrize("raised", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("begun", [False, True])
def test_a_rule_that_raises_leaves_the_scale_as_it_was(kind, raised, begun, scaling):
    asked, limit = [0], [10**9]

    def rule(m, v):
        asked[0] += 1
        if asked[0] > limit[0]:
            raise raised
        return arow(m, v)

    learner, labels = pair(kind, rule=rule, scale=scaling)
    twin = pair(kind, rule=rule, scale=scaling)[0]
    if begun:
        learner.learn(X[:30], labels[:30])
        learner.score_one(X[0])
    before = knows(learner)
    limit[0] = asked[0] + 5
    with pytest.raises(raised):
        learner.learn(7 * X[30:], labels[30:])
    assert knows(learner) == before
    if begun:
        with pytest.raises(raised):
            learner.learn_one(7 * X[30], int(labels[30]))
        assert knows(learner) == before
    limit[0] = 10**9
    for part in (slice(0, 30), slice(30, None)) if not begun else (slice(30, None),):
        learner.learn(X[part], labels[part])
    twin.learn(X, labels)
    assert knows(learner) == knows(twin)


def test_a_rule_that_scores_and_raises_leaves_the_scale_as_it_was(scaling):
    todo = []

    def rule(m, v):
        for action in todo:
            action()
        return arow(m, v)

    def score_and_raise():
        learner.score_one(X[0])
        raise RuntimeError

    learner = Learner(rule, covariance="diagonal", scale=scaling)
    learner.learn(X, SIGNS)
    before = learner.score_one(X[0])
    todo.append(score_and_raise)
    with pytest.raises(RuntimeError):
        learner.learn(100 * X[::-1], SIGNS)
    todo.clear()
    assert learner.score_one(X[0]) == before
    assert learner.scores(X[:1])[0] == pytest.approx(before, rel=1e-12)


BAD = [(np.nan, None), (np.inf, None), (1e200, None), (None, 3)]


@every_kind
@every_format
@pytest.mark.parametrize(("value", "label"), BAD)
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_bad_rows_leave_the_scale_as_it_was(kind, as_format, value, label, begun, scaling):
    learner, labels = pair(kind, scale=scaling)
    if begun:
        learner.learn(as_format(X), labels)
    before, x, wrong = knows(learner), X.copy(), labels.copy()
    x[-1, -1] = x[-1, -1] if value is None else value
    wrong[-1] = wrong[-1] if label is None else 17
    with pytest.raises(ValueError, match=r"finite|label|y\[|large|X"):
        learner.learn(as_format(x), wrong)
    assert knows(learner) == before
    if begun:
        with pytest.raises(ValueError, match="X has 5 features"):
            learner.learn(as_format(X[:, :-1]), labels)
        assert knows(learner) == before


@pytest.mark.parametrize("make", [Learner, several])
def test_a_model_too_large_for_memory_leaves_no_scale(make, scaling):
    learner = make("arow", covariance="full", scale=scaling)
    wide = sparse.csr_array(([1.0], [3], [0, 1]), shape=(1, 10**7))
    with pytest.raises((ValueError, MemoryError), match="memory"):
        learner.learn(wide, [0 if make is several else 1])
    assert learner.running_scale.state is None
    learner.learn(X[:1], [0 if make is several else 1])


@every_kind
def test_rows_of_weight_zero_are_ignored(kind, scaling):
    learner, labels = pair(kind, scale=scaling)
    other = pair(kind, scale=scaling)[0]
    x = X.copy()
    x[WEIGHTS == 0] *= 1e6
    learner.learn(x, labels, weights=WEIGHTS)
    other.learn(X[WEIGHTS > 0], labels[WEIGHTS > 0], weights=WEIGHTS[WEIGHTS > 0])
    assert knows(learner) == knows(other)
    before = knows(learner)
    learner.learn(1e6 * X, labels, weights=np.zeros(len(X)))
    learner.learn_one(1e6 * X[0], int(labels[0]), 0.0)
    assert knows(learner) == before


def test_an_empty_example_may_be_the_first_of_a_handle(scaling):
    for intercept in (False, True):
        learner = Learner("arow", covariance="diagonal", scale=scaling, intercept=intercept)
        learner.learn_many([{"a": 5.0, "b": 1.0}, {"a": 6.0}, {"a": 7.5}], [1, -1, 1])
        zeros = sparse.csr_array((1, learner.n_features))
        expected = learner.running_scale.apply(zeros).dense()[0] @ learner.model.weights()[0, : learner.n_features]
        expected += learner.model.weights()[0, -1] if intercept else 0
        for first in ({}, {"never seen": 1.0}):
            assert copy.copy(learner).score_one(first) == pytest.approx(expected, rel=1e-12)
            assert copy.copy(learner).score_and_variance_one(first)[0] == pytest.approx(expected, rel=1e-12)
        each, many = copy.copy(learner), copy.copy(learner)
        each.learn_one({}, 1)
        many.learn_many([{}], [1])
        assert knows(each) == knows(many)
        if scaling == "standard":
            assert each.running_scale.rows == 4


# Copies, and more features


@every_kind
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_a_copy_has_its_own_scale(kind, duplicate, scaling):
    for count in (0, 40):
        learner, labels = pair(kind, scale=scaling)
        if count:
            learner.learn(X[:count], labels[:count])
        before, twin = knows(learner), duplicate(learner)
        twin.learn(X[count:], labels[count:])
        assert knows(learner) == before
        learner.learn(X[count:], labels[count:])
        assert knows(learner) == knows(twin)


@every_kind
@every_covariance
def test_widened_features_equal_features_present_from_the_start(kind, covariance, scaling):
    early = X.copy()
    early[:40, -2:] = 0.0
    (grown, labels), known = pair(kind, covariance, scale=scaling), pair(kind, covariance, scale=scaling)[0]
    grown.learn(early[:40, :-2], labels[:40])
    grown.score_one(early[0, :-2])
    grown.widen(FEATURES)
    known.learn(early[:40], labels[:40])
    for learner in (grown, known):
        learner.learn(early[40:], labels[40:])
    np.testing.assert_array_equal(grown.running_scale.state, known.running_scale.state)
    np.testing.assert_allclose(grown.scores(X), known.scores(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(grown.score_one(X[0]), grown.scores(X[:1])[0], rtol=1e-9, atol=1e-9)


def test_batches_that_grow_are_scaled(scaling):
    lines = np.arange(1, len(X) + 1)
    batches = [
        Batch(as_rows(sparse.csr_array(X[:40, :3])), SIGNS[:40], None, lines[:40], "X"),
        Batch(as_rows(sparse.csr_array(X[40:])), SIGNS[40:], None, lines[40:], "X"),
    ]
    grown, known = (Learner("arow", covariance="diagonal", scale=scaling) for _ in range(2))
    grown.learn_batches(batches)
    x = X.copy()
    x[:40, 3:] = 0.0
    known.learn(sparse.csr_array(x), SIGNS)
    np.testing.assert_array_equal(grown.running_scale.state, known.running_scale.state)
    np.testing.assert_allclose(grown.model.weights(), known.model.weights(), rtol=1e-12)


def test_a_learner_with_other_parameters_has_its_own_scale(scaling):
    learner = Learner("arow", covariance="diagonal", scale=scaling)
    learner.learn(X[:40], SIGNS[:40])
    before = knows(learner)
    other = learner.with_parameters({"r": 1.0})
    other.learn(X[40:], SIGNS[40:])
    whole = Learner("arow", covariance="diagonal", scale=scaling, r=1.0)
    whole.learn(X[:40], SIGNS[:40])
    whole.learn(X[40:], SIGNS[40:])
    assert knows(other) == knows(whole)
    assert knows(learner) == before


def mixed():
    """Learners of all kinds, with a scale and without, some of which have learned before."""
    kinds = [("scw1", "diagonal"), ("arow", "full"), ("pa1", "identity"), (arow, "diagonal"), ("romma", "identity")]
    learners = [
        Learner(rule, covariance=covariance, scale=scale, intercept=scale != "none")
        for rule, covariance in kinds
        for scale in SCALES
    ]
    learners += [Learner("scw1", covariance="diagonal", scale="rms", C=2.0**k) for k in range(5)]
    for learner in learners[::3]:
        learner.learn(100 * X[:7], SIGNS[:7])
    return learners


@pytest.mark.parametrize("order", [None, ORDER], ids=["in-turn", "ordered"])
def test_learners_that_learn_together_keep_their_scales(order):
    together, alone = mixed(), mixed()
    for _ in range(2):
        counts = learn_together(together, X, SIGNS, order=order)
        assert counts == [learner.learn(X, SIGNS, order=order) for learner in alone]
        assert list(map(knows, together)) == list(map(knows, alone))
    together[0].learn(X, SIGNS)
    assert list(map(knows, together[1:])) == list(map(knows, alone[1:]))


def test_an_error_leaves_the_scales_of_all_learners_as_they_were(scaling):
    def failing(m, v):
        raise RuntimeError

    def stop(done, total):
        if done > total // 2:
            raise RuntimeError

    learners = mixed()
    before = list(map(knows, learners))
    with pytest.raises(RuntimeError):
        learn_together([*learners, Learner(failing, scale=scaling)], X, SIGNS)
    with pytest.raises(RuntimeError):
        learn_together(learners, X, SIGNS, progress=stop)
    assert list(map(knows, learners)) == before


def test_tuning_scales_features(scaling):
    cells = [{"C": C} for C in (0.01, 0.1, 1.0, 10.0)]
    alone = [Learner("scw1", covariance="diagonal", scale=scaling, **cell) for cell in cells]
    counts = [learner.learn(X, SIGNS) for learner in alone]
    assert count_grid("scw1", cells, X, SIGNS, covariance="diagonal", scale=scaling) == counts
    learners = learn_grid("scw1", cells, X, SIGNS, covariance="diagonal", scale=scaling)
    assert list(map(knows, learners)) == list(map(knows, alone))


@pytest.mark.parametrize("scale", ["yes", True, 1, None])
def test_scale_is_a_known_kind(scale):
    for make in (Learner, several):
        with pytest.raises(ValueError, match=f"scale must be one of none, rms, standard, unit, got {scale!r}"):
            make("arow", scale=scale)
