"""VW text, one example a line: named features, read in batches, ahead of who works on them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LARGEST_VALUE, LARGEST_WEIGHT, SMALLEST_WEIGHT, parse_vw, vw_labels_are_words
from scwlearn.data.examples import Examples, NamedRows, Schema
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.lines import FoundFault, Parsed, parsed_chunks
from scwlearn.data.io.streams import Source, check_source, name_of
from scwlearn.data.options import ReaderOptions
from scwlearn.data.rows import Rows
from scwlearn.data.tables.columns import LONGEST_LABEL, LONGEST_PREFIX

# So many examples are handed on at a time where labels are words.
_ROWS_WITH_WORDS = 2**16


def read_vw_examples(
    source: Source, schema: Schema, options: ReaderOptions = ReaderOptions()
) -> Generator[Examples, None, None]:
    """The examples of a file of VW text in batches, in memory that does not grow with the file.

    A line is ``[label [weight]] ['tag] |namespace:scale name:value name ... |namespace ...``. The feature of a named
    namespace is called ``namespace^name``, that of the one without a name just ``name``. Its value is 1 unless it is
    said, times the scale, if there is one; a feature that is repeated has the sum. A label is a number, or a word: what
    the first one of the source is, all are. A tag begins with ``'``, or touches the bar. Blank lines are left out.

    Refused are a base (a third number before the bar, to which VW adds what it predicts: no learner here begins with
    one), labels with costs, actions or several classes, features without a name, and words as values.

    Parameters
    ----------
    source : path, "-" or binary file
        Compressed or not.
    schema : Schema
        Says which namespaces are left out.
    options : ReaderOptions
        What all readers take.

    Yields
    ------
    Examples
        With named features.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.vw import read_vw_examples
    >>> text = io.BytesIO(b"1 2 'first |size:2 height:1.5 |says stripes\\n-1 | legs:4\\n")
    >>> (batch,) = read_vw_examples(text, Schema("vw"))
    >>> batch.x.names, batch.labels.tolist(), batch.weights.tolist(), batch.tags
    (['size^height', 'says^stripes', 'legs'], [1.0, -1.0], [2.0, 1.0], ['first', ''])
    """
    check_source(source)
    return _examples(source, _Form(options.labels == "optional", [*schema.ignore]), options)


@dataclass
class _Form:
    """What a line may hold."""

    optional: bool
    ignored: list[str]
    #: Whether labels are words, once one has been seen.
    words: bool | None = field(default=None)

    def see(self, text: NDArray[np.uint8]) -> bool:
        """Whether the labels of a chunk have to be words; the first of the source says so."""
        if self.words is None:
            self.words = vw_labels_are_words(text)
        return bool(self.words)

    def fault(self, kind: str, **place: Any) -> DataError:
        """Return the error for what the parser found."""
        number = f"a finite number of at most {LARGEST_VALUE:g} in size"
        weight = f"0 or a number from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
        allowed = {
            "bar": "a line has a bar before its features, as in 1 |words some more",
            "label": f"a line begins with its label, a word or {number}",
            "glued": "a line begins with its label and a space; what touches the bar is a tag",
            "labels": "a label is one number or word; several, costs and actions are not supported",
            "mixed": f"all labels are {'words' if self.words else 'numbers'}, as the first is",
            "length": f"a label has at most {LONGEST_LABEL} characters",
            "weight": f"a weight is {weight}; a tag begins with ' or touches the bar",
            "base": "before the bar stand label, weight and tag; a base is not supported",
            "space": "a namespace is name or name:scale, right behind the bar, its name without ^",
            "prefix": f"the name of a namespace has at most {LONGEST_PREFIX} characters",
            "scale": f"a scale is {number}, right behind the colon",
            "feature": "a feature is name or name:value",
            "value": f"a value, times its namespace's scale, is {number}, right behind the colon",
            "sum": f"the values of a repeated feature add up to {number}",
            "name": "words are UTF-8 text without control characters",
        }
        return DataError(allowed[kind], **place)


def _examples(source: Source, form: _Form, options: ReaderOptions) -> Generator[Examples, None, None]:
    name = name_of(source)

    def parse(text: NDArray[np.uint8], words: bool) -> Parsed:
        made = parse_vw(text, words, form.optional, options.skips, options.most_found, form.ignored)
        features, labels, weights, tags, places, lines, (faulty, found) = made
        values, columns, offsets, names = features
        x = NamedRows(Rows.from_checked(values, columns, offsets, len(names)), names)
        parts = (x, labels, weights, tags, places)
        return Parsed(lines, len(places), faulty, [FoundFault(*fault) for fault in found], parts)

    line_form = "label |namespace name:value name:value ..."
    chunks = parsed_chunks(source, parse, form.fault, line_form, options, before=form.see)
    with closing(chunks):
        for (x, labels, weights, tags, places), lines_before in chunks:
            numbers, of_words, words = labels
            # The numbers of words at first: side by side, the words themselves might take too much.
            labelled = of_words >= 0 if words else ~np.isnan(numbers)
            examples = Examples(
                x=x,
                labels=of_words if words else numbers,
                weights=weights,
                lines=places + lines_before,
                source=name,
                labelled=labelled,
                tags=tags,
            )
            if not words or len(examples) <= _ROWS_WITH_WORDS:
                yield _finished(examples, words)
                continue
            for start in range(0, len(examples), _ROWS_WITH_WORDS):
                yield _finished(examples.part(start, start + _ROWS_WITH_WORDS), words)


def _finished(examples: Examples, words: list[str]) -> Examples:
    """The same with words as labels, if there are any, and nothing that goes without saying."""
    labels, labelled = examples.labels, examples.labelled
    assert labels is not None
    assert labelled is not None
    if words:
        labels = np.array(words)[labels]
    return replace(
        examples,
        labels=labels if labelled.any() else None,
        labelled=labelled if labelled.any() and not labelled.all() else None,
    )
