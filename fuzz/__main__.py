"""Fuzz: `python -m fuzz [TARGET...]` tries a million inputs per target, or as many as fit into `--hours` together.

Every run goes on where the last one ended: it reads the inputs that earlier runs kept in build/fuzz/corpus (or --home),
adds those that reach new code, and reduces them at the end. A finding is reproduced, minimised, and left in
build/fuzz/findings; then the exit code is 1. --publish adds the figures to the table of docs/testing.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import date
from pathlib import Path

from stress.publishing import PAGE, Record, add_records, with_table

from fuzz.campaign import Campaign, FuzzingError, Outcome
from fuzz.targets import ROOT, TARGETS

_INPUTS = 1_000_000
_HISTORY = ROOT / "fuzz" / "history.jsonl"
_COLUMNS = ("target", "inputs", "per second", "edges", "MB", "corpus", "new", "findings")


def table(outcomes: list[Outcome]) -> list[str]:
    """Return the lines of a table of figures; rates are those of one process."""
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for one in outcomes:
        figures = (one.inputs, one.rate, one.edges, one.memory, one.kept, one.new, len(one.findings))
        rows.append((one.target, *(f"{figure:,}" for figure in figures)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    return [
        "  ".join(f"{cell:>{widths[i]}}" if i else f"{cell:<{widths[i]}}" for i, cell in enumerate(row)) for row in rows
    ]


def page_with_table(page: str, records: list[Record]) -> str:
    """Return a page with the figures of each target in a table: inputs and findings of all runs, else the latest."""
    lines = ["| what holds | inputs | inputs per second and core | edges | findings |", "|---|--:|--:|--:|--:|"]
    for name, target in TARGETS.items():
        if runs := [record for record in records if record["target"] == name]:
            inputs, findings = (sum(record[key] for record in runs) for key in ("inputs", "findings"))
            figures = (inputs, runs[-1]["inputs_per_second"], runs[-1]["edges"], findings)
            lines.append(f"| {target.claim} | " + " | ".join(f"{figure:,}" for figure in figures) + " |")
    return with_table(page, "fuzzing", lines)


def _publish(outcomes: list[Outcome]) -> None:
    """Add the figures to the history, and write those of all runs into the table."""
    records = add_records(_HISTORY, [{"date": str(date.today()), **outcome.record()} for outcome in outcomes])
    PAGE.write_text(page_with_table(PAGE.read_text(), records))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="TARGET", help="by default all: " + ", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, help=f"number of inputs of each target, by default {_INPUTS:,}")
    parser.add_argument("--hours", type=float, help="time for all targets together, for example 8 for a night")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument("--home", type=Path, default=ROOT / "build" / "fuzz", help="directory of corpora and findings")
    parser.add_argument("--keep", action="store_true", help="only replace fuzz/corpus by the best inputs of all runs")
    parser.add_argument("--publish", action="store_true", help="add the figures to docs/testing.md")
    return parser


def main() -> int:
    """Run the command."""
    parser = _options()
    given = parser.parse_args()
    names = given.names or [*TARGETS]
    for name in names:
        if name not in TARGETS:
            parser.error(f"unknown target {name!r}; the targets are {', '.join(TARGETS)}")
    for option in ("inputs", "hours", "jobs"):
        if (number := getattr(given, option)) is not None and not number > 0:
            parser.error(f"--{option} must be positive, got {number}")
    inputs = _INPUTS if given.inputs is None and given.hours is None else given.inputs
    seconds = None if given.hours is None else 3600 * given.hours / len(names)
    outcomes: list[Outcome] = []
    try:
        for name in names:
            campaign = Campaign(TARGETS[name], given.home.resolve())
            campaign.build()
            if given.keep:
                print(f"{name}: {campaign.keep()} inputs in fuzz/corpus/{name}", flush=True)
                continue
            outcomes.append(campaign.fuzz(inputs=inputs, seconds=seconds, jobs=given.jobs))
            for finding in outcomes[-1].findings:
                again = "" if finding.is_reproducible else ", not reproducible"
                print(f"{name}: {finding.error}: {finding.path}{again}", file=sys.stderr)
            print(json.dumps(outcomes[-1].record()), file=sys.stderr, flush=True)
    except FuzzingError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fuzz: interrupted; the inputs found so far are kept", file=sys.stderr)
    if outcomes:
        print("\n".join(table(outcomes)))
    if given.publish:
        _publish(outcomes)
    return 1 if any(outcome.findings for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
