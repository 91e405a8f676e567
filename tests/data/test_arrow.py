"""Parquet and Arrow: types and values decide the kinds of columns, and a file is hostile until it is checked."""

import datetime as dt
import decimal
import errno
import io
import json
import os
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from scwlearn import Features
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.schema import Schema
from table_text import Reading, batches, exactly, examples, features, label_list, schema_of

pytestmark = pytest.mark.native

TABLE = pa.table(
    {
        "n": pa.array([1, None, 0, -3], pa.int8()),
        "f": pa.array([0.5, 2.0, None, 1e-300]),
        "flag": pa.array([True, False, None, True]),
        "color": pa.array(["red", "blue", None, "red"]).dictionary_encode(),
        "word": pa.array(["1", "", "2", None], pa.large_string()),
        "about": pa.array(["a b c d", "the end of it", "one two three", None]),
        "bag": pa.array([["New York", "x", "x"], [], None, [None, "y"]], pa.list_(pa.string())),
        "nothing": pa.nulls(4),
        "label": pa.array([1, 2, 1, 2], pa.uint16()),
    }
)
EXPECTED = [
    (
        {"n": 1, "f": 0.5, "flag": 1, "color=red": 1, "word=1": 1}
        | {f"about={letter}": 1 for letter in "abcd"}
        | {"bag=New York": 1, "bag=x": 2},
        1,
        None,
    ),
    (
        {"f": 2, "color=blue": 1} | dict.fromkeys(("about=the", "about=end", "about=of", "about=it"), 1),
        2,
        None,
    ),
    ({"word=2": 1, "about=one": 1, "about=two": 1, "about=three": 1}, 1, None),
    ({"n": -3, "f": 1e-300, "flag": 1, "color=red": 1, "bag=y": 1}, 2, None),
]
KINDS = {
    "n": "numeric",
    "f": "numeric",
    "flag": "numeric",
    "color": "categorical",
    "word": "categorical",
    "about": "text",
    "bag": "text",
    "nothing": "numeric",
    "label": "numeric",
}


def as_parquet(table, **options):
    file = io.BytesIO()
    parquet.write_table(table, file, **options)
    return file.getvalue()


def as_file(table, rows=None):
    file = io.BytesIO()
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.unify_dictionaries(), rows)
    return file.getvalue()


def as_stream(table, rows=None):
    file = io.BytesIO()
    with ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, rows)
    return file.getvalue()


def as_feather(table):
    file = io.BytesIO()
    feather.write_feather(table, file)
    return file.getvalue()


WAYS = [("parquet", as_parquet), ("arrow", as_file), ("arrow", as_stream), ("arrow", as_feather)]
ways = pytest.mark.parametrize(("format", "written"), WAYS, ids=["parquet", "file", "stream", "feather"])


@ways
def test_types_and_values_decide_the_kinds_of_columns(format, written):
    data = written(TABLE)
    assert batches(data, format).schema == schema_of(format, label="label", columns=KINDS)
    assert examples(data, format) == EXPECTED


@ways
def test_the_division_into_batches_does_not_change_the_examples(format, written):
    table = pa.concat_tables([TABLE] * 50).combine_chunks()
    read = [*batches(written(table), format, columns={"about": "text"}, options={"batch_rows": 7})]
    assert max(map(len, read)) == 7
    assert [row for batch in read for row in features(batch)] == [row for row, _, _ in EXPECTED] * 50
    assert [line for batch in read for line in batch.lines.tolist()] == [*range(1, 201)]


def test_rows_with_many_interactions_make_small_batches():
    rng = np.random.default_rng(0)
    table = pa.table({f"c{i}": rng.normal(size=3000) for i in range(150)} | {"y": [1, 2] * 1500})
    crossed = Schema("parquet", features=Features(interactions=["*:*"]))
    read = Reading(io.BytesIO(as_parquet(table)), crossed)
    sizes = [(len(batch), batch.x.rows.stored) for batch in read]
    assert sum(size for size, _ in sizes) == 3000
    # A row has its numbers and their products, squares too.
    assert max(stored for _, stored in sizes) < 2**21 + 150 + 150 * 151 / 2


def test_row_groups_and_record_batches_are_read_one_at_a_time():
    table = pa.concat_tables([TABLE] * 10)
    for format, data in (("parquet", as_parquet(table, row_group_size=3)), ("arrow", as_stream(table, 3))):
        assert examples(data, format, columns={"about": "text"}) == EXPECTED * 10


