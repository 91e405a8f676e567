"""Examples written to files, in any format that can be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from scwlearn._util.checks import check_bool, check_choice
from scwlearn.data.examples import COLUMN_KINDS, Examples
from scwlearn.data.io.detect import FORMATS
from scwlearn.data.rows import Rows
from scwlearn.data.writing.cells import named_cells
from scwlearn.data.writing.lines import JsonlWriter, LibsvmWriter, VwWriter, Writer
from scwlearn.data.writing.targets import Target, opened

_TABLES = ("csv", "tsv", "parquet", "arrow")


def write_examples(
    batches: Iterable[Examples],
    target: Target,
    format: str,
    *,
    label: str = "label",
    weight: str = "weight",
    columns: Mapping[str, str] | None = None,
    zero_based: bool = False,
    names: str | os.PathLike[str] | None = None,
) -> int:
    """Write examples; returns how many. What is read of them again is the same, to the last bit, or it is an error.

    A file that is there is replaced when the new one is whole. One whose name ends with .gz, .bz2, .xz or .zst is
    compressed.

    Parameters
    ----------
    batches : iterable of Examples
        For a table without `columns` it is gone through twice, so it has to be one that can be: a list, or an object
        that begins anew.
    target : path or binary file
        A file that is passed open stays open.
    format : {"libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow"}
        Tags are written to VW text only.
    label, weight : str
        The column or key of each, in formats that have them.
    columns : mapping, optional
        Of tables and JSON lines: the columns, and what they are, as a `Schema` says it. A feature "column=string" goes
        back into its column. None: a table has a numeric column for every feature, and a line of JSON a number.
    zero_based : bool
        Whether numbered features are counted from 0, not from 1. Where they get names, their numbers are these.
    names : path, optional
        LIBSVM data have numbered features. Named ones are numbered as they come, and their names written to this file,
        one a line. Without it, names must be numbers.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.libsvm import read_libsvm_examples
    >>> from scwlearn.data.writing import write_examples
    >>> batches = [*read_libsvm_examples(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1\\n"), Schema("libsvm"))]
    >>> table = io.BytesIO()
    >>> write_examples(batches, table, "csv")
    2
    >>> print(table.getvalue().decode())
    1,2,3,label
    0.5,,2,1
    ,1,,-1
    <BLANKLINE>
    """
    check_choice("format", format, tuple(FORMATS))
    for name, kind in (columns or {}).items():
        check_choice(f"the kind of the column {name!r}", kind, COLUMN_KINDS)
    if names is not None and format != "libsvm":
        raise ValueError(f"names are written beside LIBSVM data, which have none; {format} has them")
    given: dict[str, Any] = {
        "label": label,
        "weight": weight,
        "columns": columns,
        "zero_based": check_bool("zero_based", zero_based),
    }
    if columns is not None:
        # A schema says there what its label is, too.
        given["columns"] = {name: kind for name, kind in columns.items() if name not in (label, weight)}
    elif format in _TABLES:
        given["columns"] = _columns_of(batches, zero_based)
    count = 0
    with opened(target) as file:
        writer = _writer(file, format, given, names is not None)
        for examples in batches:
            if len(examples):
                writer.write(examples)
                count += len(examples)
        if not count:
            raise ValueError("there are no examples to write")
        writer.end()
    if names is not None and isinstance(writer, LibsvmWriter):
        write_names(writer.numbered or {}, names)
    return count


def _writer(file: BinaryIO, format: str, given: dict[str, Any], names: bool) -> Writer:
    if format == "libsvm":
        return LibsvmWriter(file, zero_based=given["zero_based"], names=names)
    if format == "vw":
        return VwWriter(file, zero_based=given["zero_based"])
    if format == "jsonl":
        return JsonlWriter(file, **given)
    from scwlearn.data.writing.tables import ArrowWriter, CsvWriter, check_columns

    check_columns(given["columns"], given["label"], given["weight"])
    if format in ("csv", "tsv"):
        return CsvWriter(file, "," if format == "csv" else "\t", **given)
    from scwlearn.data.tables import needs_arrow

    needs_arrow(format.capitalize())
    return ArrowWriter(file, format, **given)


def _columns_of(batches: Iterable[Examples], zero_based: bool) -> dict[str, str]:
    """A numeric column for every feature, numbered ones in their order."""
    if iter(batches) is batches:
        raise ValueError(
            "the columns of a table come first, and are known when all examples have been read: pass columns=, or "
            "batches that can be gone through twice"
        )
    width, names = 0, {}
    for examples in batches:
        if isinstance(examples.x, Rows):
            width = max(width, examples.x.width)
        else:
            names.update(dict.fromkeys(named_cells(examples)[0], "numeric"))
    from scwlearn.data.writing.tables import check_count

    check_count(width + len(names))
    first = 0 if zero_based else 1
    return {str(number): "numeric" for number in range(first, width + first)} | names


def write_names(names: Iterable[str], path: str | os.PathLike[str]) -> None:
    """Names, one a line."""
    lines = []
    for name in names:
        if "\n" in name or "\r" in name:
            raise ValueError(f"names are written one a line; found {name!r}, which has several")
        lines.append(name + "\n")
    with opened(path) as file:
        file.write("".join(lines).encode())
