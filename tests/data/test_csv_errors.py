"""Errors in CSV: raised with the place and what is allowed, or skipped and counted."""

import gzip
import io
import sys
import tracemalloc

import pytest

from scwlearn.data.features import Features
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from table_text import Reading, batches, exactly, examples, features, named

FINITE = "a finite number of at most 1e+150 in magnitude"
NUMBER = f"a value of a numeric column must be missing or {FINITE}; found "
ANY_STRING = (
    """ (correct the value, leave such records out with on_error="skip", name the column in """
    """kinds={...: "categorical"}, or list markers of missing values in missing=...)"""
)
CELLS = "a record must have 2 cells, one for each column of the header; found "
QUOTE = """ (quote cells that contain the delimiter, or leave such records out with on_error="skip")"""
WEIGHT = "a weight must be 0 or a number from 1e-100 to 1e+100; found "
WHICH = "data.csv: which column is the label? "


def numeric(*cells):
    """A table whose column "a" is numeric because somebody says so."""
    return "\n".join(["a,label", *(f"{cell},2" for cell in cells)]).encode(), {"columns": {"a": "numeric"}}


FAULTS = [
    (b"", {}, "data.csv: no examples; a table starts with a line that names its columns"),
    (b"\n\r\n", {}, "data.csv: no examples; a table starts with a line that names its columns"),
    (b"a,label\n", {}, "data.csv: no examples; records must follow the header"),
    (b"a,label", {}, "data.csv: no examples; records must follow the header"),
    (b"a,label\n\n\n", {}, "data.csv: no examples; records must follow the header"),
    (b"a,b,a\n1,2,3\n", {}, "data.csv: two columns have the name 'a'; names must be unique"),
    (b"a,label\n1,2\n\n1,2,3\n", {}, f"data.csv, line 4: {CELLS}3{QUOTE}"),
    (b'a,label\n"1\n\n",2\n\n1\n', {}, f"data.csv, line 6: {CELLS}1{QUOTE}"),
    (*numeric(1, "x"), f"data.csv, line 3, column 'a': {NUMBER}'x'{ANY_STRING}"),
    (*numeric(1, "nan", "nano"), f"data.csv, line 4, column 'a': {NUMBER}'nano'{ANY_STRING}"),
    (*numeric(1, 2, "-inf"), f"data.csv, line 4, column 'a': {NUMBER}'-inf'{ANY_STRING}"),
    (*numeric("1e151"), f"data.csv, line 2, column 'a': {NUMBER}'1e151'{ANY_STRING}"),
    (*numeric("1e999"), f"data.csv, line 2, column 'a': {NUMBER}'1e999'{ANY_STRING}"),
    (*numeric("0x1"), f"data.csv, line 2, column 'a': {NUMBER}'0x1'{ANY_STRING}"),
    (*numeric("y" * 50), f"data.csv, line 2, column 'a': {NUMBER}'{'y' * 40}'...{ANY_STRING}"),
    (b"a,label\n1,2\n", {"columns": {"b": "numeric"}}, "data.csv: no column 'b'; the columns are 'a', 'label'"),
    (b"a,b\n1,2\n", {"label": "c"}, "data.csv: no label column 'c'; the columns are 'a', 'b'"),
    (b"a,y\n1,2\n", {"weight": "w"}, "data.csv: no weight column 'w'; the columns are 'a', 'y'"),
    (b"a,y\n1,2\n", {"ignore": ("z",)}, "data.csv: no column 'z' to ignore; the columns are 'a', 'y'"),
    (
        b"a,y\n1,2\n",
        {"features": Features(interactions=["a:*", "a:z"])},
        "data.csv: no column 'z' for interactions; the columns are 'a', 'y'",
    ),
    (
        b"a,b\n1,2\n",
        {},
        f"{WHICH}none is called 'label', 'target', 'class' or 'y'; the columns are 'a', 'b' (name it with label=...)",
    ),
    (
        b"y,label,a\n1,2,3\n",
        {},
        f"{WHICH}'label' and 'y' could both be it; the columns are 'y', 'label', 'a' (name it with label=...)",
    ),
    (b"a,y\n1,2\n", {"label": "y", "weight": "y"}, "'y' cannot be both the label and the weight"),
    (b"a,y\n1,2\n", {"label": "y", "ignore": ("y",)}, "'y' cannot be both the label and ignored"),
    (b"a,label\nx,1\n\xffy,2\n", {}, "data.csv, line 3, column 'a': cells must be UTF-8; found '\\xffy'"),
    (b"a,label\nx,1\n\xff\n", {}, f"data.csv, line 3: {CELLS}1{QUOTE}"),
    (b"a\xff,label\nx,1\n", {}, "data.csv, line 1: the header must be UTF-8; found '\\xff,label'"),
    (
        b"a,label\nx,1\ny\0z,2\n",
        {},
        "data.csv, line 3, column 'a': a cell must not contain a NUL byte; found 'y\\x00z'",
    ),
    (b"\na\0,label\nx,1\n", {}, "data.csv, line 2: the header must not contain a NUL byte; found 'a\\x00,label'"),
    (
        b'a,label\n1,2\n3,"x\n4,5\n',
        {},
        "data.csv, line 3: the file ends before this quote is closed; found '\"x\\n4,5\\n'",
    ),
    (b'"a,label\n', {}, "data.csv, line 1: the file ends before this quote is closed; found '\"a,label\\n'"),
    (b"a,label\n1,1\n2,\n", {}, "data.csv, line 3, column 'label': a record needs a label; found nothing"),
    (b"a,y,w\n1,2,-1\n", {"weight": "w"}, f"data.csv, line 2, column 'w': {WEIGHT}'-1'"),
    (b"a,y,w\n1,2,1e-101\n", {"weight": "w"}, f"data.csv, line 2, column 'w': {WEIGHT}'1e-101'"),
    (b"a,y,w\n1,2,\n", {"weight": "w"}, f"data.csv, line 2, column 'w': {WEIGHT}nothing"),
    (b"a,y,w\n1,2,nan\n", {"weight": "w"}, f"data.csv, line 2, column 'w': {WEIGHT}'nan'"),
    (
        b"a,y\n1,2\n1,x\n",
        {"columns": {"y": "numeric"}},
        f"data.csv, line 3, column 'y': a label must be a number, as the first ones are: {FINITE}; found 'x'",
    ),
    (
        b"a,y\n1,2\n1," + b"x" * 257,
        {},
        f"data.csv, line 3, column 'y': a label must have at most 256 characters; found '{'x' * 40}'...",
    ),
    (
        b"%s,y\na,2\n" % (b"x" * 257),
        {},
        "data.csv: the name of a categorical, text or date column must have at most 256 characters; "
        f"found '{'x' * 40}'...",
    ),
    (b"a,y\n1,2\n1e200,2\n", {}, f"data.csv, line 3, column 'a': {NUMBER}'1e200'{ANY_STRING}"),
    (b"a,y\n1,2\n", {"columns": {"y": "text"}}, "data.csv: the label 'y' must be numeric or categorical, not text"),
    (
        b"a,y\n1,2\n",
        {"columns": {"a": "number"}},
        "the kind of 'a' must be one of auto, numeric, categorical, text, date, ignore, got 'number'",
    ),
]


