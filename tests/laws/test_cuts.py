"""However a stream is cut into batches, it gives the same model: weights, names, votes and calibration."""

import io
from functools import partial
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn import StreamClassifier
from scwlearn.data.features import Features
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.writing import write_batches
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack
from scwlearn.rules import AUTO, find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.train import TrainingRun

pytestmark = pytest.mark.native

ROWS = 60
# Many more names than slots, so that they compete.
FEW = {"max_features": 8, "overflow": "hash"}
SETTINGS = {
    "few slots": FEW,
    "many slots": {"max_features": 1024, "overflow": "hash"},
    "scaled": {**FEW, "scale": "rms"},
    "one-vs-rest": {**FEW, "multi_class": "ovr"},
    "not hashed": {},
    "bounded": {"max_features": 30},
}


# What a committee has, too.
SHARED = ["few slots", "many slots", "not hashed"]
RULES = [(rule, own) for rule in ("scw1", "pa1") for own in SETTINGS] + [(AUTO.name, own) for own in SHARED]
# Where numbered features have no names, the sign of a weight of 0 may depend on the cuts.
CASES = [
    (form, *rule)
    for form in ("libsvm", "vw", "jsonl", "csv")
    for rule in RULES
    if (form, rule[1]) != ("libsvm", "not hashed")
]


def text_in(form, seed):
    """Return examples with many words, some of them frequent."""
    random = np.random.default_rng(seed)
    words = random.zipf(1.5, (ROWS, 4)) % 30
    if form == "libsvm":
        rows = [" ".join(f"{word + 1}:1" for word in np.unique(row)) for row in words]
        return "".join(f"{i % 3} {row}\n" for i, row in enumerate(rows)).encode()
    rows = [" ".join(f"w{word}" for word in row) for row in words]
    text = "".join(f"{i % 3} |a n:{i % 5} {row} |b c{i % 4}\n" for i, row in enumerate(rows)).encode()
    if form == "vw":
        return text
    _, batches = read_batches([io.BytesIO(text)])
    written = io.BytesIO()
    write_batches([*batches], written, form)
    return written.getvalue()


def model_of(text, config, features, *, chunk_bytes=None, **how):
    """Return the model of a run over a text, as the bytes of a file."""
    options = ReaderOptions(slots=config.learner_config.slots, chunk_bytes=chunk_bytes)
    _, batches = read_batches([io.BytesIO(text)], options=options, features=features)
    run = TrainingRun(config, probabilities=True, **how)
    run.run(lambda epoch: batches)
    return pack(SavedModel.from_classifier(run.classifier))


@pytest.mark.parametrize(("form", "rule", "own"), CASES)
@settings(max_examples=5)
@given(seed=st.integers(0, 99), chunk=st.integers(40, 3000), every=st.integers(1, ROWS), crossed=st.booleans())
def test_cuts_do_not_change_the_model(form, rule, own, seed, chunk, every, crossed):
    chosen = AUTO if rule == AUTO.name else find_rule(rule)
    config = ModelConfig(chosen, {}, {"covariance": "diagonal"} | SETTINGS[own])
    features = Features(interactions=("a:b",)) if crossed and form == "vw" else Features()
    train = partial(model_of, text_in(form, seed), config, features)
    whole = train()
    assert train(chunk_bytes=chunk) == whole
    assert train(save_every=every) == whole
    shuffled = train(shuffle_buffer=7)
    assert train(shuffle_buffer=7, chunk_bytes=chunk, save_every=every) == shuffled


@pytest.mark.parametrize("slots", [1, 3, 1024])
@pytest.mark.parametrize("seed", range(5))
def test_words_that_a_record_repeats_vote_once_in_every_form(slots, seed):
    draw = Random(seed)
    records = [{"a": draw.choices("vwxyz", k=draw.randint(1, 5)), "b": draw.random()} for _ in range(60)]
    labels = [draw.choice("pq") for _ in records]

    def packed(learn, **more):
        model = StreamClassifier("arow", max_features=slots, overflow="hash", **more)
        learn(model)
        return pack(SavedModel.from_model(model))

    def learn_each(model):
        for record, label in zip(records, labels, strict=True):
            model.learn_one(record, label)

    expected = packed(learn_each)
    assert packed(lambda model: model.learn_many(records, labels)) == expected
    assert packed(lambda model: model.learn_many(pa.Table.from_pylist(records), labels)) == expected
    declared = Features(kinds={"other": "text"})
    assert packed(learn_each, features=declared) == packed(
        lambda model: model.learn_many(pa.Table.from_pylist(records), labels), features=declared
    )
