"""Names, labels and strings with a meaning of their own are written so that they are read as they are, or refused."""

import io
import re

import numpy as np
import pytest

from scwlearn import Features
from scwlearn.data.batch import Batch
from scwlearn.data.formats import detect_format
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.writing import write_batches
from table_text import exactly, features, label_list, made

CELLS = ("csv", "tsv")
ALL = (*CELLS, "vw", "jsonl", "json", "parquet", "arrow")
TEXT = "a label must be a string of 1 to 256 characters, in valid Unicode and without NUL at the end; found "
OPTIONAL = ReaderOptions(labels="optional")
NUMBERS = (
    "the labels of CSV and TSV are read as numbers if the first ones look like numbers; all of them must then be a "
    "finite number of at most 1e+150 in magnitude, in its shortest form; jsonl, json, parquet and arrow allow any "
    "string"
)


def written(batches, format, **options):
    file = io.BytesIO()
    write_batches(batches, file, format, **options)
    return file.getvalue()


def read(text, **options):
    """Return the features and labels of a file whose format only its content shows."""
    schema, batches = read_batches([io.BytesIO(text)], **options)
    found = [*batches]
    return (
        schema.format,
        [row for batch in found for row in features(batch)],
        [label for batch in found for label in label_list(batch)],
    )


@pytest.mark.parametrize("format", CELLS)
@pytest.mark.parametrize("label", ["01", "-0", "1.0", "+1", "1e3", " 1", "1e400", "9007199254740993"])
def test_labels_that_would_become_other_numbers_are_refused_in_cells(format, label):
    batch = made([{"x": 1.0}, {"x": 2.0}], ["1", label])
    with pytest.raises(ValueError, match=exactly(f"source, line 2: {NUMBERS}; found {label!r}")):
        written([batch], format)
    for other in ("jsonl", "json", "parquet", "arrow"):
        assert read(written([batch], other))[2] == ["1", label]
    # Among other strings, they are strings.
    batch = made([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}], ["1", label, "a"])
    assert read(written([batch], format))[2] == ["1", label, "a"]


@pytest.mark.parametrize("format", CELLS)
def test_the_first_records_show_what_the_labels_of_cells_are(format):
    ones, rows = ["1"] * 1000, [{"x": 1.0}] * 1001
    assert read(written([made(rows, [*ones[1:], "a", "01"])], format))[2] == [*ones[1:], "a", "01"]
    for label in ("a", "01"):
        with pytest.raises(ValueError, match=exactly(f"source, line 1001: {NUMBERS}; found {label!r}")):
            written([made(rows, [*ones, label])], format)
    assert read(written([made(rows, [*ones, "2"])], format))[2] == [1] * 1000 + [2]
    # Long records show fewer of them.
    wide = made([{"x": 1.0, "s=" + "y" * 2000: 1.0}] * 400, ["1"] * 399 + ["a"])
    with pytest.raises(ValueError, match="are read as numbers if the first ones look like numbers"):
        written([wide], format, columns={"x": "numeric", "s": "categorical"})


@pytest.mark.parametrize("format", ALL)
@pytest.mark.parametrize(
    ("label", "problem"),
    [
        (
            "",
            TEXT,
        ),
        ("x" * 257, TEXT),
        ("\ud800", TEXT),
        (float("nan"), "a label must be a finite number of at most 1e+150 in magnitude; found nan"),
        (1e200, "a label must be a finite number of at most 1e+150 in magnitude; found 1e+200"),
        (2**53, "an integer label must be an integer below 2^53 in magnitude; found 9007199254740992"),
    ],
)
def test_labels_that_no_reader_takes_are_refused(format, label, problem):
    with pytest.raises(ValueError, match=f"^source, line 1: {problem.replace('+', '.').replace('^', '.')}"):
        written([made([{"x": 1.0}], [label])], format)


@pytest.mark.parametrize("format", ALL)
@pytest.mark.parametrize("weight", [float("nan"), -1.0, 1e101])
def test_weights_that_no_reader_takes_are_refused(format, weight):
    with pytest.raises(ValueError, match=r"^source, line 1: a weight must be 0 or a number from 1e-100 to 1e\+100"):
        written([made([{"x": 1.0}], [1], weights=[weight])], format)


@pytest.mark.parametrize("format", ["jsonl", "json", "parquet", "arrow"])
def test_bools_stay_bools_where_the_format_has_them(format):
    batch = made([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}], [True, False, True], labelled=[True, True, False])
    _, batches = read_batches([io.BytesIO(written([batch], format))], label="label", options=OPTIONAL)
    (found,) = batches
    assert found.labels.dtype == np.bool_
    assert label_list(found) == [True, False, None]


