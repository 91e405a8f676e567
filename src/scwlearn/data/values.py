"""Values in data: what is allowed, how messages show them, and how texts become words."""

from __future__ import annotations

import re
from typing import Any

from scwlearn._native import LARGEST_VALUE

#: What a value may be, for messages.
ALLOWED_NUMBER = f"a finite number of at most {LARGEST_VALUE:g} in magnitude"
#: Labels are kept in an array, each as long as the longest.
MAX_LABEL_LENGTH = 256
#: A namespace, key or column is repeated in the name of each of its features. If it were longer, a small file could
#: exhaust the memory.
MAX_PREFIX_LENGTH = 256

_SHOWN = 40
_find_words = re.compile(r"\w+").findall


def split_words(text: str) -> list[str]:
    """Return the words of a text: runs of letters, digits and ``_``, in lower case.

    Examples
    --------
    >>> from scwlearn.data.values import split_words
    >>> split_words("Don't panic: it's 42 o'clock!")
    ['don', 't', 'panic', 'it', 's', '42', 'o', 'clock']
    """
    return _find_words(text.lower())


def shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    if value is None or value == "":
        return "nothing"
    if isinstance(value, str | bytes):
        return repr(value[:_SHOWN]) + "..." * (len(value) > _SHOWN)
    text = repr(value)
    return text[:_SHOWN] + "..." * (len(text) > _SHOWN)
