"""What a file says besides what the model has learned stays with a loaded model, until it is fitted anew."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import scwlearn
from scwlearn import StreamClassifier, merge
from scwlearn.cli.app import run
from scwlearn.files import read, write

ONE_BASED = ["--max-features", "30"]
ZERO_BASED = ["--zero-based"]


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(300, 4))
    lines = [f"{1 if row[0] > 0 else -1} " + " ".join(f"{j}:{v}" for j, v in enumerate(row, 1)) for row in x]
    path = tmp_path / "data.libsvm"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(params=[ONE_BASED, ["--hash-bits", "4"], ZERO_BASED, []], ids=" ".join)
def trained(request, data, tmp_path):
    path = tmp_path / "trained.model"
    assert run(["train", data, "-m", str(path), "-q", *request.param]) == 0
    return path


def accuracy(model, data, capsys):
    capsys.readouterr()
    assert run(["evaluate", str(model), data]) == 0
    return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("accuracy"))


@pytest.mark.parametrize(
    "again",
    [lambda model: model, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["loaded", "copied", "pickled"],
)
def test_a_model_that_is_loaded_and_saved_is_the_same_file(trained, again, data, tmp_path, capsys):
    write(replace(read(trained), notes={"data": "mails of May"}, batch=7), trained)
    other = tmp_path / "other.model"
    scwlearn.save(again(scwlearn.load(trained)), other)
    assert other.read_bytes() == trained.read_bytes()
    assert accuracy(other, data, capsys) == accuracy(trained, data, capsys)


def test_a_model_that_has_learned_more_keeps_what_is_still_true(data, tmp_path):
    path, other = tmp_path / "a.model", tmp_path / "b.model"
    assert run(["train", data, "-m", str(path), "-q", *ONE_BASED]) == 0
    write(replace(read(path), notes={"data": "mails of May"}, batch=7), path)
    model = scwlearn.load(path)
    model.learn_one({1: 1.0}, 1.0)
    scwlearn.save(model, other)
    before, after = read(path), read(other)
    assert (after.schema, after.notes) == (before.schema, before.notes)
    assert before.record is not None
    assert (after.record, after.batch) == (None, None)
    scwlearn.save(model, other, notes={})
    assert read(other).notes == {}


def test_a_model_that_is_fitted_anew_keeps_nothing(data, tmp_path):
    path = tmp_path / "a.model"
    assert run(["train", data, "-m", str(path), "-q"]) == 0
    assert read(path).schema is not None
    model = scwlearn.load(path).fit([[1.0], [-1.0]], ["a", "b"])
    model.save(path)
    assert read(path).schema is None


def test_merged_models_keep_what_is_true_of_all(trained, data, tmp_path, capsys):
    other, merged = tmp_path / "other.model", tmp_path / "merged.model"
    write(replace(read(trained), notes={"data": "mails of June", "by": "us"}), other)
    write(replace(read(trained), notes={"data": "mails of May", "by": "us"}), trained)
    scwlearn.save(merge([scwlearn.load(trained), scwlearn.load(other)]), merged)
    saved = read(merged)
    assert (saved.schema, saved.notes) == (read(trained).schema, {"by": "us"})
    assert (saved.record, saved.batch) == (None, None)
    assert run(["merge", str(trained), str(other), "-m", str(tmp_path / "by_command.model"), "-q"]) == 0
    assert accuracy(merged, data, capsys) == accuracy(tmp_path / "by_command.model", data, capsys)


def test_models_that_number_features_differently_are_not_merged(data, tmp_path, capsys):
    trained, own = tmp_path / "trained.model", tmp_path / "own.model"
    assert run(["train", data, "-m", str(trained), "-q", *ONE_BASED]) == 0
    model = StreamClassifier(max_features=30)
    model.learn_many([{1: 1.0}, {1: -1.0}], [1.0, -1.0])
    scwlearn.save(model, own)
    assert run(["merge", str(trained), str(own), "-m", str(tmp_path / "merged.model")]) == 1
    assert "read their data in different ways: zero_based False and True" in capsys.readouterr().err
    with pytest.raises(ValueError, match="read their data in different ways: zero_based False and True"):
        merge([scwlearn.load(trained), model])


def test_a_river_model_keeps_its_notes(tmp_path):
    from scwlearn.river import SCW1

    model = SCW1()
    model.learn_one({"x": 1.0}, True)
    file = tmp_path / "river.model"
    scwlearn.save(model, file, notes={"data": "clicks"})
    scwlearn.save(scwlearn.load(file), file)
    assert read(file).notes == {"data": "clicks"}
