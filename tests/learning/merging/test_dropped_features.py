"""Merging models that continued from a common one, and have dropped features that it knows."""

from copy import copy

import numpy as np
import pytest

from merge_examples import every_rule
from scwlearn import Learner, StreamClassifier, merge
from scwlearn.learning.merging.features import without_evidence
from scwlearn.model.gaussian import GROWTH

SIZE, DROPPED, KEPT = 5, np.array([1, 3]), np.array([0, 2, 4])

KINDS = {
    "first order": ("pa1", {"covariance": "identity"}),
    "diagonal": ("arow", {"covariance": "diagonal"}),
    "full": ("arow", {"covariance": "full"}),
    "grown": ("iellip", {"covariance": "full"}),
    "not averaged": ("scw1", {"covariance": "full", "average": False}),
    "averaged": ("scw1", {"covariance": "full", "average": True}),
    "averaged, first order": ("pa1", {"average": True}),
    "several": ("arow", {"covariance": "full", "n_classes": 3}),
    "several, averaged": ("pa1", {"n_classes": 3, "average": True}),
    "one versus rest": ("scw1", {"covariance": "full", "n_classes": 3, "multi_class": "ovr", "average": True}),
    "shared": ("arow", {"covariance": "full", "n_classes": 3, "shared_covariance": True}),
    "shared, diagonal": ("arow", {"covariance": "diagonal", "n_classes": 3, "shared_covariance": True}),
}


def learned(learner, seed):
    rng = np.random.default_rng(seed)
    learner.learn(rng.normal(size=(30, SIZE)), rng.choice([-1, 1], 30) if learner.is_binary else np.arange(30) % 3)
    return learner


def sigma(gaussian, number):
    return gaussian.matrix(number) if gaussian.covariance.correlated else np.diag(gaussian.variances()[number])


def check_no_evidence(model, part, start):
    """Check that the model is the part in the features that are kept, and that nothing is known of the others."""
    for number in range(model.classes):
        matrix, mean = sigma(model, number), model.weights()[number]
        np.testing.assert_allclose(matrix[np.ix_(KEPT, KEPT)], sigma(part, number)[np.ix_(KEPT, KEPT)], rtol=1e-10)
        np.testing.assert_allclose(mean[KEPT], part.weights()[number][KEPT], rtol=1e-10)
        growth = (model.scalars[:, GROWTH] / start.scalars[:, GROWTH])[0 if model.joint else number]
        before, after = np.linalg.inv(sigma(start, number)), np.linalg.inv(matrix)
        if model.covariance.name != "identity":
            gain = after - before / growth
            np.testing.assert_allclose(gain[DROPPED], 0.0, atol=1e-9 * np.abs(after).max())
        pull = after @ (mean - start.weights()[number])
        np.testing.assert_allclose(pull[DROPPED], 0.0, atol=1e-9 * np.abs(pull).max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_dropped_feature_counts_as_no_evidence(kind):
    rule, settings = KINDS[kind]
    base = learned(Learner(rule, **settings), 0)
    start, part = base.model, learned(copy(base), 1).model
    # As after dropping features, with room for all those of the common model.
    places = np.argsort(np.concatenate([KEPT, DROPPED]))
    part = part.marginal(KEPT).widened(len(KEPT), len(DROPPED)).reordered(places)
    model = without_evidence(part, DROPPED, start)
    check_no_evidence(model, part, start)
    if model.average is not None:
        check_no_evidence(model.at_average(), part.at_average(), start.at_average())


PARTS = {"pa1": "identity", "arow": "diagonal", "scw1": "diagonal", "scw2": "full", "nherd": "full"}


@every_rule
@pytest.mark.parametrize("scale", ["none", "rms"])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("rule", PARTS)
def test_a_word_that_all_parts_dropped_keeps_its_weight_or_is_dropped(rule, average, scale, how):
    settings = {"covariance": PARTS[rule]} if PARTS[rule] != "identity" else {}
    base = StreamClassifier(rule, max_features=4, intercept=False, average=average, scale=scale, **settings)
    for _ in range(3):
        base.learn_many([{"B": 1.0}, {"C": 1.0}], ["neg", "pos"])
    base.learn_many([{"A": 0.5}, {"A": 0.5}], ["pos", "pos"])
    parts = [copy(base) for _ in range(8)]
    for part in parts:
        for word, label in (("q0", "neg"), ("q1", "pos")):
            part.learn_many([{word: 1.0}] * 30, [label] * 30)
        part.learn_many([{"B": 1.0}, {"C": 1.0}] * 3, ["neg", "pos"] * 3)
        assert len(part._classifier.learner.names.keys() & {"A", "B", "C"}) < 3
    merged = merge(parts, how, prior=base)
    for word in "ABC":
        if word not in parts[0]._classifier.learner.names:
            ours, before = (model._classifier.learner.score_one({word: 0.5}) for model in (merged, base))
            assert ours == pytest.approx(before) if word in merged._classifier.learner.names else ours == 0.0


def test_the_scale_of_a_dropped_word_is_kept():
    base = StreamClassifier("arow", max_features=5, intercept=True, scale="standard", covariance="diagonal")
    rng = np.random.default_rng(4)

    def rows(words, count):
        return [{word: float(rng.normal(5.0, 2.0)) for word in words} for _ in range(count)]

    labels = [str(label) for label in rng.integers(0, 2, 40)]
    base.learn_many(rows("ABC", 40), labels)
    parts = [copy(base) for _ in range(3)]
    for part in parts:
        learner = part._classifier.learner
        kept = np.array([learner.names["B"], learner.names["C"]])
        learner.model = learner.model.marginal(np.append(kept, learner.model.size - 1))
        learner.vocabulary, learner.running_scale = (
            learner.vocabulary.kept(kept),
            learner.running_scale.arranged(kept, 2),
        )
    merged = merge(parts, "bcm", prior=base)
    for example in rows("ABC", 5):
        assert merged.predict_proba_one(example) == pytest.approx(base.predict_proba_one(example), rel=1e-9)
