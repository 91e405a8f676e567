"""scwlearn compare: orders, counts, tests, output and picture."""

import json
import shlex

import numpy as np
import pytest
from matplotlib.image import imread
from scipy import stats

from run_examples import libsvm_text, vw_text
from scwlearn import Learner
from scwlearn.cli.app import run
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.learning.tuning import tune
from scwlearn.rules import all_rules
from scwlearn.runs import compare


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.libsvm"
    path.write_text(libsvm_text(300))
    return str(path)


def compared(capsys, *arguments):
    assert run(["compare", *arguments, "--json", "-q"]) == 0
    return json.loads(capsys.readouterr().out)


def by_name(found):
    return {each["algorithm"]: each for each in found["algorithms"]}


def test_each_order_matches_a_learner_on_a_permutation(capsys, data):
    found = by_name(compared(capsys, data, "-a", "scw1,pa1", "-k", "3", "--seed", "7", "--covariance", "diagonal"))
    x, y = load_libsvm(data)
    for name in ("scw1", "pa1"):
        for number, error in enumerate(found[name]["errors"], start=1):
            order = np.random.default_rng([7, number]).permutation(300)
            learner = Learner(name, covariance="diagonal", intercept=True, average=name == "pa1")
            # Which of the two classes is +1 matters only at a score of 0, where the second to appear wins.
            counts = learner.learn(x, np.where(y == y[order[0]], -1, 1), order=order)
            assert counts.mistakes / 300 == error
            assert counts.updates == found[name]["updates"][number - 1]


def test_by_default_all_algorithms_are_ranked(capsys, data):
    found = compared(capsys, data, "-k", "2")
    assert {each["algorithm"] for each in found["algorithms"]} == {rule.name for rule in all_rules()}
    errors = [each["error"] for each in found["algorithms"]]
    assert errors == sorted(errors)
    assert (found["seen"], found["permutations"], found["tuned"]) == (300, 2, False)


def test_mean_std_rank_and_p_match_scipy(capsys, data):
    found = by_name(compared(capsys, data, "-a", "scw1,arow,perceptron", "-k", "6"))
    errors = {name: np.array(each["errors"]) for name, each in found.items()}
    ranks = stats.rankdata([*errors.values()], axis=0).mean(axis=1)
    best = min(errors, key=lambda name: errors[name].mean())
    for (name, each), rank in zip(found.items(), ranks, strict=True):
        assert each["error"] == pytest.approx(errors[name].mean())
        assert each["std"] == pytest.approx(errors[name].std(ddof=1))
        assert each["rank"] == pytest.approx(rank)
        if name == best:
            assert each["p"] is None
        else:
            p = stats.ttest_rel(errors[name], errors[best]).pvalue
            assert each["p"] == pytest.approx(p)
            assert each["as_good_as_best"] == (p > 0.05)


def test_errors_depend_on_the_seed_only(capsys, data):
    arguments = [data, "-a", "scw1", "-k", "3"]
    one, same, other = (compared(capsys, *arguments, "--seed", seed)["algorithms"][0] for seed in "112")
    assert one["errors"] == same["errors"]
    assert one["errors"] != other["errors"]


def test_tune_chooses_parameters_on_a_separate_order(capsys, data):
    how = ["--covariance", "diagonal", "--no-intercept"]
    found = by_name(compared(capsys, data, "-a", "arow,scw1,perceptron", "-k", "2", "--tune", "--seed", "3", *how))
    x, y = load_libsvm(data)
    order = np.random.default_rng([3, 0]).permutation(300)
    signs = np.where(y == y[order[0]], -1, 1)
    for name in ("arow", "scw1"):
        assert found[name]["parameters"] == tune(name, x, signs, order=order, covariance="diagonal", intercept=False)
    assert found["perceptron"]["parameters"] == {}


CSV = "x,colour,y\n" + "".join(
    f"{i % 7},{'red' if i % 3 else 'blue'},{'yes' if (i % 7 > 2) == (i % 11 > 0) else 'no'}\n" for i in range(120)
)


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [
        ("several.libsvm", libsvm_text(200, classes=(1, 2, 3)), []),
        ("names.vw", vw_text(count=200, classes=("a", "b", "c")), []),
        ("weights.vw", vw_text(count=200).replace(" |x", " 2 |x", 50), []),
        ("table.csv", CSV, ["--label", "y"]),
        ("two.libsvm", libsvm_text(200), ["--class-weight", "balanced"]),
        ("two.libsvm", libsvm_text(200), ["--max-features", "8"]),
        ("two.libsvm", libsvm_text(200), ["--hash-bits", "3"]),
    ],
)
def test_classes_formats_and_settings_work_as_in_train(capsys, tmp_path, name, text, arguments):
    path = tmp_path / name
    path.write_text(text)
    found = compared(capsys, str(path), "-a", "scw1,pa1", "-k", "2", "--tune", *arguments)
    # A run that is not shuffled is an ordinary training run, and the command line of this one is recorded.
    assert found["seen"] == text.count("\n") - (name == "table.csv")
    for each in found["algorithms"]:
        assert 0 < each["error"] < 0.6
    words = shlex.split(found["command"])
    assert words[:3] == ["scwlearn", "train", str(path)]
    assert run([*words[1:], "-q"]) == 0


