"""What is read depends on the bytes of a stream only, not on when they arrive."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scwlearn.data.features import PLAIN
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from table_text import features, label_list

BARS = b"age group|label\n" + b"old|0\nyoung|1\n" * 9
MANY = b"group (old;young),n,label\n" + b"a,1,0\nb;c,2,1\n" * 9
PRICES = b"time\tprice|usd\tlabel\n" + b"1\t2\t0\n2\t3\t1\n" * 9
NUMBERS = b"size\n" + b"1\n2\n" * 9
# Tables, and what may follow them.
TABLES = {
    "bars": (BARS, [BARS, BARS[:32], BARS[:22] + b'"a|b"|1\nold|0\n', b"label,age group\n1,old\n", b"1 |age a\n"]),
    "delimiters": (MANY, [MANY, MANY[:60], b"n;x,y;group (old;young)\n1;2;3\n", b"n|group (old;young)\n1|2\n"]),
    "bars in tabs": (PRICES, [PRICES, PRICES[:40], b"price|usd\ttime\n1\t2\n"]),
    "one column": (b"size,label\n1,0\n2,1\n", [NUMBERS, b"1 | size:2\n2 | size:3\n", b'{"size": 2}\n[1]\n']),
    "unknown first": (
        b"size,kind,label\n1,a,0\n2,b,1\n",
        [
            b'{}\n{"x": 2}\n{"x": 3, "kind": "a"}\n{"size": 2}\n',
            b'[{}, {"x": 2},\n{"x": 3, "kind": "a"}, {"size": 2}]\n',
            b"1 |\n1 |other a\n1 | kind=a\n1 | size:2\n",
            b"1 |\n1 |other a\n",
            b'{"x": 1}\n{}\n',
        ],
    ),
}
STREAMS = [(name, text) for name, (_, later) in TABLES.items() for text in later]
ALONE = [
    BARS,
    MANY,
    PRICES,
    b"spam tag|a b\nham|c d|e\n",
    b"spam tag|a b\nham tag|c d\n",
    b"# a\n1\n1 1:1\n",
    b"\n\n1 |a\n",
]


class Pieces(io.RawIOBase):
    """A stream whose bytes arrive in pieces."""

    name = "the stream"

    def __init__(self, text, cuts):
        ends = sorted({cut % (len(text) + 1) for cut in cuts} | {len(text)})
        self.pieces = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False) if begin < end]

    def readable(self):
        return True

    def readinto(self, memory):
        piece = self.pieces.pop(0) if self.pieces else b""
        if len(piece) > len(memory):
            self.pieces.insert(0, piece[len(memory) :])
            piece = piece[: len(memory)]
        memory[: len(piece)] = piece
        return len(piece)


def outcome(text, cuts, **given):
    """The format, the examples, and the error that ends them."""
    found = []
    try:
        schema, batches = read_batches([Pieces(text, cuts)], **given)
        found.append(schema.format)
        for batch in batches:
            found += zip(features(batch), label_list(batch), batch.lines.tolist(), strict=True)
    except ValueError as error:
        found.append(str(error))
    return found


CUTS = st.lists(st.integers(0, 400), max_size=30)


@given(st.sampled_from(STREAMS), CUTS, st.sampled_from(["ignored", "optional"]))
def test_a_model_of_a_table_reads_the_same_whenever_bytes_arrive(stream, cuts, labels):
    name, text = stream
    schema, _ = read_batches([io.BytesIO(TABLES[name][0])])
    schema = schema.fixed(schema.features)
    options = ReaderOptions(labels=labels, eager=True, read_ahead=False)
    assert outcome(text, cuts, schema=schema, options=options) == outcome(text, [], schema=schema, options=options)


@given(st.sampled_from(ALONE), CUTS)
def test_detection_does_not_depend_on_when_bytes_arrive(text, cuts):
    assert outcome(text, cuts) == outcome(text, [])


def test_a_model_of_vw_text_reads_each_line_of_it_at_once():
    text = b"spam tag|a b\nham tag|c d\n"
    schema, _ = read_batches([io.BytesIO(text)], format="vw")
    stream = Pieces(text, [text.index(b"\n") + 1])
    options = ReaderOptions(labels="ignored", eager=True, read_ahead=False)
    read, batches = read_batches([stream], schema.fixed(schema.features), options)
    assert read.format == "vw"
    assert len(next(batches)) == 1
    assert len(stream.pieces) == 1


@pytest.mark.parametrize("name", TABLES)
def test_a_model_reads_each_record_of_its_own_table_at_once(name):
    text = TABLES[name][0]
    schema, _ = read_batches([io.BytesIO(text)])
    schema = schema.fixed(schema.features)
    ends = [place + 1 for place, char in enumerate(text) if char == ord("\n")]
    stream = Pieces(text, ends)
    _, batches = read_batches([stream], schema, ReaderOptions(labels="ignored", eager=True, read_ahead=False))
    for left in range(len(ends) - 2, -1, -1):
        assert len(next(batches)) == 1
        assert len(stream.pieces) == left


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (BARS, "csv"),
        (PRICES, "tsv"),
        (b"a b|c,label\n1,2\n", "csv"),
        (b'age group|label\nold|1\n"a|b"|0\n', "csv"),
        (b"spam tag|a b\nham tag|c d|e\n", "vw"),
    ],
)
def test_a_bar_after_words_separates_cells_unless_every_line_has_its_own_number_of_bars(text, format):
    assert outcome(text, [])[0] == format
    # A table may have a header of any length.
    assert outcome(text, [3, 20], options=ReaderOptions(on_error="skip"))[0] == format


def test_a_model_of_a_bar_table_reads_its_columns_wherever_they_are():
    schema, _ = read_batches([io.BytesIO(BARS)])
    schema = schema.fixed(schema.features)
    options = ReaderOptions(labels="ignored")
    expected = ["csv", ({"age group=old": 1.0}, None, 2)]
    for text in (b"age group|label\nold|\n", b"x|age group\n1|old\n", b'label|age group\n|old\n"a|b|c\n"|"x|y"\n'):
        assert outcome(text, [], schema=schema, options=options)[:2] == expected


def test_lines_without_a_feature_of_a_table_are_refused():
    schema, _ = read_batches([io.BytesIO(BARS)])
    assert outcome(b"1 |\n0 |\n", [], schema=schema.fixed(schema.features)) == [
        "vw",
        "the stream: lines must have keys of the training data; missing: 'age group' "
        "(use format=... if this is no VW text)",
    ]


WORDS = ["12", "13", "x", "", "0", "-1.5", "true", "1e3", "NA", "nan", "1e999", "2026-11-17", " 7"]


@given(st.lists(st.tuples(*[st.sampled_from(WORDS)] * 3), min_size=1, max_size=6), CUTS, st.data())
def test_a_model_of_records_reads_the_same_whenever_cells_arrive(rows, cuts, data):
    names = [f"{name}{end}" for name in "ab" for end in ("", "=x", "=12", ".weekday.sin")]
    known = data.draw(st.lists(st.sampled_from(names)))
    options = ReaderOptions(labels="ignored", eager=True, read_ahead=False, features=PLAIN, known_names=lambda: known)
    text = "\n".join(["a,b,c", *map(",".join, rows)]).encode()
    assert outcome(text, cuts, options=options) == outcome(text, [], options=options)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (["zip"], [{"zip": 12.0}, {}, {"zip": 13.0}]),
        (["zip=x"], [{"zip=12": 1.0}, {"zip=NA": 1.0}, {"zip=13": 1.0}]),
        (["zip", "zip=x"], [{"zip": 12.0}, {"zip=NA": 1.0}, {"zip": 13.0}]),
        (["zipper", "n*zip", 7], [{"zip": 12.0}, {"zip=NA": 1.0}, {"zip": 13.0}]),
    ],
)
def test_the_features_of_a_model_show_which_cells_are_numbers(known, expected):
    options = ReaderOptions(labels="ignored", features=PLAIN, known_names=lambda: known)
    found = outcome(b"zip,n\n12,1\nNA,1\n13,1\n", [], options=options, format="csv")
    assert [{k: v for k, v in row.items() if k != "n"} for row, _, _ in found[1:]] == expected


def test_a_model_of_dates_reads_dates_in_cells():
    known = ["sent", "sent.weekday.sin", "sent.weekday.cos"]
    options = ReaderOptions(labels="ignored", features=PLAIN, known_names=lambda: known)
    ((row, _, _),) = outcome(b"sent,n\n2026-11-17,1\n", [], options=options)[1:]
    assert "sent.weekday.sin" in row


@pytest.mark.parametrize("form", ["{}\n", "[{}]"])
@pytest.mark.parametrize("chunk_bytes", [100, 3000, 50_000, None])
def test_the_first_label_decides_however_late_it_is(form, chunk_bytes):
    # It is behind the records that are looked at first, and in another chunk than the next ones.
    labels = [None] * 1200 + ["a"] + [None] * 300 + [1, "b", 2] * 100
    records = [f'{{"x": {i}, "label": {json.dumps(label)}}}' for i, label in enumerate(labels)]
    text = form.replace("{}", ("\n" if form[0] == "{" else ",\n").join(records)).encode()
    options = ReaderOptions(labels="optional", on_error="skip", chunk_bytes=chunk_bytes)
    _, batches = read_batches([io.BytesIO(text)], options=options)
    read = [label for batch in batches for label in label_list(batch)]
    assert [label for label in read if label is not None] == ["a", *["b"] * 100]
    assert options.skipped.count == 200


ROWS = st.lists(
    st.dictionaries(st.sampled_from(["x", "y", "Class", "label"]), st.integers(1, 3)), min_size=1, max_size=6
)


@given(ROWS, CUTS, st.lists(st.sampled_from(["x", "y", "y=a", "Class", "label=b"])))
def test_a_feature_of_a_model_is_not_taken_for_the_label(rows, cuts, known):
    options = ReaderOptions(labels="ignored", eager=True, read_ahead=False, features=PLAIN, known_names=lambda: known)
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = outcome(text, cuts, options=options)
    assert [{name: row[name] for name in row if name in known} for row, _, _ in found[1:]] == [
        {name: value for name, value in row.items() if name in known} for row in rows
    ]
    table = "x,y\n" + "".join(f"{row.get('x', '')},{row.get('y', '')}\n" for row in rows)
    read = outcome(table.encode(), cuts, options=options)[1:]
    assert [row.get("y") for row, _, _ in read if "y" in known] == [row.get("y") for row in rows if "y" in known]
