"""The end of a command by a signal: it cleans up, and exits with 128 plus the number of the signal, as shells do."""

from __future__ import annotations

import signal
from types import FrameType

# What a command says when a signal ends it.
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

_received = signal.SIGINT
_is_over = False


def end_at_signals() -> None:
    """Raise KeyboardInterrupt at the first SIGINT or SIGTERM; ignore later ones, so that they stop no cleaning up."""
    global _is_over
    _is_over = False
    for number in _WORDS:
        # Background jobs may run with a signal ignored.
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _end)


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM from now on: the command has ended."""
    global _is_over
    _is_over = True


def ending() -> tuple[str, int]:
    """Return what a command says when a signal ends it, and its exit code."""
    return _WORDS[_received], 128 + _received


def _end(number: int, _: FrameType | None) -> None:
    global _received, _is_over
    if not _is_over:
        _received, _is_over = signal.Signals(number), True
        raise KeyboardInterrupt
