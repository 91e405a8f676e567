"""Options for the algorithm and its model."""

import os
import re
import shlex
import shutil
import subprocess

import pytest

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.cli.commands.train import command as train
from scwlearn.cli.commands.tune import command as tune
from scwlearn.learning.settings import Face, settings_for
from scwlearn.runs.trained_model import TrainedModel
from use_examples import failed, written


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "data.libsvm", libsvm_text(100))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--initial-variance", "nan"], "--initial-variance must be a number strictly between"),
        (["--variance-floor", "2"], "--variance-floor must be a number in [0, 1), got 2.0"),
        (["-a", "pa", "--variance-floor", "0.5"], "--variance-floor must be 0 where variances never fall"),
        (["--shared-covariance", "--multi-class", "ovr"], "--shared-covariance needs --multi-class joint"),
        (["--hash-bits", "31"], "--hash-bits must be an integer from 1 to 30, got 31"),
        (["--max-features", "0"], "--max-features must be an integer >= 1, got 0"),
        (["--max-features", "x"], "invalid value for '--max-features': 'x' is not a valid integer"),
        (["--holdout", "nan"], "nan is not in the range 0.0<=x<1.0"),
        (["--seed", "-1"], "-1 is not in the range x>=0"),
        (["--class-weight", "1=-1"], "a weight must be a finite number >= 0; 1 has -1"),
        (["--class-weight", "1=nan"], "a weight must be a finite number >= 0; 1 has nan"),
        (["--class-weight", "=2"], "expected balanced or LABEL=WEIGHT,..., got '=2'"),
        (["--class-weight", "1=2,1=3"], "1 has two weights, 2 and 3"),
        (["--costs", "1:-1=-2"], "a cost must be a finite number >= 0; 1:-1 has -2"),
        (["--costs", "1=2"], "expected TRUE:PREDICTED=COST,..., got '1=2'"),
        (["--costs", "1:-1=2,1:-1=3"], "1:-1 has two costs, 2 and 3"),
        (["--numeric", "a,b", "--text", "b"], "column 'b' is both --numeric and --text"),
    ],
)
def test_invalid_settings_are_wrong_usage(capsys, data, options, said):
    assert said in failed(capsys, "train", data, *options, code=2)


def test_a_model_too_large_for_memory_suggests_hashing(tmp_path, capsys):
    path = written(tmp_path / "wide", "1 1:1\n-1 9000000000000:1\n")
    said = failed(capsys, "train", path)
    assert said.startswith("scwlearn: error: --covariance diagonal with 9000000000001 weights needs ")
    assert said.endswith("features with names can be hashed into fewer weights: --hash-bits N\n")
    assert run(["train", path, "--hash-bits", "10", "-q"]) == 0


def test_every_setting_of_the_command_line_is_an_option(capsys):
    assert run(["train", "--help"]) == 0
    out = capsys.readouterr().out
    for setting in settings_for(Face.COMMAND):
        assert f"-{setting.name.replace('_', '-')} " in out


def test_no_intercept_learns_no_intercept(tmp_path, data):
    model = str(tmp_path / "a.model")
    assert run(["train", data, "-q", "-m", model, "--no-intercept"]) == 0
    assert not scwlearn.load(model).fit_intercept


@pytest.mark.parametrize(("flags", "average"), [([], True), (["--average"], True), (["--no-average"], False)])
def test_the_average_of_the_weights_can_be_turned_off(tmp_path, data, flags, average):
    model = str(tmp_path / "a.model")
    assert run(["train", data, "-q", "-m", model, "-a", "pa1", *flags]) == 0
    assert scwlearn.load(model).average is average


def test_algorithms_that_do_not_average_by_default_can(tmp_path, data, capsys):
    model = str(tmp_path / "a.model")
    assert run(["train", data, "-q", "-m", model, "-a", "arow", "--average"]) == 0
    assert scwlearn.load(model).average is True
    capsys.readouterr()
    assert run(["inspect", model]) == 0
    assert "average yes" in capsys.readouterr().out


