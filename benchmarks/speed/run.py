"""Run every comparison, print the table, and write it as Markdown and JSON with pictures of how time scales."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from speed import chart, history, instructions, scaling
from speed.comparisons import comparisons, selected
from speed.data import ROOT
from speed.harness import Comparison, Result, Scale, hold, threads
from speed.machine import commit, machine, versions, work_at_once
from speed.report import as_json, markdown, summary

RESULTS = ROOT / "build" / "bench-results"
PAGE = ROOT / "docs" / "benchmarks.md"


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute: a smoke test")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only rows whose names start like this, or 'scaling'")
    parser.add_argument("--list", action="store_true", help="list the names of the rows")
    parser.add_argument(
        "--instructions",
        action=argparse.BooleanOptionalAction,
        help="count instructions too; default: yes, but not with --quick",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="update docs/benchmarks.md, the chart and the pictures in docs/images, and add the run to the history",
    )
    parser.add_argument(
        "--output", type=Path, help="default: build/bench-results, or its folder 'part' with --quick or --only"
    )
    asked = parser.parse_args()
    if asked.publish and (asked.quick or asked.only):
        parser.error("--publish needs a complete run, without --quick and --only")
    if asked.instructions is None:
        asked.instructions = not asked.quick
    return asked


def run_scaling(scale: Scale, output: Path, only: list[str] | None) -> dict[str, Any]:
    """Measure and draw every scaling picture; return the samples."""
    samples: dict[str, Any] = {}
    for picture in scaling.pictures(scale):
        if selected(picture.name, only):
            print(picture.name, file=sys.stderr)
            curves = [scaling.measure(panel, scale) for panel in picture.panels]
            scaling.draw(picture, curves, output / f"{picture.name}.png")
            samples[picture.name] = {panel.title: lines for panel, lines in zip(picture.panels, curves, strict=True)}
    return samples


def publish(text: str, run: list[history.Record], pictures: list[Path]) -> None:
    """Put the table between the marks of docs/benchmarks.md, copy the pictures, and add the run to the history."""
    begin, end = "<!-- speed -->\n", "\n<!-- /speed -->"
    PAGE.write_text(re.sub(f"{begin}.*{end}", lambda _: begin + text + end, PAGE.read_text(), flags=re.DOTALL))
    for picture in pictures:
        shutil.copy(picture, chart.PICTURE.parent)
    history.append(run)


def measure(entries: list[Comparison], scale: Scale) -> list[Result]:
    """Run the comparisons one after the other."""
    results = []
    for entry in entries:
        print(f"{entry.name}: ", end="", flush=True, file=sys.stderr)
        results.append(hold(entry, scale))
        print(results[-1].missing or f"{results[-1].ratio:.3g}x", file=sys.stderr)
    return results


def run(asked: argparse.Namespace, entries: list[Comparison]) -> str:
    """Run the comparisons, draw the pictures, write all files, and return the table."""
    scale = Scale(asked.quick)
    # A partial run must not overwrite a complete one.
    output = asked.output or (RESULTS / "part" if asked.quick or asked.only else RESULTS)
    output.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
        "quick": scale.quick,
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "work_at_once": [work_at_once()],
    }
    results = measure(entries, scale)
    pictures = run_scaling(scale, output, asked.only)
    about["work_at_once"].append(work_at_once())
    # Times first: counting keeps a core busy.
    counted = instructions.count(entries) if asked.instructions else instructions.Counted({}, None, "not asked for")
    about |= {"counter": counted.counter, "not_counted": counted.reason}
    results = [replace(result, instructions=counted.pairs.get(result.entry.name)) for result in results]
    measured = history.records(results, about)
    worse = history.regressions(measured, history.read(), times=not scale.quick)
    chart.draw(measured, output / "speed.png")
    table = markdown(results, about, worse, list(pictures))
    (output / "speed.md").write_text(table)
    (output / "speed.json").write_text(json.dumps(as_json(results, about, pictures), indent=1) + "\n")
    if asked.publish:
        publish(summary(results, about), measured, [output / f"{name}.png" for name in ("speed", *pictures)])
    print(f"Written to {output}", *(f"Worse: {change}" for change in worse), sep="\n", file=sys.stderr)
    return table


def main() -> None:
    """Run the selected comparisons."""
    asked = arguments()
    entries = comparisons(asked.only)
    if asked.list:
        print(*(f"{entry.name}: {entry.work}, against {entry.against}" for entry in entries), sep="\n")
        return
    # Setup uses one thread too: BLAS threads keep spinning for a while after their work.
    with threads(1):
        print(run(asked, entries))


if __name__ == "__main__":
    main()
