"""Forged files with right checksums: each is refused with the name of a field, or can be used in every way."""

from __future__ import annotations

import json
import os
import resource
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import scwlearn
from scwlearn.export import encode_model, import_weights
from scwlearn.files import InvalidModelFile, SavedModel
from scwlearn.files.transport import pack, unpack
from scwlearn.report import write_page
from scwlearn.runs.records import read_records
from scwlearn.runs.results import Results
from scwlearn.runs.trained_model import TrainedModel
from stress.forging import Change, Forged, change_array, change_header, change_json, dump
from stress.model_files import data_file, model_file, model_names, record_text, results_text
from stress.model_use import check_command, run_command, use
from stress.trial import Trial

# Forged files of a case.
_FILES = 20
# Bytes of address space that a file of some kilobytes may make us take.
_MEMORY = 2**30
# Where files are quick to write, if the system has such a place.
_IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


# Cells of a CSV file.
_CELLS = [
    "",
    "a",
    "1",
    "0",
    "-1",
    "nan",
    "inf",
    "1e400",
    "1e308",
    "1e101",
    "5e-324",
    "1e-300",
    '"',
    '"x',
    "x" * 200_000,
]
_CELLS += ["134217728", "134217729", "99999999", "(intercept)", "\0", "\ud800", "\r", "class", "0x1", "1_0", "\u0661"]


def _case(random: Random) -> int:
    forge = random.choice([_forge_models] * 12 + [_forge_weights, _forge_weights, _forge_csv, _forge_records,
                                                  _forge_results, _forge_packed])  # fmt: skip
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as directory, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        forge(Path(directory), random)
    return _FILES


def _forge_models(directory: Path, random: Random) -> None:
    name = random.choice(model_names())
    content, path, honest = model_file(name), directory / "forged.model", directory / "honest.model"
    honest.write_bytes(content)
    data = data_file(name, directory)
    for _ in range(_FILES):
        forged, change = _forge(content, random)
        path.write_bytes(forged)
        with _reported(f"{name}, {change}", forged):
            if random.random() < 0.05:
                run_command(path, honest, data, random)
            try:
                model = scwlearn.load(path)
            except InvalidModelFile as error:
                _check_refusal(str(error), path, change)
            else:
                use(model, path, honest, random)


def _forge(content: bytes, random: Random) -> tuple[bytes, Change | None]:
    """Return a file with changes; and the change, if there is only one and it is known which field it concerns."""
    forged, change = Forged(content), None
    changes = random.choice([1, 1, 1, 2, 3])
    for _ in range(changes):
        if random.random() < 0.6:
            change = change_json(forged.model, random)
        else:
            change = Change((change_array(forged, random) or "",), is_of_other_type=False)
    if random.random() < 0.1:
        # Last, because arrays cannot be found afterwards.
        change_header(forged, random)
        changes += 1
    return forged.content(), change if changes == 1 else None


def _check_refusal(message: str, path: Path, change: Change | None) -> None:
    """Check that a message names the file and a field: the one that changed if its type did."""
    assert message.startswith(f"{path}: "), message
    problem = message.removeprefix(f"{path}: ")
    assert problem.isprintable(), problem
    if change is not None and change.is_of_other_type:
        assert change.names[-1] in problem, f"{change.names[-1]} is not named: {problem}"


def _forge_packed(directory: Path, random: Random) -> None:
    content = pack(SavedModel.from_model(load_seed(random.choice(model_names()), directory)))
    for _ in range(_FILES):
        forged, change = _forge(content, random)
        with _reported(f"packed, {change}", forged), suppress(InvalidModelFile):
            unpack(forged).to_model()


def _forge_weights(directory: Path, random: Random) -> None:
    """Plain weights as JSON, or as safetensors with JSON in the metadata."""
    model, kind = _linear_model(random, directory), random.choice(["json", "safetensors"])
    content = b"".join(map(bytes, encode_model(model, kind)))
    for _ in range(_FILES):
        if kind == "json":
            fields = json.loads(content)
            changes = [change_json(fields, random) for _ in range(random.choice([1, 1, 2]))]
            forged = dump(fields).encode()
        else:
            forged, changes = _forge_tensors(content, random), []
        path = directory / f"forged.{kind}"
        path.write_bytes(forged)
        with _reported(f"weights, {changes}", forged):
            _import(path, directory, random)


