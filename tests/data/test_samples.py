"""The first 1,000 records show what columns and labels are, however the data is cut into chunks and batches."""

import gzip
import io
import json
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc, parquet

from scwlearn import Features
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from table_text import features, label_list

PADDING = "x" * 200


def columns(records):
    """The columns of records, in each of which the values show its kind later, or the label or an id."""
    draw = random.Random(records)
    late = [i >= records // 3 for i in range(records)]
    return {
        "code": [f"c{i % (records // 2)}" for i in range(records)],
        "number": [i % (records // 2 + 1) + 1 for i in range(records)],
        "about": ["one two three four" if not is_late else f"some text {i} here" for i, is_late in enumerate(late)],
        "size": ["x" if is_late else str(draw.randrange(9)) for is_late in late],
        "pad": [f"p{i % 3}{PADDING}" for i in range(records)],
        "label": ["b" if is_late else str(i % 2) for i, is_late in enumerate(late)],
    }


def text_of(form, table):
    """The table as CSV or JSON."""
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if form == "csv":
        return "\n".join([",".join(table), *(",".join(map(str, record.values())) for record in records), ""]).encode()
    lines = [*map(json.dumps, records)]
    return ("\n".join(lines) if form == "jsonl" else f"[{', '.join(lines)}]").encode()


def file_of(form, table, rows):
    """The table as a file, in Arrow with batches of some rows."""
    if form not in ("parquet", "arrow", "stream"):
        return io.BytesIO(text_of(form, table))
    file = io.BytesIO()
    if form == "parquet":
        parquet.write_table(pa.table(table), file, row_group_size=rows)
    else:
        with (ipc.new_stream if form == "stream" else ipc.new_file)(file, pa.table(table).schema) as writer:
            writer.write_table(pa.table(table), max_chunksize=rows)
    file.seek(0)
    return file


FORMS = ["csv", "jsonl", "json", "parquet", "arrow", "stream"]
MANY = [Features(interactions=["code:size"]), Features(interactions=["*:*"]), Features(ngram=3)]


def meaning(schema):
    """What a schema says of columns and labels."""
    return schema.features.kinds, schema.features.others, schema.label_kind, [*map(str, schema.notes)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("declared", MANY, ids=str)
def test_features_that_are_declared_do_not_change_what_others_are(form, declared):
    table = columns(1000)
    plain, _ = read_batches([file_of(form, table, 1000)])
    assert plain.columns["about"] == "text"
    schema, batches = read_batches([file_of(form, table, 1000)], features=declared)
    batches.close()
    assert meaning(schema) == meaning(plain)


@given(
    st.sampled_from(FORMS), st.sampled_from([60, 900]), st.sampled_from([1, 100, 3000, 70_000]), st.integers(1, 2000)
)
def test_sizes_of_chunks_and_batches_do_not_change_what_columns_are(form, records, chunk_bytes, rows):
    table = columns(records)
    if chunk_bytes == 1:
        del table["pad"]
    plain, batches = read_batches([file_of(form, table, 1000)])
    expected = [row for batch in batches for row in zip(features(batch), label_list(batch), strict=True)]
    options = ReaderOptions(chunk_bytes=chunk_bytes, batch_rows=rows, read_ahead=False)
    schema, batches = read_batches([file_of(form, table, rows)], options=options)
    assert meaning(schema) == meaning(plain)
    assert [row for batch in batches for row in zip(features(batch), label_list(batch), strict=True)] == expected


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
@pytest.mark.parametrize("chunk_bytes", [100, 5000, None])
def test_an_error_in_the_first_records_comes_after_the_examples_before_it(form, chunk_bytes):
    table = columns(1000)
    del table["size"]
    data = gzip.compress(text_of(form, table), 1)
    options = ReaderOptions(chunk_bytes=chunk_bytes)
    read = []
    _, batches = read_batches([io.BytesIO(data[: len(data) // 2])], options=options)
    with pytest.raises(ValueError, match="truncated gzip data"):
        read.extend(map(len, batches))
    assert sum(read) > 300


def test_a_corrupt_record_batch_comes_after_the_rows_before_it():
    data = file_of("stream", columns(100), 10).getvalue()
    read = []
    _, batches = read_batches([io.BytesIO(data[: len(data) // 2])])
    with pytest.raises(ValueError, match="invalid arrow data"):
        read.extend(map(len, batches))
    assert sum(read) >= 30


def test_records_that_cannot_be_read_show_nothing_however_many_they_are():
    bad = b"1\n" * 400_000
    good = b"".join(b"%d,%s\n" % (i % 7, b"no" if i % 2 else b"yes") for i in range(100))
    for declared in (Features(), *MANY[1:]):
        options = ReaderOptions(on_error="skip")
        schema, batches = read_batches([io.BytesIO(b"a,label\n" + bad + good)], features=declared, options=options)
        assert schema.columns == {"a": "numeric", "label": "categorical"}
        assert sum(map(len, batches)) == 100
        assert options.skipped.count == 400_000


def test_a_first_line_shows_itself_to_be_a_record_whatever_the_size_of_a_chunk():
    text = b"a,b\n" + b"c,d\n" * 20 + b"a,f\n"
    for chunk_bytes in (4, None):
        with pytest.raises(ValueError, match="the first line looks like a record"):
            read_batches([io.BytesIO(text)], options=ReaderOptions(chunk_bytes=chunk_bytes))
