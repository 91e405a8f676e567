"""A model file that is trained further keeps all that training does not change."""

from pathlib import Path

import numpy as np
import pytest

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli import messages
from scwlearn.cli.app import run
from scwlearn.data.io.errors import DataError
from scwlearn.distributed import Serial
from scwlearn.distributed import train as train_parts
from scwlearn.files import read
from scwlearn.runs.trained_model import TrainedModel
from use_examples import arrays, failed, trained, written

NOTES = {"data": "mails of May", "offsets": [1, 2.5, None]}
WIDTH = 7


def frame():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(arrays(width=WIDTH)[0], columns=[f"column {i}" for i in range(WIDTH)])


def linear():
    model = scwlearn.SCW1(n_epochs=5, random_state=3, shuffle=False, C=2, class_weight="balanced")
    return model.fit(frame(), (arrays(width=WIDTH)[0][:, 0] > 0).astype(int))


def committee():
    return scwlearn.AutoClassifier(random_state=3, n_jobs=2).fit(
        frame(), (arrays(width=WIDTH)[0][:, 0] > 0).astype(int)
    )


def learned(model):
    x, y = [{"size": 1.5, "words": "big bad"}, {"size": 0.2, "words": "small"}], ["yes", "no"]
    for row, label in zip(x, y, strict=True):
        model.learn_one(row, label)
    return model


def stream():
    return learned(scwlearn.StreamClassifier("arow", r=2.0, features=scwlearn.Features(kinds={"words": "text"})))


def river():
    module = pytest.importorskip("scwlearn.river")
    return learned(module.AROW(r=2.0, scale="rms", features=scwlearn.Features(kinds={"words": "text"})))


MODELS = [linear, committee, stream, river]
TABLE = "size,words,label\n" + "1.5,big,yes\n0.1,small cat,no\n" * 50


def command(*arguments):
    assert run([*map(str, arguments), "-q"]) == 0


def in_place(data, path):
    command("train", data, "--resume", path, "-m", path)


def saved_on_the_way(data, path):
    command("train", data, "--resume", path, "-m", path, "--save-every", 10, "--epochs", 2)


def in_workers(data, path):
    command("train", data, "--resume", path, "-m", path, "--workers", 1, "--parts", 2)


def in_python(data, path):
    train_parts(str(data), TrainedModel.read(path), runner=Serial(), parts=2).write(path)


def merged(data, path):
    del data
    command("merge", path, "-m", path)


def merged_after_training(data, path):
    other = path.with_name("other.model")
    command("train", data, "--resume", path, "-m", other)
    command("merge", other, other, "-m", path)


def rewritten(data, path):
    del data
    TrainedModel.read(path).write(path)


WAYS = [in_place, saved_on_the_way, in_workers, in_python, merged, merged_after_training, rewritten]


def what_stays(path):
    saved = read(path)
    return saved.kind, saved.class_name, saved.settings, saved.fixed_settings, saved.attributes, saved.notes


def data_for(make, directory):
    if make in (stream, river):
        return written(directory / "it.csv", TABLE)
    return written(directory / "it.libsvm", libsvm_text(200, classes=(0, 1), width=WIDTH))


@pytest.mark.filterwarnings("ignore::scwlearn.learning.data_warnings.DataWarning")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_training_keeps_all_else_of_a_file(make, way, tmp_path):
    path, data = tmp_path / "it.model", data_for(make, tmp_path)
    scwlearn.save(make(), path, notes=NOTES)
    before, seen = what_stays(path), read(path).learner.counts.seen
    way(data, path)
    assert what_stays(path) == before
    assert type(scwlearn.load(path)) is type(make())
    assert read(path).learner.counts.seen >= seen + (way not in (merged, rewritten))


DECLARED = {
    "--ignore": "words", "--numeric": "words", "--categorical": "words", "--text": "size", "--date": "size",
    "--missing": "NA", "--decimal": ",", "--ngram": "2", "--skips": "1", "--char-ngrams": "3",
    "--interactions": "size:words",
}  # fmt: skip


def untrained():
    return scwlearn.StreamClassifier("arow", features=scwlearn.Features(kinds={"words": "text"}))


def test_every_option_that_declares_features_is_tried():
    assert {*DECLARED} == {*messages._FEATURES}


@pytest.mark.parametrize("option", DECLARED)
@pytest.mark.parametrize("make", [stream, untrained], ids=lambda make: make.__name__)
def test_features_cannot_be_declared_for_a_model_made_in_python(make, option, tmp_path, capsys):
    path, data = tmp_path / "it.model", written(tmp_path / "it.csv", TABLE)
    make().save(path)
    before = path.read_bytes()
    more = [option, DECLARED[option]] + ["--ngram", "2"] * (option == "--skips")
    calls = [["train", data, "--resume", path, "-m", path], ["predict", path, data], ["evaluate", path, data]]
    calls.append([*calls[0], "--workers", "1"])
    for call in calls:
        said = failed(capsys, *call, "-q", *more)
        assert "the model determines how data is read (remove --" in said
        assert option in said
    assert path.read_bytes() == before