def test_the_command_that_tune_prints_keeps_no_average(data, capsys):
    assert run(["tune", data, "-a", "pa1", "--grid", "C=1", "--no-average"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("-a pa1 --C 1 --no-average")


# A value of each option that tune passes on to train, and what the data need to have for it.
_PASSED_ON = {
    "--format": "csv",
    "--label": "-1",
    "--weight": "weight",
    "--delimiter": ",",
    "--on-error": "skip",
    "--ignore": "a",
    "--numeric": "b",
    "--categorical": "c",
    "--text": "text",
    "--date": "day",
    "--ngram": "2",
    "--skips": "1",
    "--char-ngrams": "3-5",
    "--interactions": "b:c",
    "--missing": "none,-",
    "--decimal": ".",
    "--covariance": "diagonal",
    "--initial-variance": "0.5",
    "--variance-floor": "0.125",
    "--multi-class": "joint",
    "--class-weight": "yes=2,no=1",
    "--costs": "yes:no=2",
    "--scale": "rms",
    "--max-features": "50",
    "--hash-bits": "8",
    "--shuffle-buffer": "3",
    "--seed": "2",
}


@pytest.mark.parametrize("interacts", [False, True])
def test_the_command_that_tune_prints_has_every_option_as_it_was_typed(monkeypatch, tmp_path, capsys, interacts):
    row = "1,2,red,big bad,2026-11-17,1,{}\n"
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "-data.csv", "a,b,c,text,day,weight,kind\n" + row.format("yes") + row.format("no"))
    shared = {param.name for param in tune.params} & {param.name for param in train.params}
    shared -= {"data", "algorithm", "model", "as_json", "quiet"}
    for param in train.params:
        if param.name not in shared:
            continue
        flags = [*param.opts, *param.secondary_opts] if param.is_flag else []
        name = max(param.opts, key=len)
        choices = [[flag] for flag in flags] or [[name, _PASSED_ON[name]]]
        for typed in choices:
            if param.name == "zero_based":  # for LIBSVM only
                continue
            columns = "4:3" if "--no-header" in typed else "text:c"
            several = ["--interactions", columns] if interacts else []
            label = [] if "--label" in typed else ["--label", "7" if "--no-header" in typed else "kind"]
            arguments = ["-q", "-a", "arow", "--grid", "r=1", *label, *typed, *several, "--", "-data.csv"]
            assert run(["tune", *arguments]) == 0, typed
            program, command, *printed = shlex.split(capsys.readouterr().out)
            assert (program, command) == ("scwlearn", "train")
            found = train.make_context("train", printed).params
            expected = train.make_context("train", [*label, *typed, *several, "--", "-data.csv"]).params
            expected |= {"algorithm": found["algorithm"], "own_r": 1.0}
            assert found == expected


def test_the_command_that_tune_prints_repeats_several_options_and_ranges(tmp_path, capsys):
    data = written(tmp_path / "mails.csv", "from,subject,label\nann,big cat,yes\nbob,small cat,no\n")
    options = "--interactions from:subject --interactions from:from --char-ngrams 3-5 --text subject"
    assert run(["tune", data, "-q", "-a", "pa1", "--grid", "C=1", *options.split()]) == 0
    command = capsys.readouterr().out
    assert run(shlex.split(command)[1:]) == 0
    for option in ("--interactions from:subject", "--interactions from:from", "--char-ngrams 3-5", "--text subject"):
        assert option in command


@pytest.mark.skipif(not shutil.which("bash"), reason="pastes a line into bash")
@pytest.mark.parametrize("delimiter", ["\x01", "\x1f"])
@pytest.mark.parametrize(
    "name", ["plain.csv", "two words.csv", "it's\x1b[31m.csv", "new\nline.csv", "bad\udcff.csv", "é\x7f.csv"]
)
def test_a_printed_command_can_be_pasted(tmp_path, monkeypatch, capfd, name, delimiter):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("a,label\n1,p\n2,q\n".replace(",", delimiter))
    arguments = ["tune", name, "--delimiter", delimiter, "-q", "-a", "pa1", "--grid", "C=1"]
    assert run(arguments) == 0
    command = capfd.readouterr().out
    assert command.rstrip("\n").isprintable()
    words = (
        subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True)
        .stdout.removesuffix(b"\0")
        .split(b"\0")
    )
    assert [os.fsdecode(word) for word in words] == [
        "scwlearn", "train", name, "-a", "pa1", "--C", "1", "--delimiter", delimiter,
    ]  # fmt: skip


@pytest.mark.parametrize("spelled", ["true=2,false=1", "True=2,False=1", "1=2,0=1"])
def test_labels_that_are_bools_have_weights_and_costs(tmp_path, spelled):
    data, model = written(tmp_path / "d.jsonl", '{"a": 1, "y": true}\n{"a": 2, "y": false}\n' * 9), str(tmp_path / "m")
    costs = spelled.replace("=2,", ":").replace("=1", "=3")
    assert run(["train", data, "--label", "y", "--class-weight", spelled, "--costs", costs, "-m", model, "-q"]) == 0
    classifier = TrainedModel.read(model).classifier
    assert classifier.class_weights.given == {True: 2.0, False: 1.0}
    assert classifier.costs.given == {True: {False: 3.0}}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--class-weight", "1=2,1.0=7", "two values of class weight for '1.0', which is the label 1"),
        ("--costs", "1:2=9,1.0:10=3", "two values of cost for '1.0', which is the label 1"),
        ("--class-weight", "1=2,nan=3", "class weight for 'nan': the labels in the data are numbers"),
        ("--class-weight", "1=2,spam=3", "class weight for 'spam': the labels in the data are numbers"),
    ],
)
def test_labels_of_weights_and_costs_are_distinct_and_of_the_type_of_the_data(tmp_path, capsys, option, value, message):
    data = written(tmp_path / "d.csv", "a,label\n1,1\n2,2\n3,10\n")
    assert message in failed(capsys, "train", data, option, value, "-q")


@pytest.mark.parametrize("typed", ["--missing x", "--ngram 2 --skips 1", "--ignore a", "--decimal , --date a"])
def test_options_of_features_that_a_model_determines_are_named(tmp_path, capsys, typed):
    data, model = written(tmp_path / "d.csv", "a,label\n1,p\n2,q\n"), str(tmp_path / "m")
    assert run(["train", data, "-m", model, "-q"]) == 0
    names = [word for word in typed.split() if word.startswith("--")]
    found = re.search(r"\(remove (.*)\)", failed(capsys, "predict", model, data, *typed.split()))
    assert sorted(found[1].split(", ")) == sorted(names)
