"""A model of records that declares nothing reads tables and JSON by the features that it knows."""

import csv
import io
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from scwlearn import Features, StreamClassifier
from scwlearn._native import Vocabulary
from scwlearn.data.features import PLAIN
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.runs.trained_model import TrainedModel
from table_text import features


def read(data, known, declared=None, **options):
    """The features of examples in a file, for a model that knows some names."""
    given = {"labels": "ignored", "features": declared or PLAIN, "known_names": lambda: known}
    _, batches = read_batches([io.BytesIO(data)], options=ReaderOptions(**given | options))
    return [row for batch in batches for row in features(batch)]


def table_of(records):
    """Records as CSV."""
    names = [*dict.fromkeys(name for record in records for name in record)]
    file = io.StringIO()
    writer = csv.DictWriter(file, names)
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue().encode()


STRINGS = st.sampled_from(["True", "FALSE", "true", "False", "x", "12", "1.50", "nan", "NA", "2026-11-17"])


@given(st.lists(st.fixed_dictionaries({"a": STRINGS, "b": STRINGS, "n": st.integers(1, 9)}), min_size=1, max_size=8))
def test_strings_that_a_model_has_learned_are_the_same_in_cells(records):
    plain = Features()
    expected = [plain.read(record) for record in records]
    known = {name for row in expected for name in row}
    assert read(table_of(records), known) == expected
    assert read("".join(json.dumps(record) + "\n" for record in records).encode(), known) == expected


CELLS = st.lists(st.tuples(STRINGS, STRINGS), max_size=8)
KNOWN = st.sets(st.sampled_from(["a", "a=x", "b", "b=12"]))


@given(CELLS, CELLS, KNOWN)
def test_what_the_first_records_decide_about_cells_holds_for_all_later_ones(first, then, known):
    one, two = (
        b"a,b,label\n" + "".join(f"{a},{b},1\n" for a, b in [*part, ("1", "1")]).encode() for part in (first, then)
    )

    def rows(*texts, schema=None, names=lambda: known):
        options = ReaderOptions(features=PLAIN, known_names=names, on_error="skip")
        schema, batches = read_batches([io.BytesIO(text) for text in texts], schema, options)
        return schema, [row for batch in batches for row in features(batch)]

    schema, expected = rows(one, two)
    # A worker has the schema, and its model may have learned more.
    for names in None, lambda: ["a", "b", "a=12", "b=x", "b=12"]:
        assert rows(one, schema=schema, names=names)[1] + rows(two, schema=schema, names=names)[1] == expected


def test_a_model_of_strings_predicts_the_same_for_cells():
    model = StreamClassifier("arow")
    records = [{"ok": ["True", "False", "Unknown"][i % 3], "n": i % 4} for i in range(60)]
    for record in records:
        model.learn_one(record, record["ok"] == "True")
    rows = read(table_of(records), {name for record in records for name in Features().read(record)})
    assert model.predict_many(rows) == model.predict_many(records)


VALUES = st.recursive(
    st.sampled_from([0.5, 2, "x", "", None, ["a", "b"]]),
    lambda inner: st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=3,
)
KEYS = st.sampled_from(["label", "target", "Class", "y", "x"])


@given(st.lists(st.dictionaries(KEYS, VALUES, min_size=1), min_size=1, max_size=4), st.sampled_from([".", "_"]))
def test_what_a_model_has_learned_is_no_label_however_deep_it_is(records, separator):
    plain = Features(separator=separator)
    expected = [plain.read(record) for record in records]
    known = {name for row in expected for name in row}
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    assert read(lines, known, plain) == expected
    table = pa.Table.from_pylist([{"target": {"size": i}, "y": {"a": "x"}, "label": "b", "n": 1} for i in range(3)])
    file = io.BytesIO()
    parquet.write_table(table, file)
    known = [f"target{separator}size", f"y{separator}a=x", "n"]
    expected = [dict(zip(known, [i, 1.0, 1.0], strict=True)) for i in range(3)]
    assert read(file.getvalue(), known, plain) == [{k: v for k, v in row.items() if v} for row in expected]


def test_the_label_is_found_beside_an_object_with_a_usual_name():
    text = b"".join(b'{"target": {"size": %d}, "label": "%s"}\n' % (i, b"ab"[i % 2 : i % 2 + 1]) for i in range(4))
    options = ReaderOptions(features=PLAIN, known_names=lambda: ["target.size"])
    schema, batches = read_batches([io.BytesIO(text)], options=options)
    assert schema.label == "label"
    assert next(batches).labels.tolist() == ["a", "b", "a", "b"]


