"""scwlearn train: output, model files, and errors."""

import datetime as dt
import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.datasets import load_svmlight_file

import scwlearn
import scwlearn.learning.committee.learner as learning_committee
import scwlearn.learning.in_blocks as learning_in_blocks
from run_examples import libsvm_text, vw_text
from scwlearn.cli.app import run
from scwlearn.data.run_record import Record
from scwlearn.learning.classifier import Classifier
from scwlearn.runs.trained_model import TrainedModel
from use_examples import arrays, csv_model, failed, saved, written

HEADER = ["examples", "mistakes", "rate", "since", "last", "updates", "nonzero", "examples/s"]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.libsvm"
    path.write_text(libsvm_text(600))
    return str(path)


@pytest.fixture
def model(tmp_path):
    return str(tmp_path / "a.model")


def printed(capsys, *arguments, code=0):
    assert run(["train", *arguments]) == code
    return capsys.readouterr()


def same(one, other):
    """Return whether two model files hold the same bits."""
    one, other = TrainedModel.read(one), TrainedModel.read(other)
    assert one.classifier.counts == other.classifier.counts
    for own, its in zip(one.members(), other.members(), strict=True):
        assert own.classifier.weights().tobytes() == its.classifier.weights().tobytes()
        assert own.classifier.variances().tobytes() == its.classifier.variances().tobytes()
        assert own.classifier.calibration.state.tobytes() == its.classifier.calibration.state.tobytes()
    return True


def test_the_learning_curve_is_a_table_on_stderr(capsys, data):
    out, err = printed(capsys, data)
    lines = err.splitlines()
    assert out == ""
    assert lines[0].split() == HEADER
    assert [int(line.split()[0]) for line in lines[1:12]] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600]
    _, mistakes, rate, since_last, updates, nonzero, _ = lines[11].split()
    before = lines[10].split()
    assert rate == f"{int(mistakes) / 600:.4f}"
    assert since_last == f"{(int(mistakes) - int(before[1])) / 88:.4f}"
    assert int(updates) <= 600
    assert int(nonzero) == 13
    rates = r"\d+\.\d\d%, baseline \d\d\.\d\d%"
    assert re.fullmatch(
        rf"600 examples in \d+\.\d\d s, {mistakes} mistakes \({rates}\), 12 features, 2 classes", lines[12]
    )


def test_probabilities_add_a_column_for_the_log_loss(capsys, data):
    header, *lines = printed(capsys, data, "--probabilities").err.splitlines()
    assert header.split() == [*HEADER, "log-loss"]
    assert 0.1 < float(lines[10].split()[-1]) < 0.7


def test_quiet_prints_nothing(capsys, data, model):
    assert printed(capsys, data, "-q", "-m", model) == ("", "")


def test_training_on_text_imports_numpy_alone(data, model):
    code = f"import sys; from scwlearn.cli.app import run; assert run(['train', {data!r}, '-q', '-m', {model!r}]) == 0"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "numpy" in loaded
    assert not {"scipy", "sklearn", "pandas", "pyarrow", "rich", "numpy.ma", "numpy.random"} & loaded
    assert not {"fsspec", "aiohttp", "isal", "backports.zstd"} & loaded


