"""Names, labels and numbers that are hard to write and to read again."""

from __future__ import annotations

import struct
from random import Random

# Characters that some format, some library or some terminal takes for more than a letter.
TROUBLE = [
    *" \t\n\r\v\f\0\x01\x1a\x1b\x1c\x1d\x1e\x1f\x7f\x80\x85\xa0\xad\u1680\u2003\u2028\u2029\u200b\u200d\u202e\u3000",
    *"\ufeff\ufffe\uffff\ufffd\u0301\u00df\u0130\u01c6\u0663\uff11\u6f22\U0001f600\U0010ffff\ud800\udbff\udc00\udfff",
    *"\"'`,;:|\\/#{}[]()<>=^~*.+-_%&$@!?",
]
# Texts that some format takes for a number, a missing value, a date, a bool, a comment, a record or a name of its own.
WORDS = [
    *("", "0", "1", "-1", "01", "1.0", "1e5", "1E5", "+1", "-0", ".5", "5.", "0x10", "1_000", "1,5", "1e400", "1e-400"),
    *("9007199254740993", "12345678901234567890", "0.1", "1e+16", "1e16", " 1", "1 ", "1\n", "\u0661", "1\u2028"),
    *("nan", "NaN", "NA", "N/A", "NaT", "null", "None", "none", "?", "inf", "-Infinity", "true", "True", "FALSE"),
    *("2026-11-17", "2026-11-17 14:30", "17.11.2026", "Nov 17, 2026", "label", "Label", "weight", "target", "class"),
    *("y", "id", "row", "(intercept)", "a=b", "a=", "=", "a==b", "a^b", "^a", "^", "a.b", ".", "a.weekday.sin", "a~b"),
    *("qid:1", "1:2", "1 1:2", "'t", "|a", "a|b", "1 |a", "#a", "{", "[", '{"a":1}', "[{", "[]", "[[1]]", "ARROW1"),
    *("PAR1", '"', '""', '"a', 'a"', 'a"b', '"a",b', "\\", "\\n", "\\u0000", "\\ud800", "a\\", "\ufeffa", "\ufeff"),
    *("a\0", "\0", "a\0b", "=1+1", "\u00e9", "e\u0301", "three little words", "x" * 256, "x" * 257, "\U0001f600" * 256),
]
_PLAIN = "abcxyzABC019_\u00e9"
# Ends of the range of doubles, and numbers whose decimal form is long or easily rounded.
_FLOATS = [
    *(5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1e-300, 1e-7, 0.1, 0.30000000000000004, 1 / 3, 1.0, 2.0),
    *(123456789.12345679, 2.0**53 - 1, 2.0**53, 2.0**53 + 2, 1e15, 1e16, 1e17, 1e21, 1e22, 1e23, 8.41e21, 9.5e-323),
    *(2.0**63, 2.0**64, 1.7976931348623157e149, 1e150, 9.999999999999999e149, 4.35, 17.0, 65536.0, 1e100, 0.0),
]


def draw_alphabet(random: Random) -> str:
    """Return letters and up to three troublemakers, so that many texts have one, but few have several."""
    return _PLAIN + "".join(random.choice(TROUBLE) for _ in range(random.choice([0, 0, 1, 1, 2, 3])))


def draw_text(random: Random, alphabet: str, *, words: float = 0.05) -> str:
    """Return a text; one of `WORDS` with the given probability."""
    if random.random() < words:
        return random.choice(WORDS)
    # Troublemakers are at the end of the alphabet.
    at_most = min(6, 1 + int(random.expovariate(0.5)))
    letters = [
        alphabet[-1 - random.randrange(3)] if random.random() < 0.3 else random.choice(alphabet) for _ in range(at_most)
    ]
    return "".join(letters)


def draw_float(random: Random) -> float:
    """Return a number of at most 1e150 in magnitude."""
    if random.random() < 0.5:
        return random.choice(_FLOATS) * random.choice([1.0, -1.0])
    if random.random() < 0.5:
        return random.gauss(0.0, 1.0) * 10.0 ** random.randint(-8, 8)
    (number,) = struct.unpack("<d", random.getrandbits(64).to_bytes(8, "little"))
    return float(number) if abs(number) <= 1e150 else random.random()
