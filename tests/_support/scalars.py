"""Strings, numbers and scalars of NumPy of many classes."""

import enum

import numpy as np

from scwlearn import Features

DECLARED = Features(kinds={"unused": "ignore"})


class Said(str):
    """A string that says something else."""

    def __str__(self):
        return f"<{str.__str__(self)}>"

    __repr__ = __format__ = __str__


class Counted(int):
    """A whole number that says something else."""

    def __str__(self):
        return "some"

    __repr__ = __str__


def member(text):
    return enum.Enum("Label", {f"MEMBER_{text}": text}, type=str)(text)


STRINGS = {"own text": Said, "enum": member, "numpy": np.str_}
INTEGERS = {
    "own text": Counted,
    "enum": lambda number: enum.IntEnum("Number", {f"MEMBER_{number}": number})(number),
    **{kind: np.dtype(kind).type for kind in ("int8", "int64", "uint16", "uint64")},
}
# One instance of every type of NumPy that has any.
SCALARS = [
    np.zeros(1, dtype=kind)[0] if kind not in "SUV" else np.array(["1"]).astype(f"{kind}1")[0]
    for kind in np.typecodes["All"]
    if kind != "O"
]
SCALARS += [np.timedelta64(1, "ns"), np.datetime64(1, "ns")]


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
