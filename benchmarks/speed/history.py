"""History of published runs: a line of JSON for each comparison, with which later runs are compared."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from speed.harness import Result

PATH = Path(__file__).with_name("history.jsonl")
#: Changes for the worse by more than this are reported.
TOLERANCE = 0.05


@dataclass(frozen=True)
class Record:
    """A comparison in one run: the ratio with its range, the median seconds and the instructions of both sides."""

    date: str
    version: str
    commit: str
    machine: str
    name: str
    ratio: float
    low: float
    high: float
    ours: float
    peer: float
    counter: str | None = None
    our_instructions: int | None = None
    peer_instructions: int | None = None


@dataclass(frozen=True)
class Regression:
    """A comparison that became worse since an earlier run."""

    before: Record
    now: Record
    by_instructions: bool

    def __str__(self) -> str:
        if self.by_instructions:
            change = f"{self.before.our_instructions:,} to {self.now.our_instructions:,} instructions"
        else:
            change = f"ratio {self.before.ratio:.3g}x to {self.now.ratio:.3g}x"
        return f"{self.now.name}: {change}, since {self.before.date} ({self.before.commit})"


def records(results: Iterable[Result], about: dict[str, Any]) -> list[Record]:
    """Return the records of a run; comparisons that did not run have none."""
    return [_record(result, about) for result in results if result.race]


def read(path: Path = PATH) -> list[Record]:
    """Read the records of all published runs, the oldest first."""
    return [Record(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def append(run: Iterable[Record], path: Path = PATH) -> None:
    """Add a run."""
    with path.open("a") as file:
        file.writelines(json.dumps(asdict(record)) + "\n" for record in run)


def latest(history: Iterable[Record]) -> list[Record]:
    """Return the records of the latest run."""
    every = list(history)
    return [record for record in every if record.date == every[-1].date]


def regressions(run: Iterable[Record], history: Iterable[Record], *, times: bool = True) -> list[Regression]:
    """Compare a run with the latest record of each comparison from the same kind of machine.

    Instructions decide where the same counter has counted both, because other load on the machine changes times. The
    ratio of the times decides elsewhere, unless `times` is false: those of small sizes say nothing.
    """
    known = {(record.machine, record.name): record for record in history}
    found = []
    for latest in run:
        before = known.get((latest.machine, latest.name))
        if before is None:
            continue
        counted = latest.our_instructions and before.our_instructions and latest.counter == before.counter
        if counted:
            worse = (latest.our_instructions or 0) > (1 + TOLERANCE) * (before.our_instructions or 0)
        else:
            worse = times and latest.ratio < (1 - TOLERANCE) * before.ratio
        if worse:
            found.append(Regression(before, latest, by_instructions=bool(counted)))
    return found


def _record(result: Result, about: dict[str, Any]) -> Record:
    ours, peer = result.instructions or (None, None)
    return Record(
        date=about["date"],
        version=about["versions"]["scwlearn"],
        commit=about["commit"],
        machine=about["machine"]["kind"],
        name=result.entry.name,
        ratio=_rounded(result.ratio),
        low=_rounded(min(result.ratios)),
        high=_rounded(max(result.ratios)),
        ours=_rounded(median(result.ours)),
        peer=_rounded(median(result.peer)),
        counter=about["counter"] if result.instructions else None,
        our_instructions=ours,
        peer_instructions=peer,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
