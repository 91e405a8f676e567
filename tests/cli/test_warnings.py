"""Warnings of commands on standard error: about labels, errors and features."""

import json
import re

import numpy as np
import pytest

from run_examples import libsvm_text
from scwlearn.cli.app import run
from use_examples import trained, written

SORTED = (
    "warning: labels come in long runs, as in a sorted file: do not trust the error, and expect the model to forget "
    "the classes that it saw first; shuffle the file, or use {}"
)
ADVICE = "--scale standard, another algorithm (scwlearn compare) or a shuffled order (--shuffle-buffer N)"


def said(capsys, *arguments):
    """Return the lines that a command prints to standard error."""
    assert run([*map(str, arguments)]) == 0
    return capsys.readouterr().err.splitlines()


def warnings(capsys, *arguments):
    return [line for line in said(capsys, *arguments) if line.startswith("warning: ")]


def sorted_lines(count=1500, **how):
    return sorted(libsvm_text(count, **how).splitlines(keepends=True), key=lambda line: line.split()[0])


def alternating(tmp_path, count=200):
    """Write examples that differ only in their labels, three of four 1; PA is wrong about half of them."""
    lines = ["1 1:1\n", "-1 1:1\n", "1 1:1\n", "1 1:1\n"] * (count // 4)
    return written(tmp_path / "alternating.libsvm", "".join(lines))


@pytest.mark.parametrize("classes", [(-1, 1), (1, 2, 3)])
@pytest.mark.parametrize("options", [(), ("--epochs", "2"), ("--holdout", "0.2"), ("--shuffle-buffer", "2")])
def test_sorted_labels_are_warned_about(capsys, tmp_path, classes, options):
    path = written(tmp_path / "sorted.libsvm", "".join(sorted_lines(classes=classes)))
    buffered = "--shuffle-buffer" in options
    shuffle = "a larger --shuffle-buffer" if buffered else "--shuffle-buffer N, with N larger than the runs"
    assert SORTED.format(shuffle) in warnings(capsys, "train", path, *options)
    assert said(capsys, "train", path, *options, "-q") == []
    assert warnings(capsys, "train", path, *options, "--shuffle-buffer", "1500") == []


def test_uneven_features_are_warned_about(capsys, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{1 if x > 0 else -1} 1:{x:.3f} 3:{5000 * z:.3f}\n" for x, z in rng.normal(size=(400, 2)).tolist()]
    path, options = written(tmp_path / "uneven.libsvm", "".join(lines)), ("-a", "pa1")
    shown = (
        "warning: features differ by orders of magnitude (feature 3 is about 5e+03, the constant of the intercept "
        "about 1), which only a full covariance makes up for; use --scale standard"
    )
    assert shown in warnings(capsys, "train", path, *options)
    assert shown not in warnings(capsys, "train", path, *options, "--scale", "standard")
    assert warnings(capsys, "train", path, "-a", "scw1", "--covariance", "full") == []


def test_sorted_labels_are_in_the_record(capsys, tmp_path):
    path = written(tmp_path / "sorted.libsvm", "".join(sorted_lines()))
    for options, expected in ((), True), (("--shuffle-buffer", "1500"), False):
        assert run(["train", path, "-q", "--json", *options]) == 0
        assert json.loads(capsys.readouterr().out)["sorted_labels"] is expected


def test_mixed_labels_and_rare_classes_are_not_warned_about(capsys, tmp_path):
    lines = sorted_lines()
    first, last = lines[:600], lines[-600:]
    in_turn = [line for pair in zip(first, last, strict=True) for line in pair]
    rare = [*first, last[0], *first, last[1], *first]
    for number, text in enumerate((libsvm_text(1500), "".join(in_turn), "".join(rare), "".join(first))):
        path = written(tmp_path / f"{number}.libsvm", text)
        assert "sorted" not in "".join(said(capsys, "train", path))


def test_tune_warns_about_sorted_labels(capsys, tmp_path):
    path = written(tmp_path / "sorted.libsvm", "".join(sorted_lines()))
    assert SORTED.format("--shuffle-buffer N, with N larger than the runs") in warnings(
        capsys, "tune", path, "-a", "pa1", "--grid", "C=1,2"
    )
    assert warnings(capsys, "tune", path, "-a", "pa1", "--grid", "C=1,2", "--shuffle-buffer", "1500") == []


def test_compare_warns_about_the_first_examples_of_a_sorted_file(capsys, tmp_path):
    path = written(tmp_path / "sorted.libsvm", "".join(sorted_lines()))
    assert warnings(capsys, "compare", path, "-a", "pa1", "-k", "1", "--limit", "1200") == [
        "warning: labels come in long runs, as in a sorted file: the first examples may not be like the rest; shuffle "
        "the file, or drop --limit"
    ]
    # All examples are compared in random orders.
    assert warnings(capsys, "compare", path, "-a", "pa1", "-k", "1") == []


def test_a_regression_target_is_warned_about(capsys, tmp_path):
    path = written(tmp_path / "data.libsvm", "".join(f"{i / 7} 1:{i}\n" for i in range(100)))
    warning = "warning: 100 distinct labels in 100 examples; is this a regression target?"
    assert warning in warnings(capsys, "train", path)


def test_a_single_class_is_warned_about(tmp_path, capsys):
    path = written(tmp_path / "one.libsvm", "3 1:1\n")
    *_, summary, warning = said(capsys, "train", path)
    assert re.fullmatch(r"1 example in .* s, 1 mistake \(100\.00%, baseline 0\.00%\), 1 feature, 1 class", summary)
    assert warning == "warning: all examples have the label 3; a classifier needs at least two classes"
    assert run(["compare", path, "-a", "pa", "-k", "1"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[0] == "1 example, 1 algorithm, 1 order"
    assert err.splitlines()[-1] == warning
    # A single order has no standard deviation: error, rank, updates, seconds, name.
    assert len(out.splitlines()[1].removeprefix("*").split()) == 5


def test_a_model_worse_than_the_baseline_is_warned_about(tmp_path, capsys):
    path = alternating(tmp_path)
    *_, summary, warning = said(capsys, "train", path, "-a", "pa", "--no-average")
    assert "101 mistakes (50.50%, baseline 25.00%)" in summary
    assert warning == (
        f"warning: the model makes more mistakes (50.50%) than always predicting 1 would (25.00%); try {ADVICE}"
    )
    assert warnings(capsys, "train", path, "-a", "pa", "--class-weight", "balanced") == []
    assert warnings(capsys, "train", alternating(tmp_path, 96), "-a", "pa") == []


def test_tune_and_compare_warn_if_the_best_is_worse_than_the_baseline(tmp_path, capsys):
    path = alternating(tmp_path)
    (warning,) = warnings(capsys, "tune", path, "-a", "pa", "--no-average")
    assert warning == (
        f"warning: the best model makes more mistakes (50.50%) than always predicting 1 would (25.00%); try {ADVICE}"
    )
    (warning,) = warnings(capsys, "compare", path, "-a", "pa", "-k", "1", "--no-average")
    assert re.fullmatch(
        r"warning: the best algorithm makes more mistakes \(.*%\) than always predicting 1 would \(25\.00%\); "
        r"try --scale standard",
        warning,
    )
    for command in (["tune"], ["compare", "-k", "1"]):
        assert run([*command, path, "-a", "pa", "-q", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["baseline"] == {"label": 1, "error": 0.25}


def test_class_weights_of_other_labels_are_warned_about(tmp_path, capsys):
    path = written(tmp_path / "data.libsvm", libsvm_text(50))
    warning = "warning: --class-weight names labels that are not in the data: 2; the labels are -1, 1"
    weights = ("--class-weight", "1.0=2,2=3")
    assert warnings(capsys, "train", path, *weights) == [warning]
    assert warnings(capsys, "tune", path, "-a", "pa1", "--grid", "C=1", *weights) == [warning]
    assert warnings(capsys, "compare", path, "-a", "pa1", "-k", "1", *weights) == [warning]
    assert warnings(capsys, "train", path, "--costs", "1:-1=2,1:2=3") == [
        "warning: --costs names labels that are not in the data: 2; the labels are -1, 1"
    ]
    # Examples of weight 0 are left out, with their label.
    assert warnings(capsys, "train", path, "--class-weight", "1=2,-1=0") == [
        "warning: all examples have the label 1; a classifier needs at least two classes"
    ]


NAMED = '{"size": 1, "color": "red", "label": "a"}\n{"size": -1, "color": "blue", "label": "b"}\n' * 20
OTHER_NAMES = '{"Size": 2, "Color": "red", "label": "a"}\n{"Size": -2, "label": "b"}\n'
UNKNOWN = (
    "warning: the model knows {} of the features in the data, and ignores {}, such as {}; it knows 'size'; "
    "check that columns, keys and namespaces are named as in the training data"
)


def test_predict_and_evaluate_warn_about_names_that_the_model_does_not_know(tmp_path, capsys):
    model = trained(tmp_path, NAMED, ending=".jsonl")
    none = written(tmp_path / "none.jsonl", OTHER_NAMES)
    assert said(capsys, "predict", model, none) == [UNKNOWN.format("none", "them", "'Size'")]
    assert said(capsys, "predict", model, none, "-q") == []
    few = written(tmp_path / "few.jsonl", OTHER_NAMES + '{"size": 1, "label": "a"}\n')
    warning = UNKNOWN.format("only 25.00%", "the others", "'Size'")
    assert said(capsys, "predict", model, few) == said(capsys, "evaluate", model, few) == [warning]
    half = written(tmp_path / "half.jsonl", '{"size": 1, "Color": "red", "label": "a"}\n')
    assert said(capsys, "predict", model, half) == said(capsys, "evaluate", model, half) == []


def test_the_model_of_a_table_needs_some_of_its_columns_as_keys(tmp_path, capsys):
    model = trained(tmp_path, "size,color,label\n" + "1,red,a\n-1,blue,b\n" * 20, ending=".csv")
    none = written(tmp_path / "none.jsonl", OTHER_NAMES)
    assert run(["predict", str(model), str(none)]) == 1
    problem = "records must have keys of the training data; missing: 'size', 'color'; new: 'Size', 'Color'"
    assert capsys.readouterr().err == f"scwlearn: error: {none}: {problem}\n"
    few = written(tmp_path / "few.json", '[{"size": 1, "Color": "red", "label": "a"}]')
    assert said(capsys, "predict", model, few) == [
        "note: missing keys: 'color'; new ones, which are ignored: 'Color' "
        "(check that they are named as in the training data)"
    ]
    part = written(tmp_path / "part.json", '[{"size": 1, "label": "a"}]')
    assert said(capsys, "predict", model, part) == []


def test_data_of_which_no_feature_is_known_are_evaluated(tmp_path, capsys):
    model = trained(tmp_path, NAMED, ending=".jsonl")
    data = written(tmp_path / "none.jsonl", OTHER_NAMES)
    assert run(["evaluate", model, data, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["examples"], found["accuracy"]) == (2, 0.5)
    assert found["features"] == {"found": 3, "known": 0, "unknown_feature": "Size", "known_feature": "size"}
    assert err == UNKNOWN.format("none", "them", "'Size'") + "\n"


@pytest.mark.parametrize(("options", "unknown"), [((), 57), (("--zero-based",), 57), (("--max-features", "99"), 20)])
def test_unknown_numbers_are_warned_about(tmp_path, capsys, options, unknown):
    model = trained(tmp_path, "".join(sorted_lines(100)), *options)
    data = written(tmp_path / "new.svm", "1 5:1 20:1 57:2\n-1 30:1 57:1\n")
    assert said(capsys, "predict", model, data) == [
        "warning: the model knows only 20.00% of the features in the data, and ignores the others, such as "
        f"{unknown}; the last that it knows is 12; check that features are numbered as in the training data"
    ]
    assert said(capsys, "predict", model, tmp_path / "it.svm") == []


def test_a_model_worse_than_the_baseline_of_other_data_is_warned_about(tmp_path, capsys):
    model = trained(tmp_path, "1 1:1\n-1 1:-1\n" * 10)
    data = written(tmp_path / "new.svm", "1 1:-1\n" * 15 + "-1 1:-1\n" * 5)
    assert said(capsys, "evaluate", model, data) == [
        "warning: the model makes more mistakes (75.00%) than always predicting 1 would (25.00%); "
        f"try training with {ADVICE}"
    ]
    # 0.7 of the examples; 1 - 0.7 is more than 0.3.
    as_good = written(tmp_path / "as_good.svm", "-1 1:-1\n" * 14 + "1 1:-1\n" * 6)
    assert said(capsys, "evaluate", model, as_good) == []
    weighted = trained(tmp_path, "1 1:1\n-1 1:-1\n" * 10, "--class-weight", "balanced")
    assert said(capsys, "evaluate", weighted, data) == []
