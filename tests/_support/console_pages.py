"""Pages with commands: what stands after a $ is run, and what stands below it is what it says, "..." for anything."""

import doctest
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_CHECKER = doctest.OutputChecker()
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Command(NamedTuple):
    """A command of a page, on which line it stands, and what the page says that it says."""

    line: int
    words: str
    expected: str


def commands_of(page):
    """The commands of a page's console blocks. One goes on behind a backslash, or to where a here document ends."""
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
    """Where `scwlearn` is the command that is tested, in the order in which people would have things on their path."""
    programs = directory / "bin"
    programs.mkdir()
    script = programs / "scwlearn"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m scwlearn.cli "$@"\n')
    script.chmod(0o755)
    python = Path(sys.executable).parent
    return os.environ | {"PATH": f"{programs}:{python}:{os.environ['PATH']}", "COLUMNS": "120", "LC_ALL": "C.UTF-8"}


def said_by(command, directory, variables):
    """What a command says, on both of its outputs; an AssertionError where it fails."""
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
    """Whether the page tells the truth."""
    return _CHECKER.check_output(command.expected, said, _LOOSE)
