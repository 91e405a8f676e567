"""Ctrl-C, and other signals whose handlers may raise, while a model changes: they take effect at chosen places only."""

from __future__ import annotations

# The functions behind those of the module `signal`, which take ten times as long to convert their answers to enums.
import _signal  # type: ignore[import-not-found]
import os
import signal
from collections.abc import Callable
from threading import get_ident, main_thread
from typing import Any

_Handler = Callable[[int, Any], object]

# Those that often have a handler: Ctrl-C, the end of a process, of its terminal or of a time limit, and a user's own.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
_SIGNALS = [int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name)]


class _State:
    """What the main thread holds; Python runs the handlers of signals in no other thread."""

    def __init__(self) -> None:
        self.handlers: dict[int, _Handler] = {}
        #: The thread that holds signals, and whether they take effect at once nevertheless.
        self.holder: int | None = None
        self.is_open = False
        self.received: list[tuple[int, Any]] = []


_state = _State()


class interrupts_held:
    """Let signals take effect after the block, or where the block calls `check_interrupts`.

    The handlers of the signals are replaced for the time of the block. A block within another one changes nothing, so
    the outermost one decides what is done as a whole, unless it is `interruptible` there: a user's function may use
    another model. Only the main thread is ever interrupted; in others, the block changes nothing either.
    """

    __slots__ = ("_is_outermost", "_was_open")

    def __enter__(self) -> None:
        self._is_outermost = self._was_open = False
        if _state.holder is not None:
            if _state.is_open and _holds():
                self._was_open, _state.is_open = True, False
            return
        if get_ident() != main_thread().ident:
            return
        try:
            for number in _SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler) and handler is not _receive:
                    _state.handlers[number] = handler
                    _signal.signal(number, _receive)
            _state.is_open = False
            self._is_outermost, _state.holder = True, get_ident()
        except ValueError:
            # In a subinterpreter, which no signal interrupts.
            return
        except BaseException:
            _restore_handlers()
            raise

    def __exit__(self, *_: object) -> None:
        if self._was_open:
            _state.is_open = True
            _deliver()
        if not self._is_outermost:
            return
        try:
            # From here on, `_receive` passes signals on, which may interrupt this method.
            _state.holder = None
            _restore_handlers()
        finally:
            _restore_handlers()
            _deliver()


class interruptible:
    """Let signals take effect at once within `interrupts_held`: the block may take long, and can be undone."""

    __slots__ = ("_was_open",)

    def __enter__(self) -> None:
        self._was_open = _state.is_open
        if _holds():
            _state.is_open = True
            _deliver()

    def __exit__(self, *_: object) -> None:
        if _holds():
            _state.is_open = self._was_open


def check_interrupts() -> None:
    """Let the signals that `interrupts_held` has received take effect now; an error undoes what the block has done."""
    if _state.received and _holds():
        _deliver()


def _holds() -> bool:
    return _state.holder == get_ident()


def _restore_handlers() -> None:
    for number in _SIGNALS:
        if _signal.getsignal(number) is _receive:
            _signal.signal(number, _state.handlers[number])


def _receive(number: int, frame: Any) -> None:
    """Keep a signal for later, unless it may take effect now."""
    if all(number != other for other, _ in _state.received):
        _state.received.append((number, frame))
    if _state.is_open or _state.holder is None:
        _deliver()


def _deliver() -> None:
    """Call the handlers of all signals received."""
    while True:
        try:
            number, frame = _state.received.pop(0)
        except IndexError:
            # Perhaps another signal, which came in here, has delivered them.
            return
        # What handlers raise is handled by code that must not be interrupted.
        was_open, _state.is_open = _state.is_open, False
        try:
            _state.handlers[number](number, frame)
            _state.is_open = was_open
        finally:
            handler = _signal.getsignal(number)
            if _state.holder is not None and handler is not _receive and callable(handler):
                # The handler has replaced itself.
                _state.handlers[number] = handler
                _signal.signal(number, _receive)
            _deliver()


def _forget_other_thread() -> None:
    """Hold nothing in a process that another thread than the holder has forked."""
    if not _holds():
        _state.holder = None
        _state.received.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_thread)
