"""scwlearn tune: one pass equals separate trainings; output, picture and saved model."""

import io
import json
import shlex

import numpy as np
import pytest
from matplotlib.image import imread

from run_examples import libsvm_text, vw_text
from scwlearn.cli import options
from scwlearn.cli.app import run
from scwlearn.cli.commands.tune import heat_map
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack
from scwlearn.learning.counters import Counts
from scwlearn.learning.tuning import grid
from scwlearn.rules import find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.metrics import LabelCounts
from scwlearn.runs.trained_model import TrainedModel
from scwlearn.runs.tune import CellResult, best_first, grid_cells
from use_examples import failed, written

SMALL = ["--grid", "C=0.1,1,10", "--grid", "eta=0.6,0.9"]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.libsvm"
    path.write_text(libsvm_text(600))
    return str(path)


def tuned(capsys, *arguments):
    assert run(["tune", *arguments, "--json", "-q"]) == 0
    return json.loads(capsys.readouterr().out)


def trained(capsys, *arguments):
    assert run(["train", *arguments, "--json", "-q"]) == 0
    return json.loads(capsys.readouterr().out)


def files(tmp_path, *texts):
    """Files that are read one after the other, each a batch of its own."""
    paths = []
    for number, text in enumerate(texts):
        paths.append(str(tmp_path / f"part{number}"))
        (tmp_path / f"part{number}").write_text(text)
    return paths


SOURCES = {
    "two classes": [libsvm_text(300), libsvm_text(300, seed=1)],
    "wider and wider": [libsvm_text(50), libsvm_text(200, width=40, seed=1), libsvm_text(200, width=700, seed=2)],
    "more features than values": [libsvm_text(20, width=900, seed=seed) for seed in range(6)],
    "several classes": [libsvm_text(300, classes=(3, 1, 2))],
    "a third class late": [libsvm_text(300), libsvm_text(100, seed=1, width=20, classes=(-1, 1, 0))],
    "one class at first": ["1 1:2\n1 2:1\n", libsvm_text(100)],
    "names": [vw_text(count=200), vw_text(count=200, width=20, seed=1)],
    "names in several classes": [vw_text(count=300, classes=("a", "b", "c"))],
    "weights": [vw_text(count=200).replace(" |x", " 0.5 |x", 90)],
}
SETTINGS = [[], ["--covariance", "diagonal"], ["--scale", "rms", "--covariance", "diagonal", "--no-intercept"]]


@pytest.mark.parametrize("settings", SETTINGS, ids=" ".join)
@pytest.mark.parametrize("source", SOURCES)
def test_every_cell_has_the_counts_of_a_separate_training(capsys, tmp_path, source, settings):
    paths = files(tmp_path, *SOURCES[source])
    found = tuned(capsys, *paths, "-a", "scw1,arow,pa1", *SMALL, "--grid", "r=0.5,2", *settings)
    assert len(found["cells"]) == 6 + 2 + 3
    for cell in found["cells"]:
        flags = [word for name, value in cell["parameters"].items() for word in (f"--{name}", str(value))]
        end = trained(capsys, *paths, "-a", cell["algorithm"], *flags, *settings)["curve"][-1]
        assert (found["seen"], cell["mistakes"], cell["updates"]) == (end["seen"], end["mistakes"], end["updates"])


@pytest.mark.parametrize(
    "settings",
    [
        ["--class-weight", "balanced"],
        ["--class-weight", "1=3,-1=1"],
        ["--hash-bits", "3"],
        ["--max-features", "8"],
        ["--shuffle-buffer", "50", "--seed", "3"],
        ["--covariance", "full", "--initial-variance", "0.1"],
    ],
    ids=" ".join,
)
def test_settings_mean_the_same_as_in_train(capsys, data, settings):
    found = tuned(capsys, data, *SMALL, *settings)
    for cell in found["cells"][:2]:
        flags = [word for name, value in cell["parameters"].items() for word in (f"--{name}", str(value))]
        assert cell["mistakes"] == trained(capsys, data, *flags, *settings)["curve"][-1]["mistakes"]


