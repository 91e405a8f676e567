"""Cutting data into parts: together they are the data, and each is read as the whole is."""

import gzip
import io
import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scwlearn import Features
from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import DataError, SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.parts import PartedData, read_part
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows

TEXTS = {
    "libsvm": "".join(f"{i % 3} {1 + i % 7}:{i}.5 9:1\n" for i in range(300)),
    "vw": "".join(f"{i % 3} 'tag{i} |words free:{i} w{i % 5}\n" for i in range(300)),
    "jsonl": "".join(f'{{"label": "c{i % 3}", "size": {i}, "kind": "k{i % 4}"}}\n' for i in range(300)),
    "csv": "label,size,kind\n" + "".join(f'c{i % 3},{i},"a ""{i % 4}""\nb, {i % 5}"\n' for i in range(300)),
    "tsv": "label\tsize\tkind\n" + "".join(f"c{i % 3}\t{i}\tk{i % 4}\n" for i in range(300)),
}
CUTS = [
    [Fraction(0), Fraction(1)],
    [Fraction(i, 7) for i in range(8)],
    [Fraction(0), Fraction(1, 1000), Fraction(1, 3), Fraction(1, 3), Fraction(999, 1000), Fraction(1)],
    [Fraction(i, 1000) for i in range(1001)],
]


def examples_of(batches):
    """The examples as dicts with their labels."""
    found = []
    for batch in batches:
        if isinstance(batch.x, Rows):
            dense = [dict(enumerate(row)) for row in batch.x.dense().tolist()]
            rows = [{key: value for key, value in row.items() if value} for row in dense]
        else:
            rows = [*batch.x.dicts()]
        found += zip(rows, batch.labels.tolist(), strict=True)
    return found


def schema_and_examples(sources):
    schema, batches = read_batches(sources)
    return schema, examples_of(batches)


def parts_of(data, cuts):
    return [data.part(begin, end) for begin, end in pairwise(cuts)]


@pytest.mark.parametrize("cuts", CUTS, ids=len)
@pytest.mark.parametrize("name", TEXTS)
def test_parts_of_text_are_the_whole(tmp_path, name, cuts):
    path = tmp_path / f"some.{name}"
    path.write_text(TEXTS[name])
    schema, whole = schema_and_examples([path])
    parts = parts_of(PartedData([path], schema), cuts)
    found = [examples_of(read_part(part, schema)) for part in parts]
    assert [example for part in found for example in part] == whole
    if len(cuts) == 8:
        assert min(map(len, found)) > 30


@pytest.mark.parametrize("name", TEXTS)
def test_text_without_a_last_line_end_and_with_blank_lines(tmp_path, name):
    path = tmp_path / f"some.{name}"
    path.write_text(TEXTS[name].replace("\n", "\n\n", 5 if name == "csv" else 50).rstrip("\n"))
    schema, whole = schema_and_examples([path])
    parts = parts_of(PartedData([path], schema), CUTS[1])
    assert [example for part in parts for example in examples_of(read_part(part, schema))] == whole


