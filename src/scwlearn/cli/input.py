"""Input data of a command: read with a progress bar, invalid examples counted."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from scwlearn._util.allocator import keep_freed_memory
from scwlearn.cli.console import Silent, Terminal
from scwlearn.cli.messages import FEATURES_FIXED, SCHEMA_FIXED, error_message
from scwlearn.cli.options import STDIO, invocation, usage_error, words
from scwlearn.data.features import Features
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.io.remote import RemoteFile
from scwlearn.data.io.streams import expand_sources
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.display.formatting import plural

if TYPE_CHECKING:
    from scwlearn.data.batch import Batch
    from scwlearn.runs.config import ModelConfig
    from scwlearn.runs.trained_model import TrainedModel

# Errors of skipped examples that are shown.
_SHOWN_ERRORS = 3


class Input:
    """Data of a command with `data_options`, given by its arguments; may be read more than once.

    The data are read as the model needs them, or as they are if there is none. Without a schema of the model, the
    schema is known once reading has begun. Eager reading takes examples from a pipe as soon as they are there, rather
    than in large batches.
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        model: ModelConfig | TrainedModel | None,
        *,
        labels: str = "required",
        eager: bool = False,
        skipped: SkippedRecords | None = None,
    ) -> None:
        keep_freed_memory()
        self.terminal = Terminal(quiet=given["quiet"])
        self._sources = [source for path in given["data"] for source in _sources(path)]
        #: Paths, URLs without credentials, and names of data sets.
        self.names = [_name(source) for source in self._sources]
        reading = {} if model is None else model.reading
        schema = self.schema = reading.pop("schema", None)
        # Invalid examples, counted the first time that the data are read.
        self.skipped = SkippedRecords() if skipped is None else skipped
        if schema is not None:
            click.get_current_context().meta[SCHEMA_FIXED] = True
        if "features" in reading:
            click.get_current_context().meta[FEATURES_FIXED] = True
        detected = "csv" if given["delimiter"] is not None else None
        self._format = detected if given["data_format"] == "auto" else given["data_format"]
        self._schema_options = {name: given[name] for name in ("label", "weight", "zero_based", "header")} | {
            "delimiter": "\t" if given["delimiter"] in ("tab", "\\t") else given["delimiter"],
            "features": declared_features(given),
        }
        self._options = ReaderOptions(
            labels=labels,
            on_error="raise" if given["on_error"] == "stop" else "skip",
            skipped=self.skipped,
            eager=eager and self.is_pipe,
            on_read=self._count,
            **reading,
        )
        self._invocation = invocation()
        self._bar: Silent | None = None
        self._bytes_read = 0

    @property
    def sources(self) -> list[str | RemoteFile | Batch]:
        """The files, and the data sets in memory."""
        return self._sources

    @property
    def files(self) -> list[str]:
        """The paths of the files that are read on this machine, also by URL; - is standard input."""
        paths = (
            [source] if isinstance(source, str) else source.local_paths if isinstance(source, RemoteFile) else []
            for source in self._sources
        )
        return [*chain.from_iterable(paths)]

    @property
    def options(self) -> ReaderOptions:
        """How the examples are read, for another process."""
        asked: dict[str, Any] = dict.fromkeys(("on_read", "known_names", "lost_names", "known_label_kind"))
        return replace(self._options, skipped=SkippedRecords(), **asked)

    @property
    def reading(self) -> dict[str, Any]:
        """What else `read_batches` needs to know about the data."""
        return {"schema": self.schema, "format": self._format, **self._schema_options}

    @property
    def provenance(self) -> dict[str, Any]:
        """What the record of a run says about the command and its data."""
        return self._invocation | {"sources": self.names, "skipped": self.skipped.count}

    @property
    def is_pipe(self) -> bool:
        """Whether some of the data can be read only once."""
        paths = [source for source in self._sources if isinstance(source, str)]
        return any(path == STDIO or not stat.S_ISREG(os.stat(path).st_mode) for path in paths)

    @property
    def _size(self) -> int | None:
        """Size of all files in bytes; None if that of a remote file is unknown, or data can be read only once."""
        if self.is_pipe:
            return None
        sizes = [_size(source) for source in self._sources]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def examples(self) -> Generator[Batch, None, None]:
        """Read all examples, in batches; the first source is opened at once, and read ahead."""
        shown = self._bytes_read
        self.schema, batches = read_batches(
            self._sources, self.schema, self._options, format=self._format, **self._schema_options
        )
        for about in self.schema.notes if self._schema_options else ():
            self.terminal.note(f"note: {error_message(about)}")
        # Another pass reads as the first did, and counts nothing.
        self._schema_options = {}
        self._options = replace(self._options, skipped=SkippedRecords())
        return self._watched(batches, shown)

    def _watched(self, batches: Generator[Batch, None, None], shown: int) -> Generator[Batch, None, None]:
        """Yield the examples, and report progress since `shown` bytes were read."""
        with closing(batches):
            for examples in batches:
                yield examples
                if self._bar is not None:
                    now = self._bytes_read
                    self._bar.advance(now - shown)
                    shown = now

    def _count(self, size: int) -> None:
        self._bytes_read += size

    @contextmanager
    def progress(self, what: str, *, epochs: int = 1, show: bool = True) -> Iterator[None]:
        """Show a progress bar while the block runs, if the size of the data is known."""
        if show and STDIO in self.names and sys.stdin.isatty():
            self.terminal.note("reading from the terminal; press Ctrl-D to end")
        size = self._size if show and self.terminal.has_bar else None
        if size is None:
            yield
            return
        with self.terminal.progress(epochs * size, what) as self._bar:
            yield
        self._bar = None

    def check_learned(self, seen: int) -> None:
        """Raise a ValueError if no example was learned from; the readers refuse data without any."""
        if not seen:
            raise ValueError(f"{', '.join(self.names)}: no examples to learn from, as all have the weight 0")

    def report_skipped(self) -> None:
        """Print how many examples were skipped, and the first few errors."""
        if self.skipped.unlabelled:
            self.terminal.note(f"left out {plural(self.skipped.unlabelled, 'example')} without a label")
        if not self.skipped.count:
            return
        shown = self.skipped.first[:_SHOWN_ERRORS]
        more = f", the first {len(shown)}" if self.skipped.count > len(shown) else ""
        self.terminal.note(f"skipped {plural(self.skipped.count, 'invalid example')}{more}:")
        for error in shown:
            self.terminal.note(f"  {error_message(error)}")


