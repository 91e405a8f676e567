"""Which thread has a model: one that learns, or one that reads all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from scwlearn._native import Holding, Lock

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Locked(Protocol):
    """A model with a lock; models in the same memory have the same lock."""

    @property
    def _lock(self) -> Lock: ...


Self = TypeVar("Self", bound=Locked)
Method = Callable[Concatenate[Self, Arguments], Result]


def changing(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
    """Let a method that changes a model wait for other threads that change it or read all of it."""

    @wraps(method)
    def alone(self: Self, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        with self._lock.changing:
            return method(self, *args, **named)

    return cast(Method[Self, Arguments, Result], alone)


def reading(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
    """Let a method that reads all of a model wait for other threads that change it."""

    @wraps(method)
    def alone(self: Self, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        with self._lock:
            return method(self, *args, **named)

    return cast(Method[Self, Arguments, Result], alone)


def unchanged(models: Iterable[Any]) -> Holding:
    """Return a block that keeps other threads from changing some models; what has no lock is left to the block."""
    locks = (getattr(model, "_lock", None) for model in models)
    return Holding([lock for lock in locks if lock is not None])


class Frozen:
    """A copy that nothing else uses, to be pickled as it is; unpickling returns an equal object."""

    def __init__(self, copied: Any) -> None:
        self._copied = copied

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return _restored, (type(self._copied), self._copied._plain_state())


def _restored(kind: type[Any], state: dict[str, Any]) -> Any:
    restored = object.__new__(kind)
    restored.__setstate__(state)
    return restored
