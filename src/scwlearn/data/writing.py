"""Writing examples in any format that can be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from scwlearn._util.checks import check_bool, check_choice, is_unicode
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.features import STRING, Features, date_features
from scwlearn.data.formats import Format, format_names, get_format
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.io.output import Target, open_output
from scwlearn.data.writer import WriterOptions, label_values

# A table with more columns would not be useful.
_MAX_COLUMNS = 10_000


def write_batches(
    batches: Iterable[Batch],
    target: Target,
    format: str,
    *,
    label: str = "label",
    weight: str = "weight",
    columns: Mapping[str, str] | None = None,
    zero_based: bool = False,
    names: str | os.PathLike[str] | None = None,
) -> int:
    """Write examples so that reading them again gives the same examples, to the last bit.

    An existing file is replaced when the new one is complete.

    Parameters
    ----------
    batches : iterable of Batch
        What is not an iterator is iterated more than once, unless it is written as LIBSVM or VW text. For a table
        without `columns`, it must not be an iterator. Of an iterator, the first batch decides whether there are labels
        and weights, and which type the labels of Parquet and Arrow have.
    target : path or binary file
        A file whose name ends with .gz, .bz2, .xz or .zst is compressed. A file that is passed open stays open.
    format : {"libsvm", "vw", "csv", "tsv", "jsonl", "json", "parquet", "arrow"}
        Only VW text holds tags.
    label, weight : str
        Column or key of the label and of the weight, in formats that have columns or keys.
    columns : mapping or None
        Columns of a table, or keys of JSON objects, and their kinds, as in a `Schema`. A feature "column=string" is
        written into its column. None: every feature is a numeric column or key.
    zero_based : bool
        Whether numbered features start at 0. If they get names, these are their numbers.
    names : path or None
        For LIBSVM text: number the names by first appearance, and write them to this file, one per line. None: names
        must be numbers.

    Returns
    -------
    int
        Number of examples written.

    Raises
    ------
    DataError
        If the format cannot hold the examples, or there are none.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.reading import read_batches
    >>> from scwlearn.data.writing import write_batches
    >>> _, batches = read_batches([io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1\\n")])
    >>> table = io.BytesIO()
    >>> write_batches([*batches], table, "csv")
    2
    >>> print(table.getvalue().decode())
    1,2,3,label
    0.5,,2,1
    ,1,,-1
    <BLANKLINE>
    """
    chosen = get_format(check_choice("format", format, format_names()))
    Features(kinds=columns or {})  # checks the kinds
    if names is not None and not chosen.numbered:
        raise ValueError(f"names applies to libsvm, which has no names; {format} has them")
    check_bool("zero_based", zero_based)
    if "label" in chosen.options:
        if label == weight:
            raise DataError("the label and the weight must have different names", found=shown(label))
        for name in (label, weight):
            if not is_unicode(name):
                raise DataError("the names of the label and the weight must be valid Unicode", found=shown(name))
    if columns is not None:
        # A schema lists the label among its columns.
        columns = _written_columns({name: kind for name, kind in columns.items() if name not in (label, weight)})
    options = WriterOptions(
        label=label, weight=weight, columns=columns, zero_based=zero_based, number_names=names is not None
    )
    if "label" in chosen.options and iter(batches) is not batches:
        options = _survey(batches, options, chosen)
    if chosen.fixed_columns:
        if options.columns is None:
            raise ValueError(
                "batches is an iterator, but the columns of a table must be known before it is written; pass columns, "
                "or a list of batches"
            )
        for name in (label, weight):
            if name in options.columns:
                hint = "choose other names with {label} and {weight}"
                raise DataError(f"the column {name!r} has the name of the label or the weight", hint=hint)
        _check_count(len(options.columns))
    count, lines = 0, b""

    def write_lines() -> None:
        if names is None:
            return
        with open_output(names) as file:
            file.write(lines)

    # Old names are of no use with new data, nor new names with old data.
    with open_output(target, before_replacing=write_lines) as file:
        writer = chosen.writer(file, options)
        for batch in batches:
            if len(batch):
                writer.write(batch)
                count += len(batch)
        if not count:
            raise DataError("no examples to write")
        writer.finish()
        if names is not None:
            lines = _lines(getattr(writer, "names", {}))
    return count


def _written_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns to write. A date cannot be recovered from its features, so each of them is a column."""
    written: dict[str, str] = {}
    for name, kind in columns.items():
        if kind == "auto":
            problem = f"the column {shown(name)} must be numeric, categorical, text or date to be written, not auto"
            raise DataError(problem)
        if kind == "date":
            written |= dict.fromkeys(date_features(name), "numeric")
        elif kind != "ignore":
            written[name] = "categorical" if kind == STRING else kind
    return written


def _survey(batches: Iterable[Batch], options: WriterOptions, format: Format) -> WriterOptions:
    """Return options that say what labels and weights all batches have.

    A table without columns gets a numeric one for every feature, numbered ones in order.
    """
    has_labels = has_weights = False
    types = set[type]()
    needs_columns = format.fixed_columns and options.columns is None
    width, columns = 0, dict[str, str]()
    for batch in batches:
        if len(batch):
            has_labels |= batch.labels is not None
            has_weights |= batch.weights is not None
            types.update(map(type, label_values(batch, with_bools=True)))
        if not needs_columns:
            continue
        if isinstance(batch.x, NamedRows):
            columns.update(dict.fromkeys(map(str, batch.x.names), "numeric"))
        else:
            width = max(width, batch.x.width)
    # The error of strings among numbers names the first of them.
    is_mixed = str in types and len(types - {type(None)}) > 1
    options = replace(
        options, has_labels=has_labels, has_weights=has_weights, label_types=None if is_mixed else frozenset(types)
    )
    if not needs_columns:
        return options
    _check_count(width + len(columns))
    first = 0 if options.zero_based else 1
    return replace(options, columns={str(number): "numeric" for number in range(first, width + first)} | columns)


def _check_count(columns: int) -> None:
    if columns > _MAX_COLUMNS:
        limit = f"a table would have {columns} columns; at most {_MAX_COLUMNS} are written"
        raise DataError(f"{limit}; libsvm, vw and jsonl have no columns")


def _lines(names: Iterable[str]) -> bytes:
    """Return names as text, one per line."""
    lines = []
    for name in names:
        if "\n" in name or "\r" in name or not is_unicode(name):
            problem = "names are written one per line, so they must be valid Unicode without line breaks"
            raise DataError(problem, found=shown(name))
        lines.append(name + "\n")
    return "".join(lines).encode()
