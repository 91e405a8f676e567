"""The schema of a table, completed from the names of its columns and its first records."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from scwlearn._native import LONGEST_KEY
from scwlearn.data.detect import SAMPLE, cell_kinds, detect, known_kinds, label_kind
from scwlearn.data.features import ALL_KEYS, Features
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import LABEL_NAMES, Schema, check_roles, default_label, listed

# How many cells of the first records show the kinds of columns.
_SAMPLED_CELLS = 2**20
_POSITION = re.compile(r"-?[1-9][0-9]*", re.ASCII)


def resolve_columns(schema: Schema, names: Sequence[str], options: ReaderOptions) -> Schema:
    """Return the schema with the label and the weight as the table calls them.

    Parameters
    ----------
    schema : Schema
        What is declared, or how earlier data were read.
    names : sequence of str
        All columns of the table.
    options : ReaderOptions
        Whether the label and the weight may be missing.

    Raises
    ------
    DataError
        If two columns have the same name, or a column of the schema is missing.
    """
    optional = options.optional_labels
    check_names(names)
    known = {*names}
    label = usual_label(names, schema, options) if schema.label is None else find_column(schema.label, names)
    weight = None if schema.weight is None else find_column(schema.weight, names)
    absent = {
        role: name
        for role, name in (("label", label), ("weight", weight))
        if name is not None and name not in known and not optional
    }
    kinds = schema.features.kinds
    found = replace(schema, label=label, weight=weight)
    if is_complete(schema) or schema.is_fixed:
        missing = missing_columns(schema, names)
        if missing:
            new = [name for name in names if name not in kinds and name not in (label, weight)]
            missing += [name for name in absent.values() if name not in missing]
            problem = f"a table must have the columns of the training data; missing: {listed(missing)}"
            raise DataError(problem + (f"; new: {listed(new)}" if new else ""))
    else:
        check_roles(found)
        for name, kind in kinds.items():
            if name not in known:
                what = " to ignore" if kind == "ignore" else ""
                raise DataError(f"no column {name!r}{what}; the columns are {listed(names)}")
        groups = dict.fromkeys(chain.from_iterable(schema.features.interactions))
        for name in _unknown_groups([name for name in groups if name != ALL_KEYS], names, schema.features.separator):
            raise DataError(f"no column {name!r} for interactions; the columns are {listed(names)}")
    for role, name in absent.items():
        raise DataError(f"no {role} column {name!r}; the columns are {listed(names)}")
    return found


def _unknown_groups(groups: Sequence[str], names: Sequence[str], separator: str) -> list[str]:
    """Return the groups of interactions that are no columns, structs or features of columns, whatever their kinds."""
    owners = [Features(kinds=dict.fromkeys(names, kind)).spec().owner_of for kind in ("auto", "text")] if groups else []

    def is_known(group: str) -> bool:
        # The hour of a date is two features: its sine and its cosine.
        features = group, f"{group}.sin"
        # A struct is one key with its fields behind the separator.
        fields = group + separator, f"{group}^"
        has_owner = any(owner_of(name) is not None for owner_of in owners for name in features)
        return has_owner or any(name.startswith(fields) for name in names)

    return [group for group in groups if not is_known(group)]


def missing_keys(what: str, missing: Sequence[str], new: Sequence[str], hint: str | None = None) -> DataError:
    """Return the error of records or lines that have none of the keys of the table that a model has learned from."""
    problem = f"{what} must have keys of the training data; missing: {listed(missing)}"
    return DataError(problem + (f"; new: {listed(new)}" if new else ""), hint=hint)


def check_names(names: Sequence[str]) -> None:
    """Raise a DataError if two columns have the same name."""
    if len({*names}) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"two columns have the name {repeated!r}; names must be unique")


def resolve_kinds(
    schema: Schema, names: Sequence[str], values: Mapping[str, Sequence[Any]], options: ReaderOptions, *, untyped: bool
) -> Schema:
    """Return the schema with the kind of each column, declared or found in the first records.

    Parameters
    ----------
    schema : Schema
        As `resolve_columns` returns it.
    names : sequence of str
        All columns of the table.
    values : mapping from str to sequence
        The values of the columns in the first records; of the label and of those whose kind is not declared.
    options : ReaderOptions
        Whether labels are read.
    untyped : bool
        Whether numbers are given as strings.

    Raises
    ------
    DataError
        If the kind of a column is unclear, or its name is too long.
    """
    label = schema.label if schema.label in names and not options.ignores_labels else None
    if is_complete(schema) or schema.is_fixed:
        if untyped and schema.is_fixed:
            kinds = _kinds_of_cells(schema, names, values, options)
            schema = replace(schema, features=schema.features.declare(kinds), is_resolved=True)
        if label is None or schema.label_kind is not None:
            return schema
        known = options.known_label_kind() if untyped and options.known_label_kind is not None else None
        found_kind = known or label_kind(values.get(label, ()), schema.features, untyped=untyped)
        return replace(schema, label_kind=found_kind)
    found = detect(values, schema.features, label=label, weight=schema.weight, columns=names, untyped=untyped)
    for name, kind in found.features.kinds.items():
        if kind in ("categorical", "text", "date") and len(name) > LONGEST_KEY:
            limit = f"the name of a categorical, text or date column must have at most {LONGEST_KEY} characters"
            raise DataError(limit, found=shown(name))
    return replace(schema, features=found.features, label_kind=found.label_kind, notes=found.notes)


def _kinds_of_cells(
    schema: Schema, names: Sequence[str], values: Mapping[str, Sequence[str]], options: ReaderOptions
) -> dict[str, str]:
    """Return the kinds of the columns of text of which a model has learned values with types.

    The features that it knows show them. Of a column without any, the first cells decide, unless nothing is learned:
    then its features have no weight, and an eager reader need not wait for them. Otherwise each cell decides. What was
    decided for an earlier file or part is not asked again.
    """
    declared, owner_of = schema.features, schema.features.spec().owner_of
    untyped = []
    for name in names:
        owner = owner_of(name)
        is_decided = schema.is_resolved and owner in declared.kinds
        is_auto = declared.kinds.get(owner or "", declared.others) == "auto"
        if is_auto and not is_decided and name not in (schema.label, schema.weight):
            untyped.append(name)
    kinds = known_kinds(untyped, options.known_names()) if untyped and options.known_names is not None else {}
    if is_complete(schema):
        return kinds
    cells = cell_kinds({name: values[name] for name in untyped if name not in kinds}, declared)
    if options.lost_names is not None:
        _check_numbers([name for name, kind in cells.items() if kind == "numeric"], options.lost_names)
    return kinds if options.known_names is not None and options.ignores_labels else cells | kinds


def _check_numbers(columns: list[str], lost_names: Callable[[list[str]], set[str]]) -> None:
    """Raise a DataError if columns of numbers may be strings for a model: it has lost no names of such numbers."""
    lost = lost_names(columns)
    if unclear := [name for name in columns if name not in lost]:
        what = f"columns {listed(unclear)} are new, or the model has learned their values as strings"
        hint = "name them in {numeric}, {categorical} or {ignore}, or pass JSON, where values have types"
        raise DataError(f"{what}: hashing has lost some names", hint=hint)


def is_position(name: str | None, names: Sequence[str]) -> bool:
    """Return whether a column is given by its position, not by its name."""
    return name is not None and name not in names and _POSITION.fullmatch(name) is not None


def sample_size(columns: int) -> int:
    """Return how many records show the kinds of that many columns."""
    return max(1, min(SAMPLE, _SAMPLED_CELLS // max(1, columns)))


def names_label(label: str | None, names: Sequence[str]) -> bool:
    """Return whether the cells of a line include the name of the label, given or usual: then it is a header."""
    if label is not None:
        return label in names
    # A y may be data: the answer "yes".
    return not ({*LABEL_NAMES} - {"y"}).isdisjoint(name.casefold() for name in names)


def is_complete(schema: Schema) -> bool:
    """Return whether the schema names all columns; then others are left out."""
    return schema.features.others == "ignore"


def wanted_columns(schema: Schema) -> list[str]:
    """Return the columns that are features."""
    return [name for name, kind in schema.features.kinds.items() if kind != "ignore"]


def missing_columns(schema: Schema, names: Sequence[str]) -> list[str]:
    """Return the columns that are features, but are not there, nor, if they are structs, their fields."""
    missing = {*wanted_columns(schema)}.difference(names)
    in_order = sorted(names) if missing else []

    def has_field(column: str) -> bool:
        start = column + schema.features.separator
        # Cutting each name at its separators would take much memory for a long one.
        at = bisect_left(in_order, start)
        return at < len(in_order) and in_order[at].startswith(start)

    return [name for name in wanted_columns(schema) if name in missing and not has_field(name)]


def usual_label(names: Sequence[str], schema: Schema, options: ReaderOptions, what: str = "column") -> str | None:
    """Return the column or key with the usual name of a label, unless it is ignored or a feature that a model knows."""
    left_out = {*schema.ignore} | known_labels(names, options)
    if options.lost_names is not None:
        # What is declared is a feature, or an object with features.
        usual = [name for name in names if name.lower() in LABEL_NAMES]
        left_out |= keys_of(usual, schema.features.kinds, schema.features.separator)
    own = [name for name in names if name not in left_out]
    for name in unclear_labels(own, schema, options):
        raise unclear_label(name, what)
    return default_label(own, optional=options.optional_labels, ignored=options.ignores_labels, what=what)


def usual_key(keys: Sequence[str], nested: set[str], schema: Schema, options: ReaderOptions) -> str | None:
    """Return the key of records with the usual name of a label; the nested ones are those of objects."""
    # Where labels are ignored, the first records must not matter.
    objects = known_labels(keys if options.ignores_labels else [*nested], options, schema.features.separator)
    own = [key for key in keys if key not in objects]
    # If all that could be it are objects, the message says so.
    values = [key for key in own if options.ignores_labels or key not in nested]
    has_label = any(key.lower() in LABEL_NAMES for key in values)
    return usual_label(values if has_label else own, schema, options, "key")


def usual_keys(schema: Schema, options: ReaderOptions) -> tuple[dict[str, str], list[str]]:
    """Return the kinds of keys with usual names of labels that a model does not know, and those that are unclear."""
    usual = [each for name in LABEL_NAMES for each in (name, name.capitalize(), name.upper())]
    known = {*schema.features.kinds} | known_labels(usual, options, schema.features.separator)
    new = [name for name in usual if name not in known]
    unclear = unclear_labels(new, schema, options)
    return dict.fromkeys([] if unclear else new, "ignore"), unclear


def unclear_labels(names: Iterable[str], schema: Schema, options: ReaderOptions) -> list[str]:
    """Return the usual names of labels among some names of which a model may have learned features.

    The names that hashing has lost cannot be listed: there may be one for each value, or for each key of an object.
    """
    if options.lost_names is None:
        return []
    usual = [name for name in names if name.lower() in LABEL_NAMES]
    declared = keys_of(usual, schema.features.kinds, schema.features.separator)
    return [name for name in usual if name not in declared]


def unclear_label(name: str, what: str) -> DataError:
    """Return the error of a column or key that may be the label or a feature."""
    problem = f"{what} {name!r} may be the label, or a feature that the model has learned: hashing has lost some names"
    return DataError(problem, hint="name the label with {label}, or the feature in {numeric} or {categorical}")


def known_labels(names: Sequence[str], options: ReaderOptions, separator: str | None = None) -> set[str]:
    """Return the usual names of labels among some names that are features of the model, or objects with such."""
    usual = [name for name in names if name.lower() in LABEL_NAMES]
    if not usual or options.known_names is None:
        return set()
    return keys_of(usual, options.known_names(), separator)


def keys_of(keys: Sequence[str], names: Iterable[Any], separator: str | None) -> set[str]:
    """Return the keys that have features with these names; with a separator, objects with such features as well."""
    # A model may know millions of names, of which few start like this.
    starts = tuple(keys)
    known = [name for name in names if isinstance(name, str) and name.startswith(starts)]
    found = {*known_kinds(keys, known)}
    if separator is not None:
        found |= {name for name in keys if any(each.startswith(name + separator) for each in known)}
    return found


def find_column(name: str, names: Sequence[str]) -> str:
    """Return the column of a name, regardless of case, or of a position: 1 is the first one, -1 the last.

    A column of exactly this name comes first. Returns the name itself if there is no such column.
    """
    if name in names:
        return name
    same = [each for each in names if each.casefold() == name.casefold()]
    if len(same) == 1:
        return same[0]
    if _POSITION.fullmatch(name) and 1 <= abs(position := int(name)) <= len(names):
        return names[position - (position > 0)]
    return name
