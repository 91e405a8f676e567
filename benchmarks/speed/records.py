"""Records in tables and JSON, from a file to a model: whole commands, against readers of the same files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from data_sets import SEED

from speed import data, peers
from speed.commands import TRAIN, ours, python
from speed.harness import Bar, Group, Race, Scale, Side, comparison, share_of_time, times_faster

BITS = "18"
COLUMNS = 30
VOWPAL_WABBIT = "python -m vowpalwabbit --json"
CSV_READER, PARQUET_READER = "pyarrow.csv.open_csv, no model", "pyarrow.parquet.ParquetFile, no model"
FEW_LIBSVM = "a LIBSVM file"


def train(path: Path, *options: str) -> Side:
    """Return our `train`, whose record has the number of examples."""
    return ours("train", str(path), "--json", *options, counted=r'"passes": \[{"seen": (\d+)')


@comparison(
    f"{TRAIN}, JSON lines to a saved model",
    against=VOWPAL_WABBIT,
    target=times_faster(1.5),
    chart=Bar(Group.FILE, "scwlearn train, JSON, 139 MB", "vw command"),
)
def records_json(scale: Scale) -> Race:
    """The same records with the keys that each side expects; both hash names to as many bits."""
    peers.module("vowpalwabbit")
    count = scale.of(300_000, 5_000)
    path = data.cached_lines(f"records-{count}.jsonl", map(_line, records(count)))
    vw = data.cached_lines(f"records-{count}.vw.json", map(_line, map(_for_vowpal_wabbit, records(count))))
    models = Path(tempfile.mkdtemp())
    asked = ["--json", "-d", str(vw), "-b", BITS, "--loss_function", "hinge", "--no_stdin", "-f", str(models / "vw")]
    peer = python(VOWPAL_WABBIT, "-m", "vowpalwabbit", *asked, counted=r"number of examples = (\d+)")
    learning = train(path, "--text", "text", "--hash-bits", BITS, "-m", str(models / "ours"))
    megabytes = path.stat().st_size / 1e6
    return Race(f"{megabytes:.0f} MB, {count} records of 20 values", learning, peer, megabytes)


@comparison(f"{TRAIN}, numeric CSV", against=CSV_READER, target=times_faster(0.6))
def records_csv(scale: Scale) -> Race:
    """Reading the file and nothing else is the limit."""
    return table(scale, "csv", CSV_READER, "import pyarrow.csv; batches = pyarrow.csv.open_csv(path)")


@comparison(f"{TRAIN}, numeric Parquet", against=PARQUET_READER)
def records_parquet(scale: Scale) -> Race:
    """As `records_csv`."""
    opening = "import pyarrow.parquet; batches = pyarrow.parquet.ParquetFile(path).iter_batches()"
    return table(scale, "parquet", PARQUET_READER, opening)


def table(scale: Scale, suffix: str, name: str, opening: str) -> Race:
    """Return the race of training from a numeric table and of a process that iterates over its batches."""
    peers.module("pyarrow")
    count = scale.of(300_000, 10_000)
    path = data.cached_file(f"table-{count}.{suffix}", lambda unfinished: write_table(unfinished, count))
    code = f"path = {str(path)!r}; {opening}; print(sum(batch.num_rows for batch in batches), 'rows')"
    megabytes = path.stat().st_size / 1e6
    size = f"{megabytes:.0f} MB, {count} x {COLUMNS}"
    return Race(size, train(path), python(name, "-c", code, counted=r"(\d+) rows"), megabytes)


@comparison(f"{TRAIN}, CSV", against=FEW_LIBSVM, target=share_of_time(1.3))
def records_few(_: Scale) -> Race:
    """The start-up cost of a table."""
    values = [(1, 0.5, 2), (-1, 0.25, 1), (1, 0.75, 3), (-1, 0.125, 2), (1, 1, 1)]
    csv = data.cached_lines("few.csv", ["label,a,b\n", *(f"{label},{a},{b}\n" for label, a, b in values)])
    libsvm = data.cached_lines("few.libsvm", [f"{label:+d} 1:{a} 2:{b}\n" for label, a, b in values])
    return Race("5 records", train(csv), replace(train(libsvm), name=FEW_LIBSVM))


def records(count: int) -> Iterator[dict[str, Any]]:
    """Generate records of 20 values: numbers, categories, a nested object and a text; some determine the label."""
    random = np.random.default_rng(SEED)
    numbers = np.round(random.standard_normal((count, 12)), 4)
    # The small numbers are more frequent.
    chosen = (random.random((count, 7)) ** 2 * [3, 5, 10, 20, 50, 200, 1000]).astype(int)
    words = (random.random((count, 8)) ** 3 * 5000).astype(int)
    score = numbers[:, 0] - numbers[:, 1] + chosen[:, 0] - 1 + np.where(words[:, 0] % 2, 1, -1)
    labels = data.flipped(np.where(score >= 0, 1, -1).astype(np.int8), 0.05)
    rows = zip(labels.tolist(), numbers.tolist(), chosen.tolist(), words.tolist(), strict=True)
    for label, values, categories, text in rows:
        yield {
            "label": label,
            **{f"number{i}": value for i, value in enumerate(values[2:])},
            **{f"category{i}": f"c{value}" for i, value in enumerate(categories[1:])},
            "device": {"width": values[0], "height": values[1], "system": f"s{categories[0]}"},
            "text": " ".join(f"word{word}" for word in text),
        }


def write_table(path: Path, count: int) -> None:
    """Write correlated numbers with four decimals and their label as CSV or Parquet."""
    import pyarrow
    from pyarrow import csv, parquet

    rows = data.correlated(count, COLUMNS)
    columns = {f"x{i}": np.round(column, 4) for i, column in enumerate(rows.x.T)}
    table = pyarrow.table({"label": rows.y} | columns)
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record) + "\n"


def _for_vowpal_wabbit(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the keys by which Vowpal Wabbit knows the label and the text."""
    return {"_label": record.pop("label"), **record, "text": {"_text": record["text"]}}
