"""The largest weights of a stream classifier, and its explanations of scores."""

import numpy as np
import pytest

from scwlearn import StreamClassifier
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.explain import INTERCEPT, largest_numbered_weights, largest_weights
from stream_examples import EXAMPLES, TARGETS, new, numbers_of, taught

pytestmark = pytest.mark.native


@pytest.mark.parametrize(
    "settings",
    [
        "default",
        "scale",
        "standard",
        "unit",
        "hash",
        "scale-hash",
        "scale-drop",
        "standard-hash",
        "unit-hash",
        "standard-drop",
        "full",
        "full-standard",
        "no-constant",
    ],
)
@pytest.mark.parametrize("count", [5, 20, 60])
def test_the_parts_of_an_explanation_sum_to_the_score(settings, count):
    model = new("scw1", settings)
    model.learn_many(EXAMPLES[:count], TARGETS[:count])
    for x in [*EXAMPLES[::9], {"never seen": 2.0}, {}]:
        scores = np.atleast_1d(model._classifier.learner.score_one(x))
        scores = model._classifier.snapshot.by_label(scores[0] if len(scores) == 1 else scores)
        parts = model.explain(x)
        assert list(parts) == (model.classes if count > 20 else model.classes[-1:])
        for score, of_class in zip(scores, parts.values(), strict=True):
            assert sum(part.adds for part in of_class) == pytest.approx(score, rel=1e-9, abs=1e-12)
            features = of_class[:-1] if model._classifier.learner.config.intercept else of_class
            sizes = [abs(part.adds) for part in features]
            assert sizes == sorted(sizes, reverse=True)
            assert {part.name for part in features} <= set(model._classifier.learner.names)
            assert all(part.deviation > 0 for part in of_class)


def test_an_explanation_shows_the_values_of_the_example():
    model = StreamClassifier("arow")
    model.learn_many([{"a": 2.0, "w": ["x", "x"]}, {"a": -1.0, "b": True}], ["no", "yes"])
    parts = {part.name: part for part in model.explain({"a": 3.0, "w": ["x", "x", "y"], "b": True, "zero": 0.0})["yes"]}
    assert {name: part.value for name, part in parts.items()} == {"a": 3.0, "w=x": 2.0, "b": 1.0, INTERCEPT: 1.0}
    assert parts["w=x"].adds < 0 < parts["b"].adds


def test_an_explanation_shows_values_as_the_model_sees_them():
    model = StreamClassifier("arow", scale="standard")
    model.learn_many([{"age": 30.0, "rare": 1.0}, {"age": 50.0}, {"age": 40.0}, {"age": 40.0}], list("abab"))
    parts = {part.name: part.value for part in model.explain({"rare": 1.0})["b"]}
    # A feature that is usually there counts as 0 where it is missing, which is far below its mean.
    assert parts == {"age": -3.0, "rare": 1.0, INTERCEPT: 1.0}


def test_the_largest_weights_come_first():
    model = StreamClassifier("arow", scale="rms")
    model.learn_many(EXAMPLES, TARGETS)
    weights, deviations = model._classifier.weights(), np.sqrt(model._classifier.variances())
    names = model._classifier.learner.names
    top = model.top_features(6)
    assert list(top) == model.classes
    for number, shown in enumerate(top.values()):
        assert len(shown) == 6
        assert [abs(w.weight) for w in shown] == sorted(np.abs(weights[number, : len(names)]), reverse=True)[:6]
        for name, weight, deviation in shown:
            assert (weight, deviation) == (weights[number, names[name]], deviations[number, names[name]])
    assert len(model.top_features(10**6)["fig"]) == len(names)
    assert model.top_features(0) == {label: [] for label in model.classes}
    for wrong in (-1, 2.5, "3"):
        with pytest.raises((ValueError, TypeError), match="n must be"):
            model.top_features(wrong)


