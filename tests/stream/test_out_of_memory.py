"""All or nothing where memory runs out: any call within may fail, and the model is as it was."""

import zlib

import pytest

from out_of_memory import OutOfMemory, complete_state
from scwlearn import StreamClassifier
from stream_examples import EXAMPLES, SETTINGS, TARGETS, full_state

pytestmark = pytest.mark.native


def fails_anywhere(model, learn, *, step=31):
    """Let some calls within `learn` fail in turn; the model must be as it was until it succeeds."""
    before = complete_state(model)
    for at in range(zlib.crc32(str(before).encode()) % step, 100_000, step):
        with OutOfMemory(at) as memory:
            try:
                learn(model)
            except MemoryError:
                assert memory.failed
                assert complete_state(model) == before, f"call {at} failed"
                continue
        assert at > 0
        return
    pytest.fail("it never succeeds")


def prepared(rule, settings, count=30):
    model = StreamClassifier(rule, **SETTINGS[settings])
    model.learn_many(EXAMPLES[:count], TARGETS[:count])
    return model


KINDS = [*(("scw1", name) for name in SETTINGS), ("perceptron", "default"), ("auto", "default")]
KINDS += [("auto", "hash"), ("auto", "balanced")]
every_kind = pytest.mark.parametrize(("rule", "settings"), KINDS)


def test_too_many_names_in_mid_batch_leave_the_model_as_it_was():
    model = StreamClassifier("scw1", covariance="full")
    model.learn_many([{"a": 1}, {"b": 1}], ["x", "y"])
    before = full_state(model)
    names = {f"name {i}": 1 for i in range(60_000)}
    with pytest.raises(MemoryError, match='covariance="diagonal" needs only two numbers per feature'):
        model.learn_many([{"a": 2}, {"b": 2}, names], ["x", "y", "x"])
    assert full_state(model) == before


@every_kind
def test_learn_many(rule, settings):
    model = prepared(rule, settings)
    fails_anywhere(model, lambda model: model.learn_many(EXAMPLES[30:50], TARGETS[30:50]))


@every_kind
def test_learn_one(rule, settings):
    model = prepared(rule, settings)
    x = {f"new {i}": i + 1.0 for i in range(10)} | {"feature 0": 1.0}
    for label in ("pear", "a new label", "another"):
        fails_anywhere(model, lambda model, label=label: model.learn_one(x | {label: 1.0}, label))


@every_kind
def test_the_first_examples(rule, settings):
    fails_anywhere(StreamClassifier(rule, **SETTINGS[settings]), lambda model: model.learn_many(EXAMPLES, TARGETS))
    fails_anywhere(StreamClassifier(rule, **SETTINGS[settings]), lambda model: model.learn_one(EXAMPLES[0], "fig"))
