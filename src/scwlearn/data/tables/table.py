"""Tables from any kind of file: the schema of their columns, and their rows as batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.checks import check_choice
from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import DataError
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import COLUMN_KINDS, Schema
from scwlearn.data.tables.assemble import joined
from scwlearn.data.tables.columns import (
    BadCells,
    kind_of_cells,
    kind_of_type,
    read_features,
    read_labels,
    read_weights,
)
from scwlearn.data.tables.records import Converted
from scwlearn.data.values import MAX_PREFIX_LENGTH, shown

#: Names of the label column that need not be declared.
LABEL_NAMES = ("label", "target", "class", "y")
# How many column names a message lists.
_LISTED = 20


class Piece(NamedTuple):
    """Consecutive records of a table."""

    #: Names of all columns of the table.
    names: list[str]
    #: Arrow arrays of the columns that are read.
    columns: dict[str, Any]
    lines: NDArray[np.int64]
    #: Errors of records that are not rows of the table, and are left out.
    errors: list[DataError]


@dataclass(frozen=True)
class Table:
    """A table that is being read: how its schema is found, and its records are converted."""

    source: str
    given: Schema
    options: ReaderOptions
    #: Whether numbers come as strings.
    untyped: bool = False
    #: What the numbers of records count.
    unit: str = "line"

    def error(self, problem: str, hint: str | None = None) -> DataError:
        """Return an error about the whole table."""
        return DataError(problem, source=self.source, hint=hint)

    def check_names(self, names: list[str]) -> None:
        """Raise a DataError if two columns have the same name."""
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise self.error(f"two columns have the name {name!r}; names must be unique")
            seen.add(name)

    def wanted(self, names: list[str]) -> list[str]:
        """Return the columns that must be read, at least one, so that rows can be counted."""
        given = self.given
        known = {*given.columns, given.label, given.weight} if _is_complete(given) else set(names)
        return [name for name in names if name in known and name not in given.ignore] or names[:1]

    def resolve(self, piece: Piece) -> Schema:
        """Return the schema, completed by the first records: the label, and the kind of each column."""
        given = self.given
        if _is_complete(given):
            self._check_columns(piece, given)
            self._check_prefixes(given)
            return given
        for name, kind in given.columns.items():
            check_choice(f"the kind of column {name!r}", kind, COLUMN_KINDS)
        label = given.label if given.label is not None else default_label(piece.names, self.source, self.options)
        schema = replace(given, label=label)
        self._check_columns(piece, schema)
        check_roles(schema, self.source)
        unknown = [name for name in given.ignore if name not in piece.names]
        if unknown:
            raise self.error(f"no column {unknown[0]!r} to ignore; the columns are {listed(piece.names)}")
        kinds = {
            name: given.columns.get(name) or self._kind(name, piece.columns[name])
            for name in piece.names
            if name not in given.ignore and name != given.weight
        }
        if label is not None and kinds.get(label) == "text":
            if label in given.columns or kind_of_type(piece.columns[label].type) == "text":
                raise self.error(f"the label {label!r} must be numeric or categorical, not text")
            kinds[label] = "categorical"
        schema = replace(schema, columns=kinds)
        self._check_prefixes(schema)
        return schema

    def convert(self, piece: Piece, schema: Schema) -> Converted:
        """Return the batch of the records, without those that cannot be read, and their errors."""
        bad: list[BadCells] = []
        batch = self._batch(piece, schema, bad)
        first: dict[int, DataError] = {}
        for cells in bad:
            for row in cells.rows.tolist():
                if row not in first:
                    first[row] = cells.error(row).at(self.source, int(piece.lines[row]), self.unit)
        if first:
            keep = np.delete(np.arange(len(piece.lines)), [*first])
            columns = {name: column.take(keep) for name, column in piece.columns.items()}
            batch = self._batch(Piece(piece.names, columns, piece.lines[keep], []), schema, bad)
        return Converted(batch, sorted([*piece.errors, *first.values()], key=lambda error: error.line))

    def _batch(self, piece: Piece, schema: Schema, bad: list[BadCells]) -> Batch:
        labels: NDArray[Any] | None = None
        labelled: NDArray[np.bool_] | None = None
        if schema.label is not None and schema.label in piece.columns:
            column = piece.columns[schema.label]
            labels, missing = read_labels(schema.label, column, schema.columns[schema.label], bad)
            if missing.any() and not self.options.optional_labels:
                bad.append(BadCells(schema.label, column, missing, "a record needs a label"))
            labelled = ~missing if missing.any() else None
        has_weights = schema.weight is not None and schema.weight in piece.columns
        weights = read_weights(str(schema.weight), piece.columns[str(schema.weight)], bad) if has_weights else None
        # Columns with bad cells are left out here; the batch is then made again without the bad rows.
        features = [
            found
            for name, kind in schema.columns.items()
            if name not in (schema.label, schema.weight)
            and (found := read_features(name, piece.columns[name], kind, bad)) is not None
        ]
        x = joined(features, len(piece.lines))
        return Batch(x, labels, weights, piece.lines, self.source, labelled)

    def _check_columns(self, piece: Piece, schema: Schema) -> None:
        """Raise a DataError if a column of the schema is missing, or has the wrong type."""
        names = {*piece.names}
        may_miss = {schema.label, schema.weight} if self.options.optional_labels else set()
        for name in dict.fromkeys([*schema.columns, *filter(None, (schema.label, schema.weight))]):
            if name not in names and name not in may_miss:
                role = "label " if name == schema.label else "weight " if name == schema.weight else ""
                raise self.error(f"no {role}column {name!r}; the columns are {listed(piece.names)}")
        for name, kind in schema.columns.items():
            if name in piece.columns:
                found = self._kind_of_type(name, piece.columns[name].type)
                # Strings may be of any kind.
                if (kind == "text" and found == "numeric") or (kind != "text" and found == "text"):
                    raise self.error(f"the column {name!r} must be {kind}, but has the type {piece.columns[name].type}")

    def _check_prefixes(self, schema: Schema) -> None:
        for name, kind in schema.columns.items():
            if kind != "numeric" and name != schema.label and len(name) > MAX_PREFIX_LENGTH:
                limit = f"the name of a categorical or text column must have at most {MAX_PREFIX_LENGTH} characters"
                raise DataError(limit, found=shown(name), source=self.source)

    def _kind(self, name: str, column: Any) -> str:
        kind = self._kind_of_type(name, column.type)
        return kind_of_cells(column, numbers=self.untyped) if kind == "string" else kind

    def _kind_of_type(self, name: str, given: Any) -> str:
        kind = kind_of_type(given)
        if kind is None:
            allowed = "numbers, bools, strings and lists of strings can be used"
            raise self.error(f"the column {name!r} has the type {given}; {allowed}", "leave it out with {ignore}")
        return kind


def _is_complete(schema: Schema) -> bool:
    """Return whether the schema names all columns; then others are left out."""
    return schema.label is not None and schema.label in schema.columns


def check_roles(schema: Schema, source: str) -> None:
    """Raise a DataError if a column or key has two roles."""
    if schema.label is not None and schema.label == schema.weight:
        raise DataError(f"{schema.label!r} cannot be both the label and the weight", source=source)
    for role, name in (("label", schema.label), ("weight", schema.weight)):
        if name in schema.ignore:
            raise DataError(f"{name!r} cannot be both the {role} and ignored", source=source)


def default_label(names: list[str], source: str, options: ReaderOptions, what: str = "column") -> str | None:
    """Return the column or key that is the label; None if labels are optional and there is none."""
    found = [name for name in LABEL_NAMES if name in names]
    if len(found) == 1:
        return found[0]
    if not found and options.optional_labels:
        return None
    usual = f"{', '.join(map(repr, LABEL_NAMES[:-1]))} or {LABEL_NAMES[-1]!r}"
    why = f"{' and '.join(map(repr, found))} could both be it" if found else f"none is called {usual}"
    problem = f"which {what} is the label? {why}; the {what}s are {listed(names)}"
    raise DataError(problem, source=source, hint="name it with {label}")


def listed(names: list[str]) -> str:
    """Return names for a message."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more
