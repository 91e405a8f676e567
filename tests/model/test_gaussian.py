"""The model: marginals, other orders of features and classes, and single classes."""

from copy import copy

import numpy as np
import pytest

from learner_examples import FORMS, every_form
from scwlearn import Learner
from scwlearn._native import full_precisions, full_stride, widen_full
from scwlearn.learning.merging.features import _arranged
from scwlearn.model import interleaved
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.model.covariances import covariance as named_covariance
from scwlearn.model.full import Full, factors
from scwlearn.model.gaussian import NORM2, NORM2_PEAK, Gaussian

FEATURES = 11
every_covariance = pytest.mark.parametrize("covariance", COVARIANCE_NAMES)


def examples(seed=0, rows=200, classes=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, FEATURES)) * (rng.random((rows, FEATURES)) < 0.7)
    y = (x @ rng.normal(size=(FEATURES, classes)) + rng.normal(size=(rows, classes))).argmax(axis=1)
    y[:classes] = range(classes)
    return x, y


def taught(covariance, form, rule="arow", **how):
    learner = Learner(
        "pa1" if covariance == "identity" else rule, n_classes=0, covariance=covariance, **FORMS[form], **how
    )
    learner.learn(*examples())
    return learner


@every_covariance
@every_form
@pytest.mark.parametrize("kept", [[7, 2, 9, 10, 0], [3], []])
def test_a_marginal_is_the_block_of_each_sigma(covariance, form, kept):
    models = taught(covariance, form, initial_variance=2.0).model
    features = np.array(kept, dtype=np.int64)
    before = models.memory.tobytes(), models.scalars.tobytes()
    marginal = models.marginal(features)
    assert (marginal.classes, marginal.size, marginal.lanes) == (5, len(kept), models.lanes)
    np.testing.assert_array_equal(marginal.weights(), models.weights()[:, features])
    np.testing.assert_allclose(marginal.variances(), models.variances()[:, features], rtol=1e-12)
    for number in range(5):
        part = models.matrix(number)[np.ix_(features, features)]
        np.testing.assert_allclose(marginal.matrix(number), part, rtol=0, atol=1e-13)
    assert (models.memory.tobytes(), models.scalars.tobytes()) == before


@every_covariance
@every_form
def test_a_marginal_can_learn_on_and_take_new_classes(covariance, form):
    x, y = examples()
    learner = taught(covariance, form, intercept=True, initial_variance=3.0)
    kept = np.array([4, 1, 8])
    learner.model = learner.model.marginal(np.append(kept, FEATURES))
    assert learner.n_features == 3
    learner.add_classes(1)
    if form != "shared":
        np.testing.assert_allclose(learner.model.variances()[5], 3.0, rtol=1e-15)
    np.testing.assert_array_equal(learner.model.weights()[5], 0.0)
    updates = learner.counts.updates
    learner.learn(np.vstack([x[:, kept], x[:1, kept]]), np.append(y, 6))
    assert learner.n_classes == 7
    assert learner.counts.updates > updates
    assert np.isfinite(learner.scores(x[:, kept])).all()


@every_covariance
@every_form
def test_dropping_features_never_seen_changes_nothing(covariance, form):
    x, y = examples()
    rule = "pa1" if covariance == "identity" else "iellip"
    wide, narrow = (Learner(rule, n_classes=0, covariance=covariance, **FORMS[form]) for _ in range(2))
    narrow.learn(x, y)
    wide.learn(np.insert(x, [0, 5], 0.0, axis=1), y)
    seen = np.delete(np.arange(FEATURES + 2), [0, 6])
    marginal = wide.model.marginal(seen)
    np.testing.assert_allclose(marginal.weights(), narrow.model.weights(), rtol=1e-9, atol=1e-12)
    for number in range(5):
        np.testing.assert_allclose(marginal.matrix(number), narrow.model.matrix(number), rtol=1e-9, atol=1e-12)


@every_form
def test_a_marginal_recomputes_the_norm_of_the_weights(form):
    features = np.array([1, 6, 3])
    asks = Learner("romma", n_classes=0, **FORMS[form])
    asks.learn(*examples())
    marginal = asks.model.marginal(features)
    norms = np.square(asks.model.covariance.means(asks.model.memory)[:, features]).sum(axis=1)
    norms = norms.sum(keepdims=True) if marginal.joint else norms
    assert norms[0] > 0
    for place in (NORM2, NORM2_PEAK):
        np.testing.assert_allclose(marginal.scalars[:, place], norms, rtol=1e-14)
    assert not taught("diagonal", form).model.marginal(features).scalars[:, NORM2].any()


@pytest.mark.parametrize("shared", [False, True])
def test_a_marginal_of_the_prior_is_the_prior_of_fewer_features(shared):
    for name in COVARIANCE_NAMES:
        prior = Gaussian.prior(named_covariance(name, shared=shared), 6, 0.3, classes=3)
        marginal = prior.marginal(np.array([1, 4]))
        np.testing.assert_allclose(marginal.variances(), np.full((3, 2), 0.3), rtol=1e-15)
        marginal.add_classes(1)
        np.testing.assert_allclose(marginal.matrix(3), 0.3 * np.eye(2), rtol=1e-15)


