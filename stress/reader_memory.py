"""Memory that readers take: bounded by the bytes that they read, whatever these contain."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from scwlearn import Features
from scwlearn.data.io.errors import DataError
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from stress.limited import Forks
from stress.trial import Trial

__all__ = ["TRIAL", "run", "warm"]


def _zstd(data: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": _zstd,
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TEXT = {"text": "text"}
# Bytes of text that options may multiply.
_MOST_EXPANDED = 10**5
#: Bytes that any reader may take, however short its data are, and bytes for each byte of the data.
CONSTANT, FACTORS = (
    64 * 2**20,
    {"libsvm": 40, "vw": 150, "csv": 150, "tsv": 150, "jsonl": 150, "json": 150, "arrow": 40},
)
#: More for a reader with options that multiply features: a record may have two million.
EXPANDED = 1000 * 2**20


def warm() -> None:
    """Import everything that reading needs."""
    random = Random(0)
    for kind in KINDS:
        _read(kind, *KINDS[kind](random, 1000))


def run(random: Random) -> int:
    """Read data that take much memory, and check how much."""
    kind = random.choice([*KINDS])
    size = int(10 ** random.uniform(3, 7))
    data, options = KINDS[kind](random, size)
    packing = random.choice(["", "", *PACKERS]) if kind != "arrow" else ""
    packed = PACKERS[packing](data) if packing else data
    taken = measure(kind, packed, options)
    format = kind.split()[0]
    bound = CONSTANT + FACTORS[format] * len(data) + (EXPANDED if expands(options) else 0)
    told = f"{kind} {packing}: {taken:,} bytes for {len(data):,} of data, {len(packed):,} packed; {options}"
    assert taken <= bound, told
    return len(data)


def measure(kind: str, data: bytes, options: dict[str, Any]) -> int:
    """Return how many bytes of memory reading takes at most, beyond what the process has."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak()
    _read(kind, data, options)
    return _peak() - before


def expands(options: dict[str, Any]) -> bool:
    """Return whether options multiply the features of a text."""
    features = options.get("features", Features())
    return bool(features.interactions or features.ngram > 1 or features.char_ngrams)


def _peak() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _read(kind: str, data: bytes, options: dict[str, Any]) -> None:
    given = dict(options)
    slots = given.pop("slots", 0)
    try:
        _, batches = read_batches(
            [io.BytesIO(data)], options=ReaderOptions(slots=slots), format=kind.split()[0], **given
        )
        for _ in batches:
            pass
    except DataError:
        # A clear error about a record that is too large is as good.
        pass


# -- Data that take as much memory as possible for their size

#: The data and the options to read them with.
Drawn = tuple[bytes, dict[str, Any]]


def _words(count: int, first: int = 0) -> list[str]:
    """Return short words, all different."""
    found = []
    for number in range(first, first + count):
        word = ""
        while number or not word:
            number, letter = divmod(number, 26)
            word += _LETTERS[letter]
        found.append(word)
    return found


def _draw_features(random: Random, size: int) -> Features:
    """Return features of a text, multiplied by options only where that does not take minutes."""
    if size > _MOST_EXPANDED:
        return random.choice([Features(kinds=_TEXT), Features(kinds=_TEXT, ngram=2)])
    expanding: list[dict[str, Any]] = [
        {},
        {"ngram": 2},
        {"ngram": 5, "skips": 3},
        {"char_ngrams": (1, 32), "max_word_length": 10_000},
        {"interactions": ["text:text"]},
    ]
    return Features(kinds=_TEXT, **random.choice(expanding))


