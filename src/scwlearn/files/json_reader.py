"""Strict JSON for untrusted files: a parser, and objects that are read field by field."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn, TypeGuard, TypeVar

T = TypeVar("T")

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
    """An untrusted JSON object: each getter checks a field and removes it, and `finish` refuses what is left."""

    def __init__(self, fields: Any, path: str) -> None:
        if not isinstance(fields, dict):
            raise InvalidModelFile(f"{path} must be an object, got {shorten(fields)}")
        self._left = dict(fields)
        #: Where the object is in the file, for messages.
        self.path = path

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def value(self, name: str) -> Any:
        """Take a field of any type."""
        if name not in self._left:
            raise InvalidModelFile(f"{self.path}.{name} is missing")
        return self._left.pop(name)

    def string(self, name: str) -> str:
        """Take a string."""
        return self._typed(name, str, "a string")

    def boolean(self, name: str) -> bool:
        """Take a bool."""
        return self._typed(name, bool, "true or false")

    def array(self, name: str) -> list[Any]:
        """Take a list."""
        return self._typed(name, list, "a list")

    def mapping(self, name: str) -> dict[str, Any]:
        """Take an object as a dict."""
        return self._typed(name, dict, "an object")

    def object(self, name: str) -> JsonObject:
        """Take an object to be read field by field."""
        return JsonObject(self.value(name), f"{self.path}.{name}")

    def optional_object(self, name: str) -> JsonObject | None:
        """Take an object to be read field by field, or null."""
        value = self.value(name)
        return None if value is None else JsonObject(value, f"{self.path}.{name}")

    def choice(self, name: str, choices: Sequence[Any]) -> Any:
        """Take one of `choices`."""
        value = self.value(name)
        # Types are compared because True == 1.
        if (type(value), value) not in [(type(choice), choice) for choice in choices]:
            self.reject(name, value, f"one of {', '.join(map(repr, choices))}")
        return value

    def integer(self, name: str, low: int = 0, high: int = MAX_COUNT) -> int:
        """Take an integer from `low` to `high`."""
        value = self.value(name)
        if not is_count(value, low, high):
            self.reject(
                name, value, f"an integer >= {low}" if high == MAX_COUNT else f"an integer from {low} to {high}"
            )
        return value

    def optional_integer(self, name: str, high: int = MAX_COUNT) -> int | None:
        """Take an integer from 0 to `high`, or null."""
        return self.value(name) if self._left.get(name, 0) is None else self.integer(name, high=high)

    def integers(self, name: str, count: int | None = None) -> list[int]:
        """Take a list of `count` integers >= 0, or of any number of them."""
        values = self.array(name)
        if not all(map(is_count, values)) or count not in (None, len(values)):
            self.reject(name, values, f"a list of {'' if count is None else f'{count} '}integers >= 0")
        return values

    def finish(self) -> None:
        """Refuse fields that have not been taken."""
        if self._left:
            raise InvalidModelFile(f"{self.path} has unknown fields: {shorten([*self._left])[1:-1]}")

    def reject(self, name: str, value: Any, expected: str) -> NoReturn:
        """Raise an error for a field with an unexpected value."""
        raise InvalidModelFile(f"{self.path}.{name} must be {expected}, got {shorten(value)}")

    def _typed(self, name: str, kind: type[T], expected: str) -> T:
        value = self.value(name)
        return value if isinstance(value, kind) else self.reject(name, value, expected)


def is_count(value: Any, low: int = 0, high: int = MAX_COUNT) -> TypeGuard[int]:
    """Return whether `value` is an int, not a bool, in a range."""
    return type(value) is int and low <= value <= high


def shorten(value: Any) -> str:
    """Return the repr of an untrusted value, cut to a length fit for messages."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or an integer of thousands of digits
        return f"some {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
