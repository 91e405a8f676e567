"""Tables in memory: rows from the columns of any library that has Arrow's C interface."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import Any

import numpy as np

from scwlearn._native import FeatureSpec, read_arrow
from scwlearn.data.batch import NamedRows
from scwlearn.data.detect import values_by_key
from scwlearn.data.features import Features
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.records import record_error

_FIXED_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A day within the years of Python's calendar, in seconds since 1970.
_FIRST_SECOND, _LAST_SECOND = -62_135_510_400, 253_402_214_400
# What pandas finds in columns of Python objects that Arrow reads as they are.
_PLAIN_OBJECTS = ("string", "boolean", "integer", "floating", "decimal", "empty")
_LEAVE_OUT = "convert it to one of them, or leave it out with {ignore}"


def is_table(x: Any) -> bool:
    """Return whether an object is a table: a data frame, or anything with Arrow's C interface; refuse a lazy frame."""
    if hasattr(type(x), "collect") and hasattr(type(x), "collect_schema"):
        allowed = "a table must be a data frame, an Arrow table or another object with Arrow's C interface"
        raise TypeError(f"{allowed}, got a {type(x).__name__}, which has no rows yet; call .collect()")
    is_frame = hasattr(x, "to_dicts") or (hasattr(x, "columns") and hasattr(x, "to_dict"))
    return is_frame or hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")


def table_rows(table: Any, features: Features, slots: int = 0) -> NamedRows:
    """Return the rows of a table; each means what `Features.read` makes of the record {column: value}.

    Parameters
    ----------
    table : data frame, or object with ``__arrow_c_stream__`` or ``__arrow_c_array__``
        One record per row: pandas, polars, pyarrow, and so on. In a column of floats, NaN is what `features` say; in
        other columns of pandas, it stands for a missing value.
    features : Features
        What the values mean.
    slots : int
        Number of features if names are hashed, else 0.

    Returns
    -------
    NamedRows
        The features of each record, in the order of the columns.

    Raises
    ------
    DataError
        If a column has a name or a type that cannot be used, or a value does not fit its kind.

    Examples
    --------
    >>> import pandas
    >>> from scwlearn.data.features import Features
    >>> from scwlearn.data.tables.arrow import table_rows
    >>> frame = pandas.DataFrame({"size": [1.5, 0.0], "color": ["red", None]})
    >>> [*table_rows(frame, Features()).dicts()]
    [{'size': 1.5, 'color=red': 1.0}, {}]
    """
    data = _exported(table)
    if data is None:
        return _named_rows(features.read_many(_dicts(table)))
    spec = features.spec(slots=slots)
    rows, _, _, _, _, (_, faults) = read_columns(data, spec, "any", (True, False, 1))
    if faults:
        fault, record, key, found = faults[0]
        error = table_error(fault, key, found, record=0, skippable=False)
        error.source = f"examples[{record - 1}]" if record else ""
        raise error
    return NamedRows.of_arrays(*rows)


def read_columns(data: Any, spec: FeatureSpec, labels: str, flags: tuple[bool, bool, int], used: Any = None) -> Any:
    """Return what `read_arrow` does, given the flags of a reader; a table that contradicts itself is a DataError."""
    try:
        return read_arrow(data, spec, labels, *flags, utc_offset, used)
    except ValueError as error:
        raise DataError(str(error)) from None


def check_no_nul(schema: Any) -> None:
    """Raise a DataError if a name in a schema has a NUL, where Arrow's C interface ends it, and polars the process."""
    for name in _names_in(schema):
        if "\0" in name:
            raise DataError("the name of a column must not contain NUL", found=shown(name))


def _names_in(schema: Any) -> Iterator[str]:
    """Yield all names of a schema or a type of pyarrow or polars."""
    if isinstance(schema, Mapping):
        fields = [*schema.items()]
    else:
        own = schema.fields if hasattr(schema, "fields") else schema if isinstance(schema, Iterable) else ()
        fields = [(field.name, field.dtype if hasattr(field, "dtype") else field.type) for field in own]
    for name, inner in fields:
        yield name
        yield from _names_in(inner)
    for kind in ("storage_type", "value_type", "inner"):
        if hasattr(schema, kind):
            yield from _names_in(getattr(schema, kind))


def table_columns(table: Any, records: Sequence[Mapping[str, Any]], features: Features) -> list[str]:
    """Return the names of the columns of a table with these first records, and those inside a struct in place of it."""
    names = getattr(table, "column_names", None)
    if names is not None and type(table).__module__.partition(".")[0] == "pyarrow":
        from scwlearn.data.tables.arrow_tables import leaf_names

        return [name for field in table.schema for name in leaf_names(field, features)]
    columns: dict[str, None] = {}
    for name in map(str, table.columns if names is None else names):
        # Other libraries have other types; a struct without a value has no known fields.
        objects = [{name: record[name]} for record in records if isinstance(record.get(name), Mapping)]
        columns |= dict.fromkeys(values_by_key(objects, features) if objects else [name])
    return [*columns]


def table_records(table: Any, count: int) -> list[dict[str, Any]]:
    """Return the first records of a table."""
    first = table.head(count) if hasattr(table, "head") else table.slice(0, count)
    found: list[dict[str, Any]] = first.to_pylist() if hasattr(first, "to_pylist") else _dicts(first)
    return found


