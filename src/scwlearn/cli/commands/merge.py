"""Merge models that were trained on different data.

The MODELs must use the same algorithm and settings. The merged model knows the features and classes of all of them, and
can be trained further.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.options import SectionCommand, option, quiet_option, section, words
from scwlearn.cli.output import OutputFile, invocation
from scwlearn.display.formatting import plural


@click.command(cls=SectionCommand, help=__doc__)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=click.Path(dir_okay=False))
@section(
    "Merging",
    option(
        "--how",
        type=click.Choice(("auto", "bcm", "ev", "kl")),
        default="auto",
        show_default=True,
        help="bcm adds up evidence, ev averages weights by their evidence, kl finds the Gaussian nearest to all.",
    ),
    option("--weights", metavar="W,W,...", help="Weight of each model, separated by commas.  [default: 1]"),
)
@section(
    "Output",
    option("-m", "--model", type=OutputFile(), required=True, help="File to save the merged model to."),
    quiet_option,
)
def command(models: tuple[str, ...], model: Path, how: str, weights: str | None, quiet: bool) -> None:
    """Merge models; see the help above."""
    numbers = None if weights is None else _numbers(weights, len(models))
    # NumPy is imported from here on: --help does without it.
    from scwlearn.files import write
    from scwlearn.runs.merge import merge_files

    merged = merge_files(models, how, numbers, made=invocation() | {"from": [os.path.basename(one) for one in models]})
    write(merged, model)
    seen = plural(merged.learner.counts.seen, "example")
    Terminal(quiet=quiet).note(f"merged {plural(len(models), 'model')} trained on {seen}; model: {model}")


def _numbers(text: str, count: int) -> list[float]:
    try:
        numbers = [float(word) for word in words(text)]
    except ValueError:
        raise _weights_error(f"expected numbers separated by commas, got {text!r}") from None
    if not all(number > 0 for number in numbers):
        raise _weights_error(f"weights must be positive, got {text!r}")
    if len(numbers) != count:
        raise _weights_error(f"{plural(len(numbers), 'weight')} for {plural(count, 'model')}")
    return numbers


def _weights_error(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="--weights")
