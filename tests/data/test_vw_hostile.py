"""VW text whose names were chosen to collide in the parser's hash table."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from scwlearn import Features
from scwlearn._native import parse_vw
from vw_text import native

ODD = np.uint64(0x9E3779B97F4A7C15)
# What may stand in a name.
LETTERS = np.array([c for c in range(ord("!"), ord("~") + 1) if chr(c) not in ":|^"], dtype=np.uint64)
READ = """
import sys
import numpy as np
from scwlearn import Features
from scwlearn._native import parse_vw
text = np.frombuffer(sys.stdin.buffer.read(), dtype=np.uint8)
(values, columns, offsets, names, _), *_ = parse_vw(text, Features().spec(), False, False, False, 1)
assert columns.tolist() == list(range(len(names)))
sys.stdout.write(" ".join(names))
"""


def colliding_names(count):
    """Names of 16 bytes with one quick hash: the second half takes back what the first does to it.

    The last bytes of a word reach only the highest bits of its product with an odd number, so that little of the second
    half has to be letters by luck.
    """
    is_letter = np.zeros(256, dtype=bool)
    is_letter[LETTERS] = True
    middle = np.zeros(1, dtype=np.uint64)
    for at in (4, 5, 6):
        middle = (middle[:, None] | LETTERS << np.uint64(8 * at)).ravel()
    found, target = [], None
    with np.errstate(over="ignore"):
        for last in LETTERS:
            one = np.frombuffer(b"name\0\0\0\0", dtype="<u8") | middle | last << np.uint64(56)
            product = (one ^ (np.uint64(16) + ODD)) * ODD
            hashed = product << np.uint64(29) | product >> np.uint64(35)
            if target is None:
                target = hashed[0] ^ np.frombuffer(b"letters!", dtype="<u8")[0]
            other = hashed ^ target
            good = is_letter[other.view(np.uint8).reshape(-1, 8)].all(axis=1)
            found.append(np.stack([one[good], other[good]], axis=1))
            if sum(map(len, found)) >= count:
                break
    return np.concatenate(found)[:count].view("S16").ravel().astype(str).tolist()


def test_the_names_are_made_for_the_hash_that_the_parser_has():
    parser = (Path(__file__).parents[2] / "native" / "parse" / "name_table.hpp").read_text()
    for step in (
        f"kOdd = {ODD:#x};",
        "hash = (text.size() + kOdd) ^ (std::uint64_t{space} << 32);",
        "hash = std::rotl((hash ^ word) * kOdd, 29);",
    ):
        assert step in parser


@native
def test_colliding_names_are_distinguished_in_linear_time():
    names = colliding_names(600_000)
    assert len(set(names)) == 600_000
    text = ("1 | " + " ".join(names) + "\n").encode()
    # Were each of them compared with all before it, this would take many minutes.
    done = subprocess.run([sys.executable, "-c", READ], input=text, capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().split(" ") == names


@native
def test_colliding_names_are_found_again_and_dropped_with_a_bad_line():
    names = colliding_names(3000)
    lines = [names[:200], names[:400], names[300:2000], [*names[100:3000], "a:b"], names[2990:], names]
    text = "".join(f"1 | {' '.join(line)}\n" for line in lines).encode()
    array = np.frombuffer(text, dtype=np.uint8)
    (_, columns, offsets, read, _), *_ = parse_vw(array, Features().spec(), False, False, True, 1)
    kept = [line for line in lines if "a:b" not in line]
    assert sorted(read) == sorted({name for line in kept for name in line})
    for line, begin, end in zip(kept, offsets, offsets[1:], strict=False):
        assert {read[column] for column in columns[begin:end]} == set(line)
