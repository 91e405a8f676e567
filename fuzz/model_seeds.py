"""Small models of every kind, with which the fuzzing of model files begins.

    python -m fuzz.model_seeds

replaces fuzz/corpus/model by them; run it when the format changes. `python -m fuzz model`, and then --keep, adds forged
files that reach new code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import scwlearn
from fuzz.targets import TARGETS
from scwlearn.kernels import KernelLearner

X = np.array([[1.0, -0.5], [0.5, 2.0], [-1.5, 0.0], [0.25, 0.75]])
TWO, SEVERAL, SIGNS = [False, True, False, True], ["a", "b", "c", "a"], [-1, 1, -1, 1]
EXAMPLES = [{"size": 1.5, "sky": "grey"}, {"sky": "blue", "words": ["a", "b", "a"]}, {"size": -2}, {}]


def _stream(**settings: Any) -> Any:
    model = scwlearn.StreamClassifier("scw1", **settings)
    model.learn_many(EXAMPLES, SEVERAL)
    return model


def _trained(learner: Any, y: list[int]) -> Any:
    learner.learn(X, y)
    return learner


#: Models by the name of their file.
SEEDS: dict[str, Callable[[], Any]] = {
    "diagonal": lambda: scwlearn.SCW1(covariance="diagonal", class_weight={False: 2.0}, shuffle=False).fit(X, TWO),
    "full": lambda: scwlearn.AROW(shuffle=False).fit(X, TWO),
    "several": lambda: scwlearn.SCW1(scale="rms", class_weight="balanced", shuffle=False).fit(X, SEVERAL),
    "shared": lambda: scwlearn.SCW1(shared_covariance=True, shuffle=False).fit(X, SEVERAL),
    "one-versus-rest": lambda: scwlearn.IELLIP(multi_class="ovr", covariance="diagonal", shuffle=False).fit(X, SEVERAL),
    "identity": lambda: scwlearn.Perceptron(rivals="uniform", shuffle=False).fit(X, SEVERAL),
    "stream": lambda: _stream(scale="rms"),
    "standard": lambda: _stream(scale="standard"),
    "bounded": lambda: _stream(max_features=4, covariance="full"),
    "hashed": lambda: _stream(max_features=4, overflow="hash"),
    "kernel": lambda: scwlearn.KernelSCW1(shuffle=False).fit(X, TWO),
    "kernel-budget": lambda: scwlearn.KernelSCW1(budget=2, shuffle=False).fit(X, SEVERAL),
    "kernel-sparse": lambda: scwlearn.KernelPA1(shuffle=False).fit(sparse.csr_array(X), SEVERAL),
    "kernel-spans": lambda: _trained(KernelLearner("arow", n_classes=0), [0, 1, 2, 0]),
    "kernel-learner": lambda: _trained(KernelLearner("pa2", kernel="poly"), SIGNS),
    "precomputed": lambda: scwlearn.KernelAROW(kernel="precomputed", shuffle=False).fit(X @ X.T, TWO),
    "averaged": lambda: scwlearn.PA1(shuffle=False).fit(X, TWO),
    "committee": lambda: scwlearn.AutoClassifier(shuffle=False).fit(X, TWO),
    "committee-several": lambda: scwlearn.AutoClassifier(members=["arow", "pa1"], shuffle=False).fit(X, SEVERAL),
    "learner": lambda: _trained(scwlearn.Learner("pa1", intercept=True), SIGNS),
    "multi-learner": lambda: _trained(scwlearn.Learner("nherd", n_classes=0), [0, 1, 2, 0]),
    "not-fitted": lambda: scwlearn.SCW2(),
    "nothing-learned": lambda: scwlearn.StreamClassifier("arow", classes=SEVERAL),
}


if __name__ == "__main__":
    folder = TARGETS["model"].corpus
    for old in folder.iterdir():
        old.unlink()
    for name, make in SEEDS.items():
        scwlearn.save(make(), folder / f"{name}.model", notes={"some": [1, "two"]})