@pytest.mark.parametrize("format", CELLS)
@pytest.mark.parametrize(
    "text", ["a\rb", "a\nb", '"', 'a"b', "a,b", "a\tb", " a", "a ", "\ufeffa", "\x1d", "\u2028", "é"]
)
def test_cells_and_names_with_a_meaning_come_back(format, text):
    batch = made([{f"s={text}": 1.0, f"n{text}": 0.5}], [text])
    columns = {f"n{text}": "numeric", "s": "categorical"}
    kinds = Features(kinds=columns)
    # A line break in the header hides the format from detection, which looks at lines.
    given = {"format": format} if "\n" in text else {}
    assert read(written([batch], format, columns=columns), features=kinds, **given) == (
        format,
        [{f"s={text}": 1.0, f"n{text}": 0.5}],
        [text],
    )


@pytest.mark.parametrize("behind", ["=", "=1", "^", "^a", "~abc", ".weekday.sin"])
def test_a_name_that_would_be_left_out_with_the_label_or_the_weight_is_refused_or_comes_back(behind):
    for role in "label", "weight":
        rows = [{f"{role}{behind}": 2.0}, {f"{role}x": 3.0}]
        batch = made(rows, ["a", "b"], weights=[1.0, 2.0])
        for format in "jsonl", "json":
            message = (
                f"source, line 1: the feature '{role}{behind}' seems to belong to the key of the label or the weight"
            )
            with pytest.raises(ValueError, match=re.escape(message)):
                written([batch], format)
            text = written([batch], format, columns=dict.fromkeys([*rows[0], *rows[1]], "numeric"))
            features = Features(kinds=dict.fromkeys([*rows[0], *rows[1]], "numeric"))
            assert read(text, label="label", weight="weight", features=features)[1] == rows
        for format in "csv", "tsv", "parquet", "arrow":
            assert read(written([batch], format), label="label", weight="weight")[1] == rows


def test_a_byte_order_mark_at_the_start_of_the_first_name_or_label_is_kept():
    assert read(written([made([{"\ufeffx": 1.0, "z": 2.0}], [1])], "csv"))[1] == [{"\ufeffx": 1.0, "z": 2.0}]
    assert read(written([made([{"x": 1.0}], ["\ufeffa"])], "vw")) == ("vw", [{"x": 1.0}], ["\ufeffa"])


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "arrow"])
def test_names_with_nul_are_refused_in_tables(format):
    with pytest.raises(ValueError, match="the name of a column must be valid Unicode without NUL"):
        written([made([{"a\0b": 1.0}], [1])], format)
    assert read(written([made([{"a\0b": 1.0}], [1])], "jsonl"))[1] == [{"a\0b": 1.0}]


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_reader_refuses_columns_with_nul_in_their_names(format):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    file = io.BytesIO()
    table = pa.table({"label": [1, 2], "a\0b": [1.0, 2.0], "a\0c": [1.0, 2.0]})
    (parquet.write_table if format == "parquet" else feather.write_feather)(table, file)
    with pytest.raises(ValueError, match=r"the name of a column must not contain NUL; found 'a\\x00b'"):
        read(file.getvalue())


@pytest.mark.parametrize("format", ["jsonl", "json", "parquet", "arrow"])
@pytest.mark.parametrize("kind", ["categorical", "text"])
def test_strings_that_mean_a_missing_value_are_refused(format, kind):
    with pytest.raises(ValueError, match="a string in the column 'c' must not be empty"):
        written([made([{"c=": 1.0}], [1])], format, columns={"c": kind})


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_bools_in_upper_case_are_no_categories(format):
    with pytest.raises(ValueError, match="bools are in lower case; found 'True'"):
        written([made([{"c=True": 1.0}], [1])], format, columns={"c": "categorical"})


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "json"])
def test_a_text_of_very_many_words_is_refused(format):
    with pytest.raises(ValueError, match=r"the text column 't' counts words; found 'a' with value 1e\+150"):
        written([made([{"t=a": 1e150}], [1])], format, columns={"t": "text"})


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "arrow"])
def test_a_table_without_columns_is_refused(format):
    with pytest.raises(ValueError, match="examples without labels, weights and features; a table needs a column"):
        written([made([{}], None)], format)


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "arrow", "jsonl", "json"])
def test_batches_without_labels_and_weights_may_be_among_those_with_them(format):
    batches = [made([{"x": 1.0}], ["a"], weights=[2.0]), made([{"x": 2.0}], None)]
    for given in batches, batches[::-1]:
        text = written(given, format)
        _, read = read_batches([io.BytesIO(text)], label="label", weight="weight", options=OPTIONAL)
        found = Batch.concatenate([*read])
        assert {*zip(label_list(found), found.weights.tolist(), strict=True)} == {("a", 2.0), (None, 1.0)}
    with pytest.raises(ValueError, match="but the first ones had none"):
        written(iter(batches[::-1]), format, columns={"x": "numeric"})


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow", "jsonl"])
def test_labels_that_are_all_missing_are_written(format):
    batches = [made([{"x": 1.0}], None), made([{"x": 2.0}], [1], labelled=[False])]
    for given in batches, batches[1:]:
        text = written(given, format)
        _, found = read_batches([io.BytesIO(text)], label="label", options=OPTIONAL)
        assert [label for batch in found for label in label_list(batch)] == [None] * len(given)


