"""CSV as it is found: delimiters, headers, labels by position, decimal commas, markers of missing values."""

import tracemalloc
from contextlib import contextmanager

import pytest

from scwlearn import Features
from scwlearn._util.json_fields import read_json
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.schema import Schema
from table_text import exactly, features, label_list, named


def read(text, **given):
    """The schema, and the features and label of each example, of a file that holds this text."""
    schema, batches = read_batches([named(text if isinstance(text, bytes) else text.encode())], **given)
    return schema, [pair for batch in batches for pair in zip(features(batch), label_list(batch), strict=True)]


def refused(message, text, **given):
    with pytest.raises(ValueError, match=exactly(message)):
        read(text, **given)


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_the_delimiter_is_found(delimiter):
    text = 'size,color,label\n1,"a;b,c|d\te",yes\n2,x,no\n'.replace(",", delimiter).replace(f"b{delimiter}c", "b,c")
    schema, examples = read(text, format="csv")
    assert schema.delimiter == delimiter
    assert examples == [({"size": 1, "color=a;b,c|d\te": 1}, "yes"), ({"size": 2, "color=x": 1}, "no")]
    assert read(text.replace("\n", "\r"), format="csv")[1] == examples


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("text,y\nhello; world,1\nno; yes,2\n", ","),  # the header shows it
        ("1,5;2,5\n1,5;2,7\n", ";"),  # and without one, what seldom occurs inside cells
        ("1;2|3\n2;3|4\n5|6\n", "|"),
        ("a b,c d\n1 2,3\n", ","),
        ('"a;b",c\n1,2\n', ","),
        ("a,b,c;d\n1,2\n", ","),  # if no delimiter fits all records, the one that splits the first most
        ("a\n1\n", ","),
        ("a;b", ";"),
        ("", ","),
    ],
)
def test_all_first_records_have_as_many_cells(text, delimiter):
    from scwlearn.data.tables.delimited import detect_delimiter

    assert detect_delimiter(text.encode()) == delimiter


def test_a_delimiter_may_be_any_character_that_no_number_has():
    examples = [({"a": 1.5, "b=x,y": 1}, 2)]
    # It says that the format is CSV.
    assert read("a:b:y\n1.5:x,y:2\n", delimiter=":")[1] == examples
    assert read("a b y\n1.5 x,y 2\n", delimiter=" ")[1] == examples
    assert read("a\tb\ty\n1.5\tx,y\t2\n", delimiter="\t")[1] == examples
    assert read("a\x01b\x01y\n1.5\x01x,y\x012\n", delimiter="\x01")[1] == examples
    for wrong in ("", "ab", "1", "x", '"', ".", "-", "\n", "é", 7):
        expected = "delimiter must be one ASCII character that is not a letter, digit, quote, point or sign, got "
        with pytest.raises(ValueError, match=exactly(expected + repr(wrong))):
            read("a,y\n1,2\n", delimiter=wrong)
    refused(
        "data.csv: an option that does not apply to tsv data (remove delimiter=...; this format takes label=..., "
        "weight=..., features=..., header=True)",
        "a\ty\n1\t2\n",
        delimiter=";",
        format="tsv",
    )


ADVICE = " (use header=False if the first line is a record, or header=True if it names the columns)"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", "5.1"),
        ("\n5.1,3.5,setosa\n", "5.1"),
        ("a;1,5\nb;2,5\n", "1,5"),
        ("tcp,http,normal\nudp,smtp,smurf\ntcp,http,smurf\n", "tcp"),
        ("y,2019,2020\n1,2,3\n", "2019"),
    ],
)
def test_a_header_that_looks_like_a_record_is_refused(text, found):
    line = 2 if text.startswith("\n") else 1
    refused(
        f"data.csv, line {line}: the first line looks like a record, not like the names of columns; found '{found}'"
        + ADVICE,
        text,
    )


