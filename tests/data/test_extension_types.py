"""Extension types and dictionaries of Arrow: a column means what is stored in it, or is refused; none is lost."""

import io
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc, parquet

from scwlearn import Features
from scwlearn.data.io.errors import DataError
from scwlearn.data.reading import read_batches
from scwlearn.data.tables.arrow import table_rows
from table_text import exactly

pytestmark = pytest.mark.native


class Marked(pa.ExtensionType):
    """A type of any storage, as pandas has for intervals and periods."""

    def __init__(self, storage):
        super().__init__(storage, "scwlearn.marked")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


@contextmanager
def registered():
    pa.register_extension_type(Marked(pa.null()))
    try:
        yield
    finally:
        pa.unregister_extension_type("scwlearn.marked")


def marked(array):
    return pa.ExtensionArray.from_storage(Marked(array.type), array)


def written(table, format):
    file = io.BytesIO()
    if format == "parquet":
        parquet.write_table(table, file)
    else:
        with ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return file.getvalue()


def read(data):
    """Columns and examples of a file, or the message of its error."""
    try:
        schema, batches = read_batches([io.BytesIO(data)])
        return schema.columns, [row for batch in batches for row in batch.x.dicts()]
    except DataError as error:
        return str(error)


TIMES = pa.array([1_790_000_000, None, 1_800_000_000], pa.timestamp("s", "Europe/Berlin"))
INNER = pa.array([0.5, 2.5, None])
FORMATS, CRASHING = ("parquet", "arrow"), ("dictionary", "parquet")
STORED = {
    "numbers": pa.array([600, 601, None]),
    "strings": pa.array(["a", "b", "a"]),
    "no strings": pa.nulls(3, pa.string()),
    "bools": pa.array([True, None, False]),
    "times": TIMES,
    "lists": pa.array([["x", "y"], None, ["x"]]),
    "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
    "struct": pa.array([{"left": 1.5, "right": "a"}, None, {"left": 3.0, "right": None}]),
    "binary": pa.array([b"a", b"b", None]),
    "times of day": pa.array([1, 2, None], pa.time32("s")),
}


# pyarrow ends the process when it reads a dictionary of a known type from Parquet.
@pytest.mark.parametrize(
    ("name", "format"), [(name, format) for name in STORED for format in FORMATS if (name, format) != CRASHING]
)
def test_a_file_means_the_same_whether_its_types_are_known_or_not(name, format):
    array = STORED[name]
    label = pa.array([1, 2, 1])
    plain = pa.table({"x": array, "y": label})
    data = written(pa.table({"x": marked(array), "y": label}), format)
    with registered():
        known = read(data)
    assert known == read(data) == read(written(plain, format))


def test_extension_types_within_others_are_read_as_they_are_stored():
    deep = pa.StructArray.from_arrays([marked(INNER), marked(STORED["struct"])], ["a", "b"])
    plain = pa.StructArray.from_arrays([INNER, STORED["struct"]], ["a", "b"])
    coded, places = marked(pa.array([7, 8])), pa.array([0, 1, None])
    columns = {"s": marked(deep), "d": pa.DictionaryArray.from_arrays(places, coded), "y": pa.array([1, 2, 1])}
    expected = {"s": plain, "d": pa.DictionaryArray.from_arrays(places, coded.storage), "y": columns["y"]}
    with registered():
        assert read(written(pa.table(columns), "arrow")) == read(written(pa.table(expected), "arrow"))
    assert [*table_rows(pa.table(columns), Features()).dicts()] == [*table_rows(pa.table(expected), Features()).dicts()]


CANONICAL = [
    (name, storage)
    for name, storage in (
        ("bool8", pa.array([1, 0, None], pa.int8())),
        ("json_", pa.array(['{"a": 1}', None, "2"])),
        ("uuid", pa.array([b"x" * 16, None, b"y" * 16], pa.binary(16))),
    )
    if hasattr(pa, name)
]


