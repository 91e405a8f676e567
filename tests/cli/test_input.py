"""Input data of a command: empty files, the terminal, data sets by name, URLs and progress."""

import gzip
import io
import json
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

from file_server import serving
from places import DATA
from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.cli.console import Silent, Terminal
from scwlearn.datasets import find_set, is_present
from scwlearn.runs.trained_model import TrainedModel
from use_examples import failed, libsvm_model, written


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "data.libsvm", libsvm_text(100))


def test_empty_files_among_others_are_ignored(tmp_path, capsys, data):
    empty = written(tmp_path / "empty", "")
    assert run(["train", empty, data, empty, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["curve"][-1]["seen"] == 100
    assert failed(capsys, "train", empty) == f"scwlearn: error: {empty}: empty file\n"
    assert failed(capsys, "train", empty, empty) == f"scwlearn: error: all sources are empty: {empty}, {empty}\n"


def test_reading_from_a_terminal_is_announced(monkeypatch, capsys):
    class Keyboard(io.TextIOWrapper):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Keyboard(io.BytesIO(b"1 1:1\n-1 2:1\n")))
    assert run(["train", "-"]) == 0
    assert capsys.readouterr().err.startswith("reading from the terminal; press Ctrl-D to end\n")
    monkeypatch.setattr(sys, "stdin", Keyboard(io.BytesIO(b"1 1:1\n-1 2:1\n")))
    assert run(["train", "-", "-q"]) == 0
    assert capsys.readouterr().err == ""


# Data sets by name


def test_a_data_set_is_read_by_name_as_from_its_exported_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["datasets", "export", "breast-cancer", "cancer.libsvm"]) == 0
    for name in ("breast-cancer", "cancer.libsvm"):
        assert run(["train", name, "-q", "-m", f"{name}.model", "--epochs", "2"]) == 0
    one, other = (TrainedModel.read(f"{name}.model") for name in ("breast-cancer", "cancer.libsvm"))
    assert one.record.sources == ["breast-cancer"]
    assert one.schema == other.schema
    assert one.classifier.weights().tobytes() == other.classifier.weights().tobytes()
    assert one.classifier.classes.values_in_order == other.classifier.classes.values_in_order
    for command in (
        ["evaluate", "breast-cancer.model"],
        ["predict", "breast-cancer.model"],
        ["compare", "-a", "scw1,pa1", "-k", "2", "--json", "-q"],
        ["tune", "-q"],
        ["convert", "-o", "-", "--to", "csv", "-q"],
    ):
        said = []
        for name in ("breast-cancer", "cancer.libsvm"):
            capsys.readouterr()
            assert run([*command, name]) == 0
            said.append(
                re.sub(r'"seconds": \[.*?\]', "", capsys.readouterr().out.replace("cancer.libsvm", "breast-cancer"))
            )
        assert said[0] == said[1] != ""


