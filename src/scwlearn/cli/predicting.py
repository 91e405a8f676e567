"""A run of scwlearn predict: what it reads, what it writes and when."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from scwlearn._util.atomic import atomic_file
from scwlearn.cli.input import CommandReading
from scwlearn.cli.options import Data
from scwlearn.cli.output import check_apart
from scwlearn.data.io.errors import DataError, SkippedRecords
from scwlearn.data.io.streams import STDIN
from scwlearn.runs.predict import Places, Predictor, Wanted
from scwlearn.runs.trained_model import Model


class PredictionRun:
    """One run of the command."""

    def __init__(self, data: Data, given: dict[str, Any]) -> None:
        self._given = given
        self._output: Path | None = None if str(given["output"]) == STDIN else given["output"]
        if given["as_json"] and given["header"]:
            raise click.UsageError("--header names columns, of which --json has none; give one of them")
        names = ("scores", "probabilities", "confidence", "variance", "tags", "as_json")
        model = Model.read(given["model"])
        self._predictor = Predictor(model, Wanted(**{name: given[name] for name in names}))
        self._reading = CommandReading(data, model.data_schema, labels="optional", eager=True)
        check_apart({"-o": self._output}, [given["model"], *self._reading.names])
        self._reading.skipped = self._skipped = _KeptErrors()

    def go(self) -> None:
        """Read, answer and write."""
        to_terminal = self._output is None and sys.stdout.isatty()
        with self._opened() as write:
            if self._given["header"]:
                write(self._predictor.header() + "\n")
            with self._reading.progress(self._given["quiet"] or to_terminal, what="predicting"):
                for text in self._answered():
                    write(text)
        if not self._given["quiet"]:
            self._reading.report_skipped(lambda line: click.echo(line, err=True))

    def _answered(self) -> Iterator[str]:
        """What is to be written, a batch at a time."""
        empty = "null\n" if self._given["as_json"] else "\n"
        places: Places | None = None
        for examples in self._reading.examples():
            if places is None:
                assert self._reading.schema is not None
                places = Places(self._reading.schema.format, self._skipped.places)
            lines = self._predictor.lines(examples)
            before = places.empty_before(examples)
            yield "".join(f"{empty * count}{line}\n" for count, line in zip(before, lines, strict=True))

    @contextmanager
    def _opened(self) -> Iterator[Callable[[str], None]]:
        """A function that writes text to where it belongs."""
        if self._output is not None:
            with atomic_file(self._output) as file:

                def write_down(text: str) -> None:
                    file.write(text.encode("utf-8", "surrogatepass"))

                yield write_down
            return
        # Who waits at the other end of a pipe wants to see each answer when it is there.
        at_once = self._reading.once_only or not _is_file(sys.stdout)

        def write(text: str) -> None:
            sys.stdout.write(text)
            if at_once:
                sys.stdout.flush()

        yield write


class _KeptErrors(SkippedRecords):
    """Keeps the place of all that could not be read: it is to be answered, too."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[str, int]] = []

    def add(self, error: DataError) -> None:
        """Count one more."""
        super().add(error)
        self.places.append((error.source, error.line))


def _is_file(stream: Any) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # something that only looks like a file
        return False
