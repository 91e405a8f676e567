"""Messages of the library in the words of the command: what Python takes as an argument is a flag here."""

from __future__ import annotations

import re

_FLAGS = {
    "columns": "--numeric, --categorical, --text",
    "fit_intercept": "--no-intercept",
    "zero_based": "--zero-based",
}
_SETTING = re.compile(
    r"^(covariance|initial_variance|variance_floor|multi_class|shared_covariance|scale|max_features)\b"
)

#: What is said of examples that are not mixed.
IN_LONG_RUNS = "the labels come in long runs, as in a sorted file"

_HASHED = 'features with names can be hashed into fewer weights: overflow="hash"'
_SHARED = "--shared-covariance needs --multi-class joint"


def flag(name: str) -> str | None:
    """The flag of an argument of Python; None where there is none."""
    if name in ("max_line_bytes", "max_record_bytes"):
        return None
    return _FLAGS.get(name) or "--" + name.replace("_", "-")


def in_flags(message: str) -> str:
    """A message of the library, with flags for arguments."""
    message = message.replace("may have max_features = ", "may have --max-features ")
    message = message.replace('covariance="diagonal"', "--covariance diagonal")
    message = message.replace(_HASHED, "--hash-bits N takes 2^N")
    message = message.replace('shared_covariance=True needs multi_class="joint"', _SHARED)
    return _SETTING.sub(lambda found: str(flag(found[1])), message)


def counted(number: int, what: str, several: str = "") -> str:
    """How many there are of something: 1 example, 2 examples."""
    return f"{number} {what if number == 1 else several or what + 's'}"
