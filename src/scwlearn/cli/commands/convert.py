"""Convert data, or convert models to weights or ONNX and back.

\b
convert DATA... -o OUT      data to libsvm, vw, csv, tsv, jsonl, parquet or arrow
convert MODEL -o OUT        a model to its weights (json, csv, safetensors), or to onnx
convert WEIGHTS -m MODEL    weights (json, csv, safetensors) to a model, for further training

The file name of OUT or --to determines the format. Data are compressed if the name ends in .gz, .bz2, .xz or .zst.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.model_options import (
    AlgorithmCommand,
    algorithm_option,
    check_parameters,
    given_parameters,
    parameter_options,
    rule_named,
    setting_option,
)
from scwlearn.cli.options import DataOptions, data_options, is_given, option, quiet_option, section
from scwlearn.cli.output import OutputFile, invocation
from scwlearn.data.formats import format_names, format_of_path, get_format
from scwlearn.display.formatting import plural
from scwlearn.learning.settings import BY_NAME

if TYPE_CHECKING:
    from scwlearn.cli.input import Input
    from scwlearn.data.batch import Batch

_STDIO = "-"
_MODEL_FORMATS = ("json", "csv", "safetensors", "onnx")

_output_options = section(
    "Output",
    option("-o", "--output", type=OutputFile(or_stdout=True), help="File to write; - for standard output."),
    option(
        "--to",
        type=click.Choice(tuple(dict.fromkeys((*format_names(), *_MODEL_FORMATS)))),
        help="Format to write, if it is not that of the file name.",
    ),
    option(
        "--names",
        type=OutputFile(),
        metavar="FILE",
        help="Number named features for LIBSVM, and write their names to this file.",
    ),
    quiet_option,
)
_model_options = section(
    "Weights to a model (-m)",
    option("-m", "--model", type=OutputFile(), help="File to save the model to."),
    setting_option(
        BY_NAME["initial_variance"],
        "Variance of the prior, and of weights without one.  [default: as in the file, or 1]",
    ),
    algorithm_option,
    parameter_options,
)


@click.command(cls=AlgorithmCommand, help=__doc__)
@data_options
@_output_options
@_model_options
def command(**given: Any) -> None:
    """Convert; see the help above."""
    options, terminal = DataOptions.take(given), Terminal(quiet=given["quiet"])
    output: Path | None = given["output"]
    if (output is None) == (given["model"] is None):
        raise click.UsageError("give either -o, the file to write, or -m, the model to make of weights")
    # NumPy is imported from here on: --help does without it.
    from scwlearn.runs.record import is_model_file

    first = options.sources[0]
    if output is None:
        _weights_to_model(options, terminal, given)
    elif first != _STDIO and os.path.isfile(first) and is_model_file(first):
        _convert_model(options, terminal, output, given["to"])
    else:
        _convert_data(options, terminal, output, given)


def _weights_to_model(options: DataOptions, terminal: Terminal, given: dict[str, Any]) -> None:
    from scwlearn.export import import_weights
    from scwlearn.files import SavedModel
    from scwlearn.runs.trained_model import TrainedModel

    rule, parameters = None, given_parameters(given)
    if is_given("algorithm"):
        rule = rule_named(given["algorithm"])
        parameters = check_parameters(rule, parameters)
    model = import_weights(
        _only_source(options, "weights file"),
        given["to"],
        rule=rule,
        parameters=parameters,
        initial_variance=given["initial_variance"],
        named=None if options.format is None else not get_format(options.format).numbered,
        zero_based=options.zero_based,
    )
    saved = SavedModel.from_classifier(model.classifier, {"made": invocation()})
    TrainedModel(model.classifier, model.schema, saved=saved).write(given["model"])
    classes = plural(len(model.classifier.classes), "class", "classes")
    terminal.note(f"{classes}, {plural(model.n_features, 'feature')}; model: {given['model']}")


def _convert_model(options: DataOptions, terminal: Terminal, output: Path, to: str | None) -> None:
    from scwlearn.export import EXPORT_FORMATS, encode_model, export_model
    from scwlearn.runs.trained_model import TrainedModel

    if to is not None and to not in EXPORT_FORMATS:
        raise click.UsageError(f"a model cannot be written as {to}; allowed: {', '.join(EXPORT_FORMATS)}")
    model = TrainedModel.read(_only_source(options, "model"))
    if str(output) == _STDIO:
        if to is None:
            raise click.UsageError(f"standard output needs --to, one of {', '.join(EXPORT_FORMATS)}")
        sys.stdout.buffer.writelines(encode_model(model, to))
        return
    export_model(model, output, to)
    terminal.note(f"wrote {output}")


def _convert_data(options: DataOptions, terminal: Terminal, output: Path, given: dict[str, Any]) -> None:
    from scwlearn.cli.input import Input
    from scwlearn.data.writing import write_batches

    to = given["to"] or format_of_path(output.name)
    if to is None:
        endings = ", ".join(suffix for name in format_names() for suffix in get_format(name).suffixes)
        raise click.UsageError(f"{output}: unknown file name ending; use --to, or one of {endings}")
    if to not in format_names():
        raise click.UsageError(f"data cannot be written as {to}; allowed: {', '.join(format_names())}")
    data = Input(options, terminal, labels="optional")
    with data.progress("converting"):
        batches = _Replayable(data)
        schema = data.schema
        assert schema is not None
        columns = {name: kind for name, kind in schema.columns.items() if name not in schema.ignore} or None
        if get_format(to).fixed_columns and columns is None:
            batches.keep()
        count = write_batches(
            batches,
            sys.stdout.buffer if str(output) == _STDIO else output,
            to,
            label=schema.label or "label",
            weight=schema.weight or "weight",
            columns=columns,
            zero_based=schema.zero_based,
            names=given["names"],
        )
    terminal.note(f"wrote {plural(count, 'example')} to {output}")
    data.report_skipped()


def _only_source(options: DataOptions, what: str) -> str:
    if len(options.sources) > 1:
        raise click.UsageError(f"expected one {what}, got {len(options.sources)}")
    return options.sources[0]


class _Replayable:
    """Batches that can be iterated over again: files are read again, a pipe is kept in memory if asked for."""

    def __init__(self, data: Input) -> None:
        self._data = data
        self._rest = data.examples()
        # The first batch decides the schema.
        self._first = next(self._rest)
        self._kept: list[Batch] | None = None
        self._begun = False

    def keep(self) -> None:
        """Prepare for a second iteration."""
        if self._data.is_pipe:
            self._kept = [self._first, *self._rest]

    def __iter__(self) -> Iterator[Batch]:
        if self._kept is not None:
            return iter(self._kept)
        if self._begun:
            return self._data.examples()
        self._begun = True
        return chain([self._first], self._rest)
