"""Schema: how examples are read from data, and what the values in it may be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from scwlearn._native import LARGEST_VALUE
from scwlearn._util.checks import check_choice
from scwlearn.data.io.errors import DataError

# Kinds of table columns: numbers, categories, or text that is split into words.
_COLUMN_KINDS = ("numeric", "categorical", "text")
#: What a value may be, for messages.
ALLOWED_NUMBER = f"a finite number of at most {LARGEST_VALUE:g} in magnitude"
#: Labels are kept in an array, each as long as the longest.
MAX_LABEL_LENGTH = 256
#: A namespace, key or column is repeated in the name of each of its features. If it were longer, a small file could
#: exhaust the memory.
MAX_PREFIX_LENGTH = 256
# Names of the label column or key that need not be declared.
_LABEL_NAMES = ("label", "target", "class", "y")
# How many column names a message lists.
_LISTED = 20

_find_words = re.compile(r"\w+").findall


@dataclass(frozen=True)
class Schema:
    """How examples are read from data. A model keeps it, so that later data is read in the same way.

    Parameters
    ----------
    format : str
        "libsvm", "vw", "csv", "tsv", "jsonl", "parquet" or "arrow".
    label, weight : str or None
        Column or key of the label and of the sample weight. None if the format has its own place for it, or if there is
        none.
    ignore : tuple of str
        Columns, keys or VW namespaces that are left out.
    columns : mapping
        Kind of each table column that becomes features ("numeric", "categorical", "text"), as found in the first rows.
    zero_based : bool
        Whether LIBSVM indices start at 0.

    Examples
    --------
    >>> from scwlearn.data.schema import Schema
    >>> Schema("csv", label="y", columns={"size": "numeric"}).to_json()["label"]
    'y'
    """

    format: str
    label: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    zero_based: bool = False

    def __post_init__(self) -> None:
        check_kinds(self.columns)

    def to_json(self) -> dict[str, Any]:
        """Return the schema as a JSON object."""
        return vars(self) | {"ignore": list(self.ignore), "columns": dict(self.columns)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the schema of a JSON object."""
        known = {f.name for f in fields(cls)}
        given = {name: value[name] for name in value if name in known}
        return cls(**given | {"ignore": tuple(given.get("ignore", ()))})


def check_kinds(columns: Mapping[str, str]) -> None:
    """Raise a ValueError if a kind of a column or key is unknown."""
    for name, kind in columns.items():
        check_choice(f"the kind of {name!r}", kind, _COLUMN_KINDS)


def split_words(text: str) -> list[str]:
    """Return the words of a text: runs of letters, digits and ``_``, in lower case."""
    return _find_words(text.lower())


def check_roles(schema: Schema) -> None:
    """Raise a DataError if a column or key has two roles."""
    if schema.label is not None and schema.label == schema.weight:
        raise DataError(f"{schema.label!r} cannot be both the label and the weight")
    for role, name in (("label", schema.label), ("weight", schema.weight)):
        if name in schema.ignore:
            raise DataError(f"{name!r} cannot be both the {role} and ignored")


def default_label(names: Sequence[str], *, optional: bool, what: str = "column") -> str | None:
    """Return the column or key that is the label; None if labels are optional and there is none."""
    found = [name for name in _LABEL_NAMES if name in names]
    if len(found) == 1:
        return found[0]
    if not found and optional:
        return None
    usual = f"{', '.join(map(repr, _LABEL_NAMES[:-1]))} or {_LABEL_NAMES[-1]!r}"
    why = f"{' and '.join(map(repr, found))} could both be it" if found else f"none is called {usual}"
    raise DataError(f"which {what} is the label? {why}; the {what}s are {listed(names)}", hint="name it with {label}")


def listed(names: Sequence[str]) -> str:
    """Return names of columns or keys for a message."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more
