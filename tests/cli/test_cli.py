"""The command: what it prints where, how it ends, and what it does not import."""

import errno
import importlib
import lzma
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import click
import pytest

from places import DATA
from scwlearn import cli
from scwlearn.cli import app, console
from scwlearn.cli.app import CommandError, run
from scwlearn.datasets import all_sets, is_there

LARGE = {"numpy", "scipy", "sklearn", "matplotlib", "pandas"}


def started(*arguments, **options):
    """The command in a process of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run([sys.executable, "-m", "scwlearn.cli", *arguments], text=True, check=False, **options)


@pytest.fixture
def raising(monkeypatch):
    """A function that makes `scwlearn fail` raise."""

    def make(error):
        @click.command()
        def command():
            raise error

        monkeypatch.setitem(sys.modules, "scwlearn.cli.commands.fail", SimpleNamespace(command=command))
        monkeypatch.setitem(app.commands(), "fail", "Fail.")

    return make


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"]])
def test_the_frame_imports_nothing_large(arguments):
    code = f"import sys; from scwlearn.cli.app import run; run({arguments}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not LARGE & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("own", [None, "20"])
def test_threads_of_openblas_are_told_to_sleep_before_there_are_any(own):
    code = f"""
import os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))

if {own!r}:
    os.environ["OPENBLAS_THREAD_TIMEOUT"] = {own!r}
sys.meta_path.insert(0, Finder())
from scwlearn.cli import main
sys.argv = ["scwlearn", "datasets", "list"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == (own or "4")


def test_the_list_of_sets_does_not_import_scikit_learn():
    code = "import sys; from scwlearn.cli.app import run; run(['datasets']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sklearn", "matplotlib", "pandas"} & set(done.stdout.splitlines()[-1].split())


def test_help_lists_the_commands(capsys):
    assert run(["--help"]) == 0
    printed = capsys.readouterr().out
    for name, text in app.commands().items():
        assert f"  {name} " in printed
        assert text in printed


def test_every_file_is_a_command_that_opens_with_its_help():
    for name, text in app.commands().items():
        module = importlib.import_module(f"scwlearn.cli.commands.{name}")
        assert isinstance(module.command, click.Command)
        assert text == module.__doc__.splitlines()[0]
        assert text[0].isupper()
        assert text.endswith(".")


def test_the_version_tells_of_the_parts():
    done = started("--version")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["scwlearn", "python", *app.PACKAGES]


def test_an_unknown_command_is_wrong_usage_and_near_ones_are_named():
    done = started("datset")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no command 'datset'; did you mean datasets?" in done.stderr
    assert f"the commands are {', '.join(app.commands())}" in started("xyz").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["datasets", "--nonsense"],
        ["datasets", "show"],
        ["datasets", "show", "x"],
        ["datasets", "fetch"],
    ],
)
def test_wrong_usage_ends_with_2(arguments, capsys):
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("scwlearn: error: ")
    assert re.fullmatch("Run 'scwlearn( datasets( show| fetch)?)? --help' for usage.", printed.err.splitlines()[1])


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad rows"), "scwlearn: error: bad rows\n"),
        (CommandError("not so"), "scwlearn: error: not so\n"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.txt"), "scwlearn: error: a.txt: No such file\n"),
        (OSError("no connection"), "scwlearn: error: no connection\n"),
        (MemoryError(), "scwlearn: error: not enough memory\n"),
        (MemoryError("for 3 GB"), "scwlearn: error: not enough memory for 3 GB\n"),
    ],
)
def test_an_error_of_the_data_or_the_system_is_one_message_and_1(raising, capsys, error, message):
    raising(error)
    assert run(["fail"]) == 1
    assert capsys.readouterr().err == message


def test_an_interrupt_ends_with_130(raising, capsys):
    raising(KeyboardInterrupt())
    assert run(["fail"]) == 130
    assert capsys.readouterr().err.endswith("scwlearn: interrupted\n")


