"""CSV and TSV: a row has the same features as the row as a dict, and knows its line."""

import gzip
import io
import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn import Features, StreamClassifier
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.schema import Schema
from table_text import Reading, batches, ends_open, examples, features, label_list, records, schema_of

MIXED = b"""age,job,about,label
31,nurse,likes long quiet walks,1
,cook,plays in a band,-1
0,nurse,the band of the cook,1
4.5e1,,,-1
"""


def test_the_first_cells_decide_the_kind_of_a_column():
    assert batches(MIXED).schema == schema_of(
        "csv",
        label="label",
        columns={"age": "numeric", "job": "categorical", "about": "text", "label": "numeric"},
        delimiter=",",
    )


def test_cells_become_features_of_their_column():
    assert examples(MIXED) == [
        ({"age": 31, "job=nurse": 1, "about=likes": 1, "about=long": 1, "about=quiet": 1, "about=walks": 1}, 1, None),
        ({"job=cook": 1, "about=plays": 1, "about=in": 1, "about=a": 1, "about=band": 1}, -1, None),
        ({"job=nurse": 1, "about=the": 2, "about=band": 1, "about=of": 1, "about=cook": 1}, 1, None),
        ({"age": 45}, -1, None),
    ]


def test_learning_from_a_table_equals_learning_from_its_rows_as_dicts():
    rows = [
        {"age": 31.0, "job": "nurse", "about": ["likes", "long", "quiet", "walks"]},
        {"job": "cook", "about": ["plays", "in", "a", "band"]},
        {"age": 0.0, "job": "nurse", "about": ["the", "band", "of", "the", "cook"]},
        {"age": 45.0},
    ]
    by_dicts, by_table = StreamClassifier("scw1"), StreamClassifier("scw1")
    by_dicts.learn_many(rows, [1, -1, 1, -1])
    for batch in batches(MIXED):
        by_table.learn_many(features(batch), batch.labels)
    assert by_table.predict_proba_many(rows).tolist() == by_dicts.predict_proba_many(rows).tolist()
    weights = [{name: weight for name, weight, _ in model.top_features(99)[1]} for model in (by_dicts, by_table)]
    assert weights[0] == weights[1]


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-1e150, 1e150), st.integers(-10, 10)),
            st.one_of(
                st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
            ),
            st.sampled_from(["yes", "no, never", 'a "quoted" one', "two\nlines"]),
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 100),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(deadline=None)
def test_any_numbers_and_strings_are_read_exactly(rows, chunk_bytes, newline):
    def quoted(cell):
        return "" if cell is None else '"' + str(cell).replace('"', '""') + '"'

    text = newline.join(["a,b,y", *(",".join(map(quoted, row)) for row in rows)])
    schema = schema_of("csv", label="y", columns={"a": "numeric", "b": "categorical", "y": "categorical"})
    read = examples(text.encode(), schema=schema, options={"chunk_bytes": chunk_bytes, "read_ahead": False})
    assert read == [
        (({"a": float(a)} if a else {}) | ({f"b={b}": 1.0} if b is not None else {}), y, None) for a, b, y in rows
    ]


@given(st.text(st.sampled_from('ab",,\n\r0é'), max_size=60), st.integers(1, 64))
@settings(deadline=None, max_examples=500)
def test_records_and_their_lines_are_those_of_pythons_csv(body, chunk_bytes):
    schema = schema_of("csv", label="z", columns={"x": "categorical", "y": "categorical", "z": "categorical"})
    faults, options = SkippedRecords(), {"labels": "optional", "on_error": "skip", "chunk_bytes": chunk_bytes}
    expected = records("x,y\n" + body)[1:]
    good = [(line, cells) for line, cells in expected if len(cells) == 2]
    read = batches(f"x,y\n{body}".encode(), schema=schema, options=options | {"skipped": faults})
    if ends_open(body) or not good:
        with pytest.raises(ValueError, match="quote is closed" if ends_open(body) else "no examples"):
            list(read)
        return
    read = list(read)
    assert [line for batch in read for line in batch.lines.tolist()] == [line for line, _ in good]
    assert [row for batch in read for row in features(batch)] == [
        {f"{column}={cell}": 1.0 for column, cell in zip("xy", cells, strict=True) if cell} for _, cells in good
    ]
    assert [fault.line for fault in faults.first] == [line for line, cells in expected if len(cells) != 2][:10]