def test_a_permuted_file_trains_to_the_same_counts(capsys, tmp_path):
    lines = vw_text(count=150, classes=("a", "b", "c")).splitlines(keepends=True)
    (tmp_path / "data.vw").write_text("".join(lines))
    order = np.random.default_rng([0, 1]).permutation(150)
    (tmp_path / "permuted.vw").write_text("".join(lines[i] for i in order))
    (found,) = compared(capsys, str(tmp_path / "data.vw"), "-a", "arow", "-k", "1")["algorithms"]
    assert run(["train", str(tmp_path / "permuted.vw"), "-a", "arow", "--json", "-q"]) == 0
    end = json.loads(capsys.readouterr().out)["curve"][-1]
    assert (end["mistakes"] / 150, end["updates"]) == (found["errors"][0], found["updates"][0])


def test_files_are_joined_and_a_limit_takes_the_first_examples(capsys, data, tmp_path):
    (tmp_path / "more.libsvm").write_text(libsvm_text(50, width=30, seed=2))
    more = str(tmp_path / "more.libsvm")
    assert compared(capsys, data, more, "-a", "pa", "-k", "1")["seen"] == 350
    assert compared(capsys, data, more, "-a", "pa", "-k", "1", "--limit", "310")["seen"] == 310
    (tmp_path / "first").write_text("".join(libsvm_text(300).splitlines(keepends=True)[:40]))
    limited, first = (
        compared(capsys, *source, "-a", "pa", "-k", "2")["algorithms"][0]["errors"]
        for source in ([data, "--limit", "40"], [str(tmp_path / "first")])
    )
    assert limited == first


def test_data_that_does_not_fit_in_memory_is_rejected_with_a_remedy(capsys, data, monkeypatch):
    monkeypatch.setattr(compare, "available_memory", lambda: 1000)
    assert run(["compare", data]) == 1
    message = capsys.readouterr().err
    assert f"error: {data} is too large" in message
    assert "(compare fewer examples with --limit)" in message


def test_the_table_marks_algorithms_as_good_as_the_best(capsys, data):
    assert run(["compare", data, "-a", "scw1,perceptron", "-k", "5"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0].split() == [
        "error",
        "±",
        "std",
        "rank",
        "p",
        "updates",
        "seconds",
        "algorithm",
        "and",
        "parameters",
    ]
    assert lines[1].startswith("*")
    assert lines[1].split()[-3:] == ["scw1", "C=0.5", "eta=0.75"]
    assert lines[2].startswith(" ")
    assert lines[4].startswith("* the best, and all that a paired t-test")
    assert lines[5] == f"best: scwlearn train {data} -a scw1 --C 0.5 --eta 0.75"
    assert printed.err.splitlines()[0] == "300 examples, 2 algorithms, 5 orders"


def test_a_single_order_is_not_tested(capsys, data):
    assert run(["compare", data, "-a", "scw1,perceptron", "-k", "1", "-q"]) == 0
    printed = capsys.readouterr()
    assert "a test needs more than one order" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(("suffix", "permutations"), [("png", "3"), ("svg", "3"), ("png", "1")])
def test_a_picture_is_drawn(capsys, data, tmp_path, suffix, permutations):
    path = tmp_path / f"compared.{suffix}"
    assert run(["compare", data, "-a", "scw1,arow,pa", "-k", permutations, "-q", "--plot", str(path)]) == 0
    if suffix == "png":
        assert np.ptp(imread(path)[..., :3]) > 0.5
    else:
        assert path.read_text().count("<path") > 20


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-a", "nonsense"], 2, "unknown algorithm 'nonsense'; choose from auto, perceptron"),
        (["-k", "0"], 2, "0 is not in the range x>=1"),
        (["--plot", "a.pdf"], 2, "expected a file name ending in .svg or .png, got 'a.pdf'"),
        (["--covariance", "identity", "--variance-floor", "0.1"], 2, "--variance-floor must be 0"),
    ],
)
def test_usage_errors_say_what_is_allowed(capsys, data, arguments, code, message):
    assert run(["compare", data, *arguments]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in " ".join(printed.err.split())


@pytest.mark.parametrize("name", ["a$x^{$.libsvm", "b\udcff\x1b[31m.libsvm"])
def test_the_picture_shows_any_name_of_a_file(tmp_path, name):
    try:
        (tmp_path / name).write_text(libsvm_text(30))
    except OSError:
        pytest.skip("this system has no such file names")
    path = tmp_path / "a.svg"
    assert run(["compare", str(tmp_path / name), "-a", "pa1", "-k", "2", "-q", "--plot", str(path)]) == 0
    assert path.exists()
