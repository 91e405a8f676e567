"""scwlearn report: pages from models and from the output of train."""

import json

import pytest

import scwlearn
from scwlearn.cli.app import run
from use_examples import arrays, libsvm_model, saved, written


@pytest.fixture
def printed_run(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    assert run(["train", str(tmp_path / "it.svm"), "-q", "--json", "-a", "arow"]) == 0
    return path, capsys.readouterr().out


def page(directory, *runs):
    out = directory / "page.html"
    assert run(["report", *map(str, runs), "-o", str(out), "-q"]) == 0
    return out.read_text()


def test_a_model_and_printed_json_make_one_page(tmp_path, printed_run):
    model, text = printed_run
    out = page(tmp_path, model, written(tmp_path / "run.json", text))
    assert out.lower().startswith("<!doctype html>")
    assert "SCW-I" in out
    assert "AROW" in out


def test_json_may_be_reformatted_or_hold_one_run_per_line(tmp_path, printed_run):
    _, text = printed_run
    assert "AROW" in page(tmp_path, written(tmp_path / "a.json", json.dumps(json.loads(text), indent=2)))
    several = written(tmp_path / "b.jsonl", text + text.replace('"arow"', '"scw2"'))
    out = page(tmp_path, several)
    assert "AROW" in out
    assert "SCW-II" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{spam", "neither a model file nor the JSON record of a run: a line: invalid JSON: Expecting property name"),
        ('{"curve": ' + "[" * 100_000, "neither a model file nor the JSON record of a run: a line: nested too deeply"),
        ('{"algorithm": 1}', "not a record of a run: "),
        ("{}\n[1]\n", "not a record of a run: "),
        ("\n\n", "the file is empty; expected the JSON record of a run"),
        ("1 1:2\n", "not a scwlearn model file"),
        ("", "the file is empty"),
    ],
)
def test_invalid_runs_are_rejected_and_nothing_is_written(tmp_path, capsys, text, said):
    path = written(tmp_path / "it", text)
    assert run(["report", path, "-o", str(tmp_path / "page.html")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"scwlearn: error: {path}")
    assert said in err
    assert not (tmp_path / "page.html").exists()


def test_a_model_without_a_record_is_rejected(tmp_path, capsys):
    path = saved(scwlearn.SCW1().fit(*arrays()), tmp_path / "a.model")
    assert run(["report", path, "-o", str(tmp_path / "page.html")]) == 1
    assert "the model has no record of its training" in capsys.readouterr().err
