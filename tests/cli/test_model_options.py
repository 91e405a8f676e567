"""Options for the algorithm and its model."""

import pytest

from run_examples import libsvm_text
from scwlearn.cli.app import run
from use_examples import failed, written


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "data.libsvm", libsvm_text(100))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--initial-variance", "nan"], "--initial-variance must be a number strictly between"),
        (["--variance-floor", "2"], "--variance-floor must be a number in [0, 1), got 2.0"),
        (["--holdout", "nan"], "nan is not in the range 0.0<=x<1.0"),
        (["--seed", "-1"], "-1 is not in the range x>=0"),
        (["--class-weight", "1=-1"], "a weight must be a finite number >= 0; 1 has -1"),
        (["--class-weight", "1=nan"], "a weight must be a finite number >= 0; 1 has nan"),
        (["--class-weight", "=2"], "expected balanced or LABEL=WEIGHT,..., got '=2'"),
        (["--class-weight", "1=2,1=3"], "1 has two weights, 2 and 3"),
        (["--numeric", "a,b", "--text", "b"], "column 'b' is both --numeric and --text"),
    ],
)
def test_invalid_settings_are_wrong_usage(capsys, data, options, said):
    assert said in failed(capsys, "train", data, *options, code=2)


def test_a_model_too_large_for_memory_suggests_hashing(tmp_path, capsys):
    path = written(tmp_path / "wide", "1 1:1\n-1 9000000000000:1\n")
    said = failed(capsys, "train", path)
    assert said.startswith("scwlearn: error: --covariance='diagonal' with 9000000000001 weights needs ")
    assert said.endswith("GiB are available; --hash-bits N takes 2^N\n")
    assert run(["train", path, "--hash-bits", "10", "-q"]) == 0
