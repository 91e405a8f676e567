"""Features in streams: records mean the same in every call, in River, and after saving and loading."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import scwlearn
from scwlearn import Features, StreamClassifier, river
from stream_examples import full_state

FEATURES = Features(
    kinds={"subject": "text", "age": "numeric", "when": "date"}, ngram=2, interactions=["sender:subject"], missing=["-"]
)


def records(count=60):
    rng = np.random.default_rng(0)
    words = ["free", "offer", "meeting", "you", "see", "now"]
    for i in range(count):
        spam = bool(rng.integers(2))
        subject = " ".join(rng.choice(words[:3] if spam else words[2:], 4))
        record = {
            "sender": str(rng.choice(["bob", "eve", "-"])),
            "subject": subject.title(),
            "age": str(rng.integers(90)) if i % 5 else "?",
            "when": f"2026-11-{i % 28 + 1:02} 10:00",
            "user": {"vip": spam, "tags": None},
        }
        yield record, "spam" if spam else "ham"


# Under a key, with the number of characters that it has in addition to that of the key.
VALUES = {
    "number": (1.0, None),
    "missing": (None, None),
    "empty string": ("", None),
    "empty bag": ([], None),
    "string": ("word", 0),
    "bag": (["one", "two"], 0),
    "set": ({"one", "two"}, 0),
    "date": (dt.datetime(2026, 11, 17, 10), 0),
    "dict": ({"n": 1.0}, 0),
    "empty dict": ({}, 0),
    "bag in a dict": ({"n": ["one", "two"]}, 2),
    "number in a dict": ({"n" * 300: 1.0}, 0),
    "dict in a dict": ({"n": {"n": 1.0}}, 2),
}


@pytest.mark.parametrize(("value", "added"), VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("length", [254, 255, 256, 257, 300])
@pytest.mark.parametrize("letter", ["k", "é", "\U0001f600"])
@pytest.mark.parametrize("settings", [{}, {"max_features": 9, "overflow": "hash"}, {"max_features": 9}])
def test_the_key_of_several_features_has_a_limit_with_declared_features_and_without(
    value, added, length, letter, settings
):
    record, limit = (
        {letter * length: value},
        "the key of several features must have at most 256 characters, with those above",
    )
    for features in None, Features(kinds={"other": "text"}):
        model = StreamClassifier("arow", features=features, **settings)
        model.learn_one({"a": 1.0}, "a")
        before = full_state(model)
        for call in (
            lambda model=model: model.learn_one(record, "a"),
            lambda model=model: model.learn_many([{"b": 1.0}, record], ["a", "b"]),
            lambda model=model: model.predict_one(record),
            lambda model=model: model.predict_many([{}, record]),
        ):
            if added is None or length + added <= 256:
                call()
                continue
            with pytest.raises(ValueError, match=limit) as error:
                call()
            assert len(str(error.value)) < 300
            assert full_state(model) == before


@pytest.mark.parametrize("settings", [{}, {"scale": "rms"}, {"max_features": 64, "overflow": "hash"}])
def test_a_record_equals_its_features_by_name(settings):
    raw, named = StreamClassifier("scw1", features=FEATURES, **settings), StreamClassifier("scw1", **settings)
    for record, label in records():
        features = FEATURES.read(record)
        assert raw.predict_proba_one(record) == named.predict_proba_one(features)
        assert raw.predict_one(record) == named.predict_one(features)
        raw.learn_one(record, label)
        named.learn_one(features, label)
        assert raw.explain(record) == named.explain(features)
    many = [record for record, _ in records()]
    named_many = [FEATURES.read(record) for record in many]
    assert raw.predict_many(many) == named.predict_many(named_many)
    assert raw.predict_proba_many(many).tolist() == named.predict_proba_many(named_many).tolist()
    assert raw.top_features() == named.top_features()


def test_learn_many_equals_learn_one():
    one, many = (StreamClassifier("scw1", features=FEATURES) for _ in range(2))
    examples, labels = zip(*records(), strict=True)
    for record, label in zip(examples, labels, strict=True):
        one.learn_one(record, label)
    many.learn_many(examples, labels)
    assert full_state(one) == full_state(many)


def test_features_are_saved_with_the_model(tmp_path):
    model = StreamClassifier("scw1", features=FEATURES)
    examples, labels = zip(*records(), strict=True)
    model.learn_many(examples, labels)
    model.save(tmp_path / "m")
    loaded = scwlearn.load(tmp_path / "m")
    assert loaded.features == FEATURES
    assert loaded.predict_proba_many(examples).tolist() == model.predict_proba_many(examples).tolist()
    assert model.copy().features == FEATURES


def test_river_classes_take_features(tmp_path):
    model, stream = river.SCW1(features=FEATURES), StreamClassifier("scw1", features=FEATURES)
    for record, label in records():
        model.learn_one(record, label)
        stream.learn_one(record, label)
        assert model.predict_proba_one(record) == stream.predict_proba_one(record)
    assert model.clone()._model.features == FEATURES
    model.save(tmp_path / "m")
    loaded = scwlearn.load(tmp_path / "m")
    assert (loaded.features, loaded._model.features) == (FEATURES, FEATURES)
    assert river.SCW1().features is None


def test_merged_models_have_the_features_of_all():
    examples, labels = zip(*records(), strict=True)
    parts = [StreamClassifier("arow", features=Features(kinds={"subject": "text", key: "ignore"})) for key in "ab"]
    for part in parts:
        part.learn_many(examples, labels)
    assert scwlearn.merge(parts).features == Features(kinds={"subject": "text", "a": "ignore", "b": "ignore"})
    other = StreamClassifier("arow", features=Features(kinds={"subject": "categorical"}))
    other.learn_many(examples, labels)
    with pytest.raises(ValueError, match="kind of 'subject'"):
        scwlearn.merge([parts[0], other])


def test_a_bad_record_changes_nothing():
    model = StreamClassifier("arow", features=FEATURES)
    model.learn_many(*zip(*records(), strict=True))
    before = full_state(model)
    bad = {"age": "old"}
    for call in (
        lambda: model.learn_one(bad, "spam"),
        lambda: model.learn_one(bad, "new class"),
        lambda: model.predict_one(bad),
        lambda: model.predict_proba_one(bad),
        lambda: model.explain(bad),
    ):
        with pytest.raises(ValueError, match=r"^column 'age': a value of a numeric column must be missing or "):
            call()
    for call in (lambda: model.learn_many([{}, bad], ["spam", "ham"]), lambda: model.predict_many([{}, bad])):
        with pytest.raises(ValueError, match=r"^examples\[1\], column 'age': a value of a numeric column"):
            call()
    assert full_state(model) == before
    with pytest.raises(TypeError, match="features must be Features or None, got 3"):
        StreamClassifier("arow", features=3)


def test_dates_need_no_declaration():
    moments = [dt.datetime(2026, 11, 17, 14, 30), dt.date(2026, 1, 2), pd.Timestamp("2026-05-06 07:08"), pd.NaT, pd.NA]
    plain, declared = StreamClassifier("arow"), StreamClassifier("arow", features=Features(kinds={"when": "auto"}))
    for i, moment in enumerate(moments):
        for model in (plain, declared):
            model.learn_one({"when": moment, "i": i}, i % 2)
    assert plain._classifier.learner.names == declared._classifier.learner.names
    assert full_state(plain) == full_state(declared)
    assert "when.hour.sin" in plain._classifier.learner.names
