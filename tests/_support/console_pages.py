"""Documentation pages with commands: lines after $, followed by their output, in which "..." matches anything."""

import doctest
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_CHECKER = doctest.OutputChecker()
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Command(NamedTuple):
    """A command on a page, with its line number and the output that the page shows."""

    line: int
    words: str
    expected: str


def commands_of(page):
    """Return the commands in the console blocks of a page, including continued lines and here documents."""
    found, inside, open_command, ends = [], False, False, None
    for number, text in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if text.strip().startswith("```"):
            inside, open_command, ends = text.strip() == "```console", False, None
        elif inside and (open_command or ends is not None):
            last = found.pop()
            found.append(last._replace(words=f"{last.words}\n{text}"))
            open_command = ends is None and text.endswith("\\")
            ends = None if text == ends else ends
        elif inside and text.startswith("$ "):
            found.append(Command(number, text[2:], ""))
            open_command = text.endswith("\\")
            ends = "END" if "<<'END'" in text else None
        elif inside and found:
            last = found.pop()
            found.append(last._replace(expected=f"{last.expected}{text}\n"))
    return found


def environment(directory):
    """Return environment variables with a `scwlearn` on the path that runs this source tree."""
    programs = directory / "bin"
    programs.mkdir()
    script = programs / "scwlearn"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m scwlearn.cli "$@"\n')
    script.chmod(0o755)
    python = Path(sys.executable).parent
    return os.environ | {"PATH": f"{programs}:{python}:{os.environ['PATH']}", "COLUMNS": "120", "LC_ALL": "C.UTF-8"}


def said_by(command, directory, variables):
    """Run a command and return its output, errors included; raise an AssertionError if it fails."""
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command.words],
        cwd=directory,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"line {command.line}: {command.words}\n{done.stdout}"
    return done.stdout


def is_as_expected(command, said):
    """Return whether the output is what the page shows."""
    return _CHECKER.check_output(command.expected, said, _LOOSE)
