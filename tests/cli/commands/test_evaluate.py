"""scwlearn evaluate: the metrics of scikit-learn, with a reason where one is undefined."""

import json

import numpy as np
import pytest
from sklearn import metrics

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.runs.evaluate import calibration_error
from use_examples import arrays, libsvm_model, libsvm_rows, saved, trained, written


def figures(capsys, *arguments):
    assert run(["evaluate", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def table(capsys, *arguments):
    assert run(["evaluate", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def test_metrics_of_two_classes_are_those_of_scikit_learn(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    data = written(tmp_path / "new.svm", libsvm_text(200, seed=5))
    found, model = figures(capsys, path, data), scwlearn.load(path)
    x, y = load_libsvm(data, n_features=12)
    predicted, chances = model.predict(x), model.predict_proba(x)
    expected = {
        "examples": 200,
        "accuracy": metrics.accuracy_score(y, predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
        "f1_macro": metrics.f1_score(y, predicted, average="macro"),
        "f1": metrics.f1_score(y, predicted, pos_label=1),
        "log_loss": metrics.log_loss(y, chances),
        "brier": metrics.brier_score_loss(y, chances[:, 1], pos_label=1),
        "auc": metrics.roc_auc_score(y, chances[:, 1]),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["classes"] == [-1, 1]
    assert found["confusion"] == metrics.confusion_matrix(y, predicted).tolist()
    assert (found["weighted"], found["notes"], found["skipped"]) == (False, {}, 0)
    values, counts = np.unique(y, return_counts=True)
    assert found["baseline"] == {"label": values[counts.argmax()], "error": pytest.approx(1 - counts.max() / 200)}
    assert found["features"]["known"] == found["features"]["found"] == x.nnz


def test_metrics_of_several_classes_are_those_of_scikit_learn(tmp_path, capsys):
    path = libsvm_model(tmp_path, classes=(3, 1, 2))
    data = written(tmp_path / "new.svm", libsvm_text(200, seed=5, classes=(3, 1, 2)))
    found, model = figures(capsys, path, data), scwlearn.load(path)
    x, y = load_libsvm(data, n_features=12)
    predicted, chances = model.predict(x), model.predict_proba(x)
    assert found["f1"] is None
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, chances))
    assert found["brier"] == pytest.approx(np.mean(((chances - np.eye(3)[y.astype(int) - 1]) ** 2).sum(axis=1)))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(y, chances, multi_class="ovr"))
    assert found["confusion"] == metrics.confusion_matrix(y, predicted).tolist()


def test_the_table_shows_metrics_and_confusion_matrix(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    lines, found = table(capsys, path, tmp_path / "it.svm"), figures(capsys, path, tmp_path / "it.svm")
    assert lines[0].split() == ["examples", "300"]
    baseline = found["baseline"]
    assert lines[2] == f"baseline accuracy        {1 - baseline['error']:.4f}  (always predicting {baseline['label']})"
    assert f"log-loss                 {found['log_loss']:.4f}" in lines
    assert f"F1 of 1                  {found['f1']:.4f}" in lines
    assert [line.split() for line in lines[-2:]] == [
        [str(label), *map(str, line)] for label, line in zip([-1, 1], found["confusion"], strict=True)
    ]


def test_unknown_labels_count_as_wrong_and_have_no_probability(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    known, strange = libsvm_text(50, seed=5), "7 1:1\n8 1:1\n7 2:1\n"
    alone = figures(capsys, path, written(tmp_path / "known.svm", known))
    both = figures(capsys, path, written(tmp_path / "both.svm", known + strange))
    assert both["examples"] == 53
    assert both["accuracy"] == pytest.approx(alone["accuracy"] * 50 / 53)
    for name in ("log_loss", "brier", "ece", "auc"):
        assert both[name] == alone[name]
    assert both["classes"] == [-1, 1, 7, 8]
    assert [sum(line) for line in both["confusion"]][2:] == [2, 1]
    assert both["notes"]["labels"].startswith("3 of 53 examples have labels that the model does not know")
    assert "note: 3 of 53 examples have labels" in "\n".join(table(capsys, path, tmp_path / "both.svm"))


def test_data_of_one_class_have_no_auc(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    data = written(tmp_path / "new.svm", "1 1:2\n1 2:1\n")
    found = figures(capsys, path, data)
    assert found["auc"] is None
    assert found["log_loss"] > 0
    assert found["notes"] == {"auc": "the data have examples of only one class"}
    assert "AUC                      -  (the data have examples of only one class)" in table(capsys, path, data)


def test_the_auc_of_some_classes_is_noted(tmp_path, capsys):
    path = libsvm_model(tmp_path, classes=(1, 2, 3))
    lines = [line for line in libsvm_text(100, seed=2, classes=(1, 2, 3)).splitlines(True) if line[0] != "3"]
    found = figures(capsys, path, written(tmp_path / "new.svm", "".join(lines)))
    assert 0.5 < found["auc"] <= 1
    assert found["notes"]["auc"] == "mean of the 2 classes with examples, of 3"


def test_unknown_labels_alone_leave_probability_metrics_undefined(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    found = figures(capsys, path, written(tmp_path / "new.svm", "5 1:2\n5 2:1\n"))
    assert found["accuracy"] == 0.0
    assert (found["log_loss"], found["brier"], found["ece"], found["auc"]) == (None,) * 4
    assert found["notes"]["log_loss"] == "the model knows none of the labels"


@pytest.mark.filterwarnings("error")
def test_a_model_of_one_class_has_no_probability_metrics(tmp_path, capsys):
    path = trained(tmp_path, "4 1:1\n4 2:1\n")
    found = figures(capsys, path, tmp_path / "it.svm")
    assert found["accuracy"] == 1.0
    assert found["notes"]["auc"] == "the model knows only one class"


def test_example_weights_are_used(tmp_path, capsys):
    path = trained(tmp_path, "x,y\n" + "1,a\n-1,b\n" * 20, "--label", "y", ending=".csv")
    model = scwlearn.load(path)
    assert model.predict_many([{"x": 1.0}, {"x": -1.0}]) == ["a", "b"]
    weighted = trained(tmp_path, "x,y,w\n" + "1,a,1\n-1,b,1\n" * 20, "--label", "y", "--weight", "w", ending=".csv")
    data = written(tmp_path / "new.csv", "x,y,w\n1,a,3\n1,b,1\n-1,b,0\n")
    found = figures(capsys, weighted, data)
    assert found["weighted"]
    assert found["accuracy"] == 0.75
    assert found["confusion"] == [[3.0, 0.0], [1.0, 0.0]]
    assert found["baseline"] == {"label": "a", "error": 0.25}
    nothing = written(tmp_path / "zero.csv", "x,y,w\n1,a,0\n")
    assert run(["evaluate", weighted, nothing]) == 1
    assert capsys.readouterr().err == "scwlearn: error: all examples have weight 0\n"


def test_labels_of_another_type_are_rejected(tmp_path, capsys):
    path = saved(scwlearn.SCW1().fit(*arrays()), tmp_path / "s.model")
    data = written(tmp_path / "new.svm", "3 1:1\n")
    assert run(["evaluate", path, data]) == 1
    assert capsys.readouterr().err == (
        f"scwlearn: error: {data}, line 1: label 3 is of another type than the labels of the model: 'east', 'north'\n"
    )


def test_unlabelled_data_are_rejected(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    data = written(tmp_path / "new.svm", "1:2\n")
    assert run(["evaluate", path, data]) == 1
    assert f"{data}, line 1, column 1: a line must start with a label" in capsys.readouterr().err


def test_invalid_lines_are_skipped_and_counted(tmp_path, capsys):
    path = libsvm_model(tmp_path)
    data = written(tmp_path / "new.svm", "1 1:2\nspam\n-1 2:1\n")
    found = figures(capsys, path, data, "--on-error", "skip")
    assert (found["examples"], found["skipped"]) == (2, 1)


def test_kernel_models_are_evaluated(tmp_path, capsys):
    x, y = arrays(3)
    numbers = np.unique(y, return_inverse=True)[1]
    model = scwlearn.KernelSCW1().fit(x, numbers)
    text = "".join(libsvm_rows(x[i : i + 1], numbers[i]) for i in range(100))
    found = figures(capsys, saved(model, tmp_path / "k.model"), written(tmp_path / "new.svm", text))
    assert found["accuracy"] == pytest.approx(model.score(x[:100], numbers[:100]))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_calibration_error_follows_its_definition(classes):
    random = np.random.default_rng(0)
    chances = random.dirichlet(np.ones(classes), 500)
    truth, weights = random.integers(0, classes, 500), random.random(500)
    said = chances[:, 1] if classes == 2 else chances.max(axis=1)
    right = truth == 1 if classes == 2 else truth == chances.argmax(axis=1)
    expected = 0.0
    for k in range(15):
        inside = (said >= k / 15) & (said < (k + 1) / 15)
        expected += abs((weights * (said - right))[inside].sum()) / weights.sum()
    assert calibration_error(chances, truth, weights) == pytest.approx(expected)
