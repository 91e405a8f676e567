"""Merge models that were trained on different data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from scwlearn.cli.messages import counted
from scwlearn.cli.options import SectionCommand, option, quiet_option, words
from scwlearn.cli.output import OutputFile


@click.command(cls=SectionCommand)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=click.Path(dir_okay=False))
@option(
    "-m",
    "--model",
    type=OutputFile(),
    required=True,
    section="Output",
    help="Where to save the merged model.",
)
@option(
    "--how",
    type=click.Choice(("auto", "bcm", "ev", "kl")),
    default="auto",
    show_default=True,
    section="Merging",
    help="bcm adds up what they have learned, ev takes the mean by how much each has, kl the Gaussian nearest to all.",
)
@option(
    "--weights",
    section="Merging",
    metavar="W,W,...",
    help="How much each model counts, a number for each.  [default: 1]",
)
@quiet_option
def command(models: tuple[str, ...], model: Path, how: str, weights: str | None, quiet: bool) -> None:
    """Make one model of MODELs that learned from different examples by the same algorithm with the same settings.

    Features and classes are united; the merged model can go on learning.
    """
    counted = None if weights is None else _numbers(weights, len(models))
    from scwlearn.cli.provenance import made_now
    from scwlearn.files import write
    from scwlearn.runs.merge import merge_files

    merged = merge_files(models, how, counted, made=made_now() | {"from": [os.path.basename(one) for one in models]})
    write(merged, model)
    if not quiet:
        click.echo(f"merged {_counts(len(models), merged)}; model: {model}", err=True)


def _numbers(text: str, count: int) -> list[float]:
    try:
        numbers = [float(word) for word in words(text)]
    except ValueError:
        raise click.BadParameter(
            f"expected numbers with commas between them, got {text!r}", param_hint="--weights"
        ) from None
    if not all(number > 0 for number in numbers):
        raise click.BadParameter(f"what a model counts is more than 0, got {text!r}", param_hint="--weights")
    if len(numbers) != count:
        raise click.BadParameter(
            f"{counted(count, 'model')}, but {counted(len(numbers), 'weight')}", param_hint="--weights"
        )
    return numbers


def _counts(models: int, merged: Any) -> str:
    return f"{counted(models, 'model')} that saw {counted(merged.learner.counts.seen, 'example')}"
