"""Files that a command writes: whether that can work is found out before the work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from scwlearn.cli.app import CommandError

_STDOUT = "-"


class OutputFile(click.Path):
    """The path of a file to write; an error where there is no such directory, or one that may not be written to."""

    def __init__(self, *, or_stdout: bool = False) -> None:
        """`or_stdout` says whether - is standard output."""
        super().__init__(path_type=Path, dir_okay=False)
        self._or_stdout = or_stdout

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, once it is known that a file can be put there."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        # A link is followed: what it points to is replaced.
        directory = os.path.dirname(os.path.realpath(path))
        if str(path) == _STDOUT:
            if self._or_stdout:
                return path
            self.fail(f"it is written to a file, not to standard output; a file of that name is .{os.sep}-", param, ctx)
        if not os.path.isdir(directory):
            raise CommandError(f"{path} cannot be written: there is no directory {directory}")
        if not os.access(directory, os.W_OK | os.X_OK):
            raise CommandError(f"{path} cannot be written: nothing may be written to {directory}")
        if not self._or_stdout and path.exists() and not path.is_file():
            raise CommandError(f"{path} cannot be written: it is not a regular file, which is all that can be replaced")
        return path


def check_apart(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path] = ()) -> None:
    """A usage error where a file is written twice, or one that is read is written over."""
    written: dict[str, str] = {}
    read = {os.path.realpath(path): path for path in inputs}
    for flag, path in outputs.items():
        if path is None or str(path) == _STDOUT:
            continue
        place = os.path.realpath(path)
        if place in read:
            raise click.UsageError(f"{flag} {path} would be written over what is read; choose another name")
        if place in written:
            raise click.UsageError(f"{written[place]} and {flag} are both {path}; choose another name for one of them")
        written[place] = flag
