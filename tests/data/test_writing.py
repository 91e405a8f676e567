"""Written batches are read back unchanged, in every format that can hold them."""

import bz2
import gzip
import io
import json
import lzma
import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from scwlearn import Features
from scwlearn.data.batch import Batch
from scwlearn.data.io.decompress import import_zstd
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows
from scwlearn.data.writing import write_batches
from table_text import batches, examples, features, label_list, made, schema_of

FORMATS = ("libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow")
NAMED = FORMATS[1:]


def written(given, format, **options):
    """The bytes that examples are written as."""
    file = io.BytesIO()
    assert write_batches(given, file, format, **options) == sum(map(len, given))
    return file.getvalue()


def again(given, format, *, columns=None, optional=False, **options):
    """Features, label and weight of each example, written and read."""
    data = written(given, format, columns=columns, **options)
    weighted = given[0].weights is not None and format not in ("vw", "libsvm")
    labelled = given[0].labels is not None and format not in ("vw", "libsvm")
    schema = schema_of(
        format,
        label="label" if labelled else None,
        weight="weight" if weighted else None,
        columns=columns or {} if format in ("csv", "tsv") else {},
    )
    return examples(data, format, schema=schema, options={"labels": "optional" if optional else "required"})


def expected(given):
    """Return features, labels and weights of the batches before writing."""
    found = []
    for batch in given:
        weights = [None] * len(batch) if batch.weights is None else batch.weights.tolist()
        found += zip(features(batch), label_list(batch), weights, strict=True)
    return found


# Names without white space, colons, bars and controls: such as all formats have.
plain = st.text(st.sampled_from("abcXYZ019_.=^é漢"), min_size=1, max_size=6).filter(lambda name: name != "label")
numbers = st.floats(-1e150, 1e150).filter(bool)
dicts = st.lists(st.dictionaries(plain, numbers, max_size=5), min_size=1, max_size=8)
words = st.sampled_from(["yes", "no", "perhaps!"])


@pytest.mark.parametrize("format", NAMED)
@given(rows=dicts, data=st.data())
@settings(deadline=None, max_examples=40)
def test_named_features_survive_a_round_trip_to_the_last_bit(format, rows, data):
    several = st.lists(st.one_of(words), min_size=len(rows), max_size=len(rows))
    weights = st.lists(st.floats(1e-100, 1e100), min_size=len(rows), max_size=len(rows))
    batch = made(rows, data.draw(several), weights=data.draw(weights))
    # VW text leaves out a weight of 1.
    read = [(values, label, 1.0 if weight is None else weight) for values, label, weight in again([batch], format)]
    assert read == expected([batch])


@pytest.mark.parametrize("format", NAMED)
@pytest.mark.parametrize("labels", [[1, -1], [0.1, 1e-300], [2**53 - 1, 0], ["a", "b"]])
def test_labels_survive_a_round_trip(format, labels):
    batch = made([{"x": 1.0}, {"x": -0.1}], labels)
    read = [label for _, label, _ in again([batch], format)]
    # VW's are floats.
    assert read == ([*map(float, labels)] if format == "vw" and not isinstance(labels[0], str) else labels)


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_date_is_written_as_its_features(format):
    read = Features(kinds={"d": "date"}).read
    rows = [read({"d": "2026-11-17 14:30:05.25", "s": "x"}), read({"d": "1969-12-31"}), {}]
    batch = made(rows, [1, 2, 1])
    file = io.BytesIO()
    write_batches([batch], file, format, columns={"d": "date", "s": "categorical", "label": "numeric"})
    assert [features for features, _, _ in examples(file.getvalue(), format, label="label")] == rows


numbered = st.lists(st.dictionaries(st.integers(0, 30), numbers, max_size=5), min_size=1, max_size=8)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("zero_based", [False, True])
@given(rows=numbered)
@settings(deadline=None, max_examples=25)
def test_numbered_features_survive_a_round_trip_through_any_format(format, zero_based, rows):
    x = sparse.lil_array((len(rows), 31))
    for i, row in enumerate(rows):
        for number, value in row.items():
            x[i, number] = value
    batch = Batch(Rows(x.tocsr()), np.arange(len(rows)), None, np.arange(len(rows)) + 1, "source")
    data = written([batch], format, zero_based=zero_based)
    back = [*batches(data, format, zero_based=zero_based and format == "libsvm")]
    text = written(back, "libsvm", zero_based=zero_based)
    assert [*examples(text, "libsvm", zero_based=zero_based)] == [(row, float(i), None) for i, row in enumerate(rows)]


