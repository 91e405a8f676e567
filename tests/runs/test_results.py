"""The results file: what is kept, and what is rejected."""

import json
from dataclasses import replace

import pytest

from scwlearn.runs.results import Job, Outcome, Results

JOB = Job("small", "d", "arow", "r", "full", (("r", 1.0),), seed=0, order=1, rows=100)
OUTCOME = Outcome((50, 100), (7, 9), (20, 30), (0.1, 0.2))
JOBS = [replace(JOB, order=order) for order in range(1, 4)]


@pytest.fixture
def path(tmp_path):
    """A file with three results."""
    with Results(tmp_path / "new" / "r.jsonl") as results:
        for job in JOBS:
            results[job] = OUTCOME
    return tmp_path / "new" / "r.jsonl"


def test_results_are_read_back(path):
    with Results(path) as results:
        assert dict(results) == dict.fromkeys(JOBS, OUTCOME)
        assert JOB in results
        assert replace(JOB, seed=1) not in results


def test_results_are_never_removed(path):
    with Results(path) as results, pytest.raises(TypeError, match="only appended to"):
        del results[JOB]


def test_an_incomplete_last_line_is_dropped_and_replaced(path):
    text = path.read_bytes()
    path.write_bytes(text[:-20])
    with Results(path) as results:
        assert [*results] == JOBS[:2]
        results[JOBS[2]] = OUTCOME
    assert path.read_bytes() == text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("mistakes", [7, "9"]), ("updates", [20, -1]), ("seen", [0, 100]), ("seconds", "0.1"), ("data", None)],
        *[("order", 1.5), ("parameters", [1]), ("parameters", {"r": "1"}), ("fold", True)],
    ],
)
def test_a_field_of_another_kind_is_named(path, field, value):
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], json.dumps(json.loads(lines[1]) | {field: value}), ""]))
    with pytest.raises(ValueError, match=rf"line 2: not the result of a run \({field}.* must be"):
        Results(path)


@pytest.mark.parametrize("text", ["something else\n", '{"format":1}\n', "\x00\xff\n"])
def test_a_file_of_another_kind_is_not_touched(tmp_path, text):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"r\.jsonl, line 1: not the result of a run"):
        Results(path)
    assert path.read_text() == text


@pytest.mark.parametrize("change", [{"seen": [1]}, {"seen": [], "mistakes": [], "updates": [], "seconds": []}, None])
def test_an_invalid_line_is_named(path, change):
    lines = path.read_text().splitlines()
    wrong = {"data": "small"} if change is None else json.loads(lines[1]) | change
    path.write_text("\n".join([*lines[:3], json.dumps(wrong), *lines[3:], ""]))
    with pytest.raises(ValueError, match="line 4: not the result of a run"):
        Results(path)


def test_two_processes_do_not_write_to_one_file(path):
    with Results(path), pytest.raises(ValueError, match=r"r\.jsonl: another run is writing to this file"):
        Results(path)
    with Results(path) as again:
        assert len(again) == 3
