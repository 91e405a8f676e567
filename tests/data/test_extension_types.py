"""Extension types and dictionaries of Arrow: a column means what is stored in it, or is refused; none is lost."""

import io
from contextlib import contextmanager

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from scwlearn import Features
from scwlearn.data.io.errors import DataError
from scwlearn.data.reading import read_batches
from scwlearn.data.tables.arrow import table_rows

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
