"""What each format cannot hold, written down a second time: from the documentation, not from the writers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stress.round_trips import Data

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_VW_NO_WORD = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_TABLES = ("csv", "tsv", "parquet", "arrow")
# None, and then types from narrow to wide.
_TYPES = [type(None), bool, int, float, str]
_BLANK, _MISSING = " \t\r\n\f\v", {"", "na", "n/a", "nan", "nat", "null", "none", "?"}
_DATE_PARTS = [f".{part}.{of}" for part in ("weekday", "hour") for of in ("sin", "cos")]
_LONGEST_KEY = _LONGEST_LABEL = 256


def refusals(data: Data, format: str) -> list[str]:
    """Return why a format cannot hold the examples; empty if it can."""
    return [reason for check in (_labels, _texts, _columns, _own_rules) for reason in check(data, format)]


def looks_numeric(labels: list[Any]) -> bool:
    """Return whether cells with these labels are read as numbers."""
    texts = [label.strip(_BLANK) for label in labels if label is not None]
    return all(_NUMBER.fullmatch(text) or text.lower() in _MISSING for text in texts)


def _labels(data: Data, format: str) -> Iterator[str]:
    labels = [label for _, label, _, _ in data.examples() if label is not None]
    texts = [label for label in labels if isinstance(label, str)]
    if texts and len(texts) < len(labels):
        yield "labels of two kinds"
    for label in labels:
        if isinstance(label, str):
            if not label or len(label) > _LONGEST_LABEL or label.endswith("\0") or _has_surrogate(label):
                yield f"the label {label!r}"
        elif not abs(label) <= 1e150 or (isinstance(label, int) and abs(label) >= 2**53):
            yield f"the label {label!r}"
    for _, _, weight, _ in data.examples():
        if weight != 0 and not 1e-100 <= weight <= 1e100:
            yield f"the weight {weight}"
    if format in ("csv", "tsv"):
        yield from (f"NUL in the label {label!r}" for label in texts if "\0" in label)
    if format in ("csv", "tsv") and texts and looks_numeric(texts):
        for label in texts:
            if label.strip(_BLANK).lower() in _MISSING:
                yield f"the label {label!r} is a missing number"
                continue
            number = float(label.strip(_BLANK))
            if repr(number).removesuffix(".0") != label or label == "-0" or abs(number) > 1e150:
                yield f"the label {label!r} is not written as its number would be"


def _texts(data: Data, format: str) -> Iterator[str]:
    for name in _used_names(data):
        if _has_surrogate(name):
            yield f"half a character in {name!r}"
    if format == "libsvm":
        return
    own = [data.label, data.weight] if format != "vw" else []
    yield from (f"half a character in {name!r}" for name in [*own, *(data.columns or {})] if _has_surrogate(name))


def _columns(data: Data, format: str) -> Iterator[str]:
    if format in ("libsvm", "vw"):
        return
    taken, kinds = {data.label, data.weight}, _kinds_of(data)
    if len(taken) < 2:
        yield "one name for the label and the weight"
    names = data.names() if kinds is None else [*kinds]
    if format not in _TABLES:
        names = [*dict.fromkeys(_cells_of(name, kinds)[0] for name in _used_names(data))]
    if taken.intersection(names):
        yield "a feature with the name of the label or the weight"
    if format not in _TABLES:
        yield from (f"{name!r} belongs to the label or the weight" for name in names if _has_owner(name, taken, kinds))
    if format in _TABLES:
        written = [*names] + [data.label] * data.is_labelled() + [data.weight] * data.is_weighted()
        if not written:
            yield "no columns"
        if len(names) > 10_000:
            yield "too many columns"
        yield from (f"the name {name!r}" for name in written if "\0" in name or _has_surrogate(name))
    if data.columns is not None:
        yield from _kinds(data, format)


def _kinds(data: Data, format: str) -> Iterator[str]:
    kinds = _kinds_of(data) or {}
    for column, kind in kinds.items():
        if kind != "numeric" and len(column) > _LONGEST_KEY:
            yield f"the long name {column!r} of a column of strings"
    for features, *_ in data.examples():
        held: dict[str, list[str]] = {}
        for name, value in features.items():
            column, text = _cells_of(name, kinds)
            if column not in kinds:
                yield f"{name!r} is in no column"
                continue
            if text is None:
                if kinds[column] != "numeric":
                    yield f"{name!r} is in no column"
                continue
            held.setdefault(column, []).append(text)
            if kinds[column] == "categorical":
                if value != 1 or len(held[column]) > 1:
                    yield f"{name!r} is not the only string, or has another value than 1"
                if not text or (text.lower() in ("true", "false") and not text.islower()):
                    yield f"the string {text!r} is read as another"
                if format in ("csv", "tsv") and "\0" in text:
                    yield f"NUL in {text!r}"
            else:
                if value < 0 or value != math.floor(value) or value > 2**20:
                    yield f"{value} words"
                if not text or (format in ("csv", "tsv") and not _is_word(text)):
                    yield f"the word {text!r}"


def _kinds_of(data: Data) -> dict[str, str] | None:
    """Return the kinds of columns that are features."""
    if data.columns is None:
        return None
    return {name: kind for name, kind in data.columns.items() if name not in (data.label, data.weight)}


def _cells_of(name: str, kinds: dict[str, str] | None) -> tuple[str, str | None]:
    """Return the column of a feature, and its string if it has one."""
    if kinds is None or kinds.get(name) == "numeric":
        return name, None
    places = [i for i, letter in enumerate(name) if letter == "=" and kinds.get(name[:i], "numeric") != "numeric"]
    return (name[: places[0]], name[places[0] + 1 :]) if places else (name, None)


def _has_owner(name: str, owners: set[str], kinds: dict[str, str] | None) -> bool:
    """Return whether a name that is not declared seems to be that of a feature of one of the owners."""
    return name not in (kinds or {}) and any(
        name.startswith(owner) and (name[len(owner)] in "=~^" or name[len(owner) :] in _DATE_PARTS)
        for owner in owners
        if len(name) > len(owner)
    )


def _is_word(text: str) -> bool:
    return len(text) <= 100 and text == text.lower() and all(letter.isalnum() or letter == "_" for letter in text)


def _own_rules(data: Data, format: str) -> Iterator[str]:
    rules: dict[str, Callable[[Data], Iterator[str]]] = {"libsvm": _libsvm, "vw": _vw}
    yield from rules[format](data) if format in rules else ()


def _libsvm(data: Data) -> Iterator[str]:
    first = 0 if data.zero_based else 1
    for _, label, weight, _ in data.examples():
        if label is None or isinstance(label, str) or weight != 1:
            yield f"a label {label!r} of weight {weight}"
    for name in data.names():
        if not re.fullmatch("0|[1-9][0-9]*", name, re.ASCII) or not first <= int(name) < 2**63:
            yield f"the name {name!r}"


def _vw(data: Data) -> Iterator[str]:
    for name in _used_names(data):
        if not name or _ends_a_vw_name(name):
            yield f"the name {name!r}"
    for _, label, weight, tag in data.examples():
        if label is None and weight != 1:
            yield "a weight without a label"
        if _ends_a_vw_name(tag) or _has_surrogate(tag):
            yield f"the tag {tag!r}"
        if isinstance(label, str) and (
            _ends_a_vw_name(label) or label[:1] == "'" or "," in label or _VW_NO_WORD.fullmatch(label)
        ):
            yield f"the label {label!r}"


def _used_names(data: Data) -> list[str]:
    return [*dict.fromkeys(name for features, *_ in data.examples() for name in features)]


def _ends_a_vw_name(text: str) -> bool:
    return any(letter in " |:\x7f" or letter < " " for letter in text)


def examples_labels(batch: Any) -> list[Any]:
    """Return the labels of a batch that are not missing."""
    if batch.labels is None:
        return []
    there = [True] * len(batch) if batch.labelled is None else batch.labelled.tolist()
    return [label for label, has_label in zip(batch.labels.tolist(), there, strict=True) if has_label]


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)
