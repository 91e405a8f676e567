"""JSON through the native parser: its rows as dicts, its faults, and arrays in pieces."""

import json
import math
from itertools import pairwise

import numpy as np

from scwlearn._native import JsonArrayCutter, parse_json
from scwlearn.data.features import PLAIN
from scwlearn.data.io.errors import DataError


def array(text):
    return np.frombuffer(text, dtype=np.uint8)


def parse(text, features=PLAIN, *, labels="any", label=None, weight=None, part="lines", is_last=True, **flags):
    """Rows, labels, weights, places and number of records, the number of bad ones and the first faults, of a text."""
    optional, skip, most = (flags.get(name) for name in ("optional", "skip", "most"))
    spec = features.spec(label=label, weight=weight)
    flags = bool(optional) or label is None, bool(skip), most or 1
    (*arrays, (bad, first)), places = parse_json(array(text), spec, labels, *flags, part, is_last)
    return (
        *arrays,
        len(bad),
        [(kind, record, *place, *rest) for (kind, record, *rest), place in zip(first, places, strict=True)],
    )


def rows_of(result):
    """The features of each row, as a dict."""
    values, columns, offsets, names, _ = result[0]
    rows = []
    for begin, end in pairwise(offsets.tolist()):
        row = {}
        for column, value in zip(columns[begin:end].tolist(), values[begin:end].tolist(), strict=True):
            row[names[column]] = row.get(names[column], 0.0) + value
        rows.append(row)
    return rows


def pieces(text, size):
    """The pieces of an array, which comes `size` bytes at a time; what they are; and whether each is the last."""
    cutter, buffer, part = JsonArrayCutter(), b"", "array start"
    for at in range(0, len(text), size):
        buffer += text[at : at + size]
        end = cutter.last_end(array(buffer))
        if end:
            yield buffer[:end], part, False
            buffer = buffer[end:]
            part = "array end" if cutter.is_closed else "array rest"
    yield buffer, part, True


def unique(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key repeats")
    return dict(pairs)


def expected(line, features):
    """The features that Python's parser and the reader of dicts find; None if they refuse the text."""

    def constant(name):
        if name == "NaN" and features.missing == "ignore":
            return math.nan
        raise ValueError(name)

    try:
        value = json.loads(line.decode(), object_pairs_hook=unique, parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode()
        return features.read(value) if isinstance(value, dict) else None
    except (ValueError, DataError):
        return None
