"""JSON objects that are declared as dataclasses: writing them and checking them follow from the same fields.

A declaration is a dataclass or a NamedTuple. Its annotations say what each field may be:

- ``bool``, ``int``, ``float`` (an integer is one, too), ``str``, ``Any`` (any JSON), unions of them, ``X | None``;
- ``Literal[...]``, ``list[X]``, ``dict[str, X]``, ``tuple[X, Y]``, ``tuple[X, ...]``, and other declarations;
- ``Annotated[int, Range(low, high)]``, ``Annotated[str, OneOf(choices)]``, ``Annotated[X, Check(function)]``;
- ``Annotated[X, IGNORE_UNKNOWN]``: objects in it may have other fields, which are ignored;
- ``Annotated[X, Name("class")]``: the field has a name that is no Python name;
- ``Annotated[X, NOT_STORED]``: the field is neither written nor read.

A field with a default may be missing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

#: Reads a value, or raises a FieldError.
Reader = Callable[[Any], Any]

#: The largest count in a file: a float64 holds it exactly, and sums of many fit an int64.
MAX_COUNT = 2**53

#: Marks a declaration whose objects may have fields that are not declared.
IGNORE_UNKNOWN = object()

#: Marks a field that JSON leaves out.
NOT_STORED = object()

# Messages show no more items of a list than this.
_MANY = 100
# Hints of values that are JSON already.
_JSON = (Any, dict[str, Any], list[Any])
_SCALARS = {bool: "true or false", int: "an integer", float: "a number", str: "a string", NoneType: "null"}


class FieldError(ValueError):
    """A JSON value that does not fit its declaration. The message starts with the path of the field."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem, self.path = problem, ""

    def within(self, step: str) -> FieldError:
        """Return the error with a path that starts one level further out."""
        self.path = step + self.path
        return self

    def __str__(self) -> str:
        path = self.path.removeprefix(".")
        return (path + self.problem if self.problem.startswith(":") else f"{path} {self.problem}").lstrip(": ")


class Range(NamedTuple):
    """Bounds of a number, both included."""

    low: float
    high: float

    def words(self, kind: str, value: Any) -> str:
        """Return what is allowed, in words, for a value that is not."""
        is_large = isinstance(value, int | float) and value > self.high
        if self.high == MAX_COUNT and not is_large:
            return f"{kind} >= {self.low}"
        return f"{kind} from {self.low} to {self.high}"


class OneOf(NamedTuple):
    """The allowed values."""

    choices: tuple[Any, ...]


class Name(NamedTuple):
    """The name of a field in JSON."""

    name: str


class Check(NamedTuple):
    """A function that returns the value to use, or raises a TypeError or ValueError."""

    function: Callable[[Any], Any]


def check_label(label: Any) -> Any:
    """Return a label or a feature name; raise a ValueError for an integer that does not fit into 64 bits.

    Python hashes integers modulo 2**61 - 1. A file could hold any number of larger ones with the same hash, and a dict
    of them takes time in the square of their number.
    """
    if type(label) is int and not -(2**63) <= label < 2**63:
        raise ValueError(f"an integer must be from -2**63 to 2**63 - 1, got {shorten(label)}")
    return label


#: A count, and what a label or a setting may be.
Count = Annotated[int, Range(0, MAX_COUNT)]
Label = Annotated[bool | int | float | str, Check(check_label)]
Scalar = bool | int | float | str | None


def to_json(value: Any, *, defaults: bool = True) -> Any:
    """Return the JSON of a declared object, or of a list or dict of such; without `defaults`, leave out what is one."""
    if isinstance(value, Mapping):
        return {key: to_json(item, defaults=defaults) for key, item in value.items()}
    declared = _declared(type(value))  # type: ignore[arg-type]
    if declared is not None:
        kept = [one for one in declared if defaults or not one.is_default(getattr(value, one.attribute))]
        found = {one.name: getattr(value, one.attribute) for one in kept}
        return {
            one.name: found[one.name] if one.hint in _JSON else to_json(found[one.name], defaults=defaults)
            for one in kept
        }
    return [to_json(item, defaults=defaults) for item in value] if isinstance(value, list | tuple) else value


