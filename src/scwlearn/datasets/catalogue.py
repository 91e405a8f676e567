"""The catalogue of data sets, read from catalogue.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from scwlearn.datasets.declare import DataFile, NamedSet
from scwlearn.datasets.generate import GENERATORS
from scwlearn.datasets.prepare import PREPARATIONS
from scwlearn.datasets.sources import READERS, Source

#: Names of groups of data sets; "all" is these three together. A variant belongs to no group.
GROUPS = ("paper", "extra", "embedded")


@cache
def _catalogue() -> dict[str, NamedSet]:
    declared = tomllib.loads(files("scwlearn.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    known = {name: _data_file(**entry) for name, entry in declared["file"].items()}
    return {name: _named_set(name, known, **entry) for name, entry in declared["set"].items()}


def _data_file(path: str, sha256: str, by_hand: str = "", sources: Iterable[dict[str, Any]] = ()) -> DataFile:
    return DataFile(path, sha256, tuple(_source(**source) for source in sources), by_hand)


def _source(urls: list[str], max_megabytes: int, reader: str = "libsvm", **options: Any) -> Source:
    return Source(tuple(urls), READERS[reader](**options), max_megabytes * 2**20)


def _named_set(name: str, known: dict[str, DataFile], **entry: Any) -> NamedSet:
    for key in ("positive", "negative"):
        if key in entry:
            entry[key] = tuple(entry[key])
    entry["files"] = tuple(known[each] for each in entry.get("files", ()))
    entry["prepare"] = PREPARATIONS[entry.get("prepare", "as-distributed")]
    return NamedSet(**{"name": name, "title": name, "make": GENERATORS.get(name), **entry})


def all_sets() -> list[NamedSet]:
    """Return the declarations of all data sets, those of the paper first.

    Returns
    -------
    list of NamedSet

    Examples
    --------
    >>> from scwlearn.datasets import all_sets
    >>> [named.name for named in all_sets()][:3]
    ['splice', 'svmguide3', 'synthetic']
    """
    return [*_catalogue().values()]


def find_set(name: str) -> NamedSet:
    """Return the declaration of a data set.

    Parameters
    ----------
    name : str
        Its name; `scwlearn datasets` lists all names.

    Returns
    -------
    NamedSet
        Its size, files and sources, labels, preparation, licence and citation.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> from scwlearn.datasets import find_set
    >>> find_set("a9a").rows
    32561
    """
    if name not in _catalogue():
        raise ValueError(f"no data set {name!r}; the data sets are {', '.join(_catalogue())}")
    return _catalogue()[name]


def select_sets(names: Iterable[str]) -> list[NamedSet]:
    """Return the data sets of these names and groups, each once.

    Parameters
    ----------
    names : iterable of str
        Names of data sets, or of the groups paper, extra, embedded and all.

    Returns
    -------
    list of NamedSet
        In the order of the names.

    Raises
    ------
    ValueError
        If a name is unknown.

    Examples
    --------
    >>> from scwlearn.datasets import select_sets
    >>> [named.name for named in select_sets(["digits", "embedded"])]
    ['digits', 'breast-cancer']
    """
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
