"""Strict JSON for untrusted files: a parser, and objects that are read field by field."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn, TypeGuard

#: Upper bound on every count in a file; one more still fits an int64.
MAX_COUNT = 2**62

# An escaped surrogate pair, which JSON decodes as one character.
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class InvalidModelFile(ValueError):
    """A file that is not a model file, or is damaged or inconsistent."""

    # The public name, for tracebacks.
    __module__ = "scwlearn.files"


def dump_json(value: Any) -> str:
    """Return compact JSON from which `parse_json` restores every number and string exactly."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    if "\\ud" in text and _SURROGATE_PAIR.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("a string holds two separate surrogates in a row, which JSON would merge into one character")
    return text


def parse_json(text: str, what: str = "") -> Any:
    """Parse JSON; refuse duplicate fields, NaN, infinity and numbers beyond the range of a double."""
    prefix = f"{what}: " if what else ""
    try:
        return json.loads(text, object_pairs_hook=_unique_fields, parse_constant=_reject, parse_float=_finite)
    except InvalidModelFile as error:
        raise InvalidModelFile(f"{prefix}{error}") from None
    except json.JSONDecodeError as error:
        raise InvalidModelFile(f"{prefix}invalid JSON: {error}") from None
    except RecursionError:
        raise InvalidModelFile(f"{prefix}nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InvalidModelFile(f"{prefix}number too long: {error}") from None


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


class JsonObject:
    """A JSON object read field by field: each getter checks and removes a field, and `end` refuses what is left."""

    def __init__(self, fields: Any, what: str) -> None:
        if not isinstance(fields, dict):
            raise InvalidModelFile(f"{what} must be an object, got {shorten(fields)}")
        self._left = dict(fields)
        self.what = what

    def value(self, name: str) -> Any:
        """Take a field of any type."""
        if name not in self._left:
            raise InvalidModelFile(f"{self.what}.{name} is missing")
        return self._left.pop(name)

    def has(self, name: str) -> bool:
        """Return whether the field is there and not yet taken."""
        return name in self._left

    def text(self, name: str) -> str:
        """Take a string."""
        value = self.value(name)
        return value if isinstance(value, str) else self.refuse(name, value, "a string")

    def one_of(self, name: str, choices: tuple[Any, ...]) -> Any:
        """Take one of `choices`."""
        value = self.value(name)
        # Types are compared because True == 1.
        for choice in choices:
            if type(choice) is type(value) and choice == value:
                return choice
        return self.refuse(name, value, f"one of {', '.join(map(repr, choices))}")

    def flag(self, name: str) -> bool:
        """Take a bool."""
        value = self.value(name)
        return value if isinstance(value, bool) else self.refuse(name, value, "true or false")

    def whole(self, name: str, *, least: int = 0, most: int = MAX_COUNT) -> int:
        """Take an integer in a range."""
        value = self.value(name)
        bounds = f">= {least}" if most == MAX_COUNT else f"from {least} to {most}"
        return value if is_count(value, least, most) else self.refuse(name, value, f"an integer {bounds}")

    def whole_or_none(self, name: str) -> int | None:
        """Take an integer >= 0 or null."""
        value = self.value(name)
        return value if value is None or is_count(value) else self.refuse(name, value, "an integer >= 0 or null")

    def wholes(self, name: str, count: int | None = None) -> list[int]:
        """Take a list of integers >= 0, of the given length if there is one."""
        values = self.list(name)
        if not all(map(is_count, values)) or count not in (None, len(values)):
            self.refuse(name, values, f"a list of {'' if count is None else f'{count} '}integers >= 0")
        return values

    def list(self, name: str) -> list[Any]:
        """Take a list."""
        value = self.value(name)
        return value if isinstance(value, list) else self.refuse(name, value, "a list")

    def fields(self, name: str) -> dict[str, Any]:
        """Take an object as a dict."""
        value = self.value(name)
        return value if isinstance(value, dict) else self.refuse(name, value, "an object")

    def document(self, name: str) -> JsonObject:
        """Take an object to be read field by field."""
        return JsonObject(self.value(name), f"{self.what}.{name}")

    def document_or_none(self, name: str) -> JsonObject | None:
        """Take an object to be read field by field, or null."""
        value = self.value(name)
        return None if value is None else JsonObject(value, f"{self.what}.{name}")

    def end(self) -> None:
        """Refuse fields that have not been taken."""
        if self._left:
            raise InvalidModelFile(f"{self.what} has unknown fields: {shorten([*self._left])[1:-1]}")

    def refuse(self, name: str, value: Any, expected: str) -> NoReturn:
        """Raise an error for a field with an unexpected value."""
        raise InvalidModelFile(f"{self.what}.{name} must be {expected}, got {shorten(value)}")


def is_count(value: Any, least: int = 0, most: int = MAX_COUNT) -> TypeGuard[int]:
    """Return whether `value` is an int, not a bool, in a range."""
    return type(value) is int and least <= value <= most


def shorten(value: Any) -> str:
    """Return the repr of an untrusted value, cut to a length fit for messages."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or an integer of thousands of digits
        return f"some {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
