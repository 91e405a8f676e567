"""VW text: lines are read as a plain parser reads them, at any offset."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn._native import parse_vw
from scwlearn.data.batch import NamedRows
from scwlearn.data.features import Features
from scwlearn.data.io.errors import DataError, SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.schema import Schema
from table_text import Reading
from vw_text import examples, native, read, read_plainly

many = settings(max_examples=700, derandomize=True, deadline=None, database=None)

# The format


def features(line, **options):
    ((_, _, _, found, _),) = examples(line, **options)
    return found


@native
def test_a_line_has_label_weight_tag_and_features_in_namespaces():
    ((label, weight, tag, found, line),) = examples(
        b"1 2.5 'zebra |MetricFeatures:3.28 height:1.5 length:2.0 |Says black with white stripes "
        b"|OtherFeatures NumberOfLegs:4.0 HasStripes\n"
    )
    assert (label, weight, tag, line) == (1.0, 2.5, "zebra", 1)
    assert found == {
        "MetricFeatures^height": 1.5 * 3.28,
        "MetricFeatures^length": 2.0 * 3.28,
        "Says^black": 1.0,
        "Says^with": 1.0,
        "Says^white": 1.0,
        "Says^stripes": 1.0,
        "OtherFeatures^NumberOfLegs": 4.0,
        "OtherFeatures^HasStripes": 1.0,
    }


@native
def test_a_tag_touches_the_bar_or_starts_with_a_quote():
    for line, tag in (
        (b"1 zebra| a", "zebra"),
        (b"1 'zebra| a", "zebra"),
        (b"1 'zebra | a", "zebra"),
        (b"1 1 zebra| a", "zebra"),
        (b"1 1 'zebra\t| a", "zebra"),
        (b"1 '| a", ""),
        (b"1 ''x' | a", "'x'"),
        (b"1 a:b,c| a", "a:b,c"),
        (b"1 \xc3\xa4| a", "ä"),
    ):
        assert [example[:3] for example in examples(line)] == [(1.0, 1.0, tag)]
    ((label, _, tag, _, _),) = examples(b"1| a", labels="optional")
    assert (label, tag) == (None, "1")


@native
def test_names_and_namespaces():
    assert features(b"1 | a b:2 |  c") == {"a": 1, "b": 2, "c": 1}
    assert features(b"1 |n a|m a:3\t b |n c") == {"n^a": 1, "m^a": 3, "m^b": 1, "n^c": 1}
    assert features(b"1 |n:2 a |n a") == {"n^a": 3}
    assert features(b"1 |n a:1 b a:2.5 b:-1 a") == {"n^a": 4.5}
    assert features(b"1 |\xc3\xa4 \xe2\x82\xac:2") == {"ä^€": 2}
    assert features(b"1 |n:0.5 a:4|m|k") == {"n^a": 2}
    assert features(b"1 |") == features(b"1 ||") == features(b"1 |n") == features(b"1 |n:3 |m") == {}
    assert features(b"1 |n ' #:2 {} a=b") == {"n^'": 1, "n^#": 2, "n^{}": 1, "n^a=b": 1}


@native
def test_two_spellings_of_one_name_are_one_feature():
    (batch,) = read(b"1 |a b:2 c\n2 | a^b:3 c ^b a^\n3 |a b b^c | a^b:5 a^b^c:2\n")
    assert batch.x.names == ["a^b", "a^c", "c", "^b", "a^", "a^b^c"]
    assert batch.x.rows.dense().tolist() == [[2, 1, 0, 0, 0, 0], [3, 0, 1, 1, 1, 0], [6, 0, 0, 0, 0, 3]]


@native
def test_namespaces_can_be_ignored():
    assert features(b"1 |n a |m b | c |nn d", ignore=["n", ""]) == {"m^b": 1, "nn^d": 1}
    (batch,) = read(b"1 |n a |m b\n", ignore=["n"])
    assert batch.x.names == ["m^b"]
    with pytest.raises(ValueError, match="line 1, column 8: a value"):
        read(b"1 |n a:0.5x |m b", ignore=["n"])


@native
def test_labels_are_numbers_or_words():
    (batch,) = read(b"1 | a\n-2.5 | a\n1e2 | a")
    assert batch.labels.tolist() == [1, -2.5, 100]
    assert batch.labels.dtype == np.float64
    (batch,) = read("spam | a\nham | b\nspam | a\n3x | a\n世界 | b".encode())
    assert batch.labels.tolist() == ["spam", "ham", "spam", "3x", "世界"]


@native
def test_labels_may_be_missing_if_they_are_optional():
    (batch,) = read(b"| a\n1 | b\n'tag | c\ntag| d\n", labels="optional")
    assert batch.labelled.tolist() == [False, True, False, False]
    assert batch.labels[1] == 1
    assert batch.tags == ["", "", "tag", "tag"]
    (batch,) = read(b"| a\nx | b\n", labels="optional")
    assert (batch.labelled.tolist(), batch.labels[1]) == ([False, True], "x")
    (batch,) = read(b"| a\n| b\n", labels="optional")
    assert batch.labels is batch.labelled is None
    (batch,) = read(b"1 | a\n2 | b\n", labels="optional")
    assert (batch.labels.tolist(), batch.labelled) == ([1, 2], None)


@native
def test_missing_labels_weights_and_tags_are_none():
    (batch,) = read(b"1 | a\n")
    assert (batch.weights, batch.tags, batch.labelled, batch.source) == (None, None, None, "the file")
    (batch,) = read(b"1 0 | a\n2 t| b\n")
    assert (batch.weights.tolist(), batch.tags) == ([0, 1], ["", "t"])


@native
def test_blank_lines_are_ignored_and_lines_counted_over_all_chunks():
    text = b"\n1 | a\r\n\r\n \t\n2 | b\n\n3 | c\n" * 3
    whole = examples(text)
    assert [line for *_, line in whole] == [2, 5, 7, 9, 12, 14, 16, 19, 21]
    for chunk_bytes in range(1, len(text) + 2):
        for ending in (b"", b"\n", b"\n\n"):
            assert examples(text.rstrip() + ending, chunk_bytes=chunk_bytes, read_ahead=chunk_bytes % 2 == 0) == whole


# Against the plain parser

PIECES = [*"1|2 \t\n'^:,.-+e#ä€", "1 |", "\n1 |n", "\nx |", " a", " b:2", ":0.5", " a^b", "|n", "|m:2", "\r\n", "\r"]
PIECES += ["nan", "inf", "1e150", "1e200", "-3", "\0", "\x7f", " long_name_of_a_feature", " long_name_of_another", " |"]
BYTES = [piece.encode() for piece in PIECES] + [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\x80"]


def assert_read_plainly(text, optional, ignore=()):
    expected, faulty = read_plainly(text, optional=optional, ignore=ignore)
    options = {"labels": "optional" if optional else "required", "ignore": ignore, "read_ahead": False}
    if not expected:
        with pytest.raises(ValueError, match="no examples"):
            read(text, on_error="skip", **options)
        return
    faults = SkippedRecords()
    found = examples(text, on_error="skip", skipped=faults, **options)
    assert repr(found) == repr(ordered(expected, found))
    assert faults.count == faulty
    if faulty:
        with pytest.raises(ValueError, match=r"^the file, line \d+, column \d+: "):
            read(text, **options)
    else:
        assert examples(text, **options) == found


def ordered(expected, found):
    """Return the expected examples, with the features in the order in which they were read, if they are equal."""
    in_order = []
    for (*head, features, line), (*_, others, _) in zip(expected, found, strict=True):
        assert features.keys() == others.keys()
        in_order.append((*head, {name: features[name] for name in others}, line))
    return in_order


@pytest.mark.slow
@native
@many
@given(st.lists(st.sampled_from(BYTES), max_size=40).map(b"".join), st.booleans(), st.sampled_from([(), ("n",), ("",)]))
def test_any_text_is_read_as_the_plain_parser_reads_it(text, optional, ignore):
    if not text.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        assert_read_plainly(text, optional, ignore)


WORDS = st.text("ab^'#,=äß€世\U0001f600", min_size=1, max_size=20)
VALUES = st.one_of(st.just(""), st.floats(-1e6, 1e6).map(lambda value: f":{value!r}"))
FEATURES = st.lists(st.builds("".join, st.tuples(WORDS, VALUES)), max_size=5).map(" ".join)
SPACES = st.one_of(st.just(""), st.builds(lambda name, scale: name.replace("^", "") + scale, WORDS, VALUES))
PARTS = st.builds("|{} {}".format, SPACES.filter(lambda space: not space.startswith(":")), FEATURES)
LINES = st.lists(PARTS, min_size=1, max_size=3).map(lambda parts: "1 " + " ".join(parts))


@native
@settings(many, max_examples=200)
@given(st.lists(LINES, min_size=1, max_size=3))
def test_sound_lines_are_read_as_the_plain_parser_reads_them(lines):
    text = "\n".join(lines).encode()
    assert read_plainly(text)[1] == 0
    assert_read_plainly(text, False)


@pytest.mark.slow
@native
def test_any_byte_at_any_place_is_read_as_the_plain_parser_reads_it():
    text = b"-1 2 't |n:2 a:1.5 b\n3 | a^b"
    for at in range(len(text)):
        for byte in range(256):
            assert_read_plainly(text[:at] + bytes([byte]) + text[at + 1 :], optional=byte % 2 == 0)


@native
def test_a_text_is_read_to_its_end_and_no_further():
    # Under the sanitizers, where memory ends with the array.
    text = b"-1 2 'tag |n:2 a:1.5 b |m c^d long_name_of_a_feature:12345678.12345678e-12\r\n1 |n:x\n1 |\n1 1 1 t|\n|\n"
    spec = Features(kinds={"m": "ignore"}).spec()
    for start in range(len(text)):
        exact = np.frombuffer(text[start:], dtype=np.uint8).copy()
        assert parse_vw(exact, spec, False, True, True, 9)[5] == (text[start:].count(b"\n"), 0)
    with pytest.raises(ValueError, match="must end with a newline"):
        parse_vw(np.frombuffer(b"1 | a", dtype=np.uint8), spec, False, True, True, 9)


def test_lines_without_a_label_are_left_out_as_vw_does():
    text = b"1 | a\n| b\n'tag |n c\n \t| d:x\n-1 | e\n"
    skipped = SkippedRecords()
    assert [example[3:] for example in examples(text, skipped=skipped)] == [({"a": 1}, 1), ({"e": 1}, 5)]
    assert (skipped.count, skipped.unlabelled) == (0, 3)
    with pytest.raises(ValueError, match=r"^the file: no examples; a line is label \|namespace name:value"):
        read(b"| a\n| b\n")


def vw_features(line, **declared):
    (batch,) = Reading(io.BytesIO(line), Schema("vw", features=Features(**declared)))
    return next(batch.x.dicts())


@native
def test_n_grams_are_those_of_the_names_of_a_namespace():
    line = b"1 |n a b:3 c |m a\n"
    grams = {"n^a": 1, "n^b": 3, "n^c": 1, "n^a b": 1, "n^b c": 1, "m^a": 1}
    assert vw_features(line, ngram=2) == grams
    assert vw_features(line, ngram=3, skips=1) == grams | {"n^a c": 1, "n^a b c": 1}


@native
def test_interactions_cross_namespaces():
    line = b"1 |n a b:3 |m:2 c |long d | e\n"
    plain = {"n^a": 1, "n^b": 3, "m^c": 2, "long^d": 1, "e": 1}
    assert vw_features(line, interactions=["n:m"]) == plain | {"n^a*m^c": 2, "n^b*m^c": 6}
    assert vw_features(line, interactions=["n:n", "n:m:long"]) == plain | {
        "n^a*n^b": 3,
        "n^b*n^b": 9,
        "n^a*m^c*long^d": 2,
        "n^b*m^c*long^d": 6,
    }
    assert vw_features(b"1 |n a |m b | c\n", interactions=["m:*"]) == {
        "n^a": 1,
        "m^b": 1,
        "c": 1,
        "m^b*n^a": 1,
        "m^b*c": 1,
    }
    # A dict with the same names means the same.
    features = Features(interactions=["n:m"])
    assert vw_features(line, interactions=["n:m"]) == features.read(plain)


@native
def test_many_names_keep_their_numbers_while_the_table_grows():
    rng = np.random.default_rng(5)
    lines, expected = [], []
    for i in range(3000):
        names = [f"{'x' * (i % 40)}{n}" for n in rng.integers(0, 20000, 10)]
        # Every third line is at fault at its end, when its names have been taken in.
        lines.append(f"{i} |s{i % 3} " + " ".join(names) + " b:x" * (i % 3 == 2))
        if i % 3 != 2:
            expected.append({f"s{i % 3}^{name}": float(names.count(name)) for name in names})
    text = "\n".join(lines).encode()
    assert [example[3] for example in examples(text, on_error="skip")] == expected
    (batch,) = read(text, on_error="skip")
    assert isinstance(batch.x, NamedRows)
    assert sorted(batch.x.names) == sorted({name for row in expected for name in row})


def test_an_eager_reader_yields_the_lines_of_a_pipe_at_once():
    reader, writer = os.pipe()
    with open(reader, "rb") as file, open(writer, "wb", buffering=0) as into:
        batches = Reading(file, Schema("vw"), ReaderOptions(eager=True))
        for line, names in ((b"1 | a\n", ["a"]), (b"1 | b\n1 | c\n1 |", ["b", "c"]), (b" d\n", ["d"])):
            into.write(line)
            assert next(batches).x.names == names
        batches.close()


def test_ctrl_c_ends_a_program_that_waits_for_standard_input():
    program = """if True:
        from scwlearn.data.options import ReaderOptions
        from scwlearn.data.reading import read_batches
        for batch in read_batches(["-"], options=ReaderOptions(eager=True))[1]:
            print(len(batch), flush=True)
    """
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:
        process.stdin.write(b"1 | a\n2 | b\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"2\n"
        process.send_signal(2)
        assert process.wait(60) == -2
        assert process.stderr.read().endswith(b"KeyboardInterrupt\n")


def test_a_source_must_be_a_file():
    with pytest.raises(TypeError, match="text mode"):
        Reading(io.StringIO("1 | a"), Schema("vw"))


def test_batches_with_string_labels_are_bounded(monkeypatch):
    text = b"".join(b"%s | x:%d\n" % (b"spam" if i % 3 else b"ham", i) for i in range(7)) + b"| x:7\n"
    whole = examples(text, labels="optional")
    monkeypatch.setattr("scwlearn.data.records._MAX_ROWS_WITH_STRINGS", 3)
    assert [len(batch) for batch in read(text, labels="optional")] == [3, 3, 2]
    assert examples(text, labels="optional") == whole


@pytest.mark.slow
def test_interactions_do_not_make_batches_too_large():
    line = "1 |a " + " ".join(f"x{i}" for i in range(150)) + " |b " + " ".join(f"y{i}" for i in range(150)) + "\n"
    text = (line * 3500).encode()  # 79 million interactions
    rows = 0
    for batch in Reading(io.BytesIO(text), Schema("vw", features=Features(interactions=["a:b"])), ReaderOptions()):
        assert batch.x.rows.stored == len(batch) * (300 + 150 * 150)
        rows += len(batch)
        del batch
    assert rows == 3500


@pytest.mark.parametrize("chunk_bytes", [16, 2**20])
def test_lines_without_a_label_behind_an_error_are_not_counted(chunk_bytes):
    options = ReaderOptions(chunk_bytes=chunk_bytes)
    text = b"1 |a b\n |a b\n1 |a b:x\n" + b" |a b\n" * 100
    with pytest.raises(DataError, match="line 3"):
        list(read_batches([io.BytesIO(text)], options=options, format="vw")[1])
    assert options.skipped.unlabelled == 1