def test_names_that_count_are_no_record():
    assert read("0,1,label\n5,6,x\n7,8,x\n", header=True)[1][0] == ({"0": 5, "1": 6}, "x")
    assert read("0,1,2\n5,6,7\n", label="2")[1] == [({"0": 5, "1": 6}, 7)]
    assert read("1,2,3\n5,6,7\n", label="1")[1] == [({"2": 6, "3": 7}, 5)]


def test_without_a_header_columns_are_called_by_their_positions():
    text = "5.1,red,yes\n4.9,blue,no\n"
    for label in ("3", "-1"):
        schema, examples = read(text, header=False, label=label)
        assert (schema.header, schema.label) == (False, "3")
        assert examples == [({"1": 5.1, "2=red": 1}, "yes"), ({"1": 4.9, "2=blue": 1}, "no")]
    refused(
        "data.csv: no label column '4'; the columns are '1', '2', '3'",
        text,
        header=False,
        label="4",
    )
    refused(
        "data.csv, line 2: a record must have 3 cells, as the first one has; found 2 "
        '(quote cells that contain the delimiter, or leave such records out with on_error="skip")',
        "1,2,3\n1,2\n",
        header=False,
        label="3",
    )
    refused("data.csv: no examples; a table has a line for each record", "\n", format="csv", header=False)


@pytest.mark.parametrize("header", [None, True])
def test_the_label_is_found_regardless_of_case_or_by_position(header):
    text = "Size,Color,Kind\n1,red,a\n"
    for label in ("Kind", "kind", "KIND", "3", "-1"):
        assert read(text, label=label, header=header)[0].label == "Kind"
    assert read(text, label="-1", weight="SIZE", header=header)[0].weight == "Size"
    assert read("a,CLASS\n1,2\n")[0].label == "CLASS"
    # A name comes before a position, and the same case before another.
    assert read("x,3,y\n1,2,3\n", label="3", header=True)[0].label == "3"
    assert read("Y,y,x\n1,2,3\n", label="y")[0].label == "y"
    for label in ("0", "4", "-4", "kinds"):
        refused(
            f"data.csv: no label column '{label}'; the columns are 'Size', 'Color', 'Kind'",
            text,
            label=label,
            header=True,
        )
    refused("data.csv: no label column 'ab'; the columns are 'aB', 'Ab', 'x'", "aB,Ab,x\n1,2,3\n", label="ab")
    refused("data.csv: 'w' cannot be both the label and the weight", "a,w\n1,2\n", label="-1", weight="W")


def test_numbers_may_have_a_decimal_comma():
    text = "size;label\n1,5;yes\n-2,25e1;no\n;no\n"
    schema, examples = read(text, features=Features(decimal=","))
    assert schema.features.decimal == ","
    assert examples == [({"size": 1.5}, "yes"), ({"size": -22.5}, "no"), ({}, "no")]
    refused(
        "data.csv: column 'size' has numbers with a comma; found '1,5' (use decimal=\",\" if it is a decimal comma, or "
        'name the column in kinds={...: "categorical"})',
        text,
    )


def test_marks_of_missing_values():
    text = "a,b,label\nNA,NA,x\n-999,-999,y\nunknown,2,x\n4,c,unknown\n"
    marks = Features(missing=["-999", "unknown"], kinds={"b": "categorical"})
    optional = ReaderOptions(labels="optional")
    assert read(text, features=marks, options=optional)[1] == [
        ({"b=NA": 1}, "x"),
        ({}, "y"),
        ({"b=2": 1}, "x"),
        ({"a": 4, "b=c": 1}, None),
    ]
    refused("data.csv, line 5, column 'label': a record needs a label; found 'unknown'", text, features=marks)


