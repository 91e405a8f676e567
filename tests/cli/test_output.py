"""Output files: checked before the work begins."""

import os

import pytest

from scwlearn.cli.app import run
from use_examples import failed, libsvm_model


def commands_that_write(directory):
    """Return, for each command, its arguments before the path that it writes to."""
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


def test_a_missing_directory_is_reported_before_the_work(tmp_path, capsys):
    path = tmp_path / "none" / "it.csv"
    for command in commands_that_write(tmp_path):
        said = failed(capsys, *command, path)
        assert said == f"scwlearn: error: cannot write {path}: no directory {path.parent}\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory_is_reported_before_the_work(tmp_path, capsys):
    commands = commands_that_write(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for command in commands:
        assert f": no permission to write to {closed}" in failed(capsys, *command, closed / "it.csv")


def test_inputs_are_not_overwritten(tmp_path, capsys):
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


def test_models_and_reports_cannot_go_to_standard_output(tmp_path, capsys):
    model, data = libsvm_model(tmp_path), str(tmp_path / "it.svm")
    for command in (["train", data, "-m"], ["train", data, "--report"], ["report", model, "-o"]):
        said = failed(capsys, *command, "-", code=2)
        assert "cannot write this file to standard output; use ./- for a file named -" in said
        if os.path.exists(os.devnull):
            said = failed(capsys, *command, os.devnull)
            assert said == f"scwlearn: error: cannot write {os.devnull}: not a regular file\n"
    assert run(["datasets", "export", "breast-cancer", "-", "--format", "libsvm"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 569
