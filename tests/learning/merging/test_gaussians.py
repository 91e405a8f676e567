"""The merge rules equal their formulas and keep their laws."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

from learner_examples import draw_examples, state, taught
from merge_examples import (
    FEATURES,
    RULES,
    X,
    Y,
    assert_close,
    every_covariance,
    every_rule,
    new,
    reference,
    shards,
    sigma,
    ungated,
)
from scwlearn import merge
from scwlearn.learning.merging import merge_gaussians
from scwlearn.model import covariances as forms
from scwlearn.model.gaussian import GROWTH, MEAN_SCALE, NORM2, NORM2_PEAK, Gaussian
from scwlearn.rules import all_rules

# "ev" with a full Sigma has its own tests.
WITH_FORMULAS = [
    pair for pair in itertools.product(RULES, ("diagonal", "diagonal-drop", "full")) if pair != ("ev", "full")
]


@pytest.mark.parametrize(("how", "covariance"), WITH_FORMULAS)
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.5, 3.0, 1.25), (0.1, 0.3, 0.2)])
@pytest.mark.parametrize("again", [False, True])
def test_merged_models_equal_the_formulas(how, covariance, weights, again):
    start = new(covariance, "scw1")
    if again:
        start.learn(X[::5], Y[::5])
    models = [taught(copy.copy(start), (X[k::3], Y[k::3])) for k in range(3)]
    found = merge(models, how, weights, prior=start if again else None).model
    prior = start.model or Gaussian.prior(forms.covariance(covariance), FEATURES, 2.0)
    known = [(model.model.weights()[0], sigma(model.model)) for model in models]
    mean, covariances = reference(known, how, weights, (prior.weights()[0], sigma(prior)))
    np.testing.assert_allclose(found.weights()[0], mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(sigma(found), covariances, rtol=1e-9, atol=1e-11)


def test_without_sigma_bcm_adds_kl_averages_and_ev_averages_over_models_that_moved():
    one, other = new("identity"), new("identity")
    one.learn([[1.0, 2.0, 0.0]], [1])
    other.learn([[0.0, 1.0, 1.0]], [-1])
    a, b = one.model.weights()[0], other.model.weights()[0]
    for how, expected in (("bcm", a + b), ("kl", (a + b) / 2), ("ev", [a[0], (a[1] + b[1]) / 2, b[2]])):
        merged = merge([one, other], how).model
        np.testing.assert_allclose(merged.weights(), [expected], rtol=1e-14)
        np.testing.assert_array_equal(merged.variances(), np.full((1, 3), 2.0))


def kl(mean, covariance, gaussian):
    """KL(N(mean, covariance) || gaussian), up to a constant."""
    L, away = np.linalg.inv(sigma(gaussian)), mean - gaussian.weights()[0]
    return (np.trace(L @ covariance) + away @ L @ away - np.linalg.slogdet(covariance)[1]) / 2


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_kl_minimises_the_sum_of_divergences(covariance):
    x, y = draw_examples(1, 40, 3, 1.0)
    gaussians = [learner.model for learner in shards(3, covariance, "scw1", x, y)]
    weights = (1.0, 2.0, 0.5)
    factors = np.diag_indices(3) if covariance == "diagonal" else np.tril_indices(3)

    def unpacked(numbers):
        root = np.zeros((3, 3))
        root[factors] = numbers[3:]
        return numbers[:3], root @ root.T

    def total(numbers):
        return sum(w * kl(*unpacked(numbers), g) for w, g in zip(weights, gaussians, strict=True))

    start = np.concatenate([np.zeros(3), np.eye(3)[factors]])
    mean, matrix = unpacked(minimize(total, start, method="BFGS", options={"gtol": 1e-9}).x)
    merged = merge_gaussians(gaussians, "kl", weights)
    np.testing.assert_allclose(merged.weights()[0], mean, atol=1e-5)
    np.testing.assert_allclose(sigma(merged), matrix, atol=1e-5)


def test_full_ev_equals_diagonal_ev_without_correlations():
    rng = np.random.default_rng(3)
    x = np.eye(FEATURES)[rng.integers(0, FEATURES, 200)] * rng.uniform(0.5, 2.0, (200, FEATURES))
    y = rng.choice([-1, 1], 200)
    full, diagonal = (merge(shards(4, covariance, "scw1", x, y), "ev") for covariance in ("full", "diagonal"))
    assert_close(full, diagonal)


@pytest.mark.parametrize("count", [2, 5])
def test_full_ev_lies_between_the_share_of_one_model_and_all_evidence(count):
    gaussians = [learner.model for learner in shards(count, "full", "scw1")]
    merged = np.linalg.inv(sigma(merge_gaussians(gaussians, "ev")))
    everything = np.linalg.inv(sigma(merge_gaussians(gaussians, "bcm")))
    prior = np.eye(FEATURES) / 2.0
    # At most the sum of all models, and at least its average.
    assert np.linalg.eigvalsh(everything - merged).min() > -1e-9
    assert np.linalg.eigvalsh(merged - prior - (everything - prior) / count).min() > -1e-9


@pytest.mark.parametrize("count", [2, 16])
@pytest.mark.parametrize("intercept", [False, True])
def test_bcm_of_ungated_arow_equals_the_single_stream(count, intercept):
    single = taught(new("full", ungated, intercept=intercept), (X, Y))
    assert_close(merge(shards(count, "full", ungated, intercept=intercept), "bcm"), single, rtol=1e-12)


def test_repeated_bcm_equals_the_single_stream():
    single, together = taught(new("full", ungated), (X, Y)), new("full", ungated)
    for part in np.array_split(np.arange(len(Y)), 6):
        models = [taught(copy.copy(together), (X[part[k::3]], Y[part[k::3]])) for k in range(3)]
        together = merge(models, "bcm", prior=together)
    assert_close(together, single, rtol=1e-12)
    assert together.counts.seen == len(Y)


def test_diagonal_bcm_equals_the_single_stream_for_examples_with_one_feature():
    rng = np.random.default_rng(3)
    x = np.eye(FEATURES)[rng.integers(0, FEATURES, 200)] * rng.uniform(0.5, 2.0, (200, FEATURES))
    y = rng.choice([-1, 1], 200)
    for covariance in ("diagonal", "diagonal-drop"):
        single = taught(new(covariance, ungated), (x, y))
        assert_close(merge(shards(4, covariance, ungated, x, y), "bcm"), single, rtol=1e-12)


def test_diagonal_bcm_has_the_variances_but_not_the_mean_of_the_single_stream():
    single = taught(new("diagonal", ungated), (X, Y)).model
    merged = merge(shards(4, "diagonal", ungated), "bcm").model
    np.testing.assert_allclose(merged.variances(), single.variances(), rtol=1e-12)
    assert np.abs(merged.weights() - single.weights()).max() > 1e-3


@every_rule
@every_covariance
def test_the_order_of_the_models_does_not_matter(how, covariance):
    models, weights = shards(4, covariance), [1.0, 2.0, 0.5, 3.0]
    for order in itertools.permutations(range(4)):
        assert_close(
            merge([models[i] for i in order], how, [weights[i] for i in order]), merge(models, how, weights), rtol=1e-10
        )


@every_covariance
def test_bcm_may_be_grouped(covariance):
    models = shards(5, covariance)
    together = merge(models, "bcm")
    assert_close(merge([merge(models[:2], "bcm"), merge(models[2:], "bcm")], "bcm"), together)
    assert_close(merge([models[0], merge([models[1], merge(models[2:], "bcm")], "bcm")], "bcm"), together)


@every_covariance
def test_kl_may_be_grouped_with_group_sizes_as_weights(covariance):
    models = shards(5, covariance)
    parts = [merge(models[:2], "kl"), merge(models[2:], "kl")]
    assert_close(merge(parts, "kl", [2, 3]), merge(models, "kl"))


@every_covariance
def test_ev_may_be_grouped_where_models_share_no_feature(covariance):
    models = []
    for k in range(3):
        x = np.zeros((40, 6))
        x[:, 2 * k : 2 * k + 2] = X[:40, :2]
        models.append(taught(new(covariance), (x, Y[:40])))
    in_parts = merge([models[0], merge(models[1:], "ev")], "ev")
    assert_close(in_parts, merge(models, "ev"))
    assert_close(in_parts, merge(models, "bcm"))


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_ev_may_not_be_grouped_where_models_share_features(covariance):
    models = shards(3, covariance)
    together, in_parts = merge(models, "ev"), merge([models[0], merge(models[1:], "ev")], "ev")
    assert np.abs(together.model.weights() - in_parts.model.weights()).max() > 1e-4


@every_rule
@every_covariance
def test_the_same_order_gives_the_same_bits(how, covariance):
    models = shards(4, covariance)
    again = pickle.loads(pickle.dumps(models))
    assert state(merge(models, how)) == state(merge(again, how))


@pytest.mark.parametrize("how", ["bcm", "ev"])
@every_covariance
@pytest.mark.parametrize("algorithm", [None, "iellip"])
def test_merging_with_an_untrained_model_changes_nothing(how, covariance, algorithm):
    model = taught(new(covariance, algorithm), (X, Y))
    # One model without examples, and one with examples that change nothing.
    idle = taught(new(covariance, algorithm), (np.zeros((3, FEATURES)), [1, 1, 1]))
    for others in ([model, new(covariance, algorithm)], [idle, model]):
        merged = merge(others, how)
        np.testing.assert_array_equal(merged.model.memory, model.model.memory)
        assert merged.model.scalars[0, GROWTH] == model.model.scalars[0, GROWTH]
        assert merged.counts.updates == model.counts.updates


def test_kl_includes_untrained_models():
    model = taught(new("diagonal"), (X, Y))
    merged = merge([model, new("diagonal")], "kl").model
    np.testing.assert_allclose(1 / merged.variances(), (1 / model.model.variances() + 1 / 2) / 2)


@every_rule
@every_covariance
def test_merging_one_model_copies_it(how, covariance):
    model = taught(new(covariance), (X, Y))
    alone = merge([model], how)
    assert state(alone) == state(model)
    before = state(model)
    alone.learn(X, -Y)
    assert state(model) == before


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_models_that_have_not_learned_since_equal_their_prior(covariance):
    start = taught(new(covariance), (X, Y))
    for how in RULES:
        assert_close(merge([copy.copy(start)] * 3, how, prior=start), start)


@every_rule
@every_covariance
def test_the_models_are_not_changed(how, covariance):
    start = taught(new(covariance), (X[:20], Y[:20]))
    models = [taught(copy.copy(start), (X[k::3], Y[k::3])) for k in range(3)]
    before = [state(model) for model in (start, *models)]
    merged = merge(models, how, [1, 2, 3], prior=start)
    merged.learn(X, Y)
    assert [state(model) for model in (start, *models)] == before


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_a_weight_of_two_counts_a_model_twice(covariance):
    a, b = shards(2, covariance)
    for how in ("bcm", "kl"):
        twice, weighted = merge([a, b, b], how).model, merge([a, b], how, [1, 2]).model
        np.testing.assert_allclose(weighted.weights(), twice.weights(), rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(sigma(weighted), sigma(twice), rtol=1e-11, atol=1e-14)


def test_weights_multiply_evidence_in_ev_and_only_compare_in_kl():
    models = shards(3, "diagonal")
    plain, double = (merge(models, "ev", [w] * 3).model for w in (1, 2))
    np.testing.assert_allclose(double.weights(), plain.weights(), rtol=1e-12)
    np.testing.assert_allclose(1 / double.variances() - 0.5, 2 * (1 / plain.variances() - 0.5), rtol=1e-10)
    assert_close(merge(models, "kl", [3, 6, 9]), merge(models, "kl", [1, 2, 3]))


@every_rule
@pytest.mark.parametrize("algorithm", [r.name for r in all_rules()])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_features_added_after_a_merge_equal_features_added_before(how, algorithm, covariance):
    models = shards(3, covariance, algorithm)
    late = merge(models, how)
    late.widen(FEATURES + 2)
    for model in models:
        model.widen(FEATURES + 2)
    early = merge(models, how)
    assert_close(late, early)
    # The loops rely on this bound: no variance exceeds that of an unseen feature.
    assert (late.model.variances() <= 2.0 * late.model.scalars[0, GROWTH] * (1 + 1e-12)).all()


def test_growth_is_that_of_the_most_grown_model():
    long, short = taught(new("diagonal", "iellip"), (X, Y)), taught(new("diagonal", "iellip"), (X[:3], Y[:3]))
    growths = [model.model.scalars[0, GROWTH] for model in (long, short)]
    assert growths[0] != growths[1]
    for how in ("bcm", "ev"):
        assert merge([long, short], how).model.scalars[0, GROWTH] == max(growths)
    assert merge([long, short], "kl").model.scalars[0, GROWTH] == pytest.approx(2 / sum(1 / g for g in growths))


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("again", [False, True])
def test_growth_of_the_prior_is_no_evidence(covariance, again):
    start = new(covariance, "iellip", b=0.9, c=0.5)
    if again:
        start.learn(X[:4], Y[:4])
    models = [taught(copy.copy(start), (X[k : 30 * k], Y[k : 30 * k])) for k in (1, 2, 3)]
    prior = start.model or Gaussian.prior(forms.covariance(covariance), FEATURES, 2.0)
    L0, *precisions = (np.linalg.inv(sigma(g)) for g in (prior, *(model.model for model in models)))
    growths = [model.model.scalars[0, GROWTH] / prior.scalars[0, GROWTH] for model in models]
    assert len(set(growths)) == 3
    gained = [L - L0 / growth for L, growth in zip(precisions, growths, strict=True)]
    expected = {"bcm": L0 / max(growths) + sum(gained)}
    if covariance == "diagonal":
        total = np.diag(sum(gained))
        shared = [np.diag(np.diag(found) ** 2 / np.where(total > 0, total, 1.0)) for found in gained]
        expected["ev"] = L0 / max(growths) + sum(shared)
    for how, L in expected.items():
        merged = merge(models, how, prior=start if again else None).model
        np.testing.assert_allclose(np.linalg.inv(sigma(merged)), L, rtol=1e-9, atol=1e-9 * np.abs(L).max())
        assert merged.scalars[0, GROWTH] == pytest.approx(max(model.model.scalars[0, GROWTH] for model in models))


def test_lazy_scales_of_the_mean_are_applied_and_its_norm_is_kept():
    models = shards(3, "identity", "romma")
    assert all(model.model.scalars[0, MEAN_SCALE] not in (0.0, 1.0) for model in models)
    merged = merge(models, "kl").model
    weights = np.mean([model.model.weights()[0] for model in models], axis=0)
    np.testing.assert_allclose(merged.weights()[0], weights, rtol=1e-12)
    lengths = merged.scalars[0, [NORM2, NORM2_PEAK]] * merged.scalars[0, MEAN_SCALE] ** 2
    np.testing.assert_allclose(lengths, weights @ weights, rtol=1e-12)


def test_a_prior_of_more_rounds_is_refused():
    short, long = (taught(new("diagonal"), (X[:rows], Y[:rows])).model for rows in (30, 240))
    message = r"^models\[1\] is at round 30 and prior at round 240; prior must be the model that all models"
    with pytest.raises(ValueError, match=message):
        merge_gaussians([long, short], prior=long)
