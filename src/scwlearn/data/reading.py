"""Examples from anywhere: several files, patterns, standard input; their format told by what is in them, or given."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from typing import Any

from scwlearn._util.checks import check_choice
from scwlearn.data.examples import Examples, Schema
from scwlearn.data.io.detect import FORMATS, detect_format, enough_to_detect
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.streams import Source, Stream, expand, name_of, open_source
from scwlearn.data.options import ReaderOptions
from scwlearn.data.rows import Rows

# Imported when they are used: tables and JSON need packages that other data do not.
_READERS = {
    "libsvm": ("scwlearn.data.libsvm", "read_libsvm_examples"),
    "vw": ("scwlearn.data.vw", "read_vw_examples"),
    "csv": ("scwlearn.data.tables", "read_csv_examples"),
    "tsv": ("scwlearn.data.tables", "read_csv_examples"),
    "jsonl": ("scwlearn.data.jsonl", "read_jsonl_examples"),
    "parquet": ("scwlearn.data.tables", "read_parquet_examples"),
    "arrow": ("scwlearn.data.tables", "read_arrow_examples"),
}


def read_examples(
    sources: Iterable[Source],
    schema: Schema | None = None,
    options: ReaderOptions = ReaderOptions(),
    *,
    format: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    ignore: Iterable[str] = (),
    columns: Mapping[str, str] | None = None,
    zero_based: bool = False,
) -> tuple[Schema, Generator[Examples, None, None]]:
    """How data are read, and their examples in batches, one source after the other. The first is opened at once.

    Parameters
    ----------
    sources : paths, patterns, "-" or binary files
        All of one format.
    schema : Schema or None
        How a model learned to read; then nothing of `label`, `weight`, `ignore`, `columns`, `zero_based` may be said.
        Named features may come in another format than those that it learned from.
    options : ReaderOptions
        What is asked of the reader of each format.
    format : str or None
        None: as the first source begins.
    label, weight : str or None
        Columns or keys, in formats that have these.
    ignore : names
        Columns, keys or namespaces that are left out.
    columns : mapping or None
        What some columns of tables are: "numeric", "categorical" or "text". What is not said, their first rows decide.
    zero_based : bool
        Whether indices of LIBSVM data count from 0.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.reading import read_examples
    >>> schema, batches = read_examples([io.BytesIO(b"+1 1:0.5 3:2\\n"), io.BytesIO(b"-1 2:1\\n")])
    >>> schema.format, [batch.labels.tolist() for batch in batches]
    ('libsvm', [[1.0], [-1.0]])
    """
    said = {
        "label": label,
        "weight": weight,
        "ignore": tuple(ignore),
        "columns": dict(columns or {}),
        "zero_based": zero_based,
    }
    chosen = {name: value for name, value in said.items() if value}
    if not isinstance(options, ReaderOptions):
        raise TypeError(f"options must be a ReaderOptions, got {options!r}")
    if format is not None:
        check_choice("format", format, tuple(FORMATS))
    batches = _read(expand(sources), schema, options, format, chosen)
    # It begins by saying how it reads; so it has begun, and closing it closes what it has opened.
    return next(batches), batches


def _read(
    sources: list[Source], schema: Schema | None, options: ReaderOptions, format: str | None, said: dict[str, Any]
) -> Generator[Any, None, None]:
    """The schema, and then all batches."""
    if not sources:
        raise ValueError("there is nothing to read: no source was given")
    first = name_of(sources[0])
    settled: Schema | None = None
    width = 0
    for source in sources:
        with ExitStack() as opened:
            stream = opened.enter_context(open_source(source))
            if len(sources) > 1 and not stream.peek(bool):
                # One of several parts may have nothing in it.
                continue
            found = format or _detected(stream, schema)
            if settled is not None and found != settled.format:
                raise ValueError(
                    f"{stream.name} is {found} data, but {first} is {settled.format}; all are of one format"
                )
            batches = _reader(stream, settled or _schema(found, schema, said, first), options)
            opened.callback(batches.close)
            if settled is None:
                # A table shows what its columns are when its first rows have been read.
                settled = getattr(batches, "schema", None) or _schema(found, schema, said, first)
                yield settled
            for batch in batches:
                if isinstance(batch.x, Rows):
                    width = max(width, batch.x.width)
                    batch = replace(batch, x=batch.x.widened(width)) if batch.x.width < width else batch
                yield batch
    if settled is None:
        raise ValueError(f"{', '.join(map(name_of, sources))} are all empty")


def _detected(stream: Stream, schema: Schema | None) -> str:
    """The format that a source shows, or that of what a model learned from where it shows none."""
    try:
        return detect_format(stream.peek(enough_to_detect), stream.name)
    except ValueError:
        if schema is None:
            raise
        return schema.format


def _reader(stream: Stream, schema: Schema, options: ReaderOptions) -> Any:
    module, function = _READERS[schema.format]
    return getattr(import_module(module), function)(stream, schema, options)


def _schema(found: str, schema: Schema | None, said: dict[str, Any], name: str) -> Schema:
    if schema is None:
        own = {"libsvm": ("zero_based",), "vw": ("ignore",)}.get(found, ("label", "weight", "ignore", "columns"))
        for option in said:
            if option not in own:
                allowed = ", ".join(f"{{{each}}}" for each in own)
                hint = f"drop {{{option}}}; this format takes {allowed}"
                raise DataError(f"this is {found} data", source=name, hint=hint)
        return Schema(found, **said)
    if said:
        raise DataError("the model says how data are read", hint=f"drop {', '.join(f'{{{name}}}' for name in said)}")
    if found != schema.format and "libsvm" in (found, schema.format):
        kinds = {True: "numbered features (libsvm)", False: "named features"}
        learned, has = kinds[schema.format == "libsvm"], kinds[found == "libsvm"]
        raise ValueError(f"{name} has {has}, but the model learned from {learned}")
    return replace(schema, format=found)
