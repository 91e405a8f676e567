"""The frame of the command line: commands, exit codes, error messages and imports."""

import errno
import importlib
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import click
import pytest

from scwlearn import cli
from scwlearn.cli import app
from scwlearn.cli.app import run
from use_examples import libsvm_model

LARGE = {"numpy", "scipy", "sklearn", "matplotlib", "pandas"}


def started(*arguments, **options):
    """The command in a process of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run([sys.executable, "-m", "scwlearn.cli", *arguments], text=True, check=False, **options)


@pytest.fixture
def raising(monkeypatch):
    """A function that makes `scwlearn fail` raise."""

    def make(error):
        @click.command()
        def command():
            raise error

        monkeypatch.setitem(sys.modules, "scwlearn.cli.commands.fail", SimpleNamespace(command=command))
        monkeypatch.setattr(app, "command_names", lambda: ["fail"])

    return make


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"]])
def test_the_frame_imports_no_large_package(arguments):
    code = f"import sys; from scwlearn.cli.app import run; run({arguments}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not LARGE & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("own", [None, "20"])
def test_openblas_threads_sleep_early_unless_the_user_says_otherwise(own):
    code = f"""
import os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))

if {own!r}:
    os.environ["OPENBLAS_THREAD_TIMEOUT"] = {own!r}
sys.meta_path.insert(0, Finder())
from scwlearn.cli import main
sys.argv = ["scwlearn", "datasets", "list"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == (own or "4")


def test_help_lists_all_commands(capsys):
    assert run(["--help"]) == 0
    printed = capsys.readouterr().out
    for name, text in app.commands().items():
        assert f"  {name} " in printed
        assert text in printed


def test_every_file_is_a_command_that_opens_with_its_help():
    for name, text in app.commands().items():
        module = importlib.import_module(f"scwlearn.cli.commands.{name}")
        assert isinstance(module.command, click.Command)
        assert text == module.__doc__.splitlines()[0]
        assert text[0].isupper()
        assert text.endswith(".")


def test_version_lists_the_dependencies():
    done = started("--version")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["scwlearn", "python", *app.PACKAGES]


def test_an_unknown_command_suggests_similar_names():
    done = started("datset")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no command 'datset'; did you mean datasets?" in done.stderr
    assert f"the commands are {', '.join(app.commands())}" in started("xyz").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["datasets", "--nonsense"],
        ["datasets", "show"],
        ["datasets", "show", "x"],
        ["datasets", "fetch"],
    ],
)
def test_wrong_usage_exits_with_2(arguments, capsys):
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("scwlearn: error: ")
    assert re.fullmatch("Run 'scwlearn( datasets( show| fetch)?)? --help' for usage.", printed.err.splitlines()[1])


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad rows"), "scwlearn: error: bad rows\n"),
        (click.ClickException("not so"), "scwlearn: error: not so\n"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.txt"), "scwlearn: error: a.txt: No such file\n"),
        (OSError("no connection"), "scwlearn: error: no connection\n"),
        (MemoryError(), "scwlearn: error: not enough memory\n"),
        (MemoryError("no 3 GB"), "scwlearn: error: not enough memory: no 3 GB\n"),
    ],
)
def test_an_error_is_one_message_and_exits_with_1(raising, capsys, error, message):
    raising(error)
    assert run(["fail"]) == 1
    assert capsys.readouterr().err == message


def test_an_interrupt_exits_with_130(raising, capsys):
    raising(KeyboardInterrupt())
    assert run(["fail"]) == 130
    assert capsys.readouterr().err.endswith("scwlearn: interrupted\n")


def test_a_bug_shows_its_traceback(raising):
    raising(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        run(["fail"])


def test_a_closed_pipe_is_silent():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "scwlearn.cli", "datasets"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141


@pytest.mark.parametrize(("arguments", "code"), [(["train", "--help"], 0), (["train"], 2), (["train", "none"], 1)])
def test_all_output_is_written_and_exit_functions_run_before_the_process_ends(arguments, code):
    program = f"""
import atexit, sys
from scwlearn.cli import console
atexit.register(print, "the", "end")
sys.argv = ["scwlearn", *{arguments}]
console()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == code
    before = done.stdout.removesuffix("the end\n")
    assert before != done.stdout
    assert (before != "", done.stderr != "") == (code == 0, code > 0)


def test_a_thread_that_still_works_is_awaited():
    program = """
import sys, threading
from scwlearn.cli import console
threading.Thread(target=lambda: (threading.main_thread().join(), print("the end"))).start()
sys.argv = ["scwlearn", "--version"]
console()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("the end\n")


def test_main_returns_to_a_program_that_calls_it():
    program = """
import sys
from scwlearn.cli import main
sys.argv = ["scwlearn", "--version"]
try:
    main()
finally:
    print("the end")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("the end\n")


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_missing_dependencies_are_named(monkeypatch, capsys, missing):
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == ('scwlearn: the command line needs click and rich: pip install "scwlearn[cli]"\n')


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_closed_standard_streams_are_no_bug(tmp_path, monkeypatch, name):
    model = libsvm_model(tmp_path)
    monkeypatch.setattr(app.sys, name, None)
    source = "-" if name == "stdin" else str(tmp_path / "it.svm")
    assert run(["predict", model, source]) == (0 if name == "stderr" else 1)