def test_the_data_are_being_read_before_what_learns_is_imported(data, tmp_path):
    code = f"""
import sys, threading

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in ("scwlearn.learning.classifier", "scwlearn.runs.train", "scwlearn.files"):
            print(name, any(thread.name.startswith("scwlearn reading") for thread in threading.enumerate()))

sys.meta_path.insert(0, Finder())
from scwlearn.cli.app import run
assert run(["train", {data!r}, "-q", "-m", {str(tmp_path / "model")!r}]) == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ["scwlearn.runs.train", "scwlearn.learning.classifier", "scwlearn.files"]
    assert done.stdout.splitlines() == [f"{name} True" for name in names]


@pytest.mark.parametrize("command", ["train", "convert"])
def test_arrow_needs_no_pandas(command, tmp_path):
    """pyarrow imports pandas with the first array of Python values."""
    times = pa.array([dt.datetime(2026, 11, 17)] * 3, pa.timestamp("ns", "Europe/Berlin"))
    table = pa.table({"x": [1.5, 2.5, None], "s": ["a b c", "d e f", None], "y": ["p", "q", "p"]})
    source, target = str(tmp_path / "x.parquet"), str(tmp_path / "y.parquet")
    parquet.write_table(table if command == "convert" else table.append_column("t", times), source)
    options = ["-o", target] if command == "convert" else ["-q", "-m", target]
    code = f"import sys; from scwlearn.cli.app import run; assert run({[command, source, *options]!r}) == 0"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "pyarrow" in loaded
    assert not {"pandas", "scipy", "pyarrow.compute"} & loaded


def test_quiet_does_not_change_the_record(capsys, data, tmp_path):
    said, quiet = tmp_path / "said", tmp_path / "quiet"
    printed(capsys, data, "-m", str(said))
    printed(capsys, data, "-m", str(quiet), "-q")
    curves = [[point._replace(seconds=0.0) for point in TrainedModel.read(path).record.curve] for path in (said, quiet)]
    assert curves[0] == curves[1]
    assert curves[0][-1].nonzero > 0


def test_json_prints_the_record(capsys, data):
    out, err = printed(capsys, data, "-q", "--json", "-a", "arow", "--r", "2")
    assert err == ""
    record = Record.from_json(json.loads(out))
    assert (record.algorithm, record.parameters) == ("arow", {"r": 2.0})
    assert record.curve[-1].seen == 600
    assert record.classes == [-1, 1]
    assert record.baseline.error == pytest.approx(min(map(sum, record.confusion)) / 600)
    assert record.baseline.label == record.classes[int(np.argmax([*map(sum, record.confusion)]))]


def test_a_model_of_numbered_features_is_an_estimator(capsys, data, model):
    printed(capsys, data, "-m", model, "-a", "pa1", "--C", "0.5", "--no-intercept")
    loaded = scwlearn.load(model)
    assert isinstance(loaded, scwlearn.PA1)
    assert (loaded.C, loaded.fit_intercept, loaded.n_features_in_) == (0.5, False, 12)
    assert loaded.n_seen_ == 600
    assert loaded.classes_.tolist() == [-1, 1]


def test_a_model_of_named_features_is_a_stream_classifier(capsys, tmp_path, model):
    (tmp_path / "data.vw").write_text(vw_text(count=300))
    printed(capsys, str(tmp_path / "data.vw"), "-m", model)
    loaded = scwlearn.load(model)
    assert isinstance(loaded, scwlearn.StreamClassifier)
    assert "x^3" in loaded._classifier.learner.names


@pytest.mark.parametrize("algorithm", ["scw2", "auto"])
@pytest.mark.parametrize("text", [libsvm_text, vw_text])
def test_a_resumed_run_equals_an_uninterrupted_one(capsys, tmp_path, text, algorithm):
    paths = {name: tmp_path / name for name in ("all", "first", "second")}
    lines = text(count=500, classes=(1, 2, 3)).splitlines(keepends=True)
    for name, part in zip(paths, (lines, lines[:200], lines[200:]), strict=True):
        paths[name].write_text("".join(part))
    whole, half, on = (str(tmp_path / f"{name}.model") for name in ("whole", "half", "on"))
    how = ("-a", algorithm, "--covariance", "diagonal", "--class-weight", "balanced", "-q")
    how += ("--scale", "rms") if algorithm == "scw2" else ()
    printed(capsys, str(paths["all"]), "-m", whole, *how)
    printed(capsys, str(paths["first"]), "-m", half, *how)
    printed(capsys, str(paths["second"]), "--resume", half, "-m", on, "-q")
    assert same(whole, on)


def test_the_features_of_a_resumed_model_do_not_change(capsys, tmp_path):
    lines = "".join(f'{{"x": {i % 5}, "c": "{"uv"[i % 2]}", "y": {i % 2}}}\n' for i in range(20))
    table = "x,c,y\n" + "".join(f"{i % 5},{'uv'[i % 2]},{i % 2}\n" for i in range(20))
    first, second = (str(tmp_path / name) for name in ("first", "second"))
    printed(capsys, written(tmp_path / "it.jsonl", lines), "-m", first, "-q")
    printed(capsys, written(tmp_path / "it.csv", table), "--resume", first, "-m", second, "-q", "--epochs", "2")
    assert scwlearn.load(second).features == scwlearn.load(first).features == scwlearn.Features(kinds={"y": "ignore"})
    assert scwlearn.load(second).counts.seen == 60


def test_files_compressed_patterns_and_standard_input_are_one_stream(capsys, tmp_path, data, monkeypatch):
    lines = libsvm_text(600).splitlines(keepends=True)
    (tmp_path / "part-1").write_text("".join(lines[:250]))
    (tmp_path / "part-2").write_bytes(gzip.compress("".join(lines[250:]).encode()))
    models = [str(tmp_path / f"{name}.model") for name in ("whole", "files", "pattern", "pipe")]
    # With a full covariance the last bits depend on where batches end.
    how = ("--covariance", "diagonal", "-q")
    printed(capsys, data, "-m", models[0], *how)
    printed(capsys, str(tmp_path / "part-1"), str(tmp_path / "part-2"), "-m", models[1], *how)
    printed(capsys, str(tmp_path / "part-?"), "-m", models[2], *how)
    with open(data) as file:
        monkeypatch.setattr(sys, "stdin", file)
        printed(capsys, "-", "-m", models[3], *how)
    assert all(same(models[0], other) for other in models[1:])


def test_the_seed_decides_the_shuffling(capsys, data, tmp_path):
    once, twice, other = (str(tmp_path / f"{name}.model") for name in "abc")
    printed(capsys, data, "-m", once, "--epochs", "2", "--shuffle-buffer", "100", "--seed", "3", "-q")
    printed(capsys, data, "-m", twice, "--epochs", "2", "--shuffle-buffer", "100", "--seed", "3", "-q")
    printed(capsys, data, "-m", other, "--epochs", "2", "--shuffle-buffer", "100", "--seed", "4", "-q")
    assert same(once, twice)
    assert TrainedModel.read(once).classifier.counts.seen == 1200
    assert (
        TrainedModel.read(once).classifier.weights().tobytes()
        != TrainedModel.read(other).classifier.weights().tobytes()
    )


@pytest.mark.parametrize("how", [["-a", "auto"], ["-a", "scw1", "--multi-class", "ovr", "--covariance", "full"]])
def test_jobs_learn_the_same_model_on_several_threads(capsys, tmp_path, monkeypatch, how):
    text = libsvm_text(3000)
    # A third class, so that one-vs-rest has something to divide.
    path = written(tmp_path / "three.libsvm", re.sub(r"(?m)^\S+(?= 1:)", "2", text))
    for module in (learning_in_blocks, learning_committee):
        monkeypatch.setattr(module, "WORK_FOR_THREADS", 1)
    jobs, learn = set(), Classifier.learn
    monkeypatch.setattr(Classifier, "learn", lambda *a, **given: jobs.add(given["jobs"]) or learn(*a, **given))
    one, two = str(tmp_path / "one.model"), str(tmp_path / "two.model")
    printed(capsys, path, "-m", one, "-q", *how)
    printed(capsys, path, "-m", two, "-q", *how, "--jobs", "2")
    assert jobs == {1, 2}
    assert same(one, two)


def test_holdout_prints_the_error_on_held_out_examples(capsys, data):
    err = printed(capsys, data, "--holdout", "0.2").err
    assert re.search(r"holdout: 120 examples, error \d+\.\d\d%, baseline \d\d\.\d\d%\n", err)


def test_each_epoch_prints_its_error(capsys, data):
    err = printed(capsys, data, "--epochs", "3", "--json")
    passes = json.loads(err.out)["passes"]
    assert len(passes) == 3
    lines = [line for line in err.err.splitlines() if line.startswith("epoch ")]
    assert lines == [
        f"epoch {number} of 3: {each['mistakes']} mistakes in 600 examples ({each['mistakes'] / 600:.2%})"
        for number, each in enumerate(passes, 1)
    ]
    once = printed(capsys, data, "--json")
    assert json.loads(once.out)["passes"] == passes[:1]
    assert "epoch" not in once.err


def test_features_are_hashed_or_dropped_beyond_a_bound(capsys, data, model):
    printed(capsys, data, "-m", model, "--hash-bits", "3", "-q")
    hashed = scwlearn.load(model)._classifier
    assert (hashed.config.max_features, hashed.config.overflow, hashed.learner.n_features) == (8, "hash", 8)
    printed(capsys, data, "-m", model, "--max-features", "8", "-q")
    assert len(scwlearn.load(model)._classifier.learner.names) <= 8
    err = printed(capsys, data, "--max-features", "3", code=1).err
    assert "an example has at most 3 features; found " in err


def test_a_model_file_keeps_schema_and_record(capsys, data, model):
    printed(capsys, data, "-m", model, "-q")
    kept = TrainedModel.read(model)
    assert kept.schema.format == "libsvm"
    assert kept.record.curve[-1].seen == 600


def test_the_report_is_an_html_page(capsys, data, tmp_path):
    page = tmp_path / "page.html"
    err = printed(capsys, data, "--report", str(page)).err
    assert f"report: {page}" in err
    assert page.read_text().count("<svg") >= 4


def test_invalid_lines_stop_the_run_or_are_counted(capsys, tmp_path, model):
    path = tmp_path / "broken.libsvm"
    path.write_text("1 1:1\n-1 2:x\n1 3:1\n")
    err = printed(capsys, str(path), "-m", model, code=1).err
    assert "broken.libsvm, line 2, column 6: a value must be a finite number" in err
    assert not (tmp_path / "a.model").exists()
    err = printed(capsys, str(path), "-m", model, "--on-error", "skip").err
    assert "skipped 1 invalid example:" in err
    assert TrainedModel.read(model).classifier.counts.seen == 2
    assert TrainedModel.read(model).record.skipped == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-a", "nonsense"), "unknown algorithm 'nonsense'; choose from auto, perceptron"),
        (("-a", "arow", "--eta", "0.9"), "arow has no parameter 'eta'; it has r"),
        (("--C", "-1"), "C must be a number strictly between 0 and inf, got -1.0"),
        (("--save-every", "10"), "--save-every needs -m, the file to save to"),
        (("--hash-bits", "3", "--max-features", "9"), "give either --max-features or --hash-bits, not both"),
        (("--class-weight", "x"), "expected balanced or LABEL=WEIGHT,..., got 'x'"),
        (("--holdout", "1"), "1.0 is not in the range 0.0<=x<1.0"),
    ],
)
def test_wrong_usage(capsys, data, arguments, message):
    assert message in printed(capsys, data, *arguments, code=2).err


def test_several_epochs_need_files(capsys):
    assert "--epochs needs files; a pipe can be read only once" in printed(capsys, "-", "--epochs", "2", code=2).err


def test_settings_of_a_resumed_model_cannot_change(capsys, data, model):
    printed(capsys, data, "-m", model, "-a", "arow", "-q")
    err = printed(capsys, data, "--resume", model, "-a", "pa", code=2).err
    assert "a.model was trained with arow, not pa" in err
    err = printed(capsys, data, "--resume", model, "--scale", "rms", "--hash-bits", "4", code=2).err
    assert "the settings of a resumed model cannot change; drop --scale, --hash-bits" in err
    printed(capsys, data, "--resume", model, "--r", "3", "-m", model, "-q")
    assert scwlearn.load(model).r == 3.0
    assert scwlearn.load(model).n_seen_ == 1200


@pytest.mark.parametrize("text", [libsvm_text, vw_text])
def test_the_parameters_of_a_resumed_model_may_change(capsys, tmp_path, text):
    lines = text(count=500).splitlines(keepends=True)
    first, second = (written(tmp_path / name, "".join(part)) for name, part in (("a", lines[:200]), ("b", lines[200:])))
    one, two = (str(tmp_path / f"{name}.model") for name in ("one", "two"))
    printed(capsys, first, "-m", one, "-a", "arow", "-q")
    printed(capsys, second, "--resume", one, "--r", "3", "-m", two, "-q")
    assert run(["inspect", two, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["parameters"], facts["seen"]) == ({"r": 3.0}, 500)


def test_unlabelled_data_are_rejected(capsys, tmp_path):
    (tmp_path / "none.vw").write_text("| a b\n")
    err = printed(capsys, str(tmp_path / "none.vw"), code=1).err
    assert "none.vw: no examples; a line is label |namespace name:value ... name:value" in err


def test_help_shows_the_parameters_of_the_algorithm(capsys):
    for arguments in (["-a", "arow", "--help"], ["--help", "-a", "arow"], ["-aarow", "--help"]):
        out = printed(capsys, *arguments).out
        assert "Parameters of arow, AROW" in out
        assert "--r FLOAT" in out
        assert "--eta" not in out
    assert "--eta FLOAT" in printed(capsys, "--help").out
    assert "None: this algorithm has nothing to tune." in printed(capsys, "-a", "pa", "--help").out
    assert "unknown algorithm 'x'" in printed(capsys, "-a", "x", "--help", code=2).err


def test_unreadable_data_print_no_table(tmp_path, capsys):
    assert failed(capsys, "train", written(tmp_path / "it", "")).startswith("scwlearn: error: ")


def test_labels_beyond_int64_are_one_error(tmp_path):
    path = written(tmp_path / "it.csv", "y,a\n1e29,1\n2e29,2\n")
    command = [sys.executable, "-W", "always", "-m", "scwlearn.cli", "train", path, "--label", "y", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "it.csv, line 2: label 9.9999999999999991e+28; numeric labels must be below 2^53 in magnitude" in done.stderr


def test_labels_of_another_type_than_the_model_are_rejected(tmp_path, capsys):
    model = csv_model(tmp_path)
    numbers = written(tmp_path / "it.vw", "1 | size:2\n")
    said = failed(capsys, "train", numbers, "--resume", model)
    assert "it.vw, line 1: label 1 is of another type than the labels of the model: 'no', 'yes'\n" in said


def test_a_kernel_model_cannot_be_resumed(tmp_path, capsys, data):
    x, y = arrays()
    model = saved(scwlearn.KernelPA().fit(x, y == "east"), tmp_path / "kernel.model")
    assert "holds a kernel model; the command line trains linear models only" in failed(
        capsys, "train", data, "--resume", model
    )


@pytest.mark.parametrize("classes", [(-1, 1), (1, 2, 3)])
def test_the_log_loss_is_that_of_the_probabilities_before_learning(tmp_path, capsys, classes):
    data = written(tmp_path / "it.libsvm", libsvm_text(200, classes=classes))
    assert run(["train", data, "--probabilities", "--json", "-q"]) == 0
    end = json.loads(capsys.readouterr().out)["curve"][-1]
    x, y = load_svmlight_file(data)
    model = scwlearn.SCW1().partial_fit(x[:1], y[:1])
    losses, mistakes = [], 1
    for i in range(1, len(y)):
        known = [*model.classes_]
        mistakes += model.predict(x[i])[0] != y[i]
        # An unknown class has no probability, and with a single class there is none at all.
        if y[i] in known and len(known) > 1:
            losses.append(-np.log(model.predict_proba(x[i])[0][known.index(y[i])]))
        model.partial_fit(x[i], y[i : i + 1])
    assert end["mistakes"] == mistakes
    # There, probabilities use the curve of the previous step; here, that of the previous example.
    assert end["log_loss"] == pytest.approx(np.mean(losses), rel=0.01)


def test_truncated_data_is_learned_up_to_the_cut_and_counted(tmp_path, capsys, model):
    text = libsvm_text(3000)
    path = tmp_path / "cut.libsvm.gz"
    path.write_bytes(gzip.compress(text.encode())[:-2000])

    def said(*options):
        assert run(["train", str(path), *options]) == 1
        *notes, error = capsys.readouterr().err.splitlines()
        size = int(re.fullmatch(rf"scwlearn: error: {path}: truncated gzip data after (\d+) .*bytes", error)[1])
        assert notes[-1].startswith(f"stopped after {text[:size].count(chr(10)):,} examples")
        return notes[-1].partition("; ")[2]

    assert said() == ""
    assert said("-m", model) == "the model was not saved (--save-every N saves it on the way)"
    assert said("-m", model, "--save-every", "9999") == "the model was not saved"
    assert not (tmp_path / "a.model").exists()
    assert said("-m", model, "--save-every", "1000") == f"{model} is the model after 2,000 examples"
    assert TrainedModel.read(model).classifier.counts.seen == 2000


_NO_WEIGHT = "no examples to learn from, as all have the weight 0\n"


@pytest.mark.parametrize("command", [["train"], ["train", "--workers", "1"], ["tune"], ["compare", "-k", "2"]])
@pytest.mark.parametrize("of_class", [False, True])
def test_examples_of_weight_0_alone_teach_nothing(tmp_path, capsys, command, of_class):
    rows = "".join(f"{i % 7},{int(of_class)},{i % 2}\n" for i in range(1500))
    data = written(tmp_path / "data.csv", "a,w,label\n" + rows)
    weights = ["--class-weight", "0=0,1=0"] if of_class else ["--weight", "w"]
    algorithm = ["-a", "pa1", "-q"]
    assert failed(capsys, *command, data, *algorithm, *weights).endswith(f"{data}: {_NO_WEIGHT}")