@every_covariance
@every_form
def test_reordering_features_keeps_the_model(covariance, form):
    x, y = examples()
    learner = taught(covariance, form)
    order = np.random.default_rng(1).permutation(FEATURES)
    models, before = learner.model, learner.model.memory.tobytes()
    scores, variances = learner.scores(x), learner.margin_variances(x)
    learner.model = models.reordered(order)
    np.testing.assert_array_equal(learner.model.weights(), models.weights()[:, order])
    np.testing.assert_allclose(learner.scores(x[:, order]), scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(learner.margin_variances(x[:, order]), variances, rtol=1e-12)
    assert models.memory.tobytes() == before
    learner.learn(x[:, order], y)
    other = taught(covariance, form)
    other.learn(x, y)
    np.testing.assert_allclose(learner.scores(x[:, order]), other.scores(x), rtol=1e-9, atol=1e-9)


@every_covariance
@every_form
def test_named_features_move_to_the_indices_of_another_vocabulary(covariance, form):
    learner = taught(covariance, form, intercept=True)
    known = {f"f{i}": i for i in range(FEATURES)}
    names = {name: i for i, name in enumerate(["new", *reversed(known), "newer"])}
    wide = _arranged(learner.model, FEATURES + 2, True, np.array([names[name] for name in known]))
    expected = np.zeros((5, FEATURES + 3))
    expected[:, 1 : FEATURES + 1] = learner.model.weights()[:, FEATURES - 1 :: -1]
    expected[:, -1] = learner.model.weights()[:, -1]
    np.testing.assert_array_equal(wide.weights(), expected)


@every_covariance
@every_form
def test_classes_can_move_among_others_or_be_left_out(covariance, form):
    x, y = examples()
    rule = "romma" if covariance == "identity" else "iellip"
    learner = Learner(rule, n_classes=0, covariance=covariance, initial_variance=2.0, **FORMS[form])
    learner.learn(x, y)
    models, places = learner.model, [6, 0, 3]
    moved = models.with_classes(places, 9)
    assert moved.classes == 9
    new = np.setdiff1d(np.arange(9), places)
    np.testing.assert_array_equal(moved.weights()[places], models.weights()[:3])
    assert not moved.weights()[new].any()
    np.testing.assert_array_equal(moved.variances()[places], models.variances()[:3])
    # The other classes equal classes that are added now.
    learner.add_classes(1)
    for number, place in enumerate(places):
        np.testing.assert_array_equal(moved.matrix(place), models.matrix(number))
    for place in new:
        np.testing.assert_array_equal(moved.matrix(place), learner.model.matrix(5))
    if rule == "romma":
        norms = np.square(moved.covariance.means(moved.memory)).sum(axis=1)
        np.testing.assert_allclose(moved.scalars[:, NORM2], norms.sum() if moved.joint else norms, rtol=1e-14)
    learner.model = moved
    learner.learn(x, np.arange(len(y)) % 10)
    assert learner.n_classes == 10


@every_covariance
@every_form
def test_of_class_returns_the_weights_and_sigma_of_one_class(covariance, form):
    models = taught(covariance, form, intercept=True).model
    before = models.memory.tobytes()
    for number in range(5):
        one = models.of_class(number)
        np.testing.assert_array_equal(one.weights()[0], models.weights()[number])
        np.testing.assert_array_equal(one.matrix(), models.matrix(number))
        one.memory[:] = 7.0
    assert models.memory.tobytes() == before


@every_covariance
@every_form
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alone", [False, True])
def test_a_model_with_room_widens_like_one_without(covariance, form, intercept, alone, monkeypatch):
    x, y = examples()
    found = []
    for large in (0, 10**9):
        monkeypatch.setattr(interleaved, "_LARGE", large)
        monkeypatch.setattr(interleaved, "_SPARE_PART", 1)
        learner = Learner(
            "pa1" if covariance == "identity" else "arow",
            n_classes=0,
            covariance=covariance,
            intercept=intercept,
            **FORMS[form],
        )
        learner.learn(x[:50, :7], y[:50])
        for width in (8, 10, FEATURES):
            learner.widen(width, alone=alone)
            learner.learn(x[50:, :width], y[50:])
        found.append((learner.model.memory.tobytes(), learner.model.scalars.tobytes()))
    assert found[0] == found[1]


def test_a_diagonal_model_with_room_widens_where_it_is(monkeypatch):
    monkeypatch.setattr(interleaved, "_LARGE", 0)
    monkeypatch.setattr(interleaved, "_SPARE_PART", 2)
    learner = Learner("arow", covariance="diagonal")
    learner.learn(np.eye(8), [1, -1] * 4)
    same, model, before = learner._shallow_copy(), learner.model, copy(learner)
    learner.widen(10)
    assert np.shares_memory(learner.model.memory, model.memory)
    # Another learner on the same model still shares it, but cannot have the same room.
    learner.learn(np.eye(8, 10), [-1, 1] * 4)
    assert np.array_equal(same.model.memory, learner.model.memory[:8])
    assert np.array_equal(same.model.scalars, learner.model.scalars)
    same.widen(11)
    assert not np.shares_memory(same.model.memory, learner.model.memory)
    assert not np.shares_memory(before.model.memory, learner.model.memory)
    # Without room, it moves.
    learner.widen(20)
    assert not np.shares_memory(learner.model.memory, model.memory)


@pytest.mark.parametrize("alone", [False, True])
def test_an_intercept_moves_only_for_a_learner_that_is_alone(alone, monkeypatch):
    monkeypatch.setattr(interleaved, "_LARGE", 0)
    monkeypatch.setattr(interleaved, "_SPARE_PART", 2)
    learner = Learner("arow", covariance="diagonal", intercept=True)
    learner.learn(np.eye(8), [1, -1] * 4)
    model, before = learner.model, learner.model.memory.copy()
    learner.widen(10, alone=alone)
    assert np.shares_memory(learner.model.memory, model.memory) == alone
    assert alone or np.array_equal(model.memory, before)
    assert np.array_equal(learner.model.memory, [*before[:8], [0, 1], [0, 1], before[8]])


def test_memory_that_is_part_of_other_memory_has_no_room(monkeypatch):
    monkeypatch.setattr(interleaved, "_LARGE", 0)
    diagonal, one = named_covariance("diagonal"), np.ones(1)
    for memory in (np.zeros((8, 2)), np.zeros(99)[8:24].reshape(8, 2), np.zeros(999, np.uint8)[:128].view(float)):
        assert diagonal.extend(memory.reshape(-1, 2), 8, 1, one) is None
    memory = diagonal.start(64, 1, 1.0)
    assert diagonal.extend(memory, 64, 1, one) is not None
    assert diagonal.extend(memory, 64, 1, one) is None
    assert diagonal.extend(memory[1:], 63, 1, one) is None
    assert diagonal.extend(memory, 64, 10**6, one) is None


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("size", [0, 1, 6, 17, 83])
def test_precisions_are_the_diagonal_of_the_inverse(size):
    random = np.random.default_rng(size)
    memory = Full().start(size, 1, 1.0)
    places, d, columns = factors(memory)
    places[:], d[:] = random.permutation(size), random.uniform(0.1, 2.0, size)
    u = np.triu(random.uniform(-0.5, 0.5, (size, size)), 1) * (random.random((size, size)) < 0.2)
    columns += u.T
    inverse = np.linalg.inv(np.eye(size) + u)
    expected = np.square(inverse / np.sqrt(d)[:, np.newaxis]).sum(axis=0)[places.astype(int)]
    np.testing.assert_allclose(Full().precisions(memory, 1.0)[0], expected, rtol=1e-12)


def test_native_precisions_reject_factors_of_another_shape():
    with pytest.raises(ValueError, match="a row for D and for each column of U"):
        full_precisions(np.ones((3, 3)))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("size", "at", "count"), [(0, 0, 3), (5, 5, 1), (5, 4, 20), (9, 0, 0), (40, 39, 21)])
