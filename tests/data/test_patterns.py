"""No pattern takes time out of proportion to the text: cells and lines may be megabytes long."""

import importlib
import pkgutil
import re

import pytest

import scwlearn.data


def patterns():
    found = {}
    for module in pkgutil.walk_packages(scwlearn.data.__path__, "scwlearn.data."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                found[f"{module.name}.{name}"] = value
    return found


PATTERNS = patterns()
# What repeats in a text that a pattern could divide in several ways.
REPEATED = [
    "1",
    ".",
    ",",
    "a",
    "A1",
    "_",
    " ",
    "\t",
    '"',
    '""',
    "'",
    "|",
    ":",
    "1 ",
    "1:1 ",
    "a ",
    "1,",
    "-",
    "[",
    "{ ",
]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_matches_a_long_text_in_linear_time(name):
    # With time that grows as the square of the length, this would take hours.
    pattern = PATTERNS[name]
    for start in ("", "1", "a", "1 ", "[", '"', "'"):
        for repeated in REPEATED:
            for end in ("", "x", "\x00"):
                text = start + repeated * 100_000 + end
                found = text if isinstance(pattern.pattern, str) else text.encode()
                pattern.match(found)
                pattern.fullmatch(found)
