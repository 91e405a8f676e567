"""Helpers for the tests of VW text: a plain parser, written from the description of the format."""

import io
import re

import pytest

from scwlearn.data.options import ReaderOptions
from table_text import Reading, schema_of

native = pytest.mark.native
LARGEST = 1e150
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Refused(Exception):
    """A line that no parser should accept."""


def read(text, *, ignore=(), **options):
    return [*Reading(io.BytesIO(text), schema_of("vw", ignore=ignore), ReaderOptions(**options))]


def examples(text, **options):
    """Label (None if missing), weight, tag, features by name and line of each example."""
    found = []
    for batch in read(text, **options):
        (block,) = batch.x.rows.blocks(len(batch))
        for i in range(len(batch)):
            has = batch.labels is not None and (batch.labelled is None or batch.labelled[i])
            begin, end = block.offsets[i], block.offsets[i + 1]
            columns = block.indices[begin:end].tolist()
            assert len(columns) == len(set(columns))
            values = block.values[begin:end].tolist()
            features = {batch.x.names[j]: value for j, value in zip(columns, values, strict=True)}
            label = batch.labels[i].item() if has else None
            weight = 1.0 if batch.weights is None else float(batch.weights[i])
            tag = "" if batch.tags is None else batch.tags[i]
            found.append((label, weight, tag, features, int(batch.lines[i])))
    return found


def number(word):
    if not NUMBER.fullmatch(word) or not abs(float(word)) <= LARGEST:
        raise Refused(word)
    return float(word)


def checked(word):
    if any(ord(c) < 32 or ord(c) == 127 for c in word):
        raise Refused(word)
    return word


def read_plainly(text, *, optional=False, ignore=()):
    """Return the examples of a text, read line by line, and the number of bad lines, which are skipped."""
    found, faulty, words = [], 0, None
    for at, line in enumerate(text.removesuffix(b"\n").split(b"\n"), start=1):
        line = line.removesuffix(b"\r")
        if not line.strip(b" \t"):
            continue
        if not optional and is_unlabelled(line):
            continue
        try:
            decoded = line.decode()
            label, weight, tag = head_of(decoded.partition("|")[0], optional, "|" in decoded)
        except (Refused, UnicodeDecodeError):
            # An invalid character after the label does not change the label.
            words = kind_of(line, words)
            faulty += 1
            continue
        words = kind_of(line, words)
        try:
            if label is not None and isinstance(label, str) != words:
                raise Refused(label)
            features = {n: v for n, v in features_of(decoded.partition("|")[2], ignore).items() if v}
        except Refused:
            faulty += 1
            continue
        found.append((label, weight, tag, features, at))
    return found, faulty


def is_unlabelled(line):
    """Whether nothing but a tag that starts with a quote precedes the bar."""
    head, bar, _ = line.partition(b"|")
    parts = [part for part in re.split(b"[ \t]", head) if part]
    touches = head[-1:] not in (b"", b" ", b"\t")
    return bool(bar) and not touches and (not parts or (len(parts) == 1 and parts[0].startswith(b"'")))


def kind_of(line, words):
    """Return whether labels are words, given this line."""
    head, bar, _ = line.partition(b"|")
    if words is not None or not bar:
        return words
    try:
        label, _ = label_of(without_tag(head.decode("utf-8", "surrogateescape"))[0][:1])
    except Refused:
        return None
    return words if label is None else isinstance(label, str)


def without_tag(head):
    parts = [part for part in re.split("[ \t]", head) if part]
    glued = head[-1:] not in ("", " ", "\t")
    if parts and (glued or parts[-1].startswith("'")):
        return parts[:-1], parts[-1].removeprefix("'")
    return parts, ""


def label_of(parts):
    label = None
    if parts:
        word = parts[0]
        if NUMBER.fullmatch(word):
            label = number(word)
        elif re.search("[:,]", word) or re.fullmatch(r"[+-]?(nan|inf|infinity)", word, re.I | re.A):
            raise Refused(word)
        else:
            label = checked(word)
            if len(label) > 256:
                raise Refused(word)
            try:
                label.encode()
            except UnicodeEncodeError:
                raise Refused(word) from None
    return label, parts[1:]


def head_of(head, optional, has_bar):
    if not has_bar:
        raise Refused("no bar")
    parts, tag = without_tag(head)
    label, rest = label_of(parts)
    if (label is None and not optional) or len(rest) > 1:
        raise Refused(head)
    weight = number(rest[0]) if rest else 1.0
    if weight != 0 and not 1e-100 <= weight <= 1e100:
        raise Refused(head)
    return label, weight, checked(tag)


def features_of(text, ignore):
    features = {}
    for part in text.split("|"):
        words = re.split("[ \t]", part)
        space, scale = valued(words[0], 1.0)
        if "^" in space:
            raise Refused(space)
        for word in filter(None, words[1:]):
            name, value = valued(word, 1.0)
            if not name:
                raise Refused(word)
            value *= scale
            if not abs(value) <= LARGEST:
                raise Refused(word)
            if space not in ignore:
                features.setdefault(f"{space}^{name}" if space else name, []).append(value)
    return {name: summed(values) for name, values in features.items()}


def valued(word, otherwise):
    name, colon, value = word.partition(":")
    if colon and not name:
        raise Refused(word)
    return checked(name), number(value) if colon else otherwise


def summed(values):
    """Added up in the order in which they stand, as a machine does it."""
    total, *rest = values
    for value in rest:
        total += value
        if not abs(total) <= LARGEST:
            raise Refused(total)
    return total
