"""The end of a command by a signal: it cleans up, and exits with 128 plus the number of the signal, as shells do."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from threading import Timer, main_thread
from types import FrameType
from typing import Any

# What a command says when a signal ends it.
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if hasattr(signal, "SIGHUP"):  # not on Windows
    _WORDS[signal.SIGHUP] = "the terminal was closed"

_received = signal.SIGINT
_is_over = False
# Seconds after which a signal that was lost is repeated.
_AGAIN = 0.01
# Standard output and standard error, where they are terminals.
_terminals: list[int] = []


def end_at_signals() -> None:
    """Raise KeyboardInterrupt at the first SIGINT, SIGTERM or SIGHUP; ignore later ones, so that it can clean up."""
    global _is_over
    _is_over = False
    _terminals[:] = filter(os.isatty, (1, 2))
    for number in _WORDS:
        # Background jobs may run with a signal ignored, as nohup does.
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _end)
    sys.unraisablehook = partial(_repeat_if_lost, sys.unraisablehook)


def ignore_signals() -> None:
    """Ignore these signals from now on: the command has ended."""
    global _is_over
    _is_over = True


def ending() -> tuple[str, int]:
    """Return what a command says when a signal ends it, and its exit code."""
    return _WORDS[_received], 128 + _received


def _end(number: int, _: FrameType | None) -> None:
    global _received, _is_over
    if not _is_over:
        _received, _is_over = signal.Signals(number), True
        _leave_closed_terminals()
        raise KeyboardInterrupt


def _repeat_if_lost(report: Any, error: Any) -> None:
    """Repeat a signal that came in a destructor or a callback of Python's own, whose exceptions are ignored."""
    global _is_over
    if not isinstance(error.exc_value, KeyboardInterrupt):
        report(error)
        return
    _is_over = False
    # What is raised before this function returns would be ignored, too.
    timer = Timer(_AGAIN, _send, (_received,))
    timer.daemon = True
    timer.start()


def _send(number: int) -> None:
    """Send a signal to the main thread, and so end what it waits for."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, number)
    else:  # Windows
        signal.raise_signal(number)


def _leave_closed_terminals() -> None:
    """Drop what is written to a terminal that is gone; otherwise, cleaning up would end at its first message."""
    gone = [terminal for terminal in _terminals if not os.isatty(terminal)]
    if gone:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for terminal in gone:
            os.dup2(nowhere, terminal)
        os.close(nowhere)