@pytest.mark.parametrize(
    "text", [MIXED, MIXED.replace(b"\n", b"\r\n"), MIXED[:-1], b"\xef\xbb\xbf" + MIXED, b"\n" + MIXED]
)
def test_line_ends_marks_and_blank_lines_do_not_matter(text):
    assert examples(text) == examples(MIXED)
    assert examples(gzip.compress(text)) == examples(MIXED)


def test_the_size_of_a_chunk_changes_nothing_but_the_batches():
    text = b"n,word,label\n" + b"".join(b"%d,w%d,%d\n" % (i * i % 97, i % 7, i % 2) for i in range(500))
    for chunk_bytes in (1, 13, 100, 1000, 10**6):
        for read_ahead in (False, True):
            assert examples(text, options={"chunk_bytes": chunk_bytes, "read_ahead": read_ahead}) == examples(text)
    lines = np.concatenate([batch.lines for batch in batches(text, options={"chunk_bytes": 1000})])
    assert lines.tolist() == [*range(2, 502)]


def test_tabs_separate_the_cells_of_tsv():
    assert examples(b"a\tb\ty\n1\tx,y\tyes\n", "tsv") == [({"a": 1, "b=x,y": 1}, "yes", None)]


def test_declared_kinds_override_detected_ones():
    columns = {"n": "categorical", "word": "text", "y": "categorical"}
    text = b"n,word,other,y\n1,Big House,2,0\n01,House,3,1\n"
    read = batches(text, columns=columns)
    assert read.schema.columns == columns | {"other": "numeric"}
    assert examples(text, columns=columns) == [
        ({"n=1": 1, "word=big": 1, "word=house": 1, "other": 2}, "0", None),
        ({"n=01": 1, "word=house": 1, "other": 3}, "1", None),
    ]


def test_three_words_that_mostly_differ_make_a_text():
    def kind(*cells):
        return batches("\n".join(["c,y", *(f"{cell},1" for cell in cells)]).encode()).schema.columns["c"]

    assert kind("one two three", "four five six") == "text"
    assert kind("one two", "four five six") == "categorical"
    assert kind("one two three", "one two three") == "categorical"
    assert kind("one two three four five", "word") == "text"
    assert kind("1", "x") == "categorical"
    assert kind("1", " -2.5e3 ", "+.5") == "numeric"
    assert kind("", "") == "numeric"
    assert kind("1", " NaN ") == kind("NA", "1") == kind("", "1", "?", "n/a") == kind("nan", "") == "numeric"
    assert kind("1", "-inf") == kind("1", "nan", "x") == "categorical"


@pytest.mark.parametrize(
    ("cells", "expected", "kind"),
    [
        (["1", "2"], [1, 2], "i"),
        (["1.0", "-2e3"], [1, -2000], "i"),
        (["1.5", "2"], [1.5, 2], "f"),
        (["9007199254740992", "0"], [2**53, 0], "f"),
        (["yes", "1"], ["yes", "1"], "U"),
        (["true", "false"], ["true", "false"], "U"),
    ],
)
def test_labels_are_numbers_where_all_are(cells, expected, kind):
    (batch,) = batches("\n".join(["x,label", *(f"1,{cell}" for cell in cells)]).encode())
    assert (batch.labels.tolist(), batch.labels.dtype.kind) == (expected, kind)


def test_weights_are_read_and_columns_ignored():
    text = b"id,x,w,y\na,1,0.5,1\nb,2,0,2\n"
    assert examples(text, weight="w", ignore=("id",)) == [({"x": 1}, 1, 0.5), ({"x": 2}, 2, 0.0)]