@pytest.mark.parametrize(("text", "said", "message"), FAULTS, ids=range(len(FAULTS)))
def test_errors_name_the_place_the_problem_and_the_excerpt(text, said, message):
    with pytest.raises(ValueError, match=exactly(message)):
        examples(text, **said)


def test_the_name_of_a_numeric_column_may_have_any_length():
    assert examples(b"\n" + b"a" * 140_000 + b",label\n1,2\n") == [({"a" * 140_000: 1}, 2, None)]


def test_very_many_columns_that_are_known_are_found():
    names = [f"c{i}" for i in range(40_000)]
    columns = dict.fromkeys([*names, "label"], "numeric")
    text = ",".join([*names[:-1], "new", "label"]).encode() + b"\n" + b"1," * 40_000 + b"2\n"
    expected = "data.csv: a table must have the columns of the training data; missing: 'c39999'; new: 'new'"
    with pytest.raises(ValueError, match=exactly(expected)):
        examples(text, label="label", columns=columns)


@pytest.mark.parametrize("chunk_bytes", [1, 20, 2**20])
def test_a_byte_order_mark_inside_a_file_is_a_character(chunk_bytes):
    text = "a,label\n\ufeffx,1\n\ufeff\n\ufeff\ufeff,2\n".encode()
    faults, told = SkippedRecords(), {"columns": {"a": "categorical"}}
    read = [
        *batches(
            b"\xef\xbb\xbf" + text, options={"on_error": "skip", "skipped": faults, "chunk_bytes": chunk_bytes}, **told
        )
    ]
    assert [[*row] for batch in read for row in features(batch)] == [["a=\ufeffx"], ["a=\ufeff\ufeff"]]
    assert [line for batch in read for line in batch.lines.tolist()] == [2, 4]
    assert [str(fault) for fault in faults.first] == [f"data.csv, line 3: {CELLS}1{QUOTE}"]