@ways
def test_a_pipe_can_be_read(format, written):
    data = written(TABLE)
    reading, writing = os.pipe()

    def write():
        with open(writing, "wb") as file:
            file.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    with open(reading, "rb") as pipe:
        rows = [row for batch in Reading(pipe, Schema(format)) for row in features(batch)]
    thread.join()
    assert rows == [row for row, _, _ in EXPECTED]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array([True, False, None, True]), [True, False, None, True]),
        (pa.array(["a", None, "b", "a"]), ["a", None, "b", "a"]),
        (pa.array(["a", None, "b", "a"]).dictionary_encode(), ["a", None, "b", "a"]),
        (pa.array([1.0, 2.0, None, 3.0]), [1, 2, None, 3]),
        (pa.array([2**53 - 1, None, 1, 2]), [2**53 - 1, None, 1, 2]),
        (pa.array([0.5, None, 1, 2]), [0.5, None, 1.0, 2.0]),
    ],
)
def test_labels_keep_their_type(labels, expected):
    table = pa.table({"x": [1, 2, 3, 4], "label": labels})
    (batch,) = batches(as_parquet(table), "parquet", options={"labels": "optional"})
    assert label_list(batch) == expected
    assert [type(label) for label in label_list(batch)] == [type(label) for label in expected]


def test_kinds_can_be_declared():
    table = pa.table({"n": [1, None, 3], "f": [1.5, 2, 3], "s": ["1", " 2 ", None], "y": [1, 2, 1]})
    columns = {"n": "categorical", "f": "categorical", "s": "numeric", "y": "categorical"}
    assert examples(as_parquet(table), "parquet", columns=columns) == [
        ({"n=1": 1, "f=1.5": 1, "s": 1}, "1", None),
        ({"f=2": 1, "s": 2}, "2", None),
        ({"n=3": 1, "f=3": 1}, "1", None),
    ]


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_number_may_mark_a_missing_value(kind):
    table = pa.table({"x": [1, -9], "c": [-9, 2], "y": [-9, 3]})
    marked = Features(missing=["-9"], kinds={"c": "categorical", "y": "ignore", "x": "numeric"}, others="ignore")
    schema = Schema("parquet", label="y", label_kind=kind, features=marked)
    (batch,) = batches(as_parquet(table), "parquet", schema=schema, options=OPTIONAL)
    assert features(batch) == [{"x": 1}, {"c=2": 1}]
    assert label_list(batch) == [None, 3 if kind == "numeric" else "3"]


def test_a_categorical_label_keeps_all_digits():
    table = pa.table({"x": [1, 2], "y": pa.array([2**60 + 1, 2**64 - 1], pa.uint64())})
    found = examples(as_parquet(table), "parquet", columns={"y": "categorical"})
    assert [label for _, label, _ in found] == [str(2**60 + 1), str(2**64 - 1)]


def test_a_column_without_values_at_first_is_what_its_type_says():
    words = pa.array([None] * 3000 + ["red"])
    table = pa.table({"s": words, "t": pa.nulls(3001, pa.timestamp("s")), "y": [1] * 3001})
    schema = batches(as_parquet(table), "parquet").schema
    assert schema.columns == {"s": "categorical", "t": "date", "y": "numeric"}
    assert examples(as_parquet(table), "parquet")[-1] == ({"s=red": 1}, 1, None)


def test_decimals_and_large_numbers_are_numbers():
    table = pa.table({"d": [decimal.Decimal("0.1")], "u": pa.array([2**64 - 1], pa.uint64()), "y": [1]})
    assert examples(as_parquet(table), "parquet") == [({"d": 0.1, "u": 2.0**64}, 1, None)]


def test_dates_structs_and_lists_are_read():
    table = pa.table(
        {
            "when": pa.array([dt.datetime(2026, 11, 17, 14, 30), None], pa.timestamp("us")),
            "day": pa.array([dt.date(2026, 11, 17), None]),
            "user": pa.array([{"age": 3, "job": {"name": "cook"}}, None]),
            "skipped": pa.array([{"blob": b"x"}, None]),
            "y": [1, 2],
        }
    )
    reading = batches(as_parquet(table), "parquet", ignore=("skipped", "user.age"))
    assert reading.schema.columns == {
        "when": "date",
        "day": "date",
        "user.job.name": "categorical",
        "y": "numeric",
    }
    record = {
        "when": dt.datetime(2026, 11, 17, 14, 30),
        "day": dt.date(2026, 11, 17),
        "user": {"job": {"name": "cook"}},
    }
    assert [row for batch in reading for row in features(batch)] == [Features().read(record), {}]
    nested = examples(as_parquet(table), "parquet", label="user.age", ignore=("skipped", "y"), options=OPTIONAL)
    assert [label for _, label, _ in nested] == [3, None]


