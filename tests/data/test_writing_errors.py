"""A format rejects what it cannot hold, and names formats that can."""

import bz2
import gc
import io
import lzma
import os
import sys
import zlib
from threading import Thread

import pytest

from scwlearn.data.io.decompress import import_zstd
from scwlearn.data.writing import write_batches
from table_text import exactly, made

X = {"x": 1.0}

DECODERS = [
    (".gz", lambda: zlib.decompressobj(wbits=31)),
    (".bz2", bz2.BZ2Decompressor),
    (".xz", lzma.LZMADecompressor),
    (".zst", lambda: import_zstd().ZstdDecompressor()),
]
REFUSED = [
    ([], "vw", {}, "no examples to write"),
    (
        [made([{"a b": 1.0}], [1])],
        "vw",
        {},
        "source, line 1: names in VW text have no space, colon, bar or control character; jsonl allows any name; found "
        "'a b'",
    ),
    *(
        (
            [made([X], [label])],
            "vw",
            {},
            "source, line 1: a label in VW text must be a number, or a word without space, colon, comma, bar and "
            f"control character; found {label!r}",
        )
        for label in ("a b", "1.5", "-INF", "a,b", "'t")
    ),
    (
        [made([X], [0], weights=[2], labelled=[False])],
        "vw",
        {},
        "source, line 1: in VW text only an example with a label can have a weight; found 2.0",
    ),
    (
        [made([X], [1], tags=["a|b"])],
        "vw",
        {},
        "source, line 1: a tag must not have a space, colon, bar or control character; found 'a|b'",
    ),
    (
        [made([{"a": 1.0}], [1])],
        "libsvm",
        {},
        "source: features in LIBSVM text are numbered; found 'a' "
        "(use names=... to number the features and write their names to a file)",
    ),
    (
        [made([{"0": 1.0}], [1])],
        "libsvm",
        {},
        "source: features in LIBSVM text are numbered; found '0' "
        "(use names=... to number the features and write their names to a file)",
    ),
    (
        [made([{"1": 1.0}], ["a"])],
        "libsvm",
        {},
        "source, line 1: labels in LIBSVM text must be numbers; vw, csv, tsv, jsonl, parquet and arrow allow "
        "strings; found 'a'",
    ),
    (
        [made([{"1": 1.0}], [1], weights=[2])],
        "libsvm",
        {},
        "source, line 1: LIBSVM text has no weights; vw, csv, tsv, jsonl, parquet and arrow have; found 2.0",
    ),
    (
        [made([{"1": 1.0}], [1], labelled=[False])],
        "libsvm",
        {},
        "source, line 1: every line of LIBSVM text needs a label; found none",
    ),
    (
        [made([{"label": 1.0}], [1])],
        "jsonl",
        {},
        "source, line 1: the feature 'label' has the name of the label or the weight "
        "(choose other keys with label=... and weight=...)",
    ),
    (
        [made([{"label": 1.0}], [1])],
        "csv",
        {},
        "the column 'label' has the name of the label or the weight (choose other names with label=... and weight=...)",
    ),
    (
        iter([made([X], [1])]),
        "csv",
        {},
        "batches is an iterator, but the columns of a table must be known before it is written; pass columns, or a "
        "list of batches",
    ),
    (
        [made([X], [1])],
        "csv",
        {"columns": {"y": "numeric"}},
        "source, line 1: the feature 'x' belongs to no column; the columns are 'y'",
    ),
    (
        [made([X], [1])],
        "csv",
        {"columns": {"x": "numeric", "k" * 257: "text"}},
        "source, line 1: the name of a categorical or text column must have at most 256 characters; found "
        f"'{'k' * 40}'...",
    ),
    (
        [made([{"c=a": 1.0, "c=b": 1.0}], [1])],
        "parquet",
        {"columns": {"c": "categorical"}},
        "source, line 1: the categorical column 'c' holds one string of value 1; found 'a' and 'b'",
    ),
    (
        [made([{"c=a": 2.0}], [1])],
        "csv",
        {"columns": {"c": "categorical"}},
        "source, line 1: the categorical column 'c' holds one string of value 1; found 'a' with value 2.0",
    ),
    (
        [made([{"t=a": 0.5}], [1])],
        "jsonl",
        {"columns": {"t": "text"}},
        "source, line 1: the text column 't' counts words; found 'a' with value 0.5",
    ),
    *(
        (
            [made([{f"t={word}": 1.0}], [1])],
            "csv",
            {"columns": {"t": "text"}},
            "source, line 1: in the column 't', words must be at most 100 letters, digits and _, in lower case; jsonl, "
            f"json, parquet and arrow allow any string; found {found}",
        )
        for word, found in (("New York", "['New York']"), ("a" * 101, f"['{'a' * 38}..."))
    ),
    (
        [made([{"c=": 1.0}], [1])],
        "csv",
        {"columns": {"c": "categorical"}},
        "source, line 1: a string in the column 'c' must not be empty, which means that it is missing, and must be "
        "valid Unicode; bools are in lower case; found nothing",
    ),
    (
        iter([made([X], None), made([X], [1])]),
        "csv",
        {"columns": {"x": "numeric"}},
        "source, line 1: these examples have labels, but the first ones had none; a table has one header",
    ),
    (
        [made([{str(i): 1.0 for i in range(10_001)}], [1])],
        "csv",
        {},
        "a table would have 10001 columns; at most 10000 are written; libsvm, vw and jsonl have no columns",
    ),
    ([made([X], [1])], "csv", {"names": "n"}, "names applies to libsvm, which has no names; csv has them"),
    (
        [made([X], [1])],
        "xlsx",
        {},
        "format must be one of arrow, csv, json, jsonl, libsvm, parquet, tsv, vw, got 'xlsx'",
    ),
]


