"""Data sets by name: those of the paper, and others, as two-class problems in the form in which they are learned."""

from scwlearn.datasets.catalogue import GROUPS, all_sets, find_set, select_sets
from scwlearn.datasets.declare import DataSet, NamedSet
from scwlearn.datasets.load import data_directory, is_there, load_set

__all__ = [
    "GROUPS",
    "DataSet",
    "NamedSet",
    "all_sets",
    "data_directory",
    "find_set",
    "is_there",
    "load_set",
    "select_sets",
]
