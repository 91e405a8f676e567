"""Reading any source: formats are detected by content, and several sources are read as one."""

import contextlib
import gzip
import io
import os
import warnings
from threading import Event

import numpy as np
import pytest

from forks import forked, needs_fork
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import Features
from scwlearn.data.formats import detect_format, format_names, get_format, is_enough
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reader import read_ahead
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows
from scwlearn.data.schema import Schema
from table_text import exactly, features, made, schema_of

# How to read

GIB = 2**30


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"labels": "none"}, ValueError, "labels must be one of required, optional, ignored, got 'none'"),
        ({"on_error": "stop"}, ValueError, "on_error must be one of raise, skip, got 'stop'"),
        ({"read_ahead": 2}, TypeError, "read_ahead must be True or False, got 2"),
        ({"eager": "yes"}, TypeError, "eager must be True or False, got 'yes'"),
        ({"chunk_bytes": 2 * GIB}, ValueError, f"chunk_bytes must be an integer from 1 to {GIB}, got {2 * GIB}"),
        ({"max_line_bytes": -1}, ValueError, f"max_line_bytes must be an integer from 1 to {GIB}, got -1"),
        ({"max_record_bytes": 1.5}, TypeError, f"max_record_bytes must be an integer from 1 to {GIB}, got 1.5"),
        ({"skipped": None}, TypeError, "skipped must be a SkippedRecords, got None"),
        ({"batch_rows": 0}, ValueError, "batch_rows must be an integer >= 1, got 0"),
    ],
)
def test_reader_options_are_checked(asked, error, message):
    with pytest.raises(error, match=exactly(message)):
        ReaderOptions(**asked)


def test_short_numbers_of_numpy_do_not_overflow():
    rows = b"1,2\n" * 100
    text = b"y,a\n" + rows + b'1,"' + b"0" * 300 + b'"\n' + rows
    options = ReaderOptions(chunk_bytes=np.uint8(128))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, batches = read_batches([io.BytesIO(text)], format="csv", label="y", options=options)
        assert sum(map(len, batches)) == 201


def test_options_must_be_reader_options():
    with pytest.raises(TypeError, match="options must be ReaderOptions, got None"):
        read_batches([io.BytesIO(b"1 1:1\n")], options=None)


def test_nothing_is_counted_where_errors_are_raised():
    options = ReaderOptions()
    with pytest.raises(ValueError, match="line 2, column 3"):
        [*read_batches([io.BytesIO(b"1 1:1\n1 x\n1 y\n")], options=options)[1]]
    assert options.skipped == SkippedRecords()


# Formats

HEADS = {
    "libsvm": [
        b"1 1:1\n",
        b"+1 3:0.5 7:1",
        b"-1\t3:0.5\r\n",
        b"# c\n\n1 qid:3 1:1 # c\n",
        b"1\n-1\n1 3:1e-5\n",
        b"3:1 4:1",
    ],
    "vw": [b"1 |n a b\n", b"| a", b"|n a", b"1 2 'tag |n:2 a:3|m b\n", b"1 1.0 zebra|n a:1,5", b"\n1 | 1:2\n"],
    "csv": [b"a,b,label\n1,2,x\n", b'"a b","c"\n', b"1,2\n3,4\n", b"x;y,z\n", b"time,y\n12:30,1\n", b"a,b|c,d\n"],
    "tsv": [b"a\tb\n1\t2\n", b"text, with commas\tlabel\tmore\n"],
    "json": [b'[{"a": 1}]', b"[\n", b'\n [ {"a": "1:2|3,4\t"}', b"[[1, 2]]"],
    "jsonl": [b'{"a": 1}\n', b'\n {"a": "1:2|3,4\t"}\n{}'],
    "parquet": [b"PAR1\x15\x04\x15"],
    "arrow": [b"ARROW1\0\0\xff\xff\xff\xff", b"\xff\xff\xff\xff\x10\0\0\0"],
}
HEADS_LIST = [(format, head) for format, heads in HEADS.items() for head in heads]


