"""The end of a command by a signal: it cleans up, and exits with 128 plus the number of the signal, as shells do."""

from __future__ import annotations

import os
import signal
from types import FrameType

# What a command says when a signal ends it.
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if hasattr(signal, "SIGHUP"):  # not on Windows
    _WORDS[signal.SIGHUP] = "the terminal was closed"

_received = signal.SIGINT
_is_over = False
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


def _leave_closed_terminals() -> None:
    """Drop what is written to a terminal that is gone; otherwise, cleaning up would end at its first message."""
    gone = [terminal for terminal in _terminals if not os.isatty(terminal)]
    if gone:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for terminal in gone:
            os.dup2(nowhere, terminal)
        os.close(nowhere)
