"""scwlearn reproduce: output, resuming, user rules and user data."""

import contextlib
import html
import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.image import imread

from scwlearn.cli.app import run
from scwlearn.experiments import paper
from scwlearn.rules import all_rules, all_variants

pytestmark = pytest.mark.slow

SETS = "synthetic,synthetic-noise,breast-cancer"
QUICK = ["reproduce", "--quick", "--datasets", SETS]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The directory that one quick run fills."""
    directory = tmp_path_factory.mktemp("whole")
    assert run([*QUICK, "--quiet", "--output", str(directory)]) == 0
    return directory


def tables(directory):
    return [(directory / name).read_bytes() for name in ("table2.csv", "table3.csv")]


def test_a_quick_run_shows_every_algorithm_in_tables_and_pictures(whole):
    titles = [rule.title for rule in all_rules() + all_variants()]
    markdown, page = ((whole / f"report.{kind}").read_text() for kind in ("md", "html"))
    for title in titles:
        assert markdown.count(f"\n| {title} |") >= 3
        assert page.count(f'<td class="words">{title}</td>') >= 3
    lines = (whole / "table3.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 * len(titles)
    assert "eta starts at 0.5" in page
    sets = [f"figure1-{name}" for name in SETS.split(",")]
    for name in ("figure1", *sets, "ranks", "tradeoff"):
        ElementTree.parse(whole / "figures" / f"{name}.svg")
        assert imread(whole / "figures" / f"{name}.png").std() > 0.02
        assert f"figures/{name}.svg" in markdown
    assert page.count("data:image/svg+xml;base64,") == 6


def test_the_page_is_self_contained(whole):
    page = (whole / "report.html").read_text()
    assert page.count("<script") == 1
    assert "<link" not in page
    assert "src=" not in page.replace('src="data:image/svg+xml;base64,', "")
    assert "http" not in page.split("<body>")[0].replace("http-equiv", "")
    policy = html.unescape(re.search('Content-Security-Policy" content="(.*?)"', page)[1])
    assert policy.startswith("default-src 'none'; ")
    assert "img-src data:;" in policy
    assert "unsafe" not in policy


def test_the_papers_numbers_are_shown_beside_ours(whole):
    markdown = (whole / "report.md").read_text()
    block = markdown.split("### synthetic (5000 examples)")[1].split("###")[0]
    cell = paper.TABLE3["synthetic", "scw1"]
    (line,) = [line for line in block.splitlines() if line.startswith("| SCW-I |")]
    assert f"{cell.mistake_rate:.3f} ± {cell.rate_std:.3f}" in line
    assert f"{cell.updates:.1f} ± {cell.updates_std:.1f}" in line


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_resuming_after_random_kills_gives_the_same_bytes(tmp_path, whole):
    chance = random.Random(0)
    command = [sys.executable, "-m", "scwlearn.cli", *QUICK, "--quiet", "--output", str(tmp_path)]
    results = tmp_path / "results.jsonl"
    lines = len((whole / "results.jsonl").read_text().splitlines())
    for _ in range(3):
        wanted = chance.randrange(1, lines)
        process = subprocess.Popen([*command, "--workers", str(chance.randint(1, 3))], stdout=subprocess.DEVNULL)
        while not (results.exists() and results.read_bytes().count(b"\n") >= wanted):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.02)
                break
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGINT]))
        process.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert tables(tmp_path) == tables(whole)
    jobs = [tuple(json.loads(line)[k] for k in ("data", "rule", "order", "fold")) for line in _results(tmp_path)]
    parameters = [json.dumps(json.loads(line)["parameters"]) for line in _results(tmp_path)]
    assert len(set(zip(jobs, parameters, strict=True))) == len(jobs), "something was computed twice"


def _results(directory):
    return (directory / "results.jsonl").read_text().splitlines()[1:]


def test_a_user_rule_adds_a_row_and_a_curve(tmp_path):
    own = tmp_path / "sceptical.py"
    page = (Path(__file__).parents[3] / "docs" / "own_rule.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"```\n(from scwlearn.rules import .*?)```", page, re.DOTALL)
    assert len([line for line in recipe.splitlines() if line]) < 10
    own.write_text(recipe)
    code = """import sys
