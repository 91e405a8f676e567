"""Output files: checked before the work begins."""

import os
import subprocess
import sys
from threading import Thread
from zipfile import ZipFile

import pytest

from run_examples import libsvm_text
from scwlearn.cli.app import run
from use_examples import failed, libsvm_model, written

# Paths of standard output, where the system has them.
STDOUT = [path for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") if os.path.exists(path)]
COMMAND = [sys.executable, "-m", "scwlearn.cli"]


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


def format_of(command):
    """Return what else a command needs to write to a path without a suffix."""
    return ["--format", "csv"] if command[0] == "datasets" else []


def test_a_missing_directory_is_reported_before_the_work(tmp_path, capsys):
    path = tmp_path / "none" / "it.csv"
    for command in commands_that_write(tmp_path):
        said = failed(capsys, *command, path)
        assert said == f"scwlearn: error: cannot write {path}: no directory {path.parent}\n"


@pytest.mark.parametrize("end", ["/", "/."])
def test_a_file_is_not_overwritten_by_a_path_that_names_a_directory(end, tmp_path, capsys):
    commands = commands_that_write(tmp_path)
    path = tmp_path / "notes.csv"
    path.write_text("mine")
    for command in commands:
        said = failed(capsys, *command, f"{path}{end}")
        assert said == f"scwlearn: error: cannot write {path}{end}: not a file name\n"
    assert path.read_text() == "mine"


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
    picture = tmp_path / "link.svg"
    picture.symlink_to(data)
    weights = str(tmp_path / "weights.json")
    assert run(["convert", model, "-o", weights, "-q"]) == 0
    for command, flag, path in [
        (["train", data], "-m", data),
        (["train", data], "-m", str(link)),
        (["train", data], "--report", data),
        (["tune", data, "--grid", "C=1"], "-m", data),
        (["predict", model, data], "-o", data),
        (["predict", model, data], "-o", model),
        (["report", model], "-o", model),
        (["compare", data], "--plot", str(picture)),
        (["convert", data], "-o", data),
        (["convert", data, "-o", tmp_path / "it.libsvm"], "--names", data),
        (["convert", model, "--to", "json"], "-o", model),
        (["convert", weights], "-m", weights),
    ]:
        said = failed(capsys, *command, flag, path, code=2)
        assert f"{flag} {path} would overwrite an input file; choose another name\n" in said
    said = failed(capsys, "train", data, "-m", tmp_path / "a", "--report", tmp_path / "a", code=2)
    assert f"-m and --report are the same file, {tmp_path / 'a'}; choose another name\n" in said
    said = failed(capsys, "convert", data, "-o", tmp_path / "a.svm", "--names", tmp_path / "a.svm", code=2)
    assert f"-o and --names are the same file, {tmp_path / 'a.svm'}; choose another name\n" in said
    said = failed(capsys, "train", data, "--resume", model, "--report", model, code=2)
    assert f"--report {model} would overwrite an input file; choose another name\n" in said
    assert run(["train", data, "--resume", model, "-m", model, "-q"]) == 0


def test_an_output_is_no_input_that_is_read_by_url(tmp_path, capsys):
    data = written(tmp_path / "in.svm", libsvm_text(10))
    packed = tmp_path / "in.zip"
    with ZipFile(packed, "w") as archive:
        archive.write(data, "in.svm")
    for url, path in [
        (f"file://{data}", data),
        (f"local://{tmp_path}/*.svm", data),
        (f"zip://in.svm::file://{packed}", packed),
        (f"zip://*.svm::{packed}", packed),
        (f"simplecache::zip://in.svm::file://{packed}", packed),
    ]:
        said = failed(capsys, "convert", url, "--to", "vw", "-o", path, code=2)
        assert f"-o {path} would overwrite an input file; choose another name\n" in said


def test_an_output_is_no_file_on_standard_input(tmp_path):
    model, data = libsvm_model(tmp_path), str(tmp_path / "it.svm")
    before = (tmp_path / "it.svm").read_bytes()
    for command, flag in ((["predict", model, "-"], "-o"), (["train", "-"], "-m")):
        with open(data, "rb") as opened:
            done = subprocess.run([*COMMAND, *command, flag, data], stdin=opened, capture_output=True, text=True)
        assert done.returncode == 2
        assert f"{flag} {data} would overwrite an input file; choose another name\n" in done.stderr
    assert (tmp_path / "it.svm").read_bytes() == before


def test_an_output_is_not_the_file_of_standard_output(tmp_path):
    model, data, path = libsvm_model(tmp_path), str(tmp_path / "it.svm"), tmp_path / "out"
    vw = written(tmp_path / "it.vw", "1 | a\n-1 | b\n")
    calls = [
        ["convert", vw, "-o", "-", "--to", "libsvm", "--names", path],
        ["train", data, "--json", "-m", path],
        ["train", data, "--json", "--report", path],
        ["tune", data, "-a", "arow", "-m", path],
        ["predict", model, data, "-o", path],
    ]
    for call in calls:
        with open(path, "wb") as opened:
            done = subprocess.run([*COMMAND, *map(str, call)], stdout=opened, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2
        assert f"{path} would replace the file of standard output; choose another name\n" in done.stderr
        assert path.read_bytes() == b""


def test_the_name_of_a_data_set_is_not_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["train", "breast-cancer", "-m", "breast-cancer", "-q"]) == 0


def test_models_and_reports_cannot_go_to_standard_output(tmp_path, capsys):
    model, data = libsvm_model(tmp_path), str(tmp_path / "it.svm")
    for command in (["train", data, "-m"], ["train", data, "--report"], ["report", model, "-o"]):
        for path in ["-", *STDOUT]:
            said = failed(capsys, *command, path, code=2)
            assert "cannot write this file to standard output; use ./- for a file named -" in said
    assert run(["datasets", "export", "breast-cancer", "-", "--format", "libsvm"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 569


@pytest.mark.skipif(not os.path.exists(os.devnull), reason="needs devices")
def test_devices_are_written_and_stay(tmp_path, capsys):
    for command in commands_that_write(tmp_path):
        assert run([*command, os.devnull, *format_of(command)]) == 0
        assert not os.path.isfile(os.devnull)
    assert run(["train", str(tmp_path / "it.svm"), "-q", "-m", os.devnull, "--report", os.devnull]) == 0
    if os.path.exists("/dev/full"):
        for command in commands_that_write(tmp_path):
            assert run([*command, "/dev/full", *format_of(command)]) == 1
            message = capsys.readouterr().err.splitlines()[-1]
            assert message.startswith("scwlearn: error: ")
            assert message.endswith("No space left on device")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_get_what_files_get(tmp_path):
    pipe, file = str(tmp_path / "pipe"), str(tmp_path / "file")
    os.mkfifo(pipe)
    for command in commands_that_write(tmp_path):
        if command[0] in ("train", "tune", "merge", "report"):  # with the time, or the name of the file
            continue
        got = []
        reader = Thread(target=lambda got=got: got.append((tmp_path / "pipe").read_bytes()))
        reader.start()
        assert run([*command, pipe, *format_of(command)]) == 0
        reader.join()
        assert run([*command, file, *format_of(command)]) == 0
        assert got == [(tmp_path / "file").read_bytes()]


@pytest.mark.parametrize("path", STDOUT)
def test_a_log_that_standard_output_is_appended_to_is_kept(tmp_path, path):
    log = tmp_path / "log"
    for command in commands_that_write(tmp_path):
        log.write_bytes(b"precious\n")
        with log.open("ab") as file:
            done = subprocess.run(
                [*COMMAND, *command, path, *format_of(command)], stdout=file, stderr=subprocess.PIPE, check=False
            )
        text = log.read_bytes()
        assert text.startswith(b"precious\n")
        assert (done.returncode, len(text) > 9) in ((0, True), (2, False)), done.stderr
        same = subprocess.run([*COMMAND, *command, "-", *format_of(command)], capture_output=True, check=False)
        assert (same.returncode, same.stdout) == (done.returncode, text[9:])


def commands_that_print(directory):
    """Return commands that print results."""
    model, data = libsvm_model(directory), str(directory / "it.svm")
    return [
        ["predict", model, data],
        ["predict", model, data, "-o", "-", "--json"],
        ["evaluate", model, data],
        ["evaluate", model, data, "--json"],
        ["inspect", model],
        ["inspect", model, "--json"],
        ["train", data, "--json"],
        ["tune", data, "--grid", "C=1"],
        ["compare", data, "-a", "pa1,arow", "--permutations", "2"],
        ["convert", data, "--to", "csv", "-o", "-"],
        ["convert", data, "--to", "parquet", "-o", "-"],
        ["convert", model, "--to", "json", "-o", "-"],
        ["datasets"],
        ["datasets", "show", "breast-cancer"],
        ["datasets", "export", "breast-cancer", "-", "--format", "vw"],
        ["completions", "bash"],
        ["--help"],
        ["train", "--help"],
        ["--version"],
    ]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor")
def test_results_that_cannot_be_printed_are_an_error(tmp_path):
    for command in commands_that_print(tmp_path):
        words = [*COMMAND, *command]
        closed = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *words], stderr=subprocess.PIPE, text=True, check=False
        )
        assert closed.returncode == 1, command
        assert closed.stderr.endswith("scwlearn: error: standard output: closed; nothing can be written\n")
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            assert done.returncode == 1, command
            assert done.stderr.endswith("scwlearn: error: No space left on device\n")


@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor")
def test_a_command_that_prints_nothing_needs_no_standard_output(tmp_path):
    libsvm_model(tmp_path)
    words = [*COMMAND, "train", str(tmp_path / "it.svm"), "-q", "-m", str(tmp_path / "new.model")]
    subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], check=True)
    assert run(["inspect", str(tmp_path / "new.model")]) == 0
