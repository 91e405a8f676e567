"""All the sets by name, one by one and in groups."""

from __future__ import annotations

from collections.abc import Iterable

from scwlearn.datasets.declare import NamedSet
from scwlearn.datasets.other_sets import EMBEDDED_SETS, EXTRA_SETS
from scwlearn.datasets.paper_sets import COVTYPE_SCALED, PAPER_SETS

_SETS = {named.name: named for named in (*PAPER_SETS, COVTYPE_SCALED, *EXTRA_SETS, *EMBEDDED_SETS)}

#: What can be named in place of sets; "all" is these three together. A variant is named by itself.
GROUPS = ("paper", "extra", "embedded")


def all_sets() -> list[NamedSet]:
    """Every set that is declared, those of the paper first and in its order."""
    return [*_SETS.values()]


def find_set(name: str) -> NamedSet:
    """The set of that name."""
    if name not in _SETS:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(_SETS)}")
    return _SETS[name]


def select_sets(names: Iterable[str]) -> list[NamedSet]:
    """The sets of these names, which may be groups (paper, extra, embedded, all), each once.

    Examples
    --------
    >>> from scwlearn.datasets import select_sets
    >>> [named.name for named in select_sets(["digits", "embedded"])]
    ['digits', 'breast-cancer']
    """
    chosen: dict[str, NamedSet] = {}
    for name in names:
        groups = GROUPS if name == "all" else (name,)
        members = [named for named in _SETS.values() if named.group in groups and named.group in GROUPS]
        if not members and name not in _SETS:
            known = f"there are {', '.join(_SETS)}, and the groups {', '.join(GROUPS)} and all"
            raise ValueError(f"there is no data set or group {name!r}; {known}")
        for named in members or [_SETS[name]]:
            chosen.setdefault(named.name, named)
    return [*chosen.values()]