@pytest.mark.parametrize(("format", "head"), HEADS_LIST)
def test_a_format_is_detected_by_content_whatever_the_name(format, head):
    assert set(HEADS) == set(format_names())
    for name in ("data", "data.csv", "data.svm.gz", "data.parquet"):
        assert detect_format(head, name) == format


def test_the_name_decides_if_the_content_is_ambiguous():
    for format in format_names():
        for ending in get_format(format).suffixes:
            for packed in ("", ".gz", ".zst"):
                assert detect_format(b"label\n1\n", f"some/data{ending.upper()}{packed}") == format
    assert detect_format(b"spam 1:1\n", "data") == detect_format(b"1 -3:1\n", "data") == "libsvm"
    with pytest.raises(ValueError, match="unknown format") as caught:
        detect_format(b"some words\nand more\n", "the data")
    assert str(caught.value) == (
        "the data: unknown format; looked for a comma, semicolon or bar (csv), [{ (json), { (jsonl), "
        "index:value (libsvm), a tab (tsv), a bar (vw); "
        "found 'some words' (set format=... to one of arrow, csv, json, jsonl, libsvm, parquet, tsv, vw)"
    )


@pytest.mark.parametrize(
    ("head", "place", "shown"),
    [
        (b"1 1:1\n\x00", "byte 7 is 0x00", "'1 1:1\\n\\x00'"),
        (b"\x89PNG\r\n\x1a\n", "byte 1 is 0x89", "'\\x89PNG\\r\\n\\x1a\\n'"),
        (b"a,b\n\xe4,1\n", "byte 5 is 0xe4", "'a,b\\n\\xe4,1\\n'"),
    ],
)
def test_binary_data_is_rejected(head, place, shown):
    with pytest.raises(ValueError, match="neither") as caught:
        detect_format(head, "x.svm")
    assert str(caught.value) == f"x.svm: neither text in UTF-8 nor Parquet or Arrow: {place}; found {shown}"