def test_a_widened_full_sigma_has_new_features_at_the_last_places(size, at, count, shared):
    random = np.random.default_rng(size)
    form, lanes = Full(shared=shared), 4
    memory = form.start(size, lanes, 1.0)
    form.means(memory)[:] = random.normal(size=(lanes, size))
    for sigma in form._sigmas(memory):
        sigma[1, :size], sigma[2, :size] = random.permutation(size), random.uniform(0.1, 2.0, size)
        sigma[3:, :size] += np.tril(random.normal(size=(size, size)), -1)
    wider = form.widen(memory, at, count, np.arange(3.0, 3.0 + lanes))
    form.check(wider, size + count)
    known = np.delete(np.arange(size + count), np.s_[at : at + count])
    np.testing.assert_array_equal(form.means(wider)[:, known], form.means(memory))
    assert not form.means(wider)[:, at : at + count].any()
    for lane, (old, new) in enumerate(zip(form._sigmas(memory), form._sigmas(wider), strict=True)):
        assert new[1, at : at + count].tolist() == list(range(size, size + count))
        np.testing.assert_array_equal(new[1, known], old[1, :size])
        np.testing.assert_array_equal(new[2, : size + count], np.append(old[2, :size], np.full(count, 3.0 + lane)))
        np.testing.assert_array_equal(new[3 : 3 + size, :size], old[3:, :size])
        np.testing.assert_array_equal(new[3 + size :, : size + count], np.eye(size + count)[size:])


@pytest.mark.parametrize(
    ("known", "wider", "at"),
    [((4, 8), (2, 8), 0), ((4, 8), (5, 3), 0), ((8, 8), (4, 8), 0), ((4, 8), (6, 8), -1), ((4, 8), (6, 8), 2)],
)
def test_native_widening_rejects_other_shapes_and_places(known, wider, at):
    known, wider = ((rows, full_stride(rows - 3) if columns == 8 else columns) for rows, columns in (known, wider))
    with pytest.raises(ValueError, match=r"a Sigma must have rows|new features must come"):
        widen_full(np.zeros(known), np.zeros(wider), at, 1.0)
