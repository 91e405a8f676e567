"""Features: what the values of a record mean, for every format and every interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import islice
from typing import Any

from scwlearn._native import DEEPEST, LARGEST_VALUE, LONGEST_KEY, FeatureSpec, RecordReader
from scwlearn._util.checks import check_bool, check_choice, check_int, check_text, is_unicode
from scwlearn._util.json_fields import to_json
from scwlearn._util.memory import check_memory
from scwlearn.data.io.errors import DataError, shown

#: What the values of a key may be.
KINDS = ("auto", "numeric", "categorical", "text", "date", "ignore")
#: Kind of a column of cells that a model knows as strings: a category, of which the text of a bool is one, too.
STRING = "string"
#: What a number may be, for messages.
ALLOWED_NUMBER = f"a finite number of at most {LARGEST_VALUE:g} in magnitude"
#: The group of all keys in an interaction.
ALL_KEYS = "*"

# Bounds that keep the number of features of a text in proportion to its length.
_MAX_NGRAM, _MAX_SKIPS, _MAX_CHARS = 8, 8, 32
# What is never declared is found out for a file.
_KNOWN_KINDS = frozenset({*KINDS, STRING})
# How many columns one interaction and all together may name.
_MAX_PLACES, _MAX_GROUPS = 8, 64
# What an error suggests where a value does not fit its kind.
_KIND_HINT = "correct the value, {skip}or declare another kind"
_NUMERIC_HINT = (
    "correct the value, {skip}name the column in {categorical}, or list markers of missing values in {missing}"
)
_SKIP = "leave such records out with {on_error=skip}, "
# The problem and the hint of each fault that the native builder of rows reports.
_FAULTS = {
    "numeric": (f"a value of a numeric column must be missing or {ALLOWED_NUMBER}", _NUMERIC_HINT),
    "range": (f"a number must be {ALLOWED_NUMBER}", "drop missing values with {missing=ignore}"),
    "text": ("a value of a text column must be a string or a list of strings", _KIND_HINT),
    "date": ("a value of a date column must be a date such as 2026-11-17 or 2026-11-17 14:30:00", _KIND_HINT),
    "moment": ("a date in a column of another kind", _KIND_HINT),
    "list": ("a list must hold strings, each a feature, and its column must not be numeric or a date", _KIND_HINT),
    "value": ("a value must be a number, a string, a date, a list of strings, an object or missing", None),
    "prefix": (
        f"the key of several features must have at most {LONGEST_KEY} characters, with those above it",
        None,
    ),
    "unicode": (
        "keys and strings must be valid Unicode",
        'replace what is not: text.encode(errors="replace").decode()',
    ),
    "depth": (f"objects must be nested at most {DEEPEST} deep", None),
    "sum": (f"the values of one feature must add up to {ALLOWED_NUMBER}", None),
    "many": ("a record may have about a million features at most", "use a smaller {ngram}, or fewer {skips}"),
    "cross": ("a record may have about a million interactions at most", "use fewer columns in {interactions}"),
    "batch": (
        "the records of a batch have too many features",
        "pass fewer rows at a time, use fewer columns in {interactions} or a smaller {ngram}, or hash the names",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Features:
    """What the values of a record mean. A model keeps it, so that a record means the same wherever it comes from.

    A number is the value of the feature "key". A string is a category, the feature "key=string", or a text, with a
    feature "key=word" for each of its words. A date becomes the years since 1970, and the hour and the weekday as
    points on a circle. A list of strings is a bag of words. The keys of a nested object are joined: "key.nested key".
    Missing values have no feature: None, an empty string, and in numeric and date columns NA, N/A, NaN, NaT, null, none
    and ?.

    Parameters
    ----------
    kinds : mapping
        Kind of each column or key: "numeric", "categorical", "text", "date", "ignore", or "auto" (the type of each
        value decides: number, string, list, date).
    others : str
        Kind of all other keys.
    ngram : int
        Sequences of up to this many words of a text are features. 0 leaves words out.
    skips : int
        Number of words that a sequence may skip.
    char_ngrams : tuple of int or None
        Shortest and longest sequence of characters of a word. Each is a feature "key~characters".
    lowercase : bool
        Whether text is converted to lower case.
    max_word_length : int
        Longer words of a text are cut.
    separator : str
        Joins the keys of nested objects.
    missing : {"error", "ignore"} or sequence of str
        "error": NaN is an error. "ignore": NaN is a missing value. Strings: markers of missing values in all
        columns; "nan" includes the number NaN.
    decimal : {".", ","}
        Decimal mark of numbers in text.
    interactions : sequence
        Products of features: "sender:subject" (or a pair) multiplies each feature of one column with each of the other;
        three names multiply three features. A name also covers the keys nested in it and features such as "sender=bob",
        and may be a VW namespace; "*" is all columns. A column with itself gives the products of its pairs of features.

    Examples
    --------
    >>> from scwlearn import Features
    >>> features = Features(kinds={"subject": "text"}, interactions=["sender:subject"])
    >>> features.read({"sender": "bob", "subject": "Hi, hi Al", "size": 3, "cc": None})
    {'sender=bob': 1.0, 'subject=hi': 2.0, 'subject=al': 1.0, 'size': 3.0, \
'sender=bob*subject=hi': 2.0, 'sender=bob*subject=al': 1.0}
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    others: str = "auto"
    ngram: int = 1
    skips: int = 0
    char_ngrams: tuple[int, int] | None = None
    lowercase: bool = True
    max_word_length: int = 100
    separator: str = "."
    missing: str | tuple[str, ...] = "error"
    decimal: str = "."
    interactions: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        # A table may have a million columns.
        if not _are_kinds(self.kinds):
            for name, kind in self.kinds.items():
                check_text("a key of kinds", name)
                check_choice(f"the kind of {name!r}", kind, KINDS)
        check_choice("others", self.others, KINDS)
        check_choice("decimal", self.decimal, (".", ","))
        if not isinstance(self.separator, str) or not check_text("separator", self.separator):
            raise ValueError(f"separator must be a string that is not empty, got {self.separator!r}")
        self._set("kinds", dict(self.kinds))
        self._set("ngram", check_int("ngram", self.ngram, minimum=0, maximum=_MAX_NGRAM))
        self._set("skips", check_int("skips", self.skips, minimum=0, maximum=_MAX_SKIPS))
        self._set("max_word_length", check_int("max_word_length", self.max_word_length, maximum=10_000))
        self._set("lowercase", check_bool("lowercase", self.lowercase))
        self._set("char_ngrams", _checked_range(self.char_ngrams))
        self._set("missing", _checked_missing(self.missing))
        self._set("interactions", _checked_interactions(self.interactions))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @cached_property
    def is_plain(self) -> bool:
        """Whether nothing is declared, so that the type of each value decides."""
        return self == PLAIN

    def __hash__(self) -> int:
        return hash((frozenset(self.kinds.items()), self.others, self.interactions))

    def __repr__(self) -> str:
        """Return what is declared."""
        given = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if self._is_declared(f.name)]
        return f"Features({', '.join(given)})"

    def _is_declared(self, name: str) -> bool:
        return bool(getattr(self, name) != getattr(PLAIN, name))

    def declare(self, kinds: Mapping[str, str], columns: Sequence[str] = ()) -> Features:
        """Return the features with the kinds of more columns; those in `columns` come first, in this order."""
        known = {**self.kinds, **kinds}
        return replace(self, kinds={name: known[name] for name in columns if name in known} | known)

    def read(self, record: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of a record by name.

        Parameters
        ----------
        record : dict
            Values by key.

        Returns
        -------
        dict
            The value of each feature that is not zero.

        Raises
        ------
        DataError
            If a value does not fit its kind. A ValueError.
        """
        read = self._reader.read(record)  # type: ignore[arg-type]
        if isinstance(read, tuple):
            fault, key, found = read
            raise feature_error(fault, key, found, skippable=False)
        return read

    def read_many(self, records: Iterable[Mapping[str, Any]]) -> tuple[dict[str, float], ...]:
        """Return the features of each record by name."""
        found = []
        for number, record in enumerate(records):
            _check_dicts([record], number)
            try:
                found.append(self.read(record))
            except DataError as error:
                error.source = f"examples[{number}]"
                raise
        return tuple(found)

    @classmethod
    def detect(cls, examples: Any, **declared: Any) -> Features:
        """Detect the kinds of columns from the first 1,000 records, as when a file is read.

        Parameters
        ----------
        examples : iterable of dicts, or a table
            Records without their labels: dicts, a data frame of pandas or polars, an Arrow table. Every column of a
            table gets a kind; columns that appear later are ignored.
        **declared
            Other arguments of `Features`.

        Returns
        -------
        Features
            With the detected kinds. Ids are ignored.

        Raises
        ------
        DataError
            If the kind of a column is unclear.

        Examples
        --------
        >>> from scwlearn import Features
        >>> Features.detect([{"subject": "see you at noon", "size": 3}, {"subject": "a free offer today", "size": 1}])
        Features(kinds={'subject': 'text'})
        """
        from scwlearn.data.detect import SAMPLE, detect, values_by_key
        from scwlearn.data.tables.arrow import is_table, table_columns, table_records

        features = cls(**declared)
        if is_table(examples):
            records = table_records(examples, SAMPLE)
            columns = dict.fromkeys(table_columns(examples, records, features))
            values = {name: each for name, each in values_by_key(records, features).items() if name in columns}
            return detect(values, features, columns=[*columns]).features
        records = [*islice(examples, SAMPLE)]
        _check_dicts(records)
        objects: set[str] = set()
        values = values_by_key(records, features, objects)
        return detect(values, features, objects=objects).features

    def spec(self, *, label: str | None = None, weight: str | None = None, slots: int = 0) -> FeatureSpec:
        """Return the declaration for the native readers; `label` and `weight` are keys that are not features."""
        roles = {name: role for name, role in ((label, "label"), (weight, "weight")) if name is not None}
        marks = () if isinstance(self.missing, str) else self.missing
        # A native object that finds no memory while it is made ends the process.
        check_memory(0)
        return FeatureSpec(
            kinds={**self.kinds, **roles},
            others=self.others,
            separator=self.separator,
            lowercase=self.lowercase,
            ngram=self.ngram,
            skips=self.skips,
            char_ngrams=self.char_ngrams or (0, 0),
            longest_word=self.max_word_length,
            decimal=self.decimal,
            nan_is_missing=self.missing == "ignore" or any(mark.lower() == "nan" for mark in marks),
            missing=marks,
            interactions=[list(groups) for groups in self.interactions],
            slots=slots,
        )

    @cached_property
    def missing_numbers(self) -> frozenset[float]:
        """The markers of missing values that are numbers."""
        from scwlearn.data.detect import is_number_text, trimmed

        marks = () if isinstance(self.missing, str) else self.missing
        numbers = (trimmed(mark).replace(self.decimal, ".") for mark in marks)
        return frozenset(float(number) for number in numbers if is_number_text(number))

    @cached_property
    def _reader(self) -> RecordReader:
        return RecordReader(self.spec())

    def __getstate__(self) -> dict[str, Any]:
        # The reader is native, and made again when it is needed.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def to_json(self) -> dict[str, Any]:
        """Return what is declared as a JSON object."""
        values: dict[str, Any] = to_json(self, defaults=False)
        return values


def _check_dicts(examples: Sequence[Any], first: int = 0) -> None:
    for number, example in enumerate(examples, first):
        if not isinstance(example, dict):
            raise TypeError(f"examples[{number}] must be a dict, got {type(example).__name__}")


def date_features(key: str) -> list[str]:
    """Return the names of all features of a date."""
    return [key, *(f"{key}.{unit}.{part}" for unit in ("weekday", "hour") for part in ("sin", "cos"))]


def feature_error(fault: str, key: str, found: str, *, skippable: bool = True) -> DataError:
    """Return the error for a fault of the native builder of rows; a skippable record can be left out."""
    problem, hint = _FAULTS[fault]
    if fault == "range" and found != "nan":
        hint = None
    hint = hint and hint.replace("{skip}", _SKIP if skippable else "")
    return DataError(problem, found=shown(found) if found else None, column=key or None, hint=hint)


def _are_kinds(kinds: Mapping[str, str]) -> bool:
    """Return whether the names and kinds of columns are valid, quickly."""
    if any(type(name) is not str for name in kinds) or any(kind not in _KNOWN_KINDS for kind in kinds.values()):
        return False
    return is_unicode("".join(kinds))


def _as_list(name: str, value: Any) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list, got {value!r}")
    return list(value)


def _checked_range(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    pair = _as_list("char_ngrams", value)
    if len(pair) != 2:
        raise ValueError(f"char_ngrams must be a pair (shortest, longest), got {value!r}")
    least = check_int("char_ngrams[0]", pair[0], maximum=_MAX_CHARS)
    return least, check_int("char_ngrams[1]", pair[1], minimum=least, maximum=_MAX_CHARS)


def _checked_missing(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        check_choice("missing", value, ("error", "ignore"))
        return value
    marks = tuple(_as_list("missing", value))
    for mark in marks:
        check_text("a marker in missing", mark)
    return marks


def _checked_interactions(value: Any) -> tuple[tuple[str, ...], ...]:
    # One that is given twice would double its values.
    interactions = tuple(dict.fromkeys(_checked_groups(each) for each in _as_list("interactions", value)))
    count = len({group for groups in interactions for group in groups})
    if count > _MAX_GROUPS:
        problem = f"interactions may name at most {_MAX_GROUPS} different columns, got {count}"
        raise ValueError(f"{problem}; use '{ALL_KEYS}', which stands for all columns, or nest columns under one key")
    return interactions


def _checked_groups(value: Any) -> tuple[str, ...]:
    groups = tuple(value.split(":")) if isinstance(value, str) else tuple(_as_list("an interaction", value))
    if len(groups) < 2 or not all(isinstance(group, str) and group for group in groups):
        raise ValueError(f"an interaction names two columns or more, as in 'sender:subject', got {value!r}")
    for group in groups:
        check_text("a column of an interaction", group)
    if len(groups) > _MAX_PLACES:
        problem = f"an interaction multiplies at most {_MAX_PLACES} features, got {len(groups)}"
        raise ValueError(f"{problem}: {shown(':'.join(groups))}")
    for group in groups:
        check_text("a column of an interaction", group)
    return groups


#: Nothing is declared: the type of each value decides.
PLAIN = Features()
