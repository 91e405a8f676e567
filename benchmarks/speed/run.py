"""Run every comparison, print the table, and write it as Markdown and JSON with pictures of how time scales."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from speed import (
    chart,
    classes,
    commands,
    diagonal,
    files,
    full,
    grid,
    imports,
    kernel,
    records,
    scaling,
    scoring,
    single,
)
from speed.data import ROOT
from speed.harness import COMPARISONS, Comparison, Scale, hold, threads
from speed.machine import machine, versions, work_at_once
from speed.report import as_json, markdown, summary

#: The kinds of work in the order of the table. Importing a module registers its comparisons.
KINDS = [
    kind.__name__
    for kind in (full, kernel, diagonal, classes, files, commands, records, single, grid, imports, scoring)
]
RESULTS = ROOT / "build" / "bench-results"


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute: a smoke test")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only rows whose names start like this, or 'scaling'")
    parser.add_argument("--list", action="store_true", help="list the names of the rows")
    parser.add_argument(
        "--publish", action="store_true", help="update docs/benchmarks.md, the chart and the pictures in docs/images"
    )
    parser.add_argument(
        "--output", type=Path, help="default: build/bench-results, or its folder 'part' with --quick or --only"
    )
    asked = parser.parse_args()
    if asked.publish and (asked.quick or asked.only):
        parser.error("--publish needs a complete run, without --quick and --only")
    return asked


def wanted(name: str, only: list[str] | None) -> bool:
    """Return whether a row is selected by --only."""
    return only is None or any(name.startswith(start) for start in only)


def run_scaling(scale: Scale, output: Path, only: list[str] | None) -> dict[str, Any]:
    """Measure and draw every scaling picture; return the samples."""
    samples: dict[str, Any] = {}
    for picture in scaling.pictures(scale):
        if wanted(picture.name, only):
            print(picture.name, file=sys.stderr)
            curves = [scaling.measure(panel, scale) for panel in picture.panels]
            scaling.draw(picture, curves, output / f"{picture.name}.png")
            samples[picture.name] = {panel.title: lines for panel, lines in zip(picture.panels, curves, strict=True)}
    return samples


def publish(text: str, pictures: list[Path]) -> None:
    """Put the table between the marks of docs/benchmarks.md, redraw the chart, and copy the pictures to docs/images."""
    begin, end = "<!-- speed -->\n", "\n<!-- /speed -->"
    page = re.sub(f"{begin}.*{end}", lambda _: begin + text + end, chart.PAGE.read_text(), flags=re.DOTALL)
    chart.PAGE.write_text(page)
    chart.draw(page, chart.PICTURE)
    for picture in pictures:
        shutil.copy(picture, chart.PICTURE.parent)


def run(asked: argparse.Namespace, entries: list[Comparison]) -> str:
    """Run the comparisons, draw the pictures, write all files, and return the table."""
    scale = Scale(asked.quick)
    # A partial run must not overwrite a complete one.
    output = asked.output or (RESULTS / "part" if asked.quick or asked.only else RESULTS)
    output.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
        "quick": scale.quick,
        "machine": machine(),
        "versions": versions(),
        "work_at_once": [work_at_once()],
    }
    results = []
    for entry in entries:
        print(f"{entry.name}: ", end="", flush=True, file=sys.stderr)
        results.append(hold(entry, scale))
        print(results[-1].missing or f"{results[-1].ratio:.3g}x", file=sys.stderr)
    pictures = run_scaling(scale, output, asked.only)
    about["work_at_once"].append(work_at_once())
    table = markdown(results, about, list(pictures))
    (output / "speed.md").write_text(table)
    if asked.publish:
        publish(summary(results, about), [output / f"{name}.png" for name in pictures])
    (output / "speed.json").write_text(json.dumps(as_json(results, about, pictures), indent=1) + "\n")
    print(f"Written to {output}", file=sys.stderr)
    return table


def main() -> None:
    """Run the selected comparisons."""
    asked = arguments()
    entries = [entry for entry in COMPARISONS if wanted(entry.name, asked.only)]
    entries.sort(key=lambda entry: KINDS.index(entry.prepare.__module__))
    if asked.list:
        print(*(f"{entry.name}: {entry.work}, against {entry.against}" for entry in entries), sep="\n")
        return
    # Setup uses one thread too: BLAS threads keep spinning for a while after their work.
    with threads(1):
        print(run(asked, entries))


if __name__ == "__main__":
    main()
