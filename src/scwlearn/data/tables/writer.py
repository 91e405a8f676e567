"""Base of the writers of tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from scwlearn.data.batch import Batch
from scwlearn.data.cells import error_at, table_of
from scwlearn.data.formats import WriterOptions


class TableWriter(ABC):
    """Writer of a table, all of whose batches have the same columns."""

    def __init__(self, options: WriterOptions) -> None:
        self.options = options
        self.columns: Mapping[str, str] = options.columns or {}
        self._first: dict[str, bool] | None = None

    def write(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        has = {"labels": batch.labels is not None, "weights": batch.weights is not None}
        if self._first is None:
            self._first = has
            self.start(batch)
        for what, there in has.items():
            if there != self._first[what]:
                these, first = ("have", "none") if there else ("have no", "them")
                problem = f"these examples {these} {what}, but the first ones had {first}; a table has one header"
                raise error_at(batch, 0, problem)
        self.write_table(batch, table_of(batch, self.columns, zero_based=self.options.zero_based))

    @abstractmethod
    def start(self, batch: Batch) -> None:
        """Write what precedes the first batch."""

    @abstractmethod
    def write_table(self, batch: Batch, table: dict[str, list[Any]]) -> None:
        """Write the examples of a batch, given the cells of its features."""
