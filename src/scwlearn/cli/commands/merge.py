"""Merge models that were trained on different data.

The MODELs must use the same algorithm and settings. The merged model knows the features and classes of all of them, and
can be trained further.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.options import (
    OutputFile,
    SectionCommand,
    choice_option,
    invocation,
    option,
    output_options,
    section,
    usage_error,
    words,
)
from scwlearn.display.formatting import plural

_models = click.Argument(["models"], nargs=-1, required=True, metavar="MODEL...", type=click.Path(dir_okay=False))
_merge_options = section(
    "Merging",
    choice_option(
        "--how",
        *("auto", "bcm", "ev", "kl"),
        text="bcm adds up evidence, ev averages weights by their evidence, kl finds the Gaussian nearest to all.",
    ),
    option("--weights", metavar="W,W,...", help="Weight of each model, separated by commas.  [default: 1]"),
)
_output_options = output_options(
    option("-m", "--model", type=OutputFile(), required=True, help="File to save the merged model to.")
)


@click.command(cls=SectionCommand, params=[_models, *_merge_options, *_output_options], help=__doc__)
def command(models: tuple[str, ...], model: Path, how: str, weights: str | None, quiet: bool) -> None:
    """Merge models; see the help above."""
    with usage_error("--weights"):
        numbers = None if weights is None else _numbers(weights, len(models))
    # NumPy is imported from here on: --help does without it.
    from scwlearn.data.run_record import Made
    from scwlearn.files import write
    from scwlearn.runs.merge import merge_files

    made = Made(**invocation(), sources=[os.path.basename(one) for one in models])
    merged = merge_files(models, how, numbers, made=made)
    write(merged, model)
    seen = plural(merged.learner.counts.seen, "example")
    Terminal(quiet=quiet).note(f"merged {plural(len(models), 'model')} trained on {seen}; model: {model}")


def _numbers(text: str, count: int) -> list[float]:
    try:
        numbers = [float(word) for word in words(text)]
    except ValueError:
        raise ValueError(f"expected numbers separated by commas, got {text!r}") from None
    if not all(number > 0 for number in numbers):
        raise ValueError(f"weights must be positive, got {text!r}")
    if len(numbers) != count:
        raise ValueError(f"{plural(len(numbers), 'weight')} for {plural(count, 'model')}")
    return numbers