@pytest.mark.parametrize("source", SOURCES)
def test_a_committee_competes_with_tuned_algorithms(capsys, tmp_path, source):
    paths = files(tmp_path, *SOURCES[source])
    found = tuned(capsys, *paths, "-a", "auto,arow", "--grid", "r=0.5,2")
    cell = next(cell for cell in found["cells"] if cell["algorithm"] == "auto")
    end = trained(capsys, *paths, "-a", "auto")["curve"][-1]
    assert (found["seen"], cell["mistakes"]) == (end["seen"], end["mistakes"])
    assert len(found["cells"]) == 3


def test_the_printed_command_trains_the_best_cell_with_the_given_options(capsys, data, tmp_path):
    spaced = tmp_path / "with space.libsvm"
    spaced.write_text(libsvm_text(100))
    arguments = [
        data,
        str(spaced),
        *SMALL,
        "--scale",
        "rms",
        "--covariance",
        "diagonal",
        "--on-error",
        "skip",
        "--top",
        "3",
    ]
    found = tuned(capsys, *arguments)
    program, command, *rest = shlex.split(found["command"])
    assert (program, command, rest[:2]) == ("scwlearn", "train", [data, str(spaced)])
    assert rest[2:6] == ["-a", "scw1", "--C", str(found["best"]["parameters"]["C"]).removesuffix(".0")]
    assert rest[8:] == ["--on-error", "skip", "--covariance", "diagonal", "--scale", "rms"]
    end = trained(capsys, *rest)["curve"][-1]
    assert (end["mistakes"], end["updates"]) == (found["best"]["mistakes"], found["best"]["updates"])


