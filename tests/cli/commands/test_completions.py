"""scwlearn completions: completion in the shells, without NumPy."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scwlearn.cli import app
from scwlearn.cli.app import run
from scwlearn.datasets import all_sets

LARGE = {"numpy", "scipy", "sklearn", "rich", "matplotlib"}
CODE = """
import sys
from scwlearn.cli.app import run
try:
    run([])
finally:
    print(*sys.modules, file=sys.stderr)
"""


def asked(*words, shell="bash"):
    """Return the completions of a command line, whose last word is incomplete."""
    line = {"COMP_WORDS": " ".join(["scwlearn", *words]), "COMP_CWORD": str(len(words))}
    if shell == "fish":
        line["COMP_CWORD"] = words[-1]
    environment = os.environ | line | {"_SCWLEARN_COMPLETE": f"{shell}_complete"}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines(), LARGE & set(done.stderr.split())


def test_commands_complete_without_importing_any(capsys):
    found, imported = asked("")
    assert found == [f"plain,{name}" for name in app.commands()]
    assert imported == set()


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["t"], ["plain,train", "plain,tune"]),
        (["train", "--cov"], ["plain,--covariance"]),
        (["train", "--covariance", "di"], ["plain,diagonal", "plain,diagonal-drop"]),
        (["tune", "x", "-a", "scw"], ["plain,scw1", "plain,scw2"]),
        (["tune", "-a", "pa1,scw1,ar"], ["plain,pa1,scw1,arow"]),
        (["compare", "-a", "al"], ["plain,all"]),
        (["train", "-a", "sc"], ["plain,scw1", "plain,scw2"]),
        (["train", "da"], ["file,da"]),
        (["tune", "--plot", "a"], ["file,a"]),
        (["completions", ""], ["plain,bash", "plain,zsh", "plain,fish"]),
        (["datasets", "f"], ["plain,fetch"]),
        (["datasets", "fetch", "--ca"], ["plain,--cache"]),
    ],
)
def test_options_and_values_complete_without_numpy(words, answers):
    assert asked(*words) == (answers, set())


def test_data_sets_complete():
    found, _ = asked("datasets", "show", "mnist")
    assert found == [f"plain,{named.name}" for named in all_sets() if named.name.startswith("mnist")]
    assert found


def test_zsh_and_fish_show_the_help_of_a_command():
    assert asked("tu", shell="zsh")[0] == ["plain", "tune", app.commands()["tune"]]
    assert asked("tu", shell="fish")[0] == [f"plain,tune\t{app.commands()['tune']}"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_says_how_to_install_it(capsys, shell):
    assert run(["completions", shell]) == 0
    printed = capsys.readouterr().out
    first, *rest = printed.splitlines()
    assert first == f"# Completions of scwlearn for {shell}. To install them:"
    assert rest[0].startswith(f"#   scwlearn completions {shell} > ~/")
    assert f"_SCWLEARN_COMPLETE={shell}_complete" in printed


def test_the_default_is_the_shell_of_the_user(capsys, monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert run(["completions"]) == 0
    assert "for fish" in capsys.readouterr().out
    monkeypatch.setenv("SHELL", "/bin/dash")
    assert run(["completions"]) == 2
    assert "completions are available for bash, zsh, fish" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script(capsys, tmp_path):
    assert run(["completions", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    command = tmp_path / "scwlearn"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m scwlearn.cli "$@"\n')
    command.chmod(0o755)
    asks = (
        f". {tmp_path / 'script'}\n"
        "COMP_WORDS=(scwlearn train --sav) COMP_CWORD=2\n"
        "_scwlearn_completion scwlearn\n"
        'echo "${COMPREPLY[@]}"\n'
        "complete -p scwlearn\n"
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    source = str(Path(app.__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(["bash", "-c", asks], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "--save-every"
    assert "_scwlearn_completion" in done.stdout.splitlines()[1]
