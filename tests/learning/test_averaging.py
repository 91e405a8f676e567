"""Averaged weights: what predictions use, against a plain computation of the average."""

import copy

import numpy as np
import pytest
from scipy import sparse

import scwlearn
from learner_examples import CLASS_AXES, draw_class_examples, draw_examples, everything, state
from scwlearn import Learner, StreamClassifier
from scwlearn.cli.app import run
from scwlearn.learning.grid import learn_together
from scwlearn.learning.merging import merge_gaussians
from scwlearn.model.average import Average
from scwlearn.model.gaussian import MEAN_SCALE, ROUNDS
from scwlearn.rules import all_rules

pytestmark = pytest.mark.native

KEPT_MISTAKES = 0.9995
every_axis = pytest.mark.parametrize("axis", CLASS_AXES)


class Plain:
    """The average and the recent mistakes of a learner without averaging, computed after each round."""

    def __init__(self, learner, size, classes):
        self.learner = learner
        self.mean = np.zeros((classes, size))
        self.average = np.zeros((classes, size))
        self.recent = np.zeros(2)
        self.mistakes = 0

    def scales(self):
        """Return the scale of the stored weights of each class, which changes when they shrink."""
        scales, model = np.ones(len(self.mean)), self.learner.model
        if model is not None:
            scales[: model.classes] = model.scalars[: model.classes, MEAN_SCALE]
        return scales

    @property
    def shown(self):
        return self.average if self.recent[1] <= self.recent[0] else self.mean

    def learn(self, row, label, weight=1.0):
        known = 0 if self.learner.model is None else self.learner.model.classes
        looks = np.append(row, 1.0) if self.learner.config.intercept else row
        binary = self.learner.is_binary

        def is_wrong(weights):
            scores = weights @ looks
            if binary:
                return (scores[0] >= 0) != (label > 0)
            return label >= known or scores[:known].argmax() != label

        self.mistakes += is_wrong(self.shown)
        wrong = np.array([is_wrong(self.mean), is_wrong(self.average)])
        scales = self.scales()
        self.learner.learn(row[np.newaxis], [label], weights=[weight])
        model = self.learner.model
        rounds = np.broadcast_to(model.scalars[: model.classes, ROUNDS], model.classes)
        self.recent = KEPT_MISTAKES * self.recent + weight * wrong
        self.mean[: model.classes] = model.weights()
        rate = (3 / (rounds + 3))[:, np.newaxis]
        # A step that starts again from 0 (agg-ROMMA) sets the scale back to 1.
        shrink = np.where((self.scales() == 1) & (scales != 1), 0.0, self.scales() / scales)
        shrink = shrink[: model.classes, np.newaxis]
        old = shrink * self.average[: model.classes]
        self.average[: model.classes] = old + rate * (self.mean[: model.classes] - old)


def examples(axis, seed=0, rows=150):
    if axis == "binary":
        return draw_examples(seed, rows, 6, 0.7)
    return draw_class_examples(seed, rows, 6, 0.7, 4)