OPTIONAL = {"labels": "optional"}


@pytest.mark.parametrize(
    ("column", "type_name"),
    [
        (pa.array([b"x"] * 30), "binary"),
        (pa.array([[1.0]] * 30), "list<float64>"),
        (pa.array([dt.time(3)] * 30), "time"),
    ],
)
def test_unusable_types_are_rejected_or_ignored(column, type_name):
    data = as_parquet(pa.table({"x": [1] * 30, "odd": column, "y": [1] * 30}))
    message = (
        f"data.parquet: the column 'odd' has the type {type_name}; numbers, bools, strings, dates, timestamps, structs "
        'and lists of strings can be used (convert it to one of them, or leave it out with kinds={...: "ignore"})'
    )
    with pytest.raises(ValueError, match=exactly(message)):
        examples(data, "parquet")
    assert examples(data, "parquet", ignore=("odd",)) == [({"x": 1}, 1, None)] * 30


def test_a_label_that_is_ignored_may_have_any_type():
    # Longer than Python's own durations.
    table = pa.table({"x": [1.0, 2.0], "y": pa.array([2**62, 1], pa.duration("s"))})
    found = examples(as_parquet(table), "parquet", options={"labels": "ignored"})
    assert [features for features, *_ in found] == [{"x": 1.0}, {"x": 2.0}]


RECORD = "data.parquet, record 2, column "
NUMBER = "a finite number of at most 1e+150 in magnitude"
KIND = '(correct the value, leave such records out with on_error="skip", or declare another kind)'


@pytest.mark.parametrize(
    ("table", "said", "message"),
    [
        (
            {"x": [1.0, np.nan], "y": [1, 2]},
            {},
            f"{RECORD}'x': a number must be {NUMBER}; found 'nan' (drop missing values with missing=\"ignore\")",
        ),
        ({"x": [1, 2], "y": [1, None]}, {}, f"{RECORD}'y': a record needs a label; found nothing"),
        (
            {"x": [1, 2], "y": [1.0, np.inf]},
            {},
            f"{RECORD}'y': a label must be {NUMBER}; found 'inf'",
        ),
        (
            {"x": [1, 2], "y": [1, 2**53]},
            {},
            f"{RECORD}'y': an integer label must be less than 2^53 in magnitude, so that it is exact; found "
            "'9007199254740992' (name it in kinds={...: \"categorical\"})",
        ),
        (
            {"x": [1, 2], "y": ["1", "two"]},
            {"columns": {"y": "numeric"}, "label": "y"},
            f"{RECORD}'y': a label must be a number, as the first ones are: {NUMBER}; found 'two'",
        ),
        (
            {"x": [1, 2], "y": ["a", "b" * 300]},
            {},
            f"{RECORD}'y': a label must have at most 256 characters; found '{'b' * 40}'...",
        ),
        (
            {"x": [1, 2], "y": [1, 2], "w": [1.0, -2.0]},
            {"weight": "w"},
            f"{RECORD}'w': a weight must be 0 or a number from 1e-100 to 1e+100; found '-2'",
        ),
        (
            {"x": [1, 2], "y": [1, 2], "w": ["1", None]},
            {"weight": "w"},
            f"{RECORD}'w': a weight must be 0 or a number from 1e-100 to 1e+100; found nothing",
        ),
        (
            {"x": [1, 2], "y": [1, 2], "m": [{"w": 5.0}, None]},
            {"weight": "m.w"},
            f"{RECORD}'m.w': a weight must be 0 or a number from 1e-100 to 1e+100; found nothing",
        ),
        (
            {"x": [1, 2], "m": [{"y": 5.0}, None]},
            {"label": "m.y"},
            f"{RECORD}'m.y': a record needs a label; found nothing",
        ),
        (
            {"x": pa.array([], pa.int64()), "y": pa.array([], pa.int64())},
            {},
            "data.parquet: no examples; the table is empty",
        ),
        (
            {"x": [None, 1], "y": [1, 2]},
            {"columns": {"x": "text"}},
            f"{RECORD}'x': a value of a text column must be a string or a list of strings; found '1' {KIND}",
        ),
        (
            {"x": [[], ["a"]], "y": [1, 2]},
            {"columns": {"x": "numeric"}},
            f"{RECORD}'x': a list must hold strings, each a feature, and its column must not be numeric or a date; "
            f"found 'a' {KIND}",
        ),
        (
            {"x": [1], "y": [["a"]]},
            {},
            "data.parquet: the label 'y' must be numeric or categorical, but has the type list<string>",
        ),
        (
            {"x": [1], "y": [1], "w": [dt.date(2026, 11, 17)]},
            {"weight": "w"},
            "data.parquet: the weight 'w' must be numeric, but has the type date32",
        ),
        (
            {"x": [1], "y": [1]},
            {"label": "z"},
            "data.parquet: no label column 'z'; the columns are 'x', 'y'",
        ),
    ],
)
def test_errors_name_the_record(table, said, message):
    with pytest.raises(ValueError, match=exactly(message)):
        examples(as_parquet(pa.table(table)), "parquet", **said)


