"""Options for CSV on the command line: they are kept with the model, and errors name them."""

import pytest

from scwlearn.cli.app import run
from use_examples import failed, written


def lines(capsys):
    return capsys.readouterr().out.splitlines()


TABLE = "".join(f"{i % 7},5;{'red' if i % 2 else 'unknown'};{('no', 'yes')[i % 2]}\n" for i in range(40))


def test_a_table_without_header_is_read_as_its_options_say(tmp_path, capsys):
    data, model = written(tmp_path / "it.csv", TABLE), str(tmp_path / "m")
    said = failed(capsys, "train", data)
    assert said.startswith(f"scwlearn: error: {data}, line 1: the first line looks like a record, not like the names")
    assert said.endswith("(use --no-header if the first line is a record, or --header if it names the columns)\n")
    said = failed(capsys, "train", data, "--no-header", "--label", "-1")
    assert said.endswith("(use --decimal , if it is a decimal comma, or name the column in --categorical)\n")
    options = ["--no-header", "--label", "-1", "--decimal", ",", "--missing", "unknown,?"]
    assert run(["train", data, "-m", model, "-q", *options]) == 0
    assert run(["inspect", model]) == 0
    shown = capsys.readouterr().out
    assert "format csv, label 3, label_kind categorical, header no, delimiter ;" in shown
    assert "2=unknown" not in shown
    # What the model knows need not be said again; how a file is written may.
    assert run(["predict", model, data]) == 0
    expected = lines(capsys)
    assert run(["predict", model, written(tmp_path / "tabs.csv", TABLE.replace(";", "\t")), "--delimiter", "tab"]) == 0
    assert lines(capsys) == expected
    named = written(tmp_path / "named.csv", "3;2;1\n" + TABLE)
    said = failed(capsys, "predict", model, named, "--header", "--label", "3")
    assert said == "scwlearn: error: the model determines how data is read (remove --label)\n"
    assert run(["predict", model, written(tmp_path / "again.csv", "1;2;3\n" + TABLE), "--header"]) == 0
    assert lines(capsys) == expected


def test_the_columns_that_do_not_fit_a_model_are_named(tmp_path, capsys):
    data, model = written(tmp_path / "it.csv", "a,b,y\n1,x,0\n2,z,1\n3,x,0\n"), str(tmp_path / "m")
    assert run(["train", data, "-m", model, "-q"]) == 0
    other = written(tmp_path / "other.csv", "A,c,y\n1,2,0\n")
    said = failed(capsys, "predict", model, other)
    assert said == (
        f"scwlearn: error: {other}: a table must have the columns of the training data; missing: 'a', 'b'; "
        "new: 'A', 'c'\n"
    )


def test_a_given_delimiter_holds_though_a_model_knows_another(tmp_path, capsys):
    data, model = written(tmp_path / "it.csv", "a;b;y\n1;2;0\n3;4;1\n"), str(tmp_path / "m")
    assert run(["train", data, "-m", model, "-q"]) == 0
    other = written(tmp_path / "other.csv", "a;b|y\n1;2|0\n")
    said = failed(capsys, "predict", model, other, "--delimiter", "|")
    assert said == (
        f"scwlearn: error: {other}: a table must have the columns of the training data; missing: 'a', 'b'; new: 'a;b'\n"
    )


@pytest.mark.parametrize("given", ["x", "tabs", "1"])
def test_a_delimiter_is_checked(tmp_path, capsys, given):
    data = written(tmp_path / "it.csv", "a,y\n1,0\n")
    assert f"got {given!r}" in failed(capsys, "train", data, "--delimiter", given)
