"""Features under their complete names, as VW text and JSON hold them: a model reads them as those of its records."""

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn import Features
from scwlearn.cli.app import run
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.io.errors import DataError
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows
from scwlearn.data.schema import Schema
from scwlearn.data.writing import write_batches

COLUMNS = st.text("ab.^", min_size=1, max_size=3)
STRINGS = st.text("xy=~^.", min_size=1, max_size=3)
VALUES = {
    "numeric": st.integers(-2, 2),
    "categorical": STRINGS,
    "text": st.lists(STRINGS, max_size=4),
    "date": st.sampled_from(["2026-11-17", "2026-11-17 14:30:00"]),
    "ignore": STRINGS,
}


@st.composite
def declared_records(draw, kinds):
    """Features that declare all columns of a table, with interactions, and records of the table."""
    columns = draw(st.dictionaries(COLUMNS, st.sampled_from(kinds), min_size=1, max_size=4))
    groups = st.lists(st.sampled_from([*columns, "*"]), min_size=2, max_size=2)
    features = Features(
        kinds=columns,
        others=draw(st.sampled_from(["auto", "ignore"])),
        separator=draw(st.sampled_from([".", "_"])),
        interactions=draw(st.lists(groups, max_size=2)),
    )
    record = st.fixed_dictionaries({}, optional={name: VALUES[kind] for name, kind in columns.items()})
    return features, draw(st.lists(record, min_size=1, max_size=4))


def batch_of(rows):
    """A batch of rows by name."""
    names = [*dict.fromkeys(name for row in rows for name in row)]
    values = np.array([[row.get(name, 0.0) for name in names] for row in rows]).reshape(len(rows), len(names))
    labels = np.arange(len(rows)) % 2
    return Batch(NamedRows(Rows(values), names), labels, None, np.arange(1, len(rows) + 1), "memory")


def read_again(rows, format, features):
    """What a model with these features reads from a file that holds the features of all rows."""
    file = io.BytesIO()
    write_batches([batch_of(rows)], file, format)
    file.seek(0)
    schema = Schema("csv", label="label", features=features, is_fixed=True)
    _, batches = read_batches([file], schema, format=format)
    return [row for batch in batches for row in batch.x.dicts()]


@pytest.mark.parametrize(
    ("format", "kinds"),
    [("vw", [*VALUES]), ("jsonl", ["numeric", "categorical", "text", "ignore"]), ("json", ["numeric", "text"])],
)
@given(data=st.data())
@settings(deadline=None, max_examples=300)
def test_features_by_name_are_those_of_the_table(format, kinds, data):
    features, records = data.draw(declared_records(kinds))
    plain = replace(features, interactions=())
    rows = [plain.read(record) for record in records]
    expected = [features.read(record) for record in records]
    if any(rows):
        assert read_again(rows, format, features) == expected


@pytest.mark.parametrize("format", ["vw", "jsonl"])
@pytest.mark.parametrize("interactions", [["c:n"], ["o:n"], ["c:o", "*:n"]])
def test_interactions_know_features_by_name_without_declarations(format, interactions):
    record = {"c": "a", "n": 2.0, "o": {"d": "b"}}
    features = Features(interactions=interactions)
    rows = [replace(features, interactions=()).read(record)]
    found = read_again(rows, format, features)
    assert found == [features.read(record)]


def test_features_of_namespaces_are_those_of_columns_with_a_caret():
    kinds = {"size^height": "numeric", "says^word": "categorical"}
    schema = Schema("csv", features=Features(kinds=kinds, others="ignore", interactions=["size:says"]), is_fixed=True)
    _, batches = read_batches([io.BytesIO(b"1 |size height:2 width:3 |says word=hi hi\n")], schema)
    assert [*next(batches).x.dicts()] == [
        {"size^height": 2.0, "says^word=hi": 1.0, "size^height*says^word=hi": 2.0},
    ]


def test_an_ignored_namespace_is_ignored_in_every_format():
    features = Features(kinds={"from": "ignore"})
    schema = Schema("vw", features=features, is_fixed=True)
    for format, text in {
        "vw": b"1 |from bob |size height:2\n0 | from^amy from=x size^height:3\n",
        "jsonl": b'{"label":1,"from^bob":1,"size^height":2}\n{"label":0,"from^amy":1,"from=x":1,"size^height":3}\n',
        "csv": b"label,from^bob,size^height\n1,1,2\n0,,3\n",
    }.items():
        _, batches = read_batches([io.BytesIO(text)], replace(schema, label=None), format=format)
        assert [row for batch in batches for row in batch.x.dicts()] == [{"size^height": 2.0}, {"size^height": 3.0}]


def test_n_grams_do_not_join_the_columns_of_a_table():
    schema = Schema("csv", features=Features(kinds={"n": "numeric", "c": "categorical"}, others="ignore", ngram=2))
    _, batches = read_batches([io.BytesIO(b"1 | n:2 c=a\n")], schema.fixed(schema.features))
    assert [*next(batches).x.dicts()] == [{"n": 2.0, "c=a": 1.0}]


@pytest.mark.parametrize("options", [{"ngram": 2}, {"char_ngrams": (2, 3)}])
def test_vw_text_for_a_model_with_n_grams_of_texts_is_refused(options):
    features = Features(kinds={"about": "text"}, others="ignore", **options)
    with pytest.raises(DataError, match="the model has n-grams of texts, but vw data has single words"):
        read_batches([io.BytesIO(b"1 | about=a about=b\n")], Schema("csv", features=features, is_fixed=True))


@pytest.mark.parametrize("labels", [b"1", b"word"])
def test_vw_text_with_no_feature_of_the_table_is_refused(labels):
    schema = Schema("csv", features=Features(kinds={"n": "numeric", "l": "ignore"}, others="ignore"), is_fixed=True)
    _, batches = read_batches([io.BytesIO(labels + b" |words some more | l=x\n")], schema)
    with pytest.raises(DataError, match=r"lines must have keys of the training data; missing: 'n'; new: 'words\^some'"):
        next(batches)


@pytest.mark.parametrize("format", ["vw", "jsonl"])
def test_a_model_of_a_table_predicts_and_continues_with_converted_data(format, tmp_path, capsys):
    table = tmp_path / "t.csv"
    rows = [(i * 7 % 11 / 4, "abc"[i % 3], "xy"[i * 3 % 7 > 2]) for i in range(60)]
    table.write_text("n,c,label\n" + "".join(f"{n},{c},{label}\n" for n, c, label in rows))
    other, model = tmp_path / f"t.{format}", tmp_path / "m"

    def said(*arguments):
        assert run([*map(str, arguments), "-q"]) == 0
        return capsys.readouterr().out

    said("train", table, "-m", model)
    said("convert", table, "-o", other, *(["--interactions", "n:c"] if format == "jsonl" else []))
    expected = said("predict", model, table, "--scores")
    assert len({*expected.split()}) > 10
    assert said("predict", model, other, "--scores") == expected
    for path, name in ((table, "a"), (other, "b")):
        said("train", path, "--resume", model, "-m", tmp_path / name)
    assert said("predict", tmp_path / "a", table, "--scores") == said("predict", tmp_path / "b", table, "--scores")
