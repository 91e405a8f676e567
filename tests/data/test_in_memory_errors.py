"""Tables in memory that cannot be read: types, names, values, streams."""

import datetime as dt
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc

from scwlearn import Features, StreamClassifier
from scwlearn.data.io.errors import DataError
from scwlearn.data.reading import read_batches
from scwlearn.data.tables.arrow import table_rows, utc_offset
from table_text import exactly

pytestmark = pytest.mark.native


CANNOT = "numbers, bools, strings, dates, timestamps, structs and lists of strings can be used"
CONVERT = '(convert it to one of them, or leave it out with kinds={...: "ignore"})'


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (pa.array([b"x"]), "binary"),
        (pa.array([[1.0]]), "list<float64>"),
        (pa.array([dt.time(1)]), "time"),
        (pa.array([dt.timedelta(1)]), "duration"),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "map"),
        (pa.array([b"x"]).dictionary_encode(), "dictionary<binary>"),
        (pa.array([None], pa.list_(pa.struct([("a", pa.int64())]))), "list<struct>"),
        (pa.array([["a"]], pa.list_(pa.string(), 1)), "fixed_size_list"),
    ],
)
def test_a_type_that_cannot_be_used_is_refused_or_ignored(column, name):
    table = pa.table({"x": [1], "odd": column})
    message = f"the column 'odd' has the type {name}; {CANNOT} {CONVERT}"
    with pytest.raises(DataError, match=exactly(message)):
        table_rows(table, Features())
    nested = pa.table({"in": pa.StructArray.from_arrays([column], ["odd"])})
    with pytest.raises(DataError, match=exactly(message.replace("'odd'", "'in.odd'"))):
        table_rows(nested, Features())
    assert [*table_rows(table, Features(kinds={"odd": "ignore"})).dicts()] == [{"x": 1}]
    assert [*table_rows(nested, Features(kinds={"in": "ignore"})).dicts()] == [{}]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pa.table([[1], [2]], names=["a", "a"]),
            "two columns have the name 'a'; names must be unique",
        ),
        (
            pd.DataFrame([[1, 2]], columns=["1", 1]),
            "two columns have the name '1'; names must be unique",
        ),
        (
            pa.table({"x": [1.0, 1e200]}),
            "examples[1], column 'x': a number must be a finite number of at most 1e+150 in magnitude; found '1e+200'",
        ),
        (
            pa.table({"k" * 300: ["word"]}),
            f"examples[0], column '{'k' * 40}'...: the key of several features must have at most 256 characters, with "
            f"those above it; found '{'k' * 40}'...",
        ),
    ],
)
def test_an_invalid_table_is_refused(table, message):
    with pytest.raises(DataError, match=exactly(message)):
        table_rows(table, Features())


def test_no_record_of_a_table_can_be_left_out():
    message = (
        "examples[0], column 'x': a value of a text column must be a string or a list of strings; found '1' (correct "
        "the value, or declare another kind)"
    )
    model = StreamClassifier("arow", features=Features(kinds={"x": "text"}))
    with pytest.raises(DataError, match=exactly(message)):
        model.learn_many(pa.table({"x": [1]}), [1])


def as_file(table):
    file = io.BytesIO()
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return io.BytesIO(file.getvalue())