def table_error(fault: str, key: str, found: bytes, *, record: int, skippable: bool = True) -> DataError:
    """Return the error for a fault of the native reader, in a record, which may be left out, or in a whole column."""
    name = f"the type {found.decode(errors='replace')}"
    if fault == "type":
        allowed = "numbers, bools, strings, dates, timestamps, structs and lists of strings can be used"
        return DataError(f"the column {key!r} has {name}; {allowed}", hint=_LEAVE_OUT)
    if fault == "zone":
        problem = f"the column {key!r} has the unknown time zone {found.decode(errors='replace')!r}"
        return DataError(problem, hint="convert the times to UTC; on Windows: pip install tzdata")
    if fault == "label type":
        return DataError(f"the label {key!r} must be numeric or categorical, but has {name}")
    if fault == "weight type":
        return DataError(f"the weight {key!r} must be numeric, but has {name}")
    if fault == "repeated":
        return DataError(f"two columns have the name {key!r}; names must be unique")
    if fault == "utf8":
        return DataError("strings must be UTF-8", found=shown(found), line=record, column=key, unit="record")
    error = record_error(fault, key, found, line=record, skippable=skippable)
    error.unit = "record"
    return error


def utc_offset(zone: str, seconds: int) -> float:
    """Return by how many seconds a time zone is ahead of UTC, at a time in seconds since 1970; NaN if it is unknown."""
    known = _zone(zone)
    if known is None:
        return math.nan
    moment = _EPOCH + timedelta(seconds=min(max(seconds, _FIRST_SECOND), _LAST_SECOND))
    offset = moment.astimezone(known).utcoffset()
    return 0.0 if offset is None else offset.total_seconds()


@cache
def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    fixed = _FIXED_OFFSET.fullmatch(name)
    if fixed:
        offset = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        return timezone(-offset if fixed[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def _exported(table: Any) -> Any:
    """Return what a table hands over by Arrow's C interface, or None if it can only be read as dicts."""
    if _is_pandas(table):
        table = _arrow_table(table)
    check_no_nul(_schema(table))
    if hasattr(table, "__arrow_c_stream__"):
        return table.__arrow_c_stream__()
    return table.__arrow_c_array__() if hasattr(table, "__arrow_c_array__") else None


def _schema(table: Any) -> Any:
    """Return the schema of a table of pyarrow or polars, or the type of an array; nothing for another library."""
    is_known = type(table).__module__.partition(".")[0] in ("pyarrow", "polars")
    return next((getattr(table, name) for name in ("schema", "type", "dtype") if is_known and hasattr(table, name)), ())


def _is_pandas(table: Any) -> bool:
    return "pandas" in sys.modules and isinstance(table, sys.modules["pandas"].DataFrame)


def _arrow_table(frame: Any) -> Any:
    """Return a pandas data frame as an Arrow table without its index; None if it cannot be converted."""
    names = _names(frame)
    try:
        import pyarrow as pa
    except ImportError:
        return None
    try:
        arrays = [_arrow_array(frame.iloc[:, i]) for i in range(len(names))]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return pa.Table.from_arrays(arrays, names) if names else None


def _arrow_array(column: Any) -> Any:
    import pyarrow as pa

    infer = sys.modules["pandas"].api.types.infer_dtype
    if column.dtype == object and infer(column, skipna=True) not in _PLAIN_OBJECTS:
        raise TypeError("Arrow would convert the values")
    # As an array of NumPy, which keeps NaN apart from a missing value.
    array = pa.array(column.to_numpy() if _holds_floats(column) else column)
    # Categories may be such values, too: intervals, for example.
    values = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if isinstance(values, pa.BaseExtensionType):
        raise TypeError("a type of pandas")
    return array


def _holds_floats(column: Any) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind == "f"


def _names(frame: Any) -> list[str]:
    """Return the names of the columns of a data frame, which must differ."""
    names = [str(name) for name in frame.columns]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"two columns have the name {repeated[0]!r}; names must be unique")
    check_no_nul(dict.fromkeys(names))
    return names


def _dicts(frame: Any) -> list[dict[str, Any]]:
    """Return the records of a data frame, with None for missing values."""
    if not _is_pandas(frame):
        found: list[dict[str, Any]] = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
        return found
    names = _names(frame)
    columns = [_values(frame.iloc[:, i]) for i in range(len(names))]
    return [dict(zip(names, [column[row] for column in columns], strict=True)) for row in range(len(frame))]


def _values(column: Any) -> list[Any]:
    values: list[Any] = column.tolist()
    if _holds_floats(column):
        return values
    return [value if is_there else None for value, is_there in zip(values, column.notna().tolist(), strict=True)]


def _named_rows(records: Sequence[dict[str, float]]) -> NamedRows:
    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(name, len(numbers)) for record in records for name in record]
    values = [value for record in records for value in record.values()]
    offsets = np.cumsum([0, *map(len, records)])
    return NamedRows.of_arrays(
        np.array(values, dtype=np.float64), np.array(columns, dtype=np.int32), offsets.astype(np.int32), [*numbers]
    )
