"""Make the samples of format 1: python tests/files/models/make.py

The samples stand for the files of users: every later version must read them, so they are never made again. A later
format gets samples of its own.
"""

import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
from scipy import sparse

import scwlearn
from scwlearn.kernels import KernelLearner

HERE = Path(__file__).parent
NOTES = {"made by": "tests/files/models/make.py"}

# Nothing is random, so that outputs can be computed again.
ROWS = np.array([[((7 * i + 3 * j) % 11 - 5) / 4 for j in range(4)] for i in range(40)])
TWO = np.where(ROWS[:, 0] + ROWS[:, 1] > ROWS[:, 2], "yes", "no")
THREE = 10 * ROWS[:, :3].argmax(axis=1)
DICTS = [{"size": row[0], "place": f"p{i % 3}", "words": ["a", f"w{i % 4}"]} for i, row in enumerate(ROWS.tolist())]


def stream(labels, **settings):
    model = scwlearn.StreamClassifier("scw1", **settings)
    model.learn_many(DICTS, labels.tolist())
    return model


def trained(learner, labels, count=40):
    learner.learn(ROWS[:count], labels[:count])
    return learner


#: Samples by name; each part of the format is in at least one of them.
SAMPLES = {
    "two_classes": lambda: scwlearn.SCW1(covariance="diagonal", C=0.25, shuffle=False).fit(ROWS, TWO),
    "several_classes": lambda: scwlearn.AROW(scale="rms", class_weight="balanced", shuffle=False).fit(ROWS, THREE),
    "shared_covariance": lambda: scwlearn.SCW2(shared_covariance=True, covariance="full", shuffle=False).fit(
        ROWS, THREE
    ),
    "kernel": lambda: scwlearn.KernelSCW1(budget=6, gamma=0.5, shuffle=False).fit(ROWS, THREE),
    "kernel_binary": lambda: scwlearn.KernelPA1(kernel="poly", degree=2, gamma=1.0, shuffle=False).fit(
        sparse.csr_array(ROWS), TWO
    ),
    "kernel_learner": lambda: trained(KernelLearner("arow", n_classes=3, kernel="rbf"), THREE // 10, 12),
    "learner": lambda: trained(scwlearn.Learner("iellip", n_classes=3, multi_class="ovr"), THREE // 10),
    "stream": lambda: stream(TWO, scale="rms", max_features=6, class_weight={"yes": 2.0}),
    "hashed_stream": lambda: stream(THREE, max_features=8, overflow="hash"),
    "unfitted": lambda: scwlearn.Perceptron(rivals="uniform", random_state=7),
}


def outputs(model):
    """Return settings and counts of a model, and its predictions for some examples."""
    if hasattr(model, "predict_many"):
        values = {
            "labels": model.predict_many(DICTS[:6]),
            "probabilities": model.predict_proba_many(DICTS[:6]).tolist(),
        }
        return {"counts": astuple(model.counts), **values}
    if hasattr(model, "learn"):
        return {"counts": astuple(model.counts), "scores": model.scores(ROWS[:6]).tolist()}
    found = {"settings": model.get_params(), "counts": ()}
    if model.__sklearn_is_fitted__():
        found["counts"] = (model.n_seen_, model.n_mistakes_, model.n_updates_)
        found["labels"] = model.predict(ROWS[:6]).tolist()
        found["scores"] = model.decision_function(ROWS[:6]).tolist()
        found["probabilities"] = model.predict_proba(ROWS[:6]).tolist()
    return found


def learn_again(model):
    """Let a model learn from the same examples once more."""
    if hasattr(model, "predict_many"):
        model.learn_many(DICTS, [model.classes[i % 2] for i in range(40)])
    elif hasattr(model, "learn"):
        model.learn(ROWS, THREE // 10)
    else:
        model.partial_fit(ROWS, getattr(model, "classes_", TWO)[np.arange(40) % 2])


if __name__ == "__main__":
    expected = {}
    for name, make in SAMPLES.items():
        model = make()
        scwlearn.save(model, HERE / f"{name}.format1.model", notes=NOTES)
        expected[name] = outputs(model)
    (HERE / "expected.format1.json").write_text(json.dumps(expected, indent=1) + "\n")
