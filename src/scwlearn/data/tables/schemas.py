"""Tables, whatever file they come from: how their columns are read, and the examples that their rows are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.checks import check_choice
from scwlearn.data.examples import COLUMN_KINDS, Examples, Schema
from scwlearn.data.io.errors import DataError
from scwlearn.data.readers import Made, RecordSource
from scwlearn.data.tables.assembling import together
from scwlearn.data.tables.columns import (
    LONGEST_PREFIX,
    Bad,
    features_of,
    kind_of_cells,
    kind_of_type,
    labels_of,
    weights_of,
)

#: What a column of labels is called where nobody says.
LABEL_NAMES = ("label", "target", "class", "y")
# How many columns a message names.
_NAMED = 20
# How much of one that is too long.
_SHOWN = 40


class Piece(NamedTuple):
    """Consecutive records of a table."""

    #: All columns that the table has.
    names: list[str]
    #: Their cells, as Arrow's arrays.
    columns: dict[str, Any]
    #: Where each stands.
    lines: NDArray[np.int64]
    #: Records among them that are no rows of the table, and are not in it.
    faults: list[DataError]


def check_names(names: list[str], source: str) -> None:
    """A ValueError for columns whose names are no names."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{source}: two columns have the name {name!r}; names must differ")
        seen.add(name)


def is_resolved(schema: Schema) -> bool:
    """Whether a schema says everything: then columns that it does not name are left out."""
    return schema.label is not None and schema.label in schema.columns


def resolved(piece: Piece, given: Schema, origin: RecordSource) -> Schema:
    """The schema with what the first records show: the label, and what each column is, that of the label too."""
    if is_resolved(given):
        check_columns(piece, given, origin)
        _check_prefixes(given, origin)
        return given
    for name, kind in given.columns.items():
        check_choice(f"the kind of the column {name!r}", kind, COLUMN_KINDS)
    label = given.label if given.label is not None else default_label(piece.names, origin)
    schema = replace(given, label=label)
    check_columns(piece, schema, origin)
    check_roles(schema, origin.name)
    unknown = [name for name in given.ignore if name not in piece.names]
    if unknown:
        raise ValueError(f"{origin.name} has no column {unknown[0]!r} to ignore; it has {listed(piece.names)}")
    kinds = {
        name: given.columns.get(name) or _kind(name, piece.columns[name], origin)
        for name in piece.names
        if name not in given.ignore and name != given.weight
    }
    if label is not None and kinds.get(label) == "text":
        if label in given.columns or kind_of_type(piece.columns[label].type) == "text":
            raise ValueError(f"{origin.name}: the label {label!r} is numeric or categorical, not text")
        kinds[label] = "categorical"
    schema = replace(schema, columns=kinds)
    _check_prefixes(schema, origin)
    return schema


def _check_prefixes(schema: Schema, origin: RecordSource) -> None:
    """A ValueError for a column whose name is too long to be spelled out with each of its strings."""
    for name, kind in schema.columns.items():
        if kind != "numeric" and name != schema.label and len(name) > LONGEST_PREFIX:
            raise ValueError(
                f"{origin.name}: the name of a categorical or text column has at most {LONGEST_PREFIX} characters; "
                f"found {name[:_SHOWN]!r}..."
            )


def check_roles(schema: Schema, source: str) -> None:
    """A ValueError for a column or key that is to be two things at once."""
    if schema.label is not None and schema.label == schema.weight:
        raise ValueError(f"{source}: {schema.label!r} cannot be both the label and the weight")
    for what, name in (("label", schema.label), ("weight", schema.weight)):
        if name in schema.ignore:
            raise ValueError(f"{source}: {name!r} cannot be both the {what} and ignored")


def wanted_columns(names: list[str], schema: Schema) -> list[str]:
    """The columns that have to be read."""
    known = {*schema.columns, schema.label, schema.weight} if is_resolved(schema) else set(names)
    return [name for name in names if name in known and name not in schema.ignore]


