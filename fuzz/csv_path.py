"""Fuzzing of what reads CSV: any bytes are read, or refused with an error that says where and why.

    python fuzz/csv_path.py fuzz/corpus/csv -runs=50000 -timeout=10 -rss_limit_mb=4096 -max_len=512

libFuzzer stops at an input that takes too long (-timeout, in seconds) or too much memory (-rss_limit_mb).
"""

import io
import sys

import atheris

with atheris.instrument_imports(include=["scwlearn.data"]):
    from scwlearn.data.examples import Schema
    from scwlearn.data.options import ReaderOptions
    from scwlearn.data.tables import arrow_files, delimited, read_csv_examples  # noqa: F401  (instrumented before they are used)

# No header has these, unless the fuzzer finds them; what they say is tried on whatever has.
KINDS = {"a": "numeric", "b": "categorical", "about": "text"}


def test_one_input(data: bytes) -> None:
    """Read some bytes as the last of them says."""
    if not data:
        return
    text, way = data[:-1], data[-1]
    schema = Schema(
        "tsv" if way & 1 else "csv",
        label="y" if way & 2 else None,
        weight="w" if way & 4 else None,
        columns={name: kind for name, kind in KINDS.items() if way & 8 and name.encode() in text[:100]},
    )
    options = ReaderOptions(
        labels="optional" if way & 16 else "required",
        on_error="skip" if way & 32 else "raise",
        read_ahead=False,
        # Each chunk costs a whole read of Arrow's.
        chunk_bytes=32 if way & 64 else 2**16,
        max_record_bytes=2**16,
    )
    try:
        for batch in read_csv_examples(io.BytesIO(text), schema, options):
            check(batch)
    except (ValueError, OSError):
        pass


def check(batch) -> None:  # type: ignore[no-untyped-def]
    """What every batch promises."""
    count = len(batch)
    assert count > 0
    batch.x.rows.part(0, count).blocks(count)
    assert len(batch.x.rows) == count
    assert batch.x.rows.width == len(batch.x.names) == len(set(batch.x.names))
    assert (batch.lines[1:] > batch.lines[:-1]).all()
    for part in (batch.labels, batch.weights, batch.labelled):
        assert part is None or len(part) == count
    # Rows say that they were checked; so they are checked again, as if they did not.
    (block,) = batch.x.rows.blocks(count)
    type(batch.x.rows)(block.matrix())


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
