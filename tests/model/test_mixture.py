"""The mixture of a committee: against a plain NumPy version, and what it guarantees."""

import pickle
from copy import copy

import numpy as np
import pytest

from scwlearn import _native
from scwlearn.model.calibration import Calibration
from scwlearn.model.mixture import Mixture

pytestmark = pytest.mark.native


def draw(seed, rows=300, members=3, classes=2):
    """Return scores and variances of members of different quality, and class numbers."""
    random = np.random.default_rng(seed)
    numbers = random.integers(0, classes, rows)
    scores = []
    for member in range(members):
        signal = (2.0 * numbers - 1) if classes == 2 else np.eye(classes)[numbers]
        scores.append(signal * (member + 1) / members + random.standard_normal(signal.shape))
    return scores, [random.uniform(0.1, 2.0, rows) for _ in range(members)], numbers


class Plain:
    """The mixture as its docstring says it, with the curves of the package."""

    prior, kept, surest = 10.0, 0.9995, 16.0

    def __init__(self, members, n_scores):
        self.curves = [Calibration(n_scores) for _ in range(members)]
        self.start = np.full(members, 1 / members)
        self.rows = self.total = 0
        self.w, self.a, self.b = self.start, np.zeros((members, members)), np.zeros(members)

    def look(self, scores, variances):
        """Return the log-probabilities of all classes, one row per member."""
        lines = []
        for curve, score, variance in zip(self.curves, scores, variances, strict=True):
            if curve.slopes == (0.0, 0.0):
                away = np.atleast_1d(score - np.max(score) * np.ndim(score)) / np.sqrt(1 + variance)
                lines.append([*[0.0] * (len(away) == 1), *np.clip(away, -1, 1)])
                continue
            p = np.atleast_1d(curve.probabilities(np.array([score]), np.array([variance]))[0])
            if len(p) == 1:
                logit = np.clip(np.log(p[0] / (1 - p[0])), -self.surest, self.surest)
                lines.append([0.0, logit])
            else:
                lines.append(np.maximum(np.log(p), -self.surest))
        return np.array(lines)

    def learn(self, scores, variances, number, weight=1.0):
        z = self.look(scores, variances)
        mixed = self.w @ z
        p = np.exp(mixed - mixed.max())
        p /= p.sum()
        away = z - (z @ p)[:, np.newaxis]
        bend, off = weight * (away * p) @ away.T, away[:, number]
        if weight * (off @ off) > np.trace(bend):
            bend = weight * np.outer(off, off)
        kept = self.kept ** min(weight, 1.0)
        self.a = kept * self.a + bend
        self.b = kept * self.b + bend @ self.w + weight * off
        self.rows += 1
        self.total += weight
        prior = self.prior * self.total / self.rows
        if self.rows < 100 or self.rows % 16 == 0:
            self.w = np.linalg.solve(self.a + prior * np.eye(len(self.w)), self.b + prior * self.start)
        for curve, score, variance in zip(self.curves, scores, variances, strict=True):
            curve.learn(np.array([score]), np.array([variance]), [number], [weight])
        return mixed[1] - mixed[0] if self.curves[0].n_scores == 1 else mixed


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_a_mixture_is_an_online_logistic_regression(classes):
    scores, variances, numbers = draw(classes, classes=classes)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(numbers))
    n_scores = 1 if classes == 2 else classes
    mixture, plain = Mixture(3, n_scores), Plain(3, n_scores)
    mixed = mixture.learn(scores, variances, numbers, weights)
    for i, number in enumerate(numbers):
        expected = plain.learn([s[i] for s in scores], [v[i] for v in variances], number, weights[i])
        np.testing.assert_allclose(mixed[i], expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(mixture.weights, plain.w, rtol=1e-8)
    assert mixture.weights.argmax() == 2


@pytest.mark.parametrize("classes", [2, 5])
def test_rows_one_by_one_give_the_same_bits(classes):
    scores, variances, numbers = draw(3, classes=classes)
    many, one = (Mixture(3, 1 if classes == 2 else classes) for _ in range(2))
    mixed = many.learn(scores, variances, numbers)
    for i in range(len(numbers)):
        part = slice(i, i + 1)
        before = one.mix([s[part] for s in scores], [v[part] for v in variances])
        learned = one.learn([s[part] for s in scores], [v[part] for v in variances], numbers[part])
        np.testing.assert_array_equal(before, learned)
        np.testing.assert_array_equal(learned[0], mixed[i])
    np.testing.assert_array_equal(one.state, many.state)


@pytest.mark.parametrize("largest", [2.0, 1e30])
def test_weights_and_overflows_give_the_same_bits_one_by_one(largest):
    scores, variances, numbers = draw(14, rows=1000)
    random = np.random.default_rng(0)
    weights = random.choice([0.0, 0.5, 1.0, largest], len(numbers))
    for score, variance in zip(scores, variances, strict=True):
        score[random.random(len(score)) < 0.1] = np.inf
        variance[random.random(len(variance)) < 0.1] = np.nan
    many, one = Mixture(3), Mixture(3)
    mixed = many.learn(scores, variances, numbers, weights)
    for i in range(len(numbers)):
        part = slice(i, i + 1)
        looks = [s[part] for s in scores], [v[part] for v in variances]
        assert one.learn(*looks, numbers[part], weights[part])[0] == mixed[i]
    np.testing.assert_array_equal(one.state, many.state)


def test_every_instruction_set_gives_the_same_bits(instruction_set):
    scores, variances, numbers = draw(15)
    here, portable = Mixture(3), Mixture(3)
    mixed = here.learn(scores, variances, numbers)
    _native.use_instruction_set("portable")
    np.testing.assert_array_equal(portable.learn(scores, variances, numbers), mixed)
    np.testing.assert_array_equal(portable.state, here.state)
    _native.use_instruction_set(instruction_set)


def test_a_row_of_weight_0_changes_nothing():
    scores, variances, numbers = draw(4)
    mixture = Mixture(3)
    mixture.learn(scores, variances, numbers)
    before = mixture.state.copy()
    mixture.learn(scores, variances, numbers, np.zeros(len(numbers)))
    np.testing.assert_array_equal(mixture.state, before)


def test_two_classes_mix_alike_in_both_forms():
    scores, variances, numbers = draw(5)
    two = Mixture(3)
    two.learn(scores, variances, numbers)
    several = two.expanded()
    np.testing.assert_array_equal(several.weights, two.weights)
    assert several.n_scores == 2


def test_a_member_that_overflowed_says_nothing():
    scores, variances, numbers = draw(6)
    scores[1][50:60] = np.inf
    variances[0][70:80] = np.nan
    mixture = Mixture(3)
    mixed = mixture.learn(scores, variances, numbers)
    assert np.isfinite(mixed).all()
    assert np.isfinite(mixture.state).all()


def test_a_class_that_is_not_known_yet_stays_unknown():
    scores, variances, numbers = draw(7, classes=4)
    for own in scores:
        own[:100, 3] = -np.inf
    numbers[:100] = numbers[:100] % 3
    numbers[100] = 3
    mixture = Mixture(3, 4)
    mixed = mixture.learn(scores, variances, numbers)
    assert np.isneginf(mixed[:100, 3]).all()
    assert np.isfinite(mixed[:, :3]).all()
    assert np.isfinite(mixed[100:]).all()


def test_merging_adds_what_each_part_learned():
    scores, variances, numbers = draw(8, rows=600)
    first, second = Mixture(3), Mixture(3)
    half = slice(0, 300), slice(300, 600)
    for mixture, part in zip((first, second), half, strict=True):
        mixture.learn([s[part] for s in scores], [v[part] for v in variances], numbers[part])
    curves = [Calibration.merged(pair) for pair in zip(first.calibrations, second.calibrations, strict=True)]
    whole = Mixture.merged([first, second], curves)
    other = Mixture.merged([second, first], curves)
    np.testing.assert_allclose(whole.weights, other.weights, rtol=1e-12)
    first.weigh()
    nothing = Mixture.merged([first, Mixture(3)], first.calibrations)
    np.testing.assert_allclose(nothing.weights, first.weights, rtol=1e-12)
    again = Mixture.merged([first, copy(first)], first.calibrations, prior=first)
    np.testing.assert_allclose(again.weights, first.weights, rtol=1e-12)


def test_a_copy_is_independent_and_a_pickle_the_same():
    scores, variances, numbers = draw(9)
    mixture = Mixture(3)
    mixture.learn(scores, variances, numbers)
    other, restored = copy(mixture), pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(restored.state, mixture.state)
    other.learn(scores, variances, numbers)
    np.testing.assert_array_equal(restored.state, mixture.state)
    assert not np.array_equal(other.state, mixture.state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, v, n: (s[:2], v, n), "each member must give scores and variances"),
        (lambda s, v, n: (s, [x[:-1] for x in v], n), "each member must give a variance per row"),
        (lambda s, v, n: (s, v, n[:-1]), "labels must have one class number per row"),
        (lambda s, v, n: (s, v, n + 1), "labels must be numbers of known classes"),
    ],
)
def test_bad_input_changes_nothing(change, message):
    mixture = Mixture(3)
    before = mixture.state.copy()
    with pytest.raises(ValueError, match=message):
        mixture.learn(*change(*draw(10)))
    np.testing.assert_array_equal(mixture.state, before)


def test_the_number_of_members_is_bounded():
    for members in (0, 17):
        with pytest.raises(ValueError, match="a committee has from 1 to 16 members"):
            Mixture(members)


def test_a_few_wrong_labels_do_not_overturn_the_weights():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 20_000)
    scores = [8.0 * (2 * labels - 1) + random.standard_normal(20_000) for _ in range(3)]
    wrong = labels.copy()
    wrong[[15_000, 15_010]] ^= 1
    mixture = Mixture(3)
    mixed = mixture.learn(scores, [np.ones(20_000)] * 3, wrong)
    assert ((mixed > 0) == labels)[100:].all()
    assert np.abs(mixture.weights).max() < 3


def test_large_weights_of_all_rows_do_no_harm():
    scores, variances, numbers = draw(11, rows=2000)
    mixture = Mixture(3)
    mixed = mixture.learn(scores, variances, numbers, np.full(2000, 100.0))
    assert np.abs(mixture.weights).max() < 2
    assert ((mixed > 0) == numbers).mean() > 0.8