@given(
    st.lists(st.sampled_from([None, {"size": 2}, {}]), min_size=2, max_size=5),
    st.sampled_from(["target", "Class", "y"]),
)
def test_objects_that_are_sometimes_missing_are_no_label_for_any_model(objects, key):
    objects.append({"size": 1})
    records = [{key: each, "n": 1, "label": "ab"[i % 2]} for i, each in enumerate(objects)]
    expected = [Features().read({key: each, "n": 1}) for each in objects]
    for options in {}, {"features": Features(), "known_names": lambda: [f"{key}.size", "n"]}:
        schema, batches = read_batches([io.BytesIO(lines_of(records))], options=ReaderOptions(**options))
        assert schema.label == "label"
        assert [row for batch in batches for row in features(batch)] == expected
    # A single value that could be a label makes it unclear.
    records.append({key: "c", "label": "a"})
    with pytest.raises(ValueError, match="could both be it"):
        read_batches([io.BytesIO(lines_of(records))])


def test_a_column_with_a_usual_name_is_the_label_beside_features_that_begin_with_it():
    records = [{"label": "ab"[i % 2], "label.size": i} for i in range(4)]
    options = ReaderOptions(features=PLAIN, known_names=lambda: ["label.size"])
    for text in table_of(records), "".join(json.dumps(record) + "\n" for record in records).encode():
        _, batches = read_batches([io.BytesIO(text)], options=options)
        assert next(batches).labels.tolist() == ["a", "b", "a", "b"]


def hashed_model(directory, records, labels, lost, slots=16):
    """How a model with hashed names reads data; it has learned the records, and lost some names."""
    model = StreamClassifier("arow", max_features=slots, overflow="hash")
    rows = [Features().read(record) for record in records]
    names = sorted({name for row in rows for name in row})
    vocabulary = Vocabulary(slots, True)
    slot = dict(zip(names, vocabulary.find(names, False).tolist(), strict=True))
    # The most frequent name owns a slot.
    others = {f"f{i}": at for i, at in enumerate(vocabulary.find([f"f{i}" for i in range(50 * slots)], False).tolist())}
    more = {next(name for name, at in others.items() if at == slot[own]): 0.5 for own in lost}
    model.learn_many([record | more for record in records], labels)
    model.save(directory / "model")
    reading = TrainedModel.read(directory / "model").reading
    assert {*reading["known_names"]()}.isdisjoint(lost)
    return {"known": [*reading["known_names"]()], "lost_names": reading["lost_names"], "slots": slots}


def lines_of(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


UNCLEAR = "may be the label, or a feature that the model has learned.*name the label with label="


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        ([{"y": i % 2} for i in range(50)], ["y"]),
        ([{"class": f"{i % 3}st"} for i in range(50)], ["class=0st", "class=1st", "class=2st"]),
        ([{"Target": {"size": i % 5}} for i in range(50)], ["Target.size"]),
    ],
)
def test_a_key_of_which_hashing_may_have_lost_the_names_is_not_taken_for_the_label(tmp_path, values, lost):
    records = [record | {"n": 1.0} for record in values]
    model = hashed_model(tmp_path, records, [i % 2 for i in range(50)], lost, slots=64)
    (key,) = values[0]
    declared = {lost[0]: "numeric"} if key != "class" else {"class": "categorical"}
    texts = [lines_of(records)] if key == "Target" else [table_of(records), lines_of(records)]
    for text in texts:
        with pytest.raises(ValueError, match=f"'{key}' {UNCLEAR}"):
            read(text, **model)
        expected = [{name: value for name, value in Features().read(record).items() if value} for record in records]
        assert read(text, declared=Features(kinds=declared), **model) == expected
    # It does not matter how late the key is.
    for missing in 1, 1200:
        with pytest.raises(ValueError, match=f"key '{key}' {UNCLEAR}"):
            read(lines_of([{"n": 1.0}] * missing + records), eager=True, **model)
    assert len(read(lines_of([{"n": 1.0}] * 3), **model)) == 3


def test_a_column_of_numbers_of_which_hashing_may_have_lost_strings_is_unclear(tmp_path):
    values = [{"zip": str(i % 3), "n": i + 0.5} for i in range(50)]
    lost = ["zip=0", "zip=1", "zip=2"]
    model = hashed_model(tmp_path, values, ["a" if i % 3 else "b" for i in range(50)], lost, slots=64)
    assert model["lost_names"](["zip"]) == set()
    for options in {}, {"eager": True}, {"labels": "optional"}:
        with pytest.raises(ValueError, match=r"columns 'zip' are new, or .* as strings.*categorical"):
            read(table_of(values), **options | model)
        declared = Features(kinds={"zip": "categorical"})
        assert read(table_of(values), declared=declared, **options | model) == [*map(Features().read, values)]
