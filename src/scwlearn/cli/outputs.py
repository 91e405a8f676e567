"""Files that a command writes: whether that can work is found out before the work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from scwlearn.cli.app import CommandError

_STDOUT = "-"


class OutputFile(click.Path):
    """The path of a file to write; an error where there is no such directory, or one that may not be written to."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, once it is known that a file can be put there."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        # A link is followed: what it points to is replaced.
        directory = os.path.dirname(os.path.realpath(path))
        if str(path) == _STDOUT:
            return path
        if not os.path.isdir(directory):
            raise CommandError(f"{path} cannot be written: there is no directory {directory}")
        if not os.access(directory, os.W_OK | os.X_OK):
            raise CommandError(f"{path} cannot be written: nothing may be written to {directory}")
        return path
