"""Table 2: the size of each data set, counted and as printed in the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scwlearn.datasets import DataSet
from scwlearn.display.tables import Table
from scwlearn.experiments.paper import TABLE2


def data_set_table(sets: Sequence[DataSet]) -> Table:
    """Return rows, features, the share of positive labels and of nonzero values, and the paper's size."""
    rows = []
    for data in sets:
        count, width = data.x.shape
        stored = data.x.nnz if hasattr(data.x, "nnz") else int(np.count_nonzero(data.x))
        printed = TABLE2.get(data.name)
        agrees = "" if printed is None else "yes" if printed == (count, width) else "**no**"
        size = "" if printed is None else f"{printed[0]} x {printed[1]}"
        positive, nonzero = 100 * np.mean(data.y > 0), 100 * stored / (count * width)
        rows.append((data.title, str(count), str(width), size, agrees, f"{positive:.1f} %", f"{nonzero:.1f} %"))
    columns = ("data set", "rows", "features", "in the paper", "agrees", "labels +1", "nonzero values")
    return Table("Table 2: the data sets", columns, rows)