HINT = "convert the times to UTC; on Windows: pip install tzdata"
ZONES = ["Mars/Crater", "+24:00", "-99:00", "+05:60", "America", "../../etc/passwd", "A" * 90, "é"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("nested", [False, True])
def test_an_unknown_time_zone_is_refused(zone, nested):
    column, name = pa.array([0, None], pa.timestamp("s", zone)), "t"
    if nested:
        column, name = pa.StructArray.from_arrays([column], ["in"]), "t.in"
    message = f"the column {name!r} has the unknown time zone {zone!r} ({HINT})"
    table = pa.table({"t": column, "label": [1, 2]})
    with pytest.raises(DataError, match=exactly(message)):
        table_rows(table, Features())
    with pytest.raises(DataError, match=exactly(f"the file: {message}")):
        read_batches([as_file(table)])
    assert [*table_rows(table, Features(kinds={"t": "ignore"})).dicts()] == [{"label": 1}, {"label": 2}]


@given(st.integers(-1439, 1439), st.sampled_from([":", ""]))
def test_every_offset_of_less_than_a_day_is_a_zone(minutes, colon):
    hours, rest = divmod(abs(minutes), 60)
    assert utc_offset(f"{'-' if minutes < 0 else '+'}{hours:02}{colon}{rest:02}", 0) == 60 * minutes


NUL_NAMES = {
    "arrow": lambda: pa.table({"a\0b": [1.0]}),
    "batch": lambda: pa.record_batch({"a\0b": [1.0]}),
    "reader": lambda: pa.table({"a\0b": [1.0]}).to_reader(),
    "nested": lambda: pa.table({"s": [{"t": {"a\0b": 1.0}}]}),
    "structs": lambda: pa.array([{"a\0b": 1.0}]),
    "pandas": lambda: pd.DataFrame({"a\0b": [1.0]}),
    "pandas objects": lambda: pd.DataFrame({"a\0b": [1.0], "s": [{"x", "y"}]}),
    # Polars would end the process.
    "polars": lambda: pl.DataFrame({"a\0b": [1.0]}),
    "polars structs": lambda: pl.DataFrame({"s": [{"t": {"a\0b": 1.0}}]}),
    "polars lists": lambda: pl.DataFrame({"s": [[{"a\0b": 1.0}]]}),
    "polars series": lambda: pl.Series([{"a\0b": 1.0}]),
}


@pytest.mark.parametrize("name", NUL_NAMES)
def test_the_name_of_a_column_must_not_contain_nul(name):
    message = "the name of a column must not contain NUL; found 'a\\x00b'"
    with pytest.raises(DataError, match=exactly(message)):
        table_rows(NUL_NAMES[name](), Features())


@pytest.mark.parametrize("nested", [False, True])
def test_no_name_of_a_file_contains_nul(nested):
    table = pa.table({"a\0b": [1.0], "label": [1]} if not nested else {"s": [{"a\0b": 1.0}], "label": [1]})
    message = "the file: the name of a column must not contain NUL; found 'a\\x00b'"
    with pytest.raises(DataError, match=exactly(message)):
        read_batches([as_file(table)])


def test_a_lazy_frame_must_be_collected():
    lazy = pl.DataFrame({"a": [1.0]}).lazy()
    message = (
        "a table must be a data frame, an Arrow table or another object with Arrow's C interface, got a LazyFrame, "
        "which has no rows yet; call .collect()"
    )
    model = StreamClassifier("arow")
    for call in (lambda: model.learn_many(lazy, [1]), lambda: model.predict_many(lazy), lambda: Features.detect(lazy)):
        with pytest.raises(TypeError, match=exactly(message)):
            call()
    model.learn_many(lazy.collect(), [1])


def test_an_array_is_no_table():
    with pytest.raises(TypeError, match=exactly("a table must have columns, got an array of type list<int64>")):
        table_rows(pa.array([[1]]), Features())


def test_a_stream_that_fails_is_refused():
    def batches():
        yield pa.record_batch({"x": [1]})
        raise ValueError("torn")

    schema = pa.schema({"x": pa.int64()})
    with pytest.raises(ValueError, match=r"^the table cannot be read: .*torn"):
        table_rows(pa.RecordBatchReader.from_batches(schema, batches()), Features())


def test_a_stream_that_was_handed_over_is_refused():
    capsule = pa.table({"x": [1]}).__arrow_c_stream__()
    pa.RecordBatchReader._import_from_c_capsule(capsule)

    class Used:
        def __arrow_c_stream__(self):
            return capsule

    with pytest.raises(ValueError, match=exactly("the stream of the table has been read already")):
        table_rows(Used(), Features())


def test_text_that_is_not_utf8_is_refused():
    buffers = [None, pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"a\xff")]
    broken = pa.Array.from_buffers(pa.string(), 2, buffers)
    lists = pa.ListArray.from_arrays([0, 1, 2], broken)
    for column in (broken, lists, broken.cast(pa.string())):
        with pytest.raises(DataError, match=r"^examples\[1\], column 's': strings must be UTF-8"):
            table_rows(pa.table({"s": column}), Features())


def lying(type, length, numbers, lies, *texts, children=()):
    """An array; its offsets, places or views; and what to change there behind Arrow's back, which checks them."""
    numbers = np.array(numbers)
    array = pa.Array.from_buffers(type, length, [None, pa.py_buffer(numbers), *texts], children=[*children])
    return array, numbers, lies


def lying_dictionary(place):
    places = np.array([0, 1])
    return pa.DictionaryArray.from_arrays(pa.array(places), WORDS), places, {1: place}


def int32(*numbers):
    return np.array(numbers, dtype=np.int32)


FAR = 2**30
WORDS = pa.array(["one", "two"])
TEXT, LISTS, VIEW = pa.py_buffer(b"x" * 30), pa.list_(pa.string()), int32(20, 0, 0, 0)
BROKEN = {
    "a text that ends behind the others": lying(pa.string(), 2, int32(0, 1, 2), {1: FAR}, TEXT),
    "a text that begins behind its end": lying(pa.string(), 2, int32(0, 1, 2), {1: 3}, TEXT),
    "a text that begins before the others": lying(pa.string(), 2, int32(0, 1, 2), {0: -FAR}, TEXT),
    "a large text": lying(pa.large_string(), 2, np.array([0, 1, 2]), {1: 2**40}, TEXT),
    "a list that ends behind its items": lying(LISTS, 2, int32(0, 1, 2), {1: FAR}, children=[WORDS]),
    "the last list": lying(LISTS, 1, int32(0, 1), {1: 3}, children=[WORDS]),
    "a large list": lying(pa.large_list(pa.string()), 1, np.array([0, 1]), {1: 2**40}, children=[WORDS]),
    "a view into no buffer": lying(pa.string_view(), 1, VIEW, {2: 7}, TEXT),
    "a view behind its buffer": lying(pa.string_view(), 1, VIEW, {3: FAR}, TEXT),
    "a view of negative size": lying(pa.string_view(), 1, VIEW, {0: -1}, TEXT),
    "a place in a dictionary": lying_dictionary(FAR),
    "a negative place": lying_dictionary(-FAR),
}


@pytest.mark.native
@pytest.mark.parametrize("name", BROKEN)
def test_a_table_that_contradicts_itself_is_refused(name):
    array, numbers, lies = BROKEN[name]
    table = pa.table({"column": array})
    for at, number in lies.items():
        numbers[at] = number
    problem = "the table is not valid: an offset, an index or a length lies outside of an array"
    with pytest.raises(ValueError, match=exactly(problem)):
        table_rows(table, Features())


def test_an_integer_of_128_bits_is_refused_by_its_name():
    table = pl.DataFrame({"odd": pl.Series([1], dtype=pl.Int128)})
    with pytest.raises(DataError, match=exactly(f"the column 'odd' has the type int128; {CANNOT} {CONVERT}")):
        table_rows(table, Features())