def test_a_bug_shows_where_it_is(raising):
    raising(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        run(["fail"])


def test_who_stops_reading_is_not_troubled():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "scwlearn.cli", "datasets"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_libraries_it_says_what_to_install(monkeypatch, capsys, missing):
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == ('scwlearn: the command line needs click and rich: pip install "scwlearn[cli]"\n')


def test_the_list_says_what_is_there_and_what_to_do_and_is_not_cut(tmp_path):
    done = started("datasets", "--data-dir", str(tmp_path))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for named in all_sets():
        (line,) = [line for line in lines if line.split()[:1] == [named.name]]
        assert f"{named.rows} x {named.features}" in line
        assert named.licence in line
        assert ("missing" if named.parts else "generated") in line
    assert "scwlearn datasets fetch splice svmguide3" in done.stdout
    assert "by hand, see scwlearn datasets show NAME: mitface" in done.stdout
    assert "…" not in done.stdout


def test_show_tells_all_that_is_declared(capsys, tmp_path):
    assert run(["datasets", "--data-dir", str(tmp_path), "show", "news-pc-mac"]) == 0
    printed = capsys.readouterr().out
    for text in ("4 as +1, 5 as -1", "log(1 + count)", "CSR", "Lang 1995", "by hand", "[a-z]{2,}", "(missing)"):
        assert text in printed
    assert str(tmp_path / "20news" / "20news.train.libsvm.xz") in printed


@pytest.mark.data
def test_verify_is_content_with_good_files(capsys):
    if not all(is_there(named, DATA) for named in all_sets() if named.name in ("splice", "mushrooms")):
        pytest.skip("splice or mushrooms are not in the data directory")
    assert run(["datasets", "verify", "splice", "mushrooms", "digits", "--data-dir", str(DATA)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "splice/splice.libsvm.xz: good\nmushrooms/mushrooms.libsvm.xz: good\n"
    assert printed.err.splitlines()[0] == "verifying: started"


def test_verify_ends_with_1_if_a_file_differs_or_is_missing(capsys, tmp_path):
    path = tmp_path / "splice" / "splice.libsvm.xz"
    path.parent.mkdir()
    path.write_bytes(lzma.compress(b"1 1:1\n"))
    assert run(["datasets", "verify", "--quiet", "--data-dir", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == "splice/splice.libsvm.xz: different\n"
    assert "not as declared" in printed.err
    assert run(["datasets", "verify", "w7a", "--quiet", "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "w7a/w7a.libsvm.xz: missing\n"


def test_fetch_goes_on_after_a_set_that_cannot_be_had(capsys, tmp_path):
    assert run(["datasets", "fetch", "mitface", "embedded", "--cache", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "digits: needs no files" in printed.err
    assert "fetching: done" not in printed.err
    assert "scwlearn: error: mitface cannot be fetched" in printed.err
    assert str(tmp_path / "mitface" / "mitface.libsvm.xz") in printed.err


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_what_an_earlier_run_did_is_done_but_is_no_speed():
    clock = Clock()
    pace = console.Pace(100, clock)
    pace.before = 50
    assert (pace.share, pace.remaining) == (0.5, None)
    clock.now, pace.now = 10.0, 5.0
    assert (pace.share, pace.remaining) == (0.55, 90.0)
    assert str(pace) == "55%, 0:10, 1:30 to go"
    pace.now = 60.0
    assert (pace.share, pace.remaining) == (1.0, 0.0)
    assert console.Pace(0).share == 1.0


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")])
def test_times_are_hours_minutes_seconds(seconds, text):
    assert console.duration(seconds) == text


def test_without_a_terminal_there_is_a_line_every_ten_seconds_and_at_each_quarter(capsys):
    clock = Clock()
    lines = console.Lines("work", console.Pace(1000, clock))
    for second in range(100):
        clock.now = float(second)
        lines.advance(2, "more")
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "work: started"
    assert len(printed) == 10
    assert printed[1] == "work: 2%, 0:10, 7:25 to go (more)"
    lines.advance(300)
    assert capsys.readouterr().err.startswith("work: 50%")


def test_progress_is_lines_elsewhere_and_nothing_if_quiet(capsys):
    with console.progress(2, False, "work") as report:
        report.done_before(1)
        report.note("half of it was done")
        report.advance(1)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "work: started",
        "half of it was done",
        "work: 100%, 0:00, 0:00 to go",
        "work: done in 0:00",
    ]
    with console.progress(2, True, "work") as report:
        report.done_before(1)
        report.note("half of it was done")
        report.advance(1)
    assert capsys.readouterr() == ("", "")


def test_work_that_fails_is_not_done(capsys):
    with pytest.raises(ValueError, match="no"), console.progress(2, False, "work"):
        raise ValueError("no")
    assert "done" not in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_on_a_terminal_there_is_a_bar():
    code = (
        "from scwlearn.cli.console import progress\n"
        "with progress(4, False, 'work') as report:\n"
        "    report.done_before(1)\n"
        "    report.note('a note [in brackets]')\n"
        "    report.advance(1, 'splice')\n"
    )
    ours, theirs = os.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, env=environment)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "a note [in brackets]" in shown
    assert "work: splice" in shown
    assert "━" in shown
    assert "50%" in shown