def test_quiet_prints_only_the_command(capsys, data):
    assert run(["tune", data, *SMALL, "-q"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith(f"scwlearn train {data} -a scw1 --C ")
    assert printed.out.count("\n") == 1


def test_the_default_grid_is_that_of_the_paper(capsys, data):
    found = tuned(capsys, data, "--covariance", "diagonal")
    tried = [cell["parameters"] for cell in found["cells"]]
    assert sorted(tried, key=str) == sorted(grid("scw1"), key=str)


def test_a_given_grid_keeps_the_papers_values_of_other_parameters(capsys, data):
    tried = [cell["parameters"] for cell in tuned(capsys, data, "--grid", "eta=0.9")["cells"]]
    assert len(tried) == 9
    assert {each["eta"] for each in tried} == {0.9}


def test_the_table_the_map_and_the_command_go_to_stdout(capsys, data):
    assert run(["tune", data, *SMALL, "--top", "2"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0].split() == ["error", "mistakes", "updates", "algorithm", "and", "parameters"]
    assert lines[1].split()[3] == "scw1"
    assert lines[3] == ""
    assert lines[4] == "error in % (darker is better, * is the best)"
    assert lines[5].split() == ["eta"]
    assert lines[6].split() == ["C", "0.6", "0.9"]
    assert [line.split()[0] for line in lines[7:10]] == ["0.1", "1", "10"]
    assert printed.out.count("*") == 2
    assert lines[-1].startswith(f"best: scwlearn train {data}")
    assert "6 models in one pass" in printed.err
    assert "600 examples" in printed.err


def test_the_best_cell_of_each_algorithm_is_shown(capsys, data):
    assert run(["tune", data, "-a", "perceptron,arow,pa1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[3] for line in lines[1:4]) == ["arow", "pa1", "perceptron"]
    assert float(lines[1].split()[0][:-1]) <= float(lines[2].split()[0][:-1])


@pytest.mark.parametrize("source", ["two classes", "a third class late", "names"])
@pytest.mark.parametrize("piped", [False, True])
def test_the_saved_model_equals_that_of_train(capsys, monkeypatch, tmp_path, source, piped):
    best, same = str(tmp_path / "best.model"), str(tmp_path / "same.model")
    paths = files(tmp_path, *(["".join(SOURCES[source])] if piped else SOURCES[source]))
    if piped:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("".join(SOURCES[source]).encode())))
    found = tuned(capsys, *(["-"] if piped else paths), *SMALL, "-m", best)
    words = shlex.split(found["command"])
    trained(capsys, *paths, *words[words.index("-a") :], "-m", same)
    one, other = TrainedModel.read(best), TrainedModel.read(same)
    assert one.classifier.counts == other.classifier.counts
    assert one.classifier.weights().tobytes() == other.classifier.weights().tobytes()
    assert one.classifier.calibration.state.tobytes() == other.classifier.calibration.state.tobytes()
    assert one.schema == other.schema
    assert [p.mistakes for p in one.record.curve] == [p.mistakes for p in other.record.curve]
    assert one.record.confusion == other.record.confusion
    assert one.record.passes == other.record.passes


@pytest.mark.parametrize(
    "settings",
    [
        ["--hash-bits", "8", "--interactions", "n:m"],
        ["--hash-bits", "8", "--interactions", "n:m", "--shuffle-buffer", "50"],
        ["--max-features", "50", "--interactions", "n:m"],
        ["--covariance", "full"],
        ["--no-intercept", "--average"],
    ],
    ids=" ".join,
)
def test_the_saved_model_equals_that_of_train_in_all_of_its_parts(tmp_path, settings):
    data = written(
        tmp_path / "it.vw",
        "".join(f"{i % 2} |n a{i % 7} b{i % 11} |m c{i % 5}:0.{i % 9} d{i % 13}\n" for i in range(200)),
    )
    best, same = str(tmp_path / "best.model"), str(tmp_path / "same.model")
    assert run(["tune", data, "-a", "arow", "--grid", "r=0.5", *settings, "-q", "-m", best]) == 0
    assert run(["train", data, "-a", "arow", "--r", "0.5", *settings, "-q", "-m", same]) == 0
    one, other = (pack(SavedModel.from_classifier(TrainedModel.read(path).classifier)) for path in (best, same))
    assert one == other


def test_log_loss_ranks_by_progressive_probabilities(capsys, data):
    found = tuned(capsys, data, *SMALL, "--metric", "log-loss")
    losses = [cell["log_loss"] for cell in found["cells"]]
    assert losses == sorted(losses)
    assert losses[0] < losses[-1]
    end = trained(capsys, *shlex.split(found["command"])[2:])["curve"][-1]
    assert end["log_loss"] == pytest.approx(losses[0], rel=1e-12)


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("algorithms", ["scw1", "arow", "perceptron", "scw1,scw2,arow,cw,pa"])
def test_a_picture_is_drawn(capsys, data, tmp_path, algorithms, suffix):
    path = tmp_path / f"grid.{suffix}"
    assert run(["tune", data, "-a", algorithms, "-q", "--plot", str(path)]) == 0
    if suffix == "png":
        assert np.ptp(imread(path)[..., :3]) > 0.5
    else:
        assert path.read_text().count("<path") > 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "C"], "expected NAME=VALUE,... as in C=0.1,1,10, got 'C'"),
        (["--grid", "C=a"], "expected NAME=VALUE,... as in C=0.1,1,10, got 'C=a'"),
        (["--grid", "r=1"], "scw1 has no parameter 'r'; its parameters: C, eta"),
        (["--grid", "eta=0.3"], "eta must be a number strictly between 0.5 and 1, got 0.3"),
        (["-a", "scw3"], "unknown algorithm 'scw3'; choose from auto, perceptron"),
        (["-a", ","], "expected NAME,..., got ','"),
        (["--plot", "a.gif"], "expected a file name ending in .svg or .png, got 'a.gif'"),
        (["--metric", "f1"], "'f1' is not one of 'error', 'log-loss'"),
    ],
)
def test_usage_errors_say_what_is_allowed(capsys, data, arguments, message):
    assert run(["tune", data, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    # Long lines are wrapped.
    assert message in " ".join(printed.err.split())


def test_a_plot_without_matplotlib_fails_before_learning(capsys, data, monkeypatch):
    monkeypatch.setattr(options, "find_spec", lambda name: None)
    assert run(["tune", data, "--plot", "a.svg"]) == 1
    assert capsys.readouterr() == ("", 'scwlearn: error: --plot needs Matplotlib: pip install "scwlearn[paper]"\n')


def test_a_plot_into_a_missing_directory_fails_before_learning(capsys, data, tmp_path):
    assert run(["tune", data, "--plot", str(tmp_path / "no" / "a.svg")]) == 1
    assert ": no directory " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"), [("1 0 |x a\n", "no examples to learn from, as all have the weight 0"), ("", "empty")]
)
def test_data_without_examples_is_an_error(capsys, tmp_path, text, message):
    (path,) = files(tmp_path, text)
    assert run(["tune", path]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err


def test_invalid_lines_are_counted_once(capsys, tmp_path):
    (tmp_path / "data").write_text(libsvm_text(20) + "1 x\n" + libsvm_text(20))
    found = tuned(capsys, str(tmp_path / "data"), *SMALL, "--on-error", "skip")
    assert (found["seen"], found["skipped"]) == (40, 1)


def test_a_best_cell_at_the_border_causes_a_hint(capsys, data):
    assert run(["tune", data, "--grid", "C=1e-9,1e-8,1", "--grid", "eta=0.9"]) == 0
    assert "the best C, 1, is the largest of the grid; extend it: --grid C=..." in capsys.readouterr().err
    assert run(["tune", data, "--grid", "C=1e-9,0.5,1e9", "--grid", "eta=0.9"]) == 0
    assert "of the grid" not in capsys.readouterr().err


def test_few_examples_or_one_class_do_not_look_sorted():
    few, one = LabelCounts(), LabelCounts()
    few.update(np.repeat([0, 1], 20))
    one.update(np.ones(500))
    assert not few.looks_sorted
    assert not one.looks_sorted


def test_help_shows_the_grids_of_the_algorithms(capsys):
    assert run(["tune", "--help", "-a", "arow,pa"]) == 0
    printed = capsys.readouterr().out
    assert "Grid of arow, AROW:\n  r  0.0625, 0.125" in printed
    assert "Grid of pa, PA:\n  None: this algorithm has nothing to tune." in printed


def grid_results(values, rule="scw1"):
    axes = {"C": [0.1, 1.0], "eta": [0.6, 0.7, 0.9]} if rule == "scw1" else {"r": [1.0, 2.0]}
    cells = grid_cells([find_rule(rule)], axes)
    return [CellResult(cell, Counts(1000, m, m)) for cell, m in zip(cells, values, strict=True)]


def test_the_map_is_darker_for_better_cells():
    lines = heat_map(best_first(grid_results([100, 90, 80, 70, 60, 50])), "error")
    assert lines[3:] == ["0.1 10.00    9.00 ░  8.00 ▒", "  1  7.00 ▓  6.00 █  5.00*█"]


def test_the_map_of_one_parameter_is_a_column_and_of_none_is_empty():
    assert heat_map(best_first(grid_results([5, 4], "arow")), "error")[1:] == ["r", "1  0.50 ▒", "2  0.40*█"]
    assert heat_map([CellResult(ModelConfig(find_rule("pa"), {}), Counts(9, 1, 1))], "error") == []


@pytest.mark.parametrize("labels", ["ppp", "p", "".join(map(chr, range(97, 117)))], ids=len)
def test_without_a_class_seen_before_there_is_no_log_loss(tmp_path, capsys, labels):
    data = written(tmp_path / "d.csv", "a,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    assert "there is no log-loss: it needs" in failed(capsys, "tune", data, "--metric", "log-loss", "-a", "pa1", "-q")
