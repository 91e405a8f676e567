"""Numbers, times and names as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scwlearn.display.formatting import (
    abbreviated,
    count,
    date_time,
    duration,
    parameter_text,
    percent,
    plural,
    short_percent,
    shorten,
    text_width,
)


@pytest.mark.parametrize(
    ("form", "given", "text"),
    [
        (count, [32561], "32,561"),
        (plural, [1, "mistake"], "1 mistake"),
        (plural, [2000, "mistake"], "2,000 mistakes"),
        (plural, [2, "class", "classes"], "2 classes"),
        (percent, [0.1493], "14.93\xa0%"),
        (percent, [1], "100.00\xa0%"),
        (percent, [0.00001], "0.001\xa0%"),
        (short_percent, [0.2], "20\xa0%"),
        (short_percent, [0.025], "2.5\xa0%"),
        (parameter_text, [{"C": 1.0, "eta": 0.9}], "C=1 eta=0.9"),
        (abbreviated, [1234567], "1.23M"),
        (abbreviated, [20000], "20k"),
        (date_time, ["yesterday"], "yesterday"),
    ],
)
def test_numbers_and_names_are_formatted_for_people(form, given, text):
    assert form(*given) == text


def test_large_numbers_and_long_times_are_abbreviated():
    assert [abbreviated(v) for v in (0, 5, 999, 999.9, 1000, 12_345, 1e6, 2.5e13)] == [
        "0", "5", "999", "1k", "1k", "12.3k", "1M", "25T",
    ]  # fmt: skip
    assert [duration(s).replace("\xa0", " ") for s in (0.0421, 59, 61, 3600, 7320)] == [
        "0.0421 s", "59 s", "1 min 1 s", "1 h", "2 h 2 min",
    ]  # fmt: skip


@given(st.text(max_size=60), st.floats(3, 30))
def test_a_shortened_name_fits(text, most):
    short = shorten(text, most)
    assert text_width(short) <= max(most, 1 + 0.6 * most)
    assert short == text or "…" in short
