"""Consistency after Ctrl-C, overflow and errors; single classes, shared models and copies."""

import copy

import numpy as np
import pytest

from scwlearn import AROW, SCW1, Learner, StreamClassifier, merge
from scwlearn.data.weights import ClassWeights
from scwlearn.learning.config import LearnerConfig
from scwlearn.model.scales import SCALE_NAMES
from stream_examples import EXAMPLES, TARGETS, full_state, taught

pytestmark = pytest.mark.native

every_scale = pytest.mark.parametrize("scale", SCALE_NAMES)


class _Stops(Exception):
    pass


@pytest.mark.parametrize(
    "settings", [{}, {"class_weight": "balanced"}, {"scale": "rms"}, {"scale": "standard"}], ids=str
)
@pytest.mark.parametrize("known", [["a", "b"], ["a", "b", "c"]])
def test_ctrl_c_in_a_list_leaves_the_model_as_it_was(settings, known, monkeypatch, ctrl_c):
    model = StreamClassifier("arow", classes=known, **settings)
    examples = [{f"name {i}": 1.0, "x": i % 3 - 1.0} for i in range(80)]
    labels = [known[i % len(known)] for i in range(80)]
    model.learn_many(examples[:3], labels[:3])
    before, one, calls = full_state(model), type(model._classifier.learner), []
    make_room = one._make_room

    def interrupted(self, *what):
        calls.append(what)
        if len(calls) == 2:
            ctrl_c()
        return make_room(self, *what)

    with monkeypatch.context() as patch:
        patch.setattr(one, "_make_room", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.learn_many(examples[3:], labels[3:])
    assert len(calls) == 2
    assert full_state(model) == before


@pytest.mark.parametrize("known", [[], ["a"]])
def test_ctrl_c_after_an_example_of_a_new_class_keeps_the_class(known, monkeypatch, ctrl_c):
    model, other = StreamClassifier("arow"), StreamClassifier("arow")
    for label in known:
        model.learn_one({"x": 1.0}, label)
        other.learn_one({"x": 1.0}, label)
    learner = type(model._classifier.learner)
    learn_one = learner.learn_one

    def interrupted(self, *example):
        score = learn_one(self, *example)
        ctrl_c()
        return score

    with monkeypatch.context() as patch:
        patch.setattr(learner, "learn_one", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.learn_one({"y": 1.0}, "b")
    other.learn_one({"y": 1.0}, "b")
    assert model.classes == other.classes == [*known, "b"]
    assert model.counts == other.counts
    assert model.predict_one({"y": 1.0}) == "b"
    assert full_state(model) == full_state(other)


@pytest.mark.parametrize("classes", [1, 2])
def test_a_new_class_learned_alone_equals_one_in_a_list(classes):
    alone, listed = StreamClassifier("scw1"), StreamClassifier("scw1")
    for i in range(classes):
        x, y = {f"name {j}": j + 0.5 for j in range(20 * i, 20 * i + 20)}, f"class {i}"
        alone.learn_one(x, y, 2.0)
        listed.learn_many([x], [y], [2.0])
    assert full_state(alone) == full_state(listed)


def test_an_overflowing_score_is_learned_from_but_not_calibrated():
    for learn in (
        lambda model: model.learn_one({"b": 1e150}, "x"),
        lambda model: model.learn_many([{"b": 1e150}, {"a": 1.0}], ["x", "y"]),
    ):
        model = StreamClassifier("arow", initial_variance=1e20)
        model.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
        seen = model.counts.seen
        learn(model)
        assert model.counts.seen > seen
        assert sum(model.predict_proba_one({"a": 1.0}).values()) == pytest.approx(1)
    estimator = AROW(initial_variance=1e20, covariance="diagonal").partial_fit(np.eye(2), ["x", "y"])
    estimator.partial_fit([[0.0, 1e150]], ["x"])
    assert estimator.n_seen_ == 3


def test_weights_of_a_single_class_are_positive_evidence_for_it():
    model = StreamClassifier("scw1")
    model.learn_one({"a": 1.0}, "x")
    assert model.top_features()["x"][0].weight > 0
    assert model.explain({"a": 1.0})["x"][0].adds > 0
    assert SCW1().partial_fit([[1.0, 0.0]], ["x"]).coef_[0, 0] > 0


@every_scale
def test_learners_that_share_a_model_share_its_scale(scale):
    random = np.random.default_rng(0)
    x, y = random.standard_normal((60, 4)) * [1, 10, 100, 1000], np.where(random.random(60) < 0.5, -1, 1)
    one = Learner("scw1", scale=scale, covariance="diagonal")
    one.learn(x, y)
    vector = x[0]
    one.score_one(vector)
    other = one._shallow_copy()
    other.learn(100 * x, y)
    assert one.score_one(vector) == pytest.approx(one.scores([vector])[0], rel=1e-12)

    def stop(margin, variance):
        raise _Stops

    one.config = LearnerConfig.create(stop, {"scale": scale, "covariance": "diagonal"})
    before = copy.copy(one)
    stopping = one._shallow_copy()
    with pytest.raises(_Stops):
        stopping.learn(x, y)
    assert one.running_scale.state.tolist() == before.running_scale.state.tolist()
    assert one.score_one(vector) == before.score_one(vector)


@every_scale
def test_a_failed_new_class_leaves_the_scale_unchanged(monkeypatch, scale):
    learner = Learner("arow", scale=scale, covariance="diagonal", n_classes=2)
    learner.learn(np.eye(200), np.arange(200) % 2)
    before = learner.running_scale.state.copy()

    def full(self, model, classes):
        raise MemoryError

    monkeypatch.setattr(Learner, "_with_room", full)
    with pytest.raises(MemoryError):
        learner.learn(7 * np.eye(200)[:1], [2])
    assert learner.running_scale.state.tolist() == before.tolist()


def test_merging_unchanged_copies_changes_no_probability():
    model = taught("arow")
    together = merge([model.copy(), model.copy()], prior=model)
    for x in EXAMPLES[::7]:
        assert together.predict_proba_one(x) == pytest.approx(model.predict_proba_one(x), rel=1e-9)


def test_the_dict_of_class_weights_is_a_copy():
    given = {"a": 2.0}
    weights = ClassWeights(given)
    given["a"] = -1.0
    assert weights.given == {"a": 2.0}


def test_class_weight_cannot_change_after_training_has_begun():
    estimator = AROW(class_weight={0: 1.0}).partial_fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="class_weight cannot change"):
        estimator.set_params(class_weight="balanced").partial_fit(np.eye(2), [0, 1])


def test_learn_one_and_learn_many_treat_labels_alike():
    one, many = StreamClassifier("arow"), StreamClassifier("arow")
    for x, y in zip(EXAMPLES[:6], [0, 1, True, 0, False, 1], strict=True):
        one.learn_one(x, y)
    many.learn_many(EXAMPLES[:6], [0, 1, True, 0, False, 1])
    assert one.counts == many.counts
    assert one.classes == many.classes == [0, 1]


@pytest.mark.parametrize("label", [["a"], {"a": 1}, {"a"}])
def test_a_collection_is_not_a_label(label):
    model = taught("arow")
    before = model.counts
    with pytest.raises((TypeError, ValueError), match=r"labels must be strings, numbers or bools|one label per"):
        model.learn_one({"x": 1.0}, label)
    assert model.counts == before


def test_a_string_is_not_a_list_of_labels():
    with pytest.raises(TypeError, match="y must be a list with one label per example, got str"):
        StreamClassifier("arow").learn_many(EXAMPLES[:3], "aba")


def test_duplicate_column_names_are_rejected():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"])
    with pytest.raises(ValueError, match="two columns have the name 'a'"):
        StreamClassifier("arow").learn_many(frame, TARGETS[:1])


def test_class_numbers_may_be_whole_floats():
    one, other = Learner("arow", n_classes=3), Learner("arow", n_classes=3)
    for learner, kind in ((one, int), (other, float)):
        for i in range(6):
            learner.learn_one(np.eye(3)[i % 3], kind(i % 3))
    assert one.model.weights().tolist() == other.model.weights().tolist()
    with pytest.raises(ValueError, match=r"number of a known class, or the next, got y = 1\.5"):
        one.learn_one(np.ones(3), 1.5)


class NameThatLearns:
    """A name that lets the model learn another example when an error message shows it."""

    def __init__(self, model):
        self._model = model

    def __repr__(self):
        self._model.learn_one({"x": 2.0}, "b")
        return "name"


@pytest.mark.parametrize("learn", ["learn_one", "learn_many"])
def test_a_name_that_learns_in_an_error_message_is_refused_and_leaves_a_model_that_works(learn):
    model = StreamClassifier("arow", classes=["a", "b", "c"])
    model.learn_many([{"x": 1.0}, {"y": -1.0}], ["a", "b"])
    example = {NameThatLearns(model): 1.0}
    with pytest.raises(RuntimeError, match="only predictions are allowed"):
        model.learn_one(example, "new") if learn == "learn_one" else model.learn_many([example], ["new"])
    assert model.classes == ["a", "b", "c"]
    assert model.counts.seen == 2
    model.learn_one({"x": 1.0}, "a")
    assert [*model.predict_proba_one({"x": 1.0})] == ["a", "b", "c"]