@pytest.mark.parametrize("count", [1, 20, 2_000, 6_000])
def test_ties_among_the_largest_weights_go_to_the_first(count, monkeypatch):
    monkeypatch.setattr("scwlearn.learning.explain._WEIGHTS_AT_ONCE", 700)
    weights = np.random.default_rng(0).integers(-50, 50, size=(2, 5_000)).astype(float)
    top = largest_weights(range(5_000), ["a", "b"], weights, None, count)
    for own, shown in zip(weights, top.values(), strict=True):
        in_order = sorted(range(5_000), key=lambda place: (-abs(own[place]), place))
        assert [weight.name for weight in shown] == in_order[:count]


@pytest.mark.parametrize("labels", [["b", "a"], ["a", "b"], ["c", "a", "b"]])
@pytest.mark.parametrize(
    ("rule", "settings"),
    [
        ("scw1", {"covariance": "diagonal"}),
        ("scw1", {"covariance": "full"}),
        ("arow", {"covariance": "full", "shared_covariance": True}),
        ("arow", {"covariance": "diagonal", "multi_class": "ovr"}),
        ("pa1", {"average": True}),
        ("romma", {}),
    ],
)
def test_the_largest_weights_of_a_model_are_those_of_its_arrays(rule, settings, labels):
    classifier, random = Classifier(LearnerConfig.create(rule, settings)), np.random.default_rng(0)
    y = np.resize(labels, 60)
    classifier.learn(random.normal(size=(60, 40)), y)
    variances = None if classifier.config.rule.order == 1 else classifier.variances()
    expected = largest_weights(range(40), classifier.class_labels(), classifier.weights(), variances, 7)
    found = largest_numbered_weights(classifier.snapshot, range(40), 7)
    np.testing.assert_equal(found, expected)


def test_a_hashed_weight_has_a_name_that_was_seen():
    model = StreamClassifier("arow", max_features=512, overflow="hash")
    model.learn_many(EXAMPLES, TARGETS)
    met = {name for example in EXAMPLES for name in numbers_of(example)}
    for shown in model.top_features(1000).values():
        assert len(shown) == model.n_features < len(met)
        assert {weight.name for weight in shown} <= met
    for parts in model.explain({f"other {i}": 1.0 for i in range(300)}).values():
        assert {part.name for part in parts} <= met


@pytest.mark.parametrize("keys", [{"color": "color", "size": "size"}, {"color": 3, "size": 4}], ids=["text", "numbers"])
def test_hashing_does_not_change_the_signs_of_weights(keys):
    examples = [{keys["color"]: "red" if i % 2 else "blue", keys["size"]: float(i % 3)} for i in range(30)]
    plain = StreamClassifier("arow", covariance="diagonal")
    hashed = StreamClassifier("arow", max_features=2**12, overflow="hash")
    for model in (plain, hashed):
        model.learn_many(examples, [i % 2 for i in range(30)])
    for one, other in zip(
        [*plain.top_features()[1], *plain.explain(examples[5])[1]],
        [*hashed.top_features()[1], *hashed.explain(examples[5])[1]],
        strict=True,
    ):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:])


@pytest.mark.parametrize("ask", ["predict_one", "predict_proba_one", "explain"])
def test_anything_but_a_dict_is_rejected(ask):
    for model in (StreamClassifier("arow"), taught("arow")):
        with pytest.raises(TypeError, match="x must be a dict of named features, got list"):
            getattr(model, ask)([1.0, 2.0])
        with pytest.raises(TypeError, match="x must be a dict of named features, got str"):
            model.learn_one("words", "apple")


def test_first_order_rules_have_no_deviations():
    model = taught("pa1")
    assert all(np.isnan(weight.deviation) for shown in model.top_features().values() for weight in shown)
    assert all(np.isnan(part.deviation) for parts in model.explain(EXAMPLES[0]).values() for part in parts)


def test_the_repr_shows_rule_classes_and_features():
    assert repr(taught("pa1", 20)).startswith("StreamClassifier('pa1', classes=['apple', 'pear'], n_features=")