@pytest.mark.parametrize(
    ("encoding", "place", "shown"),
    [
        ("UTF-16LE", 2, "'g\\x00r\\x00\\xf6\\x00\\xdf\\x00e\\x00,\\x00b\\x00\\n\\x00'"),
        ("UTF-16BE", 1, "'\\x00g\\x00r\\x00\\xf6\\x00\\xdf\\x00e\\x00,\\x00b\\x00\\n'"),
    ],
)
def test_utf_16_without_a_byte_order_mark_is_rejected_with_advice(encoding, place, shown):
    with pytest.raises(ValueError, match="neither") as caught:
        detect_format("größe,b\n".encode(encoding), "x.csv")
    assert str(caught.value) == (
        f"x.csv: neither text in UTF-8 nor Parquet or Arrow: byte {place} is 0x00; found {shown} "
        f"(if this is {encoding} text, convert it: iconv -f {encoding} -t UTF-8)"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("format", ["libsvm", "vw", "csv", "tsv", "jsonl"])
def test_utf_16_text_is_read_in_every_format(format, encoding):
    text = {
        "libsvm": "1 1:0.5\n-1 2:1\n",
        "vw": "1 |größe katze:0.5\n-1 | 猫\n",
        "csv": "größe,label\n0.5,ja\n1,nein\n",
        "tsv": "größe\tlabel\n0.5\tja\n1\tnein\n",
        "jsonl": '{"größe": 0.5, "label": "ja"}\n{"größe": "猫", "label": "nein"}\n',
    }[format]
    marked = text if encoding in ("utf-16", "utf-32") else "\ufeff" + text
    (expected_schema, expected), (schema, found) = (
        read_batches([io.BytesIO(data)]) for data in (text.encode(), marked.encode(encoding))
    )
    assert schema == expected_schema
    assert schema.format == format
    for one, other in zip(expected, found, strict=True):
        assert features(one) == features(other)
        assert (one.labels == other.labels).all()
        assert (one.lines == other.lines).all()


def test_an_empty_file_is_rejected_but_a_cut_character_is_not():
    with pytest.raises(ValueError, match=r"^x\.svm: empty file$"):
        detect_format(b"", "x.svm")
    assert detect_format("a,ä".encode()[:-1], "x") == "csv"


def test_peeking_reads_no_more_than_needed():
    for head, enough in (
        (b"", False),
        (b"1 1:1", False),
        (b"1 1:1\n", True),
        (b"\n# c\n1\n", False),
        (b"\n# c\n1\n1 1:1\n2 ", True),
        (b"PAR1", True),
        (b"\x00", True),
    ):
        assert is_enough(head) is enough


# Sources


def files(tmp_path, **contents):
    paths = []
    for name, text in contents.items():
        paths.append(tmp_path / name.replace("_", "."))
        paths[-1].write_bytes(text)
    return paths


class Watched(io.BytesIO):
    """A file that tells when all of it has been read."""

    def __init__(self, content):
        super().__init__(content)
        self.ended = Event()

    def readinto(self, memory):
        count = super().readinto(memory)
        if not count:
            self.ended.set()
        return count


def test_threads_read_ahead_before_a_batch_is_asked_for():
    source = Watched(b"+1 1:1\n")
    _, batches = read_batches([source])
    assert source.ended.wait(60)
    assert [len(batch) for batch in batches] == [1]


def test_several_sources_are_read_one_after_the_other(tmp_path):
    files(tmp_path, a_svm=b"1 1:1 9:1\n\n2 1:1\n", b_svm=gzip.compress(b"3 2:1\n"), c_svm=b"4 12:1\n")
    schema, batches = read_batches([str(tmp_path / "*.svm"), io.BytesIO(b"5 1:1\n")])
    assert schema == Schema("libsvm")
    told = [(batch.source.rsplit("/")[-1], batch.labels.tolist(), batch.lines.tolist()) for batch in batches]
    assert told == [("a.svm", [1, 2], [1, 3]), ("b.svm", [3], [1]), ("c.svm", [4], [1]), ("the file", [5], [1])]


def test_the_width_never_shrinks(tmp_path):
    _, batches = read_batches([io.BytesIO(b"1 9:1\n"), io.BytesIO(b"1 2:1\n"), io.BytesIO(b"1 11:1\n")])
    assert [batch.x.width for batch in batches] == [9, 9, 11]


def test_named_features_are_read_by_their_reader():
    schema, batches = read_batches([io.BytesIO(b"1 |n a |m b\n")], features=Features(kinds={"m": "ignore"}))
    (batch,) = batches
    assert isinstance(batch.x, NamedRows)
    assert (schema, batch.x.names) == (schema_of("vw", ignore=("m",)), ["n^a"])


def test_all_sources_must_have_the_same_format(tmp_path):
    one, other = files(tmp_path, a_svm=b"1 1:1\n", b_vw=b"1 |n a\n")
    _, batches = read_batches([one, other])
    next(batches)
    with pytest.raises(ValueError, match="same format") as caught:
        next(batches)
    assert str(caught.value) == f"{other} is vw data, but {one} is libsvm data; all sources must have the same format"


def test_a_given_format_is_not_detected():
    schema, batches = read_batches([io.BytesIO(b"1\n2\n")], format="libsvm", zero_based=True)
    assert schema == Schema("libsvm", zero_based=True)
    assert next(batches).labels.tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"^format must be one of arrow, csv, .*, got 'xml'$"):
        read_batches([io.BytesIO(b"1\n2\n")], format="xml")


