"""Messages: options instead of Python arguments, plurals."""

import pytest

from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.cli.messages import in_flags
from scwlearn.display.formatting import plural
from use_examples import CSV, failed, libsvm_model, written


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "data.libsvm", libsvm_text(100))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('shared_covariance=True needs multi_class="joint"', "--shared-covariance needs --multi-class joint"),
        ("x has 8 features; an example may have max_features = 5 at most", "may have --max-features 5 at most"),
        ("variance_floor must be 0", "--variance-floor must be 0"),
        ("found 'variance_floor must be (label=)'", "found 'variance_floor must be (label=)'"),
    ],
)
def test_messages_name_options(message, said):
    assert said in in_flags(message)


def test_data_errors_name_options(tmp_path, capsys, data):
    zero = written(tmp_path / "zero.libsvm", "1 0:3\n-1 1:1\n")
    assert "indices start at 1; found '0:3' (use --zero-based" in failed(capsys, "train", zero)
    assert run(["train", zero, "--on-error", "skip"]) == 0
    assert "use --zero-based for a file that counts from 0" in capsys.readouterr().err
    assert "this is libsvm data (drop --label; this format takes --zero-based)" in failed(
        capsys, "train", data, "--label", "y"
    )
    model = libsvm_model(tmp_path)
    said = failed(capsys, "predict", model, data, "--zero-based")
    assert "the model says how data are read (drop --zero-based)" in said
    table = written(tmp_path / "it.csv", CSV)
    said = failed(capsys, "train", table, "--label", "kind", "--numeric", "color")
    assert said.endswith("found 'red' (use --categorical for a column of strings)\n")


def test_plurals():
    assert [plural(n, "example") for n in (0, 1, 2000)] == ["0 examples", "1 example", "2,000 examples"]
    assert plural(2, "class", "classes") == "2 classes"
