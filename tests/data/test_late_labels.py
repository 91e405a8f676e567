"""Labels are numbers or strings as the first ones show, wherever these are."""

import io
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc, parquet

from scwlearn import Features
from scwlearn.data.io.errors import DataError
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.writing import write_batches
from table_text import label_list


def labels_of(file, **options):
    """All labels of a file, and what it says of their kind."""
    given = {name: options.pop(name) for name in ("features", "schema") if name in options}
    of_model = options.pop("features_of_model", None)
    schema, batches = read_batches([file], options=ReaderOptions(**options, features=of_model), **given)
    return schema, [label for batch in batches for label in label_list(batch)]


def csv(labels):
    """A table of these cells as labels."""
    return io.BytesIO(("a,label\n" + "".join(f"{i % 7},{label}\n" for i, label in enumerate(labels))).encode())


@pytest.mark.parametrize("chunk_bytes", [50, 3000, None])
@pytest.mark.parametrize("read_ahead", [False, True])
def test_the_first_label_of_a_table_decides_if_the_first_records_have_none(chunk_bytes, read_ahead):
    options = {"chunk_bytes": chunk_bytes, "read_ahead": read_ahead, "labels": "optional"}
    cells = [*[""] * 1200, "yes", *["", "NA", "7"] * 900]
    schema, found = labels_of(csv(cells), **options)
    assert schema.label_kind is None
    assert found == [cell or None for cell in cells]
    _, found = labels_of(csv([*[""] * 1200, "NA", "7", "yes", "NA", "1"]), on_error="skip", **options)
    assert found[1200:] == [None, 7, None, 1]
    with pytest.raises(DataError, match="a label must be a number, as the first ones are"):
        labels_of(csv([*[""] * 1200, "7", *[""] * 300, "yes"]), **options)


CELLS = st.lists(st.sampled_from(["", "NA", "?", "7", "8", "yes"]), max_size=30)


@given(st.sampled_from([0, 990, 1200]), CELLS, st.sampled_from([20, 100, 10_000]))
def test_markers_of_missing_numbers_are_missing_labels_unless_labels_are_words(missing, cells, chunk_bytes):
    cells = [""] * missing + cells + ["7"]
    shown = [cell for cell in cells[:1000] if cell not in ("", "NA", "?")]
    kind = None if not shown else "categorical" if "yes" in shown else "numeric"
    first = next(cell for cell in cells if cell not in ("", "NA", "?"))
    options = {"labels": "optional", "on_error": "skip", "chunk_bytes": chunk_bytes, "read_ahead": False}
    schema, found = labels_of(csv(cells), **options)
    assert schema.label_kind == kind
    if kind == "categorical":
        assert found == [cell or None for cell in cells]
    elif kind == "numeric" or first != "yes":
        assert found == [None if cell in ("", "NA", "?") else int(cell) for cell in cells if cell != "yes"]
    else:
        before = cells.index("yes")
        assert found == [None] * before + [cell or None for cell in cells[before:]]


