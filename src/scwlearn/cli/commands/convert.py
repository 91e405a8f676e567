"""Convert data, or convert models to weights or ONNX and back."""

from __future__ import annotations

from typing import Any

import click

from scwlearn.cli.options import (
    FORMATS,
    Data,
    SectionCommand,
    algorithm_option,
    data_options,
    option,
    own_options,
    quiet_option,
    with_options,
)
from scwlearn.cli.output import OutputFile

_OUTPUT, _BACK = "Output", "Weights to a model (-m)"
_MODELS = ("json", "csv", "safetensors", "onnx")
_TARGETS = tuple(dict.fromkeys((*FORMATS[1:], *_MODELS)))

_output_options = with_options(
    option(
        "-o",
        "--output",
        type=OutputFile(or_stdout=True),
        section=_OUTPUT,
        help="Where to write; - is standard output.",
    ),
    option(
        "--to", type=click.Choice(_TARGETS), section=_OUTPUT, help="What to write, if the name does not end with it."
    ),
    option(
        "--names",
        type=OutputFile(),
        section=_OUTPUT,
        metavar="FILE",
        help="Named features to LIBSVM: number them, and write their names here.",
    ),
    quiet_option,
)
_back_options = with_options(
    option(
        "-m",
        "--model",
        type=OutputFile(),
        section=_BACK,
        help="Save a model with these weights here.",
    ),
    option(
        "--initial-variance",
        type=float,
        section=_BACK,
        help="Of the prior, and of weights without one.  [default: as the file says, or 1]",
    ),
    algorithm_option,
    own_options,
)


@click.command(cls=SectionCommand)
@data_options
@_output_options
@_back_options
def command(**given: Any) -> None:
    """Turn data or models into something else. What DATA is decides what is done:

    \b
    convert DATA... -o OUT        data to data: libsvm, vw, csv, tsv, jsonl, parquet, arrow
    convert MODEL -o OUT          a model to json, csv or safetensors (its weights), or onnx
    convert WEIGHTS -m MODEL      weights (json, csv, safetensors) to a model that can go on

    OUT is what its name ends with; data are compressed if that is .gz, .bz2, .xz or .zst.
    """
    from scwlearn.cli.converting import Conversion  # loads NumPy, which --help can do without

    Conversion(Data.of(given), given).go()