@pytest.mark.parametrize("groups", [1, 40, 300])
@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_parts_of_tables_are_the_whole(tmp_path, name, groups):
    import pyarrow as pa
    from pyarrow import feather, parquet

    path = tmp_path / f"some.{name}"
    table = pa.table({"label": [f"c{i % 3}" for i in range(300)], "size": [*map(float, range(300))]})
    if name == "parquet":
        parquet.write_table(table, path, row_group_size=-(-300 // groups))
    else:
        feather.write_feather(table, str(path), chunksize=-(-300 // groups))
    schema, whole = schema_and_examples([path])
    for cuts in CUTS:
        parts = parts_of(PartedData([path], schema), cuts)
        assert [example for part in parts for example in examples_of(read_part(part, schema))] == whole


def test_several_files_some_of_which_stay_whole(tmp_path):
    lines = TEXTS["libsvm"].splitlines(keepends=True)
    (tmp_path / "a.libsvm").write_text("".join(lines[:100]))
    (tmp_path / "b.libsvm.gz").write_bytes(gzip.compress("".join(lines[100:200]).encode()))
    (tmp_path / "c.libsvm").write_text("")
    (tmp_path / "d.libsvm").write_text("".join(lines[200:]))
    pattern = str(tmp_path / "*.libsvm*")
    schema, whole = schema_and_examples([pattern])
    for cuts in CUTS:
        parts = parts_of(PartedData([pattern], schema), cuts)
        assert [example for part in parts for example in examples_of(read_part(part, schema))] == whole


def test_a_data_set_in_memory_is_cut_by_rows():
    batch = Batch(Rows(np.arange(30.0).reshape(10, 3)), np.arange(10) % 2, None, np.arange(1, 11), "memory")
    schema, whole = schema_and_examples([batch])
    for cuts in CUTS:
        parts = parts_of(PartedData([batch], schema), cuts)
        assert [example for part in parts for example in examples_of(read_part(part, schema))] == whole


@given(
    st.lists(st.lists(st.text('a"\n,;é \r', max_size=6), min_size=2, max_size=2), min_size=1, max_size=20),
    st.lists(st.fractions(0, 1), max_size=6),
)
def test_csv_with_any_quoted_cells(tmp_path_factory, cells, cuts):
    path = tmp_path_factory.mktemp("csv") / "some.csv"
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in cells]
    path.write_bytes(("label,a,b\n" + "".join(f"{i % 2},{row}\n" for i, row in enumerate(quoted))).encode())
    schema, whole = schema_and_examples([path])
    parts = parts_of(PartedData([path], schema), [Fraction(0), *sorted(cuts), Fraction(1)])
    assert [example for part in parts for example in examples_of(read_part(part, schema))] == whole


NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])


@given(
    st.lists(st.tuples(st.text('a"\n,é\r', max_size=4), st.booleans()), min_size=4, max_size=20),
    st.lists(st.fractions(0, 1), max_size=4),
    st.text('a"\n,é \r', max_size=6),
    NEWLINES,
    st.sampled_from(["", "\ufeff"]),
    st.booleans(),
    st.integers(0, 2),
)
def test_errors_in_parts_of_csv_name_the_line_of_the_file(
    tmp_path_factory, records, cuts, name, newline, mark, has_header, blank
):
    path = tmp_path_factory.mktemp("csv") / "some.csv"

    def quoted(cell):
        return '"' + cell.replace('"', '""') + '"'

    lines = [f"{quoted(cell)},{i % 2},{'x' if is_bad else i}" for i, (cell, is_bad) in enumerate(records)]
    lines = [f"{quoted(name)},label,n"] * has_header + [""] * blank + lines
    path.write_bytes((mark + newline.join(lines) + newline).encode())
    kinds = {name: "categorical", "n": "numeric"} if has_header else {"1": "categorical", "3": "numeric"}
    declared = {"features": Features(kinds=kinds), "header": has_header, "label": "label" if has_header else "2"}
    skipped = SkippedRecords(keep=100)
    options = ReaderOptions(on_error="skip", skipped=skipped)
    try:
        schema, batches = read_batches([path], options=options, format="csv", delimiter=",", **declared)
        whole = examples_of(batches)
    except DataError:
        return
    errors = [error.line for error in skipped.first]
    skipped.first.clear()
    parts = parts_of(PartedData([path], schema), [Fraction(0), *sorted(cuts), Fraction(1)])
    assert [example for part in parts for example in examples_of(read_part(part, schema, options))] == whole
    assert [error.line for error in skipped.first] == errors


@pytest.mark.parametrize("header", ['"a\nb",w,label\n', None])
def test_a_mark_before_a_quoted_line_break_is_not_part_of_the_cell(tmp_path, header):
    path = tmp_path / "some.csv"
    cells = "".join(f'"x\n{i % 3}",1,{i % 2}\n' for i in range(300))
    path.write_bytes(b"\xef\xbb\xbf" + ((header or "") + cells).encode())
    schema, batches = read_batches([path], header=header is not None, label="label" if header else "3", format="csv")
    whole = examples_of(batches)
    for cuts in CUTS:
        parts = parts_of(PartedData([path], schema), cuts)
        assert [example for part in parts for example in examples_of(read_part(part, schema))] == whole


def test_a_return_that_a_block_cuts_from_its_newline_ends_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("scwlearn.data.segments._BLOCK", 3)
    path = tmp_path / "some.csv"
    path.write_bytes(b"label,n\r\n" + b"1,2\r\n0,33\r\n" * 50 + b"1,x\r\n")
    features = Features(kinds={"n": "numeric"})
    schema, _ = read_batches([io.BytesIO(b"label,n\n1,2\n")], features=features, format="csv")
    with pytest.raises(DataError, match=r"line 102\b"):
        examples_of(read_part(PartedData([path], schema).part(Fraction(1, 2), Fraction(1)), schema))


@pytest.mark.parametrize("name", ["libsvm", "csv"])
def test_errors_name_the_line_of_the_file(tmp_path, name):
    lines = TEXTS[name].replace('a ""', "").replace('""\nb', "").splitlines(keepends=True)
    bad = {"libsvm": "1 spam\n", "csv": "c1,2,3,4\n"}[name]
    path = tmp_path / f"some.{name}"
    path.write_text("".join([*lines[:250], bad, *lines[250:]]))
    schema, _ = schema_and_examples([io.BytesIO("".join(lines).encode())])
    part = PartedData([path], schema).part(Fraction(1, 2), Fraction(1))
    with pytest.raises(DataError, match=r"line 251\b"):
        examples_of(read_part(part, schema))
    skipped = SkippedRecords()
    examples_of(read_part(part, schema, ReaderOptions(on_error="skip", skipped=skipped)))
    assert [error.line for error in skipped.first] == [251]


def test_a_file_that_changes_after_it_was_cut_is_refused(tmp_path):
    path = tmp_path / "some.libsvm"
    path.write_text(TEXTS["libsvm"])
    schema, _ = schema_and_examples([path])
    part = PartedData([path], schema).part(Fraction(0), Fraction(1, 2))
    path.write_text(TEXTS["libsvm"] + "1 1:1\n")
    with pytest.raises(DataError, match="bytes when it was cut"):
        examples_of(read_part(part, schema))


def test_a_file_of_the_same_size_that_is_written_anew_is_refused(tmp_path):
    for name in ("some.libsvm", "some.libsvm.gz"):
        path = tmp_path / name
        content = TEXTS["libsvm"].encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        schema, _ = schema_and_examples([path])
        part = PartedData([path], schema).part(Fraction(0), Fraction(1))
        os.utime(path, ns=(1, 1))
        with pytest.raises(DataError, match="was older when it was cut"):
            examples_of(read_part(part, schema))


@pytest.mark.parametrize("parts", [2, 3, 5, 7])
def test_records_that_are_longer_than_a_block_are_read_once(tmp_path, monkeypatch, parts):
    monkeypatch.setattr("scwlearn.data.parts._RECORD_BLOCK", 64)
    path = tmp_path / "some.csv"
    path.write_text("label,text\n" + "".join(f'{i % 2},"{"a" * 90}\n{i}"\n' for i in range(12)))
    schema, _ = schema_and_examples([path])
    data = PartedData([path], schema)
    cuts = [Fraction(i, 4 * parts) for i in range(4 * parts + 1)]
    # As in rounds: a boundary is computed for the end of one part, and later for the beginning of another.
    found = [data.part(*pair) for offset in range(4) for pair in [*pairwise(cuts)][offset::4]]
    segments = sorted((each.begin, each.end) for part in found for each in part.segments)
    assert segments[0][0] == 0
    assert segments[-1][1] == path.stat().st_size
    assert all(one[1] == other[0] for one, other in pairwise(segments))
    assert sum(len(examples_of(read_part(part, schema))) for part in found) == 12


def test_a_quote_that_is_not_closed_is_found_when_the_data_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr("scwlearn.data.parts._RECORD_BLOCK", 64)
    path = tmp_path / "some.csv"
    path.write_text("label,text\n" + "1,a\n0,b\n" * 500)
    schema, _ = schema_and_examples([path])
    path.write_text("label,text\n" + "1,a\n0,b\n" * 50 + '1,"a\n' + "0,b\n" * 5000)
    data = PartedData([path], schema, ReaderOptions(max_record_bytes=1000))
    with pytest.raises(DataError, match="at most 1000 bytes; is a quote not closed"):
        data.part(Fraction(1, 2), Fraction(1))


def test_a_pipe_is_refused(tmp_path):
    schema, _ = schema_and_examples([io.BytesIO(TEXTS["libsvm"].encode())])
    for source in ("-", io.BytesIO(b"1 1:1\n")):
        with pytest.raises(DataError, match="only files can be cut"):
            PartedData([source], schema)


@pytest.mark.parametrize("head", [4, 16, 64, 2**16])
@pytest.mark.parametrize("blanks", ["", "\n", "  \n\r\n\n"])
@pytest.mark.parametrize("names", ["a,b", '"a\n\n\nx",b', ",".join(f"column {i}" for i in range(50))])
def test_blank_lines_may_precede_a_header_of_any_length(tmp_path, monkeypatch, names, blanks, head):
    monkeypatch.setattr("scwlearn.data.parts.HEAD_BYTES", head)
    width = names.count(",") + 1
    text = f"{blanks}{names},label\n" + "".join(
        ",".join(f"{k}.5" for _ in range(width)) + f",{k % 2}\n" for k in range(9)
    )
    path = tmp_path / "wide.csv"
    path.write_text(text, newline="")
    schema, batches = read_batches([path])
    expected = [row for batch in batches for row in batch.x.dicts()]
    data = PartedData([str(path)], schema)
    parts = [data.part(Fraction(i, 4), Fraction(i + 1, 4)) for i in range(4)]
    assert [row for part in parts for batch in read_part(part, schema) for row in batch.x.dicts()] == expected