from scwlearn.cli.app import run
sys.exit(run(sys.argv[1:]))"""
    out = tmp_path / "out"
    arguments = ["reproduce", "--quick", "--rules", own, "--datasets", "breast-cancer", "--output", out]
    chosen = ["--algorithms", "arow,scw1", "--quiet"]
    shown = subprocess.run(
        [sys.executable, "-c", code, *arguments, *chosen], check=True, capture_output=True, text=True, timeout=300
    ).stdout
    assert "sceptical AROW" in shown
    assert "breast-cancer,sceptical,full," in (out / "table3.csv").read_text()
    assert "sceptical AROW" in (out / "figures" / "figure1-breast-cancer.svg").read_text()


def test_a_user_file_is_a_data_set(tmp_path, capsys):
    file = tmp_path / "mine.libsvm"
    file.write_text("".join(f"{1 + i % 2} 1:{(-1) ** i * (1 + i % 7)} 2:{i % 5}\n" for i in range(200)))
    arguments = ["reproduce", "--quick", "--datasets", str(file), "--algorithms", "pa,scw1", "-q"]
    assert run([*arguments, "--output", str(tmp_path / "out")]) == 0
    assert "mine (200 examples)" in capsys.readouterr().out
    file.write_text("1 1:1\n2 1:2\n3 1:1\n")
    assert run([*arguments, "--output", str(tmp_path / "out")]) == 1
    assert "mine.libsvm has 3 distinct labels; this comparison needs two" in capsys.readouterr().err


def test_a_file_named_like_a_built_in_set_is_rejected(tmp_path, capsys):
    file = tmp_path / "svmguide3.libsvm"
    file.write_text("1 1:1\n-1 1:2\n")
    assert run(["reproduce", "--datasets", str(file), "--output", str(tmp_path / "out")]) == 1
    assert "svmguide3 is the name of a built-in data set" in capsys.readouterr().err


@pytest.mark.data
def test_shortened_runs_are_not_compared_with_the_paper(tmp_path, data_file):
    data_file("svmguide3")
    how = ["reproduce", "--quick", "--algorithms", "pa,cw", "-q", "--data-dir", str(data_file("w7a").parents[1])]
    assert run([*how, "--datasets", "w7a,svmguide3", "--output", str(tmp_path)]) == 0
    blocks = (tmp_path / "report.md").read_text().split("### ")
    assert "paper's updates" in next(b for b in blocks if b.startswith("svmguide3 (1243"))
    assert "| paper |" not in next(b for b in blocks if b.startswith("w7a (10000"))


def test_without_data_it_runs_on_generated_sets_and_lists_the_missing_ones(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SCWLEARN_DATA", str(tmp_path / "nothing"))
    assert run(["reproduce", "--quick", "--algorithms", "perceptron,scw1", "--output", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert all(f"{title} (" in shown.out for title in ("synthetic", "breast cancer", "digits, even against odd"))
    assert "splice, svmguide3" in shown.err
    assert "scwlearn datasets fetch splice svmguide3" in shown.err
    assert "scwlearn datasets fetch splice" in (tmp_path / "out" / "report.md").read_text()


def test_a_requested_set_that_is_missing_is_an_error(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SCWLEARN_DATA", str(tmp_path))
    assert run(["reproduce", "--datasets", "w7a", "--output", str(tmp_path / "out")]) == 1
    assert "w7a. Get the missing ones with `scwlearn datasets fetch w7a`" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("wrong", "code", "message"),
    [
        (["--datasets", "w9a"], 2, "no data set or group 'w9a'"),
        (["--algorithms", "scw3"], 2, "unknown algorithm 'scw3'; choose from auto, perceptron, "),
        (["--algorithms", ","], 2, "expected at least one name"),
        (["--permutations", "0"], 2, "0 is not in the range"),
        (["--tuning", "best"], 2, "'best' is not one of 'libol', 'cv'"),
        (["--rules", "nowhere.py"], 2, "'nowhere.py' does not exist"),
    ],
)
def test_usage_errors_say_what_is_allowed(tmp_path, capsys, wrong, code, message):
    assert run(["reproduce", *wrong, "--output", str(tmp_path / "out")]) == code
    assert message in capsys.readouterr().err


def test_a_directory_with_a_foreign_results_file_is_rejected(tmp_path, capsys):
    (tmp_path / "results.jsonl").write_text("mine\n")
    assert run([*QUICK, "-q", "--output", str(tmp_path)]) == 1
    assert "results.jsonl, line 1: not the result of a run" in capsys.readouterr().err
    assert (tmp_path / "results.jsonl").read_text() == "mine\n"


def test_a_diagonal_covariance_is_used_on_request(tmp_path):
    arguments = ["reproduce", "--quick", "--datasets", "breast-cancer,digits", "--covariance", "diagonal", "-q"]
    assert run([*arguments, "--algorithms", "pa1,nherd,arow", "--output", str(tmp_path)]) == 0
    kept = [line.split(",")[:3] for line in (tmp_path / "table3.csv").read_text().splitlines()[1:4]]
    assert [k[2] for k in kept] == ["identity", "diagonal-drop", "diagonal"]
    assert "Comparison with the paper" not in (tmp_path / "report.md").read_text()
