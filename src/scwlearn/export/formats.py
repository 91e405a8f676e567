"""Exporting models to files of other formats, and importing weights from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from scwlearn._util.atomic import write_atomically
from scwlearn._util.checks import check_choice
from scwlearn.export import csv_format, field_formats
from scwlearn.export.to_model import to_model
from scwlearn.export.weights import Weights
from scwlearn.rules import Rule
from scwlearn.runs.trained_model import TrainedModel

#: Formats of exported models; all but the last can be imported.
EXPORT_FORMATS = ("json", "csv", "safetensors", "onnx")


def export_model(model: TrainedModel, path: str | Path, format: str | None = None) -> None:
    """Write a linear model to a file of another format, atomically.

    Parameters
    ----------
    model : TrainedModel
        The model.
    path : str or path
        The file to create or replace.
    format : {"json", "csv", "safetensors", "onnx"}, optional
        The format; by default, the suffix of `path`.

    Raises
    ------
    ValueError
        If the model has no weights of features, the format is unknown, or ONNX is asked for and the onnx package is
        not installed.
    OSError
        If the file cannot be written; an old file is then unchanged.
    """
    write_atomically(path, encode_model(model, _format(path, format, EXPORT_FORMATS)))


def encode_model(model: TrainedModel, format: str) -> Iterable[bytes]:
    """Return the chunks of a file in one of `EXPORT_FORMATS`."""
    if format == "onnx":
        if find_spec("onnx") is None:
            raise ValueError('writing ONNX needs the onnx package: pip install "scwlearn[onnx]"')
        from scwlearn.export.onnx import to_onnx

        return [to_onnx(model)]
    weights = Weights.from_model(model)
    if format == "csv":
        zero_based = model.schema is not None and model.schema.zero_based
        return csv_format.encode(weights, first=0 if zero_based else 1)
    return field_formats.encode_json(weights) if format == "json" else field_formats.encode_safetensors(weights)


def import_weights(
    path: str | Path,
    format: str | None = None,
    *,
    rule: Rule | None = None,
    parameters: Mapping[str, float] | None = None,
    initial_variance: float | None = None,
    named: bool | None = None,
    zero_based: bool = False,
) -> TrainedModel:
    """Return a model with the weights of a file, which can continue to learn.

    Parameters
    ----------
    path : str or path
        The file.
    format : {"json", "csv", "safetensors"}, optional
        The format; by default, the suffix of `path`.
    rule : Rule, optional
        The algorithm to continue with; by default the one in the file, or SCW-I.
    parameters : dict, optional
        Parameters of the algorithm; by default those in the file, or its defaults.
    initial_variance : float, optional
        Variance of the prior, and of weights without a variance; by default the one in the file, or 1.
    named : bool, optional
        Whether features in CSV are names; by default, they are numbers if all of them are integers.
    zero_based : bool, optional
        Whether numbered features in CSV start at 0 instead of 1.

    Returns
    -------
    TrainedModel
        The model.

    Raises
    ------
    ValueError
        If the file does not hold valid weights.
    """
    where, kind = os.fspath(path), _format(path, format, EXPORT_FORMATS[:-1])
    if kind == "onnx":
        raise ValueError(f"{where}: ONNX models cannot be imported; use json, csv or safetensors")
    content = Path(path).read_bytes()
    try:
        if kind == "csv":
            weights = csv_format.decode(content, named=named, first=0 if zero_based else 1)
        else:
            weights = (field_formats.decode_json if kind == "json" else field_formats.decode_safetensors)(content)
        return to_model(weights, rule, parameters, initial_variance)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def _format(path: str | Path, given: str | None, suffixes: tuple[str, ...]) -> str:
    """Return the given format, or the one that the suffix of the file names."""
    if given is not None:
        return check_choice("the format of a model", given, EXPORT_FORMATS)
    suffix = os.path.splitext(os.fspath(path))[1].lower().removeprefix(".")
    if suffix not in EXPORT_FORMATS:
        raise ValueError(f"{os.fspath(path)}: unknown format; use a file name that ends in .{', .'.join(suffixes)}")
    return suffix
