"""Messages: options instead of Python arguments, plurals."""

import pytest

from run_examples import libsvm_text
from scwlearn._util.errors import OptionError
from scwlearn.cli.app import run
from scwlearn.cli.messages import error_message
from scwlearn.data.formats import format_names, get_format
from scwlearn.display.formatting import plural
from use_examples import CSV, csv_model, failed, libsvm_model, written


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "data.libsvm", libsvm_text(100))


@pytest.mark.parametrize(
    ("template", "python", "command"),
    [
        (
            "{shared_covariance=True} needs {multi_class=joint}",
            'shared_covariance=True needs multi_class="joint"',
            "--shared-covariance needs --multi-class joint",
        ),
        ("{variance_floor} must be 0", "variance_floor must be 0", "--variance-floor must be 0"),
        ("use {overflow=hash}", 'use overflow="hash"', "use --hash-bits N"),
    ],
)
def test_messages_name_options(template, python, command):
    error = OptionError(template)
    assert str(error) == python
    assert error_message(error) == command


def test_hints_name_only_options_that_help(tmp_path, capsys):
    zero = written(tmp_path / "zero.libsvm", "1 0:3\n-1 1:1\n")
    model = libsvm_model(tmp_path)
    for command in (["predict", model, zero], ["evaluate", model, zero], ["train", zero, "--resume", model]):
        said = failed(capsys, *command)
        assert said.endswith("indices start at 1; found '0:3'\n")
    line = written(tmp_path / "wide.libsvm", "1 1:1\n-1 1:1 2:1 3:1\n")
    said = failed(capsys, "train", line, "-q", "--max-features", "2")
    assert said.endswith("line 2: an example has at most 2 features; found 3 (raise --max-features)\n")


def test_data_errors_name_options(tmp_path, capsys, data):
    zero = written(tmp_path / "zero.libsvm", "1 0:3\n-1 1:1\n")
    assert "indices start at 1; found '0:3' (use --zero-based" in failed(capsys, "train", zero)
    assert run(["train", zero, "--on-error", "skip"]) == 0
    assert "use --zero-based for a file that counts from 0" in capsys.readouterr().err
    assert "an option that does not apply to libsvm data (remove --label; this format takes --zero-based)" in failed(
        capsys, "train", data, "--label", "y"
    )
    model = libsvm_model(tmp_path)
    said = failed(capsys, "predict", model, data, "--zero-based")
    assert "the model determines how data is read (remove --zero-based)" in said
    table = written(tmp_path / "it.csv", CSV)
    said = failed(capsys, "train", table, "--label", "kind", "--numeric", "color")
    advice = "correct the value, leave such records out with --on-error skip, name the column in --categorical, "
    advice += "or list markers of missing values in --missing"
    assert said.endswith(f"found 'red' ({advice})\n")


_OF_A_FORMAT = {
    "label": ["--label", "y"],
    "weight": ["--weight", "w"],
    "features": ["--ngram", "2"],
    "zero_based": ["--zero-based"],
    "header": ["--no-header"],
    "delimiter": ["--delimiter", ","],
}
# The model determines the others.
_OF_A_FILE = ("header", "delimiter")
UNFIT = [(form, name) for form in format_names() for name in _OF_A_FORMAT if name not in get_format(form).options]


@pytest.mark.parametrize(("form", "name"), UNFIT)
def test_an_option_that_does_not_apply_is_named(tmp_path, capsys, form, name):
    data, option = written(tmp_path / "data", "1 | a\n"), _OF_A_FORMAT[name]
    for command in ("train", "tune", "compare"):
        said = failed(capsys, command, data, "-f", form, *option, "-q")
        assert f"an option that does not apply to {form} data (remove {option[0]}; this format takes --" in said
    model = csv_model(tmp_path)
    if name in _OF_A_FILE and not get_format(form).numbered:
        said = failed(capsys, "predict", model, data, "-f", form, *option)
        assert said.endswith(f"an option that does not apply to {form} data (remove {option[0]})\n")


def test_the_advice_about_nan_can_be_followed(tmp_path, capsys):
    data = written(tmp_path / "it.jsonl", '{"x": NaN, "y": 1}\n{"x": 2, "y": 0}\n')
    said = failed(capsys, "train", data)
    assert said.endswith(
        "it.jsonl, line 1, column 7: numbers must be finite; found NaN (drop missing values with --missing ignore)\n"
    )
    assert run(["train", data, "--missing", "ignore", "-q"]) == 0


def test_plurals():
    assert [plural(n, "example") for n in (0, 1, 2000)] == ["0 examples", "1 example", "2,000 examples"]
    assert plural(2, "class", "classes") == "2 classes"


def test_no_message_of_the_system_has_credentials():
    for error in (
        OSError("timed out trying to connect to tcp://me:secret@127.0.0.1:1"),
        FileNotFoundError(2, "no such file", "http:/me:secret@a.org/x.model"),
    ):
        assert "secret" not in error_message(error)
    for path in ("c:/me:dir@x/y.csv", "file:///a:b@c/x.csv"):
        assert error_message(FileNotFoundError(2, "gone", path)) == f"{path}: gone"
