"""Text that another thread changes while it is parsed: anything may be read, but nothing outside of the text."""

from threading import Event, Thread

import numpy as np
import pytest

from scwlearn._native import parse_csv, parse_json, parse_libsvm, parse_vw
from scwlearn.data.features import Features

LINES = {
    "libsvm": b"1 1:2 3:4.5 7:1e-3 # c\n",
    "vw": b"1 'tag|a b:2 c |d e f:1.5\n",
    "csv": b'1,2.5,"a ""b"", c",x\n',
    "json": b'{"y": 1, "a": "b\\u00e9c", "d": ["e", "f"], "g": {"h": 2}}\n',
}
# What ends lines, words, cells, names, strings and characters, or starts them.
MARKS = np.frombuffer(b':\n" 1\\,|{}[]a\xc3', dtype=np.uint8)
FLAGS = (True, True, 5)


def parsed(format, text):
    """The values, the offsets of the rows, the number of lines, and the number of those with an error."""
    if format == "libsvm":
        (_, values, _, offsets, _), (lines, _), (faulty, _) = parse_libsvm(text, False, 2**31 - 2, False, *FLAGS)
        return values, offsets, lines, faulty
    spec = Features().spec()
    if format == "vw":
        (values, _, offsets, *_), _, _, _, _, (lines, _), (faulty, _) = parse_vw(text, spec, False, *FLAGS)
        return values, offsets, lines, faulty
    if format == "csv":
        (values, _, offsets, *_), *_, lines, (places, _) = parse_csv(text, spec, [*"abcd"], ",", "any", *FLAGS)
    else:
        ((values, _, offsets, *_), *_, lines, (places, _)), _ = parse_json(text, spec, "any", *FLAGS, "lines", True)
    return values, offsets, lines, len(places)


# Not for ThreadSanitizer: it races on purpose.
@pytest.mark.native
@pytest.mark.parametrize("format", LINES)
def test_a_text_that_changes_while_it_is_parsed_is_read_as_it_was_at_one_time(format):
    good = np.frombuffer(LINES[format] * 4000, dtype=np.uint8)
    text, stopped = good.copy(), Event()

    def change():
        rng = np.random.default_rng(0)
        while not stopped.is_set():
            at = rng.integers(len(text) - 1, size=2000)
            text[at] = rng.choice(MARKS, 2000)
            text[at] = good[at]
            # No features for a while, and no line ends at the end.
            text[good != ord("\n")] = ord(" ")
            text[-3001:-1] = ord(":")
            text[:] = good

    thread = Thread(target=change, daemon=True)
    thread.start()
    try:
        for _ in range(60):
            values, offsets, lines, faulty = parsed(format, text)
            assert len(offsets) - 1 <= lines
            assert faulty <= lines
            assert (np.diff(offsets) >= 0).all()
            assert offsets[-1] == len(values)
    finally:
        stopped.set()
        thread.join()
