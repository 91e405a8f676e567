"""What all readers of named examples share: they look at the first records before they know how to read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Examples, Schema
from scwlearn.data.io.chunks import work_ahead
from scwlearn.data.io.errors import DataError
from scwlearn.data.options import MOST_THREADS, ReaderOptions


class Looked(Protocol):
    """Consecutive records, before anything is known of what they mean."""

    @property
    def lines(self) -> NDArray[np.int64]:
        """Where each stands."""

    @property
    def faults(self) -> list[DataError]:
        """What among them is no record, and left out."""


T = TypeVar("T")
L = TypeVar("L", bound=Looked)


class Made(NamedTuple):
    """What became of records."""

    examples: Examples
    #: Those that could not be read, in their order.
    faults: list[DataError]


@dataclass(frozen=True)
class RecordSource:
    """Where records come from, and what has to be known of it to make examples of them."""

    name: str
    options: ReaderOptions
    #: How many make examples of what comes, at most, ahead of who takes them.
    most_threads: int = MOST_THREADS
    #: Whether numbers may come as strings, because the file knows nothing else.
    untyped: bool = False
    #: What places count, and what should have been where there is nothing.
    unit: str = "line"
    wanted: str = "a header is followed by records"


class Way(NamedTuple, Generic[T, L]):
    """How a format is read."""

    #: What is read one after the other, and what it is looked at as, also in threads.
    items: Generator[T, None, None]
    look: Callable[[T], L]
    #: From the first records to how all are read, and from records to examples.
    resolve: Callable[[L, Schema, RecordSource], Schema]
    make: Callable[[L, Schema, RecordSource], Made]


class ReadExamples(Iterator[Examples], Generic[T, L]):
    """The examples of a source, a batch after the other. Closing it closes the file, as its end does.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.tables import read_csv_examples
    >>> batches = read_csv_examples(io.BytesIO(b"size,color,label\\n3,red,1\\n0,blue,2\\n"), Schema("csv"))
    >>> batches.schema.columns
    {'size': 'numeric', 'color': 'categorical', 'label': 'numeric'}
    >>> for batch in batches:
    ...     print(batch.x.names, batch.labels, batch.lines)
    ['size', 'color=red', 'color=blue'] [1 2] [2 3]
    """

    def __init__(self, way: Way[T, L], schema: Schema, origin: RecordSource, stopped: Event) -> None:
        self._way, self._given, self._origin, self._stopped = way, schema, origin, stopped
        self._begun: tuple[Schema, Generator[Made, None, None]] | None = None
        self._any = False
        self._dropped = 0
        # To be raised by the next look.
        self._late: list[DataError] = []

    @property
    def schema(self) -> Schema:
        """How the table is read, once its first records have been: what was given, and what they show."""
        return self._begin()[0]

    def _begin(self) -> tuple[Schema, Generator[Made, None, None]]:
        if self._begun is None:
            first = next(filter(self._has_rows, map(self._way.look, self._way.items)), None)
            if first is None:
                raise self._nothing()
            schema = self._way.resolve(first, self._given, self._origin)
            self._begun = schema, self._all_made(first, schema)
        return self._begun

    def _has_rows(self, looked: L) -> bool:
        if not len(looked.lines):
            self._drop(looked.faults)
        return len(looked.lines) > 0

    def _drop(self, faults: list[DataError]) -> None:
        self._dropped += len(faults)
        self._origin.options.drop(faults)

    def _raise_late(self) -> None:
        faults, self._late = self._late, []
        if faults:
            # The traceback keeps this reader alive; its file and threads end now.
            self.close()
        self._drop(faults)

    def _nothing(self) -> DataError:
        bad = f" ({self._dropped} of its records could not be read)" if self._dropped else ""
        return DataError(f"no examples{bad}; {self._origin.wanted}", source=self._origin.name)

    def _all_made(self, first: L, schema: Schema) -> Generator[Made, None, None]:
        def work(item: T) -> Made:
            return self._way.make(self._way.look(item), schema, self._origin)

        threads = self._origin.options.threads(self._origin.most_threads)
        yield self._way.make(first, schema, self._origin)
        with closing(work_ahead(self._way.items, work, threads, self._stopped)) as made:
            yield from made

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Examples:
        self._raise_late()
        for examples, faults in self._begin()[1]:
            if self._origin.options.skips:
                self._drop(faults)
            elif faults:
                # What stands before comes before.
                examples = examples.part(0, int(np.searchsorted(examples.lines, faults[0].line)))
                self._late = faults
            if len(examples):
                self._any = True
                return examples
            self._raise_late()
        if not self._any:
            raise self._nothing()
        raise StopIteration

    def close(self) -> None:
        """Read no further."""
        if self._begun is not None:
            self._begun[1].close()
        self._stopped.set()
        self._way.items.close()
