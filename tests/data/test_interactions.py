"""Interactions: which products there are, and the same ones in every format."""

import csv
import io
import json
import math

import pyarrow as pa
import pytest
from pyarrow import parquet

from scwlearn import Features
from scwlearn.data.io.errors import DataError
from scwlearn.data.reading import read_batches

KINDS = {"sent": "date", "s": "text"}
RECORDS = [
    {"sent": "2026-11-17 15:00", "s": text, "job": "nurse", "age": 3.0, "label": 1}
    for text in ("see you free", "it is gone", "nothing but this")
]
GROUPS = ["sent", "sent.hour", "sent.weekday", "sent.hour.sin", "s", "s=free", "s~fre", "job", "job=nurse", "age"]


def files(records):
    """The records in JSON, Parquet and CSV."""
    table, text = io.BytesIO(), io.StringIO()
    parquet.write_table(pa.Table.from_pylist(records), table)
    writer = csv.DictWriter(text, [*records[0]])
    writer.writeheader()
    writer.writerows(records)
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return [lines.encode(), table.getvalue(), text.getvalue().encode()]


@pytest.mark.parametrize("separator", [".", "_"])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("kinds", [KINDS, {}])
def test_an_interaction_names_the_same_features_in_every_format(group, separator, kinds):
    options = {"separator": separator, "char_ngrams": (3, 3)}
    record = {name: value for name, value in RECORDS[0].items() if name != "label"}
    plain = Features(kinds=KINDS, **options).read(record)
    marks = tuple(group + mark for mark in "=~.")
    inside = [name for name in plain if name == group or name.startswith(marks)]
    expected = Features(kinds=KINDS, interactions=[f"{group}:age"], **options).read(record)
    products = [{f"{name}*age", f"age*{name}"} for name in inside]
    assert len(expected) == len(plain) + len(products) > len(plain)
    assert not any(both.isdisjoint(expected) for both in products)
    for data in files(RECORDS):
        features = Features(kinds=kinds, interactions=[f"{group}:age"], **options)
        _, batches = read_batches([io.BytesIO(data)], features=features)
        assert next(iter(next(batches).x.dicts())) == expected


@pytest.mark.parametrize("group", ["hour", "sent.minute", "jo", "jobs=nurse", "sent.sin", "~fre"])
def test_a_table_refuses_what_can_be_no_feature_of_its_columns(group):
    for data in files(RECORDS)[1:]:
        with pytest.raises(DataError, match=f"no column '{group}' for interactions"):
            read_batches([io.BytesIO(data)], features=Features(kinds=KINDS, interactions=[f"{group}:age"]))


def test_interactions_equal_features_crossed_by_hand():
    record = {"a": "x", "t": "u v u", "n": 3, "m": 0.5, "w": {"k": 2}}
    features = Features(kinds={"t": "text"}, interactions=["a:t", ("n", "m", "a"), "n:n", "t:t", "w:n"])
    crossed = {
        "a=x*t=u": 2,
        "a=x*t=v": 1,
        "n*m*a=x": 1.5,
        "n*n": 9,
        "t=u*t=v": 2,
        "w.k*n": 6,
    }
    assert features.read(record) == Features(kinds={"t": "text"}).read(record) | crossed


def test_an_interaction_is_added_to_a_feature_of_its_name():
    features = Features(interactions=["c:d"])
    expected = {"c*d": 11.0, "c": 2.0, "d": 3.0}
    assert features.read({"c*d": 5, "c": 2, "d": 3}) == expected
    # Behind a feature that has cancelled out, the others move up.
    cancelled = {"a": {"b": 1}, "a.b": -1}
    assert features.read({**cancelled, "c*d": 5, "c": 2, "d": 3}) == expected
    assert features.read({**cancelled, "c": 2, "d": 3, "c*d": 5}) == expected


@pytest.mark.parametrize("group", ["job=nurse", "tags=a", "s=free", "sent.hour.sin", "s=see you"])
def test_an_interaction_may_name_a_feature_of_a_record(group):
    features = Features(
        kinds={"s": "text", "sent": "date", "tags": "categorical"}, ngram=2, interactions=[f"{group}:age"]
    )
    plain = Features(kinds={"s": "text", "sent": "date", "tags": "categorical"}, ngram=2)
    record = {"job": "nurse", "tags": ["a", "b"], "s": "see you free", "sent": "2026-11-17 15:00", "age": 3.0}
    named = plain.read(record)
    assert features.read(record) == named | {f"{group}*age": named[group] * 3.0}
    assert features.read(record) == Features(interactions=[f"{group}:age"]).read(named)
    table = pa.Table.from_pylist([record | {"label": 1}] * 3)
    file = io.BytesIO()
    parquet.write_table(table, file)
    for data in json.dumps(record | {"label": 1}).encode(), file.getvalue():
        _, batches = read_batches([io.BytesIO(data)], features=features)
        assert next(iter(next(batches).x.dicts())) == features.read(record)


@pytest.mark.parametrize(
    ("words", "interaction", "count"),
    [(1100, "s:s", 1100 * 1099 // 2), (60, "s:s:s:s", math.comb(60, 4)), (1100, "s:s:z", 0), (1100, "z:s:s", 0)],
)
def test_only_products_count_as_interactions(words, interaction, count):
    text = " ".join(f"w{i}" for i in range(words))
    found = Features(kinds={"s": "text"}, interactions=[interaction]).read({"s": text})
    assert len(found) == words + count


def test_an_interaction_that_is_given_twice_counts_once():
    features = Features(interactions=["a:b", ("a", "b")])
    assert features.interactions == (("a", "b"),)
    assert features.read({"a": 2, "b": 3}) == {"a": 2, "b": 3, "a*b": 6}
