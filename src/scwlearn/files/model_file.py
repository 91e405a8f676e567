"""Saving models to files and loading them: written atomically; every part is checked before it is used."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scwlearn._util.atomic import Path
from scwlearn._util.locks import unchanged
from scwlearn.files.container import read_container, write_container
from scwlearn.files.json_reader import InvalidModelFile, dump_json, parse_json
from scwlearn.files.saved_model import SavedModel, decode, encode


def save(model: Any, path: Path, *, notes: Mapping[str, Any] | None = None) -> None:
    """Save a model to a file.

    `load` restores a model that continues exactly, bit for bit. The file is in the safetensors format, holds no code,
    and has a checksum over all of its bytes (docs/model_files.md). It is written atomically: an old file stays until
    the new one is safe on disk.

    Parameters
    ----------
    model : estimator, StreamClassifier, learner, or a class of scwlearn.river
        The model, fitted or not. A rule that you have declared is saved by its name. Functions as rules or kernels,
        and a RandomState, cannot be saved.
    path : str or path
        The file to create or replace, with any suffix.
    notes : dict, optional
        JSON values to save with the model: strings, numbers, lists and dicts. `scwlearn.files.read` returns them. By
        default, those of the file that the model was loaded from.

    Raises
    ------
    TypeError
        If the model, or a setting or label of it, cannot be saved.
    ValueError
        If the model is invalid, for example because a variance is not a positive number.
    OSError
        If the file cannot be written; an old file is then unchanged.

    Examples
    --------
    >>> import os, tempfile
    >>> import scwlearn
    >>> model = scwlearn.StreamClassifier("scw1")
    >>> model.learn_many([{"free": 1, "offer": 2}, {"meeting": 1}], ["spam", "ham"])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "mail.model")
    ...     scwlearn.save(model, path)
    ...     again = scwlearn.load(path)
    >>> again.predict_one({"offer": 1})
    'spam'
    """
    with unchanged([model]):
        write(SavedModel.from_model(model, notes), path)


def load(path: Path) -> Any:
    """Load a model from a file.

    No code in the file is run, and every field and array is checked before it is used.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    object
        A model of the class that was saved, ready to predict or to learn.

    Raises
    ------
    InvalidModelFile
        If the file is not a model file, is truncated or damaged, or is of a newer format. A ValueError.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import scwlearn
    >>> model = scwlearn.AROW().fit([[1.0, 0.0], [0.0, 1.0]], ["day", "night"])
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "sky.model")
    ...     model.save(path)
    ...     again = scwlearn.load(path)
    >>> again.partial_fit([[0.2, 0.9]], ["night"]).n_seen_
    3
    """
    saved = read(path)
    with _named(path):
        return saved.to_model()


def write(saved: SavedModel, path: Path) -> None:
    """Write the contents of a model file, after checking that they can be read back.

    Parameters
    ----------
    saved : SavedModel
        The contents, as returned by `read` or `SavedModel.from_model`.
    path : str or path
        The file to create or replace.

    Raises
    ------
    TypeError, ValueError
        If the contents cannot be read back; no file is written.
    OSError
        If the file cannot be written; an old file is then unchanged.

    Examples
    --------
    >>> import os, tempfile
    >>> from scwlearn import Learner
    >>> from scwlearn.files import SavedModel, read, write
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "some.model")
    ...     write(SavedModel.from_model(Learner("pa1"), notes={"seed": 7}), path)
    ...     read(path).notes
    {'seed': 7}
    """
    with unchanged([saved.learner]):
        metadata, arrays = encode(saved)
        try:
            text = dump_json(metadata)
            # An invalid model is refused now, while it still exists, and not when the file is needed.
            decode(parse_json(text, "model"), arrays)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"this model cannot be saved: {error}") from None
        write_container(path, text, arrays)


def read(path: Path) -> SavedModel:
    """Read the contents of a model file, without scikit-learn or River.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    SavedModel
        The contents; `SavedModel.to_model` makes the model.

    Raises
    ------
    InvalidModelFile
        If the file is not a model file, is truncated or damaged, or is of a newer format. A ValueError.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import scwlearn
    >>> from scwlearn.files import read
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "some.model")
    ...     scwlearn.SCW1(C=0.5).fit([[1.0], [-1.0]], ["up", "down"]).save(path)
    ...     saved = read(path)
    >>> saved.class_name, saved.settings["C"], saved.learner.classes.values
    ('SCW1', 0.5, ['down', 'up'])
    """
    with _named(path):
        contents = read_container(path)
        return decode(parse_json(contents.text, "model"), contents.arrays, contents.library)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Prefix errors with the name of the file."""
    try:
        yield
    except InvalidModelFile as error:
        raise InvalidModelFile(f"{os.fspath(path)}: {error}") from None