@pytest.mark.parametrize("format", CELLS)
@pytest.mark.parametrize("labels", [["NA", "a"], ["01", "a"]])
def test_batches_without_labels_count_among_the_records_that_show_what_labels_are(format, labels):
    empty = made([{"x": 1.0}] * 400, None)
    with pytest.raises(ValueError, match="the labels of CSV and TSV are read as numbers"):
        written([empty] * 3 + [made([{"x": 1.0}] * 2, labels)], format)


@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl"])
def test_a_column_without_one_kind_is_not_written(format):
    batch = made([{"zip": 12.0, "a": 1.0}, {"zip=ab": 1.0}], ["x", "y"])
    message = "the column 'zip' must be numeric, categorical, text or date to be written, not auto"
    with pytest.raises(ValueError, match=exactly(message)):
        written([batch], format, columns={"zip": "auto", "a": "numeric"})
    text = written([made([{"a": 1.0}], ["x"])], format, columns={"zip": "ignore", "a": "numeric"})
    assert read(text, label="label")[1:] == ([{"a": 1.0}], ["x"])


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("labels", [(True, 2), (2, True), (1, 2.5), (2.5, 1), (True, 2.5), (None, 2), (None, "a")])
def test_the_type_of_labels_is_that_of_all_batches(format, labels):
    given = [
        made([{"x": 1.0}], np.array([0 if label is None else label]), labelled=[label is not None]) for label in labels
    ]
    found = Batch.concatenate([*read_batches([io.BytesIO(written(given, format))], label="label", options=OPTIONAL)[1]])
    assert label_list(found) == [*labels]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_the_label_and_the_weight_need_different_valid_names(format):
    with pytest.raises(ValueError, match="must have different names; found 'w'"):
        written([made([{"x": 1.0}], [1])], format, label="w", weight="w")
    with pytest.raises(ValueError, match=r"must be valid Unicode; found '\\ud800'"):
        written([made([{"x": 1.0}], [1])], format, label="\ud800")


def test_no_file_is_left_where_names_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="names are written one per line"):
        write_batches([made([{"a\nb": 1.0}], [1])], tmp_path / "x.svm", "libsvm", names=tmp_path / "names")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("line", "format"),
    [
        ('{"a":"x|y","b":1}', "jsonl"),
        ('[{"a":"x|y"}]', "json"),
        ("{ | a", "vw"),
        ("[[ | a", "vw"),
        ("{label: 1}", "jsonl"),
        ("[[1, 2]]", "json"),
        ("'a,b| x:1", "vw"),
        ("'a|x\n'b|y", "vw"),
        ("1 0.5 'a| x\nno 'b| x", "vw"),
        ("a|b|c\n1|2|3", "csv"),
        ('"a b|c",label\n1,2', "csv"),
        ('"a:1 |b"\t"label"\n1\t2', "tsv"),
        ('"yes"\t|a b', "vw"),
        ('"a"\n1', "csv"),
        ("a\x1db,label\n1,2", "csv"),
    ],
)
def test_the_first_line_shows_the_format_whatever_the_names_hold(line, format):
    assert detect_format(line.encode() + b"\n", "data") == format


def test_a_delimiter_in_quoted_cells_does_not_separate():
    table = b'"a","b|c","label"\nx,"y|z",1\nx,"|",2\n'
    assert read(table, features=Features(kinds={"a": "categorical", "b|c": "categorical"}))[1] == [
        {"a=x": 1.0, "b|c=y|z": 1.0},
        {"a=x": 1.0, "b|c=|": 1.0},
    ]


@pytest.mark.parametrize(
    "declared",
    [{"kinds": {"\ud800": "text"}}, {"separator": "\ud800"}, {"missing": ["\ud800"]}, {"interactions": ["a:\ud800"]}],
)
def test_declared_names_must_be_valid_unicode(declared):
    with pytest.raises(ValueError, match=r"must be valid Unicode, got '\\ud800'"):
        Features(**declared)


@pytest.mark.parametrize("mark", ["BZh91AY&SY", "PAR1", "ARROW1"])
@pytest.mark.parametrize("format", ["vw", "csv", "tsv"])
def test_the_first_name_or_label_may_be_the_mark_of_a_binary_file(mark, format):
    label = mark if format == "vw" else "a"
    text = written([made([{mark: 1.0, "x": 2.0}], [label])], format, label="z" if format != "vw" else "label")
    assert read(text, **({} if format == "vw" else {"label": "z"})) == (format, [{mark: 1.0, "x": 2.0}], [label])
