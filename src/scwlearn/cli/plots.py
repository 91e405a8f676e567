"""Pictures that a command is asked for: what is checked before the work, and how they are written."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scwlearn._util.atomic import write_atomically
from scwlearn.cli.app import CommandError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDINGS = (".svg", ".png")


def checked_plot(path: Path | None) -> Path | None:
    """The path of a picture, or an error before anything is done: for an ending that it cannot have, without
    matplotlib, or where there is no such directory."""
    if path is None:
        return None
    if path.suffix.lower() not in _ENDINGS:
        raise click.BadParameter(f"expected a name that ends in .svg or .png, got {str(path)!r}", param_hint="--plot")
    if find_spec("matplotlib") is None:
        raise CommandError('--plot needs matplotlib: pip install "scwlearn[paper]"')
    if not path.absolute().parent.is_dir():
        raise CommandError(f"--plot {path}: there is no directory {path.parent}")
    return path


def write_plot(figure: Figure, path: Path) -> None:
    """Write a picture as its ending says, as a whole."""
    from scwlearn.experiments.style import picture

    content = io.BytesIO()
    picture(figure, content, path.suffix.lower().removeprefix("."))
    write_atomically(path, content.getvalue())
