"""Jobs and their outcomes, and a results file to which each outcome is appended, so that nothing runs twice."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import sys
from collections import UserDict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, BinaryIO, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import __version__, _native
from scwlearn._util.json_fields import IGNORE_UNKNOWN, MAX_COUNT, Count, Range, read_json
from scwlearn._util.temporary import lock_file
from scwlearn.files.json_reader import parse_json
from scwlearn.rules import Rule


@dataclass(frozen=True)
class _Header:
    """The first line of a file of results."""

    scwlearn: Literal["results of runs"]
    format: Literal[1]


_HEADER = _Header("results of runs", 1)


@functools.cache
def _version() -> str:
    return f"{__version__}-{hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Job:
    """One run of an algorithm over one order of the data. Equal jobs have equal outcomes, except for their times."""

    data: str
    #: Checksums of the data and of the source of the rule: if either changes, it is another job.
    data_id: str
    rule: str
    rule_id: str
    covariance: str
    parameters: tuple[tuple[str, float], ...]
    seed: int
    #: Number of the random order.
    order: Count
    #: Number of rows used from the order.
    rows: Count
    #: The fold (from 1) that is held out and scored; 0 for progressive validation.
    fold: Count = 0
    checkpoints: Count = 1
    #: Version of the package, with a checksum of the native module.
    version: str = field(default_factory=_version)


@dataclass(frozen=True)
class Outcome:
    """The counts and the processor time of a job at each checkpoint."""

    seen: tuple[Annotated[int, Range(1, MAX_COUNT)], ...]
    mistakes: tuple[Count, ...]
    updates: tuple[Count, ...]
    seconds: tuple[float, ...]


# A line of the file has the fields of both.
_JOB: Any = Annotated[Job, IGNORE_UNKNOWN]
_OUTCOME: Any = Annotated[Outcome, IGNORE_UNKNOWN]


class Results(UserDict[Job, Outcome]):
    """Outcomes by job, in memory and in a JSON Lines file that is only appended to.

    An incomplete last line, left by a crash or a full disk, is dropped. Any other invalid line is an error, because the
    file may not be ours.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("r+b" if path.exists() else "w+b")
        try:
            if not lock_file(self._file):
                raise ValueError(f"{path}: another run is writing to this file; wait, or choose another --output")
            *lines, rest = self._file.read().split(b"\n")
            for number, line in enumerate(lines, start=1):
                self._read(number, line)
            self._file.seek(-len(rest), os.SEEK_END)
            self._file.truncate()
            if not lines:
                self._write(asdict(_HEADER))
        except BaseException:
            self._file.close()
            raise

    def _read(self, number: int, line: bytes) -> None:
        try:
            entry = parse_json(line.decode())
            if number == 1:
                read_json(_Header, entry)
                return
            outcome: Outcome = read_json(_OUTCOME, entry)
            if len({len(values) for values in asdict(outcome).values()}) != 1 or not outcome.seen:
                raise ValueError("seen, mistakes, updates and seconds differ in length")
            parameters = read_json(dict[str, float], entry.get("parameters"), "parameters")
            job: Job = read_json(_JOB, entry | {"parameters": [*map(list, parameters.items())]})
            self.data[job] = outcome
        except ValueError as error:
            raise ValueError(
                f"{self.path}, line {number}: not the result of a run ({error}); delete the line, or choose another "
                "--output"
            ) from None

    def _write(self, entry: dict[str, Any]) -> None:
        try:
            self._file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def __setitem__(self, job: Job, outcome: Outcome) -> None:
        """Append an outcome to the file, then keep it."""
        self._write({**asdict(job), "parameters": dict(job.parameters), **asdict(outcome)})
        self.data[job] = outcome

    def __delitem__(self, job: Job) -> None:
        raise TypeError("results are only appended to")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def data_checksum(x: Any, y: NDArray[Any], *, shuffle: bool) -> str:
    """Return a checksum of everything that a run sees of a data set."""
    digest = hashlib.sha256(repr((x.shape, shuffle)).encode())
    for array in (x.data, x.indices, x.indptr, y) if sparse.issparse(x) else (x, y):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def rule_checksum(rule: Rule) -> str:
    """Return a checksum of the file that declares a rule, without its imports; in a notebook, of the function."""
    name = rule.function.__module__
    module = sys.modules.get(name)
    try:
        source = inspect.getsource(rule.function if module is None or name == "__main__" else module)
    except (OSError, TypeError):
        source = repr((rule.function.__code__.co_code, rule.function.__code__.co_consts))
    return hashlib.sha256(source.encode()).hexdigest()[:16]
