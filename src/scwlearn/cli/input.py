"""How the commands read their data: with a bar that shows how far it is, and broken lines counted if asked for."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from scwlearn.cli.console import has_terminal, progress
from scwlearn.cli.messages import counted, flag
from scwlearn.cli.options import Data
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.io.streams import STDIN, expand
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_examples

if TYPE_CHECKING:
    from scwlearn._util.progress import ProgressReporter
    from scwlearn.data.examples import Examples, Schema


class CommandReading:
    """The data of a command, which may be read more than once. Broken lines are counted the first time."""

    def __init__(
        self, data: Data, schema: Schema | None = None, *, labels: str = "required", eager: bool = False
    ) -> None:
        self._data, self._labels, self._eager = data, labels, eager
        self.names = [os.fspath(name) for name in expand(data.sources)]  # type: ignore[arg-type]
        #: How the data is read: as the model says, or, once reading has begun, as it was found to be.
        self.schema = schema
        self.skipped = SkippedRecords()
        self._begun = False
        self._bar: ProgressReporter | None = None

    @property
    def once_only(self) -> bool:
        """Whether some of it is gone once it is read."""
        return any(name == STDIN or not stat.S_ISREG(os.stat(name).st_mode) for name in self.names)

    def examples(self, shuffle_buffer: int = 0, seed: int = 0) -> Generator[Examples, None, None]:
        """All of it, in batches."""
        with ExitStack() as opened:
            files = self._files(opened)
            self.schema, batches = read_examples(
                files or self.names, self.schema, self._how(), format=self._data.format, **self._said()
            )
            opened.callback(batches.close)
            self._begun = True
            if shuffle_buffer:
                from scwlearn.data.shuffle import shuffled

                batches = shuffled(batches, shuffle_buffer, seed)
            at = 0
            for examples in batches:
                yield examples
                if self._bar is not None and files:
                    now = sum(file.tell() for file in files)
                    self._bar.advance(now - at)
                    at = now

    @contextmanager
    def progress(self, quiet: bool, epochs: int = 1, what: str = "learning") -> Iterator[ProgressReporter | None]:
        """A bar while the block runs, if somebody looks who can see it."""
        if not quiet and STDIN in self.names and sys.stdin.isatty():
            click.echo("reading from the terminal; Ctrl-D ends it", err=True)
        if quiet or not has_terminal() or self.once_only:
            yield None
            return
        total = epochs * sum(os.path.getsize(name) for name in self.names)
        with progress(total, False, what) as self._bar:
            yield self._bar
        self._bar = None

    def report_skipped(self, say: Callable[[str], None]) -> None:
        """What was skipped, the first few in full."""
        if self.skipped.count:
            shown = self.skipped.first[:3]
            more = ", the first of them" if self.skipped.count > len(shown) else ""
            say(f"skipped {counted(self.skipped.count, 'example')} that could not be read{more}:")
            for error in shown:
                say(f"  {error.render(flag)}")

    def _files(self, opened: ExitStack) -> list[BinaryIO]:
        """Where there is a bar, the files are opened here, to see how far they are read."""
        if self._bar is None:
            return []
        return [opened.enter_context(open(name, "rb", buffering=0)) for name in self.names]

    def _how(self) -> ReaderOptions:
        return ReaderOptions(
            labels=self._labels,
            on_error="raise" if self._data.on_error == "stop" else "skip",
            skipped=SkippedRecords() if self._begun else self.skipped,
            eager=self._eager and self.once_only,
        )

    def _said(self) -> dict[str, Any]:
        """What the user says of the data; the reader sees to it that it does not contradict the model."""
        names = ("label", "weight", "ignore", "columns", "zero_based")
        return {} if self._begun else {name: getattr(self._data, name) for name in names}
