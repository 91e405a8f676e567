"""Fuzz the CSV reader: any bytes are read, or rejected with an error that says where and why.

    python fuzz/csv_path.py fuzz/corpus/csv -runs=50000 -timeout=10 -rss_limit_mb=4096 -max_len=512

libFuzzer stops at an input that takes too long (-timeout, in seconds) or too much memory (-rss_limit_mb).
"""

import io
import sys

import atheris

with atheris.instrument_imports(include=["scwlearn.data"]):
    from scwlearn.data.features import Features
    from scwlearn.data.options import ReaderOptions
    from scwlearn.data.reading import read_batches
    from scwlearn.data.tables import delimited  # noqa: F401  (instrumented before it is used)

# Declared for headers that contain these names.
KINDS = {"a": "numeric", "b": "categorical", "about": "text"}


def test_one_input(data: bytes) -> None:
    """Read bytes with options that their last byte selects."""
    if not data:
        return
    text, way = data[:-1], data[-1]
    options = ReaderOptions(
        labels="optional" if way & 16 else "required",
        on_error="skip" if way & 32 else "raise",
        read_ahead=False,
        chunk_bytes=32 if way & 64 else 2**16,
        max_record_bytes=2**16,
    )
    try:
        _, batches = read_batches(
            [io.BytesIO(text)],
            options=options,
            format="tsv" if way & 1 else "csv",
            label=("y" if way & 4 else "-1") if way & 2 else None,
            weight="w" if way & 4 else None,
            features=Features(
                kinds={name: kind for name, kind in KINDS.items() if way & 8 and name.encode() in text[:100]}
            ),
            header=False if way & 128 else None,
        )
        for batch in batches:
            check(batch)
    except (ValueError, OSError):
        pass


def check(batch) -> None:  # type: ignore[no-untyped-def]
    """Check what every batch guarantees."""
    count = len(batch)
    assert count > 0
    assert len(batch.x.rows) == count
    assert batch.x.rows.width == len(batch.x.names) == len(set(batch.x.names))
    assert (batch.lines[1:] > batch.lines[:-1]).all()
    for part in (batch.labels, batch.weights, batch.labelled):
        assert part is None or len(part) == count
    # The rows claim to be checked, so they are checked again as a new matrix.
    (block,) = batch.x.rows.blocks(count)
    type(batch.x.rows)(block.matrix())


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