@pytest.mark.parametrize(("option", "kind"), [("--numeric", {"size": 1.5}), ("--categorical", {"size=1.5": 1.0})])
def test_what_cells_hold_can_be_declared_for_a_model_made_in_python(tmp_path, option, kind):
    path, data = tmp_path / "it.model", written(tmp_path / "it.csv", "size,label\n1.5,yes\n1.5,no\n")
    scwlearn.StreamClassifier("arow").save(path)
    command("train", data, "--resume", path, "-m", path, option, "size")
    assert [*read(path).learner.learner.names] == [*kind]


def test_no_message_about_a_model_made_in_python_suggests_to_declare_features(tmp_path, capsys):
    path = tmp_path / "it.model"
    data = written(tmp_path / "it.csv", "size,words,label\n1,big,yes\nhuge,big,yes\n")
    model = scwlearn.StreamClassifier("arow", features=scwlearn.Features(kinds={"size": "numeric"}))
    learned(model).save(path)
    said = failed(capsys, "train", data, "--resume", path, "-m", path, "-q")
    assert "found 'huge'" in said
    assert not any(option in said for option in DECLARED)


def test_distributed_training_declares_no_features_of_a_model_made_in_python(tmp_path):
    path, data = tmp_path / "it.model", written(tmp_path / "it.csv", TABLE)
    stream().save(path)
    reading = {"features": scwlearn.Features(kinds={"words": "categorical"})}
    with pytest.raises(DataError, match=r"the model determines how data is read \(remove kinds={...: .categorical.}\)"):
        train_parts(data, TrainedModel.read(path), runner=Serial(), reading=reading)


def test_wider_data_drop_the_names_of_columns(tmp_path):
    path, data = tmp_path / "it.model", written(tmp_path / "it.libsvm", libsvm_text(200, classes=(0, 1), width=9))
    scwlearn.save(linear(), path)
    in_place(data, path)
    assert read(path).attributes == {"n_features_in_": 9}
    assert scwlearn.load(path).n_epochs == 5


def test_an_untrained_stream_keeps_its_notes_if_features_are_numbered(tmp_path):
    path, data = tmp_path / "it.model", data_for(linear, tmp_path)
    scwlearn.save(scwlearn.StreamClassifier("arow", r=2.0), path, notes=NOTES)
    in_place(data, path)
    assert (read(path).notes, read(path).settings["r"]) == (NOTES, 2.0)
    assert scwlearn.load(path).predict(arrays(width=WIDTH)[0]).shape == (300,)


def test_new_parameters_are_those_of_the_estimator(tmp_path):
    path, data = tmp_path / "it.model", data_for(linear, tmp_path)
    scwlearn.save(linear(), path)
    command("train", data, "--resume", path, "-m", path, "--C", 8)
    model = scwlearn.load(path)
    assert (model.C, model.n_epochs, model._classifier.config.parameters["C"]) == (8.0, 5, 8.0)


def test_a_merged_file_keeps_the_notes_that_all_have(tmp_path):
    paths = [tmp_path / f"{number}.model" for number in range(2)]
    for number, path in enumerate(paths):
        scwlearn.save(
            stream(), path, notes={"same": {"a": 1}, "shard": number, f"only {number}": 1, "type": [1, 1.0][number]}
        )
    command("merge", *paths, "-m", tmp_path / "all.model")
    assert read(tmp_path / "all.model").notes == {"same": {"a": 1}}


def test_files_with_other_columns_are_not_merged(tmp_path, capsys):
    data, paths = data_for(linear, tmp_path), [tmp_path / f"{number}.model" for number in range(2)]
    x, y = frame(), (arrays(width=WIDTH)[0][:, 0] > 0).astype(int)
    for path, table in zip(paths, (x, x[x.columns[::-1]]), strict=True):
        scwlearn.save(scwlearn.AROW(random_state=0).fit(table, y), path)
        in_place(data, path)
    assert run(["merge", *map(str, paths), "-m", str(tmp_path / "all.model")]) == 1
    assert f"{paths[0]} and {paths[1]} differ in feature_names_in_: " in capsys.readouterr().err
    np.testing.assert_array_equal(scwlearn.load(paths[0]).feature_names_in_, list(x.columns))


@pytest.mark.parametrize("how", [[], ["--workers", "1"], ["--save-every", "10"]], ids=str)
def test_examples_of_weight_0_alone_do_not_change_a_resumed_model(tmp_path, capsys, how):
    model = trained(tmp_path, "1 1 | a\n0 1 | b\n", ending=".vw")
    data, before = written(tmp_path / "none.vw", "1 0 | a\n" * 50), Path(model).read_bytes()
    said = failed(capsys, "train", data, "--resume", model, "-m", model, "-q", *how)
    assert said.endswith(f"{data}: no examples to learn from, as all have the weight 0\n")
    assert Path(model).read_bytes() == before