def test_bad_records_are_skipped_and_counted():
    faults = SkippedRecords()
    table = pa.table({"x": [1.0, np.nan, 3.0], "y": [1, 2, None]})
    options = {"on_error": "skip", "skipped": faults}
    assert examples(as_parquet(table), "parquet", options=options) == [({"x": 1}, 1, None)]
    assert [(fault.line, fault.column, fault.unit) for fault in faults.first] == [
        (2, "x", "record"),
        (3, "y", "record"),
    ]


def test_two_columns_of_one_name_are_rejected():
    table = pa.table([[1], [2], [3]], names=["a", "a", "y"])
    with pytest.raises(ValueError, match=exactly("data.arrow: two columns have the name 'a'; names must be unique")):
        examples(as_stream(table), "arrow")


@ways
def test_a_file_truncated_or_changed_is_read_or_rejected(format, written):
    data = written(TABLE.drop_columns(["about"]))
    refused = []
    for place in range(0, len(data), 7):
        for broken in (data[:place], data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]):
            try:
                examples(broken, format)
            except ValueError as error:
                refused.append(str(error))
    assert len(refused) > len(data) / 14
    assert [message for message in refused if not message.startswith(f"data.{format}")] == []


@ways
def test_a_system_error_is_not_reported_as_a_bad_file(format, written):
    class Torn(io.BytesIO):
        def seek(self, *place):
            raise OSError(errno.EIO, "Input/output error")

        def readinto(self, memory):
            return super().readinto(memory[:64]) if self.tell() < 64 else self.seek()

    with pytest.raises(OSError, match=r"^\[Errno 5\] Input/output error$"):
        [*Reading(Torn(written(TABLE)), Schema(format))]


def test_the_schema_is_resolved_from_a_file(tmp_path):
    path = tmp_path / "table.parquet"
    path.write_bytes(as_parquet(TABLE))
    assert Reading(path, Schema("parquet")).schema.columns == KINDS
    assert Reading(io.BytesIO(as_stream(TABLE)), Schema("arrow")).schema.label == "label"


def test_a_column_and_a_nested_one_of_the_same_name_add_up_as_in_json():
    records = [{"a.b": 1.0, "a": {"b": 2.0}, "y": i % 2} for i in range(3)]
    data = as_parquet(pa.Table.from_pylist(records))
    assert examples(data, "parquet") == [({"a.b": 3}, i % 2, None) for i in range(3)]
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    assert examples(lines, "jsonl") == examples(data, "parquet")
    assert Features().read({"a.b": 1.0, "a": {"b": 2.0}}) == {"a.b": 3}


def test_the_type_of_a_column_does_not_change_what_a_model_has_decided():
    record = {"tags": ["p", "q"], "a.b": ["True"], "a": {"b": "So Long"}}
    data = as_parquet(pa.Table.from_pylist([record | {"y": 1}]))
    for declared in (Features(others="categorical"), Features(kinds={"tags": "ignore"})):
        read = examples(data, "parquet", schema=Schema("parquet", label="y"), options={"features": declared})
        assert read == [(declared.read(record), 1, None)]
