"""What a file says besides what the model has learned stays with a loaded model, until it is fitted anew."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import scwlearn
from scwlearn import SCW1, KernelLearner, Learner, StreamClassifier, merge
from scwlearn.cli.app import run
from scwlearn.files import SavedModel, read, write

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
    assert (after.schema, after.notes, after.batch) == (before.schema, before.notes, 7)
    assert before.record is not None
    assert after.record is None
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


def test_a_model_without_a_schema_takes_none_away(data, tmp_path, capsys):
    path, merged = tmp_path / "trained.model", tmp_path / "merged.model"
    assert run(["train", data, "-m", str(path), "-q", *ONE_BASED]) == 0
    empty, model = StreamClassifier(max_features=30), scwlearn.load(path)
    empty.save(tmp_path / "empty.model")
    assert run(["merge", str(path), str(tmp_path / "empty.model"), "-m", str(merged)]) == 0
    assert accuracy(merged, data, capsys) == accuracy(path, data, capsys)
    for again in merge([model, empty]), merge([empty, model]), merge([model, model.copy()], prior=empty):
        again.save(merged)
        assert read(merged).schema == read(path).schema


def test_models_that_number_features_differently_are_not_merged(data, tmp_path, capsys):
    paths = [tmp_path / "one.model", tmp_path / "zero.model"]
    for path, arguments in zip(paths, ([], ZERO_BASED), strict=True):
        assert run(["train", data, "-m", str(path), "-q", *arguments, "--max-features", "30"]) == 0
    assert run(["merge", *map(str, paths), "-m", str(tmp_path / "merged.model")]) == 1
    assert "read their data in different ways: zero_based False and True" in capsys.readouterr().err
    with pytest.raises(ValueError, match="read their data in different ways: zero_based False and True"):
        merge([*map(scwlearn.load, paths)])


def test_python_merges_models_whose_labels_had_other_names(tmp_path, capsys):
    paths = [tmp_path / "y.model", tmp_path / "label.model"]
    for path in paths:
        text = f"a,{path.stem}\n" + "1,x\n-1,y\n" * 20
        (tmp_path / "data.csv").write_text(text)
        assert run(["train", str(tmp_path / "data.csv"), "--label", path.stem, "-m", str(path), "-q"]) == 0
    assert run(["merge", *map(str, paths), "-m", str(tmp_path / "merged.model")]) == 1
    assert "label y and label" in capsys.readouterr().err
    merged = merge([*map(scwlearn.load, paths)])
    assert merged.predict_one({"a": 1.0}) == "x"


@pytest.mark.parametrize("make", [lambda: Learner("arow"), lambda: KernelLearner("arow"), SCW1, lambda: SCW1(C=2.0)])
@pytest.mark.parametrize("learn", [None, "examples", "classes"])
def test_notes_stay_with_every_kind_of_model(make, learn, tmp_path):
    model, path = make(), tmp_path / "any.model"
    x, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    if isinstance(model, SCW1) and learn is not None:
        model.partial_fit(x, y, classes=[-1, 1], sample_weight=[float(learn == "examples")] * 2)
    elif learn == "examples":
        model.learn(x, y)
    scwlearn.save(model, path, notes={"data": "clicks"})
    again = pickle.loads(pickle.dumps(scwlearn.load(path)))
    scwlearn.save(again, path)
    assert read(path).notes == {"data": "clicks"}
    again.partial_fit(x, y) if isinstance(again, SCW1) else again.learn(x, y)
    scwlearn.save(again, path)
    assert read(path).notes == {"data": "clicks"}
    if isinstance(again, Learner):
        scwlearn.save(merge([scwlearn.load(path), scwlearn.load(path)]), path)
        assert read(path).notes == {"data": "clicks"}


def test_a_river_model_keeps_its_notes(tmp_path):
    from scwlearn import river

    model = river.SCW1()
    model.learn_one({"x": 1.0}, True)
    file = tmp_path / "river.model"
    scwlearn.save(model, file, notes={"data": "clicks"})
    scwlearn.save(scwlearn.load(file), file)
    assert read(file).notes == {"data": "clicks"}


def test_the_number_of_the_first_micro_batch_is_kept(tmp_path):
    model, path = StreamClassifier("arow"), tmp_path / "first.model"
    model.learn_many([{"a": 1.0}, {"a": -1.0}], ["x", "y"])
    write(replace(SavedModel.from_model(model), batch=0), path)
    scwlearn.save(scwlearn.load(path), path)
    assert read(path).batch == 0
