"""Detection of the kinds of columns from the first records of a source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice, pairwise
from numbers import Real
from typing import Any

from scwlearn._native import DEEPEST, LONGEST_KEY, MISSING_NUMBERS, is_date
from scwlearn.data.features import STRING, Features, feature_error
from scwlearn.data.formats import number_pattern
from scwlearn.data.io.errors import DataError, shown

#: Number of records that are inspected.
SAMPLE = 1000
#: Longest integer that is exact when it is inspected: reading one takes the square of its digits.
MOST_DIGITS = 40

# Number of keys that are looked at, unless they are columns: a record may have a million.
_KEYS = 2**16
_SCALARS = frozenset({str, float, int, bool, type(None)})
# With fewer values, all may differ by chance, and a single odd one may be a category.
_ENOUGH = 20
# Share of numbers in a column that should probably be numeric.
_NEARLY = 0.9
_NUMBER, _COMMA_NUMBER = (number_pattern(mark) for mark in (r"\.", ","))
# The kind of a column by the character behind its name in that of a feature.
_FEATURE_KINDS = {"": "numeric", "=": STRING, ".": "date"}
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
# The digits of integers that may need more than 53 bits.
_FEW_DIGITS = 15
_NOT_A_NUMBER = frozenset(MISSING_NUMBERS)
_BOOLS = frozenset({"true", "false"})
# Dates that are written otherwise, whose order of day and month depends on the country, or that do not exist.
_LIKE_DATE = re.compile(
    r"(\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)|\d{4}[-/.]\d{1,2}[-/.]\d{1,2})([ Tt]\d.*)?"
    r"|(\w{3,9},? )?(\d{1,2} [A-Za-z]{3,9}\.?|[A-Za-z]{3,9}\.? \d{1,2}),? \d{4}( .*)?",
    re.ASCII,
)
_ID_NAME = re.compile(r"(?i)(.*[_. -])?(id|uuid|guid|index|rowid|row)|.*[a-z]I[dD]|unnamed: 0|")


@dataclass(frozen=True)
class Detected:
    """What was detected in records."""

    features: Features
    #: "numeric" or "categorical"; None without a label.
    label_kind: str | None
    #: What the user should know, as errors that are not raised.
    notes: tuple[DataError, ...]


def detect(
    values: Mapping[str, Sequence[Any]],
    features: Features,
    *,
    label: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    objects: Collection[str] = (),
    untyped: bool = False,
) -> Detected:
    """Detect the kinds of columns that are not declared.

    Parameters
    ----------
    values : mapping from str to sequence
        The values of each column in the first records.
    features : Features
        What is declared.
    label, weight : str or None
        Keys that are not features.
    columns : sequence of str or None
        All columns of a table, each of which gets a kind. None for records that may have new keys later: then only
        text, dates and ids get one.
    objects : collection of str
        Keys that are also those of nested objects.
    untyped : bool
        Whether numbers are given as strings.

    Raises
    ------
    DataError
        If the kind of a column is unclear.
    """
    kinds: dict[str, str] = {}
    notes: list[DataError] = []
    owner_of = features.spec().owner_of
    for name in islice(values, _KEYS) if columns is None else dict.fromkeys((*columns, *values)):
        if name in features.kinds or name in (label, weight):
            continue
        is_ignored = features.kinds.get(owner_of(name) or "") == "ignore"
        if is_ignored or features.others != "auto":
            # It is declared what it is.
            if columns is not None:
                kinds[name] = "ignore" if is_ignored else features.others
            continue
        known = [value for value in values.get(name, ()) if not is_missing(value, features)]
        if columns is None and (name in objects or not _are_alike(known)):
            continue
        column = _Column(name, known, features, untyped)
        kind = column.kind(notes)
        if columns is not None or kind in ("text", "date", "ignore"):
            kinds[name] = kind
    if columns is not None:
        features = replace(features, others="ignore")
    kind_of_labels = None
    if label is not None:
        kind_of_labels = features.kinds.get(label) or label_kind(values.get(label, ()), features, untyped=untyped)
        if kind_of_labels not in ("numeric", "categorical", None):
            raise DataError(f"the label {label!r} must be numeric or categorical, not {kind_of_labels}")
    roles = {name: "ignore" for name in (label, weight) if name is not None}
    return Detected(features.declare(kinds | roles, columns or ()), kind_of_labels, tuple(notes))


def _are_alike(values: Sequence[Any]) -> bool:
    """Return whether the values of a key may get a kind. If their types differ, or are lists, each value decides."""
    types = {*map(type, values)}
    if any(issubclass(each, list) for each in types):
        return False
    strings = [issubclass(each, str) for each in types]
    dates = [hasattr(each, "isoformat") for each in types]
    return all(strings) or all(dates) or not any(strings + dates)


def label_kind(labels: Sequence[Any], features: Features, *, untyped: bool) -> str | None:
    """Return the kind of labels: numbers if all of them are, as the features are written; None if all are missing."""
    known = [label for label in labels if not is_missing(label, features)]
    texts = [trimmed(label) for label in known if isinstance(label, str)]
    if untyped:
        # Among words, such a marker is a word.
        texts = known = [text for text in texts if text.lower() not in _NOT_A_NUMBER]
    if not known:
        return None
    is_number = (_NUMBER if features.decimal == "." else _COMMA_NUMBER).fullmatch
    return "numeric" if not texts or (untyped and all(map(is_number, texts))) else "categorical"


def cell_kinds(values: Mapping[str, Sequence[str]], features: Features) -> dict[str, str]:
    """Return the kinds of columns of cells without types; "auto", each cell decides, for strings mixed with bools."""
    kinds = {}
    for name, texts in values.items():
        known = [trimmed(text) for text in texts if not is_missing(text, features)]
        is_numeric = _Column(name, known, features, untyped=True).is_numeric(known)
        has_bools = any(text.lower() in _BOOLS for text in known)
        kinds[name] = "numeric" if is_numeric else "auto" if has_bools else STRING
    return kinds


def known_kinds(columns: Iterable[str], known: Iterable[Any]) -> dict[str, str]:
    """Return the kinds of the columns that have features among those that a model knows.

    It is "auto" if a column had numbers and strings, so that each value decides.
    """
    owner_of = Features(kinds=dict.fromkeys(columns, "auto"), others="ignore").spec().owner_of
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name in known:
        owner = owner_of(name) if isinstance(name, str) else None
        if owner is not None:
            found[owner].add(_FEATURE_KINDS.get(name[len(owner) :][:1], "auto"))
    # The first feature of a date has the name of its column.
    return {
        name: "date" if kinds == {"date", "numeric"} else kinds.pop() if len(kinds) == 1 else "auto"
        for name, kinds in found.items()
    }


def values_by_key(
    records: Iterable[Mapping[str, Any]], features: Features, objects: set[str] | None = None
) -> dict[str, list[Any]]:
    """Return the values of each key of records; keys of nested objects are joined, unless they are ignored.

    The keys of these objects are added to `objects`.
    """
    values: defaultdict[str, list[Any]] = defaultdict(list)

    def add(record: Mapping[str, Any], prefix: str, depth: int) -> None:
        for key, value in record.items():
            name = f"{prefix}{key}"
            if type(value) in _SCALARS or not isinstance(value, Mapping):  # the first test is fast
                values[name].append(value)
            # The parser refuses what is nested deeper, or under a longer key.
            elif depth < DEEPEST and len(name) <= LONGEST_KEY and features.kinds.get(name) != "ignore":
                if objects is not None:
                    objects.add(name)
                add(value, name + features.separator, depth + 1)

    for record in records:
        add(record, "", 1)
    return dict(values)


def is_missing(value: Any, features: Features) -> bool:
    """Return whether a value of any kind is missing."""
    if isinstance(value, str):
        return not value or (not isinstance(features.missing, str) and value in features.missing)
    if value is None or (isinstance(value, float) and value != value):
        return True
    # A marker that is a number marks all numbers of its value.
    marked = features.missing_numbers
    return bool(marked) and isinstance(value, Real | Decimal) and value in marked


def trimmed(text: str) -> str:
    """Return a text without the white space around it that the native readers ignore."""
    return text.strip(" \t\r\n\f\v")


def is_number_text(text: str) -> bool:
    """Return whether a text is a number with a decimal point."""
    return _NUMBER.fullmatch(text) is not None


def _plain(number: Decimal) -> float | int:
    """Return a decimal as an exact integer if it is one of few digits, else as a float."""
    is_integer = number.is_finite() and number.adjusted() < MOST_DIGITS and number == number.to_integral_value()
    return int(number) if is_integer else float(number)


@dataclass(frozen=True)
class _Column:
    """The values of a column that are not missing."""

    name: str
    values: list[Any]
    features: Features
    untyped: bool

    def kind(self, notes: list[DataError]) -> str:
        """Return the kind; add what the user should know to the notes."""
        texts = [value for value in self.values if isinstance(value, str)]
        if not texts:
            types = {*map(type, self.values)}
            if any(issubclass(each, list | tuple | set) for each in types):
                return "text"
            if any(hasattr(each, "isoformat") for each in types):
                return "date"
            return self._note_id(notes) if self._is_id([*self.values]) else "numeric"
        numbers = texts
        if not self.untyped or not all(map(self._match_number, texts)):  # true of most columns
            numbers = [text for text in map(trimmed, texts) if text.lower() not in _NOT_A_NUMBER]
        if self.untyped:
            if all(text.lower() in _BOOLS for text in numbers):
                return "numeric"
            if all(map(self._match_number, numbers)):
                return self._note_id(notes) if self._is_id_text(numbers) else "numeric"
            self._check_numbers(numbers)
        if self._are_dates(numbers):
            return "date"
        return self._kind_of_strings(texts, notes)

    def is_numeric(self, texts: list[str]) -> bool:
        """Return whether texts are numbers or bools, or markers of missing values."""
        return all(self._match_number(text) or text.lower() in _NOT_A_NUMBER | _BOOLS for text in texts)

    @property
    def _match_number(self) -> Callable[[str], re.Match[str] | None]:
        return (_NUMBER if self.features.decimal == "." else _COMMA_NUMBER).fullmatch

    def _is_id_text(self, texts: list[str]) -> bool:
        if len(texts) < _ENOUGH:
            return False
        numbers = [*map(self._as_number, texts)]
        return all(isinstance(number, int) or number.is_integer() for number in numbers) and self._is_id(numbers)

    def _as_number(self, text: str) -> float | int:
        # As floating-point numbers, neighbours of many digits are equal.
        is_integer = _FEW_DIGITS < len(text) <= MOST_DIGITS and _INTEGER.fullmatch(text) is not None
        return int(text) if is_integer else float(text.replace(self.features.decimal, "."))

    def _is_id(self, numbers: list[Any]) -> bool:
        """Return whether integers number the records, or are all different in a column that is called an id."""
        types = {*map(type, numbers)}
        if len(numbers) < _ENOUGH or bool in types or not all(issubclass(each, Real | Decimal) for each in types):
            return False
        if any(issubclass(each, Decimal) for each in types):
            numbers = [_plain(n) if isinstance(n, Decimal) else n for n in numbers]
        if any(n - n != 0 or n != int(n) for n in numbers if n == n):
            return False
        if all(after - before == 1 for before, after in pairwise(numbers)):
            return True
        return len(set(numbers)) == len(numbers) and _ID_NAME.fullmatch(self.name) is not None

    def _note_id(self, notes: list[DataError]) -> str:
        problem = f"column {self.name!r} has a different value in every record, like an id; it is left out"
        notes.append(DataError(problem, hint="keep it with {numeric} or {categorical}"))
        return "ignore"

    def _check_numbers(self, texts: list[str]) -> None:
        """Raise a DataError if the column should probably be numeric."""
        odd = [text for text in texts if self._match_number(text) is None]
        has_commas = any("," in text for text in odd)
        if self.features.decimal == "." and has_commas and all(map(_COMMA_NUMBER.fullmatch, texts)):
            problem = f"column {self.name!r} has numbers with a comma"
            hint = "use {decimal=,} if it is a decimal comma, or name the column in {categorical}"
            raise DataError(problem, found=shown(next(text for text in odd if "," in text)), hint=hint)
        if len(texts) >= _ENOUGH and len(texts) - len(odd) >= _NEARLY * len(texts):
            share = f"{len(texts) - len(odd)} of the first {len(texts)} values"
            problem = f"column {self.name!r} is nearly numeric: {share} are numbers"
            hint = "list markers of missing values in {missing}, or name the column in {categorical}"
            raise DataError(problem, found=shown(odd[0]), hint=hint)

    def _are_dates(self, texts: list[str]) -> bool:
        """Return whether texts are dates; raise a DataError if none is one, but all look like it.

        Where some are none, such as 2026-02-30, the reader says in which record.
        """
        try:
            if not texts or not all(is_date(text) or _LIKE_DATE.fullmatch(text) for text in texts):
                return False
        except UnicodeEncodeError as error:
            raise feature_error("unicode", self.name, error.object, skippable=False) from None
        if not any(map(is_date, texts)):
            problem = f"column {self.name!r} has dates; they must be written as 2026-11-17 or 2026-11-17 14:30:00"
            hint = "convert them, leave the column out with {ignore}, or name it in {categorical}"
            raise DataError(problem, found=shown(texts[0]), hint=hint)
        return True

    def _kind_of_strings(self, texts: list[str], notes: list[DataError]) -> str:
        words = sum(len(text.split()) for text in texts) / len(texts)
        different = len(set(texts))
        if words >= 3 and 2 * different > len(texts):
            return "text"
        if different == len(texts) >= _ENOUGH:
            return "text" if words >= 2 else self._note_id(notes)
        return "categorical"
