"""JSON lines against Python's json: the same lines are accepted, and have the features of their dicts.

Ours refuses two things that Python accepts: keys that repeat, and NaN and infinities.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from json_records import expected, parse, rows_of
from scwlearn import Features
from stress.trial import Trial

_LINES = 300
_KINDS = {"n": "numeric", "c": "categorical", "t": "text", "d": "date", "i": "ignore", "o.i": "ignore"}
_FEATURES = [
    Features(),
    Features(kinds=_KINDS, missing="ignore", interactions=(("*", "*"),)),
    Features(kinds=_KINDS, others="ignore", missing=("-", "NA", "0.1"), separator="/", ngram=2, decimal=","),
]
_LETTERS = 'abno.i"\\/\n\t é€😀'
_STRINGS = ("2026-11-17", "2026-11-17T14:30:05Z", "1.5", "1,5", "NA", "-", "Two words", "", "\u2028", "\x7f", "\x00")
_NUMBERS = (0.1, 5e-324, 2.5e-310, 1e23, 2**53 + 1, 10**40, -0.0, 1e150, 1e151, 10**400)
_EDITS = [b"", b" ", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b".", b"e", b"+", b"1", b"n", b"null"]
_EDITS += [b"true", b"NaN", b"Infinity", b"\\u", b"\\ud83d", b"\\ude00", b"d800", b"\x00", b"\x7f", b"\xff", b"\xc3"]
_EDITS += [
    b"\xed\xa0\x80",
    b"\xe2\x82\xac",
    b"\t",
    b"a",
    b'"a":1',
    b',"a":1',
    b"\xf0\x9f\x98\x80",
    b"E5",
    b"\xef\xbb\xbf",
]


def _draw_string(random: Random) -> str:
    if random.random() < 0.4:
        return random.choice(_STRINGS)
    return "".join(random.choices(_LETTERS, k=random.randint(0, 6)))


def _draw_value(random: Random, depth: int) -> Any:
    kind = random.randrange(9 if depth else 6)
    if kind == 0:
        return random.choice([None, True, False])
    if kind == 1:
        return random.choice([random.gauss(0, 1), random.randint(-99, 99), random.choice(_NUMBERS)])
    if kind < 6:
        return _draw_string(random)
    if kind == 6:
        return [_draw_string(random) for _ in range(random.randint(0, 4))]
    if kind == 7:
        return [_draw_value(random, 0) for _ in range(random.randint(0, 3))]
    return _draw_record(random, depth - 1)


def _draw_record(random: Random, depth: int) -> dict[str, Any]:
    keys = [
        random.choice("nctdioa") if random.random() < 0.6 else _draw_string(random) for _ in range(random.randint(0, 5))
    ]
    return {key: _draw_value(random, depth) for key in keys}


def _draw_line(random: Random, broken: float) -> bytes:
    layout = random.choice([(", ", ": "), (",", ":"), (" ,\t", "\t: ")])
    text = json.dumps(_draw_record(random, 2), separators=layout, ensure_ascii=random.random() < 0.5)
    line = text.encode("utf-8", "surrogatepass")
    while random.random() < broken:
        at = random.randint(0, len(line))
        line = line[:at] + random.choice(_EDITS) + line[at + random.randint(0, 3) :]
    return line


def _case(random: Random) -> int:
    features, broken = random.choice(_FEATURES), random.choice([0.0, 0.3, 0.6])
    lines = [line for line in (_draw_line(random, broken) for _ in range(_LINES)) if line.strip(b" \t\r")]
    # A mark at the start of the file is no part of the first line.
    lines = [b"{}", *lines]
    wanted = [expected(line, features) for line in lines]
    result = parse(b"".join(line + b"\n" for line in lines), features, skip=True)
    found = dict(zip(result[3].tolist(), rows_of(result), strict=True))
    for number, (line, row) in enumerate(zip(lines, wanted, strict=True), 1):
        assert found.get(number) == row, f"{line!r} by {features}: {found.get(number)}, not {row}"
    return len(lines)


TRIAL = Trial(
    claim="JSON lines are read as Python's json reads them: the same lines are accepted, and have the same features",
    unit="lines",
    case=_case,
    quick=8,
    long=35_000,
)
