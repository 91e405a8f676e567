"""The commands as a user meets them: told in time, in the words of the command, without a mess on the terminal."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_svmlight_file

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli import app, console, progress_bar
from scwlearn.cli.app import run
from scwlearn.cli.messages import in_flags, plural
from scwlearn.runs.record import read_records
from use_examples import CSV, arrays, csv_model, libsvm_model, saved, trained, written


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "data.libsvm", libsvm_text(100))


def failed(capsys, *arguments, code=1):
    """What is said by a command that fails, which prints nothing else."""
    assert run([*map(str, arguments)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    return err


def commands_that_write(directory):
    """For each command, what it is told before the path that it writes to."""
    model, data = libsvm_model(directory), str(directory / "it.svm")
    return [
        ["train", data, "-m"],
        ["train", data, "--report"],
        ["tune", data, "--grid", "C=1", "-m"],
        ["merge", model, model, "-m"],
        ["predict", model, data, "-o"],
        ["convert", data, "--to", "vw", "-o"],
        ["convert", model, "--to", "json", "-o"],
        ["report", model, "-o"],
        ["datasets", "export", "breast-cancer"],
    ]


def test_a_directory_that_is_not_there_is_told_before_the_work(tmp_path, capsys):
    path = tmp_path / "none" / "it.csv"
    for command in commands_that_write(tmp_path):
        said = failed(capsys, *command, path)
        assert said == f"scwlearn: error: cannot write {path}: no directory {path.parent}\n"


def test_what_is_read_is_not_written_over(tmp_path, capsys):
    model, data = libsvm_model(tmp_path), str(tmp_path / "it.svm")
    link = tmp_path / "link"
    link.symlink_to(data)
    for command, flag, path in [
        (["train", data], "-m", data),
        (["train", data], "-m", str(link)),
        (["train", data], "--report", data),
        (["tune", data, "--grid", "C=1"], "-m", data),
        (["predict", model, data], "-o", data),
        (["predict", model, data], "-o", model),
        (["report", model], "-o", model),
    ]:
        said = failed(capsys, *command, flag, path, code=2)
        assert f"{flag} {path} would overwrite an input file; choose another name\n" in said
    said = failed(capsys, "train", data, "-m", tmp_path / "a", "--report", tmp_path / "a", code=2)
    assert f"-m and --report are the same file, {tmp_path / 'a'}; choose another name\n" in said
    assert run(["train", data, "--resume", model, "-m", model, "-q"]) == 0


def test_standard_output_takes_data_and_no_models(tmp_path, capsys):
    model, data = libsvm_model(tmp_path), str(tmp_path / "it.svm")
    for command in (["train", data, "-m"], ["train", data, "--report"], ["report", model, "-o"]):
        said = failed(capsys, *command, "-", code=2)
        assert "cannot write this file to standard output; use ./- for a file named -" in said
        if os.path.exists(os.devnull):
            said = failed(capsys, *command, os.devnull)
            assert said == f"scwlearn: error: cannot write {os.devnull}: not a regular file\n"
    assert run(["datasets", "export", "breast-cancer", "-", "--format", "libsvm"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 569


def test_a_file_with_nothing_in_it_is_no_reason_to_lose_the_others(tmp_path, capsys, data):
    empty = written(tmp_path / "empty", "")
    assert run(["train", empty, data, empty, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["curve"][-1]["seen"] == 100
    assert failed(capsys, "train", empty) == f"scwlearn: error: {empty} is empty\n"
    assert failed(capsys, "train", empty, empty) == f"scwlearn: error: {empty}, {empty} are all empty\n"


def test_a_model_that_does_not_fit_is_told_what_does(tmp_path, capsys):
    path = written(tmp_path / "wide", "1 1:1\n-1 9000000000000:1\n")
    said = failed(capsys, "train", path)
    assert said.startswith("scwlearn: error: --covariance='diagonal' with 9000000000001 weights needs ")
    assert said.endswith("GiB are available; --hash-bits N takes 2^N\n")
    assert run(["train", path, "--hash-bits", "10", "-q"]) == 0


def test_a_table_with_too_many_columns_is_refused_at_once(tmp_path, capsys):
    path = written(tmp_path / "wide", "1 1:1\n-1 9223372036854775807:1\n")
    said = failed(capsys, "convert", path, "-o", tmp_path / "wide.csv")
    assert "the table would have 9223372036854775807 columns, at most 10000 are written" in said


def test_what_is_no_record_is_said_to_be_none(tmp_path, capsys):
    path = written(tmp_path / "run.json", "{}")
    said = failed(capsys, "report", path, "-o", tmp_path / "page.html")
    assert said == f"scwlearn: error: {path}: not a record of a run: curve is missing\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="who may do everything is refused nothing")
def test_a_directory_that_may_not_be_written_to_is_told_before_the_work(tmp_path, capsys):
    commands = commands_that_write(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for command in commands:
        assert f": no permission to write to {closed}" in failed(capsys, *command, closed / "it.csv")


def test_a_model_is_known_whatever_the_length_of_its_header(tmp_path, monkeypatch):
    # The file begins with that length, whose first byte may be that of a space; the header holds the command.
    for longer in range(0, 512, 8):
        monkeypatch.setattr(sys, "argv", ["scwlearn", "train", "x" * longer])
        path = libsvm_model(tmp_path)
        with open(path, "rb") as file:
            if file.read(1) == b" ":
                break
    else:
        pytest.fail("no model began with a space")
    assert len(read_records(path)) == 1


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('shared_covariance=True needs multi_class="joint"', "--shared-covariance needs --multi-class joint"),
        ("x has 8 features; an example may have max_features = 5 at most", "may have --max-features 5 at most"),
        ("variance_floor must be 0", "--variance-floor must be 0"),
        ("found 'variance_floor must be (label=)'", "found 'variance_floor must be (label=)'"),
    ],
)
def test_messages_name_flags(message, said):
    assert said in in_flags(message)


def test_errors_about_data_name_flags(tmp_path, capsys, data):
    zero = written(tmp_path / "zero.libsvm", "1 0:3\n-1 1:1\n")
    assert "indices start at 1; found '0:3' (use --zero-based" in failed(capsys, "train", zero)
    assert run(["train", zero, "--on-error", "skip"]) == 0
    assert "use --zero-based for a file that counts from 0" in capsys.readouterr().err
    assert "this is libsvm data (drop --label; this format takes --zero-based)" in failed(
        capsys, "train", data, "--label", "y"
    )
    model = libsvm_model(tmp_path)
    said = failed(capsys, "predict", model, data, "--zero-based")
    assert "the model says how data are read (drop --zero-based)" in said
    table = written(tmp_path / "it.csv", CSV)
    said = failed(capsys, "train", table, "--label", "kind", "--numeric", "color")
    assert said.endswith("found 'red' (use --categorical for a column of strings)\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--initial-variance", "nan"], "--initial-variance must be a number strictly between"),
        (["--variance-floor", "2"], "--variance-floor must be a number in [0, 1), got 2.0"),
        (["--holdout", "nan"], "nan is not in the range 0.0<=x<1.0"),
        (["--seed", "-1"], "-1 is not in the range x>=0"),
        (["--class-weight", "1=-1"], "a weight must be a finite number >= 0; 1 has -1"),
        (["--class-weight", "1=nan"], "a weight must be a finite number >= 0; 1 has nan"),
        (["--class-weight", "=2"], "expected balanced or LABEL=WEIGHT,..., got '=2'"),
        (["--class-weight", "1=2,1=3"], "1 has two weights, 2 and 3"),
        (["--numeric", "a,b", "--text", "b"], "column 'b' is both --numeric and --text"),
    ],
)
def test_settings_that_cannot_be_are_wrong_usage(capsys, data, options, said):
    assert said in failed(capsys, "train", data, *options, code=2)


def test_data_that_cannot_be_read_have_no_table(tmp_path, capsys):
    assert failed(capsys, "train", written(tmp_path / "it", "")).startswith("scwlearn: error: ")


def test_one_is_one_and_a_single_class_is_remarked_on(tmp_path, capsys):
    assert [plural(n, "example") for n in (0, 1, 2000)] == ["0 examples", "1 example", "2,000 examples"]
    path = written(tmp_path / "one.libsvm", "3 1:1\n")
    assert run(["train", path]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[-2].startswith("1 example in ")
    assert said[-2].endswith(", 1 mistake (100.00%), 1 feature, 1 class")
    assert said[-1] == "warning: all examples have the label 3; a classifier needs at least two classes"
    assert run(["compare", path, "-a", "pa", "-k", "1"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[0] == "1 example, 1 algorithm, 1 order"
    # One order has no deviation: error, rank, updates, seconds, name.
    assert len(out.splitlines()[1].removeprefix("*").split()) == 5


def test_labels_beyond_int64_are_refused_with_one_line(tmp_path):
    path = written(tmp_path / "it.csv", "y,a\n1e29,1\n2e29,2\n")
    command = [sys.executable, "-W", "always", "-m", "scwlearn.cli", "train", path, "--label", "y", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert (
        "it.csv, line 2: label 9.9999999999999991e+28; numeric labels must be at most 2^53 in magnitude" in done.stderr
    )


def test_labels_with_breaks_do_not_break_tables(tmp_path, capsys):
    model = trained(tmp_path, 'y,a\nb,1\n"c\td\ne",2\n', "--label", "y", ending=".csv")
    for command in (["inspect", model], ["evaluate", model, str(tmp_path / "it.csv")]):
        assert run(command) == 0
        out = capsys.readouterr().out
        assert "c\\td\\ne" in out
        assert "\t" not in out


def test_labels_of_another_kind_than_the_models_are_told(tmp_path, capsys):
    model = csv_model(tmp_path)
    numbers = written(tmp_path / "it.vw", "1 | a\n")
    said = failed(capsys, "train", numbers, "--resume", model)
    assert "it.vw, line 1: label 1 is of another type than the labels of the model: 'no', 'yes'\n" in said


def test_models_that_cannot_be_merged_are_told_what_differs(tmp_path, capsys):
    numbered, named = libsvm_model(tmp_path), str(tmp_path / "named.model")
    assert run(["train", written(tmp_path / "n.csv", CSV), "--label", "kind", "-q", "-m", named]) == 0
    out = tmp_path / "out"
    said = failed(capsys, "merge", numbered, named, "-m", out)
    assert said.endswith("read their data in different ways: numbered features and named features\n")
    other = str(tmp_path / "other.model")
    assert run(["train", str(tmp_path / "n.csv"), "--label", "color", "-q", "-m", other]) == 0
    said = failed(capsys, "merge", named, other, "-m", out)
    assert said.endswith("read their data in different ways: label kind and color\n")
    assert "weights must be positive" in failed(capsys, "merge", named, named, "--weights", "1,nan", "-m", out, code=2)


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_streams_that_are_closed_are_no_bug(tmp_path, monkeypatch, data, name):
    monkeypatch.setattr(app.sys, name, None)
    source = "-" if name == "stdin" else data
    assert run(["predict", libsvm_model(tmp_path), source]) == (1 if name == "stdin" else 0)


def test_who_reads_from_a_terminal_is_told(monkeypatch, capsys):
    class Keyboard(io.TextIOWrapper):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Keyboard(io.BytesIO(b"1 1:1\n-1 2:1\n")))
    assert run(["train", "-"]) == 0
    assert capsys.readouterr().err.startswith("reading from the terminal; press Ctrl-D to end\n")
    monkeypatch.setattr(sys, "stdin", Keyboard(io.BytesIO(b"1 1:1\n-1 2:1\n")))
    assert run(["train", "-", "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("width", [30, 40, 100])
def test_a_bar_takes_one_line_and_goes_when_it_is_full(monkeypatch, width):
    shown = io.StringIO()
    monkeypatch.setattr(
        progress_bar, "Console", lambda **_: Console(file=shown, force_terminal=True, width=width, color_system=None)
    )
    with progress_bar.bar("learning", console.Pace(2.0)) as report:
        report.advance(1.0)
        report.note("a line")
        report.advance(1.0)
    text = shown.getvalue()
    assert "100%" in text
    # Up by one line and clear it: that of a bar of one line, once, at the end.
    assert text.count("\x1b[1A") == 1
    assert text.rstrip().endswith("\x1b[2K")


def test_no_help_is_cut(capsys):
    assert run(["datasets", "--help"]) == 0
    assert "..." not in capsys.readouterr().out.split("Commands:")[1]


def test_a_model_with_a_kernel_does_not_go_on(tmp_path, capsys, data):
    x, y = arrays()
    model = saved(scwlearn.KernelPA().fit(x, y == "east"), tmp_path / "kernel.model")
    assert "holds a kernel model; the command line trains linear models only" in failed(
        capsys, "train", data, "--resume", model
    )


@pytest.mark.parametrize("classes", [(-1, 1), (1, 2, 3)])
def test_the_log_loss_is_that_of_the_probabilities_before_learning(tmp_path, capsys, classes):
    data = written(tmp_path / "it.libsvm", libsvm_text(200, classes=classes))
    assert run(["train", data, "--probabilities", "--json", "-q"]) == 0
    end = json.loads(capsys.readouterr().out)["curve"][-1]
    x, y = load_svmlight_file(data)
    model = scwlearn.SCW1().partial_fit(x[:1], y[:1])
    losses, mistakes = [], 1
    for i in range(1, len(y)):
        known = [*model.classes_]
        mistakes += model.predict(x[i])[0] != y[i]
        # What has never been met has no probability, and of one class there is nothing to say.
        if y[i] in known and len(known) > 1:
            losses.append(-np.log(model.predict_proba(x[i])[0][known.index(y[i])]))
        model.partial_fit(x[i], y[i : i + 1])
    assert end["mistakes"] == mistakes
    # The curve from scores to probabilities is that of the step before, here it is that of the example before.
    assert end["log_loss"] == pytest.approx(np.mean(losses), rel=0.01)
