"""A run of scwlearn convert: which of its three forms it is, and what it does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.algorithm import rule_of
from scwlearn.cli.input import CommandReading
from scwlearn.cli.messages import counted
from scwlearn.cli.options import FORMATS, Data, checked_own, own_parameters
from scwlearn.cli.provenance import made_now
from scwlearn.data.io.streams import STDIN
from scwlearn.runs.records import is_model

if TYPE_CHECKING:
    from scwlearn.data.examples import Examples

# What data may be called by the end of a name.
_ENDINGS = {
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".vw": "vw",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_PACKED = (".gz", ".bz2", ".xz", ".zst")
_TABLES = ("csv", "tsv", "parquet", "arrow")


class Conversion:
    """One run of the command."""

    def __init__(self, data: Data, given: dict[str, Any]) -> None:
        self._data, self._given = data, given
        self._output: Path | None = given["output"]
        self._to: str | None = given["to"]
        if (self._output is None) == (given["model"] is None):
            raise click.UsageError("say where to write: -o for data or a model to others, -m for weights to a model")

    def go(self) -> None:
        """Read and write."""
        if self._output is None:
            self._weights_to_model()
        elif _is_model(self._data.sources[0]):
            self._model_out(self._output)
        else:
            self._data_out(self._output)

    def _weights_to_model(self) -> None:
        from scwlearn.export import import_weights
        from scwlearn.files import SavedModel
        from scwlearn.runs.trained_model import Model

        path, given = self._only_source("file of weights"), self._given
        source = click.get_current_context().get_parameter_source("algorithm")
        own = own_parameters(given)
        rule = rule_of(given["algorithm"]) if source is not None and source.name == "COMMANDLINE" else None
        if rule is not None:
            own = checked_own(rule, own)
        model = import_weights(
            path,
            self._to,
            rule=rule,
            parameters=own,
            initial_variance=given["initial_variance"],
            named=None if self._data.format is None else self._data.format != "libsvm",
            zero_based=self._data.zero_based,
        )
        notes = {"made": made_now()}
        model = Model(model.learner, model.schema, stored=SavedModel.from_learner(model.learner, notes))
        model.write(given["model"])
        self._say(f"{len(model.learner.classes)} classes, {model.n_features} features; model: {given['model']}")

    def _model_out(self, output: Path) -> None:
        from scwlearn.export import EXPORT_FORMATS, encode_model, export_model
        from scwlearn.runs.trained_model import Model

        if self._to is not None and self._to not in EXPORT_FORMATS:
            raise click.UsageError(f"models are written as {', '.join(EXPORT_FORMATS)}, not as {self._to}")
        model = Model.read(self._only_source("model"))
        if str(output) == STDIN:
            if self._to is None:
                raise click.UsageError(f"say with --to what to write: {', '.join(EXPORT_FORMATS)}")
            sys.stdout.buffer.writelines(encode_model(model, self._to))
            return
        export_model(model, output, self._to)
        self._say(f"wrote {output}")

    def _data_out(self, output: Path) -> None:
        from scwlearn.data.writing import write_examples

        to = self._to or _format_of(output)
        if to not in FORMATS:
            raise click.UsageError(f"data are written as {', '.join(FORMATS[1:])}, not as {to}")
        reading = CommandReading(self._data, labels="optional")
        with reading.progress(self._given["quiet"], what="converting"):
            batches = _Batches(reading)
            schema = batches.schema
            columns = {name: kind for name, kind in schema.columns.items() if name not in schema.ignore} or None
            if to in _TABLES and columns is None:
                batches.keep()
            target: Any = sys.stdout.buffer if str(output) == STDIN else output
            count = write_examples(
                batches,
                target,
                to,
                label=schema.label or "label",
                weight=schema.weight or "weight",
                columns=columns,
                zero_based=schema.zero_based,
                names=self._given["names"],
            )
        self._say(f"wrote {counted(count, 'example')} to {output}")
        if not self._given["quiet"]:
            reading.report_skipped(lambda line: click.echo(line, err=True))

    def _only_source(self, what: str) -> str:
        if len(self._data.sources) > 1:
            raise click.UsageError(f"one {what} at a time; got {len(self._data.sources)}")
        return self._data.sources[0]

    def _say(self, text: str) -> None:
        if not self._given["quiet"]:
            click.echo(text, err=True)


class _Batches:
    """The examples of what is read, as often as they are asked for. What comes from a pipe can be kept for that."""

    def __init__(self, reading: CommandReading) -> None:
        self._reading = reading
        self._rest = reading.examples()
        self._first = next(self._rest)
        assert reading.schema is not None
        #: How the data are read.
        self.schema = reading.schema
        self._kept: list[Examples] | None = None
        self._begun = False

    def keep(self) -> None:
        """They will be asked for twice."""
        if self._reading.once_only:
            self._kept = [self._first, *self._rest]

    def __iter__(self) -> Iterator[Examples]:
        if self._kept is not None:
            return iter(self._kept)
        if self._begun:
            return self._reading.examples()
        self._begun = True
        return chain([self._first], self._rest)


def _is_model(name: str) -> bool:
    return name != STDIN and os.path.isfile(name) and is_model(name)


def _format_of(output: Path) -> str:
    path = output.with_suffix("") if output.suffix.lower() in _PACKED else output
    found = _ENDINGS.get(path.suffix.lower())
    if found is None:
        raise click.UsageError(f"{output}: say what to write with --to; a name may end with {', '.join(_ENDINGS)}")
    return found
