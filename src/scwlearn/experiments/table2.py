"""Table 2: the data sets, counted from the data, beside what the paper says of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scwlearn.datasets import DataSet
from scwlearn.experiments import paper
from scwlearn.experiments.tables import Table


def table2(sets: Sequence[DataSet]) -> Table:
    """Rows, features, how many of each class and of the values are not zero; the paper's rows and features."""
    rows = []
    for data in sets:
        count, width = data.x.shape
        stored = data.x.nnz if hasattr(data.x, "nnz") else int(np.count_nonzero(data.x))
        printed = paper.TABLE2.get(data.name)
        agrees = "" if printed is None else "yes" if printed == (count, width) else "**no**"
        said = "" if printed is None else f"{printed[0]} x {printed[1]}"
        share = f"{100 * np.mean(data.y > 0):.1f} %"
        rows.append(
            (data.title, str(count), str(width), said, agrees, share, f"{100 * stored / (count * width):.1f} %")
        )
    columns = ("data set", "rows", "features", "in the paper", "agrees", "labels +1", "values not 0")
    return Table("Table 2: the data sets", columns, rows)
