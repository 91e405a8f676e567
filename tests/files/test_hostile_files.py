"""Files that an attacker made, with a right checksum: nothing native ever sees what does not fit."""

import random
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import scwlearn
from forged import Forged, mutated, refusal, resealed
from helpers import kernel_several, several
from hostile_cases import CASES
from saved_examples import rows_of
from scwlearn.files import SavedModel, write
from scwlearn.kernels import KernelLearner
from stream_examples import EXAMPLES, TOLD

X, NUMBERS = rows_of(4)
CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "model"


def stream(**how):
    model = scwlearn.StreamClassifier("scw1", **how)
    model.learn_many(EXAMPLES[:20], TOLD[:20])
    return model


def learner(kind, several, *given, **how):
    model = kind(*given, **how)
    model.learn(X, NUMBERS if several else np.where(NUMBERS > 1, 1, -1))
    return model


MODELS = {
    "two classes": lambda: scwlearn.SCW1(covariance="diagonal").fit(X, NUMBERS > 1),
    "full": lambda: scwlearn.AROW(class_weight={0: 2.0, 1: 0.5}).fit(X, NUMBERS > 1),
    "several": lambda: scwlearn.SCW1(scale=True, class_weight="balanced").fit(X, NUMBERS),
    "shared": lambda: scwlearn.SCW1(shared_covariance=True).fit(X, NUMBERS),
    "ovr": lambda: scwlearn.IELLIP(multi_class="ovr", covariance="diagonal").fit(X, NUMBERS),
    "stream": lambda: stream(scale=True),
    "bounded": lambda: stream(max_features=12),
    "hashed": lambda: stream(max_features=8, overflow="hash"),
    "kernel": lambda: scwlearn.KernelSCW1().fit(X, NUMBERS > 1),
    "kernel several": lambda: scwlearn.KernelSCW1(budget=8).fit(X, NUMBERS),
    "kernel spans": lambda: learner(kernel_several, True, "arow"),
    "kernel sparse": lambda: scwlearn.KernelPA1().fit(sparse.csr_array(X), NUMBERS),
    "precomputed": lambda: scwlearn.KernelAROW(kernel="precomputed").fit(X @ X.T, NUMBERS),
    "learner": lambda: learner(scwlearn.Learner, False, "pa1", intercept=True),
    "multi learner": lambda: learner(several, True, "nherd"),
    "kernel learner": lambda: learner(KernelLearner, False, "pa2"),
    "not fitted": lambda: scwlearn.SCW2(),
    "nothing learned": lambda: scwlearn.StreamClassifier("arow", classes=["a", "b", "c"]),
}


@cache
def content_of(name, directory):
    path = directory / f"{name}.model"
    scwlearn.save(MODELS[name](), path, notes={"some": [1, "two", None]})
    return path.read_bytes()


@pytest.fixture(scope="session")
def seeds(tmp_path_factory):
    """A function that gives the content of a file by the name of its model."""
    directory = tmp_path_factory.mktemp("seeds")
    return lambda name: content_of(name, directory)


@pytest.mark.parametrize(("name", "change", "told"), CASES, ids=[f"{name}: {told[:60]}" for name, _, told in CASES])
def test_what_does_not_fit_is_refused(name, change, told, seeds, tmp_path):
    forged = Forged(seeds(name))
    change(forged)
    path = tmp_path / "forged.model"
    path.write_bytes(forged.content())
    assert refusal(path).startswith(told)


def test_putting_a_file_together_again_changes_nothing(seeds, tmp_path):
    for name in MODELS:
        path = tmp_path / "same.model"
        path.write_bytes(Forged(seeds(name)).content())
        scwlearn.load(path)


def use(model):
    """Let native code see all of a model."""
    rows, labels = X[:8], NUMBERS[:8]
    if hasattr(model, "predict_proba_many"):
        model.predict_proba_many(EXAMPLES[:6])
        model.learn_many(EXAMPLES[:6], model.classes[:1] * 6)
    elif hasattr(model, "partial_fit"):
        if hasattr(model, "_learner"):
            model.predict_proba(rows)
            model.partial_fit(rows, model.classes_[:1].repeat(8))
    else:
        model.scores_and_variances(rows)
        model.learn(rows, labels if hasattr(model, "n_classes") else np.where(labels > 1, 1, -1))


def try_to_use(model):
    """The same, where it may be a model of other data, or one of numbers that nothing can be done with."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with suppress(ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError):
            use(model)


@pytest.mark.native
@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_changed_a_file_is_refused_or_makes_a_model_that_can_be_used(name, seeds, tmp_path):
    path, rng = tmp_path / "mutated.model", random.Random(name)
    told = []
    for _ in range(150):
        path.write_bytes(mutated(seeds(name), rng))
        try:
            model = scwlearn.load(path)
        except ValueError as error:
            told.append(str(error))
            continue
        try_to_use(model)
    assert len(told) > 30
    assert all(one.startswith(f"{path}: ") for one in told)


@pytest.mark.native
def test_what_the_fuzzer_found_worth_keeping_is_refused_or_makes_a_model(tmp_path):
    path, loaded, refused = tmp_path / "kept.model", 0, 0
    for kept in CORPUS.iterdir():
        path.write_bytes(resealed(kept.read_bytes()))
        try:
            model = scwlearn.load(path)
        except ValueError:
            refused += 1
            continue
        loaded += 1
        try_to_use(model)
    assert loaded > 10
    assert refused > 50


def test_a_model_of_numbers_that_are_none_is_not_written(tmp_path):
    model = learner(scwlearn.Learner, False, "arow", covariance="diagonal")
    model.model.memory[2, 1] = np.nan
    with pytest.raises(ValueError, match="this model cannot be saved: array 'memory' holds a variance that is not"):
        scwlearn.save(model, tmp_path / "none.model")
    assert not list(tmp_path.iterdir())


def test_a_model_whose_weights_have_run_away_is_kept_as_it_is(tmp_path):
    model = learner(scwlearn.Learner, False, "arow", covariance="diagonal")
    model.model.memory[2, 0] = np.inf
    write(SavedModel.from_model(model), tmp_path / "away.model")
    assert np.isinf(scwlearn.load(tmp_path / "away.model").model.memory[2, 0])
