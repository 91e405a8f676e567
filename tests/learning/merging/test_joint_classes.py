"""What rounding may not decide when joint classes are merged: which models have learned something of a class."""

import random

import numpy as np
import pytest

from scwlearn import Learner, StreamClassifier, merge
from scwlearn.learning.merging import merge_gaussians

RULES = ("bcm", "ev", "kl")
CLASSES = 5
FORMS = [
    *((rule, "identity") for rule in ("perceptron", "romma", "pa", "pa1", "nherd")),
    *((rule, "diagonal-drop") for rule in ("cw", "nherd", "narow", "arow")),
    *((rule, "diagonal") for rule in ("arow", "scw1")),
    ("arow", "full"),
]


def examples(rng, classes, count):
    """Sparse rows of few digits, so that sums of weights are often 0 but for rounding."""
    for _ in range(count):
        names = rng.sample("fgh", rng.randint(1, 2))
        yield {name: rng.choice([1, -1]) * round(rng.random(), 1) for name in names}, rng.choice(classes)


def stream(rng, classes, rule, **settings):
    model = StreamClassifier(rule, **settings)
    for record, label in examples(rng, classes, 12):
        model.learn_one(record, label)
    return model


def gaussians(rng, rule, covariance):
    """Two models that know different classes; neither knows the last one."""
    for places in ([0, 1, 3], [2, 3]):
        learner = Learner(rule, n_classes=len(places), covariance=covariance, average=False)
        for record, number in examples(rng, range(len(places)), 6):
            learner.learn([[record.get(name, 0.0) for name in "fgh"]], [number])
        yield learner.model.with_classes(places, CLASSES)


def assert_close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("how", RULES)
@pytest.mark.parametrize(("rule", "covariance"), FORMS)
def test_the_numbers_of_the_classes_do_not_matter(how, rule, covariance):
    for seed in range(30):
        rng = random.Random(seed)
        models = [*gaussians(rng, rule, covariance)]
        together = merge_gaussians(models, how).weights()
        places = np.array(rng.sample(range(CLASSES), CLASSES))
        elsewhere = merge_gaussians([model.with_classes(places, CLASSES) for model in models], how).weights()
        assert_close(elsewhere[places], together)


@pytest.mark.parametrize(("rule", "covariance"), FORMS)
def test_the_order_of_streams_with_different_classes_does_not_matter(rule, covariance):
    for seed in range(20):
        rng = random.Random(seed)
        models = [stream(rng, classes, rule, covariance=covariance) for classes in ("abd", "cd")]
        found = [merge(pair).top_features() for pair in (models, models[::-1])]
        weights = [{(label, w.name): w.weight for label, own in top.items() for w in own} for top in found]
        keys = sorted(weights[0] | weights[1])
        assert_close(*(np.array([own.get(key, 0.0) for key in keys]) for own in weights))


@pytest.mark.parametrize("rule", ["perceptron", "pa", "romma"])
def test_without_sigma_a_class_that_one_model_knows_keeps_its_weights(rule):
    for seed in range(30):
        one, other = gaussians(random.Random(seed), rule, "identity")
        together = merge_gaussians([one, other]).weights()
        np.testing.assert_array_equal(together[[0, 1]], one.weights()[[0, 1]])
        np.testing.assert_array_equal(together[2], other.weights()[2])
        np.testing.assert_array_equal(together[4], 0.0)
