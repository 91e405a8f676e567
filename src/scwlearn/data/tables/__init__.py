"""Examples from tables: CSV and TSV, Parquet, Arrow; read in batches through Arrow's library."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from scwlearn.data.examples import Schema
from scwlearn.data.io.streams import Source, Stream, check_source, name_of, stop_of
from scwlearn.data.options import ReaderOptions
from scwlearn.data.readers import ReadExamples, RecordSource, Way
from scwlearn.data.tables.records import CHUNK_BYTES, Records
from scwlearn.data.tables.schemas import examples_of, is_resolved, resolved

#: What is between the cells of each format.
DELIMITERS = {"csv": b",", "tsv": b"\t"}


def read_csv_examples(
    source: Source, schema: Schema, options: ReaderOptions = ReaderOptions()
) -> ReadExamples[Any, Any]:
    """The examples of a CSV or TSV file with a header, in batches, in memory that does not grow with the file.

    Cells may be quoted, and hold delimiters, newlines and doubled quotes then. An empty cell says nothing. Blank lines
    are left out.

    Parameters
    ----------
    source : path, "-" or binary file
        Compressed or not.
    schema : Schema
        The format, "csv" or "tsv"; perhaps the label, the weight, what is left out, and what some columns are. What is
        not said is decided by the records of the first chunk: see the `schema` of what is returned.
    options : ReaderOptions
        What all readers take. Where labels are required, a table has a column of them.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.tables import read_csv_examples
    >>> table = io.BytesIO(b"size,color,label\\n3,red,ripe\\n,green,raw\\n")
    >>> (batch,) = read_csv_examples(table, Schema("csv"))
    >>> batch.x.names, batch.x.rows.dense().tolist(), batch.labels.tolist()
    (['size', 'color=red', 'color=green'], [[3.0, 1.0, 0.0], [0.0, 0.0, 1.0]], ['ripe', 'raw'])
    """
    needs_arrow("CSV")
    from scwlearn.data.tables.delimited import Delimited

    check_source(source)
    text = Delimited(schema, _records(source, schema, options))
    stopped = stop_of(source)
    way = Way(text.chunks(source, stopped), text.piece, resolved, examples_of)
    return ReadExamples(way, schema, RecordSource(name_of(source), options, untyped=True), stopped)


def read_parquet_examples(
    source: Source, schema: Schema, options: ReaderOptions = ReaderOptions()
) -> ReadExamples[Any, Any]:
    """The examples of a Parquet file, as `read_csv_examples` gives them; `lines` are numbers of records.

    What a Parquet file lists its contents by comes at its end: from a pipe, or compressed as a whole, it is first
    copied, to memory up to 64 MB and else to a temporary file.

    Examples
    --------
    >>> import io
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.tables import read_parquet_examples
    >>> file = io.BytesIO()
    >>> parquet.write_table(pa.table({"size": [3.0, None], "tags": [["a", "b"], ["b", "b"]], "label": [1, 2]}), file)
    >>> (batch,) = read_parquet_examples(io.BytesIO(file.getvalue()), Schema("parquet"))
    >>> batch.x.names, batch.x.rows.dense().tolist(), batch.labels.tolist()
    (['size', 'tags=a', 'tags=b'], [[3.0, 1.0, 1.0], [0.0, 0.0, 2.0]], [1, 2])
    """
    needs_arrow("Parquet")
    from scwlearn.data.tables.arrow_files import parquet_pieces

    return _typed(parquet_pieces, source, schema, options)


def read_arrow_examples(
    source: Source, schema: Schema, options: ReaderOptions = ReaderOptions()
) -> ReadExamples[Any, Any]:
    """The examples of an Arrow file (Feather) or stream, as `read_parquet_examples` gives them.

    Streams are read as they come. Files are copied first where Parquet files are.

    Examples
    --------
    >>> import io
    >>> import pyarrow as pa
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.tables import read_arrow_examples
    >>> table, file = pa.table({"size": [3, 0], "color": ["red", "blue"], "label": [True, False]}), io.BytesIO()
    >>> with pa.ipc.new_stream(file, table.schema) as stream:
    ...     stream.write_table(table)
    >>> (batch,) = read_arrow_examples(io.BytesIO(file.getvalue()), Schema("arrow"))
    >>> batch.x.names, batch.labels.tolist()
    (['size', 'color=red', 'color=blue'], [True, False])
    """
    needs_arrow("Arrow")
    from scwlearn.data.tables.arrow_files import arrow_pieces

    return _typed(arrow_pieces, source, schema, options)


def resolve_schema(source: Source, schema: Schema, *, labels: str = "required") -> Schema:
    """The schema with what the first records of a table show: its label column, and what each column is.

    Nothing is taken from a `Stream` of text. A Parquet or Arrow file that comes from a pipe can only be read once: ask
    what `read_parquet_examples` and `read_arrow_examples` return for its `schema` instead.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.tables import resolve_schema
    >>> table = io.BytesIO(b"age,job,about,y\\n31,nurse,likes long quiet walks,yes\\n,cook,plays in a band,no\\n")
    >>> resolve_schema(table, Schema("csv")).columns
    {'age': 'numeric', 'job': 'categorical', 'about': 'text', 'y': 'categorical'}
    """
    if is_resolved(schema):
        return schema
    options = ReaderOptions(labels=labels, on_error="skip", read_ahead=False)
    if schema.format in DELIMITERS:
        head = _Head(source, schema) if isinstance(source, Stream) else source
        batches = read_csv_examples(head, schema, options)
    elif schema.format == "parquet":
        batches = read_parquet_examples(source, schema, options)
    elif schema.format == "arrow":
        batches = read_arrow_examples(source, schema, options)
    else:
        raise ValueError(f"tables are csv, tsv, parquet or arrow, got {schema.format!r}")
    found = batches.schema
    batches.close()
    return found


class _Head(io.BytesIO):
    """The records that a stream begins with, which stay in it."""

    def __init__(self, stream: Stream, schema: Schema) -> None:
        self.name = stream.name
        text = stream.peek(lambda head: len(head) >= CHUNK_BYTES, CHUNK_BYTES)
        whole = _records(stream, schema, ReaderOptions()).last_end(text)
        super().__init__(text if len(text) < CHUNK_BYTES else text[:whole])


def _records(source: Source, schema: Schema, options: ReaderOptions) -> Records:
    if schema.format not in DELIMITERS:
        raise ValueError(f"the format of delimited text is one of {', '.join(DELIMITERS)}, got {schema.format!r}")
    return Records(name_of(source), DELIMITERS[schema.format], options)


def _typed(
    pieces: Callable[..., Any], source: Source, schema: Schema, options: ReaderOptions
) -> ReadExamples[Any, Any]:
    check_source(source)
    stopped = stop_of(source)
    way = Way(pieces(source, schema, options.batch_rows, stopped), lambda piece: piece, resolved, examples_of)
    origin = RecordSource(name_of(source), options, unit="record", wanted="it has no rows")
    return ReadExamples(way, schema, origin, stopped)


def needs_arrow(what: str) -> None:
    """A ValueError where Arrow's library is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ValueError(f'{what} needs pyarrow: pip install "scwlearn[cli]"') from None
    # The first array of Arrow's imports pandas, where that is installed, and loses a Ctrl-C meanwhile. Here it is kept.
    with suppress(ImportError):
        import_module("pandas")
