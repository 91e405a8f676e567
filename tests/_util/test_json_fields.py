"""Declared JSON objects: what is written is read, and an error has the path of the field."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import pytest

from scwlearn._util.json_fields import (
    IGNORE_UNKNOWN,
    MAX_COUNT,
    NOT_STORED,
    Check,
    Count,
    FieldError,
    Label,
    Name,
    OneOf,
    Range,
    read_json,
    to_json,
)


class Point(NamedTuple):
    x: float
    y: float = 0.0


def even(value):
    if value % 2:
        raise ValueError(f"an odd number, {value}")
    return value


@dataclass(frozen=True)
class Drawing:
    title: str
    kind: Annotated[str, OneOf(("line", "dots"))]
    points: list[Point]
    class_name: Annotated[str, Name("class")] = "none"
    labels: tuple[Label, ...] = ()
    pair: tuple[Count, bool] | None = None
    side: Literal["left", 3, None] = None
    doubled: Annotated[int, Check(even)] = 0
    share: Annotated[float, Range(0, 1)] | None = None
    by_name: dict[str, Point] = field(default_factory=dict)
    any_of: dict[str, Any] = field(default_factory=dict)
    inner: "Drawing | None" = None
    cached: Annotated[int, NOT_STORED] = 7


DRAWING = Drawing(
    "a",
    "dots",
    [Point(1, 2.5)],
    class_name="c",
    labels=(1, "b", True),
    pair=(MAX_COUNT, False),
    side=3,
    doubled=4,
    share=0.5,
    by_name={"x y": Point(0.0)},
    any_of={"b": [1, {"c": None}]},
    inner=Drawing("b", "line", []),
    cached=8,
)


def test_what_is_written_is_read():
    for defaults in (True, False):
        text = json.dumps(to_json(DRAWING, defaults=defaults))
        assert read_json(Drawing, json.loads(text)) == Drawing(**{**vars(DRAWING), "cached": 7})
    assert to_json(Drawing("b", "line", []), defaults=False) == {"title": "b", "kind": "line", "points": []}
    assert to_json(DRAWING)["class"] == "c"
    assert "cached" not in to_json(DRAWING)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": None}, "it.title must be a string, got None"),
        ({"kind": "bars"}, "it.kind must be one of 'line', 'dots', got 'bars'"),
        ({"kind": []}, "it.kind must be one of 'line', 'dots', got []"),
        ({"points": {}}, "it.points must be a list, got {}"),
        ({"points": [{"x": 1}, {"y": 2}]}, "it.points[1].x is missing"),
        ({"points": [{"x": True}]}, "it.points[0].x must be a number, got True"),
        ({"points": [{"x": 10**400}]}, "it.points[0].x must be a number, got 1000"),
        ({"points": [{"x": 1, "z": 2}]}, "it.points[0] has unknown fields: 'z'"),
        ({"class": 3}, "it.class must be a string, got 3"),
        ({"labels": ["a", None]}, "it.labels[1] must be true or false, a number or a string, got None"),
        ({"pair": [1]}, "it.pair must be a list of 2 values, got [1]"),
        ({"pair": 1}, "it.pair must be null or a list, got 1"),
        ({"pair": [-1, True]}, "it.pair[0] must be an integer >= 0, got -1"),
        ({"pair": [2**53 + 1, True]}, "it.pair[0] must be an integer from 0 to 9007199254740992, got 900"),
        ({"side": 3.0}, "it.side must be one of 'left', 3, None, got 3.0"),
        ({"doubled": 3}, "it.doubled: an odd number, 3"),
        ({"share": 1.5}, "it.share must be a number from 0 to 1, got 1.5"),
        ({"by_name": {"a": {"x": ""}}}, "it.by_name.a.x must be a number, got ''"),
        ({"any_of": []}, "it.any_of must be an object, got []"),
        ({"inner": 1}, "it.inner must be null or an object, got 1"),
        ({"inner": {}}, "it.inner.title is missing"),
        ({"cached": 1}, "it has unknown fields: 'cached'"),
    ],
)
def test_an_error_has_the_path_of_the_field(change, message):
    with pytest.raises(FieldError) as error:
        read_json(Drawing, to_json(DRAWING) | change, "it")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(float, "a number"), (float | None, "a number or null"), (float | list[str], "a number or a list")],
)
def test_an_integer_in_the_place_of_a_float_fits_a_float(kind, expected):
    for value in (3, 10**300):
        assert type(read_json(kind, value)) is float
        assert read_json(kind, value) == float(value)
    for large in (10**400, -(10**400)):
        with pytest.raises(FieldError, match=f"^it must be {expected}, got -?1000"):
            read_json(kind, large, "it")


def test_unknown_fields_are_ignored_where_the_declaration_says_so():
    lenient = Annotated[Drawing, IGNORE_UNKNOWN]
    value = to_json(DRAWING) | {"more": 1}
    value["points"][0]["more"] = 1
    assert read_json(lenient, value) == read_json(Drawing, to_json(DRAWING))
    with pytest.raises(FieldError, match=r"^points\[0\].x must be a number, got 'a'$"):
        read_json(lenient, value | {"points": [{"x": "a"}]})


def test_a_message_takes_no_more_memory_than_a_line():
    for large in ("x" * 10**6, ["y" * 1000] * 1000, {"z" * 1000: 1}):
        with pytest.raises(FieldError) as error:
            read_json(int, large, "it")
        assert len(str(error.value)) < 120
