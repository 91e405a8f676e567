"""What a format cannot hold is refused, with what it is and what can hold it."""

import bz2
import gc
import io
import lzma
import os
import zlib
from threading import Thread

import pytest
import zstandard

from scwlearn.data.writing import write_examples
from table_text import exactly, made

X = {"x": 1.0}

DECODERS = [
    (".gz", lambda: zlib.decompressobj(wbits=31)),
    (".bz2", bz2.BZ2Decompressor),
    (".xz", lzma.LZMADecompressor),
    (".zst", lambda: zstandard.ZstdDecompressor().decompressobj()),
]
REFUSED = [
    ([], "vw", {}, "there are no examples to write"),
    (
        [made([{"a b": 1.0}], [1])],
        "vw",
        {},
        "source: a name in VW text has no space, colon or bar; found 'a b'; jsonl has any name",
    ),
    *(
        (
            [made([X], [label])],
            "vw",
            {},
            "source, line 1: a label in VW text is a number, or a word that is none, without space, colon, comma or "
            f"bar; found {label!r}",
        )
        for label in ("a b", "1.5", "-INF", "a,b", "'t", "")
    ),
    (
        [made([X], [0], weights=[2], labelled=[False])],
        "vw",
        {},
        "source, line 1: VW text has weights behind labels only; found 2.0",
    ),
    ([made([X], [1], tags=["a|b"])], "vw", {}, "source, line 1: a tag has no space, colon or bar; found 'a|b'"),
    (
        [made([{"a": 1.0}], [1])],
        "libsvm",
        {},
        "source: LIBSVM data have numbered features; found 'a' "
        "(number them, and write their names to a file, with names=...)",
    ),
    (
        [made([{"0": 1.0}], [1])],
        "libsvm",
        {},
        "source: LIBSVM data have numbered features; found '0' "
        "(number them, and write their names to a file, with names=...)",
    ),
    (
        [made([{"1": 1.0}], ["a"])],
        "libsvm",
        {},
        "source, line 1: labels of LIBSVM data are numbers; found 'a'; vw, csv, tsv, jsonl, parquet and arrow have any",
    ),
    (
        [made([{"1": 1.0}], [1], weights=[2])],
        "libsvm",
        {},
        "source, line 1: LIBSVM data have no place for weights; found 2.0; vw, csv, tsv, jsonl, parquet and arrow have",
    ),
    (
        [made([{"1": 1.0}], [1], labelled=[False])],
        "libsvm",
        {},
        "source, line 1: LIBSVM data have a label in each line; found none",
    ),
    (
        [made([{"label": 1.0}], [1])],
        "jsonl",
        {},
        "source, line 1: a feature is called 'label', as the label or the weight is to be "
        "(choose other keys with label=... and weight=...)",
    ),
    (
        [made([{"label": 1.0}], [1])],
        "csv",
        {},
        "a column is called 'label', as the label or the weight is to be "
        "(choose other names with label=... and weight=...)",
    ),
    (
        iter([made([X], [1])]),
        "csv",
        {},
        "the columns of a table come first, and are known when all examples have been read: pass columns=, or batches "
        "that can be gone through twice",
    ),
    (
        [made([X], [1])],
        "csv",
        {"columns": {"y": "numeric"}},
        "source, line 1: the feature 'x' belongs to no column; the columns are 'y'",
    ),
    (
        [made([{"c=a": 1.0, "c=b": 1.0}], [1])],
        "parquet",
        {"columns": {"c": "categorical"}},
        "source, line 1: the column 'c' holds one string that counts 1; found 'a' and 'b'",
    ),
    (
        [made([{"c=a": 2.0}], [1])],
        "csv",
        {"columns": {"c": "categorical"}},
        "source, line 1: the column 'c' holds one string that counts 1; found 'a' with 2.0",
    ),
    (
        [made([{"t=a": 0.5}], [1])],
        "jsonl",
        {"columns": {"t": "text"}},
        "source, line 1: the column 't' counts words; found 'a' with 0.5",
    ),
    (
        [made([{"t=New York": 1.0}], [1])],
        "csv",
        {"columns": {"t": "text"}},
        "source, line 1, column 't': words are plain, in lower case; found ['New York']; "
        "jsonl, parquet and arrow have any",
    ),
    (
        [made([{"c=": 1.0}], [1])],
        "csv",
        {"columns": {"c": "categorical"}},
        "source, line 1, column 'c': a cell is not empty and has no NUL; found ''; jsonl, parquet and arrow have any",
    ),
    (
        [made([X], [1]), made([X], None)],
        "csv",
        {},
        "source, line 1: the first examples have labels, these have none; a table has one header",
    ),
    (
        [made([{str(i): 1.0 for i in range(10_001)}], [1])],
        "csv",
        {},
        "the table would have 10001 columns, at most 10000 are written; "
        "libsvm, vw and jsonl have features without columns",
    ),
    ([made([X], [1])], "csv", {"names": "n"}, "names are written beside LIBSVM data, which have none; csv has them"),
    (
        [made([X], [1])],
        "xlsx",
        {},
        "format must be one of libsvm, vw, csv, tsv, jsonl, parquet, arrow, got 'xlsx'",
    ),
]


@pytest.mark.parametrize(("given", "format", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_a_format_cannot_hold_is_refused(given, format, options, message):
    with pytest.raises(ValueError, match=exactly(message)):
        write_examples(given, io.BytesIO(), format, **options)


def test_labels_that_change_their_kind_are_refused():
    given = [made([X], [1]), made([X], ["a"])]
    with pytest.raises(ValueError, match="source, line 1: all labels are of the type int64"):
        write_examples(given, io.BytesIO(), "parquet")


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_an_open_file_is_left_as_it_is_when_examples_break_off(format):
    class Broken(Exception):
        pass

    file, sizes = io.BytesIO(), []

    def batches():
        yield made([X] * 1000, [1] * 1000)
        sizes.append(len(file.getvalue()))
        raise Broken

    with pytest.raises(Broken):
        write_examples(batches(), file, format, columns={"x": "numeric"})
    # Those who wrote to it are gone with the error, and did not complete or close it on their way.
    gc.collect()
    assert not file.closed
    assert 0 < sizes[0] == len(file.getvalue())


@pytest.mark.parametrize(("ending", "decoder"), DECODERS)
def test_what_is_packed_into_a_pipe_does_not_look_whole_when_examples_break_off(tmp_path, ending, decoder):
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
        write_examples(batches(), path, "jsonl")
    gc.collect()
    reader.join()
    unpacked = decoder()
    unpacked.decompress(got[0])
    assert not unpacked.eof