@pytest.mark.parametrize(("name", "storage"), CANONICAL)
@pytest.mark.parametrize("format", ["parquet", "arrow", "memory"])
def test_canonical_types_are_read_as_they_are_stored(name, storage, format):
    label = pa.array([1, 2, 1])
    column = pa.ExtensionArray.from_storage(getattr(pa, name)(), storage)
    tables = [pa.table({"x": each, "y": label}) for each in (column, storage)]
    if format == "memory":
        features = Features(kinds={"x": "ignore"} if name == "uuid" else {})
        found = [[*table_rows(table, features).dicts()] for table in tables]
    else:
        found = [read(written(table, format)) for table in tables]
    assert found[0] == found[1]


def test_intervals_and_periods_of_pandas_in_a_file_are_what_is_stored():
    frame = pd.DataFrame(
        {"i": pd.interval_range(1, 3), "p": pd.period_range("2020-01", periods=2, freq="M"), "label": [1, 0]}
    )
    file = io.BytesIO()
    # Registers their types with pyarrow.
    frame.to_parquet(file)
    assert read(file.getvalue()) == (
        {"i.left": "numeric", "i.right": "numeric", "p": "numeric", "label": "numeric"},
        [{"i.left": 1, "i.right": 2, "p": 600}, {"i.left": 2, "i.right": 3, "p": 601}],
    )


@pytest.mark.parametrize("cut", [pd.cut, pd.qcut])
def test_a_category_of_intervals_is_refused_as_its_values_are(cut):
    frame = pd.DataFrame({"age": cut(np.arange(80), 4)})
    message = (
        "examples[0], column 'age': a value must be a number, a string, a date, a list of strings, an object or "
        "missing; found 'pandas._libs.interval.Interval'"
    )
    for each in (frame, frame.astype(object)):
        with pytest.raises(DataError, match=exactly(message)):
            table_rows(each, Features())
    assert len(table_rows(frame.astype(str), Features()).names) == 4


STRUCTS = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([{"k": 1.5}, {"k": 2.5}]))
REFUSAL = (
    "the column 's' has the type dictionary<struct>; numbers, bools, strings, dates, timestamps, structs and lists of "
    'strings can be used (convert it to one of them, or leave it out with kinds={...: "ignore"})'
)


@pytest.mark.parametrize("kind", ["struct", "extension"])
def test_a_dictionary_of_structs_is_refused(kind):
    values = STRUCTS.dictionary
    coded = STRUCTS if kind == "struct" else pa.DictionaryArray.from_arrays(STRUCTS.indices, marked(values))
    table = pa.table({"s": coded, "n": [1, 2, 4], "label": [1, 0, 1]})
    with pytest.raises(DataError, match=exactly(REFUSAL)):
        table_rows(table, Features())
    data = written(table, "arrow")
    assert read(data) == f"the file: {REFUSAL}"
    with registered():
        assert read(data) == f"the file: {REFUSAL}"
    _, batches = read_batches([io.BytesIO(data)], features=Features(kinds={"s": "ignore"}))
    assert [row for batch in batches for row in batch.x.dicts()] == [{"n": 1}, {"n": 2}, {"n": 4}]


VALUES = [
    pa.array([1, None, 3]),
    pa.array([True, False, None]),
    pa.array([1.5, 2.5, None]),
    pa.array(["a", None, "c"]),
    pa.array(["a", "", "a long string of more than twelve"], pa.string_view()),
    pa.array([["a"], None, ["b", "c"]]),
    pa.array([b"a", b"b", b"c"]),
    pa.array([{"k": 1}, {"k": 2}, None]),
    pa.array([{}, {}, {}], pa.struct([])),
    pa.array([0, 1, None], pa.date32()),
    TIMES,
    pa.nulls(3),
]


@given(st.sampled_from(VALUES), st.lists(st.none() | st.integers(0, 2), min_size=1, max_size=5), st.booleans())
def test_the_values_of_a_dictionary_mean_what_they_mean_alone_or_are_refused(values, places, nested):
    column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), values)
    if nested:
        column = pa.StructArray.from_arrays([column], ["in"])
    table = pa.table({"x": column})
    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
        with pytest.raises(DataError, match=r"^the column 'x(\.in)?' has the type dictionary<"):
            table_rows(table, Features())
    else:
        assert [*table_rows(table, Features()).dicts()] == [Features().read(record) for record in table.to_pylist()]
