"""Schema: how examples are read from data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from scwlearn._native import FeatureSpec
from scwlearn._util.checks import check_bool, check_choice, check_text
from scwlearn._util.json_fields import NOT_STORED, Check, OneOf, to_json
from scwlearn.data.features import Features
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.options import ReaderOptions

#: Names of the label column or key that need not be declared.
LABEL_NAMES = ("label", "target", "class", "y")
# How many column names a message lists.
_LISTED = 20

_DELIMITER = re.compile(r"(?![0-9A-Za-z\".+-])[\x01-\x09\x0b\x0c\x0e-\x7e]")


def _check_format(name: str) -> str:
    # The formats import this module.
    from scwlearn.data.formats import format_names

    return check_choice("format", name, format_names())


@dataclass(frozen=True)
class Schema:
    """How examples are read from data. A model keeps it, so that later data is read in the same way.

    Parameters
    ----------
    format : str
        Name of the data format.
    label, weight : str or None
        Column or key of the label and of the sample weight. None if the format has its own place for it, or if there is
        no such column.
    label_kind : {"numeric", "categorical"} or None
        Kind of the labels; None if it is unknown, or if the format determines it.
    features : Features
        What the values of records mean.
    zero_based : bool
        Whether LIBSVM indices start at 0.
    header : bool or None
        Whether the first line of a CSV file names the columns. None to detect it.
    delimiter : str or None
        Character between the cells of a CSV file. None to detect it.
    is_delimiter_given : bool
        Whether the user has named the delimiter of these data. If not, that of a trained model is only likely.
    notes : tuple of DataError
        What the user should know about the data, as errors that are not raised.
    is_fixed : bool
        Whether a model or earlier data determine what values mean, so that nothing is detected.
    is_resolved : bool
        Whether a reader has completed the schema, so that the kinds of its columns are final, "auto" as well.

    Examples
    --------
    >>> from scwlearn.data.features import Features
    >>> from scwlearn.data.schema import Schema
    >>> Schema("csv", label="y", features=Features(kinds={"size": "numeric"})).to_json()
    {'format': 'csv', 'label': 'y'}
    """

    format: Annotated[str, Check(_check_format)]
    label: str | None = None
    weight: str | None = None
    label_kind: Annotated[str, OneOf(("numeric", "categorical"))] | None = None
    features: Annotated[Features, NOT_STORED] = field(default_factory=Features)
    zero_based: bool = False
    header: bool | None = None
    delimiter: str | None = None
    is_delimiter_given: Annotated[bool, NOT_STORED] = field(default=False, compare=False)
    notes: Annotated[tuple[DataError, ...], NOT_STORED] = field(default=(), compare=False)
    is_fixed: Annotated[bool, NOT_STORED] = field(default=False, compare=False)
    is_resolved: Annotated[bool, NOT_STORED] = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.header is not None:
            check_bool("header", self.header)
        for role in ("label", "weight"):
            if (name := getattr(self, role)) is not None:
                check_text(role, name)
        given = self.delimiter
        if given is not None and (not isinstance(given, str) or not _DELIMITER.fullmatch(given)):
            allowed = "one ASCII character that is not a letter, digit, quote, point or sign"
            raise ValueError(f"delimiter must be {allowed}, got {given!r}")

    @property
    def ignore(self) -> tuple[str, ...]:
        """Columns, keys or namespaces that are left out."""
        roles = (self.label, self.weight)
        return tuple(name for name, kind in self.features.kinds.items() if kind == "ignore" and name not in roles)

    @property
    def columns(self) -> dict[str, str]:
        """Kinds of the columns that are read, and of the label."""
        kinds = {name: kind for name, kind in self.features.kinds.items() if kind != "ignore"}
        return kinds if self.label is None or self.label_kind is None else kinds | {self.label: self.label_kind}

    def to_json(self) -> dict[str, Any]:
        """Return the schema as a JSON object, without the features, which are stored with the model."""
        values: dict[str, Any] = to_json(self, defaults=False)
        return values

    def fixed(self, features: Features) -> Schema:
        """Return the schema of a model with these features, so that nothing is detected but the delimiter."""
        return replace(self, features=features, is_fixed=True, is_resolved=False, is_delimiter_given=False)


def spec_of(schema: Schema, options: ReaderOptions) -> FeatureSpec:
    """Return the declaration of the features, the label and the weight for the native readers."""
    if options.ignores_labels:
        roles = [name for name in (schema.label, schema.weight) if name is not None]
        return schema.features.declare(dict.fromkeys(roles, "ignore")).spec(slots=options.slots)
    return schema.features.spec(label=schema.label, weight=schema.weight, slots=options.slots)


def check_roles(schema: Schema) -> None:
    """Raise a DataError if a column or key has two roles."""
    if schema.label is not None and schema.label == schema.weight:
        raise DataError(f"{schema.label!r} cannot be both the label and the weight")
    for role, name in (("label", schema.label), ("weight", schema.weight)):
        if name is not None and schema.features.kinds.get(name) == "ignore":
            raise DataError(f"{name!r} cannot be both the {role} and ignored")


def default_label(names: Sequence[str], *, optional: bool, ignored: bool = False, what: str = "column") -> str | None:
    """Return the column or key that is the label; None if labels are optional and there is none.

    If labels are ignored, two that could be it are None, too.
    """
    lowered = [name.lower() for name in names]
    found = [names[i] for usual in LABEL_NAMES for i, name in enumerate(lowered) if name == usual]
    if len(found) == 1:
        return found[0]
    if ignored or (not found and optional):
        return None
    usual = f"{', '.join(map(repr, LABEL_NAMES[:-1]))} or {LABEL_NAMES[-1]!r}"
    why = f"{' and '.join(map(repr, found))} could both be it" if found else f"none is called {usual}"
    raise DataError(f"which {what} is the label? {why}; the {what}s are {listed(names)}", hint="name it with {label}")


def listed(names: Sequence[str]) -> str:
    """Return names of columns or keys for a message."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(shown(name) if name else "''" for name in names[:_LISTED]) + more
