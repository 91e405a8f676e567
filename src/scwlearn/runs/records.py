"""Records of runs in files: model files, and what `scwlearn train --json` prints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

from scwlearn.data.run_record import Record

# A model file begins with the length of its header, whose bytes may look like text, and then this.
_HEADER_LENGTH = 8
_MODEL_HEADER = b'{"__metadata__":{"format":"scwlearn",'


def is_model_file(path: str | Path) -> bool:
    """Return whether a file begins like a model file; it may still be damaged."""
    with open(path, "rb") as file:
        return _is_model(_first_bytes(file))


def _first_bytes(file: BinaryIO) -> bytes:
    return file.read(_HEADER_LENGTH + len(_MODEL_HEADER))


def _is_model(start: bytes) -> bool:
    return start[_HEADER_LENGTH:] == _MODEL_HEADER


def read_records(path: str | Path) -> list[Record]:
    """Read the record in a model file, or the records in a file of JSON, one per line or one in all.

    Raises ValueError if the file holds no record.
    """
    from scwlearn.files import read

    with open(path, "rb") as file:
        # Opened once, since a pipe can be read only once.
        start = _first_bytes(file)
        # The length of a model's header may begin like JSON.
        is_json = start[:1] in (b"{", b" ", b"\n", b"\r", b"\t", b"\xef") and not _is_model(start)
        content = start + file.read() if is_json else b""
    if not is_json:
        record = read(path).record
        if record is None:
            problem = "the model has no record of its training; models saved by scwlearn train have one"
            raise ValueError(f"{os.fspath(path)}: {problem}")
        return [record]
    try:
        return [Record.from_json(value) for value in _json_values(content)]
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def _json_values(content: bytes) -> list[Any]:
    """Parse a file of JSON: one value, or one per line."""
    from scwlearn.files.json_reader import parse_json

    try:
        text = content.decode("utf-8-sig")
        try:
            values = [parse_json(text, "it")]
        except ValueError:
            values = [parse_json(line, "a line") for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise ValueError(f"neither a model file nor the JSON record of a run: {error}") from None
    if not values:
        raise ValueError("the file is empty; expected the JSON record of a run")
    return values
