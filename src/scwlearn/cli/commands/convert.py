"""Convert data, or convert models to weights or ONNX and back.

\b
convert DATA... -o OUT      data to libsvm, vw, csv, tsv, jsonl, json, parquet or arrow
convert MODEL -o OUT        a model to its weights (json, csv, safetensors), or to onnx
convert WEIGHTS -m MODEL    weights (json, csv, safetensors) to a model, for further training

The file name of OUT or --to determines the format. Data is compressed if the name ends in .gz, .bz2, .xz or .zst.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.messages import is_given
from scwlearn.cli.model_options import (
    AlgorithmCommand,
    algorithm_options,
    check_parameters,
    given_parameters,
    setting_option,
)
from scwlearn.cli.options import (
    STDIO,
    OutputFile,
    check_outputs,
    data_options,
    invocation,
    option,
    output_options,
    section,
)
from scwlearn.data.formats import format_names, format_of_path, get_format
from scwlearn.display.formatting import plural
from scwlearn.learning.settings import BY_NAME

if TYPE_CHECKING:
    from scwlearn.data.batch import Batch
    from scwlearn.data.schema import Schema

_LABEL_HINT = "name it with {label}, or use {no_label} if there is none"
_MODEL_FORMATS = ("json", "csv", "safetensors", "onnx")

_output_options = output_options(
    option("-o", "--output", type=OutputFile(or_stdout=True), help="File to write; - for standard output."),
    option(
        "--to",
        type=click.Choice(tuple(dict.fromkeys((*format_names(), *_MODEL_FORMATS)))),
        help="Format to write.  [default: by file name]",
    ),
    option(
        "--names",
        type=OutputFile(),
        metavar="FILE",
        help="Number named features for LIBSVM, and write their names to this file.",
    ),
)
_label_options = section("Data", option("--no-label", is_flag=True, help="The table or JSON has no label."))
_model_options = section(
    "Weights to a model (-m)",
    option("-m", "--model", type=OutputFile(), help="File to save the model to."),
    setting_option(
        BY_NAME["initial_variance"],
        "Variance of the prior, and of weights without one.  [default: as in the file, or 1]",
    ),
)


@click.command(
    cls=AlgorithmCommand,
    params=data_options + _label_options + _output_options + _model_options + algorithm_options(),
    help=__doc__,
)
def command(**given: Any) -> None:
    """Convert; see the help above."""
    output: Path | None = given["output"]
    if (output is None) == (given["model"] is None):
        raise click.UsageError("give either -o, the file to write, or -m, the model to make of weights")
    # NumPy is imported from here on: --help does without it.
    from scwlearn.runs.records import is_model_file

    first = given["data"][0]
    if output is None:
        _weights_to_model(given)
    elif first != STDIO and os.path.isfile(first) and is_model_file(first):
        _convert_model(output, given)
    else:
        _convert_data(output, given)


def _weights_to_model(given: dict[str, Any]) -> None:
    from scwlearn.cli.input import declared_features
    from scwlearn.data.run_record import Made
    from scwlearn.export import import_weights
    from scwlearn.files import SavedModel
    from scwlearn.runs.trained_model import TrainedModel

    rule, parameters = None, given_parameters(given)
    if is_given("algorithm"):
        rule = given["algorithm"]
        parameters = check_parameters(rule, parameters)
    format, source = given["data_format"], _only_source(given, "weights file")
    check_outputs({"-m": given["model"]}, [source])
    model = import_weights(
        source,
        given["to"],
        rule=rule,
        parameters=parameters,
        initial_variance=given["initial_variance"],
        named=None if format == "auto" else not get_format(format).numbered,
        zero_based=given["zero_based"],
    )
    declared = declared_features(given)
    if not declared.is_plain:
        # Later commands read data as the model says.
        if model.vocabulary is None:
            raise click.UsageError(f"the features of {source} are numbered, so no columns can be declared")
        if not model.classifier.features.is_plain:
            raise click.UsageError(f"{source} says what its columns mean; remove the options that declare columns")
        model.classifier.features = declared
    saved = SavedModel.from_classifier(model.classifier)
    saved.made = Made(**invocation())
    TrainedModel(model.classifier, model.schema, saved=saved).write(given["model"])
    classes = plural(len(model.classifier.classes), "class", "classes")
    features = plural(model.n_features, "feature")
    Terminal(quiet=given["quiet"]).note(f"{classes}, {features}; model: {given['model']}")


def _convert_model(output: Path, given: dict[str, Any]) -> None:
    from scwlearn.export import EXPORT_FORMATS, encode_model, export_model
    from scwlearn.runs.trained_model import TrainedModel

    to, allowed = given["to"], ", ".join(EXPORT_FORMATS)
    if to is not None and to not in EXPORT_FORMATS:
        raise click.UsageError(f"a model cannot be written as {to}; allowed: {allowed}")
    source = _only_source(given, "model")
    check_outputs({"-o": output}, [source])
    model = TrainedModel.read(source)
    if str(output) == STDIO:
        if to is None:
            raise click.UsageError(f"standard output needs --to, one of {allowed}")
        sys.stdout.buffer.writelines(encode_model(model, to))
        return
    export_model(model, output, to)
    Terminal(quiet=given["quiet"]).note(f"wrote {output}")


def _convert_data(output: Path, given: dict[str, Any]) -> None:
    from scwlearn.cli.input import Input
    from scwlearn.data.writing import write_batches

    to = given["to"] or format_of_path(output.name)
    if to is None:
        endings = ", ".join(suffix for name in format_names() for suffix in get_format(name).suffixes)
        raise click.UsageError(f"{output}: unknown file name ending; use --to, or one of {endings}")
    if to not in format_names():
        raise click.UsageError(f"data cannot be written as {to}; allowed: {', '.join(format_names())}")
    if given["no_label"] and given["label"] is not None:
        raise click.UsageError("give either --label or --no-label, not both")
    data = Input(given, None, labels="optional")
    check_outputs({"-o": output, "--names": given["names"]}, data.files)
    with data.progress("converting"):
        batches = data.examples()
        # The first batch decides the schema.
        first = next(batches)
        schema = data.schema
        assert schema is not None
        _check_label(schema, first, no_label=given["no_label"])
        whole: Iterable[Batch] = _labelled(chain([first], batches), schema)
        # Without a table, more features may come; n-grams and interactions are features of no column.
        features = schema.features
        is_made = bool(features.interactions or features.char_ngrams or features.ngram > 1)
        columns = schema.columns if features.others == "ignore" and not is_made else None
        if "label" in get_format(to).options:
            # Read once to find the columns, the type of the labels and whether there are weights, and again to write.
            if not data.is_pipe:
                whole = _Passes(whole, lambda: _labelled(data.examples(), schema))
            elif get_format(to).fixed_columns and columns is None:
                whole = [*whole]
        count = write_batches(
            whole,
            sys.stdout.buffer if str(output) == STDIO else output,
            to,
            label=schema.label or "label",
            weight=schema.weight or "weight",
            columns=columns,
            zero_based=schema.zero_based,
            names=given["names"],
        )
    data.terminal.note(f"wrote {plural(count, 'example')} to {output}")
    data.report_skipped()


def _check_label(schema: Schema, first: Batch, *, no_label: bool) -> None:
    """Raise a DataError unless the label of a table or of JSON is known, or there is none."""
    from scwlearn.data.batch import NamedRows
    from scwlearn.data.io.errors import DataError
    from scwlearn.data.schema import default_label

    chosen = get_format(schema.format)
    if "label" not in chosen.options or not isinstance(first.x, NamedRows):
        return
    what = "column" if chosen.fixed_columns else "key"
    if no_label:
        if schema.label is not None:
            problem = f"the {what} {schema.label!r} is the label, but --no-label says that there is none"
            raise DataError(problem, source=first.source, hint="rename it, or leave it out with {ignore}")
        return
    try:
        if schema.label is None:
            default_label(_names(schema, first), optional=False, what=what)
    except DataError as error:
        error.source, error.hint = first.source, _LABEL_HINT
        raise


def _labelled(batches: Iterable[Batch], schema: Schema) -> Iterator[Batch]:
    """Yield batches; at the end, raise a DataError if none has a label although the user has named it."""
    from scwlearn.data.io.errors import DataError
    from scwlearn.data.schema import listed

    needs_label, first = is_given("label") and schema.label is not None, None
    for batch in batches:
        first = first or batch
        if needs_label and batch.labels is not None:
            needs_label = batch.labelled is not None and not batch.labelled.any()
        yield batch
    if needs_label and first is not None:
        what = "column" if get_format(schema.format).fixed_columns else "key"
        problem = (
            f"no {what} {schema.label!r} for the label, or it is empty; the {what}s are {listed(_names(schema, first))}"
        )
        raise DataError(problem, source=first.source, hint=_LABEL_HINT)


def _names(schema: Schema, first: Batch) -> list[str]:
    """Return the names of the columns, or of the keys in the first records."""
    # A feature of a category or a word is called key=string.
    return [*schema.columns] or [*dict.fromkeys(str(name).partition("=")[0] for name in getattr(first.x, "names", ()))]


def _only_source(given: dict[str, Any], what: str) -> str:
    source: str = given["data"][0]
    if len(given["data"]) > 1:
        raise click.UsageError(f"expected one {what}, got {len(given['data'])}")
    return source


class _Passes:
    """Batches that are iterated over more than once: `first` at first, then those that `again` returns."""

    def __init__(self, first: Iterable[Batch], again: Callable[[], Iterable[Batch]]) -> None:
        self._first, self._again = [first], again

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._first.pop() if self._first else self._again())
