"""Records of runs from files: models that keep that of their training, or what a run printed as JSON."""

from __future__ import annotations

import os
from pathlib import Path

from scwlearn.files.json_reader import parse_json
from scwlearn.runs.record import Record

# How a model file begins, behind the length of its header: bytes that may be any, and look like text.
_LENGTH = 8
_MODEL = b'{"__metadata__":{"format":"scwlearn",'


def is_model(path: str | Path) -> bool:
    """Whether this is a model file, whole or not."""
    with open(path, "rb") as file:
        return file.read(_LENGTH + len(_MODEL))[_LENGTH:] == _MODEL


def read_records(path: str | Path) -> list[Record]:
    """The record in a model file, or one for each line of JSON. A ValueError where there is none."""
    name = os.fspath(path)
    if not is_model(path):
        with open(path, "rb") as file:
            content = file.read(1)
            if content in (b"{", b" ", b"\n", b"\r", b"\t", b"\xef"):
                return _of_text(content + file.read(), name)
    from scwlearn.files import read

    run = read(path).notes.get("run")
    if run is None:
        raise ValueError(
            f"{name} is a model without a record of its training; those that scwlearn train saves have one"
        )
    return [_record(run, name)]


def _of_text(content: bytes, name: str) -> list[Record]:
    """Whole as one value, as it may be where somebody has laid it out anew, or one a line."""
    try:
        text = content.decode("utf-8-sig")
        try:
            values = [parse_json(text, "it")]
        except ValueError:
            values = [parse_json(line, "a line") for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise ValueError(f"{name} is neither a model nor the JSON of a run: {error}") from None
    if not values:
        raise ValueError(f"{name} is empty; the JSON of a run is expected")
    return [_record(value, name) for value in values]


def _record(value: object, name: str) -> Record:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: this is no record of a run: an object is expected, got {type(value).__name__}")
    try:
        return Record.from_json(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
