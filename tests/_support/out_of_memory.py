"""Calls that fail for lack of memory, and the complete state of a model."""

import sys
from types import FunctionType, MethodType

import numpy as np

import scwlearn
from scwlearn._util.memory import give_back_memory, memory_held, new_memory

_PACKAGE = scwlearn.__path__[0]
# Native handles, which are made when they are needed, and what was found in the data.
_NOT_STATE = {"_named", "_plain", "by_one", "findings", "_has_warned"}


class OutOfMemory:
    """Lets a call of a function in scwlearn raise a MemoryError, before it begins, and counts the calls.

    From where `give_back_memory` gives back what was held for the rest, no call fails.

    Parameters
    ----------
    at : int
        The number of the call that fails.
    """

    def __init__(self, at):
        self.at, self.calls, self.failed, self._over = at, 0, False, False

    def __enter__(self):
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _profile(self, frame, event, called):
        if event not in ("call", "c_call"):
            return
        caller = frame if event == "c_call" else frame.f_back
        if caller is None or not caller.f_code.co_filename.startswith(_PACKAGE):
            return
        if event == "call" and frame.f_code is new_memory.__code__ and caller.f_code is memory_held.__enter__.__code__:
            self._over = False
        if self._over:
            return
        if event == "call" and frame.f_code is give_back_memory.__code__:
            self._over = True
            return
        # Destructors and the ends of `with` blocks allocate nothing, and errors raised in them would be lost.
        name = frame.f_code.co_name if event == "call" else called.__name__
        if name in ("__exit__", "__del__", "close") or "except" in name:
            return
        self.calls += 1
        if self.calls > self.at:
            self.failed = True
            raise MemoryError


def complete_state(value):
    """Return all that a model knows, bit for bit, in a form that can be compared."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes() if value.dtype != object else value.tolist()
    if isinstance(value, dict):
        return [(repr(name), complete_state(kept)) for name, kept in value.items() if name not in _NOT_STATE]
    if isinstance(value, tuple | list):
        return [complete_state(kept) for kept in value]
    if isinstance(value, str | int | float | bool | None | type | FunctionType | MethodType):
        return value
    if type(value).__module__.startswith("scwlearn"):
        state = value.__getstate__()
        slots = [state] if state is not None else []
        return [type(value).__name__, *map(complete_state, slots)]
    return repr(value)
