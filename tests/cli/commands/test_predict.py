"""scwlearn predict: a line for each input line, at once."""

import datetime as dt
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import scwlearn
from run_examples import libsvm_text, vw_text
from scwlearn.cli.app import run
from use_examples import CSV, arrays, csv_model, libsvm_model, libsvm_rows, saved, trained, written

COMMAND = [sys.executable, "-m", "scwlearn.cli"]


def predicted(capsys, *arguments):
    assert run(["predict", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def columns(text):
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize("classes", [(-1, 1), (3, 1, 2)])
@pytest.mark.parametrize("options", [[], ["--covariance", "diagonal", "--scale", "rms"], ["-a", "pa1"]])
def test_predictions_are_those_of_the_estimator_in_the_file(tmp_path, capsys, classes, options):
    path = libsvm_model(tmp_path, *options, classes=classes)
    model, x = scwlearn.load(path), np.random.default_rng(3).normal(size=(40, 12))
    data = written(tmp_path / "new.svm", libsvm_rows(x))
    wanted = ["--scores", "--probabilities", "--confidence", "--column-names"]
    header, *lines = columns(predicted(capsys, path, data, *wanted))
    labels = sorted(classes)
    scores = ["score"] if len(classes) == 2 else [f"score:{label}" for label in labels]
    assert header == ["label", *scores, *(f"probability:{label}" for label in labels), "confidence"]
    assert [int(line[0]) for line in lines] == model.predict(x).tolist()
    found = np.array([[float(cell) for cell in line[1:]] for line in lines])
    np.testing.assert_allclose(
        found[:, : len(scores)].reshape(model.decision_function(x).shape), model.decision_function(x), rtol=1e-12
    )
    chances = model.predict_proba(x)
    np.testing.assert_allclose(found[:, len(scores) : -1], chances, rtol=1e-9)
    np.testing.assert_array_equal(found[:, -1], found[:, len(scores) : -1].max(axis=1))


def test_the_default_output_is_the_label(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    out = predicted(capsys, path, tmp_path / "it.svm")
    assert set(out.splitlines()) == {"-1", "1"}
    assert len(out.splitlines()) == 300


def test_labels_of_least_expected_cost(tmp_path, capsys):
    x, y = arrays(3)
    model = scwlearn.AROW(random_state=0).fit(x, y)
    path, rows = saved(model, tmp_path / "a.model"), written(tmp_path / "new.svm", libsvm_rows(x))
    first, second = model.classes_[:2]
    costs = {first: {second: 30.0}, second: {first: 0.25}}
    text = f"{first}:{second}=30,{second}:{first}=0.25"
    expected = model.set_params(costs=costs).predict(x).tolist()
    assert predicted(capsys, path, rows, "--costs", text).split() == expected
    assert predicted(capsys, saved(model, tmp_path / "b.model"), rows).split() == expected
    assert predicted(capsys, path, rows).split() != expected
    assert run(["predict", str(path), str(rows), "--costs", "up:down=2"]) == 2
    assert (
        "invalid value for --costs: costs names labels that are not classes: 'up', 'down'; the classes are "
        in capsys.readouterr().err
    )


def test_printed_numbers_are_exact(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    model, x = scwlearn.load(path), np.random.default_rng(3).normal(size=(5, 12))
    data = written(tmp_path / "new.svm", libsvm_rows(x))
    found = [float(line[1]) for line in columns(predicted(capsys, path, data, "--variance"))]
    np.testing.assert_allclose(found, model.margin_variance(x), rtol=1e-12)
    objects = [json.loads(line) for line in predicted(capsys, path, data, "--json").splitlines()]
    assert [one["variance"] for one in objects] == found


def test_json_has_label_scores_probabilities_and_variance(tmp_path, capsys):
    two = libsvm_model(tmp_path)
    data = written(tmp_path / "new.svm", "1:2\n\n2:1\n")
    first, nothing, _ = map(json.loads, predicted(capsys, two, data, "--json").splitlines())
    assert nothing is None
    assert list(first) == ["label", "score", "probabilities", "variance"]
    assert (first["label"] == 1) == (first["score"] >= 0)
    assert list(first["probabilities"]) == ["-1", "1"]
    more = libsvm_model(tmp_path, classes=(1, 2, 3))
    first = json.loads(predicted(capsys, more, data, "--json").splitlines()[0])
    assert list(first) == ["label", "scores", "probabilities", "variance"]
    assert str(first["label"]) == max(first["scores"], key=first["scores"].get)


def test_lines_without_an_example_give_empty_lines(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    data = written(tmp_path / "new.svm", "# a comment\n1 1:2\n\n\n2:1\n1 spam\n-1 3:1\n")
    assert run(["predict", path, data]) == 1
    capsys.readouterr()
    assert run(["predict", path, data, "--on-error", "skip"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert [bool(line) for line in lines] == [False, True, False, False, True, False, True]
    assert err.splitlines()[0] == "skipped 1 invalid example:"
    assert "new.svm, line 6, column 3: " in err


def test_every_bad_record_of_a_table_gives_an_empty_line(tmp_path, capsys):
    good, bad = "3,red\n", "3\n"
    text = "size,color\n" + good + 25 * bad + 2 * good + 30 * bad
    data = written(tmp_path / "new.csv", text)
    model = trained(tmp_path, "size,color,y\n3,red,a\n1,blue,b\n" * 3, ending=".csv")
    lines = predicted(capsys, model, data, data, "--on-error", "skip").splitlines()
    assert lines == (["a"] + 25 * [""] + ["a", "a"] + 30 * [""]) * 2


def test_several_files_are_predicted_in_order(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    one, other = written(tmp_path / "a", "1 1:2\n\n1 1:-2\n"), written(tmp_path / "b", "\n1 1:2\n")
    alone = predicted(capsys, path, one) + predicted(capsys, path, other)
    assert predicted(capsys, path, one, other) == alone
    assert alone.count("\n") == 5


def test_tables_give_a_line_per_record(tmp_path, capsys):
    path = csv_model(tmp_path)
    out = predicted(capsys, path, tmp_path / "it.csv")
    assert out.splitlines() == ["yes", "no", "yes", "no", "yes"]
    broken = CSV.replace("2.5,red", "much,red") + "0.3,blue,nice cat,no\n"
    data = written(tmp_path / "broken.csv", broken)
    assert predicted(capsys, path, data, "--on-error", "skip").splitlines() == ["yes", "no", "", "no", "yes", "no"]


def test_labels_and_columns_of_labels_may_be_missing(tmp_path, capsys):
    numbered = libsvm_model(tmp_path)
    assert predicted(capsys, numbered, written(tmp_path / "new.svm", "1:3 2:1\n")) in ("1\n", "-1\n")
    table = csv_model(tmp_path)
    assert predicted(capsys, table, written(tmp_path / "new.csv", "words,size,color\nwolf,3,red\n")) == "yes\n"
    lines = '{"size": 3, "color": "red"}\n{"words": ["cat"], "never": "seen"}\n'
    assert predicted(capsys, table, written(tmp_path / "new.jsonl", lines)) == "yes\nno\n"


def test_unknown_features_are_ignored(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    known, more = written(tmp_path / "a", "1:3 2:1\n"), written(tmp_path / "b", "1:3 2:1 500:7\n")
    assert predicted(capsys, path, known, "--scores") == predicted(capsys, path, more, "--scores")


@pytest.mark.parametrize("options", [["--hash-bits", "6"], ["--max-features", "9"]])
def test_bounded_models_find_numbered_features(tmp_path, capsys, options):
    text = libsvm_text(300, width=12)
    path = trained(tmp_path, text, *options)
    lines = predicted(capsys, path, tmp_path / "it.svm").splitlines()
    right = [line == label.split()[0] for line, label in zip(lines, text.splitlines(), strict=True)]
    assert np.mean(right) > 0.75


@pytest.mark.parametrize("classes", [2, 3])
def test_kernel_models_predict_numbered_features(tmp_path, capsys, classes):
    x, y = arrays(classes)
    model = scwlearn.KernelSCW1().fit(x, y)
    path, data = saved(model, tmp_path / "k.model"), written(tmp_path / "new.svm", libsvm_rows(x[:20]))
    lines = columns(predicted(capsys, path, data, "--probabilities"))
    assert [line[0] for line in lines] == model.predict(x[:20]).tolist()
    np.testing.assert_allclose([[float(cell) for cell in line[1:]] for line in lines], model.predict_proba(x[:20]))


def test_an_estimator_of_a_data_frame_finds_its_columns_in_a_table(tmp_path, capsys):
    pandas = pytest.importorskip("pandas")
    x, y = arrays()
    frame = pandas.DataFrame(x, columns=list("abcde"))
    path = saved(scwlearn.SCW1().fit(frame, y), tmp_path / "f.model")
    data = tmp_path / "new.csv"
    frame[["e", "c", "a", "b", "d"]].assign(other="x", label="?").to_csv(data, index=False)
    assert predicted(capsys, path, data).splitlines() == scwlearn.load(path).predict(frame).tolist()


@pytest.mark.parametrize("make", [scwlearn.SCW1, scwlearn.AutoClassifier, scwlearn.KernelSCW1])
@pytest.mark.parametrize("name", ["y", "Label", "target", "class"])
def test_a_feature_of_a_data_frame_is_not_taken_for_the_label(tmp_path, capsys, make, name):
    pandas = pytest.importorskip("pandas")
    x, y = arrays()
    frame = pandas.DataFrame(x, columns=["a", name, "b", "c", "d"])
    model = make(random_state=0).fit(frame, y)
    path = saved(model, tmp_path / "f.model")
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame.to_json(tmp_path / "new.jsonl", orient="records", lines=True, double_precision=15)
    frame.to_parquet(tmp_path / "new.parquet")
    for ending in ("csv", "jsonl", "parquet"):
        labels = predicted(capsys, path, tmp_path / f"new.{ending}").splitlines()
        assert labels == [str(label) for label in model.predict(frame)]
    frame.assign(species=y).to_csv(tmp_path / "new.csv", index=False)
    assert run(["evaluate", path, str(tmp_path / "new.csv")]) == 1
    assert "which column is the label?" in capsys.readouterr().err
    assert run(["evaluate", path, str(tmp_path / "new.csv"), "--label", "species"]) == 0


def test_integer_keys_of_dicts_are_feature_numbers(tmp_path, capsys):
    model = scwlearn.StreamClassifier("arow")
    model.learn_many([{1: 1.0}, {7: 1.0}] * 5, ["one", "seven"] * 5)
    path = saved(model, tmp_path / "s.model")
    assert predicted(capsys, path, written(tmp_path / "new.svm", "1:1\n7:1\n")) == "one\nseven\n"


def test_tabs_and_line_breaks_in_labels_are_escaped(tmp_path, capsys):
    model = scwlearn.StreamClassifier("arow")
    model.learn_many([{"a": 1.0}, {"b": 1.0}] * 5, ["one\ttab", "two\nlines\\"] * 5)
    path = saved(model, tmp_path / "s.model")
    data = written(tmp_path / "new.jsonl", '{"a": 1}\n{"b": 1}\n')
    assert predicted(capsys, path, data) == "one\\ttab\ntwo\\nlines\\\\\n"


def test_the_output_file_is_replaced_atomically(tmp_path, capsys):
    path, out = libsvm_model(tmp_path), tmp_path / "out.txt"
    assert predicted(capsys, path, tmp_path / "it.svm", "-o", out) == ""
    whole = out.read_text()
    assert whole == predicted(capsys, path, tmp_path / "it.svm")
    bad = written(tmp_path / "bad.svm", libsvm_text(20) + "1 spam\n")
    assert run(["predict", path, bad, "-o", str(out)]) == 1
    assert out.read_text() == whole
    assert sorted(os.listdir(tmp_path)) == ["bad.svm", "it.model", "it.svm", "out.txt"]


@pytest.mark.parametrize(
    ("make", "data", "said"),
    [
        (
            libsvm_model,
            '{"a": 1}\n',
            "new: data with named features, but the model was trained on numbered features (libsvm)",
        ),
        (
            csv_model,
            "1 1:2\n",
            "new: data with numbered features (libsvm), but the model was trained on named features",
        ),
        (libsvm_model, "1 x\n", "new, line 1, column 3: a feature must be index:value"),
    ],
)
def test_features_of_another_kind_are_rejected(tmp_path, capsys, make, data, said):
    model = make(tmp_path)
    assert run(["predict", model, written(tmp_path / "new", data)]) == 1
    assert said in capsys.readouterr().err


def test_models_that_cannot_predict_say_why(tmp_path, capsys):
    data = written(tmp_path / "new.svm", "1 1:1\n")
    learner = saved(scwlearn.Learner("pa"), tmp_path / "l.model")
    unfitted = saved(scwlearn.SCW1(), tmp_path / "u.model")
    untaught = saved(scwlearn.StreamClassifier("pa"), tmp_path / "s.model")
    needs = "expected a trained classifier"
    for path, said in [
        (learner, f"{learner} holds a Learner; {needs}"),
        (unfitted, f"{unfitted} holds an untrained SCW1; {needs}"),
        (untaught, "the model has not been trained yet"),
        (data, f"{data}: not a scwlearn model file"),
        (str(tmp_path / "none"), f"{tmp_path / 'none'}: No such file or directory"),
    ]:
        assert run(["predict", path, data]) == 1
        assert capsys.readouterr().err == f"scwlearn: error: {said}\n"


def test_json_has_no_header(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    assert run(["predict", path, path, "--json", "--column-names"]) == 2
    assert "--column-names needs columns, and --json has none" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["libsvm", "jsonl", "csv"])
def test_each_line_of_a_pipe_is_answered_at_once(tmp_path, format):
    path = libsvm_model(tmp_path) if format == "libsvm" else csv_model(tmp_path)
    first, lines = {
        "libsvm": (b"", [b"1 1:2\n", b"1:-2\n"]),
        "jsonl": (b"", [b'{"size": 3}\n', b'{"words": ["cat"]}\n']),
        "csv": (b"size,color,words\n", [b"3,red,wolf\n", b"0,blue,cat\n"]),
    }[format]
    with subprocess.Popen([*COMMAND, "predict", path, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(first)
        for line in lines:
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().strip()
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_a_model_of_a_table_with_bars_answers_each_line_of_a_pipe(tmp_path, capsys):
    path = trained(tmp_path, "age group|label\n" + "old|0\nyoung|1\n" * 20, ending=".csv")
    with subprocess.Popen([*COMMAND, "predict", path, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"age group|label\n")
        for line, expected in [(b"old|0\n", b"0\n"), (b"young|\n", b"1\n"), (b'"a|b"|1\n', b"1\n")]:
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() in ((b"0\n", b"1\n") if b"a|b" in line else (expected,))
        process.stdin.close()
        assert process.wait() == 0
    assert run(["predict", path, written(tmp_path / "some.vw", "1 |\n0 |\n")]) == 1
    missing = "lines must have keys of the training data; missing: 'age group'"
    assert f"{missing} (use --format if this is no VW text)" in capsys.readouterr().err


def test_a_model_of_records_reads_a_table_from_a_pipe_as_from_a_file(tmp_path, capsys):
    model = scwlearn.StreamClassifier("arow")
    for zip_code, label in [("12", "a"), ("13", "b"), ("x", "c")] * 20:
        model.learn_one({"zip": zip_code, "n": 0.5}, label)
    model.save(tmp_path / "zip.model")
    lines = [b"n,zip\n", b"0.5,12\n", b"0.4,13\n", b"0.3,x\n", b"0.2,12\n"]
    table = written(tmp_path / "zip.csv", b"".join(lines).decode())
    assert predicted(capsys, str(tmp_path / "zip.model"), table).split() == [*"abca"]
    command = [*COMMAND, "predict", str(tmp_path / "zip.model"), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(lines[0])
        for line, expected in zip(lines[1:], "abca", strict=True):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().decode().strip() == expected
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.parametrize("format", ["libsvm", "vw", "jsonl", "csv"])
def test_bad_lines_of_a_pipe_are_answered_at_once(tmp_path, format):
    texts = {"libsvm": libsvm_text(30), "vw": vw_text(count=30), "jsonl": ODD_LABELS["jsonl"][0], "csv": CSV}
    path = trained(tmp_path, texts[format], *(["--label", "kind"] if format == "csv" else []), ending=f".{format}")
    first, good, bad = {
        "libsvm": (b"", b"1 1:2\n", b"1 spam\n"),
        "vw": (b"", b"1 |x 1:2\n", b"1 spam\n"),
        "jsonl": (b"", b'{"x": 3}\n', b"spam\n"),
        "csv": (b"size,color,words\n", b"3,red,wolf\n", b"3\n"),
    }[format]
    command = [*COMMAND, "predict", path, "-", "-q", "--on-error", "skip"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(first)
        for line in (good, bad, bad, good, bad):
            process.stdin.write(line)
            process.stdin.flush()
            assert (process.stdout.readline() == b"\n") == (line == bad)
        process.stdin.write(bad + good + bad)
        process.stdin.close()
        assert [line != b"\n" for line in process.stdout] == [False, True, False]
        assert process.wait() == 0


def test_a_closed_pipe_is_silent(tmp_path):
    path = libsvm_model(tmp_path)
    data = written(tmp_path / "long.svm", libsvm_text(300) * 200)
    process = subprocess.Popen([*COMMAND, "predict", path, data], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert process.stdout.readline() in (b"1\n", b"-1\n")
        process.stdout.close()
        assert process.stderr.read() == b""


def test_predicting_from_text_imports_neither_scipy_nor_scikit_learn(tmp_path):
    path = libsvm_model(tmp_path)
    code = f"import sys; from scwlearn.cli.app import run; run(['predict', {path!r}, {str(tmp_path / 'it.svm')!r}])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert not {"scipy", "sklearn", "pandas", "pyarrow", "rich"} & set(done.stdout.splitlines()[-1].split())


def test_tags_of_vw_data_are_printed(tmp_path, capsys):
    path = trained(tmp_path, vw_text(count=100), ending=".vw")
    data = written(tmp_path / "new.vw", "1 'first|x 1:2\n|x 2:1\n-1 1.5 third|x 1:1\n")
    lines = columns(predicted(capsys, path, data, "--tags", "--column-names"))
    assert lines[0] == ["label", "tag"]
    assert [line[1] for line in lines[1:]] == ["first", "", "third"]
    assert json.loads(predicted(capsys, path, data, "--json").splitlines()[0])["tag"] == "first"
    assert columns(predicted(capsys, libsvm_model(tmp_path), tmp_path / "it.svm", "--tags"))[0][1] == ""


def test_kernel_models_reject_unknown_features(tmp_path, capsys):
    model, data = str(tmp_path / "kernel.model"), tmp_path / "wide.libsvm"
    scwlearn.KernelPA1(gamma=1.0).fit([[1.0, 0.0], [0.0, 1.0]], [0, 1]).save(model)
    data.write_text("1:0.5\n1:0.5 3:1\n")
    assert run(["predict", model, str(data)]) == 1
    said = "wide.libsvm has 3 features; the kernel model was trained on 2"
    assert said in capsys.readouterr().err


ODD_LABELS = {
    "svm": ("1 1:1\n-1 1:-1\n", ["spam 1:1\n1,2 1:-1\n", "1:1\n1e999 1:-1\n"]),
    "vw": ("a |x u\nb |x v\n", ["1 |x u\na |x v\n", "1:2,2:3 |x u\nnan x 3 |x v\n"]),
    "csv": ("x,y\n1,1\n-1,0\n", ["x,y\n1,yes\n-1,3\n", "x,y,target\n1,,\n-1,\xff,b\n"]),
    "jsonl": (
        '{"x": 1, "y": "a"}\n{"x": -1, "y": "b"}\n',
        ['{"x": 1, "y": 2}\n{"x": -1, "y": "b"}\n', '{"x": 1, "y": {"z": [1]}}\n{"x": -1, "y": [1]}\n'],
    ),
}


@pytest.mark.parametrize("ending", ODD_LABELS)
def test_labels_in_the_data_may_be_anything(tmp_path, capsys, ending):
    text, others = ODD_LABELS[ending]
    model = trained(tmp_path, text, "--epochs", "3", ending=f".{ending}")
    first, second = predicted(capsys, model, tmp_path / f"it.{ending}").split()
    assert first != second
    for other in others:
        data = written(tmp_path / f"other.{ending}", other.encode("latin-1"))
        assert predicted(capsys, model, data).split() == [first, second], other


@pytest.mark.parametrize("labels", [["u", "v"], [dt.date(2026, 1, 1)] * 2, [1e300, None], [[1], [2]]])
def test_a_label_column_of_another_type_is_ignored(tmp_path, capsys, labels):
    model = trained(tmp_path, "x,y\n1,1\n-1,0\n", "--epochs", "3", ending=".csv")
    parquet.write_table(pa.table({"x": [1, -1], "y": labels}), tmp_path / "it.parquet")
    assert predicted(capsys, model, tmp_path / "it.parquet") == predicted(capsys, model, tmp_path / "it.csv")


def test_two_usual_labels_do_not_stop_a_model_of_records(tmp_path, capsys):
    model = scwlearn.StreamClassifier()
    model.learn_many([{"x": 1}, {"x": -1}] * 3, ["p", "q"] * 3)
    scwlearn.save(model, tmp_path / "m")
    for name, text in {"it.csv": "x,label,y\n1,a,b\n", "it.jsonl": '{"x": 1, "label": "a", "y": "b"}\n'}.items():
        assert predicted(capsys, tmp_path / "m", written(tmp_path / name, text), "-q") == "p\n"