@pytest.mark.parametrize("form", ["parquet", "stream"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_strings_are_strings_even_if_the_first_ones_are_all_missing(form, dictionary):
    words = pa.array(["unknown"] * 1200 + ["yes", "no"] * 2)
    numbers = pa.array([None] * 1200 + [1.5, 2.5] * 2)
    for label, kind in (words, "categorical"), (numbers, "numeric"):
        label = label.dictionary_encode() if dictionary else label
        table = pa.table({"job": words, "label": label})
        file = io.BytesIO()
        if form == "parquet":
            parquet.write_table(table, file)
        else:
            with ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=4)
        file.seek(0)
        features = Features(missing=["unknown"])
        schema, found = labels_of(file, features=features, on_error="skip")
        assert (schema.label_kind, schema.features.kinds["job"]) == (kind, "categorical")
        assert found == label.to_pylist()[1200:]


@given(st.sampled_from([0, 999, 1200]), st.lists(st.sampled_from(["NA", "nan", "7", "8", "07", "yes"]), max_size=5))
def test_labels_that_are_written_are_read_again_or_refused(missing, labels):
    labels = [None] * missing + labels + ["8"]
    records = [f'{{"label":{"null" if label is None else chr(34) + label + chr(34)},"a":1}}\n' for label in labels]
    options = ReaderOptions(labels="optional")
    _, batches = read_batches([io.BytesIO("".join(records).encode())], options=options)
    file, refused = io.BytesIO(), ""
    try:
        write_batches([*batches], file, "csv", columns={"a": "numeric"})
    except DataError as error:
        refused = str(error)
    file.seek(0)
    _, found = ({}, labels) if refused else labels_of(file, labels="optional")
    assert [None if label is None else str(label) for label in found] == labels
    assert not refused or "the labels of CSV and TSV are read as numbers" in refused


def test_a_later_file_of_a_model_without_a_kind_of_labels_shows_its_own():
    schema, _ = labels_of(csv([""] * 1001 + ["yes"]), labels="optional")
    assert labels_of(csv(["no"]), schema=schema.fixed(schema.features))[1] == ["no"]
    assert labels_of(csv(["3"]), schema=schema)[1] == [3]


def lines(labels):
    """JSON lines with these labels; those of which the text is no number are strings."""
    typed = (None if not label else int(label) if label.isdigit() else label for label in labels)
    return io.BytesIO("".join(json.dumps({"a": 1, "label": label}) + "\n" for label in typed).encode())


@pytest.mark.parametrize("form", [csv, lines])
@pytest.mark.parametrize("chunk_bytes", [3000, None])
def test_later_files_have_the_kind_of_labels_that_the_first_label_has_decided(form, chunk_bytes):
    options = ReaderOptions(labels="optional", chunk_bytes=chunk_bytes)
    late = [*[""] * 1200, "yes", "no"]
    _, batches = read_batches([form(late), form(["1", "0"])], options=options)
    assert [label for batch in batches for label in label_list(batch) if label] == ["yes", "no", "1", "0"]


@pytest.mark.parametrize("form", [csv, lines])
def test_the_labels_of_a_model_are_the_first_ones(form):
    options = {"labels": "optional", "features_of_model": Features(), "on_error": "skip"}
    for kind, label in ("categorical", "yes"), ("numeric", "7"):
        for cells in ["7", "yes"], ["yes", "7"], [*[""] * 1200, "7", "yes"], [*[""] * 1200, "yes", "7"]:
            _, found = labels_of(form(cells), known_label_kind=lambda kind=kind: kind, **options)
            strings = [each for each in cells if each] if form is csv else [label]
            assert [each for each in found if each is not None] == ([7] if kind == "numeric" else strings)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("chunk_bytes", [200, None])
def test_a_record_that_is_left_out_does_not_decide(form, chunk_bytes):
    rows = [*[(1, "")] * 1200, ("x", 5), *[(1, "yes")] * 2000]
    if form == "csv":
        text = "a,label\n" + "".join(f"{a},{label}\n" for a, label in rows)
    else:
        text = "".join(json.dumps({"a": a, "label": label or None}) + "\n" for a, label in rows)
    options = {"labels": "optional", "on_error": "skip", "chunk_bytes": chunk_bytes}
    _, found = labels_of(io.BytesIO(text.encode()), features=Features(kinds={"a": "numeric"}), **options)
    assert found == [None] * 1200 + ["yes"] * 2000


@pytest.mark.parametrize("blank", ["\u00a0", "\u2028", "\x1d"])
def test_white_space_that_readers_keep_makes_a_number_a_word(blank):
    schema, found = labels_of(csv(["1", f"2{blank}", "1"]))
    assert (schema.label_kind, found) == ("categorical", ["1", f"2{blank}", "1"])
    records = "".join(json.dumps({"label": label, "a": 1}) + "\n" for label in found)
    _, batches = read_batches([io.BytesIO(records.encode())])
    file = io.BytesIO()
    write_batches([*batches], file, "csv", columns={"a": "numeric"})
    file.seek(0)
    assert labels_of(file)[1] == found
