"""What commands print: every character in files and pipes, and none that commands a terminal."""

import json
import os
import subprocess
import sys

import pytest

from scwlearn.cli.app import run

COMMAND = [sys.executable, "-m", "scwlearn.cli"]
LABELS = ["é", "日本"]
# A colour, the title of a window, the same in one byte of Latin-1, and a line break of Unicode.
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b31m\u2028b"
ESCAPED = r"\x1b[31mred\x1b]0;title\x07\x9b31m\u2028b"


def table(path, labels, column="x"):
    """Write a table with two labels, and return its path."""
    lines = [f"{number % 2},{labels[number % 2]}\n" for number in range(20)]
    path.write_text(f"{column},label\n" + "".join(lines), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_results_in_a_pipe_are_utf8_whatever_the_locale(tmp_path, encoding):
    data, model = table(tmp_path / "it.csv", LABELS), str(tmp_path / "it.model")
    assert run(["train", data, "-m", model, "-q"]) == 0
    environment = os.environ | {"PYTHONIOENCODING": encoding}

    def printed(*arguments):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, env=environment, check=True)
        return done.stdout.decode("utf-8")

    assert {*printed("predict", model, data).split()} == {*LABELS}
    first = json.loads(printed("predict", model, data, "--json").splitlines()[0])
    assert [*first["probabilities"]] == LABELS
    assert {each["label"] for each in json.loads(printed("inspect", model, "--json"))["classes"]} == {*LABELS}


@pytest.mark.skipif(sys.platform != "linux", reason="names of files need not be UTF-8 on Linux only")
def test_json_holds_the_exact_name_of_a_file_that_is_not_utf8(tmp_path):
    model = os.fsencode(tmp_path) + b"/it\xff.model"
    data = table(tmp_path / "it.csv", LABELS)
    assert subprocess.run([*COMMAND, "train", data, "-q", "-m", model], check=True).returncode == 0
    shown = subprocess.run([*COMMAND, "inspect", model, "--json"], check=True, capture_output=True).stdout
    assert os.fsencode(json.loads(shown)["file"]) == model


def test_control_characters_in_data_are_escaped(tmp_path, capsys):
    data = table(tmp_path / "it.csv", [HOSTILE, "plain"], column=HOSTILE)
    model = str(tmp_path / "it.model")
    assert run(["train", data, "-m", model]) == 0
    for arguments in (["inspect", model], ["evaluate", model, data], ["predict", model, data, "--column-names"]):
        capsys.readouterr()
        assert run([*arguments, *(["--probabilities"] if arguments[0] == "predict" else [])]) == 0
        out = capsys.readouterr().out
        assert ESCAPED in out
        assert out.replace("\n", "").replace("\t", "").isprintable()
    assert run(["tune", data, "--grid", "C=1"]) == 0
    assert run(["train", data, "--class-weight", f"{HOSTILE}=2,other=3"]) == 0
    assert run(["train", data + HOSTILE]) == 1
    told = "".join(capsys.readouterr())
    assert told.replace("\n", "").replace("\t", "").replace("\N{NO-BREAK SPACE}", "").isprintable()
    assert told.count(ESCAPED) >= 2