def check_columns(piece: Piece, schema: Schema, origin: RecordSource) -> None:
    """A ValueError for a column that the schema has and the table has not, or not as what it should be."""
    names = {*piece.names}
    may_miss = {schema.label, schema.weight} if origin.options.labels == "optional" else set()
    wanted = [*schema.columns, *filter(None, (schema.label, schema.weight))]
    for name in dict.fromkeys(wanted):
        if name not in names and name not in may_miss:
            what = "label column" if name == schema.label else "weight column" if name == schema.weight else "column"
            raise ValueError(f"{origin.name} has no {what} {name!r}; it has {listed(piece.names)}")
    for name, kind in schema.columns.items():
        if name in piece.columns:
            _check_kind(name, kind, piece.columns[name].type, origin)


def _check_kind(name: str, kind: str, given: Any, origin: RecordSource) -> None:
    """A ValueError for a type that does not go with a kind of column: strings go with all."""
    held = _kind_of_type(name, given, origin)
    if (kind == "text" and held == "numeric") or (kind != "text" and held == "text"):
        raise ValueError(f"{origin.name}: the column {name!r} is to be {kind}, but is of the type {given}")


def default_label(names: list[str], origin: RecordSource, what: str = "column") -> str | None:
    """The column (or key) that must be the label; None where there need not be any."""
    found = [name for name in LABEL_NAMES if name in names]
    if len(found) == 1:
        return found[0]
    if not found and origin.options.labels == "optional":
        return None
    several = f"{' and '.join(map(repr, found))} could both be" if found else f"none is called {_or(LABEL_NAMES)}"
    raise DataError(
        f"which {what} is the label? {several}; the {what}s are {listed(names)}",
        source=origin.name,
        hint="name it with {label}",
    )


def listed(names: list[str]) -> str:
    """Names for a message."""
    return ", ".join(map(repr, names[:_NAMED])) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _or(names: tuple[str, ...]) -> str:
    return f"{', '.join(map(repr, names[:-1]))} or {names[-1]!r}"


def _kind(name: str, column: Any, origin: RecordSource) -> str:
    kind = _kind_of_type(name, column.type, origin)
    return kind_of_cells(column, numbers=origin.untyped) if kind == "string" else kind


def _kind_of_type(name: str, given: Any, origin: RecordSource) -> str:
    kind = kind_of_type(given)
    if kind is None:
        raise DataError(
            f"the column {name!r} is of the type {given}, which is nothing to learn from; "
            "numbers, bools, strings and lists of strings are",
            source=origin.name,
            hint="leave it out with {ignore}",
        )
    return kind


def examples_of(piece: Piece, schema: Schema, origin: RecordSource) -> Made:
    """The examples that records are, without those that cannot be read."""
    bad: list[Bad] = []
    examples = _converted(piece, schema, origin, bad)
    first: dict[int, DataError] = {}
    for column, rows, problem, found_at, hint in bad:
        for row in rows.tolist():
            if row not in first:
                place: dict[str, Any] = {"source": origin.name, "line": int(piece.lines[row]), "unit": origin.unit}
                first[row] = DataError(problem, found=found_at(row), hint=hint, column=column, **place)
    if first:
        keep = np.delete(np.arange(len(piece.lines)), [*first])
        columns = {name: column.take(keep) for name, column in piece.columns.items()}
        examples = _converted(Piece(piece.names, columns, piece.lines[keep], []), schema, origin, bad)
    faults = sorted([*piece.faults, *first.values()], key=lambda fault: fault.line)
    return Made(examples, faults)


def _converted(piece: Piece, schema: Schema, origin: RecordSource, bad: list[Bad]) -> Examples:
    count = len(piece.lines)
    labels: NDArray[Any] | None = None
    labelled: NDArray[np.bool_] | None = None
    if schema.label is not None and schema.label in piece.columns:
        column = piece.columns[schema.label]
        labels, missing = labels_of(schema.label, column, schema.columns[schema.label], bad)
        if missing.any() and origin.options.labels == "required":
            bad.append(Bad(schema.label, np.flatnonzero(missing), "a record has a label", lambda row: "nothing"))
        labelled = ~missing if missing.any() else None
    has_weights = schema.weight is not None and schema.weight in piece.columns
    weights = weights_of(str(schema.weight), piece.columns[str(schema.weight)], bad) if has_weights else None
    parts = [
        part
        for name, kind in schema.columns.items()
        if name not in (schema.label, schema.weight)
        and (part := features_of(name, piece.columns[name], kind, bad)) is not None
    ]
    # What is bad is left out of the parts, which nobody gets to see.
    x = together(parts, count)
    return Examples(x, labels, weights, piece.lines, origin.name, labelled)
