"""Forged files with valid checksums: whatever does not fit is refused before native code sees it."""

import random
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from stress.forging import Forged

import hostile_cases
import hostile_settings
import hostile_sizes
import scwlearn
from forged import mutated, refusal, try_to_use
from saved_examples import rows_of
from scwlearn.files import SavedModel, write
from scwlearn.kernels import KernelLearner
from stream_examples import EXAMPLES, TARGETS

X, NUMBERS = rows_of(4)
CASES = [*hostile_cases.CASES, *hostile_settings.CASES, *hostile_sizes.CASES]


def stream(**how):
    model = scwlearn.StreamClassifier("scw1", **how)
    model.learn_many(EXAMPLES[:20], TARGETS[:20])
    return model


def trained(learner):
    learner.learn(X, np.where(NUMBERS > 1, 1, -1) if learner.is_binary else NUMBERS)
    return learner


MODELS = {
    "two classes": lambda: scwlearn.SCW1(covariance="diagonal").fit(X, NUMBERS > 1),
    "full": lambda: scwlearn.AROW(class_weight={0: 2.0, 1: 0.5}).fit(X, NUMBERS > 1),
    "several": lambda: scwlearn.SCW1(scale="rms", class_weight="balanced").fit(X, NUMBERS),
    "shared": lambda: scwlearn.SCW1(shared_covariance=True).fit(X, NUMBERS),
    "ovr": lambda: scwlearn.IELLIP(multi_class="ovr", covariance="diagonal").fit(X, NUMBERS),
    "stream": lambda: stream(scale="rms"),
    "standard": lambda: scwlearn.SCW1(scale="standard").fit(X, NUMBERS),
    "bounded": lambda: stream(max_features=12),
    "hashed": lambda: stream(max_features=8, overflow="hash"),
    "kernel": lambda: scwlearn.KernelSCW1(shuffle=False).fit(X, NUMBERS > 1),
    "kernel several": lambda: scwlearn.KernelSCW1(budget=8, shuffle=False).fit(X, NUMBERS),
    "kernel spans": lambda: trained(KernelLearner("arow", n_classes=0)),
    "kernel sparse": lambda: scwlearn.KernelPA1(shuffle=False).fit(sparse.csr_array(X), NUMBERS),
    "precomputed": lambda: scwlearn.KernelAROW(kernel="precomputed", shuffle=False).fit(X @ X.T, NUMBERS),
    "learner": lambda: trained(scwlearn.Learner("pa1", intercept=True)),
    "multi learner": lambda: trained(scwlearn.Learner("nherd", n_classes=0)),
    "kernel learner": lambda: trained(KernelLearner("pa2")),
    "committee": lambda: scwlearn.AutoClassifier(members=["arow", "pa1"], shuffle=False).fit(X, NUMBERS > 1),
    "committee several": lambda: scwlearn.AutoClassifier(members=["arow", "pa1"], shuffle=False).fit(X, NUMBERS),
    "committee nothing": lambda: scwlearn.StreamClassifier("auto", classes=["a", "b", "c"]),
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
    """A function that returns the content of the file of a model."""
    directory = tmp_path_factory.mktemp("seeds")
    return lambda name: content_of(name, directory)


@pytest.mark.parametrize(("name", "change", "message"), CASES, ids=[f"{case[0]}: {case[2][:60]}" for case in CASES])
def test_inconsistent_files_are_refused(name, change, message, seeds, tmp_path):
    forged = Forged(seeds(name))
    change(forged)
    path = tmp_path / "forged.model"
    path.write_bytes(forged.content())
    assert refusal(path).startswith(message)


def test_settings_that_an_older_file_lacks_take_their_defaults(seeds, tmp_path):
    forged = Forged(seeds("two classes"))
    for settings in (forged.model["settings"], forged.model["fixed_settings"], forged.model["learner"]["settings"]):
        del settings["variance_floor"]
    path = tmp_path / "older.model"
    path.write_bytes(forged.content())
    model = scwlearn.load(path)
    assert model.variance_floor == 0.0
    assert model.partial_fit(X, NUMBERS > 1).n_seen_ == 2 * len(X)


@pytest.mark.parametrize("name", ["kernel spans", "multi learner"])
def test_a_huge_number_of_classes_allocates_nothing(name, seeds, tmp_path):
    forged = Forged(seeds(name))
    forged.model["learner"]["n_classes"] = 2**31 - 1
    path = tmp_path / "forged.model"
    path.write_bytes(forged.content())
    assert scwlearn.load(path).model.classes == 4


def test_a_huge_number_of_features_of_a_model_that_learned_nothing_allocates_nothing(tmp_path):
    path = tmp_path / "wide.model"
    scwlearn.save(scwlearn.AROW().fit(X, NUMBERS > 1), path)
    forged = Forged(path.read_bytes())
    forged.model["learner"]["state"]["model"] = None
    forged.model["attributes"]["n_features_in_"] = 2**53
    for name in ("memory", "scalars"):
        forged.remove(name)
    path.write_bytes(forged.content())
    model = scwlearn.load(path)
    row = sparse.csr_array(([1.0], [5], [0, 1]), shape=(1, 2**53))
    for use in (lambda: model.top_features(3), lambda: model.explain(row)):
        with pytest.raises(ValueError, match="this learner has not learned from any row yet"):
            use()
    assert not hasattr(model, "coef_")


def test_a_huge_number_of_features_of_a_kernel_model_allocates_nothing(seeds, tmp_path):
    path = tmp_path / "wide.model"
    path.write_bytes(seeds("kernel sparse"))
    rows = sparse.csr_array(X)
    known = scwlearn.load(path).predict_proba(rows)
    forged = Forged(seeds("kernel sparse"))
    forged.model["learner"]["state"]["n_features"] = forged.model["attributes"]["n_features_in_"] = 2**53
    path.write_bytes(forged.content())
    wide = sparse.csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr), shape=(len(X), 2**53))
    np.testing.assert_array_equal(scwlearn.load(path).predict_proba(wide), known)


