"""The end of a command by a signal: none is lost."""

import signal
import subprocess
import sys
from threading import Event

import pytest

from scwlearn.cli.ending import end_at_signals, ending, ignore_signals


@pytest.fixture(autouse=True)
def _signals_end_the_command(monkeypatch):
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    end_at_signals()
    yield
    ignore_signals()
    for number, handler in before.items():
        signal.signal(number, handler)


class Interrupted:
    def __init__(self, number):
        self.number = number

    def __del__(self):
        signal.raise_signal(self.number)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_a_destructor_ends_the_command_soon_after(number, code, capsys):
    Interrupted(number)
    with pytest.raises(KeyboardInterrupt):
        Event().wait(60)
    assert ending()[1] == code
    assert capsys.readouterr().err == ""


def test_other_errors_in_destructors_are_reported(monkeypatch):
    class Broken:
        def __del__(self):
            raise ValueError("broken")

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: reported.append(error.exc_type))
    end_at_signals()
    Broken()
    assert reported == [ValueError]


def test_a_command_that_a_signal_has_ended_does_not_wait_for_others():
    hang = "atexit.register(threading.Event().wait)"
    change = "cli._PATIENCE, cli._run = 0.1, lambda: 143"
    code = f"import atexit, threading, scwlearn.cli as cli; {hang}; {change}; cli.console()"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 143
