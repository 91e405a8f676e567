"""VW (Vowpal Wabbit) text: one example per line, with named features."""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LONGEST_KEY, LONGEST_LABEL, FeatureSpec, parse_vw, vw_labels_are_words
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import ALLOWED_NUMBER, PLAIN
from scwlearn.data.formats import NUMBER, Format, starts_binary
from scwlearn.data.io.errors import shown
from scwlearn.data.io.streams import Stream
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reader import LineReader, Parsed, TooLong, rest_of
from scwlearn.data.records import with_words
from scwlearn.data.schema import Schema
from scwlearn.data.tables.resolve import is_complete, missing_keys, wanted_columns
from scwlearn.data.weights import ALLOWED_WEIGHT
from scwlearn.data.writer import Writer, check_names, error_at, label_values, value_text, with_names

# Label, weight and tag before the first bar. A comma in the first word is that of a table, unless it is a tag or lists
# costs, as in 1:2,2:3.
_LINE_START = re.compile(rb"[^\s|,]*\||'[^\s|]*\||(?:[^\s|,]+[ \t]+){1,3}[^\s|]*\||\d+:[^\s|]*[ \t]+\|")
# Characters that end a name in VW text, or cannot be in it.
_NOT_IN_NAMES = re.compile(r"[ |:\x00-\x1f\x7f\ud800-\udfff]")
# Labels that would not be read as words.
_NOT_A_WORD = re.compile(rf"{NUMBER.decode()}|[+-]?(nan|inf|infinity)|'.*|.*,.*", re.ASCII | re.IGNORECASE | re.DOTALL)


class _Reader(LineReader):
    """Reader of VW text. The first label decides whether all labels are words or numbers.

    A line is ``[label [weight]] ['tag] |namespace:scale name:value name ... |namespace ...``. A feature is called
    ``namespace^name``, or ``name`` in the namespace without a name. Its value is 1 if not given, times the scale of its
    namespace; repeated features add up. A tag starts with ``'`` or touches the bar. Where labels are required, lines
    without one are left out, as VW does. A namespace is a key for interactions, and its names are words for n-grams.
    """

    expected = "a line is label |namespace name:value ... name:value"
    _has_words: bool | None = None

    def __init__(self, stream: Stream, schema: Schema, options: ReaderOptions) -> None:
        super().__init__(stream, schema, options)
        self._spec = schema.features.spec(slots=options.slots)
        # Bytes in which the model of a table knows no feature.
        self._unknown_bytes = 0

    def may_begin(self, text: memoryview) -> bool:
        """Return whether the model of a table knows a feature; the lines of other models may be parsed at once."""
        if not is_complete(self.schema):
            return True
        begin, end = self._unknown_bytes, bytes(text).rfind(b"\n") + 1
        self._unknown_bytes = end
        return bool(_names(np.frombuffer(text[begin:end], dtype=np.uint8), self._spec))

    def chunks(self) -> Generator[Any, None, None]:
        """Yield chunks of lines, and look for the first label. It does not matter how chunks before it are parsed."""
        is_first = True
        for chunk in super().chunks():
            if is_first and is_complete(self.schema) and not isinstance(chunk, TooLong):
                self._check_names(np.frombuffer(chunk, dtype=np.uint8))
            is_first = False
            if self._has_words is None and not isinstance(chunk, TooLong):
                self._has_words = vw_labels_are_words(np.frombuffer(chunk, dtype=np.uint8))
            yield chunk

    def _check_names(self, text: NDArray[np.uint8]) -> None:
        """Raise a DataError if the model of a table knows no feature in a text."""
        wanted = wanted_columns(self.schema)
        if wanted and text.size and not _names(text, self._spec):
            raise missing_keys("lines", wanted, _names(text, PLAIN.spec()), hint="use {format} if this is no VW text")

    def parse(self, chunk: memoryview) -> Parsed:
        """Parse lines."""
        return self._parse_text(np.frombuffer(chunk, dtype=np.uint8))

    def _parse_text(self, text: NDArray[np.uint8]) -> Parsed:
        has_words = None if self.options.ignores_labels else bool(self._has_words)
        used = np.zeros(1, dtype=np.int64)
        rows, (numbers, word_numbers, words), weights, tags, places, (lines, unlabelled), bad = parse_vw(
            text, self._spec, has_words, *self.flags, used
        )
        x = NamedRows.of_arrays(*rows, self.options.slots)
        whole = Batch(x, word_numbers, weights, places, self.stream.name, tags=tags)
        batches = with_words(whole, words) if words else [whole.with_labels(numbers, ~np.isnan(numbers))]
        parsed, rest = self.parsed(batches, lines, bad)._replace(unlabelled=unlabelled), rest_of(text, used)
        return parsed if rest is None else parsed._replace(rest=partial(self._parse_text, rest))

    def problem(self, kind: str) -> dict[str, str]:
        """Return the problem for an error of the parser."""
        problems = {
            "bar": "a line must have a bar before its features, as in 1 |words some more",
            "label": f"a line must start with a label, a word or {ALLOWED_NUMBER}",
            "glued": "a line must start with a label and a space; text that touches the bar is a tag",
            "labels": "a label must be one number or word; several labels, costs and actions are not supported",
            "mixed": f"all labels must be {'words' if self._has_words else 'numbers'}, as the first one is",
            "length": f"a label must have at most {LONGEST_LABEL} characters",
            "weight": f"a weight must be {ALLOWED_WEIGHT}; a tag starts with ' or touches the bar",
            "base": "only a label, a weight and a tag may precede the bar; a base is not supported",
            "space": "a namespace must be name or name:scale, right after the bar, and its name must not contain ^",
            "prefix": f"the name of a namespace must have at most {LONGEST_KEY} characters",
            "scale": f"a scale must be {ALLOWED_NUMBER}, right after the colon",
            "feature": "a feature must be name or name:value",
            "value": f"a value, times the scale of its namespace, must be {ALLOWED_NUMBER}, right after the colon",
            "many": "a line may have about a million features at most",
            "cross": "a line may have about a million interactions at most",
            "batch": "the lines of a batch have too many features",
            "sum": f"the values of a repeated feature must add up to {ALLOWED_NUMBER}",
            "name": "words must be UTF-8 text without control characters",
        }
        hint = {"hint": "use {format} if bars separate the cells of a table"} if kind == "glued" else {}
        return {"problem": problems[kind], **hint}


