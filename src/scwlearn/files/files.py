"""Model files: written as a whole, read with everything checked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scwlearn._util.atomic import Path
from scwlearn.files.container import read_container, write_container
from scwlearn.files.document import Refused, from_json, to_json
from scwlearn.files.stored import Stored, from_parts, stored_of, to_parts


def save(model: Any, path: Path, *, notes: Mapping[str, Any] | None = None) -> None:
    """Save a model to a file, from which `load` makes one that goes on as if it had never stopped, bit for bit.

    The file is in the safetensors format, holds no code, and has a checksum over all of it (docs/model_files.md). It
    takes its place as a whole: what was there stays until the new one is safe on disk.

    Parameters
    ----------
    model : estimator, StreamClassifier, learner, or one of scwlearn.river's classes
        Fitted or not. A rule that you have declared yourself is saved by its name; functions as rules or kernels, and
        a RandomState, cannot be saved.
    path : str or path
        Where to save it; no ending is asked for.
    notes : dict, optional
        What else to keep with it, as JSON has it: strings, numbers, lists and dicts. `scwlearn.files.read` gives it
        back.

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
    write(stored_of(model, notes), path)


def load(path: Path) -> Any:
    """The model that a file holds: of the class that was saved, ready to predict or to go on learning.

    Nothing in a file is run, and everything in it is checked: one that was cut short or changed in any way is refused
    with a ValueError that says what is wrong.

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
    stored = read(path)
    with _of_file(path):
        return stored.model()


def write(stored: Stored, path: Path) -> None:
    """Save what `stored_of` gives. What could not be read again is not written.

    Examples
    --------
    >>> import os, tempfile
    >>> from scwlearn import Learner
    >>> from scwlearn.files import read, stored_of, write
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "some.model")
    ...     write(stored_of(Learner("pa1"), notes={"seed": 7}), path)
    ...     read(path).notes
    {'seed': 7}
    """
    document, arrays = to_parts(stored)
    try:
        text = to_json(document)
        # A model with numbers that are none is refused here, and not when it is needed.
        from_parts(from_json(text, "the model"), arrays)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"this model cannot be saved: {error}") from None
    write_container(path, text, arrays)


def read(path: Path) -> Stored:
    """What a file holds. Needs neither scikit-learn nor River, which `Stored.model` may.

    Examples
    --------
    >>> import os, tempfile
    >>> import scwlearn
    >>> from scwlearn.files import read
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "some.model")
    ...     scwlearn.SCW1(C=0.5).fit([[1.0], [-1.0]], ["up", "down"]).save(path)
    ...     stored = read(path)
    >>> stored.class_name, stored.settings["C"], stored.learner.classes.values
    ('SCW1', 0.5, ['down', 'up'])
    """
    with _of_file(path):
        contents = read_container(path)
        return from_parts(from_json(contents.text, "the model"), contents.arrays, contents.library)


@contextmanager
def _of_file(path: Path) -> Iterator[None]:
    """Errors say which file it is."""
    try:
        yield
    except Refused as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
