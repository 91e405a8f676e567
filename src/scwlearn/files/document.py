"""JSON that is taken for hostile: parsed strictly, and read field by field."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn, TypeGuard

#: No count of anything is larger, so that one more still fits a number.
MOST = 2**62


# Python's strings may hold halves of a character.
_TORN = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class Refused(ValueError):
    """What a file holds is not what a model file holds. Whoever knows the file says which it is."""


def to_json(value: Any) -> str:
    """As text, in which every number and every string is exactly what it was."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    if "\\ud" in text and _TORN.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("a string holds two halves of a character side by side, which JSON would make one of")
    return text


def from_json(text: str, what: str) -> Any:
    """The value of a text. No name may stand twice in an object, and no number may be beyond what floats hold."""
    try:
        return json.loads(text, object_pairs_hook=_named_once, parse_constant=_no_number, parse_float=_finite)
    except Refused as error:
        raise Refused(f"{what} {error}") from None
    except json.JSONDecodeError as error:
        raise Refused(f"{what} is no JSON: {error}") from None
    except RecursionError:
        raise Refused(f"{what} is nested too deeply") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise Refused(f"{what} holds a number that is too long: {error}") from None


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise Refused(f"has the field {shown(twice)} twice")
    return fields


def _no_number(text: str) -> NoReturn:
    raise Refused(f"holds {text}; numbers must be finite")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Refused(f"holds {text}, which is beyond what floats hold")
    return number


class Document:
    """A JSON object, read field by field. What is not as expected is refused, and in the end what is left over."""

    def __init__(self, fields: Any, what: str) -> None:
        if not isinstance(fields, dict):
            raise Refused(f"{what} must be an object, got {shown(fields)}")
        self._left = dict(fields)
        self.what = what

    def value(self, name: str) -> Any:
        """What a field holds, whatever it is."""
        if name not in self._left:
            raise Refused(f"{self.what} has no {name!r}")
        return self._left.pop(name)

    def has(self, name: str) -> bool:
        """Whether there is such a field."""
        return name in self._left

    def text(self, name: str) -> str:
        value = self.value(name)
        return value if isinstance(value, str) else self.refuse(name, value, "a string")

    def one_of(self, name: str, allowed: tuple[Any, ...]) -> Any:
        value = self.value(name)
        # True is 1 to Python, but not here.
        same = [choice for choice in allowed if type(choice) is type(value) and choice == value]
        return same[0] if same else self.refuse(name, value, f"one of {', '.join(map(repr, allowed))}")

    def flag(self, name: str) -> bool:
        value = self.value(name)
        return value if isinstance(value, bool) else self.refuse(name, value, "true or false")

    def whole(self, name: str, *, least: int = 0, most: int = MOST) -> int:
        value = self.value(name)
        return value if is_whole(value, least, most) else self.refuse(name, value, f"a whole number >= {least}")

    def whole_or_none(self, name: str) -> int | None:
        value = self.value(name)
        return value if value is None or is_whole(value) else self.refuse(name, value, "a whole number or null")

    def wholes(self, name: str, count: int | None = None) -> list[int]:
        """A list of whole numbers from 0 on, so many if that is known."""
        values = self.list(name)
        if not all(map(is_whole, values)) or count not in (None, len(values)):
            some = "" if count is None else f"{count} "
            self.refuse(name, values, f"a list of {some}whole numbers >= 0")
        return values

    def list(self, name: str) -> list[Any]:
        value = self.value(name)
        return value if isinstance(value, list) else self.refuse(name, value, "a list")

    def fields(self, name: str) -> dict[str, Any]:
        value = self.value(name)
        return value if isinstance(value, dict) else self.refuse(name, value, "an object")

    def document(self, name: str) -> Document:
        return Document(self.value(name), f"{self.what}.{name}")

    def document_or_none(self, name: str) -> Document | None:
        value = self.value(name)
        return None if value is None else Document(value, f"{self.what}.{name}")

    def end(self) -> None:
        """All fields have been read."""
        if self._left:
            raise Refused(f"{self.what} has an unknown field {next(iter(self._left))!r}")

    def refuse(self, name: str, value: Any, expected: str) -> NoReturn:
        """An error for a field that holds something else than it should."""
        raise Refused(f"{self.what}.{name} must be {expected}, got {shown(value)}")


def is_whole(value: Any, least: int = 0, most: int = MOST) -> TypeGuard[int]:
    """Whether it is a whole number of that range, and not a bool."""
    return type(value) is int and least <= value <= most


def shown(value: Any) -> str:
    """What a file holds, for a message: not all of it."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested deeply, or a whole number of thousands of digits
        return f"some {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
