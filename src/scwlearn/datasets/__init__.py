"""Data sets by name: those of the paper and others, as two-class problems ready to learn."""

from scwlearn.datasets.catalogue import GROUPS, DataSet, NamedSet, all_sets, find_set, select_sets
from scwlearn.datasets.generate import make_synthetic
from scwlearn.datasets.load import data_directory, is_present, load_set

__all__ = [
    "GROUPS",
    "DataSet",
    "NamedSet",
    "all_sets",
    "data_directory",
    "find_set",
    "is_present",
    "load_set",
    "make_synthetic",
    "select_sets",
]
