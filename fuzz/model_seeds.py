"""Small models of every kind, to begin with: python fuzz/model_seeds.py writes them to fuzz/corpus/model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import scwlearn
from scwlearn.kernels import KernelLearner

CORPUS = Path(__file__).parent / "corpus" / "model"

X = np.array([[1.0, -0.5], [0.5, 2.0], [-1.5, 0.0], [0.25, 0.75]])
TWO, SEVERAL, SIGNS = [False, True, False, True], ["a", "b", "c", "a"], [-1, 1, -1, 1]
EXAMPLES = [{"size": 1.5, "sky": "grey"}, {"sky": "blue", "words": ["a", "b", "a"]}, {"size": -2}, {}]


def _stream(**how: Any) -> Any:
    model = scwlearn.StreamClassifier("scw1", **how)
    model.learn_many(EXAMPLES, SEVERAL)
    return model


def _taught(learner: Any, y: list[int]) -> Any:
    learner.learn(X, y)
    return learner


#: By the name of the file.
SEEDS: dict[str, Callable[[], Any]] = {
    "diagonal": lambda: scwlearn.SCW1(covariance="diagonal", class_weight={False: 2.0}).fit(X, TWO),
    "full": lambda: scwlearn.AROW().fit(X, TWO),
    "several": lambda: scwlearn.SCW1(scale=True, class_weight="balanced").fit(X, SEVERAL),
    "shared": lambda: scwlearn.SCW1(shared_covariance=True).fit(X, SEVERAL),
    "one-versus-rest": lambda: scwlearn.IELLIP(multi_class="ovr", covariance="diagonal").fit(X, SEVERAL),
    "identity": lambda: scwlearn.Perceptron(rivals="uniform").fit(X, SEVERAL),
    "stream": lambda: _stream(scale=True),
    "bounded": lambda: _stream(max_features=4, covariance="full"),
    "hashed": lambda: _stream(max_features=4, overflow="hash"),
    "kernel": lambda: scwlearn.KernelSCW1().fit(X, TWO),
    "kernel-budget": lambda: scwlearn.KernelSCW1(budget=2).fit(X, SEVERAL),
    "kernel-sparse": lambda: scwlearn.KernelPA1().fit(sparse.csr_array(X), SEVERAL),
    "kernel-spans": lambda: _taught(KernelLearner("arow", n_classes=0), [0, 1, 2, 0]),
    "kernel-learner": lambda: _taught(KernelLearner("pa2", kernel="poly"), SIGNS),
    "precomputed": lambda: scwlearn.KernelAROW(kernel="precomputed").fit(X @ X.T, TWO),
    "learner": lambda: _taught(scwlearn.Learner("pa1", intercept=True), SIGNS),
    "multi-learner": lambda: _taught(scwlearn.MultiLearner("nherd"), [0, 1, 2, 0]),
    "not-fitted": lambda: scwlearn.SCW2(),
    "nothing-learned": lambda: scwlearn.StreamClassifier("arow", classes=SEVERAL),
}


if __name__ == "__main__":
    CORPUS.mkdir(parents=True, exist_ok=True)
    for name, make in SEEDS.items():
        scwlearn.save(make(), CORPUS / f"{name}.model", notes={"some": [1, "two"]})
