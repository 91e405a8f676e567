"""Helpers for the tests of readers and writers: tables as text, and batches as dicts."""

import csv
import io
import re
from dataclasses import fields
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import Features
from scwlearn.data.io.streams import check_source
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows
from scwlearn.data.schema import Schema


class Reading:
    """Batches of a source in the format of a schema, and the schema that its first records complete."""

    def __init__(self, source, schema, options=ReaderOptions()):
        check_source(source)
        given = {f.name: getattr(schema, f.name) for f in fields(schema) if getattr(schema, f.name)}
        if schema.features.others == "ignore":
            given = {"schema": schema, "format": schema.format}
        self._open = lambda: read_batches([source], options=options, **given)

    @cached_property
    def _opened(self):
        return self._open()

    @property
    def schema(self):
        return self._opened[0]

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._opened[1])

    def close(self):
        self._opened[1].close()


def named(data, name="data.csv"):
    """Bytes as a file with a name."""
    file = io.BytesIO(data)
    file.name = name
    return file


def schema_of(format, *, columns=None, ignore=(), **said):
    """A schema with kinds of columns; if the label is among them, it is complete, as that of a model."""
    kinds, label, weight = dict(columns or {}), said.get("label"), said.get("weight")
    if label not in kinds:
        return Schema(format, **{"features": Features(kinds=kinds | dict.fromkeys(ignore, "ignore")), **said})
    label_kind = kinds.pop(label)
    kinds |= dict.fromkeys([*ignore, *filter(None, (label, weight))], "ignore")
    return Schema(format, label_kind=label_kind, features=Features(kinds=kinds, others="ignore"), **said)


def batches(data, format="csv", *, schema=None, options=None, **said):
    """The batches of a file that holds these bytes, read as the schema says that these words make."""
    schema = schema_of(format, **said) if schema is None else schema
    return Reading(named(data, f"data.{format}"), schema, ReaderOptions(**options or {}))


def exactly(message):
    """Return a pattern that matches a whole message."""
    return rf"\A{re.escape(message)}\Z"


def features(batch):
    """The features of each example, as a dict."""
    rows = batch.x.rows if isinstance(batch.x, NamedRows) else batch.x
    names = batch.x.names if isinstance(batch.x, NamedRows) else range(rows.width)
    if not len(rows):
        return []
    (block,) = rows.blocks(len(rows))
    assert all(len({*block.indices[a:b].tolist()}) == b - a for a, b in pairwise(block.offsets.tolist()))
    assert len(set(names)) == len(names)
    pairs = [(names[i], value) for i, value in zip(block.indices.tolist(), block.values.tolist(), strict=True)]
    return [dict(pairs[begin:end]) for begin, end in pairwise(block.offsets.tolist())]


def label_list(batch):
    """The label of each example, None where it has none."""
    if batch.labels is None:
        return [None] * len(batch)
    there = np.ones(len(batch), dtype=bool) if batch.labelled is None else batch.labelled
    return [label if has else None for label, has in zip(batch.labels.tolist(), there.tolist(), strict=True)]


def examples(data, format="csv", **given):
    """Features, label and weight of each example of a file."""
    found = []
    for batch in batches(data, format, **given):
        weights = [None] * len(batch) if batch.weights is None else batch.weights.tolist()
        found += zip(features(batch), label_list(batch), weights, strict=True)
    return found


def records(text, delimiter=","):
    """Return the first line and the cells of each record, by Python's csv module; blank lines are skipped."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    before, found = 0, []
    for cells in reader:
        if cells:
            found.append((before + 1, cells))
        before = reader.line_num
    return found


def ends_open(text, delimiter=","):
    """Return whether the last cell of a text starts with a quote that is not closed, character by character."""
    state = "begin"
    for letter in text:
        if state == "quoted":
            state = "after quote" if letter == '"' else "quoted"
        elif state == "after quote" and letter == '"':
            state = "quoted"
        elif letter in (delimiter, "\n", "\r"):
            state = "begin"
        else:
            state = "quoted" if state == "begin" and letter == '"' else "plain"
    return state == "quoted"


def made(rows, labels, *, weights=None, tags=None, labelled=None):
    """Batch of dicts of features."""
    names = [*dict.fromkeys(name for row in rows for name in row)]
    numbers = {name: number for number, name in enumerate(names)}
    cells = [(i, numbers[name], value) for i, row in enumerate(rows) for name, value in row.items()]
    at, columns, values = zip(*cells, strict=True) if cells else ((), (), ())
    x = sparse.csr_array((np.array(values, dtype=float), (at, columns)), shape=(len(rows), len(names)))
    return Batch(
        NamedRows(Rows(x), names),
        None if labels is None else np.array(labels),
        None if weights is None else np.array(weights, dtype=float),
        np.arange(1, len(rows) + 1),
        "source",
        None if labelled is None else np.array(labelled),
        tags,
    )
