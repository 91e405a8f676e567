"""Input data of a command: read with a progress bar, invalid examples counted."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click

from scwlearn.cli.console import Terminal
from scwlearn.cli.messages import SCHEMA_FIXED, error_message
from scwlearn.cli.options import DataOptions
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.io.streams import STDIN, expand_sources
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.display.formatting import plural

if TYPE_CHECKING:
    from scwlearn._util.progress import ProgressReporter
    from scwlearn.data.batch import Batch
    from scwlearn.data.schema import Schema

# Errors of skipped examples that are shown.
_SHOWN_ERRORS = 3


class Input:
    """Data of a command, which may be read more than once.

    Parameters
    ----------
    options : DataOptions
        What the user says about the data.
    terminal : Terminal
        Shows progress and notes.
    schema : Schema or None
        How a model reads its data; None to find out. Once reading has begun, `schema` is known.
    labels : {"required", "optional"}
        Whether an example without a label is an error.
    eager : bool
        Whether examples from a pipe come as soon as they are there, rather than in large batches.
    skipped : SkippedRecords
        Counts invalid examples, the first time that the data are read.
    """

    def __init__(
        self,
        options: DataOptions,
        terminal: Terminal,
        schema: Schema | None = None,
        *,
        labels: str = "required",
        eager: bool = False,
        skipped: SkippedRecords | None = None,
    ) -> None:
        self._options, self._terminal = options, terminal
        self._labels, self._eager = labels, eager
        self.names = [os.fspath(name) for name in expand_sources(options.sources)]  # type: ignore[arg-type]
        self.schema = schema
        self.skipped = SkippedRecords() if skipped is None else skipped
        if schema is not None:
            click.get_current_context().meta[SCHEMA_FIXED] = True
        self._begun = False
        self._bar: ProgressReporter | None = None

    @property
    def is_pipe(self) -> bool:
        """Whether some of the data can be read only once."""
        return any(name == STDIN or not stat.S_ISREG(os.stat(name).st_mode) for name in self.names)

    def examples(self, shuffle_buffer: int = 0, seed: int = 0) -> Generator[Batch, None, None]:
        """Read all examples, in batches."""
        with ExitStack() as opened:
            # With a bar, open the files here, to see how far they have been read.
            files: list[BinaryIO] = []
            if self._bar is not None:
                files = [opened.enter_context(open(name, "rb", buffering=0)) for name in self.names]
            # A second pass must read as the first did.
            given = {} if self._begun else self._options.schema_options()
            self.schema, batches = read_batches(
                files or self.names, self.schema, self._reader_options(), format=self._options.format, **given
            )
            opened.callback(batches.close)
            self._begun = True
            if shuffle_buffer:
                from scwlearn.data.shuffle import shuffled

                batches = shuffled(batches, shuffle_buffer, seed)
            position = 0
            for examples in batches:
                yield examples
                if self._bar is not None and files:
                    now = sum(file.tell() for file in files)
                    self._bar.advance(now - position)
                    position = now

    @contextmanager
    def progress(self, what: str, *, epochs: int = 1, show: bool = True) -> Iterator[None]:
        """Show a progress bar while the block runs, unless the data are a pipe."""
        if show and STDIN in self.names and sys.stdin.isatty():
            self._terminal.note("reading from the terminal; press Ctrl-D to end")
        if not show or self.is_pipe or not self._terminal.has_bar:
            yield
            return
        size = epochs * sum(os.path.getsize(name) for name in self.names)
        with self._terminal.progress(size, what) as self._bar:
            yield
        self._bar = None

    def report_skipped(self) -> None:
        """Print how many examples were skipped, and the first few errors."""
        if not self.skipped.count:
            return
        shown = self.skipped.first[:_SHOWN_ERRORS]
        more = f", the first {len(shown)}" if self.skipped.count > len(shown) else ""
        self._terminal.note(f"skipped {plural(self.skipped.count, 'invalid example')}{more}:")
        for error in shown:
            self._terminal.note(f"  {error_message(error)}")

    def _reader_options(self) -> ReaderOptions:
        return ReaderOptions(
            labels=self._labels,
            on_error="raise" if self._options.on_error == "stop" else "skip",
            skipped=SkippedRecords() if self._begun else self.skipped,
            eager=self._eager and self.is_pipe,
        )
