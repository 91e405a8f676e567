"""The declaration of a data set: its size, its files and their sources, its labels and its form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.rows import Rows
from scwlearn.datasets.prepare import as_distributed
from scwlearn.datasets.sources import Source

#: paper: Table 2 of the paper. extra: others. embedded: no files. variant: another form of a data set.
Group = Literal["paper", "extra", "embedded", "variant"]


@dataclass(frozen=True)
class DataFile:
    """A file of a data set: xz-compressed LIBSVM text."""

    #: Relative to the data directory.
    path: str
    #: See `content_sha256`.
    sha256: str
    #: Tried in turn.
    sources: tuple[Source, ...] = ()
    #: How to make the file, if there is no source.
    by_hand: str = ""


@dataclass(frozen=True, kw_only=True)
class NamedSet:
    """A two-class problem with a name."""

    name: str
    #: The name in tables.
    title: str
    group: Group
    #: Checked when the data set is loaded.
    rows: int
    features: int
    positives: int
    #: Concatenated; empty if the data set is generated.
    files: tuple[DataFile, ...] = ()
    make: Callable[[], tuple[NDArray[np.float64], NDArray[np.int8]]] | None = None
    #: The labels that become +1, and those that become -1, None meaning all others. Other rows are dropped.
    positive: tuple[float, ...] = (1.0,)
    negative: tuple[float, ...] | None = None
    prepare: Callable[[Any], Any] = as_distributed
    #: A description of the form, with the reason for it.
    form: str
    #: Whether the rows are a float64 matrix or CSR.
    dense: bool = True
    #: False for a stream whose order matters.
    shuffle: bool = True
    licence: str
    cite: str


@dataclass(frozen=True)
class DataSet:
    """A data set in memory.

    Attributes
    ----------
    name, title : str
        Its name, and its name in tables.
    x : matrix
        The rows: a float64 matrix or CSR.
    y : array of int8
        The labels, -1 and +1.
    shuffle : bool
        Whether the rows may be shuffled; False for a stream with concept drift.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.datasets import load_set
    >>> data = load_set("synthetic")
    >>> Learner("scw1").learn(data.x, data.y).seen
    5000
    """

    name: str
    title: str
    x: Any
    y: NDArray[np.int8]
    shuffle: bool = True

    def examples(self) -> Batch:
        """Return the data set as one batch of examples."""
        lines = np.arange(1, len(self.y) + 1)
        return Batch(x=Rows(self.x), labels=self.y.astype(np.int64), weights=None, lines=lines, source=self.name)
