"""Sets from a data directory, checked against their declaration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn.datasets.catalogue import find_set
from scwlearn.datasets.content import Examples, content_sha256, read_examples
from scwlearn.datasets.declare import DataSet, NamedSet, Part


def data_directory(given: str | os.PathLike[str] | None = None) -> Path:
    """Where the files of the sets are: what is given, else SCWLEARN_DATA, else the user's cache."""
    named = given or os.environ.get("SCWLEARN_DATA")
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path is to be ignored, says the standard for it.
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "scwlearn"


def is_there(named: NamedSet, directory: Path) -> bool:
    """Whether the set can be loaded from that directory; one without files always can."""
    return all((directory / part.path).is_file() for part in named.parts)


def load_set(named: NamedSet | str, directory: str | os.PathLike[str] | None = None) -> DataSet:
    """A set in the form in which it is learned; the directory is found by `data_directory`.

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
        x, y = prepared(named, *read_files(named, data_directory(directory)))
    found = (*x.shape, int(np.count_nonzero(y == 1)))
    declared = (named.rows, named.features, named.positives)
    if found != declared:
        raise ValueError(
            f"{named.name} has {found[0]} rows, {found[1]} features and {found[2]} rows of +1; it should have "
            f"{declared[0]}, {declared[1]} and {declared[2]}; see scwlearn datasets verify {named.name}"
        )
    return DataSet(named.name, named.title, x, y, named.shuffle)


def state_of(part: Part, directory: Path) -> Literal["good", "missing", "different"]:
    """Whether the file says what it should, by the checksum of its content."""
    path = directory / part.path
    if not path.is_file():
        return "missing"
    try:
        found = content_sha256(*read_examples(path))
    except ValueError:  # not xz, or not LIBSVM text
        return "different"
    return "good" if found == part.sha256 else "different"


def read_files(named: NamedSet, directory: Path) -> Examples:
    """What the files of a set say: rows (CSR) and labels. A feature beyond the declared ones is an error."""
    parts = []
    for part in named.parts:
        path = directory / part.path
        if not path.is_file():
            raise FileNotFoundError(
                f"{named.name} is not there: {path} is missing; get it with scwlearn datasets fetch {named.name}, or "
                "name the directory where it is with --data-dir or SCWLEARN_DATA"
            )
        parts.append(read_examples(path, named.features))
    if len(parts) == 1:
        return parts[0]
    x = sparse.vstack([x for x, _ in parts], format="csr")
    return x, np.concatenate([labels for _, labels in parts])


def prepared(named: NamedSet, x: Any, labels: NDArray[np.float64]) -> tuple[Any, NDArray[np.int8]]:
    """What files say as a two-class problem: rows in the form in which they are learned, and labels -1 and +1."""
    positive = np.isin(labels, named.positive)
    if named.negative is not None:
        kept = positive | np.isin(labels, named.negative)
        x, positive = x[kept], positive[kept]
    y = np.where(positive, 1, -1).astype(np.int8)
    if named.dense:
        return np.ascontiguousarray(named.prepare(x.toarray())), y
    return named.prepare(x), y
