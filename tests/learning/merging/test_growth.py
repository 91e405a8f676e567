"""A prior that the models cannot have continued from is refused, as are sums that no file could hold."""

import re
from copy import copy

import numpy as np
import pytest

from scwlearn import AutoClassifier, Learner, StreamClassifier, merge
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack, unpack

WRONG = "; prior must be the model that all models continued from"
STREAMS = {
    "balanced": {"class_weight": "balanced"},
    "binary": {"classes": ["a", "b"]},
    "ovr": {"multi_class": "ovr", "class_weight": "balanced"},
    "average": {"rule": "perceptron", "average": True},
    "committee": {"rule": "auto"},
    "dropping": {"max_features": 8, "scale": "rms"},
}


def stream(settings, labels, rows, seed):
    return taught(StreamClassifier(**{"rule": "scw1", **settings}), labels, rows, seed)


def taught(model, labels, rows, seed):
    rng = np.random.default_rng(seed)
    for _ in range(rows):
        label = labels[rng.integers(len(labels))]
        x = {f"f{i}": rng.normal() + (i == labels.index(label)) for i in rng.choice(6, 3, replace=False).tolist()}
        model.learn_one(x, label)
    return model


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("seed", range(12))
def test_any_prior_is_refused_or_gives_a_model_that_can_be_saved(kind, seed):
    rng = np.random.default_rng([seed, 1])
    settings = STREAMS[kind]
    alphabets = ["ab", "ba"] if "classes" in settings else ["ab", "ba", "abc", "c", "cab", "a"]
    made = [stream(settings, rng.choice(alphabets), int(rng.integers(40)), [seed, k]) for k in range(4)]
    for prior in made:
        models = [each for each in made if each is not prior]
        try:
            merged = merge(models, prior=prior)
        except ValueError as error:
            assert str(error).endswith(WRONG)  # noqa: PT017
            continue
        saved = SavedModel.from_model(merged)
        assert unpack(pack(saved)).learner.counts == merged.counts


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("seed", range(3))
def test_models_that_continued_from_the_prior_are_merged(kind, seed):
    settings = STREAMS[kind]
    alphabets = ["ab", "ba"] if "classes" in settings else ["ab", "ba", "abc", "c", "cad"]
    rng = np.random.default_rng([seed, 2])
    prior = stream(settings, "ab", 20, [seed, 0])
    for number in range(3):
        rows = rng.integers(30, size=3).tolist()
        models = [taught(copy(prior), rng.choice(alphabets), n, [seed, number, n]) for n in rows]
        prior = merge(models, prior=prior)
    assert merge([prior], prior=prior).counts == prior.counts


WRONG_PRIORS = {
    "models[0] has 40 examples, but prior has 41": ("xxxxxxxxxy", 41),
    "models[0] does not know the class 'z' of prior": ("xyz", 10),
    "models[0] has ": ("xxxxxxxxxy", 40),
}


@pytest.mark.parametrize("message", WRONG_PRIORS)
def test_the_error_names_what_the_prior_has_more_of(message):
    models = [stream(STREAMS["balanced"], "xy", 40, seed) for seed in range(2)]
    labels, rows = WRONG_PRIORS[message]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}.*{re.escape(WRONG)}$"):
        merge(models, prior=stream(STREAMS["balanced"], labels, rows, 2))


def test_a_learner_cannot_have_continued_from_one_of_more_classes():
    with pytest.raises(ValueError, match=r"models\[0\] does not know the class 2 of prior"):
        merge([Learner("arow", n_classes=2)], prior=Learner("arow", n_classes=4))


@pytest.mark.parametrize("make", [lambda: stream(STREAMS["balanced"], "ab", 9, 0), lambda: committee()])
def test_counts_that_no_file_could_hold_are_refused(make):
    models = [make()]
    # Each has twice the examples of the one before.
    while models[-1] is not None:
        models.append(doubled(models[-1]))
    assert len(models) == 51
    pack(SavedModel.from_model(models[-2]))


def doubled(model):
    """The merge of a model with itself; None if it is refused."""
    try:
        return merge([model, model])
    except ValueError as error:
        assert str(error).endswith("examples; if they continued from a common model, pass it as prior")  # noqa: PT017
    return None


def committee():
    rng = np.random.default_rng(0)
    return AutoClassifier(random_state=0).fit(rng.normal(size=(9, 3)), np.arange(9) % 2)