def test_a_model_without_weights_is_loaded(tmp_path):
    model = scwlearn.Learner("pa1", n_classes=3, intercept=False)
    model.learn(np.zeros((3, 0)), [0, 1, 2])
    scwlearn.save(model, tmp_path / "empty.model")
    assert scwlearn.load(tmp_path / "empty.model").model.classes == 3


def test_unchanged_files_are_loaded(seeds, tmp_path):
    for name in MODELS:
        path = tmp_path / "same.model"
        path.write_bytes(Forged(seeds(name)).content())
        scwlearn.load(path)


@pytest.mark.native
@pytest.mark.parametrize("name", MODELS)
def test_a_mutated_file_is_refused_or_its_model_can_be_used(name, seeds, tmp_path):
    path, rng = tmp_path / "mutated.model", random.Random(name)
    messages = []
    for _ in range(150):
        path.write_bytes(mutated(seeds(name), rng))
        try:
            model = scwlearn.load(path)
        except ValueError as error:
            messages.append(str(error))
            continue
        try_to_use(model, X[:8], EXAMPLES[:6])
    assert len(messages) > 30
    assert all(message.startswith(f"{path}: ") for message in messages)


def test_a_model_with_invalid_variances_is_not_written(tmp_path):
    model = trained(scwlearn.Learner("arow", covariance="diagonal"))
    model.model.memory[2, 1] = np.nan
    with pytest.raises(ValueError, match="this model cannot be saved: array 'memory': variances must be"):
        scwlearn.save(model, tmp_path / "none.model")
    assert not list(tmp_path.iterdir())


def test_infinite_weights_are_saved(tmp_path):
    model = trained(scwlearn.Learner("arow", covariance="diagonal"))
    model.model.memory[2, 0] = np.inf
    write(SavedModel.from_model(model), tmp_path / "away.model")
    assert np.isinf(scwlearn.load(tmp_path / "away.model").model.memory[2, 0])