def test_options_that_do_not_apply_to_a_format_are_rejected():
    for text, options, message in (
        (
            b"1 1:1",
            {"label": "y"},
            "the file: an option that does not apply to libsvm data (remove label=...; this format takes "
            "zero_based=True)",
        ),
        (
            b"1 | a",
            {"weight": "w"},
            "the file: an option that does not apply to vw data (remove weight=...; this format takes features=...)",
        ),
        (
            b"1 | a",
            {"zero_based": True},
            "the file: an option that does not apply to vw data (remove zero_based=True; this format takes "
            "features=...)",
        ),
    ):
        with pytest.raises(ValueError, match="this format takes") as caught:
            read_batches([io.BytesIO(text)], **options)
        assert str(caught.value) == message
    with pytest.raises(ValueError, match=r"^sources is empty; pass at least one file$"):
        read_batches([])


def test_the_schema_of_a_model_decides_how_data_is_read():
    learned = Schema("libsvm", zero_based=True)
    schema, batches = read_batches([io.BytesIO(b"1 0:1\n")], learned)
    assert schema == learned
    assert len(next(batches)) == 1
    with pytest.raises(ValueError, match=r"^the model determines how data is read \(remove zero_based=True\)$"):
        read_batches([io.BytesIO(b"1 0:1\n")], learned, zero_based=True)
    with pytest.raises(
        ValueError, match=r"^the file: data with named features, but the model was trained on numbered "
    ):
        read_batches([io.BytesIO(b"1 | a\n")], learned)
    with pytest.raises(
        ValueError, match=r"^the file: data with numbered features \(libsvm\), but the model was trained "
    ):
        read_batches([io.BytesIO(b"1 1:1\n")], Schema("csv", label="y"))
    # Named features may come in any format that has names.
    assert read_batches([io.BytesIO(b"1 | a\n")], Schema("csv", label="y"))[0] == Schema("vw", label="y")


def test_a_table_shows_its_columns_when_it_is_opened(tmp_path):
    paths = files(tmp_path, a_csv=b"a,y\n1,2\n", b_csv=b"b,a,y\nx,3,4\n")
    schema, batches = read_batches(paths, label="y")
    assert schema == schema_of("csv", label="y", columns={"a": "numeric", "y": "numeric"}, delimiter=",")
    # The columns of the first file are those of all.
    assert [[*batch.x.dicts()] for batch in batches] == [[{"a": 1}], [{"a": 3}]]


def test_errors_are_counted_over_all_sources(tmp_path):
    paths = files(tmp_path, a_svm=b"1 1:1\n1 x\n", b_svm=b"1 y\n1 1:1\n")
    faults = SkippedRecords()
    _, batches = read_batches(paths, options=ReaderOptions(on_error="skip", skipped=faults))
    assert sum(map(len, batches)) == 2
    assert [(os.path.basename(fault.source), fault.line) for fault in faults.first] == [("a.svm", 2), ("b.svm", 1)]


def test_all_files_are_closed_however_reading_ends(tmp_path):
    paths = files(tmp_path, a_svm=b"1 1:1\n" * 1000, b_svm=b"1 1:1\n")
    descriptors = len(os.listdir("/dev/fd"))

    def left():
        return len(os.listdir("/dev/fd")) - descriptors

    _, batches = read_batches(paths)
    batches.close()
    assert left() == 0
    _, batches = read_batches(paths, options=ReaderOptions(chunk_bytes=100))
    assert isinstance(next(batches), Batch)
    batches.close()
    assert left() == 0
    assert sum(map(len, read_batches(paths)[1])) == 1001
    assert left() == 0


@pytest.mark.parametrize("text", [b"1 1:1\n", b"1 |n a\n"])
def test_an_eager_reader_yields_the_lines_of_a_pipe_at_once(text):
    reader, writer = os.pipe()
    with open(reader, "rb") as file, open(writer, "wb", buffering=0) as into:
        into.write(text)
        _, batches = read_batches([file], options=ReaderOptions(eager=True, labels="optional"))
        for _ in range(3):
            assert len(next(batches)) == 1
            into.write(text)
        # Nor does a pipe that says nothing hold up the end.
        assert len(next(batches)) == 1
        batches.close()


