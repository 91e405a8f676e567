"""Detection in tables with structs, and in what is neither a table nor dicts."""

import io
import json
from decimal import Decimal

import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

from scwlearn import Features, StreamClassifier
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches

RECORDS = [{"user": {"age": i % 7, "more": {"job": "xyz"[i % 3]}}, "size": i % 5} for i in range(40)]
NUMERIC = {"user.age": "numeric", "user.more.job": "categorical", "size": "numeric"}


@pytest.mark.parametrize("table", [pa.Table.from_pylist, pandas.DataFrame, polars.DataFrame])
def test_a_struct_gets_no_kind_but_its_fields_do(table):
    features = Features.detect(table(RECORDS))
    assert features == Features(kinds=NUMERIC, others="ignore")
    assert [*features.kinds] == [*NUMERIC]


def test_a_struct_without_values_has_the_fields_of_its_type():
    empty = pa.table({"user": pa.array([None], pa.struct([("age", pa.float64())])), "size": [1]})
    assert Features.detect(empty).kinds == {"user.age": "numeric", "size": "numeric"}


@pytest.mark.parametrize("features", [Features.detect(pa.Table.from_pylist(RECORDS)), Features(kinds={"user": "auto"})])
@pytest.mark.parametrize("others", ["ignore", "auto"])
def test_a_model_of_a_table_with_a_struct_reads_files_of_it(features, others):
    features = Features(kinds=features.kinds, others=others)
    table = pa.Table.from_pylist(RECORDS)
    model = StreamClassifier("arow", features=features)
    model.learn_many(table, [i % 2 for i in range(40)])
    expected = [features.read(record) for record in RECORDS]
    file = io.BytesIO()
    parquet.write_table(table, file)
    file.seek(0)
    lines = io.BytesIO("\n".join(map(json.dumps, RECORDS)).encode())
    options = ReaderOptions(labels="optional", features=features)
    for source in file, lines:
        if features.kinds == {"user": "auto"} and others == "ignore" and source is lines:
            continue  # nothing in the records is a feature
        _, batches = read_batches([source], options=options)
        assert [row for batch in batches for row in batch.x.dicts()] == expected


@pytest.mark.parametrize("step", [1, 7])
@pytest.mark.parametrize("start", [1, 10**15 + 7, 10**30])
def test_decimals_without_a_fraction_are_ids_as_integers_are(start, step):
    ids = [start + step * i for i in range(100)]
    for type in pa.decimal128(38, 0), pa.decimal128(38, 4):
        table = pa.table({"id": pa.array([*map(Decimal, ids)], type), "a": [i % 7 for i in range(100)]})
        assert Features.detect(table).kinds == {"id": "ignore", "a": "numeric"}
    halves = pa.array([Decimal(2 * i + 1) / 2 for i in range(100)], pa.decimal128(38, 4))
    assert Features.detect(pa.table({"id": halves})).kinds == {"id": "numeric"}
    odd = [{"id": Decimal(text)} for text in ["Infinity", "NaN", "1e999999", "1"] * 10]
    assert Features.detect(odd).kinds == {}


@pytest.mark.parametrize(("examples", "found"), [([{}, 1], "int"), ("abc", "str"), ([[]], "list")])
def test_examples_must_be_dicts(examples, found):
    with pytest.raises(TypeError, match=rf"examples\[\d\] must be a dict, got {found}"):
        Features.detect(examples)


def test_half_characters_are_refused():
    with pytest.raises(ValueError, match="column 'a': keys and strings must be valid Unicode"):
        Features.detect([{"a": "\ud800"}])
