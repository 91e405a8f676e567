"""Messages of the library in the words of the command: what Python takes as an argument is a flag here."""

from __future__ import annotations

import re

_FLAGS = {
    "columns": "--numeric, --categorical, --text",
    "fit_intercept": "--no-intercept",
    "zero_based": "--zero-based",
}
# Nothing but what the library itself says; names out of the data are in quotes, and stay.
_BOTH = re.compile(r"(--[a-z]+(?: and --[a-z]+)?) \((?:[a-z]+=(?:, )?)+\)")
_CHOSEN = re.compile(r"(of which|data are read;) ([a-z_, ]+) cannot be chosen(?:; ([a-z_, ]+) can$| again$)")
_LIMIT = re.compile(r"at most max_(?:line|record)_bytes=(\d+) bytes")
_SETTING = re.compile(
    r"^(covariance|initial_variance|variance_floor|multi_class|shared_covariance|scale|max_features)\b"
)

#: What is said of examples that are not mixed.
IN_LONG_RUNS = "the labels come in long runs, as in a sorted file"

_HASHED = 'features with names can be hashed into fewer weights: overflow="hash"'
_SHARED = "--shared-covariance needs --multi-class joint"


def flag(name: str) -> str:
    """The flag of an argument of Python."""
    return _FLAGS.get(name) or "--" + name.replace("_", "-")


def in_flags(message: str) -> str:
    """A message of the library, with flags for arguments."""
    message = _BOTH.sub(r"\1", message)
    message = message.replace("for a file that counts from 0 use zero_based=True", "--zero-based counts from 0")
    message = _CHOSEN.sub(_not_to_be_chosen, message)
    message = _LIMIT.sub(r"at most \1 bytes", message)
    message = message.replace("may have max_features = ", "may have --max-features ")
    message = message.replace('covariance="diagonal"', "--covariance diagonal")
    message = message.replace(_HASHED, "--hash-bits N takes 2^N")
    message = message.replace('shared_covariance=True needs multi_class="joint"', _SHARED)
    return _SETTING.sub(lambda found: flag(found[1]), message)


def counted(number: int, what: str, several: str = "") -> str:
    """How many there are of something: 1 example, 2 examples."""
    return f"{number} {what if number == 1 else several or what + 's'}"


def _not_to_be_chosen(found: re.Match[str]) -> str:
    names, allowed = _listed(found[2]), found[3]
    return f"{found[1]} {names} cannot be chosen" + (" again" if allowed is None else f"; {_listed(allowed)} can")


def _listed(names: str) -> str:
    return ", ".join(flag(name) for name in names.split(", "))