def read_json(kind: type[T], value: Any, path: str = "") -> T:
    """Return a JSON value as the declared kind; raise a FieldError, with the path of the field, if it does not fit."""
    try:
        hint: Any = kind
        result: T = _reader(hint, strict=True)(value)
    except FieldError as error:
        raise error.within(path) from None
    return result


def shorten(value: Any) -> str:
    """Return the repr of an untrusted value, cut to a length fit for messages."""
    if isinstance(value, str | list | dict) and len(value) > _MANY:
        # The repr of a large value takes more memory than the value.
        value = value[:_MANY] if isinstance(value, str | list) else dict([*value.items()][:_MANY])
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or an integer of thousands of digits
        return f"some {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


class _Field(NamedTuple):
    """A field of a declaration."""

    attribute: str
    name: str
    hint: Any
    #: MISSING if the field must be there.
    default: Any

    def is_default(self, value: Any) -> bool:
        """Return whether a value need not be written."""
        return self.default is not MISSING and bool(value == self.default)


@cache
def _declared(kind: Any) -> list[_Field] | None:
    """Return the stored fields of a dataclass or NamedTuple; None for another type."""
    if is_dataclass(kind):
        defaults = {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(kind)}
    elif hasattr(kind, "_field_defaults"):
        defaults = dict.fromkeys(kind._fields, MISSING) | kind._field_defaults
    else:
        return None
    hints = get_type_hints(kind, include_extras=True)
    extras = {name: getattr(hints[name], "__metadata__", ()) for name in defaults}
    return [
        _Field(name, next((mark.name for mark in extras[name] if isinstance(mark, Name)), name), hints[name], default)
        for name, default in defaults.items()
        if NOT_STORED not in extras[name]
    ]


@cache
def _reader(hint: Any, *, strict: bool) -> Reader:
    """Return the reader of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: value
    if hint in _SCALARS:
        return _scalar_reader((hint,))
    if origin is Annotated:
        return _annotated_reader(arguments[0], arguments[1:], strict=strict)
    if origin is Literal:
        return _choice_reader(arguments)
    if origin in (UnionType, Union):
        return _union_reader(arguments, strict=strict)
    if origin is list:
        return _list_reader(arguments[0], strict=strict)
    if origin in (dict, Mapping):
        return _dict_reader(arguments[1], strict=strict)
    if origin is tuple:
        return _tuple_reader(arguments, strict=strict)
    return _object_reader(hint, strict=strict)


def _scalar_reader(kinds: tuple[type, ...]) -> Reader:
    is_one, expected = _one_of(kinds), _any_of(kinds)
    becomes_float = float in kinds and int not in kinds

    def read(value: Any) -> Any:
        if not is_one(value):
            raise _wrong(expected, value)
        return float(value) if becomes_float and type(value) is int else value

    return read


def _one_of(kinds: Iterable[type]) -> Callable[[Any], bool]:
    """Return a function that tells whether a value has one of these types; as a float, an integer must fit one."""
    # A set, because True is an int for isinstance.
    allowed = {*kinds}
    if int in allowed or float not in allowed:
        return lambda value: type(value) in allowed
    largest = sys.float_info.max

    def is_one(value: Any) -> bool:
        if type(value) is int:
            return -largest <= value <= largest
        # Also one of NumPy, in a record that was not read from a file.
        return isinstance(value, float) or type(value) in allowed

    return is_one


def _any_of(kinds: Iterable[type], *more: str) -> str:
    """Return what is allowed, in words."""
    kinds = [*kinds]
    words = [_SCALARS[kind] for kind in kinds if kind is not int or float not in kinds] + [*more]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _annotated_reader(kind: Any, extras: Iterable[Any], *, strict: bool) -> Reader:
    read = _reader(kind, strict=strict and IGNORE_UNKNOWN not in extras)
    for extra in extras:
        if isinstance(extra, Range):
            read = _range_reader(read, extra, "an integer" if kind is int else "a number")
        elif isinstance(extra, OneOf):
            read = _choice_reader(extra.choices)
        elif isinstance(extra, Check):
            read = _checking_reader(read, extra.function)
    return read


def _range_reader(read: Reader, bounds: Range, kind: str) -> Reader:
    def read_number(value: Any) -> Any:
        try:
            number = read(value)
        except FieldError:
            raise _wrong(bounds.words(kind, value), value) from None
        if not bounds.low <= number <= bounds.high:
            raise _wrong(bounds.words(kind, value), value)
        return number

    return read_number


def _checking_reader(read: Reader, check: Callable[[Any], Any]) -> Reader:
    def read_checked(value: Any) -> Any:
        return _constructed(check, read(value))

    return read_checked


def _choice_reader(choices: tuple[Any, ...]) -> Reader:
    # Types are compared because True == 1.
    allowed = {(type(choice), choice) for choice in choices}
    expected = f"one of {', '.join(map(repr, choices))}"

    def read(value: Any) -> Any:
        if not isinstance(value, str | int | float | None) or (type(value), value) not in allowed:
            raise _wrong(expected, value)
        return value

    return read


def _union_reader(kinds: tuple[Any, ...], *, strict: bool) -> Reader:
    scalars = tuple(kind for kind in kinds if kind in _SCALARS)
    if len(scalars) == len(kinds):
        return _scalar_reader(kinds)
    # At most one of them is a list, an object or has bounds.
    (other,) = set(kinds) - {*scalars}
    read_other = _reader(other, strict=strict)
    is_scalar, read_scalar = _one_of(scalars), _scalar_reader(scalars)
    container = _container(other)
    expected = _any_of(scalars, "a list" if container is list else "an object")

    def read(value: Any) -> Any:
        if is_scalar(value):
            return read_scalar(value)
        if container is not None and type(value) is not container:
            raise _wrong(expected, value)
        return read_other(value)

    return read


def _container(kind: Any) -> type | None:
    """Return the type of a JSON list or object, or None for a scalar."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (list, tuple):
        return list
    return dict if get_origin(kind) in (dict, Mapping) or _is_declared(kind) else None


