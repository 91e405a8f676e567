"""Tables from any kind of file: the schema of their columns, and their rows as batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.reader import Parsed, Reader
from scwlearn.data.schema import MAX_PREFIX_LENGTH, Schema, default_label, listed
from scwlearn.data.tables.columns import Column, joined, kind_of_cells, kind_of_type

#: Arrow arrays of the columns that are read, by name.
Columns = dict[str, Any]


class TableReader(Reader):
    """Reader of a table, whose first records complete the schema."""

    #: Whether numbers come as strings.
    untyped = False
    #: What the numbers of records count.
    unit = "line"
    #: Names of all columns of the table.
    names: Sequence[str] = ()
    is_resolved = False

    def set_names(self, names: list[str]) -> None:
        """Set the names of all columns, which must differ."""
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise DataError(f"two columns have the name {repeated[0]!r}; names must be unique")
        self.names = names

    def wanted(self) -> list[str]:
        """Return the columns that must be read, at least one, so that rows can be counted."""
        schema = self.schema
        known = {*schema.columns, schema.label, schema.weight} if _is_complete(schema) else {*self.names}
        ignored = {*schema.ignore} - {schema.label, schema.weight}
        return [name for name in self.names if name in known and name not in ignored] or [*self.names[:1]]

    def parsed(self, columns: Columns, places: NDArray[np.int64], lines: int, errors: list[DataError]) -> Parsed:
        """Convert records, given the line of each, the number of lines, and the errors of records left out."""
        if not len(places):
            return Parsed((), lines, errors)
        if not self.is_resolved:
            self.schema = self._resolve(columns)
            self.is_resolved = True
        bad: dict[int, DataError] = {}
        batch = self._batch(columns, places, bad)
        if bad:
            for row, error in bad.items():
                error.line, error.unit = int(places[row]), self.unit
            keep = np.delete(np.arange(len(places)), [*bad])
            batch = self._batch({name: column.take(keep) for name, column in columns.items()}, places[keep], {})
        return Parsed([batch], lines, sorted([*errors, *bad.values()], key=lambda error: error.line))

    def _resolve(self, columns: Columns) -> Schema:
        """Return the schema with the label and the kind of each column, given the first records."""
        schema = self.schema
        if schema.label is None:
            schema = replace(schema, label=default_label(self.names, optional=self.options.optional_labels))
        self._check_columns(columns, schema)
        if not _is_complete(self.schema):
            kinds = self._kinds(columns, schema)
            label_kind = kinds.pop(schema.label, None) if schema.label is not None else None
            roles = {name: "ignore" for name in (schema.label, schema.weight) if name is not None}
            features = replace(schema.features.declare(kinds | roles, self.names), others="ignore")
            schema = replace(schema, features=features, label_kind=label_kind)
        for name, kind in schema.columns.items():
            if kind != "numeric" and name != schema.label and len(name) > MAX_PREFIX_LENGTH:
                limit = f"the name of a categorical or text column must have at most {MAX_PREFIX_LENGTH} characters"
                raise DataError(limit, found=shown(name))
        return schema

    def _kinds(self, columns: Columns, given: Schema) -> dict[str, str]:
        """Return the kind of each column, declared or found in the first records."""
        ignored = [name for name, kind in given.features.kinds.items() if kind == "ignore"]
        unknown = [name for name in ignored if name not in self.names]
        if unknown:
            raise DataError(f"no column {unknown[0]!r} to ignore; the columns are {listed(self.names)}")
        kinds = {
            name: given.features.kinds.get(name) or self._kind(name, columns[name])
            for name in self.names
            if name not in ignored and name != given.weight
        }
        label = given.label
        if label is not None and kinds.get(label) == "text":
            if label in given.features.kinds or kind_of_type(columns[label].type) == "text":
                raise DataError(f"the label {label!r} must be numeric or categorical, not text")
            kinds[label] = "categorical"
        return kinds

    def _batch(self, columns: Columns, places: NDArray[np.int64], bad: dict[int, DataError]) -> Batch:
        """Return the records as a batch; columns with bad cells are left out."""
        schema = self.schema
        found = {name: Column(name, cells, bad) for name, cells in columns.items()}
        label = labels = labelled = weights = None
        if schema.label in found:
            label = found.pop(schema.label)
            labels, missing = label.labels(schema.columns[label.name])
            labelled = ~missing if missing.any() else None
            if not self.options.optional_labels:
                label.reject(missing, "a record needs a label")
        if schema.weight in found:
            weights = found.pop(schema.weight).weights()
        features = [found[name].features(kind) for name, kind in schema.columns.items() if name in found]
        x = joined([each for each in features if each is not None], len(places))
        return Batch(x, labels, weights, places, self.stream.name, labelled)

    def _check_columns(self, columns: Columns, schema: Schema) -> None:
        """Raise a DataError if a column of the schema is missing, or has the wrong type."""
        names = {*self.names}
        may_miss = {schema.label, schema.weight} if self.options.optional_labels else set()
        for name in dict.fromkeys([*schema.columns, *filter(None, (schema.label, schema.weight))]):
            if name not in names and name not in may_miss:
                role = "label " if name == schema.label else "weight " if name == schema.weight else ""
                raise DataError(f"no {role}column {name!r}; the columns are {listed(self.names)}")
        for name, kind in schema.columns.items():
            if name in columns:
                found = self._kind_of_type(name, columns[name].type)
                # Strings may be of any kind.
                if (kind == "text" and found == "numeric") or (kind != "text" and found == "text"):
                    raise DataError(f"the column {name!r} must be {kind}, but has the type {columns[name].type}")

    def _kind(self, name: str, column: Any) -> str:
        kind = self._kind_of_type(name, column.type)
        return kind_of_cells(column, numbers=self.untyped) if kind == "string" else kind

    def _kind_of_type(self, name: str, given: Any) -> str:
        kind = kind_of_type(given)
        if kind is None:
            allowed = "numbers, bools, strings and lists of strings can be used"
            raise DataError(f"the column {name!r} has the type {given}; {allowed}", hint="leave it out with {ignore}")
        return kind


def _is_complete(schema: Schema) -> bool:
    """Return whether the schema names all columns; then others are left out."""
    return schema.features.others == "ignore"