def _sources(path: str) -> list[str | RemoteFile | Batch]:
    """Return the files that a path, pattern or URL stands for; if there is none, the data set of that name."""
    try:
        return expand_sources([path])  # type: ignore[return-value]
    except FileNotFoundError:
        from scwlearn.datasets import all_sets, data_directory, is_present, load_set

        named = next((each for each in all_sets() if each.name == path), None)
        if named is None:
            raise
    if not is_present(named, data_directory()):
        missing = f"{path}: no such file, and the data set of this name has not been fetched"
        raise click.ClickException(f"{missing}; run 'scwlearn datasets fetch {path}'")
    return [load_set(named).examples()]


def _name(source: str | RemoteFile | Batch) -> str:
    return source if isinstance(source, str) else source.name if isinstance(source, RemoteFile) else source.source


def _size(source: str | RemoteFile | Batch) -> int | None:
    """Return the number of bytes to be read, if known."""
    if isinstance(source, str):
        return os.path.getsize(source)
    return source.size if isinstance(source, RemoteFile) else 0


def declared_features(given: Mapping[str, Any]) -> Features:
    """Return what the user has declared."""
    declared = {name: given[name] for name in ("ngram", "skips", "char_ngrams", "decimal") if given[name] is not None}
    if given["missing"]:
        marks = given["missing"]
        declared["missing"] = marks if marks == "ignore" else tuple(words(marks))
    if given["interactions"]:
        declared["interactions"] = given["interactions"]
    with usage_error():
        return Features(**declared).declare(_column_kinds(given))


def _column_kinds(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the kinds of columns that the user has named."""
    kinds: dict[str, str] = {}
    for kind in ("numeric", "categorical", "text", "date", "ignore"):
        for name in words(given[f"{kind}_columns"]):
            if kinds.setdefault(name, kind) != kind:
                raise click.UsageError(f"column {name!r} is both --{kinds[name]} and --{kind}")
    return kinds