def _is_declared(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_field_defaults"))


def _list_reader(kind: Any, *, strict: bool) -> Reader:
    read_item = _reader(kind, strict=strict)

    def read(value: Any) -> list[Any]:
        if type(value) is not list:
            raise _wrong("a list", value)
        return _read_items(value, [read_item] * len(value))

    return read


def _tuple_reader(kinds: tuple[Any, ...], *, strict: bool) -> Reader:
    if kinds[-1] is Ellipsis:
        read_list = _list_reader(kinds[0], strict=strict)
        return lambda value: tuple(read_list(value))
    readers = [_reader(kind, strict=strict) for kind in kinds]

    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list or len(value) != len(readers):
            raise _wrong(f"a list of {len(readers)} values", value)
        return tuple(_read_items(value, readers))

    return read


def _read_items(values: list[Any], readers: list[Reader]) -> list[Any]:
    found: list[Any] = []
    try:
        for read, value in zip(readers, values, strict=True):
            found.append(read(value))
    except FieldError as error:
        raise error.within(f"[{len(found)}]") from None
    return found


def _dict_reader(kind: Any, *, strict: bool) -> Reader:
    read_item = _reader(kind, strict=strict)

    def read(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise _wrong("an object", value)
        found = {}
        for name, item in value.items():
            try:
                found[name] = read_item(item)
            except FieldError as error:
                raise error.within(f".{name if name.isidentifier() else shorten(name)}") from None
        return found

    return read


def _object_reader(kind: Any, *, strict: bool) -> Reader:
    declared = _declared(kind)
    if declared is None:
        raise TypeError(f"no JSON is declared for {kind}")
    # Made when they are needed, because a declaration may contain itself.
    names = {one.name for one in declared}

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong("an object", value)
        if strict and not names.issuperset(value):
            raise FieldError(f"has unknown fields: {shorten([name for name in value if name not in names])[1:-1]}")
        found = {}
        for one in declared:
            if one.name in value:
                try:
                    found[one.attribute] = _reader(one.hint, strict=strict)(value[one.name])
                except FieldError as error:
                    raise error.within(f".{one.name}") from None
            elif one.default is MISSING:
                raise FieldError("is missing").within(f".{one.name}")
        return _constructed(kind, **found)

    return read


def _constructed(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that checks its arguments."""
    try:
        return make(*args, **kwargs)
    except (TypeError, ValueError, OverflowError) as error:
        raise FieldError(f": {error}") from None


def _wrong(expected: str, value: Any) -> FieldError:
    return FieldError(f"must be {expected}, got {shorten(value)}")
