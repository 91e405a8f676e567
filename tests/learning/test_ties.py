"""Ties: which class is predicted, and which one is the rival, where scores are exactly equal."""

import numpy as np
import pytest

from scwlearn import PA, SCW1, Learner, StreamClassifier
from scwlearn.kernels import KernelLearner

NOTHING_KNOWN = {"never seen": 1.0}


def stream(*labels):
    """Return a classifier that has seen these classes in this order, each with a feature of its own."""
    model = StreamClassifier("pa", intercept=False)
    model.learn_many([{label: 1.0} for label in labels], labels)
    return model


def test_the_class_that_came_first_is_predicted():
    model = stream("b", "c", "a")
    assert model.predict_one(NOTHING_KNOWN) == model.predict_many([NOTHING_KNOWN])[0] == "b"
    of_one, of_many = model.predict_proba_one(NOTHING_KNOWN), model.predict_proba_many([NOTHING_KNOWN])[0]
    assert max(of_one, key=of_one.get) == model.classes[of_many.argmax()] == "b"


@pytest.mark.parametrize("labels", [("b", "a"), ("a", "b")])
def test_of_two_classes_the_one_that_came_second_is_predicted(labels):
    model = stream(*labels)
    assert model.predict_one(NOTHING_KNOWN) == model.predict_many([NOTHING_KNOWN])[0] == labels[1]
    probabilities = model.predict_proba_one(NOTHING_KNOWN)
    assert max(probabilities, key=probabilities.get) == labels[1]


def test_fit_takes_classes_in_sorted_order():
    x, zero = np.eye(3), np.zeros((1, 3))
    assert PA(fit_intercept=False).fit(x, ["c", "a", "b"]).predict(zero) == ["a"]
    assert PA(fit_intercept=False).fit(x[:2], ["c", "a"]).predict(zero[:, :3]) == ["c"]
    assert SCW1(fit_intercept=False).fit(x, ["c", "a", "b"]).predict(zero) == ["a"]


@pytest.mark.parametrize(("label", "rival"), [(0, 1), (1, 0), (2, 0)])
@pytest.mark.parametrize("form", ["identity", "diagonal", "full", "shared", "kernel"])
def test_the_rival_is_the_class_that_came_first(form, label, rival):
    if form == "kernel":
        learner = KernelLearner("scw1", n_classes=3, kernel="linear")
    else:
        shared = form == "shared"
        learner = Learner("scw1", n_classes=3, covariance="full" if shared else form, shared_covariance=shared)
    x = np.array([[1.0, 2.0]])
    learner.learn(x, [label])
    scores = learner.scores(x)[0]
    assert scores[label] > 0 > scores[rival]
    assert scores[3 - label - rival] == 0


def test_an_exported_model_decides_ties_alike():
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from scwlearn.export.onnx import to_onnx
    from scwlearn.files import SavedModel
    from scwlearn.runs.trained_model import TrainedModel

    model = PA(fit_intercept=False)
    for label, row in (("b", [1.0, 0, 0]), ("c", [0, 1.0, 0]), ("a", [0, 0, 1.0])):
        model.partial_fit([row], [label])
    session = runtime.InferenceSession(to_onnx(TrainedModel.from_saved(SavedModel.from_model(model))))
    zero = np.zeros((1, 3))
    assert session.run(["label"], {"X": zero})[0] == model.predict(zero) == ["b"]