@pytest.mark.parametrize(("given", "format", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_format_rejects_what_it_cannot_hold(given, format, options, message):
    with pytest.raises(ValueError, match=exactly(message)):
        write_batches(given, io.BytesIO(), format, **options)


def test_labels_that_change_their_kind_are_rejected():
    given = [made([X], [1]), made([X], ["a"])]
    for format in ("vw", "csv", "tsv", "jsonl", "json", "parquet", "arrow"):
        message = "source, line 1: all labels must be numbers, as the first ones are; found 'a'"
        with pytest.raises(ValueError, match=exactly(message)):
            write_batches(given, io.BytesIO(), format)
    given = [made([X], [1]), made([X, X], [2.0, 0.5])]
    message = "source, line 1: all labels must have the type int64, as the first ones have; found the type double"
    with pytest.raises(ValueError, match=exactly(message)):
        write_batches(iter(given), io.BytesIO(), "parquet", columns={"x": "numeric"})


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_an_open_file_stays_open_when_writing_fails(format):
    class Broken(Exception):
        pass

    file, sizes = io.BytesIO(), []

    def batches():
        yield made([X] * 1000, [1] * 1000)
        sizes.append(len(file.getvalue()))
        raise Broken

    with pytest.raises(Broken):
        write_batches(batches(), file, format, columns={"x": "numeric"})
    # The writers are gone after the error, and neither completed nor closed the file.
    gc.collect()
    assert not file.closed
    assert 0 < sizes[0] == len(file.getvalue())


@pytest.mark.parametrize(("ending", "decoder"), DECODERS)
def test_compressed_output_to_a_pipe_is_truncated_when_writing_fails(tmp_path, ending, decoder):
    class Broken(Exception):
        pass

    def batches():
        yield made([X] * 10_000, [*range(10_000)])
        raise Broken

    path, got = tmp_path / f"data.jsonl{ending}", []
    os.mkfifo(path)
    reader = Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    with pytest.raises(Broken):
        write_batches(batches(), path, "jsonl")
    gc.collect()
    reader.join()
    unpacked = decoder()
    unpacked.decompress(got[0])
    assert not unpacked.eof


def test_missing_zstd_is_reported_and_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, import_zstd().__name__, None)
    path = tmp_path / "data.vw.zst"
    message = f"{path}: zstd needs the package backports.zstd: pip install 'scwlearn[zstd]'"
    with pytest.raises(ValueError, match=exactly(message)):
        write_batches([made([X], [1])], path, "vw")
    assert not [*tmp_path.iterdir()]
