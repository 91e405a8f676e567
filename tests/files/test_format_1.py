"""Files of the first format, which were made once and are read for ever; tests/models/make.py says how."""

from hashlib import sha256
from pathlib import Path

import pytest

import scwlearn
from saved_examples import everything, saved
from scwlearn.files import read
from scwlearn.learning.counters import Counts

MODELS = Path(__file__).parent / "models"

# What the files are made of is found again from these; they are those of make.py.
ROWS = [[((7 * i + 3 * j) % 11 - 5) / 4 for j in range(4)] for i in range(40)]
EXAMPLES = [{"size": row[0], "place": f"p{i % 3}", "words": ["a", f"w{i % 4}"]} for i, row in enumerate(ROWS)]

DIGESTS = {
    "two_classes": "f0204637b312a32d9718cf7dbb4bc068da7d537545f95c9eab89f970c7f2b96d",
    "several_classes": "e0d15c49202cef8a28aee874bcf5e96203bcce61562d53438c845eaef0918792",
    "kernel": "9859d77e9cf1708cc02957bf0bc09deab6cd0bc3ef5f75f13a624154eb3cc072",
    "stream": "75baed9d00b7bd6758a6155ce20ca6a1ab87430db9809e52d5ca4529036ac8d4",
}


def load(name):
    return scwlearn.load(MODELS / f"{name}.format1.model")


@pytest.mark.parametrize("name", DIGESTS)
def test_the_files_are_those_that_were_made(name):
    content = (MODELS / f"{name}.format1.model").read_bytes()
    assert sha256(content).hexdigest() == DIGESTS[name], "this file is not to be changed: it stands for those of users"


@pytest.mark.parametrize("name", DIGESTS)
def test_what_is_read_is_what_would_be_written_now(name, tmp_path):
    stored = read(MODELS / f"{name}.format1.model")
    assert stored.notes == {"made by": "tests/models/make.py"}
    assert stored.library == "0.1.0"
    assert everything(saved(load(name), tmp_path)) == everything(load(name))


def test_two_classes():
    model = load("two_classes")
    assert model.get_params() | {"C": 0.25, "covariance": "diagonal"} == model.get_params()
    assert (model.n_seen_, model.n_mistakes_, model.n_updates_) == (40, 4, 22)
    assert model.predict(ROWS[:6]).tolist() == ["no", "yes", "no", "yes", "yes", "no"]
    assert model.decision_function(ROWS[:3]).tolist() == pytest.approx(
        [-1.3911892555334646, 1.4938285991509077, -1.3338934175704906], rel=1e-9
    )
    assert model.predict_proba(ROWS[:2])[:, 0].tolist() == pytest.approx(
        [0.9712721783058345, 0.038564577781998954], rel=1e-9
    )
    assert model.partial_fit(ROWS, ["yes", "no"] * 20).n_seen_ == 80


def test_several_classes():
    model = load("several_classes")
    assert model.get_params() | {"scale": True, "class_weight": "balanced"} == model.get_params()
    assert (model.n_seen_, model.n_mistakes_, model.n_updates_) == (40, 3, 37)
    assert model.predict(ROWS[:6]).tolist() == [20, 10, 20, 0, 10, 20]
    assert model.decision_function(ROWS[:1])[0].tolist() == pytest.approx(
        [-0.606112500855491, -0.5261127880476888, 0.47473899631330596], rel=1e-9
    )
    assert model.predict_proba(ROWS[1:2])[0].tolist() == pytest.approx(
        [0.012600259991263395, 0.9736571550188377, 0.013742584989898958], rel=1e-9
    )
    assert model.partial_fit(ROWS, [0, 10] * 20).n_seen_ == 80


def test_a_kernel():
    model = load("kernel")
    assert (model.n_support_, model.gamma_, model.budget) == (6, 0.5, 6)
    assert (model.n_seen_, model.n_mistakes_, model.n_updates_) == (40, 5, 24)
    assert model.predict(ROWS[:6]).tolist() == [20, 10, 20, 0, 10, 20]
    assert model.decision_function(ROWS[:1])[0].tolist() == pytest.approx(
        [-0.39422852872553193, -0.459288703640332, 0.7098684364763878], rel=1e-9
    )
    assert model.predict_proba(ROWS[1:2])[0].tolist() == pytest.approx(
        [0.027779223683719222, 0.949121292108681, 0.023099484207599854], rel=1e-9
    )
    assert model.partial_fit(ROWS, [0, 10] * 20).n_seen_ == 80


def test_a_stream():
    model = load("stream")
    assert model.counts == Counts(seen=40, mistakes=9, updates=33)
    assert model.predict_many(EXAMPLES[:6]) == ["no", "yes", "no", "yes", "yes", "no"]
    assert [model.predict_proba_one(x)["no"] for x in EXAMPLES[:2]] == pytest.approx(
        [0.9248790355151363, 0.15654726434837996], rel=1e-9
    )
    names = ["size", "words=a", "place=p1", "words=w1", "place=p0", "words=w3"]
    assert list(model._classifier.learner.names) == names
    model.learn_many(EXAMPLES, ["yes", "no"] * 20)
    assert model.counts.seen == 80
