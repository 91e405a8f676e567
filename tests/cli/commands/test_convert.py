"""scwlearn convert: data to data, models to weights and back."""

import signal
import subprocess
import sys
import time

import pytest

from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.data.features import Features
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from use_examples import CSV, failed, written

TABLE = ["--label", "kind", "--text", "words"]


def converted(*arguments, code=0):
    assert run(["convert", *map(str, arguments)]) == code


def dicts(path, **options):
    _, batches = read_batches([str(path)], **options)
    found = []
    for batch in batches:
        rows = batch.x.dicts() if hasattr(batch.x, "dicts") else map(dict, map(enumerate, batch.x.dense().tolist()))
        found += zip(batch.labels.tolist(), rows, strict=True)
    return found


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow", "vw", "csv.gz", "jsonl.xz"])
def test_a_table_is_the_same_in_every_format(tmp_path, ending):
    data, out = written(tmp_path / "it.csv", CSV), tmp_path / f"out.{ending}"
    converted(data, "-o", out, *TABLE)
    features = Features(kinds={"words": "text"})
    expected = dicts(data, label="kind", features=features)
    told = {} if ending == "vw" else {"label": "kind", "features": features}
    assert dicts(out, **told) == expected


@pytest.mark.parametrize("ending", ["svm", "csv", "jsonl", "parquet"])
def test_numbered_features_come_back(tmp_path, ending):
    data, there, back = written(tmp_path / "it.svm", libsvm_text(50)), tmp_path / f"b.{ending}", tmp_path / "c.svm"
    converted(data, "-o", there)
    converted(there, "-o", back)
    assert dicts(back) == dicts(data)


def test_names_are_numbered_on_request(tmp_path, capsys):
    data, out = written(tmp_path / "it.csv", CSV.replace("yes", "1").replace("no\n", "2\n")), tmp_path / "out.svm"
    converted(data, "-o", out, *TABLE, code=1)
    assert "found 'size' (use --names to number the features" in capsys.readouterr().err
    assert not out.exists()
    converted(data, "-o", out, *TABLE, "--names", tmp_path / "names.txt")
    assert (tmp_path / "names.txt").read_text().splitlines()[:2] == ["size", "color=red"]
    assert out.read_text().splitlines()[0].startswith("1 1:1.5 2:1 ")


def test_a_pipe_is_converted_to_a_pipe(tmp_path):
    command = [sys.executable, "-m", "scwlearn.cli", "convert", "-", "-q", "-o", "-", "--to", "csv"]
    done = subprocess.run(command, input=b"1 1:2\n-1 3:0.5\n", capture_output=True, check=True)
    assert done.stdout == b"1,2,3,label\n2,,,1\n,,0.5,-1\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
def test_ctrl_c_leaves_the_old_file(tmp_path, ending):
    output = tmp_path / f"data.{ending}"
    output.write_bytes(b"before")
    command = [sys.executable, "-m", "scwlearn.cli", "convert", "-", "-f", "csv", "--label", "y", "-o", str(output)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    # More than is passed on at once; the pipe stays open.
    process.stdin.write(b"a,b,y\n" + b"1,2,x\n3,4,z\n" * 500_000)
    process.stdin.flush()
    until = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.glob(".*.tmp")):
        assert time.monotonic() < until, "nothing was written"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.decode().split()) == (130, ["scwlearn:", "interrupted"])
    assert [path.name for path in tmp_path.iterdir()] == [output.name]
    assert output.read_bytes() == b"before"


def test_invalid_lines_are_skipped_on_request(tmp_path, capsys):
    data, out = written(tmp_path / "it.svm", "1 1:2\nspam\n-1 3:1\n"), tmp_path / "out.svm"
    converted(data, "-o", out, code=1)
    assert not out.exists()
    converted(data, "-o", out, "--on-error", "skip")
    assert out.read_text() == "1 1:2\n-1 3:1\n"
    assert f"wrote 2 examples to {out}\nskipped 1 invalid example" in capsys.readouterr().err


COLUMNS = "the columns are 'size', 'color', 'words', 'kind'"
KEYS = "the keys are 'size', 'color', 'kind'"
NO_LABEL = "(name it with --label, or use --no-label if there is none)"


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_label_of_a_table_or_json_must_be_known(tmp_path, capsys, ending):
    if ending == "csv":
        data, what, names = written(tmp_path / "it.csv", CSV), "column", COLUMNS
    else:
        text = '{"size": 1, "color": "red", "kind": "yes"}\n{"size": 2, "kind": "no"}\n'
        data, what, names = written(tmp_path / "it.jsonl", text), "key", KEYS
    out = tmp_path / "out.jsonl"
    which = f"which {what} is the label? none is called 'label', 'target', 'class' or 'y'; {names}"
    assert failed(capsys, "convert", data, "-o", out) == f"scwlearn: error: {data}: {which} {NO_LABEL}\n"
    wrong = f"no {what} 'knid' for the label, or it is empty; {names}"
    said = failed(capsys, "convert", data, "-o", out, "--label", "knid")
    assert said == f"scwlearn: error: {data}: {wrong} {NO_LABEL}\n"
    assert not out.exists()
    converted(data, "-o", out, "--no-label")
    assert [batch.labels for batch in read_batches([str(out)], options=ReaderOptions(labels="optional"))[1]] == [None]
    converted(data, "-o", out, "--label", "kind")
    assert [label for label, _ in dicts(out, label="kind")][:2] == ["yes", "no"]