TABLE = b"""age,job,about,label,weight
31.5,nurse,likes long quiet walks,yes,1
,a cook,plays in a band a lot,no,2
-1e-9,,"x, y and z",no,0.5
"""
SCHEMA = {"label": "label", "weight": "weight"}


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("other", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_a_table_is_unchanged_after_a_round_trip_through_any_format(format, other):
    read = batches(TABLE, **SCHEMA)
    columns, first = read.schema.columns, [*read]
    data = written(first, format, columns=columns)
    read = batches(data, format, columns={} if format == "jsonl" else columns, **SCHEMA)
    second = [*read]
    data = written(second, other, columns=columns)
    assert examples(data, other, columns={} if other == "jsonl" else columns, **SCHEMA) == expected(first)


def test_columns_restore_the_original_table():
    read = batches(TABLE, **SCHEMA)
    columns = read.schema.columns
    table = written([*read], "csv", columns=columns)
    assert table == TABLE.replace(b'"x, y and z"', b"x y and z").replace(b"in a band a", b"in a a band").replace(
        b"e-9", b"e-09"
    )


def test_without_columns_every_feature_is_a_column():
    batch = made([{"b": 1.0, "a=x": 2.0}, {"c": -3.5}], ["u", "v"])
    assert written([batch, batch], "csv") == b"b,a=x,c,label\n1,2,,u\n,,-3.5,v\n1,2,,u\n,,-3.5,v\n"
    assert written([batch], "jsonl") == b'{"label":"u","b":1,"a=x":2}\n{"label":"v","c":-3.5}\n'


def test_tags_weights_and_missing_labels_are_kept_in_vw():
    batch = made(
        [{"x": 1.0}, {"s^y": 0.5}, {}], [1, 0, 2], weights=[2, 1, 1], tags=["t", "", "u"], labelled=[True, False, True]
    )
    data = written([batch], "vw")
    assert data == b"1 2 't| x\n| s^y:0.5\n2 'u|\n"
    (back,) = batches(data, "vw", options={"labels": "optional"})
    assert (label_list(back), back.weights.tolist(), back.tags) == ([1, None, 2], [2, 1, 1], ["t", "", "u"])
    assert features(back) == [{"x": 1}, {"s^y": 0.5}, {}]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "arrow"])
def test_missing_labels_stay_missing(format):
    batch = made([{"x": 1.0}, {"x": 2.0}], ["a", ""], labelled=[True, False])
    assert again([batch], format, optional=True) == [({"x": 1}, "a", None), ({"x": 2}, None, None)]
    unlabelled = made([{"x": 1.0}], None)
    assert again([unlabelled], format, optional=True) == [({"x": 1}, None, None)]


def test_names_of_libsvm_features_are_written_to_a_file(tmp_path):
    given = [made([{"b c": 1.0, "a": 0.5}], [1]), made([{"a": 2.0, "é": 3.0}], [-1])]
    assert write_batches(given, tmp_path / "x.svm", "libsvm", names=tmp_path / "names") == 2
    assert (tmp_path / "x.svm").read_bytes() == b"1 1:1 2:0.5\n-1 2:2 3:3\n"
    assert (tmp_path / "names").read_text() == "b c\na\né\n"


@pytest.mark.parametrize(
    ("ending", "unpack"),
    [
        (".gz", gzip.decompress),
        (".bz2", bz2.decompress),
        (".xz", lzma.decompress),
        (".zst", lambda data: import_zstd().decompress(data)),
    ],
)
def test_the_suffix_decides_the_compression(tmp_path, ending, unpack):
    path = tmp_path / f"data.jsonl{ending}"
    write_batches([made([{"x": 1.0}], [1])], path, "jsonl")
    assert unpack(path.read_bytes()) == b'{"label":1,"x":1}\n'


def test_an_existing_file_is_kept_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "data.vw"
    path.write_bytes(b"before")

    def failing():
        yield made([{"x": 1.0}], [1])
        assert path.read_bytes() == b"before"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_batches(failing(), path, "vw")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["data.vw"]
    write_batches([made([{"x": 1.0}], [1])], path, "vw")
    assert path.read_bytes() == b"1 | x\n"
    assert os.listdir(tmp_path) == ["data.vw"]