def _many_words(random: Random, size: int) -> list[list[str]]:
    """Return the words of records."""
    words = _words(max(1, size // 5))
    length = random.choice([1, 20, 1000, 100_000, len(words)])
    return [words[i : i + length] for i in range(0, len(words), length)]


def _libsvm_values(random: Random, size: int) -> Drawn:
    length = random.choice([0, 1, 100, 10_000])
    first = random.choice([1, 2**30])
    line = "1" + "".join(f" {first + i}:1" for i in range(length)) + "\n"
    return (line * (size // len(line) + 1)).encode(), {}


def _vw_words(random: Random, size: int) -> Drawn:
    text = "".join(f"1 |text {' '.join(words)}\n" for words in _many_words(random, size))
    features = replace(_draw_features(random, size), kinds={})
    return text.encode(), {"features": features, "slots": random.choice([0, 1000])}


def _vw_namespaces(random: Random, size: int) -> Drawn:
    return ("1 " + " ".join(f"|{word} a" for word in _words(size // 7 + 1)) + "\n").encode(), {}


def _csv_columns(random: Random, size: int) -> Drawn:
    rows = random.choice([1, 2, 10])
    names = _words(max(1, size // (6 + 2 * rows)))
    lines = [",".join(["label", *(f"{name}_" for name in names)])]
    cell = random.choice(["1", "0", "", "a"])
    lines += [",".join([str(i % 2), *([cell] * len(names))]) for i in range(rows)]
    return "\n".join([*lines, ""]).encode(), {"label": "label"}


def _csv_short_records(random: Random, size: int) -> Drawn:
    cell = random.choice(["0", "1", "x", ""])
    return b"label,a\n" + f"1,{cell}\n".encode() * (size // 4 + 1), {"label": "label", "features": _draw_kind(cell)}


def _draw_kind(cell: str) -> Features:
    return Features(kinds={"a": "categorical" if cell == "x" else "numeric"})


def _csv_labels(random: Random, size: int) -> Drawn:
    text = "".join(f"{word},1\n" for word in _words(size // 7 + 1))
    return b"label,a\n" + text.encode(), {"label": "label", "features": Features(kinds={"a": "numeric"})}


def _csv_text(random: Random, size: int) -> Drawn:
    lines = ["label,text", *(f"{i % 2},{' '.join(words)}" for i, words in enumerate(_many_words(random, size))), ""]
    return "\n".join(lines).encode(), {"label": "label", "features": _draw_features(random, size)}


def _csv_one_cell(random: Random, size: int) -> Drawn:
    return b'label,text\n1,"' + b"\n" * size + b'"\n', {"label": "label", "features": _draw_features(random, size)}


def _json_text(random: Random, size: int) -> Drawn:
    each = enumerate(_many_words(random, size))
    lines = [json.dumps({"label": i % 2, "text": " ".join(words)}) for i, words in each]
    return "\n".join([*lines, ""]).encode(), {
        "features": _draw_features(random, size),
        "slots": random.choice([0, 0, 1000]),
    }


def _json_keys(random: Random, size: int) -> Drawn:
    words = _words(max(1, size // 9))
    length = random.choice([1, 100, len(words)])
    lines = [json.dumps({"label": 1} | dict.fromkeys(words[i : i + length], 1)) for i in range(0, len(words), length)]
    return "\n".join([*lines, ""]).encode(), {}


def _json_nested(random: Random, size: int) -> Drawn:
    depth = random.choice([2, 30, 1000])
    record = '{"label":1,"a":' + '{"b":' * depth + "1" + "}" * depth + "}"
    return ((record + "\n") * (size // len(record) + 1)).encode(), {}


def _json_lists(random: Random, size: int) -> Drawn:
    words = ",".join(f'"{word}"' for word in _words(max(1, size // 8)))
    return f'{{"label":1,"text":[{words}]}}\n'.encode(), {"features": _draw_features(random, size)}


def _json_array(random: Random, size: int) -> Drawn:
    lines, options = random.choice([_json_text, _json_keys, _json_nested])(random, size)
    return b"[" + b",".join(lines.splitlines()) + b"]", options


def _arrow_columns(random: Random, size: int) -> Drawn:
    import pyarrow as pa
    import pyarrow.feather

    names = _words(max(1, size // 200))
    file = io.BytesIO()
    pyarrow.feather.write_feather(pa.table({"label": [0, 1]} | {f"{name}_": [1.0, 2.0] for name in names}), file)
    return file.getvalue(), {"label": "label"}


def _arrow_text(random: Random, size: int) -> Drawn:
    import pyarrow as pa
    import pyarrow.feather

    texts = [" ".join(words) for words in _many_words(random, size)]
    file = io.BytesIO()
    table = pa.table({"label": [i % 2 for i in range(len(texts))], "text": texts})
    pyarrow.feather.write_feather(table, file, compression="uncompressed")
    return file.getvalue(), {"label": "label", "features": _draw_features(random, size)}


KINDS: dict[str, Callable[[Random, int], Drawn]] = {
    "libsvm values": _libsvm_values,
    "vw words": _vw_words,
    "vw namespaces": _vw_namespaces,
    "csv columns": _csv_columns,
    "csv short records": _csv_short_records,
    "csv labels": _csv_labels,
    "csv text": _csv_text,
    "csv one cell": _csv_one_cell,
    "jsonl text": _json_text,
    "jsonl keys": _json_keys,
    "jsonl nested": _json_nested,
    "jsonl lists": _json_lists,
    "json array": _json_array,
    "arrow columns": _arrow_columns,
    "arrow text": _arrow_text,
}

_forks = Forks("stress.reader_memory")

TRIAL = Trial(
    claim="A reader takes a bounded multiple of the bytes that it reads, whatever they contain",
    unit="bytes",
    case=lambda random: _forks.run(str(random.getrandbits(64))),
    quick=8,
    long=2_000,
)