def test_a_label_contradicts_no_label(tmp_path, capsys):
    data, out = written(tmp_path / "it.csv", "x,y\n1,2\n"), tmp_path / "out.jsonl"
    said = failed(capsys, "convert", data, "-o", out, "--no-label")
    assert said == (
        f"scwlearn: error: {data}: the column 'y' is the label, but --no-label says that there is none (rename it, or "
        "leave it out with --ignore)\n"
    )
    said = failed(capsys, "convert", data, "-o", out, "--no-label", "--label", "y", code=2)
    assert said.startswith("scwlearn: error: give either --label or --no-label, not both\n")
    assert not out.exists()


def test_lines_without_labels_stay_without(tmp_path, capsys):
    data, out = written(tmp_path / "it.vw", "| a b\n1 | c\n| d\n"), tmp_path / "out.vw"
    converted(data, "-o", out)
    assert out.read_text() == "| a b\n1 | c\n| d\n"
    said = failed(capsys, "convert", data, "-o", tmp_path / "out.svm", "--names", tmp_path / "names")
    assert "every line of LIBSVM text needs a label; found none" in said


def test_usage_is_checked_first(tmp_path, capsys):
    data = written(tmp_path / "it.svm", "1 1:1\n-1 2:1\n")
    for arguments, said in [
        ([data], "give either -o, the file to write, or -m, the model to make of weights"),
        ([data, "-o", "x.csv", "-m", "y"], "give either -o, "),
        ([data, "-o", tmp_path / "x.dat"], "x.dat: unknown file name ending; use --to, or one of .arrow, "),
        ([data, data, "-m", "y"], "expected one weights file, got 2"),
        (
            [data, "-o", tmp_path / "x.dat", "--to", "onnx"],
            "data cannot be written as onnx; allowed: arrow, ",
        ),
    ]:
        converted(*arguments, code=2)
        assert said in capsys.readouterr().err


def test_a_table_with_too_many_columns_is_rejected(tmp_path, capsys):
    path = written(tmp_path / "wide", "1 1:1\n-1 9223372036854775807:1\n")
    said = failed(capsys, "convert", path, "-o", tmp_path / "wide.csv")
    assert "a table would have 9223372036854775807 columns; at most 10000 are written" in said


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "vw"])
@pytest.mark.parametrize("options", [{"interactions": ["color:size"]}, {"ngram": 2}, {"char_ngrams": (3, 4)}])
def test_features_of_no_column_are_written_by_their_names(tmp_path, capsys, ending, options):
    data, out = written(tmp_path / "it.csv", CSV), tmp_path / f"out.{ending}"
    flags = {"interactions": "color:size", "ngram": "2", "char_ngrams": "3-4"}
    given = [*TABLE, *(f"--{name.replace('_', '-')}={flags[name]}" for name in options)]
    if ending == "vw" and "interactions" not in options:
        said = failed(capsys, "convert", data, "-o", out, *given)
        assert "names in VW text have no space, colon, bar or control character; jsonl allows any name" in said
        return
    converted(data, "-o", out, *given)
    expected = dicts(data, label="kind", features=Features(kinds={"words": "text"}, **options))
    told = {} if ending == "vw" else {"label": "kind"}
    assert dicts(out, **told) == expected


def test_labels_that_cells_cannot_hold_are_refused_and_leave_no_file(tmp_path, capsys):
    data = written(tmp_path / "it.jsonl", '{"label":"01","x":1}\n{"label":"1","x":2}\n')
    out = tmp_path / "out.csv"
    said = failed(capsys, "convert", data, "-o", out)
    assert "it.jsonl, line 1: the labels of CSV and TSV are read as numbers" in said
    assert "found '01'" in said
    assert not out.exists()
    converted(data, "-o", out.with_suffix(".json"))
    assert [label for label, _ in dicts(out.with_suffix(".json"))] == ["01", "1"]


@pytest.mark.parametrize("to", ["parquet", "csv", "jsonl"])
def test_a_label_may_come_late(tmp_path, capsys, to):
    data, out = tmp_path / "late.csv", tmp_path / f"out.{to}"
    data.write_text("a,b,target\n" + "1,2,\n" * 200_000 + "1,1,yes\n")
    assert run(["convert", str(data), "-o", str(out), "--label", "target"]) == 0
    assert capsys.readouterr().err == f"wrote 200,001 examples to {out}\n"


@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet"])
def test_a_later_file_may_bring_the_column_of_weights(tmp_path, to):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("label,a\n1,2\n")
    two.write_text("label,a,w\n1,2,3\n")
    assert run(["convert", str(one), str(two), "-o", str(tmp_path / f"out.{to}"), "--weight", "w", "-q"]) == 0
