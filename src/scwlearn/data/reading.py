"""Reading examples from any sources: several files, patterns, URLs, pipes; in any format."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import ExitStack
from dataclasses import fields, replace
from typing import Any

from scwlearn._util.checks import check_choice
from scwlearn.data.batch import Batch, LabelKind
from scwlearn.data.features import PLAIN, Features
from scwlearn.data.formats import deciding, detect_format, format_names, get_format, is_enough
from scwlearn.data.io.errors import DataError, NoExamples
from scwlearn.data.io.streams import Source, Stream, expand_sources, open_source, source_name
from scwlearn.data.options import ReaderOptions
from scwlearn.data.rows import Rows
from scwlearn.data.schema import Schema, check_roles
from scwlearn.data.tables.resolve import is_complete

# Format of examples in memory, with numbered features.
_IN_MEMORY = "libsvm"
# Options that say how a file is written, not what a model expects.
_OF_A_FILE = ("header", "delimiter")
# Kinds that say what the cells of a column hold, which have no types; a model makes the same of typed values.
_OF_CELLS = ("numeric", "categorical", "ignore")


def read_batches(
    sources: Iterable[Source | Batch],
    schema: Schema | None = None,
    options: ReaderOptions = ReaderOptions(),
    *,
    format: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    features: Features = PLAIN,
    zero_based: bool = False,
    header: bool | None = None,
    delimiter: str | None = None,
) -> tuple[Schema, Generator[Batch, None, None]]:
    """Read examples in batches, in memory that does not grow with the data.

    The first source is opened at once, to detect the schema.

    Parameters
    ----------
    sources : iterable of paths, patterns, URLs, "-" or binary files
        All of one format, compressed or not. "-" is standard input; a file that is passed open stays open. A `Batch`
        with numbered features, such as a data set in memory, counts as a file in LIBSVM format.
    schema : Schema or None
        Schema of a trained model. It excludes `label`, `weight` and `zero_based`, and all `features` but the kinds of
        columns whose cells may be numbers or strings. Named features may come in another format than the training data,
        and tables with another header or delimiter.
    options : ReaderOptions
        Options of all readers.
    format : str or None
        Name of the format. None: "csv" if there is a `delimiter`, else detected from the content.
    label, weight : str or None
        Column or key of the label and of the sample weight, in formats that have columns or keys. In tables, case does
        not matter, and a number is a position: "1" is the first column, "-1" the last.
    features : Features
        What the values mean. The first records decide about what is not declared.
    zero_based : bool
        Whether LIBSVM indices start at 0.
    header : bool or None
        Whether the first line of a CSV or TSV file names the columns. None: it does, unless it looks like a record,
        which is an error. Without a header, the columns are called "1", "2" and so on.
    delimiter : str or None
        Character between the cells of a CSV file. None to detect it: comma, semicolon, bar or tab.

    Returns
    -------
    schema : Schema
        How the data is read.
    batches : generator of Batch
        The examples. Closing it closes the sources.

    Raises
    ------
    DataError
        If the data cannot be read, some labels are strings and others are numbers, or an option does not apply to the
        format.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.reading import read_batches
    >>> schema, batches = read_batches([io.BytesIO(b"+1 1:0.5 3:2\\n"), io.BytesIO(b"-1 2:1\\n")])
    >>> schema.format, [batch.labels.tolist() for batch in batches]
    ('libsvm', [[1.0], [-1.0]])
    """
    given = {
        "label": label,
        "weight": weight,
        "features": None if features.is_plain else features,
        "zero_based": zero_based or None,
        "header": header,
        "delimiter": delimiter,
    }
    if not isinstance(options, ReaderOptions):
        raise TypeError(f"options must be ReaderOptions, got {options!r}")
    if format is None and delimiter is not None:
        format = "csv"
    if format is not None:
        check_choice("format", format, format_names())
    expanded: list[Source | Batch] = []
    for source in sources:
        expanded += [source] if isinstance(source, Batch) else expand_sources([source])
    given = {name: value for name, value in given.items() if value is not None}
    batches = _read(expanded, schema, options, format, given)
    # The generator has started, so closing it closes the first source.
    return next(batches), batches


def _read(
    sources: list[Source | Batch],
    model_schema: Schema | None,
    options: ReaderOptions,
    format: str | None,
    given: dict[str, Any],
) -> Generator[Any, None, None]:
    """Yield the schema, then all batches."""
    if not sources:
        raise ValueError("sources is empty; pass at least one file")
    schema: Schema | None = None
    empty: NoExamples | None = None
    found_some, width, label_kind = False, 0, LabelKind()
    for source in sources:
        with ExitStack() as opened:
            if isinstance(source, Batch):
                name, found = source.source, _IN_MEMORY
                if format not in (None, found):
                    raise DataError(f"a data set, which is {found} data, not {format}", source=name)
            else:
                stream = opened.enter_context(open_source(source, options.on_read))
                if len(sources) > 1 and not stream.peek(bool):
                    continue  # one of several files may be empty
                name, found = stream.name, format or _detect(stream, schema or model_schema, given)
            if schema is not None and found != schema.format:
                names = f"{name} is {found} data, but {_name(sources[0])} is {schema.format} data"
                raise DataError(f"{names}; all sources must have the same format")
            initial = schema or _initial_schema(found, model_schema, given, name, options.features)
            if isinstance(source, Batch):
                reader, batches = None, _slices(source, initial, options)
            else:
                reader = get_format(found).reader(stream, initial, options)
                batches = reader.read()
            opened.callback(batches.close)
            try:
                complete = next(batches)
                if schema is None:
                    schema = complete
                    yield schema
                for batch in batches:
                    found_some = True
                    if not options.ignores_labels:
                        label_kind.check(batch)
                    if isinstance(batch.x, Rows):
                        width = max(width, batch.x.width)
                    yield batch.widened(width)
                if reader is not None and schema.label_kind is None:
                    schema = replace(schema, label_kind=reader.decided_labels)
            except NoExamples as error:
                empty = empty or error
    if empty is not None and not found_some:
        raise empty
    if schema is None:
        raise DataError(f"all sources are empty: {', '.join(map(_name, sources))}")


def _slices(batch: Batch, schema: Schema, options: ReaderOptions) -> Generator[Any, None, None]:
    """Yield the schema, then the examples of a data set in batches of sparse rows, as a reader does."""
    yield schema
    for start in range(0, len(batch), options.batch_rows):
        part = batch.slice(start, start + options.batch_rows)
        if not isinstance(part.x, Rows):
            raise TypeError("a Batch must have numbered features to be read as a source")
        yield replace(part, x=Rows.from_csr(*part.x.compressed(), part.x.width))


def _name(source: Source | Batch) -> str:
    return source.source if isinstance(source, Batch) else source_name(source)


def _detect(stream: Stream, known: Schema | None, given: dict[str, Any]) -> str:
    """Return the format of a stream: of a table with the columns that are known, or as its content shows.

    It is the known format if nothing shows another. The result does not depend on how much of a pipe has arrived.
    """
    if known is not None and is_complete(known):
        from scwlearn.data.tables.delimited import known_format

        line = _first_line(stream.peek(lambda head: _first_line(head) is not None)) or b""
        found = known_format(replace(known, header=given.get("header", known.header)), line)
        if found is not None:
            return found
    try:
        format = None if known is None else known.format
        head = stream.peek(lambda head: is_enough(head, format))
        return detect_format(deciding(head, format), stream.name)
    except DataError:
        if known is None:
            raise
        return known.format


def _first_line(head: bytes) -> bytes | None:
    """Return the first whole line that is not blank."""
    return next((line for line in head.split(b"\n")[:-1] if line.strip()), None)


def _joins_words(schema: Schema) -> bool:
    """Return whether features of texts may come from several words, or from parts of one."""
    features = schema.features
    may_have_texts = features.others != "ignore" or "text" in features.kinds.values()
    return may_have_texts and (features.ngram != 1 or features.char_ngrams is not None)


def _contradictions(model: Features, given: Features) -> list[str]:
    """Return which declarations are for a model to make, or contradict its own."""
    others = [each.name for each in fields(Features) if each.name != "kinds"]
    found = [name for name in others if getattr(given, name) != getattr(PLAIN, name)]
    for column, kind in given.kinds.items():
        own = model.kinds.get(column, model.others)
        if kind != own and not (own == "auto" and kind in _OF_CELLS):
            found.append(kind)
    return found


def _initial_schema(
    format: str, model_schema: Schema | None, given: dict[str, Any], name: str, model_features: Features | None
) -> Schema:
    """Return the schema before the data has been seen."""
    if model_schema is not None:
        model_features = model_schema.features
    fixed = [] if model_schema is None else [option for option in given if option not in (*_OF_A_FILE, "features")]
    if model_features is not None and "features" in given:
        fixed += _contradictions(model_features, given["features"])
        given = given | {"features": model_features.declare(given["features"].kinds)}
    if fixed:
        hint = f"remove {', '.join(f'{{{option}}}' for option in dict.fromkeys(fixed))}"
        raise DataError("the model determines how data is read", hint=hint)
    allowed = get_format(format).options
    for option in given:
        if option not in allowed:
            takes = ", ".join(f"{{{each}}}" for each in allowed)
            typed = "no_header" if option == "header" and given[option] is False else option
            hint = f"remove {{{typed}}}; this format takes {takes}"
            raise DataError(f"an option that does not apply to {format} data", source=name, hint=hint)
    is_given = "delimiter" in given
    if model_schema is None:
        if model_features is not None:
            return Schema(format, **{"features": model_features, **given}, is_fixed=True, is_delimiter_given=is_given)
        schema = Schema(format, **given, is_delimiter_given=is_given)
        check_roles(schema)
        return schema
    numbered = {each: get_format(each).numbered for each in (format, model_schema.format)}
    if numbered[format] != numbered[model_schema.format]:
        kinds = {True: "numbered features (libsvm)", False: "named features"}
        expected = kinds[numbered[model_schema.format]]
        raise DataError(f"data with {kinds[numbered[format]]}, but the model was trained on {expected}", source=name)
    if not get_format(format).has_texts and get_format(model_schema.format).has_texts and _joins_words(model_schema):
        problem = f"the model has n-grams of texts, but {format} data has single words, not in their order"
        raise DataError(problem, source=name, hint="use another format")
    return replace(model_schema, format=format, is_fixed=True, is_delimiter_given=is_given, **given)
