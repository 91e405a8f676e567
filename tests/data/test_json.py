"""JSON arrays: the same records as JSON lines, however they are laid out; errors name the line and the record."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn._native import JsonArrayCutter, split_json
from scwlearn.data.formats import detect_format
from scwlearn.data.io.errors import DataError, SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.writing import write_batches
from table_text import batches, exactly, examples, label_list, made, named

RECORDS = [
    {"y": "spam", "words": ["free", "offer", "offer"], "from": {"known": True, "name": "A, B"}, "size": 3e2},
    {"y": "ham", "words": [], "from": {"known": False, "name": None, "more": {"deep": 1}}, "size": 0},
    {"from": 'nobody]},{"', "y": "ham"},
]
FEATURES = [
    ({"words=free": 1, "words=offer": 2, "from.known": 1, "from.name=A, B": 1, "size": 300}, "spam", None),
    ({"from.more.deep": 1}, "ham", None),
    ({'from=nobody]},{"': 1}, "ham", None),
]
LAYOUTS = {
    "dump": json.dumps(RECORDS),
    "compact": json.dumps(RECORDS, separators=(",", ":")),
    "indented": json.dumps(RECORDS, indent=2),
    "a record per line": "[\n" + ",\n".join(map(json.dumps, RECORDS)) + "\n]\n",
    "commas first": "[" + "\n, ".join(map(json.dumps, RECORDS)) + "\n]",
    "returns": json.dumps(RECORDS, indent=1).replace("\n", "\r\n") + "\r\n\r\n",
    "space around": "\n \t" + json.dumps(RECORDS) + " \n\n ",
    "byte order mark": "\ufeff" + json.dumps(RECORDS, ensure_ascii=False),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chunk_bytes", [1, 7, 100, None])
def test_the_layout_does_not_matter(layout, chunk_bytes):
    read = [*batches(LAYOUTS[layout].encode(), "json", options={"chunk_bytes": chunk_bytes})]
    assert examples(LAYOUTS[layout].encode(), "json", options={"chunk_bytes": chunk_bytes}) == FEATURES
    assert [line for batch in read for line in batch.lines.tolist()] == [1, 2, 3]


@pytest.mark.parametrize(("lines", "orient"), [(False, "records"), (True, "records")])
def test_data_frames_that_pandas_writes(tmp_path, lines, orient):
    frame = pd.DataFrame({"a": [1, None, 3], "b": ["x", "y", None], "label": [True, False, True]})
    path = tmp_path / "frame.json"
    frame.to_json(path, orient=orient, lines=lines)
    schema, read = read_batches([path])
    assert schema.format == ("jsonl" if lines else "json")
    assert schema.label == "label"
    (batch,) = read
    assert [*batch.x.dicts()] == [{"a": 1, "b=x": 1}, {"b=y": 1}, {"a": 3}]
    assert label_list(batch) == [True, False, True]


@pytest.mark.parametrize("orient", ["columns", "index"])
def test_other_orientations_are_refused_with_advice(tmp_path, orient):
    path = tmp_path / "frame.json"
    pd.DataFrame({"a": [1, 2], "label": [0, 1]}, index=["label", "b"]).to_json(path, orient=orient)
    advice = 'an object of columns must become an array of records: in pandas, to_json(orient="records")'
    message = f"{path}: the label 'label' must be a string or a number, not an object ({advice})"
    with pytest.raises(DataError, match=exactly(message)):
        read_batches([path])


@pytest.mark.parametrize(
    ("head", "name", "found"),
    [
        (b'[{"a": 1}]', "data", "json"),
        (b"[\n", "data", "json"),
        (b"\n  [  \n{", "data.csv", "json"),
        (b"[]", "data", "json"),
        (b"[[1, 2]]", "data", "json"),
        (b'{"a": 1}\n', "data.json", "jsonl"),
        (b'{"a": "x|y"}\n{"a": "z|y"}\n', "data", "jsonl"),
        (b'{"a":"x|y"}\n', "data", "jsonl"),
        (b'[{"a": "x|y"},\n{"a": "z|y"}]\n', "data", "json"),
        (b"[a],[b]\n1,2\n", "data", "csv"),
        (b" \n\n", "data.json", "json"),
        (b" \n\n", "data.ndjson.gz", "jsonl"),
    ],
)
def test_the_format_is_detected(head, name, found):
    assert detect_format(head, name) == found


GOOD = b'[{"y": 1, "x": 1},\n'
ADVICE = (
    'an object of columns must become an array of records: in pandas, to_json(orient="records"); for an object per '
    'line, use format="jsonl"'
)
FAULTS = [
    (b"", "data.json, line 1, column 1: the data must be an array of objects; found nothing"),
    (b"[]", 'data.json: no examples; the data must be an array of objects, such as [{"label": 1, "feature": 0.5}]'),
    (
        b'{"y": [1, 2]}',
        f"data.json, line 1, column 1: the data must be an array of objects; found '{{\"y\": [1, 2]}}' ({ADVICE})",
    ),
    (
        b"[[1, 2], [3, 4]]",
        'data.json, line 1, record 1, column 2: a record of an array must be an object, such as {"label": 1}; '
        "found '[1, 2]'",
    ),
    (
        GOOD + b'{"y": 1, x: 1}]',
        "data.json, line 2, record 2, column 10: a key must be a string in double quotes; found 'x: 1}]'",
    ),
    (
        GOOD + b'  {\n"y": 1\n"x": 1}]',
        "data.json, line 4, record 2, column 1: a comma or } must follow a value; found '\"x\": 1}]'",
    ),
    (
        GOOD + b'{"y": 1, "x": [1]}]',
        "data.json, line 2, record 2, column 'x': a list must hold strings, each a feature, and its column must not be "
        "numeric or a date; found '1' (correct the value, leave such records out with on_error=\"skip\", or declare "
        "another kind)",
    ),
    (GOOD + b'{"x": 1}]', "data.json, line 2, record 2, column 'y': a record needs a label; found nothing"),
    (GOOD[:-2], "data.json, line 1, column 18: an array must end with ]; found nothing (is the file complete?)"),
    (GOOD, "data.json, line 1, column 19: an array must end with ]; found nothing (is the file complete?)"),
    (GOOD + b'{"y": 2', "data.json, line 2, record 2, column 8: a comma or } must follow a value; found nothing"),
    (GOOD + b"]", "data.json, line 2, column 1: no comma may follow the last record of an array; found ']'"),
    (
        GOOD + b'{"y": 2} {"y": 3}]',
        "data.json, line 2, column 10: a comma must separate the records of an array; found '{\"y\": 3}]'",
    ),
    (GOOD + b'{"y": 2}]\n [3]', "data.json, line 3, column 2: nothing may follow the array; found '[3]'"),
    (
        b'[{"x": 1}]',
        "data.json: which key is the label? none is called 'label', 'target', 'class' or 'y'; the keys are 'x' "
        "(name it with label=...)",
    ),
]


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=range(len(FAULTS)))
@pytest.mark.parametrize("chunk_bytes", [1, 10, None])
def test_errors_name_the_line_the_record_and_the_problem(text, message, chunk_bytes):
    # An excerpt ends with the chunk.
    pattern = exactly(message) if chunk_bytes is None else re.escape(message.partition("; found")[0])
    with pytest.raises(DataError, match=pattern):
        examples(text, "json", options={"chunk_bytes": chunk_bytes})


def test_places_on_one_line_count_characters_from_its_start():
    text = '[{"y": 1, "é": "ä"}, {"y": 2}, {"y": 3, x}]'.encode()
    for chunk_bytes in (1, 20, None):
        with pytest.raises(DataError, match="line 1, record 3, column 41: a key must"):
            examples(text, "json", options={"chunk_bytes": chunk_bytes})


def test_the_examples_before_an_error_are_read():
    read, found = batches(GOOD + b'{"y": 2, "x": 2},\n{"y": 3} 4]', "json", options={"chunk_bytes": 8}), []

    def collect():
        for batch in read:
            found.extend(batch.labels.tolist())

    with pytest.raises(DataError, match="line 3, column 10: a comma must separate"):
        collect()
    assert found == [1, 2, 3]


def test_bad_records_are_skipped_and_counted():
    text = b'[{"y": 1}, 7, {"y": "a"}, {"y": 2, z}, {"y": 3, "x": [0]},\n{"y": 4}, null]'
    for chunk_bytes in (1, 30, None):
        skipped = SkippedRecords(keep=3)
        options = {"on_error": "skip", "skipped": skipped, "chunk_bytes": chunk_bytes}
        read = [*batches(text, "json", options=options)]
        assert [label for batch in read for label in batch.labels.tolist()] == [1, 4]
        assert [line for batch in read for line in batch.lines.tolist()] == [1, 6]
        assert skipped.count == 5
        assert [(error.line, error.unit) for error in skipped.first] == [
            (2, "line 1, record"),
            (3, "line 1, record"),
            (4, "line 1, record"),
        ]


def test_an_array_that_breaks_off_is_an_error_even_if_errors_are_skipped():
    for text in (b'[{"y": 1}, {"y": 2}', b'[{"y": 1}, {"y": 2} 3]', b'[{"y": 1}, {"y": 2}] 3'):
        with pytest.raises(DataError):
            examples(text, "json", options={"on_error": "skip"})


def test_a_record_that_is_too_long_is_an_error():
    text = b'[{"y": 1}, {"y": 2, "x": "%s"}, {"y": 3}]' % (b"x" * 1000)
    message = "data.json, record 2: a record has at most 100 bytes; is a brace or a quote not closed?"
    for on_error in ("raise", "skip"):
        options = {"max_record_bytes": 100, "chunk_bytes": 20, "on_error": on_error}
        with pytest.raises(DataError, match=message.replace("?", r"\?")):
            examples(text, "json", options=options)


def test_a_pipe_gives_the_records_that_have_come():
    pieces = [b'[{"y": 1},\n', b'{"y"', b": 2},\n", b'{"y": 3}', b"]"]

    class Pipe(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, memory):
            piece = pieces.pop(0) if pieces else b""
            memory[: len(piece)] = piece
            return len(piece)

    options = ReaderOptions(eager=True, read_ahead=False)
    _, read = read_batches([Pipe()], options=options, format="json")
    assert [batch.labels.tolist() for batch in read] == [[1], [2], [3]]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(1, 50))
@settings(deadline=None)
@pytest.mark.threads
def test_several_threads_read_the_records_in_order(labels, chunk_bytes):
    text = json.dumps([{"y": label, "x": [str(i)]} for i, label in enumerate(labels * 20)]).encode()
    read = examples(text, "json", options={"chunk_bytes": chunk_bytes})
    assert [row for row, _, _ in read] == [{f"x={i}": 1} for i in range(len(labels) * 20)]
    assert [label for _, label, _ in read] == labels * 20


def test_the_rest_of_a_buffer_may_be_full():
    # The buffer ends with a record, so that no newline fits behind it.
    text = b'[{"y": 1},{"y": 2}]'
    for chunk_bytes in range(1, len(text) + 2):
        assert [label for _, label, _ in examples(text, "json", options={"chunk_bytes": chunk_bytes})] == [1, 2]


def test_what_is_written_is_read_again():
    batch = made([{"a": 1.5, "b=x": 1}, {}, {"é": -2}], ["p", "q", "p"], weights=[1, 2, 0.5])
    file = io.BytesIO()
    assert write_batches([batch, batch], file, "json") == 6
    assert [*json.loads(file.getvalue())][:2] == [
        {"label": "p", "weight": 1, "a": 1.5, "b=x": 1},
        {"label": "q", "weight": 2},
    ]
    _, read = read_batches([named(file.getvalue(), "data.json")], weight="weight")
    again = [*read]
    assert [row for part in again for row in part.x.dicts()] == [*batch.x.dicts()] * 2
    assert np.concatenate([part.weights for part in again]).tolist() == [1, 2, 0.5] * 2


def test_the_texts_of_the_first_records():
    def split(text, part, most):
        return split_json(np.frombuffer(text, dtype=np.uint8), part, most)

    text = b' [ {"a": ",]"} , 1, [2, {}],{"b": 3}] '
    assert split(text, "array start", 2) == ([b'{"a": ",]"}', b"1"], 20)
    assert split(text[20:], "array rest", 9) == ([b"[2, {}]", b'{"b": 3}'], 16)
    assert split(b"a\n\nb\n", "lines", 2) == ([b"a", b""], 3)
    assert split(b"\n", "array end", 2) == ([], 1)
    assert split(b"{}", "array start", 2) == ([], 2)
    cutter = JsonArrayCutter()
    assert cutter.last_end(np.frombuffer(b"  7", dtype=np.uint8)) == 3
    assert cutter.is_closed


@pytest.mark.parametrize("record", ["5", '[1,{"z":2}]', '"a, b"', "null"])
def test_the_excerpt_of_a_record_ends_with_it(record):
    text = f'[{{"label": 1, "x": 1}}, {record}, {{"label": 0, "x": 2}}]'
    with pytest.raises(DataError) as caught:
        [*read_batches([io.BytesIO(text.encode())])[1]]
    assert caught.value.found == repr(record)
