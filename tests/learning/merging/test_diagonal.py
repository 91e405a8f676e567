"""The native merge of single weights against the formulas in NumPy, over more weights than it takes at a time."""

import numpy as np
import pytest

from merge_examples import every_rule
from scwlearn import _native

LEAST = 1e-12


def model(rng, size, *, like=None, changed=1.0):
    """Means and variances side by side, as a diagonal model has them."""
    memory = np.column_stack([rng.normal(size=size), rng.uniform(0.1, 2.0, size)])
    if like is not None:
        memory[:, 1] = like[:, 1] * rng.uniform(0.3, 1.0, size)
        same = rng.random(size) >= changed
        memory[same] = like[same]
    return memory


def expected(rule, prior, models, weights, growths):
    growth = max(growths, key=lambda each: abs(np.log(each)))
    before, L0 = prior[:, 0], 1 / prior[:, 1]
    means, L = np.array([m[:, 0] for m in models]), 1 / np.array([m[:, 1] for m in models])
    w, g = np.array(weights)[:, np.newaxis], np.array(growths)[:, np.newaxis]
    moved, gain = means - before, np.maximum(L - L0 / g, 0)
    if rule == "kl":
        precision = (w * L).sum(axis=0)
        return before + (w * L * moved).sum(axis=0) / precision, 1 / precision
    if rule == "bcm":
        precision = L0 / growth + (w * gain).sum(axis=0)
        return before + (w * L * moved).sum(axis=0) / precision, 1 / precision
    evidence, counted = w * gain, w * np.maximum(gain, LEAST * L0 / g * (moved != 0))
    with np.errstate(invalid="ignore"):
        precision = L0 / growth + np.nan_to_num((evidence**2).sum(axis=0) / evidence.sum(axis=0))
        move = np.nan_to_num((counted * moved).sum(axis=0) / counted.sum(axis=0))
    return before + move, 1 / precision


def merged(rule, prior, models, weights, growths, counted=None):
    def parts(memory, weight, growth, counted=None):
        return memory[:, 0], memory[:, 1], 1.0, 1.0, weight, growth, counted

    growth = max(growths, key=lambda each: abs(np.log(each)))
    shards = [parts(*each) for each in zip(models, weights, growths, counted or [None] * len(models), strict=True)]
    mean, variances = np.full(len(prior), np.nan), np.full(len(prior), np.nan)
    _native.merge_diagonal(rule, parts(prior, 1.0, 1.0), shards, growth, LEAST, mean, variances)
    return mean, variances


@every_rule
@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 300])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("grown", [False, True])
def test_each_weight_is_merged_by_the_formulas(how, size, count, grown):
    rng = np.random.default_rng([size, count, grown])
    prior = model(rng, size)
    models = [model(rng, size, like=prior) for _ in range(count)]
    weights = rng.uniform(0.2, 3.0, count).tolist()
    growths = rng.uniform(1.0, 1.5, count).tolist() if grown else [1.0] * count
    for ours, theirs in zip(*(f(how, prior, models, weights, growths) for f in (merged, expected)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@every_rule
def test_every_instruction_set_gives_the_same_bits(how, instruction_set):
    rng = np.random.default_rng(2)
    prior = model(rng, 300)
    models = [model(rng, 300, like=prior, changed=0.7) for _ in range(3)]
    found = []
    for name in ("portable", instruction_set):
        _native.use_instruction_set(name)
        found.append(merged(how, prior, models, [0.3, 1.7, 0.9], [1.0, 1.2, 1.0]))
    assert np.array(found[0]).tobytes() == np.array(found[1]).tobytes()


def test_features_may_count_alike_in_all_classes():
    rng = np.random.default_rng(3)
    prior = model(rng, 100)
    models = [model(rng, 100, like=prior) for _ in range(3)]
    for each in models:
        each[rng.random(100) < 0.3, 1] = prior[:, 1].max()
    counted = [rng.uniform(0, 2, 100) for _ in models]
    weights = [0.3, 1.7, 0.9]
    mean, variances = merged("ev", prior, models, weights, [1.0] * 3, counted)
    shown = [np.where(own[:, 1] < prior[:, 1], 1, 0.25) * each for each, own in zip(counted, models, strict=True)]
    moves = [each * (own[:, 0] - prior[:, 0]) for each, own in zip(shown, models, strict=True)]
    np.testing.assert_allclose(mean, prior[:, 0] + sum(moves) / sum(shown), rtol=1e-12)
    assert variances.tobytes() == merged("ev", prior, models, weights, [1.0] * 3)[1].tobytes()
    with pytest.raises(ValueError, match="same length"):
        merged("ev", prior, models, weights, [1.0] * 3, [np.ones(3)] * 3)


@every_rule
def test_weights_that_no_model_has_changed_keep_their_bits(how):
    rng = np.random.default_rng(1)
    prior = model(rng, 500)
    models = [model(rng, 500, like=prior, changed=0.2) for _ in range(3)]
    same = np.all([(each == prior).all(axis=1) for each in models], axis=0)
    assert 100 < same.sum() < 400
    mean, variances = merged(how, prior, models, [0.3, 1.7, 0.9], [1.0] * 3)
    assert mean[same].tobytes() == prior[same, 0].tobytes()
    assert variances[same].tobytes() == prior[same, 1].tobytes()
    assert (mean != prior[:, 0])[~same].all()


@every_rule
def test_overflow_is_not_hidden(how):
    prior = np.array([[0.0, 1.0]] * 3)
    models = [np.array([[np.inf, 0.5], [1.0, 0.0], [np.nan, 0.5]])] * 2
    mean, variances = merged(how, prior, models, [1.0, 1.0], [1.0, 1.0])
    assert not (np.isfinite(mean) & np.isfinite(variances) & (variances > 0)).any()


def test_arrays_of_other_lengths_are_refused():
    good = np.ones((4, 2))
    for wrong in (np.ones((3, 2)), np.ones((5, 2))):
        with pytest.raises(ValueError, match="same length"):
            merged("bcm", good, [good, wrong], [1.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="rule"):
        merged("mean", good, [good], [1.0], [1.0])