@pytest.mark.data
def test_a_data_set_that_was_fetched_is_read_by_name(monkeypatch, capsys):
    named = find_set("splice")
    if not is_present(named, DATA):
        pytest.skip("splice is not in the data directory")
    monkeypatch.setenv("SCWLEARN_DATA", str(DATA))
    assert run(["train", "splice", "--json", "-q"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["curve"][-1]["seen"], record["n_features"]) == (named.rows, named.features)


def test_a_file_wins_over_a_data_set_of_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "digits", libsvm_text(100))
    assert run(["train", "digits", "breast-cancer", "digits", "--json", "-q"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["curve"][-1]["seen"] == 569 + 2 * 100
    assert record["n_features"] == 30


def test_a_data_set_that_must_be_fetched_first_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SCWLEARN_DATA", str(tmp_path))
    assert failed(capsys, "train", "splice") == (
        "scwlearn: error: splice: no such file, and the data set of this name has not been fetched; "
        "run 'scwlearn datasets fetch splice'\n"
    )
    assert failed(capsys, "train", "splices") == "scwlearn: error: splices: No such file or directory\n"


def test_options_that_do_not_apply_to_a_data_set_are_rejected(capsys, tmp_path):
    assert failed(capsys, "train", "breast-cancer", "--format", "csv") == (
        "scwlearn: error: breast-cancer: a data set, which is libsvm data, not csv\n"
    )
    assert failed(capsys, "train", "breast-cancer", "--label", "x") == (
        "scwlearn: error: breast-cancer: an option that does not apply to libsvm data "
        "(remove --label; this format takes --zero-based)\n"
    )
    table = written(tmp_path / "table.csv", "a,label\n1,2\n")
    assert failed(capsys, "train", "breast-cancer", table, "-q") == (
        f"scwlearn: error: {table} is csv data, but breast-cancer is libsvm data; "
        "all sources must have the same format\n"
    )


# URLs


@pytest.fixture
def server():
    with serving() as files:
        files.content["data.svm.gz"] = gzip.compress(libsvm_text(300).encode())
        yield files


@pytest.fixture
def url(server):
    """A URL with credentials."""
    return server.address.replace("http://", "http://me:secret@") + "/data.svm.gz?key=secret"


def test_a_model_is_trained_from_a_url_as_from_a_file(tmp_path, monkeypatch, server, url):
    model = tmp_path / "remote.model"
    arguments = ["train", url, "-m", str(model), "-q", "--epochs", "2"]
    monkeypatch.setattr(sys, "argv", ["scwlearn", *arguments])
    assert run(arguments) == 0
    assert server.asked == [("data.svm.gz?key=secret", None)] * 2
    local = TrainedModel.read(libsvm_model(tmp_path, "--epochs", "2")).classifier
    remote = TrainedModel.read(model)
    assert remote.classifier.weights().tobytes() == local.weights().tobytes()
    # Credentials are sent, and kept nowhere.
    shown = f"{server.address}/data.svm.gz?key=..."
    assert remote.record.sources == [shown]
    assert remote.record.command == f"scwlearn train '{shown}' -m {model} -q --epochs 2"
    assert b"secret" not in model.read_bytes()


def test_every_command_reads_urls_and_shows_no_credentials(tmp_path, capsys, server, url):
    model = libsvm_model(tmp_path)
    capsys.readouterr()
    for arguments in (
        ["predict", model, url],
        ["evaluate", model, url, "--json"],
        ["tune", url, "--grid", "C=1"],
        ["tune", url, "--grid", "C=1", "--json"],
        ["compare", url, "-a", "scw1,pa1", "-k", "2"],
        ["compare", url, "-a", "scw1,pa1", "-k", "2", "--json"],
        ["convert", url, "-o", "-", "--to", "csv"],
    ):
        assert run(arguments) == 0
        out, err = capsys.readouterr()
        assert out
        assert "secret" not in out + err
    assert run(["tune", url, "--grid", "C=1", "-q"]) == 0
    assert capsys.readouterr().out.startswith(f"scwlearn train '{server.address}/data.svm.gz?key=...' -a scw1 ")


def test_errors_name_the_url_without_credentials(capsys, server, url):
    shown = f"{server.address}/data.svm.gz?key=..."
    server.content["data.svm.gz"] = b"1 1:1\n1 0:2\n"
    assert failed(capsys, "train", url, "-q") == (
        f"scwlearn: error: {shown}, line 2, column 3: indices start at 1; found '0:2' "
        "(use --zero-based for a file that counts from 0)\n"
    )
    del server.content["data.svm.gz"]
    assert failed(capsys, "train", url) == f"scwlearn: error: {shown}: the server answered 404 Not Found\n"
    assert failed(capsys, "train", "https://me:secret@[x/y", "-q").startswith("scwlearn: error: https://[x/y: ")


def test_a_broken_connection_stops_training_with_the_number_of_examples(capsys, server, tmp_path):
    server.content["data"] = libsvm_text(2000).encode() * 50
    server.cuts = [3_000_000]
    model = tmp_path / "a.model"
    *_, stopped, error = failed(capsys, "train", f"{server.address}/data", "-m", model).splitlines()
    assert re.fullmatch(r"stopped after [\d,]+ examples; the model was not saved \(--save-every N .*\)", stopped)
    size = len(server.content["data"])
    message = rf"scwlearn: error: {server.address}/data: the connection broke after \d+ of {size} bytes"
    assert re.fullmatch(message, error)
    assert not model.exists()


def test_a_command_ends_cleanly_after_reading_a_url(server):
    command = [sys.executable, "-X", "dev", "-m", "scwlearn.cli", "train", f"{server.address}/data.svm.gz", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


# Progress


@pytest.fixture
def bars(monkeypatch):
    """The bars that a command shows, as if on a terminal."""
    shown = []

    @contextmanager
    def progress(self, total, what):
        shown.append(Silent(what, total))
        yield shown[-1]

    monkeypatch.setattr(Terminal, "has_bar", True)
    monkeypatch.setattr(Terminal, "progress", progress)
    return shown


def test_progress_counts_the_bytes_of_all_files_and_epochs(tmp_path, bars, data, server, url):
    packed = written(tmp_path / "data.gz", server.content["data.svm.gz"])
    assert run(["train", data, packed, url, "--epochs", "3", "-q"]) == 0
    (bar,) = bars
    assert bar._total == 3 * (len(libsvm_text(100)) + 2 * len(server.content["data.svm.gz"]))
    assert bar._now == bar._total


def test_there_is_no_bar_without_a_size(bars, data, server, url):
    server.lengths = False
    assert run(["train", data, url, "-q"]) == 0
    assert bars == []
