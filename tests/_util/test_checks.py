"""Argument checks: plain Python values, or errors that say what is allowed."""

import re

import numpy as np
import pytest

from scwlearn._util.checks import check_bool, check_choice, check_int, is_masked


@pytest.mark.parametrize(
    ("checked", "expected"),
    [
        (check_bool("a", np.True_), True),
        (check_int("a", np.int8(3)), 3),
        (check_int("a", 0, minimum=0), 0),
        (check_choice("a", "x", ("x", "y")), "x"),
    ],
)
def test_values_become_plain_python_types(checked, expected):
    assert checked == expected
    assert type(checked) is type(expected)


@pytest.mark.parametrize(
    ("check", "error", "message"),
    [
        (lambda: check_bool("a", 1), TypeError, "a must be True or False, got 1"),
        (lambda: check_int("a", 2.0), TypeError, "a must be an integer >= 1, got 2.0"),
        (lambda: check_int("a", True), TypeError, "a must be an integer >= 1, got True"),
        (lambda: check_int("a", 0), ValueError, "a must be an integer >= 1, got 0"),
        (lambda: check_int("a", 9, maximum=8), ValueError, "a must be an integer from 1 to 8, got 9"),
        (lambda: check_choice("a", "z", ("x", "y")), ValueError, "a must be one of x, y, got 'z'"),
        (lambda: check_choice("a", None, ("x", "y")), ValueError, "a must be one of x, y, got None"),
    ],
)
def test_errors_say_what_is_allowed(check, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        check()


def test_only_arrays_with_masked_values_are_masked():
    assert is_masked(np.ma.array([1, 2], mask=[False, True]))
    assert not is_masked(np.ma.array([1, 2]))
    assert not is_masked([1, 2])
