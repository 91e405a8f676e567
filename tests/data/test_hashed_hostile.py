"""Names whose hashes were chosen to collide in the table of hashed names: their slots are known to everybody."""

import subprocess
import sys

import numpy as np

from scwlearn import Features
from scwlearn._native import parse_vw
from vw_text import native

LETTERS = np.array([c for c in range(ord("!"), ord("~") + 1) if chr(c) not in ":|^"], dtype=np.uint8)
READ = """
import sys
import numpy as np
from scwlearn import Features
from scwlearn._native import parse_vw
text = np.frombuffer(sys.stdin.buffer.read(), dtype=np.uint8)
(_, columns, _, _, hashes), *_ = parse_vw(text, Features().spec(slots=2**22), False, False, False, 1)
assert columns.tolist() == list(range(len(hashes)))
print(len(hashes), np.unique(hashes % 2**22).size)
"""


def mixed(block):
    """A block of four letters as MurmurHash3 adds it."""
    block = block * np.uint32(0xCC9E2D51)
    return (block << np.uint32(15) | block >> np.uint32(17)) * np.uint32(0x1B873593)


def inverse(factor):
    return np.uint32(pow(factor, -1, 2**32))


def names_of(hashes):
    """Names of eight letters, one for each hash: the second half takes the first half to it."""
    wanted = hashes.copy()
    for shifts, factor in (((16,), 0xC2B2AE35), ((13, 26), 0x85EBCA6B)):
        for shift in shifts:
            wanted ^= wanted >> np.uint32(shift)
        wanted *= inverse(factor)
    wanted ^= wanted >> np.uint32(16)
    wanted = ((wanted ^ np.uint32(8)) - np.uint32(0xE6546B64)) * inverse(5)
    wanted = wanted >> np.uint32(13) | wanted << np.uint32(19)
    chance, left, found = np.random.default_rng(0), np.arange(len(hashes)), {}
    while len(left):
        first = chance.choice(LETTERS, (len(left), 4)).view("<u4").ravel()
        state = mixed(first)
        state = (state << np.uint32(13) | state >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)
        second = (state ^ wanted[left]) * inverse(0x1B873593)
        second = (second >> np.uint32(15) | second << np.uint32(17)) * inverse(0xCC9E2D51)
        good = np.isin(second.view(np.uint8).reshape(-1, 4), LETTERS).all(axis=1)
        names = np.stack([first, second], axis=1)[good].view("S8").ravel().tolist()
        found.update(zip(left[good].tolist(), names, strict=True))
        left = left[~good]
    return [found[i] for i in range(len(hashes))]


@native
def test_names_of_neighbouring_slots_are_distinguished_in_linear_time():
    # With low bits that differ little, they all begin to probe at the same places of a table.
    hashes = np.array([high << 22 | low for low in range(600) for high in range(1024)], dtype=np.uint32)
    text = b"1 | " + b" ".join(names_of(hashes)) + b"\n"
    # Were each of them compared with all before it, this would take some minutes.
    done = subprocess.run([sys.executable, "-c", READ], input=text, capture_output=True, check=True, timeout=60)
    assert done.stdout.split() == [b"614400", b"600"]


@native
def test_the_names_have_the_hashes_that_they_were_made_for():
    hashes = np.arange(1000, dtype=np.uint32) << np.uint32(20)
    text = np.frombuffer(b"1 | " + b" ".join(names_of(hashes)) + b"\n", dtype=np.uint8)
    (_, _, _, _, found), *_ = parse_vw(text, Features().spec(slots=2**20), False, False, False, 1)
    assert found.tolist() == hashes.tolist()
