"""Sources without examples: passed over among others, an error alone, in all formats."""

import io

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from scwlearn.cli.app import run
from scwlearn.data.io.errors import DataError, NoExamples, SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches

TABLE = pa.table({"a": [1.0, 2.0], "label": [1, 0]})


def as_parquet(table):
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


def as_arrow(table, new=ipc.new_file):
    file = io.BytesIO()
    with new(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def as_stream(table):
    return as_arrow(table, ipc.new_stream)


# A source with two examples, and one without any.
SOURCES = {
    "parquet": (as_parquet(TABLE), as_parquet(TABLE[:0])),
    "arrow": (as_arrow(TABLE), as_arrow(TABLE[:0])),
    "arrow stream": (as_stream(TABLE), as_stream(TABLE[:0])),
    "csv": (b"a,label\n1,1\n2,0\n", b"a,label\n"),
    "tsv": (b"a\tlabel\n1\t1\n2\t0\n", b"a\tlabel\n\n"),
    "json": (b'[{"a": 1, "label": 1}, {"a": 2, "label": 0}]', b"[]"),
    "jsonl": (b'{"a": 1, "label": 1}\n{"a": 2, "label": 0}\n', b"\n\n"),
    "libsvm": (b"1 1:1\n0 1:2\n", b"# nothing\n"),
    "vw": (b"1 | a:1\n0 | a:2\n", b"\n\n"),
}


def labels(name, contents, **options):
    sources = [io.BytesIO(content) for content in contents]
    _, batches = read_batches(sources, options=ReaderOptions(**options), format=name.split()[0])
    return [label for batch in batches for label in batch.labels.tolist()]


@pytest.mark.parametrize("read_ahead", [False, True])
@pytest.mark.parametrize("name", SOURCES)
def test_a_source_without_examples_is_passed_over(name, read_ahead):
    full, empty = SOURCES[name]
    expected = labels(name, [full])
    assert expected == [1, 0]
    assert labels(name, [full, empty, full], read_ahead=read_ahead) == expected * 2
    assert labels(name, [empty, b"", full, empty], read_ahead=read_ahead) == expected


@pytest.mark.parametrize("name", SOURCES)
def test_without_any_example_there_is_an_error(name):
    _, empty = SOURCES[name]
    for contents in ([empty], [empty, empty], [empty, b""]):
        with pytest.raises(NoExamples, match=r"^the file: no examples; "):
            labels(name, contents)


def test_records_of_a_source_that_are_all_left_out_are_counted():
    skipped = SkippedRecords()
    contents = [b"1 1:1\n", b"1 spam\n1 eggs\n"]
    assert labels("libsvm", contents, on_error="skip", skipped=skipped) == [1]
    assert skipped.count == 2
    with pytest.raises(DataError, match=r"no examples \(2 records could not be read\)"):
        labels("libsvm", contents[1:] * 2, on_error="skip")


@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_training_passes_over_a_table_without_rows(name, tmp_path, capsys):
    full, empty = SOURCES[name]
    paths = [tmp_path / f"{i}.{name}" for i in range(3)]
    for path, content in zip(paths, (full, empty, full), strict=True):
        path.write_bytes(content)
    assert run(["train", *map(str, paths), "--epochs", "2", "-q"]) == 0, capsys.readouterr().err