@pytest.mark.parametrize(
    "words", [b"12," * 5000 + b"x", b"1 " * 5000 + b"x", b"12345678901234567890" * 500, b"1,1 " * 2000]
)
def test_detecting_a_long_line_of_numbers_is_fast(words):
    # Numbers that could be divided in several ways once took longer than anybody would wait.
    with contextlib.suppress(ValueError):
        assert detect_format(words + b"\n", "data") in {"csv", "libsvm"}


BROKEN = {
    "libsvm": b"1 1:1\n-1 1:2\n1 1:x\n1 1:4\n",
    "vw": b"1 | a\n-1 | a:2\n1 | a:x\n1 | a:4\n",
    "csv": b"a,label\n1,1\n2,-1\n3\n4,1\n",
    "jsonl": b'{"a": 1, "label": 1}\n{"a": 2, "label": -1}\n{"a": [1], "label": 1}\n{"a": 4, "label": 1}\n',
}


@pytest.mark.parametrize("format", BROKEN)
@pytest.mark.parametrize("read_ahead", [False, True])
def test_examples_before_an_error_are_yielded_first(format, read_ahead):
    _, batches = read_batches([io.BytesIO(BROKEN[format])], options=ReaderOptions(read_ahead=read_ahead))
    assert next(batches).labels.tolist() == [1, -1]
    with pytest.raises(ValueError, match=f"^the file, line {4 if format == 'csv' else 3}"):
        next(batches)
    faults = SkippedRecords()
    options = ReaderOptions(read_ahead=read_ahead, on_error="skip", skipped=faults)
    _, batches = read_batches([io.BytesIO(BROKEN[format])], options=options)
    assert [label for batch in batches for label in batch.labels.tolist()] == [1, -1, 1]
    assert faults.count == 1


def test_examples_in_memory_are_read_like_a_libsvm_file():
    x = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.0]])
    batch = Batch(Rows(x), np.array([1, 0, 1]), None, np.arange(1, 4), "set")
    options = ReaderOptions(batch_rows=2)
    schema, batches = read_batches([batch, io.BytesIO(b"1 5:1\n"), batch], options=options)
    assert schema == Schema("libsvm")
    found = [*batches]
    assert [each.x.width for each in found] == [2, 2, 5, 5, 5]
    first = [{0: 1.0}, {1: 2.0}], [{0: 0.5}]
    assert [features(each) for each in found] == [*first, [{4: 1.0}], *first]
    assert [each.lines.tolist() for each in found] == [[1, 2], [3], [1], [1, 2], [3]]
    with pytest.raises(TypeError, match=exactly("a Batch must have numbered features to be read as a source")):
        [*read_batches([made([{"a": 1.0}], [1])])[1]]
    with pytest.raises(ValueError, match=exactly("set: a data set, which is libsvm data, not vw")):
        read_batches([batch], format="vw")


def test_threads_parse_ahead_while_the_first_result_is_used():
    began = Event()

    def work(item):
        began.set()
        return item

    results = read_ahead((item for item in "bc"), work, 1, Event(), ["a"])
    assert next(results) == "a"
    assert began.wait(10)
    assert [*results] == ["b", "c"]


@needs_fork
def test_a_forked_process_cannot_go_on_reading_ahead_and_says_so(tmp_path):
    path = tmp_path / "data"
    path.write_text("1 1:1\n-1 2:1\n" * 1000)
    _, batches = read_batches([path], options=ReaderOptions(chunk_bytes=200))
    next(batches)

    def read_on():
        with pytest.raises(RuntimeError, match="begin to read after the fork, or without read_ahead"):
            list(batches)
        return sum(len(batch) for batch in read_batches([path])[1]) == 2000

    assert forked(read_on)
    assert sum(len(batch) for batch in batches) > 1900
