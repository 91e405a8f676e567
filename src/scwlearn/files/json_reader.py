"""Strict JSON of untrusted files: a parser, and the reader of declared objects."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn, TypeVar

from scwlearn._util.json_fields import FieldError, read_json, shorten

T = TypeVar("T")

# Deeper objects and lists are refused, so that no function that walks through them runs out of stack.
_DEEPEST = 100
# An escaped surrogate pair, which JSON decodes as one character.
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class InvalidModelFile(ValueError):
    """A file that is not a model file, or is damaged or inconsistent."""

    # The public name, for tracebacks.
    __module__ = "scwlearn.files"


def read_fields(kind: type[T], value: Any, path: str) -> T:
    """Return a JSON value as its declared kind (see `scwlearn._util.json_fields`); `path` is its place in the file."""
    try:
        return read_json(kind, value, path)
    except FieldError as error:
        raise InvalidModelFile(str(error)) from None


def reject(field: str, value: Any, expected: str) -> NoReturn:
    """Raise an error for a field that does not fit the others."""
    raise InvalidModelFile(f"{field} must be {expected}, got {shorten(value)}")


def dump_json(value: Any) -> str:
    """Return compact JSON from which `parse_json` restores every number and string exactly."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError(f"JSON may be nested at most {_DEEPEST} deep") from None
    if "\\ud" in text and _SURROGATE_PAIR.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("a string holds two separate surrogates in a row, which JSON would merge into one character")
    return text


def parse_json(text: str, what: str = "") -> Any:
    """Parse JSON; refuse duplicate fields, NaN, infinity, numbers beyond the range of a double, and deep nesting."""
    prefix = f"{what}: " if what else ""
    try:
        value = json.loads(text, object_pairs_hook=_unique_fields, parse_constant=_reject, parse_float=_finite)
    except InvalidModelFile as error:
        raise InvalidModelFile(f"{prefix}{error}") from None
    except json.JSONDecodeError as error:
        raise InvalidModelFile(f"{prefix}invalid JSON: {error}") from None
    except RecursionError:
        raise InvalidModelFile(f"{prefix}nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InvalidModelFile(f"{prefix}number too long: {error}") from None
    if _is_too_deep(value):
        raise InvalidModelFile(f"{prefix}nested too deeply: at most {_DEEPEST} levels are allowed")
    return value


def _is_too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEEPEST):
        if not level:
            return False
        inner = (item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer))
        level = [item for item in inner if isinstance(item, dict | list)]
    return bool(level)


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidModelFile(f"duplicate field {shorten(name)}")
    return fields


def _reject(text: str) -> NoReturn:
    raise InvalidModelFile(f"numbers must be finite, got {text}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _reject(text)
    return number