def _forge_tensors(content: bytes, random: Random) -> bytes:
    forged = Forged(content)
    if random.random() < 0.4:
        change_array(forged, random)
    else:
        name = random.choice([*forged.metadata])
        value = {name: json.loads(forged.metadata[name])} if name != "format" else dict(forged.metadata)
        change_json(value, random)
        forged.metadata[name] = dump(value.get(name))
    if random.random() < 0.1:
        change_header(forged, random)
    return forged.content()


def _forge_csv(directory: Path, random: Random) -> None:
    model = _linear_model(random, directory)
    lines = b"".join(map(bytes, encode_model(model, "csv"))).decode("utf-8", "surrogatepass").splitlines()
    for _ in range(_FILES):
        cells = [line.split(",") for line in lines]
        for _ in range(random.choice([1, 1, 2, 5])):
            row = random.choice(cells)
            row[random.randrange(len(row))] = random.choice(_CELLS)
            if random.random() < 0.2:
                row.append(random.choice(_CELLS)) if random.random() < 0.5 else row.pop()
                row.append("0")
        text = "\n".join(",".join(row) for row in cells)
        path = directory / "forged.csv"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with _reported("weights as CSV", text.encode("utf-8", "surrogatepass")):
            _import(path, directory, random)


def _import(path: Path, directory: Path, random: Random) -> None:
    if random.random() < 0.1:
        check_command(["convert", str(path), "-m", str(directory / "imported.model")])
    try:
        model = import_weights(path)
    except ValueError as error:
        _check_refusal(str(error), path, None)
        return
    honest = directory / "honest.model"
    model.write(honest)
    use(model.to_model(), directory / "used.model", honest, random)


def _linear_model(random: Random, directory: Path) -> TrainedModel:
    while True:
        name = random.choice(model_names())
        load_seed(name, directory)
        with suppress(ValueError):
            model = TrainedModel.read(directory / "seed.model")
            b"".join(map(bytes, encode_model(model, "csv")))
            return model


def load_seed(name: str, directory: Path) -> Any:
    """Write a model file and load it."""
    path = directory / "seed.model"
    path.write_bytes(model_file(name))
    return scwlearn.load(path)


def _forge_records(directory: Path, random: Random) -> None:
    path, page = directory / "forged.json", directory / "page.html"
    for _ in range(_FILES):
        value = json.loads(record_text())
        change = change_json(value, random)
        for _ in range(random.choice([0, 0, 1, 2])):
            change_json(value, random)
            change = None
        text = dump(value)
        path.write_text(text)
        with _reported(f"record, {change}", text.encode()):
            if random.random() < 0.1:
                check_command(["report", str(path), str(path), "-o", str(page)])
            try:
                records = read_records(path)
            except ValueError as error:
                _check_refusal(str(error), path, change)
            else:
                write_page(records * random.choice([1, 2]), page)


def _forge_results(directory: Path, random: Random) -> None:
    path = directory / "results.jsonl"
    for _ in range(_FILES):
        lines = results_text().splitlines()
        number = random.randrange(len(lines))
        value = json.loads(lines[number])
        change = change_json(value, random)
        lines[number] = dump(value)
        text = "\n".join(lines) + "\n"
        path.write_text(text)
        with _reported(f"results, {change}", text.encode()):
            try:
                results = Results(path)
            except ValueError as error:
                _check_refusal(str(error).replace(f"{path}, line {number + 1}", f"{path}", 1), path, change)
                continue
            with results:
                for job, outcome in results.items():
                    assert isinstance(hash((job, outcome)), int)
                    sum(outcome.seen), sum(outcome.mistakes), sum(outcome.updates), sum(outcome.seconds)


@contextmanager
def _reported(what: str, content: bytes) -> Iterator[None]:
    """Limit the memory; if anything is raised, keep the file and say which it is."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _MEMORY, hard))
    try:
        yield
    except BaseException as error:
        kept = Path(tempfile.gettempdir()) / f"forged-{os.getpid()}"
        kept.write_bytes(content)
        raise AssertionError(f"{what}; the file is kept as {kept}: {type(error).__name__}: {error}"[:2000]) from error
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


TRIAL = Trial(
    claim="A forged file with a right checksum is refused with the name of a field, or can be used like any other",
    unit="files",
    case=_case,
    quick=15,
    long=13_000,
)