def test_a_model_reads_later_tables_in_the_same_way():
    schema, _ = read("5,1;3,5;yes\n4,9;?;no\n", header=False, label="-1", features=Features(decimal=","))
    saved = read_json(Schema, schema.to_json()).fixed(read_json(Features, schema.features.to_json()))
    assert saved == schema
    assert saved.to_json() == {
        "format": "csv",
        "label": "3",
        "label_kind": "categorical",
        "header": False,
        "delimiter": ";",
    }
    options = ReaderOptions(labels="optional")
    expected = [({"1": 1.5, "2": 2}, None)]
    # One record does not show what its commas are.
    assert read("1,5;2;\n", schema=saved, options=options)[1] == expected
    assert read("1,5|2|\n", schema=saved, options=options, delimiter="|")[1] == expected
    assert read("2;1;3\n2;1,5;\n", schema=saved, options=options, header=True)[1] == expected
    with pytest.raises(ValueError, match=r"\Athe model determines how data is read \(remove label=...\)\Z"):
        read("1;2;3\n", schema=saved, label="1", delimiter="|")


def test_a_later_table_may_have_another_delimiter():
    schema, _ = read("a;b;label\n1;2;x\n")
    assert read("b,a,label\n1,2,x\n", schema=schema)[1] == [({"b": 1, "a": 2}, "x")]
    assert read("b\ta\tLABEL\n1\t2\tx\n", schema=schema)[1] == [({"b": 1, "a": 2}, "x")]


def test_a_table_that_does_not_fit_is_refused_with_what_is_missing_and_new():
    schema, _ = read("a,b,c,label\n1,2,x,y\n2,3,z,y\n")
    start = "data.csv: a table must have the columns of the training data; missing: "
    refused(f"{start}'b', 'c'; new: 'd', 'e'", "d,e,a,label\n1,2,3,y\n", schema=schema)
    refused(f"{start}'c', 'label'", "a,b\n1,2\n", schema=schema)
    refused("data.csv: no label column 'label'; the columns are 'a', 'b', 'c'", "a,b,c\n1,2,x\n", schema=schema)
    # The label may be missing where it is not needed, and new columns are left out.
    optional = ReaderOptions(labels="optional")
    assert read("new,c,b,a\n7,x,5,6\n", schema=schema, options=optional)[1] == [({"c=x": 1, "b": 5, "a": 6}, None)]
    refused(f"{start}'b'; new: 'B'", "a,B,c\n1,2,x\n", schema=schema, options=optional)


@contextmanager
def peak():
    """Yields a function that returns how many bytes have been taken at most; native memory does not count."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("header", [True, False])
def test_very_many_columns_take_memory_in_proportion(header):
    names = ",".join(f"c{i}" for i in range(50_000)).encode() + b",y\n"
    file = named(names * header + b"".join(b"1,x,,,%d," % i * 10_000 + b"%d\n" % i for i in range(3)))
    with peak() as taken:
        rows = sum(len(batch) for batch in read_batches([file], header=header, label="-1")[1])
        assert rows == 3
        assert 50_000 * 50 < taken() < 50_000 * 1500


@pytest.mark.parametrize("start", [b"a,y\n1,2\n", b'a,y\n1,2\n"', b'"', b""])
def test_a_huge_cell_or_an_open_quote_takes_bounded_memory(start):
    options = ReaderOptions(max_record_bytes=2**20, chunk_bytes=2**16)
    file = named(start + b"word, " * 2_000_000)
    with peak() as taken:
        with pytest.raises(ValueError, match="a record has at most 1048576 bytes; is a quote not closed"):
            [*read_batches([file], options=options, format="csv")[1]]
        assert 2**16 < taken() < 8 * 2**20


@pytest.mark.parametrize("text", [b"y,label,x\n1,2,3\n", b'{"y": 1, "label": 2, "x": 3}\n'])
def test_an_ignored_column_is_not_the_label(text):
    schema, examples = read(text, features=Features(kinds={"y": "ignore"}))
    assert schema.label == "label"
    assert examples == [({"x": 3}, 2)]
