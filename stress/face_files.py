"""Models that `scwlearn train` makes of records in files of every format."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

import scwlearn
from scwlearn.cli.app import run
from scwlearn.rules import Rule
from stress.face_examples import Records


def train(random: Random, data: Path, path: Path, options: list[str], told: str) -> Any:
    """Return the model that the command trains in this process; None if it refuses the data for a known reason."""
    errors, jobs = io.StringIO(), ["--jobs", "2"] if random.random() < 0.2 else []
    with contextlib.redirect_stderr(errors):
        code = run(["train", str(data), "-m", str(path), "-q", *jobs, *options])
    if code == 0:
        return scwlearn.load(path)
    assert any(known in errors.getvalue() for known in _REFUSED), f"{told}: {errors.getvalue()}"
    return None


#: Why a file of records may be refused.
_REFUSED = ("no examples to learn from, as all have the weight 0", "an example has at most")


def write(path: Path, format: str, records: Records) -> None:
    """Write records to a file."""
    rows = [{**record, "label": label} for record, label in zip(records.values, records.labels, strict=True)]
    if records.weights is not None:
        rows = [{**row, "weight": weight} for row, weight in zip(rows, records.weights, strict=True)]
    if format == "vw":
        lines = []
        for i, record in enumerate(records.values):
            head = "" if records.weights is None else f" {records.weights[i]}"
            features = " ".join(f"{name}:{float(value)!r}" for name, value in record.items() if value is not None)
            lines.append(f"{records.labels[i]}{head} | {features}\n")
        path.write_text("".join(lines))
    elif format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif format == "json":
        path.write_text(json.dumps(rows, ensure_ascii=False, indent=1))
    elif format in ("csv", "tsv"):
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter="," if format == "csv" else "\t")
            writer.writerow(rows[0])
            writer.writerows(["" if value is None else value for value in row.values()] for row in rows)
    elif format == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=17)
    else:
        table = pa.Table.from_pylist(rows)
        with ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=23)


def options_of(rule: Rule, settings: dict[str, Any]) -> list[str]:
    """Return the options of the command for settings of `StreamClassifier`."""
    words = ["-a", rule.name]
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if name == "average":
            words += ["--average" if value else "--no-average"]
        elif name == "intercept":
            words += ["--no-intercept"]
        elif name == "shared_covariance":
            words += [flag]
        elif name == "class_weight" and value != "balanced":
            words += [flag, ",".join(f"{label}={weight}" for label, weight in value.items())]
        elif name == "costs":
            words += [flag, ",".join(f"{t}:{p}={cost}" for t, row in value.items() for p, cost in row.items())]
        elif name == "overflow":
            continue
        elif name == "max_features" and settings.get("overflow") == "hash":
            words += ["--hash-bits", str(value.bit_length() - 1)]
        else:
            words += [flag, str(value)]
    return words
