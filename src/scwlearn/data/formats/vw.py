"""VW (Vowpal Wabbit) text: one example per line, with named features."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from scwlearn._native import parse_vw, vw_labels_are_words
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.cells import LineWriter, error_at, label_texts, named_cells, number_text
from scwlearn.data.formats import Format
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.lines import Parsed, Text, parse_lines
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.rows import Rows
from scwlearn.data.schema import Schema
from scwlearn.data.values import ALLOWED_NUMBER, MAX_LABEL_LENGTH, MAX_PREFIX_LENGTH
from scwlearn.data.weights import ALLOWED_WEIGHT

# Largest batch with string labels, which are kept in an array, each as long as the longest.
_MAX_ROWS_WITH_STRINGS = 2**16
# Label, weight and tag before the first bar. A comma in the first word is that of a table.
_LINE_START = re.compile(rb"[^\s|,]*\||(?:[^\s|,]+[ \t]+){1,3}[^\s|]*\|")
# Characters that end a name in VW text.
_NOT_IN_NAMES = re.compile(r"[ |:\x00-\x1f\x7f]")
# Labels that would not be read as words.
_NOT_A_WORD = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf|infinity)|'.*|.*,.*", re.ASCII | re.IGNORECASE | re.DOTALL
)
_LINE_FORMAT = "label |namespace name:value name:value ..."


class _Syntax:
    """What a line may contain. The first label decides whether all labels are words or numbers."""

    def __init__(self) -> None:
        self.words: bool | None = None

    def has_words(self, text: Text) -> bool:
        """Return whether the labels are words; chunks must be passed in order."""
        if self.words is None:
            self.words = vw_labels_are_words(text)
        return bool(self.words)

    def error(self, kind: str) -> dict[str, str]:
        """Return the problem for an error of the parser."""
        problems = {
            "bar": "a line must have a bar before its features, as in 1 |words some more",
            "label": f"a line must start with a label, a word or {ALLOWED_NUMBER}",
            "glued": "a line must start with a label and a space; text that touches the bar is a tag",
            "labels": "a label must be one number or word; several labels, costs and actions are not supported",
            "mixed": f"all labels must be {'words' if self.words else 'numbers'}, as the first one is",
            "length": f"a label must have at most {MAX_LABEL_LENGTH} characters",
            "weight": f"a weight must be {ALLOWED_WEIGHT}; a tag starts with ' or touches the bar",
            "base": "only a label, a weight and a tag may precede the bar; a base is not supported",
            "space": "a namespace must be name or name:scale, right after the bar, and its name must not contain ^",
            "prefix": f"the name of a namespace must have at most {MAX_PREFIX_LENGTH} characters",
            "scale": f"a scale must be {ALLOWED_NUMBER}, right after the colon",
            "feature": "a feature must be name or name:value",
            "value": f"a value, times the scale of its namespace, must be {ALLOWED_NUMBER}, right after the colon",
            "sum": f"the values of a repeated feature must add up to {ALLOWED_NUMBER}",
            "name": "words must be UTF-8 text without control characters",
        }
        return {"problem": problems[kind]}


def _read(stream: Stream, schema: Schema, options: ReaderOptions) -> tuple[Schema, Generator[Batch, None, None]]:
    """Read VW text.

    A line is ``[label [weight]] ['tag] |namespace:scale name:value name ... |namespace ...``. A feature is called
    ``namespace^name``, or ``name`` in the namespace without a name. Its value is 1 if not given, times the scale of its
    namespace; repeated features add up. A tag starts with ``'`` or touches the bar.
    """
    return schema, _batches(stream, [*schema.ignore], options)


def _batches(stream: Stream, ignored: list[str], options: ReaderOptions) -> Generator[Batch, None, None]:
    syntax = _Syntax()
    settings = options.optional_labels, options.skips, options.max_errors, ignored

    def parse(text: Text, has_words: bool) -> Parsed:
        parsed = parse_vw(text, has_words, *settings)
        features, labels, weights, tags, places, lines, (bad_lines, errors) = parsed
        values, columns, offsets, names = features
        x = NamedRows(Rows.from_csr(values, columns, offsets, len(names)), names)
        return Parsed((x, labels, weights, tags, places), len(places), lines, bad_lines, errors)

    chunks = parse_lines(stream, options, parse, errors=syntax.error, line_format=_LINE_FORMAT, state=syntax.has_words)
    with closing(chunks):
        for (x, (numbers, word_numbers, words), weights, tags, places), lines_before in chunks:
            # Numbers of words at first: as an array, the words themselves might take too much memory.
            labels, labelled = (word_numbers, word_numbers >= 0) if words else (numbers, ~np.isnan(numbers))
            whole = Batch(x, labels, weights, places + lines_before, stream.name, labelled, tags)
            size = _MAX_ROWS_WITH_STRINGS if words else len(whole)
            for start in range(0, len(whole), size):
                batch = whole if len(whole) <= size else whole.slice(start, start + size)
                yield _finished(batch, words)


def _finished(batch: Batch, words: list[str]) -> Batch:
    """Return the batch with words as labels, and without labels or `labelled` if these are superfluous."""
    labels, labelled = batch.labels, batch.labelled
    assert labelled is not None
    if words:
        labels = np.array(words)[labels]
    any_labels = bool(labelled.any())
    return replace(
        batch, labels=labels if any_labels else None, labelled=labelled if any_labels and not labelled.all() else None
    )


class _Writer(LineWriter):
    """Writer of VW text. All features are in the namespace without a name; "space^name" is read as one of "space"."""

    def write(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        names, cells = named_cells(batch, zero_based=self.options.zero_based)
        for name in names:
            if not name or _NOT_IN_NAMES.search(name):
                problem = "names in VW text have no space, colon or bar; jsonl allows any name"
                raise DataError(problem, found=repr(name), source=batch.source)
        values = ["" if value == 1 else ":" + number_text(value) for value in cells.values.tolist()]
        features = [names[column] + value for column, value in zip(cells.columns.tolist(), values, strict=True)]
        self.write_lines(_heads(batch), features, cells)


def _heads(batch: Batch) -> list[str]:
    """Return what precedes the features of each line."""
    weights: list[Any] = [1.0] * len(batch) if batch.weights is None else batch.weights.tolist()
    tags = [""] * len(batch) if batch.tags is None else batch.tags
    are_words = batch.labels is not None and batch.labels.dtype.kind == "U"
    heads = []
    for row, (label, weight, tag) in enumerate(zip(label_texts(batch), weights, tags, strict=True)):
        if label is None and weight != 1:
            raise error_at(batch, row, "in VW text only an example with a label can have a weight", weight)
        if (
            label is not None
            and are_words
            and (not label or _NOT_IN_NAMES.search(label) or _NOT_A_WORD.fullmatch(label))
        ):
            allowed = "a label in VW text must be a number, or a word without space, colon, comma and bar"
            raise error_at(batch, row, allowed, repr(label))
        if _NOT_IN_NAMES.search(tag):
            raise error_at(batch, row, "a tag must not have a space, colon or bar", repr(tag))
        before = ([] if label is None else [label]) + ([] if weight == 1 else [number_text(weight)])
        heads.append(" ".join([*before, f"'{tag}" if tag else ""]) + "|")
    return heads


FORMAT = Format(
    suffixes=(".vw",),
    read=_read,
    writer=_Writer,
    confidence=lambda line: 40 if _LINE_START.match(line) else 0,
    sign="a bar",
    options=("ignore",),
)