@pytest.mark.parametrize("format", ["libsvm", "vw", "jsonl"])
def test_a_target_needs_only_a_write_method(format):
    class Target:
        def __init__(self):
            self.text = b""

        def write(self, data):
            self.text += data
            return len(data)

    target = Target()
    assert write_batches([made([{"7": 1.0}], [1])], target, format) == 1
    assert target.text == written([made([{"7": 1.0}], [1])], format)


@pytest.mark.parametrize("format", ["libsvm", "csv", "parquet"])
@pytest.mark.parametrize("at_once", [1, 7])
def test_a_file_that_takes_a_little_at_a_time_gets_all_data(format, at_once):
    class Slow(io.RawIOBase):
        def __init__(self):
            self.taken = b""

        def writable(self):
            return True

        def write(self, data):
            self.taken += bytes(data[:at_once])
            return len(data[:at_once])

    slow, batches = Slow(), [made([{"7": 1.0}, {"8": 2.0}], [1, 2])]
    assert write_batches(batches, slow, format) == 2
    assert slow.taken == written(batches, format)


@pytest.mark.parametrize("answer", [None, 0])
def test_a_file_that_takes_nothing_is_an_error(answer):
    class Full(io.RawIOBase):
        def write(self, data):
            return answer

    with pytest.raises(BlockingIOError, match="open it in blocking mode"):
        write_batches([made([{"7": 1.0}], [1])], Full(), "libsvm")


def test_two_writers_of_one_file_do_not_interfere(tmp_path):
    path = tmp_path / "data.vw"

    def first():
        yield made([{"x": 1.0}], [1])
        write_batches([made([{"y": 1.0}], [1])], path, "vw")
        assert path.read_bytes() == b"1 | y\n"

    write_batches(first(), path, "vw")
    assert path.read_bytes() == b"1 | x\n"
    assert os.listdir(tmp_path) == ["data.vw"]


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_blanks_around_strings_names_and_labels_are_kept(format):
    lines = b'{"y": " a", " n ": 1, "s": "Rome "}\n{"y": "b", "n": 2, "s": "\\tOslo"}\n'
    columns = {" n ": "numeric", "n": "numeric", "s": "categorical"}
    table = written([*batches(lines, "jsonl")], format, label="y", columns=columns)
    assert examples(table, format, columns={"s": "categorical"}) == [
        ({" n ": 1, "s=Rome ": 1}, " a", None),
        ({"n": 2, "s=\tOslo": 1}, "b", None),
    ]


@pytest.mark.parametrize("cells", [1, 7, 2**23])
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "json", "parquet", "arrow"])
def test_a_table_that_is_written_in_parts_is_the_same(monkeypatch, format, cells):
    columns = {"n": "numeric", "c": "categorical", "t": "text"}
    records = [{"n": i, "c": "ab"[i % 2], "t": ["u", "v"] * (i % 2)} for i in range(1, 9)]
    lines = "".join(json.dumps({"label": f"l{i % 3}" if i else None, **r}) + "\n" for i, r in enumerate(records))
    options = ReaderOptions(labels="optional")
    given = [*read_batches([io.BytesIO(lines.encode())], options=options, label="label")[1]]
    monkeypatch.setattr("scwlearn.data.tables.table_writer._MOST_CELLS", cells, raising=False)
    file = io.BytesIO()
    write_batches(given, file, format, columns=columns)
    file.seek(0)
    _, found = read_batches([file], options=options, label="label", features=Features(kinds=columns))
    assert expected([*found]) == expected(given)


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "arrow"])
def test_the_memory_to_write_a_table_does_not_grow_with_its_rows(monkeypatch, format):
    monkeypatch.setattr("scwlearn.data.tables.table_writer._MOST_CELLS", 2**16, raising=False)
    text = b"1 3000:1\n" + b"1 1:1\n-1 2:1\n" * 500
    (batch,) = read_batches([io.BytesIO(text)])[1]
    columns = {str(i): "numeric" for i in range(1, 3001)}

    class Sink(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return len(data)

    write_batches([batch.slice(0, 5)], Sink(), format, columns=columns)  # imports
    tracemalloc.start()
    write_batches([batch], Sink(), format, columns=columns)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All of its cells would take 24 MB, and their texts as much.
    assert peak < 12e6
