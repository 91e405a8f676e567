"""Output to the terminal: progress as lines or as a bar, and notes."""

import importlib
import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

# The package also has a function of this name, until the module is imported.
console = importlib.import_module("scwlearn.cli.console")


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_work_of_an_earlier_run_counts_as_done_but_not_as_speed():
    clock = Clock()
    progress = console.Silent("work", 100, clock)
    progress.done_before(50)
    assert (progress.share, progress.remaining) == (0.5, None)
    clock.now = 10.0
    progress.advance(5)
    assert (progress.share, progress.remaining) == (0.55, 90.0)
    assert str(progress) == "55%, 0:10, 1:30 to go"
    progress.advance(55)
    assert (progress.share, progress.remaining) == (1.0, 0.0)
    assert console.Silent("work", 0).share == 1.0


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")])
def test_durations_are_hours_minutes_and_seconds(seconds, text):
    assert console.duration(seconds) == text


def test_without_a_terminal_progress_is_a_line_every_ten_seconds_and_at_each_quarter(capsys):
    clock = Clock()
    lines = console.Lines("work", 1000, clock)
    for second in range(100):
        clock.now = float(second)
        lines.advance(2, "more")
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "work: started"
    assert len(printed) == 10
    assert printed[1] == "work: 2%, 0:10, 7:25 to go (more)"
    lines.advance(300)
    assert capsys.readouterr().err.startswith("work: 50%")


def test_quiet_progress_prints_nothing(capsys):
    with console.Terminal(quiet=False).progress(2, "work") as report:
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
    with console.Terminal(quiet=True).progress(2, "work") as report:
        report.done_before(1)
        report.note("half of it was done")
        report.advance(1)
    assert capsys.readouterr() == ("", "")


def test_failed_work_is_not_reported_as_done(capsys):
    with pytest.raises(ValueError, match="no"), console.Terminal(quiet=False).progress(2, "work"):
        raise ValueError("no")
    assert "done" not in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_on_a_terminal_progress_is_a_bar():
    code = (
        "from scwlearn.cli.console import Terminal\n"
        "with Terminal(quiet=False).progress(4, 'work') as report:\n"
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


@pytest.mark.parametrize("width", [30, 40, 100])
def test_a_bar_takes_one_line_and_disappears_at_the_end(monkeypatch, width):
    shown = io.StringIO()
    monkeypatch.setattr(
        "rich.console.Console",
        lambda **_: Console(file=shown, force_terminal=True, width=width, color_system=None),
    )
    with console.bar("learning", 2.0) as report:
        report.advance(1.0)
        report.note("a line")
        report.advance(1.0)
    text = shown.getvalue()
    assert "100%" in text
    # "Up one line and clear it" occurs once, at the end: the bar has one line.
    assert text.count("\x1b[1A") == 1
    assert text.rstrip().endswith("\x1b[2K")