def test_an_error_in_a_later_chunk_has_its_line_too():
    text = b"a,label\n" + b'"1\n",x\n' * 1000 + b"1,2,3\n"
    with pytest.raises(ValueError, match=r"^data.csv, line 2002: a record must have 2 cells"):
        examples(text, options={"chunk_bytes": 500})


def test_records_before_an_error_are_read():
    read = batches(b"a,label\n" + b"1,2\n" * 1000 + b"1,2,3\n", options={"chunk_bytes": 400})
    assert len(next(read)) == 98
    with pytest.raises(ValueError, match="line 1002"):
        for _ in read:
            pass


def test_bad_records_are_skipped_and_counted():
    text = b"a,b,label\n1,x,1\nfoo,bar\n2,\xff,1\n3,y,\nz,y,2\n4,z,2\n\n5,z,0\0\n6,x,1"
    faults = SkippedRecords(keep=4)
    options = {"on_error": "skip", "skipped": faults}
    said = {"columns": {"a": "numeric", "label": "categorical"}}
    for chunk_bytes in (1, 30, 1000):
        faults.count = 0
        faults.first.clear()
        assert examples(text, options=options | {"chunk_bytes": chunk_bytes}, **said) == [
            ({"a": 1, "b=x": 1}, "1", None),
            ({"a": 4, "b=z": 1}, "2", None),
            ({"a": 6, "b=x": 1}, "1", None),
        ]
        assert faults.count == 5
        assert [(fault.line, fault.column) for fault in faults.first] == [(3, None), (4, "b"), (5, "label"), (6, "a")]
    assert str(faults.first[3]) == f"data.csv, line 6, column 'a': {NUMBER}'z'{ANY_STRING}"


def test_a_record_with_two_errors_counts_once():
    faults = SkippedRecords()
    said = {"columns": {"a": "numeric", "b": "numeric"}}
    text = b"a,b,label\n1,1,1\nx,y,\n"
    assert len(examples(text, options={"on_error": "skip", "skipped": faults}, **said)) == 1
    assert (faults.count, faults.first[0].column) == (1, "a")


def test_a_file_without_a_good_record_is_rejected():
    message = r"^data.csv: no examples \(2 records could not be read\); records must follow the header$"
    with pytest.raises(ValueError, match=message):
        examples(b"a,label\n1\n2\n", options={"on_error": "skip"})
    with pytest.raises(ValueError, match=message):
        examples(b"a,label\nx,\ny,\n", label="label", columns={"label": "numeric"}, options={"on_error": "skip"})


def test_the_length_of_a_record_is_limited():
    limit = {"chunk_bytes": 10, "max_record_bytes": 100}
    assert len(examples(b"a,y\n" + b"x" * 90 + b",1\n", options=limit)) == 1
    message = "data.csv, line 3: a record has at most 100 bytes; is a quote not closed?"
    message += f"; found '{'x' * 40}'... (raise the limit with max_record_bytes=...)"
    with pytest.raises(ValueError, match=exactly(message)):
        examples(b"a,y\n1,2\n" + b"x" * 500 + b",1\n", options=limit)


def test_an_endless_record_takes_bounded_memory():
    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, memory):
            memory[:] = b"x" * len(memory)
            return len(memory)

    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="at most 1000000 bytes"):
            [*Reading(Endless(), Schema("csv"), ReaderOptions(max_record_bytes=10**6, chunk_bytes=10**4))]
        assert tracemalloc.get_traced_memory()[1] < 20 * 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("chunk_bytes", [1, 2**20])
def test_a_quote_that_is_not_closed_is_the_one_that_opens_the_cell(chunk_bytes):
    text = b'a,label\n"doubled: ""\n"" and not closed\n'
    expected = (
        'data.csv, line 2: the file ends before this quote is closed; found \'"doubled: ""\\n"" and not closed\\n\''
    )
    with pytest.raises(ValueError, match=exactly(expected)):
        examples(text, options={"chunk_bytes": chunk_bytes})


def test_a_truncated_file_is_rejected():
    packed = gzip.compress(b"a,label\n" + b"1,2\n" * 1000)
    with pytest.raises(ValueError, match=r"data.csv"):
        examples(packed[:-20])


def test_a_file_in_text_mode_or_of_another_format_is_rejected():
    with pytest.raises(TypeError, match="source is a file in text mode"):
        Reading(io.StringIO("a,y\n"), Schema("csv"))


def test_missing_pyarrow_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = 'Parquet and Arrow data need pyarrow (pip install "scwlearn[cli]")'
    for format in ("arrow", "parquet"):
        with pytest.raises(ValueError, match=exactly(message)):
            [*Reading(named(b""), Schema(format))]
