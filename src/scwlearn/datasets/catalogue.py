"""The catalogue of data sets: what is declared about each, read from catalogue.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.batch import Batch
from scwlearn.data.rows import Rows
from scwlearn.datasets.generate import GENERATORS
from scwlearn.datasets.sources import PREPARATIONS, READERS, Source, as_distributed

#: Names of groups of data sets; "all" is these three together. A variant belongs to no group.
GROUPS = ("paper", "extra", "embedded")
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


@cache
def _catalogue() -> dict[str, NamedSet]:
    declared = tomllib.loads(files("scwlearn.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    known = {name: _data_file(**entry) for name, entry in declared["file"].items()}
    return {name: _named_set(name, known, **entry) for name, entry in declared["set"].items()}


def _data_file(path: str, sha256: str, by_hand: str = "", sources: Iterable[dict[str, Any]] = ()) -> DataFile:
    return DataFile(path, sha256, tuple(_source(**source) for source in sources), by_hand)


def _source(urls: list[str], max_megabytes: int, reader: str = "libsvm", **options: Any) -> Source:
    return Source(tuple(urls), partial(READERS[reader], **options), max_megabytes * 2**20)


def _named_set(name: str, known: dict[str, DataFile], **entry: Any) -> NamedSet:
    for key in ("positive", "negative"):
        if key in entry:
            entry[key] = tuple(entry[key])
    entry["files"] = tuple(known[each] for each in entry.get("files", ()))
    entry["prepare"] = PREPARATIONS[entry.get("prepare", "as-distributed")]
    return NamedSet(**{"name": name, "title": name, "make": GENERATORS.get(name), **entry})


def all_sets() -> list[NamedSet]:
    """Return the declarations of all data sets, those of the paper first."""
    return [*_catalogue().values()]


def find_set(name: str) -> NamedSet:
    """Return the declaration of a data set; raise a ValueError if the name is unknown."""
    if name not in _catalogue():
        raise ValueError(f"no data set {name!r}; the data sets are {', '.join(_catalogue())}")
    return _catalogue()[name]


def select_sets(names: Iterable[str]) -> list[NamedSet]:
    """Return the data sets of these names and groups (paper, extra, embedded, all), each once."""
    chosen: dict[str, NamedSet] = {}
    for name in names:
        groups = GROUPS if name == "all" else {name} & {*GROUPS}
        members = [named for named in all_sets() if named.group in groups]
        if not members and name not in _catalogue():
            known = f"the data sets are {', '.join(_catalogue())}; the groups are {', '.join(GROUPS)} and all"
            raise ValueError(f"no data set or group {name!r}; {known}")
        for named in members or [find_set(name)]:
            chosen.setdefault(named.name, named)
    return [*chosen.values()]
