"""Batches of Parquet and Arrow: the data alone divides them, each fits into memory, and what is read is checked."""

import io
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from scwlearn import Features
from scwlearn.data.io.errors import DataError, SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.parts import PartedData, read_part
from scwlearn.data.reading import read_batches

pytestmark = pytest.mark.native

PART_NAMES = 2**17


def as_parquet(table):
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


def as_arrow(table, rows=None):
    file = io.BytesIO()
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, rows)
    return file.getvalue()


ways = pytest.mark.parametrize("written", [as_parquet, as_arrow])


@ways
@pytest.mark.parametrize("read_ahead", [False, True])
def test_rows_that_become_dense_make_batches_of_limited_size(written, read_ahead):
    # The first rows show nothing of the others, of which each has 2,000 names of its own.
    texts = ["fine thanks"] * 1200 + [" ".join(f"w{2000 * i + j}" for j in range(2000)) for i in range(200)]
    weights = [1.0] * 1399 + [-1.0]
    table = pa.table({"t": texts, "w": weights, "label": [1, 2] * 700})
    skipped = SkippedRecords()
    options = ReaderOptions(on_error="skip", skipped=skipped, read_ahead=read_ahead)
    features = Features(kinds={"t": "text"})
    _, batches = read_batches([io.BytesIO(written(table))], options=options, features=features, weight="w")
    found = [(batch.lines.tolist(), len(batch.x.names)) for batch in batches]
    assert [line for lines, _ in found for line in lines] == [*range(1, 1400)]
    assert max(names for _, names in found) <= PART_NAMES + 2000
    assert [error.line for error in skipped.first] == [1400]


@ways
def test_threads_do_not_change_the_batches(written):
    # Old models would differ in their last bits, if the batches depended on how fast threads are.
    values = np.ones(200_000, dtype=np.int8)
    values[:1000] = 0
    table = pa.table({f"c{i}": values for i in range(100)} | {"label": values})
    data = written(table)
    found = []
    for read_ahead in (False, True):
        _, batches = read_batches([io.BytesIO(data)], options=ReaderOptions(read_ahead=read_ahead))
        found.append([(len(batch), batch.x.rows.stored) for batch in batches])
    assert found[0] == found[1]
    assert max(stored for _, stored in found[0]) <= 2**21


def damaged_dictionary(places):
    """A table in two batches, whose dictionary has text that is not UTF-8 at place 1."""
    buffers = [None, pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"a\xff")]
    words = pa.Array.from_buffers(pa.string(), 2, buffers)
    coded = pa.DictionaryArray.from_arrays(pa.array(places), words)
    table = pa.table({"x": coded, "label": [1, 2, 1, 2]})
    return as_arrow(table, 2)


def test_a_batch_is_checked_where_it_is_read_not_its_whole_dictionary():
    # Each batch would check the dictionary of the file anew.
    (batch, other) = read_batches([io.BytesIO(damaged_dictionary([0, 0, 0, 0]))])[1]
    assert [*batch.x.dicts(), *other.x.dicts()] == [{"x=a": 1}] * 4
    with pytest.raises(DataError, match=r"^the file, record 3, column 'x': strings must be UTF-8"):
        [*read_batches([io.BytesIO(damaged_dictionary([0, 0, 1, 0]))])[1]]


def test_damage_that_only_the_native_reader_sees_names_the_file():
    table = pa.table({"n": [1.5] * 4, "x": ["first", "second", "third", "fourth"], "label": [1, 2, 1, 2]})
    data = bytearray(as_arrow(table))
    offsets = np.array([0, 5, 11, 16, 22], dtype=np.int32).tobytes()
    at = data.index(offsets)
    data[at + 4 : at + 8] = np.int32(2**30).tobytes()
    features = Features(kinds={"x": "text"})
    problem = "the table is not valid: an offset, an index or a length lies outside of an array"
    with pytest.raises(DataError, match=f"^the file: {problem}$"):
        [*read_batches([io.BytesIO(data)], features=features)[1]]


@pytest.mark.parametrize("rows", [1, 7, 100, 1000])
def test_errors_in_a_part_name_the_record_of_the_file(tmp_path, rows):
    table = pa.table(
        {"a": np.arange(1000.0), "w": [-1.0 if i == 754 else 1.0 for i in range(1000)], "label": [1] * 1000}
    )
    path = tmp_path / "some.arrow"
    path.write_bytes(as_arrow(table, rows))
    skipped = SkippedRecords()
    options = ReaderOptions(on_error="skip", skipped=skipped)
    schema, batches = read_batches([path], weight="w", options=options)
    assert sum(map(len, batches)) == 999
    parts = PartedData([path], schema)
    for k in range(7):
        for _ in read_part(parts.part(Fraction(k, 7), Fraction(k + 1, 7)), schema, options):
            pass
    assert [error.line for error in skipped.first] == [755, 755]
