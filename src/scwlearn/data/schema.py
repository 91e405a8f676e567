"""Schema: how examples are read from data, and what the values in it may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from scwlearn._native import LARGEST_VALUE

#: Kinds of table columns: numbers, categories, or text that is split into words.
COLUMN_KINDS = ("numeric", "categorical", "text")
#: What a value may be, for messages.
ALLOWED_NUMBER = f"a finite number of at most {LARGEST_VALUE:g} in magnitude"
#: Labels are kept in an array, each as long as the longest.
MAX_LABEL_LENGTH = 256
#: A namespace, key or column is repeated in the name of each of its features. If it were longer, a small file could
#: exhaust the memory.
MAX_PREFIX_LENGTH = 256

_find_words = re.compile(r"\w+").findall


@dataclass(frozen=True)
class Schema:
    """How examples are read from data. A model keeps it to read the data that it predicts as it read its training data.

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

    def to_json(self) -> dict[str, Any]:
        """Return the schema as a JSON object."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {
            "ignore": list(self.ignore),
            "columns": dict(self.columns),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the schema of a JSON object."""
        known = {f.name for f in fields(cls)}
        given = {name: value[name] for name in value if name in known}
        return cls(**given | {"ignore": tuple(given.get("ignore", ()))})


def split_words(text: str) -> list[str]:
    """Return the words of a text: runs of letters, digits and ``_``, in lower case.

    Examples
    --------
    >>> from scwlearn.data.schema import split_words
    >>> split_words("Don't panic: it's 42 o'clock!")
    ['don', 't', 'panic', 'it', 's', '42', 'o', 'clock']
    """
    return _find_words(text.lower())