def _names(text: NDArray[np.uint8], spec: FeatureSpec) -> list[str]:
    """Return the names of the features in some lines."""
    names: list[str] = parse_vw(text, spec, None, True, True, 1, np.zeros(1, dtype=np.int64))[0][3]
    return names


class _Writer(Writer):
    """Writer of VW text. All features are in the namespace without a name; "space^name" is read as one of "space"."""

    _is_first = True

    def write_batch(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        rows = with_names(batch, zero_based=self.options.zero_based)
        problem = "names in VW text have no space, colon, bar or control character; jsonl allows any name"
        check_names(batch, rows, lambda name: bool(name) and not _NOT_IN_NAMES.search(name), problem)
        lines = []
        for head, features in zip(_heads(batch), rows.dicts(), strict=True):
            texts = [name if value == 1 else f"{name}:{value_text(value)}" for name, value in features.items()]
            lines.append(" ".join([head, *texts]) + "\n")
        text = "".join(lines).encode()
        if self._is_first and (starts_binary(text) or text.startswith(codecs.BOM_UTF8)):
            # Else the first label would be taken for a mark of the file.
            text = b" " + text
        self._is_first = False
        self.file.write(text)


def _heads(batch: Batch) -> list[str]:
    """Return what precedes the features of each line."""
    weights: list[Any] = [1.0] * len(batch) if batch.weights is None else batch.weights.tolist()
    tags = [""] * len(batch) if batch.tags is None else batch.tags
    heads = []
    for row, (label, weight, tag) in enumerate(zip(label_values(batch), weights, tags, strict=True)):
        if label is None and weight != 1:
            raise error_at(batch, row, "in VW text only an example with a label can have a weight", weight)
        if isinstance(label, str) and (_NOT_IN_NAMES.search(label) or _NOT_A_WORD.fullmatch(label)):
            allowed = "a word without space, colon, comma, bar and control character"
            raise error_at(batch, row, f"a label in VW text must be a number, or {allowed}", shown(label))
        if _NOT_IN_NAMES.search(tag):
            raise error_at(batch, row, "a tag must not have a space, colon, bar or control character", shown(tag))
        before = ([] if label is None else [value_text(label)]) + ([] if weight == 1 else [value_text(weight)])
        heads.append(" ".join([*before, f"'{tag}" if tag else ""]) + "|")
    return heads


FORMAT = Format(
    suffixes=(".vw",),
    reader=_Reader,
    writer=_Writer,
    confidence=lambda line: 40 if _LINE_START.match(line) else 0,
    sign="a bar",
    options=("features",),
    has_texts=False,
    cut_at="lines",
)
