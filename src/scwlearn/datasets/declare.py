"""How a set is declared: what it is, where its files are, which labels are +1, and in which form it is learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scwlearn.datasets.prepare import as_distributed
from scwlearn.datasets.sources import Source

#: paper: its Table 2. extra: others. embedded: nothing to fetch. variant: another form of a set, used only when named.
Group = Literal["paper", "extra", "embedded", "variant"]


@dataclass(frozen=True)
class Part:
    """A file of a set: LIBSVM text packed with xz."""

    #: Where it lies in a data directory.
    path: str
    #: What `content_sha256` makes of it.
    sha256: str
    #: Tried one after the other.
    sources: tuple[Source, ...] = ()
    #: Where there is no source: where the data are from and how to make the file.
    by_hand: str = ""


@dataclass(frozen=True, kw_only=True)
class NamedSet:
    """A two-class problem that can be had by name."""

    #: On the command line.
    name: str
    #: In tables.
    title: str
    group: Group
    #: What must come out: a set of another size or balance is another set.
    rows: int
    features: int
    positives: int
    #: The files, one after the other; none if the set is made.
    parts: tuple[Part, ...] = ()
    make: Callable[[], tuple[NDArray[np.float64], NDArray[np.int8]]] | None = None
    #: The labels that are +1, and those that are -1: None means all others. Rows with neither are left out.
    positive: tuple[float, ...] = (1.0,)
    negative: tuple[float, ...] | None = None
    prepare: Callable[[Any], Any] = as_distributed
    #: In words: the form, and why this one.
    form: str
    #: A matrix of float64, or CSR.
    dense: bool = True
    #: False for a stream whose order matters.
    shuffle: bool = True
    licence: str
    cite: str


@dataclass(frozen=True)
class DataSet:
    """A set that is loaded: rows, labels -1 and +1, and whether its order may be shuffled.

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
