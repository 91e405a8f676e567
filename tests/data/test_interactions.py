"""Interactions name the same features in every format."""

import csv
import io
import json

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
