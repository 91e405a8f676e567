"""Input data of a command: empty files, the terminal, invalid files."""

import io
import json
import sys

import pytest

from run_examples import libsvm_text
from scwlearn.cli.app import run
from use_examples import failed, written


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
