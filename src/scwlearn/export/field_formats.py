"""Weights as JSON and as safetensors: one field, or one array, for each attribute of `Weights`."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from scwlearn import __version__
from scwlearn.export.weights import Weights
from scwlearn.files import safetensors
from scwlearn.files.json_reader import parse_json

_FORMAT = "scwlearn weights"
_VERSION = 1


def encode_json(weights: Weights) -> Iterator[bytes]:
    """Yield one JSON object."""
    fields = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(weights).items()}
    text = json.dumps({"format": _FORMAT, "version": _VERSION, "library": __version__, **fields}, ensure_ascii=False)
    yield text.encode("utf-8", "surrogatepass") + b"\n"


def decode_json(content: bytes) -> Weights:
    """Return weights from the output of `encode_json`, or from coef_, intercept_ and classes_ of scikit-learn."""
    try:
        fields = parse_json(content.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"expected an object with classes and coef, got {type(fields).__name__}")
    if fields.get("format") == _FORMAT and fields.get("version") != _VERSION:
        raise ValueError(f"weights of version {fields.get('version')!r}; only version {_VERSION} can be read")
    return Weights.from_fields(fields)


def encode_safetensors(weights: Weights) -> Iterator[bytes]:
    """Yield a safetensors file with arrays of doubles, and all other fields as JSON in the metadata."""
    fields = {name: value for name, value in vars(weights).items() if value is not None}
    arrays = {name: np.asarray(value, "<f8") for name, value in fields.items() if isinstance(value, np.ndarray)}
    metadata = {name: json.dumps(value) for name, value in fields.items() if name not in arrays}
    return safetensors.encode({"format": _FORMAT, "version": str(_VERSION), **metadata}, arrays)


def decode_safetensors(content: bytes) -> Weights:
    """Return weights from the output of `encode_safetensors`, or from arrays coef_, intercept_ and classes_.

    Classes that are not numbers are a JSON list in the metadata.
    """
    try:
        metadata, arrays = safetensors.decode(io.BytesIO(content), len(content))
    except ValueError as error:
        raise ValueError(f"invalid safetensors file: {error}") from None
    fields: dict[str, Any] = {}
    for name, value in metadata.items() if isinstance(metadata, dict) else ():
        try:
            fields[name] = parse_json(value, name)
        except (TypeError, ValueError):  # metadata of other tools
            continue
    for name, array in arrays.items():
        fields[name] = array.tolist() if name.removesuffix("_") == "classes" else array
    return Weights.from_fields(fields)