@every_axis
@pytest.mark.parametrize("covariance", ["identity", "diagonal", "full"])
@pytest.mark.parametrize("rule", [rule.name for rule in all_rules()])
def test_the_average_is_that_of_the_weights_after_each_round(axis, covariance, rule):
    x, y = examples(axis)
    settings = {"covariance": covariance, "intercept": True} | CLASS_AXES[axis]
    averaged, plain = Learner(rule, average=True, **settings), Learner(rule, **settings)
    expected = Plain(plain, x.shape[1] + 1, 1 if axis == "binary" else int(y.max()) + 1)
    weights = np.resize([1.0, 1.0, 0.5, 2.0], len(y))
    averaged.learn(x, y, weights=weights)
    for row, label, weight in zip(x, y, weights, strict=True):
        expected.learn(row, label, weight)
    size = max(1.0, np.abs(expected.mean).max())
    model = averaged.model
    lags = expected.mean - expected.average
    np.testing.assert_allclose(model.average.lags(model.classes), lags, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(averaged.shown_weights(), expected.shown, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(model.average.state[0, 1:], expected.recent, rtol=1e-9)
    assert averaged.counts.mistakes == expected.mistakes


@every_axis
@pytest.mark.parametrize("covariance", ["identity", "diagonal", "full"])
@pytest.mark.parametrize("rule", ["pa1", "cw", "romma"])
def test_scores_are_those_of_the_shown_weights(axis, covariance, rule):
    x, y = examples(axis)
    settings = {"covariance": covariance, "intercept": True} | CLASS_AXES[axis]
    learner = Learner(rule, average=True, **settings)
    learner.learn(x[:100], y[:100])
    weights = learner.shown_weights()
    expected = np.hstack([x, np.ones((len(x), 1))]) @ weights.T
    expected = expected[:, 0] if axis == "binary" else expected
    for rows in (x, sparse.csr_array(x)):
        np.testing.assert_allclose(learner.scores(rows), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(learner.scores_and_top_variances(rows)[0], expected, rtol=1e-9, atol=1e-9)
    assert [np.asarray(learner.score_one(row)).tolist() for row in x] == learner.scores(x).tolist()
    before = state(learner)
    recorded = np.empty((50, *expected.shape[1:]))
    learner.learn(x[100:101], y[100:101], scores_out=recorded[:1])
    np.testing.assert_allclose(recorded[0], expected[100], rtol=1e-9, atol=1e-9)
    assert state(learner) != before


@every_axis
@pytest.mark.parametrize("covariance", ["identity", "diagonal", "diagonal-drop"])
def test_averaging_changes_nothing_about_learning(axis, covariance):
    x, y = examples(axis)
    settings = {"covariance": covariance} | CLASS_AXES[axis]
    averaged, latest = Learner("cw", average=True, **settings), Learner("cw", **settings)
    averaged.learn(x, y)
    latest.learn(x, y)
    assert averaged.model.memory.tobytes() == latest.model.memory.tobytes()
    assert averaged.model.scalars.tobytes() == latest.model.scalars.tobytes()
    assert averaged.counts.updates == latest.counts.updates


@pytest.mark.parametrize("classes", [2, 4])
def test_dicts_and_rows_give_the_same_bits(classes):
    x, y = draw_class_examples(3, 120, 8, 0.5, classes)
    dicts = [{f"x{i}": value for i, value in enumerate(row) if value} for row in x]
    at_once, one_by_one = (StreamClassifier("pa1") for _ in range(2))
    at_once.learn_many(dicts, y.tolist())
    for example, label in zip(dicts, y.tolist(), strict=True):
        one_by_one.learn_one(example, label)
    assert everything(at_once._classifier.learner) == everything(one_by_one._classifier.learner)
    assert at_once._classifier.learner.model.average is not None
    assert at_once.predict_proba_many(dicts).tolist() == [
        [*one_by_one.predict_proba_one(example).values()] for example in dicts
    ]


def test_a_lag_that_becomes_small_is_folded():
    # The scale shrinks by t/(t + 3) each round, so it falls like t^-3; below 1e-12 it is multiplied into the lag.
    learner, other = (Learner("pa1", average=True, intercept=True) for _ in range(2))
    x, y = draw_examples(1, 200, 5, 1.0)
    learner.learn(x, y)
    other.learn(x, y)
    other.model.average.lag *= 1e12
    other.model.average.state[0, 0] *= 1e-12
    np.testing.assert_allclose(other.scores(x), learner.scores(x), rtol=1e-9, atol=1e-12)
    for each in (learner, other):
        each.learn(x, y)
    assert 1e-12 < other.model.average.state[0, 0] <= 1
    np.testing.assert_allclose(other.scores(x), learner.scores(x), rtol=1e-9, atol=1e-12)


def test_under_drift_the_latest_weights_predict():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 5))
    # The labels flip every 40 examples.
    y = np.where(x[:, 0] * np.where(np.arange(4000) // 40 % 2, 1, -1) >= 0, 1, -1)
    averaged, latest = Learner("pa1", average=True), Learner("pa1")
    counts, of_latest = averaged.learn(x, y), latest.learn(x, y)
    assert not averaged.model.average.is_used
    assert counts.mistakes <= 1.02 * of_latest.mistakes
    assert np.array_equal(averaged.scores(x), latest.scores(x))


def test_on_noisy_examples_the_average_makes_fewer_mistakes():
    x, y = draw_examples(5, 3000, 20, 1.0, noise=0.15)
    for name in ("Perceptron", "PA1", "CW"):
        averaged, latest = (
            getattr(scwlearn, name)(average=average, random_state=0).fit(x[:2000], y[:2000])
            for average in (True, False)
        )
        assert averaged.n_mistakes_ < 0.9 * latest.n_mistakes_
        assert averaged.score(x[2000:], y[2000:]) > latest.score(x[2000:], y[2000:])


def test_probabilities_are_calibrated_on_averaged_scores():
    x, y = draw_examples(6, 6000, 20, 1.0, noise=0.2)
    model = scwlearn.PA1(random_state=0).fit(x[:4000], y[:4000])
    assert model._classifier.learner.model.average.is_used
    p = model.predict_proba(x[4000:])[:, 1]
    for low in (0.0, 0.2, 0.4, 0.6):
        some = (p >= low) & (p < low + 0.2)
        if some.sum() > 100:
            assert abs(p[some].mean() - (y[4000:][some] > 0).mean()) < 0.07


def test_the_default_follows_the_rule():
    averaged = {rule.name for rule in all_rules() if rule.averaged}
    assert {"perceptron", "pa", "pa1", "pa2", "romma", "cw"} <= averaged
    assert averaged.isdisjoint({"scw1", "scw2", "arow"})
    for rule in all_rules():
        assert getattr(scwlearn, rule.estimator)().average is rule.averaged
        assert StreamClassifier(rule.name)._classifier.config.average is rule.averaged
        assert Learner(rule.name).config.average is False


def test_a_rule_that_raises_leaves_the_average_as_it_was():
    def fails_at_times(m, v):
        if m < -1:
            raise ArithmeticError("no")
        return (1 - m) / v if m < 1 else 0.0, 0.0

    x, y = draw_examples(7, 80, 4, 1.0, noise=0.4)
    learner, raised = Learner(fails_at_times, average=True, covariance="identity"), 0
    learner.learn_one(x[0], y[0])
    for row, label in zip(x, y, strict=True):
        before = state(learner)
        try:
            learner.learn_one(row, label)
        except ArithmeticError:
            raised += 1
            assert state(learner) == before
    assert raised


@every_axis
def test_grown_copied_and_pruned_models_keep_their_average(axis):
    x, y = examples(axis)
    learner = Learner("pa1", average=True, intercept=True, **CLASS_AXES[axis])
    learner.learn(x, y)
    model, scores = learner.model, learner.scores(x)
    twin = copy.copy(learner)
    twin.learn(x[:30], y[:30])
    assert np.array_equal(learner.scores(x), scores)
    learner.widen(9)
    wider = np.hstack([x, np.zeros((len(x), 3))])
    np.testing.assert_allclose(learner.scores(wider), scores, rtol=1e-12, atol=1e-12)
    order = np.array([3, 1, 0, 2, 5, 4, 6])
    assert np.array_equal(model.reordered(order).shown_weights(), model.shown_weights()[:, order])
    kept = np.array([0, 4, 6])
    assert np.array_equal(model.marginal(kept).shown_weights(), model.shown_weights()[:, kept])


def test_a_third_class_splits_the_average():
    x, y = draw_examples(2, 100, 5, 1.0)
    for multi_class in ("joint", "ovr"):
        learner = Learner("pa1", average=True, multi_class=multi_class)
        learner.learn(x, y)
        two = learner.split().scores(x)
        expected = learner.scores(x)
        np.testing.assert_allclose(two[:, 1] - two[:, 0], expected * (1 if multi_class == "joint" else 2), rtol=1e-12)


def test_a_full_covariance_that_turns_diagonal_keeps_the_average():
    x, y = draw_examples(2, 100, 5, 1.0)
    learner = Learner("cw", average=True, covariance="full")
    learner.learn(x, y)
    assert np.array_equal(learner.diagonal(learner.model).shown_weights(), learner.shown_weights())


@every_axis
@pytest.mark.parametrize("rule", ["pa1", "cw"])
def test_the_average_of_merged_models_is_what_merging_the_averages_gives(axis, rule):
    x, y = examples(axis)
    parts = []
    for rows in (slice(0, 75), slice(75, 150)):
        more = {} if axis == "binary" else {"n_classes": int(y.max()) + 1}
        settings = {"covariance": "identity" if rule == "pa1" else "diagonal"}
        parts.append(Learner(rule, average=True, **(settings | CLASS_AXES[axis] | more)))
        parts[-1].learn(x[rows], y[rows])
    merged = merge_gaussians([part.model for part in parts])
    averages = merge_gaussians([part.model.at_average() for part in parts])
    found = merged.weights() - merged.average.lags(merged.classes)
    np.testing.assert_allclose(found, averages.weights(), rtol=1e-9, atol=1e-9)
    for rule, weights in (("kl", None), ("ev", [0.5, 3.0])):
        together = merge_gaussians([part.model for part in parts], rule, weights)
        averages = merge_gaussians([part.model.at_average() for part in parts], rule, weights)
        found = together.weights() - together.average.lags(together.classes)
        np.testing.assert_allclose(found, averages.weights(), rtol=1e-9, atol=1e-9)
    alone = merge_gaussians([parts[0].model])
    assert np.array_equal(alone.average.lags(merged.classes), parts[0].model.average.lags(merged.classes))
    assert np.array_equal(merged.average.state[0, 1:], sum(p.model.average.state[0, 1:] for p in parts))


def test_a_model_that_counts_half_has_half_the_average():
    x, y = draw_examples(2, 100, 5, 1.0)
    learner = Learner("pa1", average=True)
    learner.learn(x, y)
    half = merge_gaussians([learner.model], "bcm", [0.5])
    expected = merge_gaussians([learner.model.at_average()], "bcm", [0.5])
    np.testing.assert_allclose(half.weights() - half.average.lags(1), expected.weights(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", ["pa1", "auto"])
def test_models_that_have_learned_nothing_can_be_merged(rule):
    x, y = draw_examples(2, 100, 5, 1.0)
    dicts = [dict(enumerate(row.tolist())) for row in x]
    model = StreamClassifier(rule)
    model.learn_many(dicts, y.tolist())
    for together in (
        scwlearn.merge([model, StreamClassifier(rule)]),
        scwlearn.merge([StreamClassifier(rule), model]),
        scwlearn.merge([model], prior=StreamClassifier(rule)),
    ):
        # Merging brings the weights of a committee up to date, which it does itself every 16 rows.
        tolerance = 0.02 if rule == "auto" else 1e-9
        found, expected = together.predict_proba_many(dicts), model.predict_proba_many(dicts)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_the_recent_mistakes_of_a_prior_count_once():
    x, y = draw_examples(2, 300, 5, 1.0)
    base = Learner("pa1", average=True)
    base.learn(x[:100], y[:100])
    parts = [copy.copy(base) for _ in range(2)]
    for part, rows in zip(parts, (slice(100, 200), slice(200, 300)), strict=True):
        part.learn(x[rows], y[rows])
    merged = merge_gaussians([part.model for part in parts], prior=base.model)
    found, before = merged.average.state[0, 1:], base.model.average.state[0, 1:]
    # Each part has half forgotten what it began with, 0.9995^100, and all together a bit more.
    own = sum(part.model.average.state[0, 1:] - 0.9995**100 * before for part in parts)
    np.testing.assert_allclose(found, own + 0.9995**200 * before)


def test_averages_merged_again_move_at_the_pace_of_all():
    x, y = draw_examples(2, 4200, 5, 1.0)
    base = Learner("pa1", average=True)
    base.learn(x[:200], y[:200])
    parts = [copy.copy(base) for _ in range(4)]
    for part in parts:
        # All the same examples: merging changes nothing but the number of rounds.
        part.learn(x[200:1200], y[200:1200])
    merged = merge_gaussians([part.model for part in parts], prior=base.model)
    start, own = (learner.model.at_average().weights() for learner in (base, parts[0]))

    def moved(rounds, more):
        return 1 - np.prod([s / (s + 3) for s in range(rounds + 1, rounds + more + 1)])

    expected = start + moved(200, 4000) / moved(200, 1000) * (own - start)
    np.testing.assert_allclose(merged.at_average().weights(), expected)


def test_models_with_and_without_averages_are_not_merged():
    x, y = draw_examples(2, 40, 5, 1.0)
    one, other = Learner("pa1", average=True), Learner("pa1")
    one.learn(x, y)
    other.learn(x, y)
    with pytest.raises(ValueError, match=r"differ in average: True and False"):
        merge_gaussians([one.model, other.model])


def test_merged_classifiers_that_met_their_classes_in_another_order_agree():
    x, y = draw_examples(4, 400, 6, 1.0)
    first, second = scwlearn.PA1(shuffle=False), scwlearn.PA1(shuffle=False)
    order = np.argsort(y[:200] != y[0], kind="stable")
    first.fit(x[:200][order], y[:200][order])
    second.fit(x[:200][order[::-1]], y[:200][order[::-1]])
    both = scwlearn.merge([first, second])
    middle = (first._classifier.weights() + second._classifier.weights()) / 2
    if all(m._classifier.learner.model.average.is_used for m in (first, second, both)):
        np.testing.assert_allclose(both._classifier.weights(), middle, rtol=1e-9, atol=1e-9)
    assert both.score(x[200:], y[200:]) > 0.6


def test_learners_together_equal_learners_alone():
    x, y = draw_examples(8, 300, 6, 1.0)
    cells = [("pa1", {"C": c, "average": average}) for c in (0.1, 1.0, 10.0, 100.0) for average in (True, False)]
    together = [Learner(rule, **settings) for rule, settings in cells]
    learn_together(together, x, y)
    for learner, (rule, settings) in zip(together, cells, strict=True):
        alone = Learner(rule, **settings)
        alone.learn(x, y)
        assert state(learner) == state(alone)


def test_a_member_of_a_committee_may_be_averaged():
    x, y = draw_examples(9, 300, 6, 1.0)
    members = ["arow", {"rule": "pa1", "average": True}]
    model = scwlearn.AutoClassifier(members=members, random_state=0).fit(x, y)
    assert [*model.member_weights_] == ["AROW", "PA-I, average=True"]
    gaussian = model._classifier.learner.model.gaussians[1]
    assert isinstance(gaussian.average, Average)
    added = sum(part.adds for part in model.explain(x[0])[1])
    assert added == pytest.approx(float(model.decision_function(x[:1])[0]))


@pytest.mark.parametrize("axis", CLASS_AXES)
def test_large_values_give_finite_scores(axis):
    x, y = examples(axis, rows=3000)
    learner = Learner("perceptron", average=True, **CLASS_AXES[axis])
    learner.learn(1e149 * x / np.abs(x).max(), y)
    assert np.isfinite(learner.scores(x)).all()


def test_exported_weights_keep_whether_they_are_averaged(tmp_path):
    x, y = draw_examples(2, 100, 5, 1.0)
    for average in (True, False):
        model = scwlearn.PA1(average=average).fit(x, y)
        path = tmp_path / "weights.json"
        scwlearn.save(model, tmp_path / "a.model")
        assert run(["convert", str(tmp_path / "a.model"), "-o", str(path), "-q"]) == 0
        assert run(["convert", str(path), "-m", str(tmp_path / "b.model"), "-q"]) == 0
        again = scwlearn.load(tmp_path / "b.model")
        assert again.average is average
        np.testing.assert_allclose(again.decision_function(x), model.decision_function(x))


def test_an_average_of_the_wrong_shape_is_refused():
    x, y = draw_examples(2, 40, 5, 1.0)
    learner = Learner("pa1", average=True)
    learner.learn(x, y)
    learner.model.average = Average(np.zeros((4, 1)), learner.model.average.state)
    with pytest.raises(ValueError, match="lag must have one number per feature and lane"):
        learner.scores(x)
    with pytest.raises(ValueError, match="lag must have one number per feature and lane"):
        learner.learn(x, y)