def test_labels_may_be_missing_if_they_are_optional():
    optional = {"labels": "optional"}
    (batch,) = batches(b"x,y\n1,\n2,1\n", options=optional)
    assert label_list(batch) == [None, 1]
    (batch,) = batches(b"x\n1\n2\n", options=optional)
    assert batch.labels is None
    (batch,) = batches(b"x\n1\n2\n", label="y", weight="w", options=optional)
    assert (batch.labels, batch.weights) == (None, None)


def test_the_schema_of_one_table_applies_to_another():
    schema = batches(b"x,y\n1,1\n2,2\n").schema
    assert examples(b"new,y,x\nfoo,1,3\n", schema=schema) == [({"x": 3}, 1, None)]


def test_features_of_one_name_are_added():
    assert examples(b"a=b,a,y\n2,b,1\n3,c,2\n") == [({"a=b": 3}, 1, None), ({"a=b": 3, "a=c": 1}, 2, None)]


def test_the_first_records_decide_for_all_files(tmp_path):
    for name, text in (("a", MIXED), ("b", MIXED.replace(b"nurse", b"7").replace(b"cook", b"8"))):
        (tmp_path / f"{name}.csv").write_bytes(text)
    schema, read = read_batches([tmp_path / "*.csv"])
    rows = [row for batch in read for row in features(batch)]
    assert schema.columns["job"] == "categorical"
    assert "job=7" in rows[4]


def test_an_eager_reader_yields_the_records_of_a_pipe_at_once():
    reading, writing = os.pipe()
    with open(reading, "rb") as pipe, open(writing, "wb", buffering=0) as file:
        file.write(b"x,y\n1,1\n")
        read = Reading(pipe, Schema("csv"), ReaderOptions(eager=True))
        assert features(next(read)) == [{"x": 1}]
        late = threading.Timer(0, lambda: (file.write(b"2,2\n3,"), file.write(b"1\n"), file.close()))
        late.start()
        assert [row for batch in read for row in features(batch)] == [{"x": 2}, {"x": 3}]
        late.join()


def test_closing_stops_the_reading():
    read = batches(MIXED * 1000, options={"chunk_bytes": 1000, "on_error": "skip"})
    next(read)
    read.close()
    assert [*read] == []


@pytest.mark.data
def test_a_data_set_is_unchanged_after_a_round_trip_through_csv(load_data):
    x, y = load_data("elec2", 8)
    rows = [",".join(map(repr, [*row, label])) for row, label in zip(x.tolist(), y.tolist(), strict=True)]
    text = "\n".join([",".join([*(f"x{j}" for j in range(8)), "label"]), *rows]).encode()
    read = [*batches(text)]
    rows = [row for batch in read for row in features(batch)]
    assert [[row.get(f"x{j}", 0.0) for j in range(8)] for row in rows] == x.tolist()
    assert np.array_equal(np.concatenate([batch.labels for batch in read]), y)


def test_bools_among_strings_are_those_of_json_if_a_model_of_records_reads_them():
    schema = Schema("csv", label="y")
    read = examples(b"x,y\nTrue,1\nmaybe,1\nfalse,1\n", schema=schema, options={"features": Features()})
    same = [{"x": True}, {"x": "maybe"}, {"x": False}]
    assert [found for found, _, _ in read] == [Features().read(record) for record in same]


@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("other", [".", ","])
def test_labels_are_numbers_with_the_decimal_mark_of_the_table(mark, other):
    text = f"a;label\n1;1{other}5\n2;2{other}5\n".encode()
    schema, (batch,) = read_batches([io.BytesIO(text)], features=Features(decimal=mark))
    if mark == other:
        assert (schema.label_kind, batch.labels.tolist()) == ("numeric", [1.5, 2.5])
    else:
        assert (schema.label_kind, batch.labels.tolist()) == ("categorical", [f"1{other}5", f"2{other}5"])
