"""The file of results: one line for each run, added as soon as it is done, so that nothing is computed twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from scwlearn._util.atomic import lock_file
from scwlearn.experiments.jobs import Job, Outcome, from_line, to_line

_FIRST = {"scwlearn": "results of runs", "format": 1}


class Results:
    """Outcomes by job, in memory and in a JSON lines file that only grows.

    A last line that was cut short, by a crash or a full disk, is dropped; anything else that is not a result is an
    error, because the file is somebody else's then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[Job, Outcome] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("r+b" if path.exists() else "w+b")
        try:
            # Two that write to one file would write over each other.
            if not lock_file(self._file):
                raise ValueError(f"{path}: another run is writing to it; wait, or choose another --output")
            end = 0
            for number, line in enumerate(self._file, start=1):
                if not line.endswith(b"\n"):
                    break
                self._read(number, line)
                end += len(line)
            self._file.truncate(end)
            self._file.seek(end)
            if end == 0:
                self._write(_FIRST)
        except BaseException:
            self._file.close()
            raise

    def _read(self, number: int, line: bytes) -> None:
        try:
            entry = json.loads(line)
            if number == 1:
                if entry != _FIRST:
                    raise ValueError("another first line")
            else:
                job, outcome = from_line(entry)
                self._known[job] = outcome
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{self.path}, line {number}: this is no result of a run ({error}); "
                "delete that line, or choose another --output"
            ) from None

    def _write(self, entry: dict[str, object]) -> None:
        try:
            self._file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def __contains__(self, job: object) -> bool:
        return job in self._known

    def __getitem__(self, job: Job) -> Outcome:
        return self._known[job]

    def __iter__(self) -> Iterator[Job]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, job: Job, outcome: Outcome) -> None:
        """Keep what a run has come to, in the file first."""
        self._write(to_line(job, outcome))
        self._known[job] = outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
