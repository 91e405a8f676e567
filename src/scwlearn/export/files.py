"""Models to files that others read, and models from weights in files that others wrote."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from scwlearn._util.atomic import write_atomically
from scwlearn._util.checks import check_choice
from scwlearn.export.models import model_of
from scwlearn.export.plain import from_csv, from_json, to_csv, to_json
from scwlearn.export.tensors import from_safetensors, to_safetensors
from scwlearn.export.weights import Weights
from scwlearn.rules import Rule
from scwlearn.runs.trained_model import Model

#: What a model can be written as; all but the last can be read again.
MODEL_FORMATS = ("json", "csv", "safetensors", "onnx")

_READERS: dict[str, Callable[[bytes, str], Weights]] = {"json": from_json, "safetensors": from_safetensors}


def model_format(path: str | Path, given: str | None = None, *, to_read: bool = False) -> str:
    """The format that is given, or that the end of a name says."""
    if given is not None:
        return check_choice("the format of a model", given, MODEL_FORMATS)
    ending = os.path.splitext(os.fspath(path))[1].lower().removeprefix(".")
    if ending not in MODEL_FORMATS:
        what = "weights are read from" if to_read else "a model is written to"
        names = ", ".join(f".{name}" for name in (MODEL_FORMATS[:-1] if to_read else MODEL_FORMATS))
        raise ValueError(f"{os.fspath(path)}: {what} a file that ends with one of {names}")
    return ending


def write_model(model: Model, path: str | Path, format: str | None = None) -> None:
    """Write a model for others; what was there is replaced when the new file is whole."""
    write_atomically(path, model_content(model, model_format(path, format)))


def model_content(model: Model, format: str) -> Iterable[bytes]:
    """What stands in such a file."""
    if format == "onnx":
        from scwlearn.export.onnx import to_onnx

        return [to_onnx(model)]
    weights = Weights.of(model)
    if format == "csv":
        zero_based = model.schema is not None and model.schema.zero_based
        return to_csv(weights, first=0 if zero_based else 1)
    return [to_json(weights) if format == "json" else to_safetensors(weights)]


def model_from_weights(
    path: str | Path,
    format: str | None = None,
    *,
    rule: Rule | None = None,
    parameters: Mapping[str, float] | None = None,
    initial_variance: float | None = None,
    named: bool | None = None,
    zero_based: bool = False,
) -> Model:
    """A model with the weights that a file holds, which can go on learning.

    Parameters
    ----------
    path, format
        The file, and what it is: as its name ends if not given.
    rule, parameters
        How it goes on; as the file says, or SCW-I with its defaults, if not given.
    initial_variance
        That of the prior, and of weights for which the file has none; as the file says, or 1, if not given.
    named, zero_based
        Of CSV: whether whole numbers are names of features; of numbered ones, whether they count from 0.
    """
    where, kind = os.fspath(path), model_format(path, format, to_read=True)
    if kind == "onnx":
        raise ValueError(f"{where}: ONNX can be written, not read; json, csv and safetensors can")
    content = Path(path).read_bytes()
    if kind == "csv":
        weights = from_csv(content, where, named=named, first=0 if zero_based else 1)
    else:
        weights = _READERS[kind](content, where)
    try:
        return model_of(weights, rule, parameters, initial_variance)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None
