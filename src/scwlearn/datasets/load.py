"""Load data sets from a data directory and check them against their declaration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn.datasets.catalogue import find_set
from scwlearn.datasets.content import Labelled, content_sha256, read_labelled
from scwlearn.datasets.declare import DataFile, DataSet, NamedSet


def data_directory(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the directory of the data files.

    Parameters
    ----------
    given : str or path, optional
        The directory, if the user chose one.

    Returns
    -------
    Path
        The one given, or the environment variable SCWLEARN_DATA, or scwlearn in the user's cache.

    Examples
    --------
    >>> from scwlearn.datasets import data_directory
    >>> data_directory("my-data").name
    'my-data'
    """
    chosen = given or os.environ.get("SCWLEARN_DATA")
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore relative paths.
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "scwlearn"


def is_present(named: NamedSet, directory: Path) -> bool:
    """Return whether all files of a data set are in a directory.

    Parameters
    ----------
    named : NamedSet
        The data set.
    directory : Path
        The data directory.

    Returns
    -------
    bool
        True for a data set without files, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> from scwlearn.datasets import find_set, is_present
    >>> is_present(find_set("digits"), Path("nowhere"))
    True
    """
    return all((directory / file.path).is_file() for file in named.files)


def load_set(named: NamedSet | str, directory: str | os.PathLike[str] | None = None) -> DataSet:
    """Load a data set, prepared for learning.

    Parameters
    ----------
    named : str or NamedSet
        The data set; `scwlearn datasets` lists the names.
    directory : str or path, optional
        The data directory; by default that of `data_directory`.

    Returns
    -------
    DataSet
        Its rows, and labels -1 and +1.

    Raises
    ------
    ValueError
        If there is no data set of that name, or if a file does not hold what is declared.
    FileNotFoundError
        If a file is missing.

    Examples
    --------
    >>> from scwlearn.datasets import load_set
    >>> data = load_set("synthetic")
    >>> data.x.shape, sorted(set(data.y.tolist()))
    ((5000, 20), [-1, 1])
    """
    if isinstance(named, str):
        named = find_set(named)
    if named.make is not None:
        x, y = named.make()
    else:
        x, y = two_class_problem(named, *read_files(named, data_directory(directory)))
    found = (*x.shape, int(np.count_nonzero(y == 1)))
    declared = (named.rows, named.features, named.positives)
    if found != declared:
        raise ValueError(
            f"{named.name} has {found[0]} rows, {found[1]} features and {found[2]} rows labelled +1, expected "
            f"{declared[0]}, {declared[1]} and {declared[2]}; check it with scwlearn datasets verify {named.name}"
        )
    return DataSet(named.name, named.title, x, y, named.shuffle)


def file_state(file: DataFile, directory: Path) -> Literal["good", "missing", "different"]:
    """Check the content of a file by its checksum."""
    path = directory / file.path
    if not path.is_file():
        return "missing"
    try:
        found = content_sha256(*read_labelled(path))
    except ValueError:  # not xz, or not LIBSVM text
        return "different"
    return "good" if found == file.sha256 else "different"


def read_files(named: NamedSet, directory: Path) -> Labelled:
    """Read and concatenate the files of a data set; more features than declared are an error."""
    parts = []
    for file in named.files:
        path = directory / file.path
        if not path.is_file():
            raise FileNotFoundError(
                f"{named.name}: {path} is missing; fetch it with scwlearn datasets fetch {named.name}, or give its "
                "directory with --data-dir or SCWLEARN_DATA"
            )
        parts.append(read_labelled(path, named.features))
    if len(parts) == 1:
        return parts[0]
    x = sparse.vstack([x for x, _ in parts], format="csr")
    return x, np.concatenate([labels for _, labels in parts])


def two_class_problem(named: NamedSet, x: Any, labels: NDArray[np.float64]) -> tuple[Any, NDArray[np.int8]]:
    """Select the rows of the two classes, prepare them, and map their labels to -1 and +1."""
    positive = np.isin(labels, named.positive)
    if named.negative is not None:
        kept = positive | np.isin(labels, named.negative)
        x, positive = x[kept], positive[kept]
    y = np.where(positive, 1, -1).astype(np.int8)
    if named.dense:
        return np.ascontiguousarray(named.prepare(x.toarray())), y
    return named.prepare(x), y
