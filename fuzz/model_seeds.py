"""The corpus of model files: small models of every kind, and forged files that reach new code of the reader.

    python fuzz/model_seeds.py [MUTATIONS]

replaces fuzz/corpus/model. Run it when the format changes. It needs no fuzzer: seeds are mutated as in
fuzz/model_loader.py, and a mutation is kept if the reader takes a new branch or gives a new message.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from scipy import sparse

import scwlearn
import scwlearn.files
from scwlearn.kernels import KernelLearner

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "fuzz" / "corpus" / "model"
READER = os.path.dirname(scwlearn.files.__file__)

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


def branches(content: bytes) -> set[object]:
    """Return the branches that the reader takes on a file, and the message that it gives, without its values."""
    found: set[object] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(READER):
            return None
        last = frame.f_lineno

        def trace_lines(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            found.add((name, last, frame.f_lineno))
            last = frame.f_lineno
            return trace_lines

        return trace_lines

    path = Path(tempfile.gettempdir()) / f"scwlearn-seed-{os.getpid()}.model"
    path.write_bytes(content)
    sys.settrace(trace)
    try:
        scwlearn.load(path)
    except ValueError as error:
        found.add(re.sub(r"got .*|'.*|[\d\[\]., ]+", " ", str(error)))
    finally:
        sys.settrace(None)
        path.unlink()
    return found


def grow(seeds: list[bytes], mutations: int) -> list[bytes]:
    """Return small mutations of the seeds that together reach all that any mutation did."""
    sys.path += [str(ROOT), str(ROOT / "tests" / "_support")]
    from forged import mutated  # type: ignore[import-not-found]

    rng, kept, by_seeds = random.Random(0), list(seeds), set[object]().union(*map(branches, seeds))
    known, reached = set(by_seeds), dict[bytes, set[object]]()
    for _ in range(mutations):
        # A mutation of a mutation may no longer be a file that can be parsed.
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
            # Rather of the shorter of two: small files are quick to load.
            content = mutated(min(rng.choices(kept, k=2), key=len), rng)
            found = branches(content)
            if found - known:
                known |= found
                kept.append(content)
                reached[content] = found
    smallest, known = [], by_seeds
    for content in sorted(reached, key=len):
        if reached[content] - known:
            known |= reached[content]
            smallest.append(content)
    return smallest


if __name__ == "__main__":
    CORPUS.mkdir(parents=True, exist_ok=True)
    for old in CORPUS.iterdir():
        old.unlink()
    for name, make in SEEDS.items():
        scwlearn.save(make(), CORPUS / f"{name}.model", notes={"some": [1, "two"]})
    contents = [(CORPUS / f"{name}.model").read_bytes() for name in SEEDS]
    for content in grow(contents, int(sys.argv[1]) if len(sys.argv) > 1 else 8_000):
        (CORPUS / hashlib.sha1(content).hexdigest()).write_bytes(content)
