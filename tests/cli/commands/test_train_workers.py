"""scwlearn train with several workers: output, model files, and errors."""

import json

import pytest

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.files import read
from scwlearn.report import page
from scwlearn.runs.trained_model import TrainedModel


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.libsvm"
    path.write_text(libsvm_text(3000))
    return str(path)


def train(data, *arguments, code=0):
    assert run(["train", *map(str, [data, *arguments])]) == code


def test_the_model_does_not_depend_on_the_workers(data, tmp_path):
    for workers in (1, 2):
        train(data, "--workers", workers, "--parts", 4, "-m", tmp_path / f"{workers}.model", "-q")
    one, two = (read(tmp_path / f"{workers}.model").learner for workers in (1, 2))
    assert one.weights().tobytes() == two.weights().tobytes()
    assert one.counts == two.counts
    assert one.counts.seen == 3000
    assert run(["predict", str(tmp_path / "2.model"), data, "-o", str(tmp_path / "p"), "-q"]) == 0
    assert len((tmp_path / "p").read_text().splitlines()) == 3000


def test_what_is_printed_and_recorded(data, tmp_path, capsys):
    train(data, "--workers", 2, "--parts", 3, "--rounds", 2, "--json", "--report", tmp_path / "r.html")
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert record["settings"]["parts"] == 3
    assert record["settings"]["rounds"] == 2
    expected = [(0, 1), *((number, part) for number in (1, 2) for part in (1, 2, 3))]
    assert [(part["round"], part["part"]) for part in record["parts"]] == expected
    assert sum(part["seen"] for part in record["parts"]) == 3000
    assert [one["round"] for one in record["rounds"]] == [0, 1, 2]
    assert sum(map(sum, record["confusion"])) == 3000
    assert record["reliability"]
    lines = err.splitlines()
    header = next(i for i, line in enumerate(lines) if line.split()[:2] == ["round", "parts"])
    assert [line.split()[0] for line in lines[header + 1 : header + 4]] == ["warm-up", "1", "2"]
    assert "each of the 3 parts has about 1000 examples" in err
    assert "3,000 examples" in err
    html = (tmp_path / "r.html").read_text()
    assert "Parts" in html
    assert "Rounds" in html


def test_the_record_in_the_model_draws_the_same_report(data, tmp_path):
    train(data, "--workers", 1, "--parts", 2, "--rounds", 2, "-m", tmp_path / "m", "-q")
    assert "Rounds" in page([TrainedModel.read(tmp_path / "m").record])


def test_resuming_and_epochs(data, tmp_path):
    train(data, "-m", tmp_path / "a", "-q")
    train(data, "--resume", tmp_path / "a", "--workers", 2, "--epochs", 2, "-m", tmp_path / "b", "-q")
    assert scwlearn.load(tmp_path / "b").n_seen_ == 9000


def test_workers_read_the_columns_of_a_resumed_model_as_one_stream_does(tmp_path):
    # The model knows numbers and strings of v, so each cell decides; b is new, and its first cells are strings.
    values = [1, 2, "abc", "de"]
    lines = [{"v": values[i % 4], "n": i % 5, "label": "ab"[i % 2]} for i in range(200)]
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    header, rows = (
        "v,n,b,label\n",
        [f"{values[i * i % 7 % 4]},{i % 5},{'x' * (i < 99)}{i},{'ab'[i % 2]}\n" for i in range(2000)],
    )
    for number in 1, 2:
        (tmp_path / f"{number}.csv").write_text(header + "".join(rows))
    train(tmp_path / "v.jsonl", "-m", tmp_path / "v.model", "-q")
    names = []
    for workers in [], ["--workers", 2, "--parts", 3]:
        files = tmp_path / "1.csv", tmp_path / "2.csv"
        train(*files, "--resume", tmp_path / "v.model", "-m", tmp_path / "w.model", "-q", *workers)
        names.append({*read(tmp_path / "w.model").learner.learner.vocabulary.names})
    assert names[0] == names[1]


def test_workers_learn_labels_of_the_kind_that_the_model_knows(tmp_path):
    # The first 1,000 records show no kind of labels; most parts have numbers only.
    labels = [""] * 1200 + ["w"] * 20 + ["1", "0"] * 1500
    rows = [f"{i % 7},{label}\n" for i, label in enumerate(labels)]
    (tmp_path / "late.csv").write_text("a,label\n" + "".join(rows))
    (tmp_path / "early.csv").write_text("a,label\n1,1\n2,0\n")
    (tmp_path / "first.csv").write_text("a,label\n" + "".join(rows[:2000]))
    (tmp_path / "second.csv").write_text("a,label\n" + "".join(rows[2000:]))
    model = tmp_path / "late.model"
    for workers in [], ["--workers", 2]:
        train(tmp_path / "late.csv", "-m", model, "-q", "--on-error", "skip", *workers)
        assert (TrainedModel.read(model).classifier.classes.values_in_order, read(model).learner.counts.seen) == (
            ["0", "1", "w"],
            3020,
        )
        assert run(["evaluate", str(model), str(tmp_path / "early.csv"), "-q"]) == 0
        train(tmp_path / "early.csv", "--resume", model, "-m", model, "-q")
    train(tmp_path / "first.csv", tmp_path / "second.csv", "-m", model, "-q", "--on-error", "skip")
    assert read(model).learner.counts.seen == 3020


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", 2], "--parts needs --workers, --dask or --spark"),
        (["--rounds", 2], "--rounds needs"),
        (["--workers", 2, "--holdout", 0.1], "--holdout needs one stream"),
        (["--workers", 2, "--save-every", 5, "-m", "x.model"], "--save-every needs one stream"),
        (["--workers", 2, "--jobs", 2], "--jobs needs one stream"),
        (["--workers", 2, "--dask", "tcp://nowhere:1"], "exclude each other"),
        (["--workers", 0], "--workers"),
        (["--workers", 2, "--parts", 2**16 + 1], "invalid value for --parts"),
        (["--workers", 2, "--rounds", 2**10 + 1], "invalid value for --rounds"),
    ],
)
def test_options_that_do_not_go_together(data, capsys, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train(data, *arguments, code=2)
    assert message in capsys.readouterr().err


def test_a_pipe_is_refused(capsys):
    train("-", "--workers", 2, code=2)
    assert "a pipe can be read only once" in capsys.readouterr().err


def test_an_error_in_a_part_saves_nothing(data, tmp_path, capsys):
    with open(data, "a") as file:
        file.write("spam\n")
    train(data, "--workers", 2, "-m", tmp_path / "m", code=1)
    assert "line 3001" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_hints_of_workers_name_options_of_the_command_line(tmp_path, capsys):
    data = tmp_path / "zero.libsvm"
    data.write_text("1 1:1\n-1 0:1\n" * 2000)
    hint = "line 2, column 4: indices start at 1; found '0:1' (use --zero-based for a file that counts from 0)"
    arguments = ["train", str(data), "--workers", "2", "-q", "-m", str(tmp_path / "model")]
    assert run(arguments) == 1
    assert hint in capsys.readouterr().err
    arguments.remove("-q")
    assert run([*arguments, "--on-error", "skip"]) == 0
    assert hint in capsys.readouterr().err


def test_data_after_spark_is_not_taken_for_its_master(data, capsys):
    assert run(["train", "--spark", data]) == 2
    assert "is no master such as local[4]" in capsys.readouterr().err
