"""Output files of a command, checked before the work begins."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from scwlearn.cli.app import CommandError

_STDOUT = "-"


class OutputFile(click.Path):
    """Path of a file to write, in a directory that exists and may be written to.

    Parameters
    ----------
    or_stdout : bool
        Whether - stands for standard output.
    """

    def __init__(self, *, or_stdout: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=False)
        self._or_stdout = or_stdout

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail if no file can be written there."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        if str(path) == _STDOUT:
            if self._or_stdout:
                return path
            self.fail(f"cannot write this file to standard output; use .{os.sep}- for a file named -", param, ctx)
        # Writing through a symbolic link replaces its target.
        directory = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(directory):
            raise CommandError(f"cannot write {path}: no directory {directory}")
        if not os.access(directory, os.W_OK | os.X_OK):
            raise CommandError(f"cannot write {path}: no permission to write to {directory}")
        if not self._or_stdout and path.exists() and not path.is_file():
            raise CommandError(f"cannot write {path}: not a regular file")
        return path


class PlotFile(OutputFile):
    """Path of a picture to write, with the suffix .svg or .png."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail if the suffix is wrong or Matplotlib is missing."""
        if Path(value).suffix.lower() not in (".svg", ".png"):
            self.fail(f"expected a file name ending in .svg or .png, got {str(value)!r}", param, ctx)
        if find_spec("matplotlib") is None:
            raise CommandError('--plot needs Matplotlib: pip install "scwlearn[paper]"')
        return super().convert(value, param, ctx)


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path] = ()) -> None:
    """Raise a usage error if an output file, given by its option, is an input or another output."""
    written: dict[str, str] = {}
    read = {os.path.realpath(path) for path in inputs}
    for option, path in outputs.items():
        if path is None or str(path) == _STDOUT:
            continue
        place = os.path.realpath(path)
        if place in read:
            raise click.UsageError(f"{option} {path} would overwrite an input file; choose another name")
        if place in written:
            raise click.UsageError(f"{written[place]} and {option} are the same file, {path}; choose another name")
        written[place] = option


def invocation() -> dict[str, Any]:
    """Return the command line and the time, for a record or a model file."""
    return {
        "command": shlex.join(["scwlearn", *sys.argv[1:]]),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }
