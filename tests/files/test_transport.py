"""Models as bytes: they come back to the last bit, whole or as a difference."""

import numpy as np
import pytest

import scwlearn
from saved_examples import everything
from scwlearn.files import SavedModel, safetensors
from scwlearn.files.json_reader import InvalidModelFile
from scwlearn.files.transport import pack, unpack


def stream(rule="scw1", **settings):
    return scwlearn.StreamClassifier(rule, **settings)


def learned(model, first, last, classes=3):
    for i in range(first, last):
        model.learn_one({f"w{i % 50}": 1.0, f"v{i % 7}": i / 10, "n": float(i % 3)}, f"c{i % classes}")
    return model


MODELS = {
    "scw1": lambda: stream(),
    "full": lambda: stream(covariance="full"),
    "averaged": lambda: stream("pa1", average=True),
    "scaled": lambda: stream(scale="standard"),
    "hashed": lambda: stream(max_features=64, overflow="hash"),
    "dropping": lambda: stream(max_features=20),
    "committee": lambda: stream("auto"),
    "balanced": lambda: stream(class_weight="balanced"),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_comes_back_to_the_last_bit(name, classes):
    model = learned(MODELS[name](), 0, 60, classes)
    before = pack(SavedModel.from_model(model))
    assert everything(unpack(before).learner) == everything(unpack(pack(unpack(before))).learner)
    learned(model, 60, 130, classes)
    saved = SavedModel.from_model(model)
    for packed, base in ((pack(saved), None), (pack(saved, before), before)):
        again = unpack(packed, base)
        assert everything(again.learner) == everything(unpack(pack(saved)).learner)
        ours, theirs = learned(again.to_model(), 130, 160, classes), learned(model.copy(), 130, 160, classes)
        assert pack(SavedModel.from_model(ours)) == pack(SavedModel.from_model(theirs))


def test_an_untrained_model_and_one_that_widens():
    start = pack(SavedModel.from_model(stream()))
    model = learned(stream(), 0, 40)
    assert pack(unpack(pack(SavedModel.from_model(model), start), start)) == pack(SavedModel.from_model(model))


def test_a_difference_is_as_large_as_what_changed():
    x = np.zeros((1, 100_000))
    learner = scwlearn.Learner("arow", covariance="diagonal")
    learner.learn(x + 1, [1])
    before = pack(SavedModel.from_model(learner))
    x[0, :1000] = 1
    learner.learn(x, [-1])
    assert len(pack(SavedModel.from_model(learner), before)) < len(before) / 50


def test_a_difference_from_another_model_is_refused():
    one, other = learned(stream(), 0, 40), learned(stream(), 0, 90)
    before, wrong = (pack(SavedModel.from_model(model)) for model in (one, stream(covariance="full")))
    with pytest.raises(InvalidModelFile):
        unpack(pack(SavedModel.from_model(learned(one, 40, 41)), before), wrong)
    with pytest.raises(InvalidModelFile):
        unpack(b"spam" * 100)
    assert unpack(pack(SavedModel.from_model(other), before), before).learner.counts.seen == 90


FORGED = {
    "no object": "[]",
    "no list": '{"known": 3}',
    "no integer": '{"known": ["a"]}',
    "negative": '{"known": [-1]}',
    "too many": '{"known": [4611686018427387904, 4]}',
    "no JSON": "{",
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_forged_shapes_are_refused(text):
    model = learned(stream(), 0, 60)
    before = pack(SavedModel.from_model(model))
    metadata, arrays = safetensors.view(pack(SavedModel.from_model(learned(model, 60, 70)), before))
    name = next(name for name in arrays if name.endswith("@"))[:-1]
    forged = safetensors.encode({**metadata, "changed": text.replace("known", name)}, arrays)
    with pytest.raises(InvalidModelFile):
        unpack(b"".join(forged), before)


@pytest.mark.parametrize("forge", [lambda a: a.astype(float), lambda a: a.reshape(1, -1), lambda a: -1 - a])
def test_forged_places_are_refused(forge):
    model = learned(stream(), 0, 60)
    before = pack(SavedModel.from_model(model))
    metadata, arrays = safetensors.view(pack(SavedModel.from_model(learned(model, 60, 70)), before))
    for name in [name for name in arrays if name.endswith("@") and arrays[name].size]:
        forged = safetensors.encode(metadata, {**arrays, name: forge(arrays[name])})
        with pytest.raises(InvalidModelFile):
            unpack(b"".join(forged), before)
