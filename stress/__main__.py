"""Run trials: `python -m stress [NAME...] [--cases N] [--jobs N]`.

Each trial runs in processes of its own, so that a crash is a failure of its case and the others go on. A failure prints
the command that repeats it. --publish adds the figures to the table of docs/testing.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from stress.publishing import PAGE, Record, add_records, with_table
from stress.trial import Result, Trial, run_cases, trials

_ROOT = Path(__file__).parent.parent
_HISTORY = Path(__file__).parent / "history.jsonl"
# More failures of the same trial say little more.
_MOST_FAILURES = 20
# Seconds after which a case hangs.
_CASE_LIMIT = 900


@dataclass
class Outcome:
    """What a run of a trial has covered and found so far."""

    trial: str
    seed: int
    first: int
    cases: int = 0
    units: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: int = 0

    def add(self, result: Result) -> None:
        """Count a case; print it if it failed."""
        self.cases, self.units = self.cases + 1, self.units + result.units
        if result.failure is not None:
            repeat = f"python -m stress {self.trial} --seed {self.seed} --first {result.number} --cases 1"
            print(f"\n{result.failure.rstrip()}\nRepeat it with: {repeat}", file=sys.stderr)
            self.failures.append(result.failure)

    def record(self) -> Record:
        """Return the figures to publish."""
        return {
            "trial": self.trial, "date": str(date.today()), "seed": self.seed, "first": self.first,
            "cases": self.cases, "units": self.units, "seconds": self.seconds, "failures": len(self.failures),
        }  # fmt: skip


def _run(name: str, seed: int, numbers: range, jobs: int) -> Outcome:
    """Run cases in several processes."""
    outcome, start = Outcome(name, seed, numbers.start), time.monotonic()
    with ThreadPoolExecutor(jobs) as threads:
        for _ in threads.map(lambda job: _run_job(outcome, numbers[job::jobs]), range(jobs)):
            pass
    outcome.seconds = round(time.monotonic() - start)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return outcome


def _run_job(outcome: Outcome, numbers: range) -> None:
    """Run cases in a process, and if it dies, those after it in another."""
    while numbers and len(outcome.failures) < _MOST_FAILURES:
        words = [outcome.trial, "--seed", str(outcome.seed), "--worker", str(numbers.start), str(numbers.stop)]
        words += [str(numbers.step)]
        process = subprocess.Popen(
            [sys.executable, "-m", "stress", *words], cwd=_ROOT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            outcome.add(Result(*json.loads(line)))
            numbers = numbers[1:]
            if sys.stderr.isatty():
                print(f"\r{outcome.trial}: {outcome.cases} cases, {outcome.units} units", end="", file=sys.stderr)
            if len(outcome.failures) >= _MOST_FAILURES:
                process.kill()
                process.wait()
                return
        if process.wait() or numbers:
            failure = f"The process ended with exit code {process.returncode} in a case; its messages are above."
            outcome.add(Result(numbers[0] if numbers else -1, 0, 0.0, failure))
            numbers = numbers[1:]


def _work(trial: Trial, seed: int, numbers: range) -> None:
    """Run cases in this process, and print a line of JSON for each; what the cases print goes to stderr."""
    with os.fdopen(os.dup(1), "w") as results:
        os.dup2(2, 1)
        for result in run_cases(trial, seed, numbers, limit=_CASE_LIMIT):
            print(json.dumps(result), file=results, flush=True)


def _publish(records: list[Record]) -> None:
    """Add the figures to the history, and write those of all runs into the table."""
    # The same cases again replace those before.
    runs = {(r["trial"], r["seed"], r["first"]): r for r in add_records(_HISTORY, records)}
    table = ["| trial | what holds | run | time | failures |", "|---|---|--:|--:|--:|"]
    for name, trial in trials().items():
        if of_trial := [record for record in runs.values() if record["trial"] == name]:
            units, seconds, failures = (sum(r[key] for r in of_trial) for key in ("units", "seconds", "failures"))
            minutes = max(1, round(seconds / 60))
            table.append(f"| `{name}` | {trial.claim} | {units:,} {trial.unit} | {minutes} min | {failures} |")
    PAGE.write_text(with_table(PAGE.read_text(), "trials", table))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "stress", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="the trials, by default all: " + ", ".join(trials()))
    parser.add_argument("--cases", type=int, help="number of cases; by default that of the published run")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0, help="other random numbers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument("--publish", action="store_true", help="add the figures to docs/testing.md")
    parser.add_argument("--worker", type=int, nargs=3, help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Run the command."""
    parser = _options()
    given, known = parser.parse_args(), trials()
    for name in given.names:
        if name not in known:
            parser.error(f"unknown trial {name!r}; the trials are {', '.join(known)}")
    if given.worker:
        _work(known[given.names[0]], given.seed, range(*given.worker))
        return 0
    outcomes = []
    for name in given.names or known:
        cases = known[name].long if given.cases is None else given.cases
        outcome = _run(name, given.seed, range(given.first, given.first + cases), given.jobs)
        done = f"{outcome.cases:,} cases, {outcome.units:,} {known[name].unit}, {outcome.seconds} seconds"
        print(f"{name}: {done}, {len(outcome.failures)} failures", flush=True)
        outcomes.append(outcome)
    if given.publish:
        _publish([outcome.record() for outcome in outcomes])
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
