"""Every comparison: prints the table and writes it as Markdown and JSON, with pictures of how time grows."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from speed import classes, commands, diagonal, files, full, grid, imports, kernel, scaling, scoring, single
from speed.data import ROOT
from speed.harness import COMPARISONS, Comparison, Scale, hold, threads
from speed.machine import machine, versions, work_at_once
from speed.report import as_json, markdown, summary

#: The kinds of work in the order of the table. Importing them has entered their comparisons.
KINDS = [kind.__name__ for kind in (full, kernel, diagonal, classes, files, commands, single, grid, imports, scoring)]
RESULTS = ROOT / "build" / "bench-results"


def arguments() -> argparse.Namespace:
    """What to run and where to write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: about a minute, to see that all of it runs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="rows whose names begin so, or 'scaling'")
    parser.add_argument("--list", action="store_true", help="show the names")
    parser.add_argument("--publish", action="store_true", help="put the table into README.md, the pictures into docs")
    parser.add_argument("--output", type=Path, help="default: build/bench-results, or its folder 'part' for a part")
    asked = parser.parse_args()
    if asked.publish and (asked.quick or asked.only):
        parser.error("--publish goes with the whole run, without --quick and --only")
    return asked


def wanted(name: str, only: list[str] | None) -> bool:
    """Whether a row was asked for."""
    return only is None or any(name.startswith(start) for start in only)


def run_scaling(scale: Scale, output: Path, only: list[str] | None) -> dict[str, Any]:
    """Measure and draw every picture; the samples of each."""
    samples: dict[str, Any] = {}
    for picture in scaling.pictures(scale):
        if wanted(picture.name, only):
            print(picture.name, file=sys.stderr)
            curves = [scaling.measure(panel, scale) for panel in picture.panels]
            scaling.draw(picture, curves, output / f"{picture.name}.png")
            samples[picture.name] = {panel.title: lines for panel, lines in zip(picture.panels, curves, strict=True)}
    return samples


def publish(text: str, pictures: list[Path]) -> None:
    """Where people read it: between the marks in README.md, and the pictures beside the documentation."""
    readme = ROOT / "README.md"
    old = readme.read_text()
    begin, end = "<!-- speed -->\n", "\n<!-- /speed -->"
    readme.write_text(re.sub(f"{begin}.*{end}", lambda _: begin + text + end, old, flags=re.DOTALL))
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    for picture in pictures:
        shutil.copy(picture, folder)


def run(asked: argparse.Namespace, entries: list[Comparison]) -> str:
    """Hold the comparisons, draw the pictures, write everything; the table."""
    scale = Scale(asked.quick)
    # A part does not take the place of the whole.
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
    """Run what was asked for."""
    asked = arguments()
    entries = [entry for entry in COMPARISONS if wanted(entry.name, asked.only)]
    entries.sort(key=lambda entry: KINDS.index(entry.prepare.__module__))
    if asked.list:
        print(*(f"{entry.name}: {entry.work}, against {entry.against}" for entry in entries), sep="\n")
        return
    # Setting up is held to one thread as well: BLAS threads go on spinning for a while after their work.
    with threads(1):
        print(run(asked, entries))


if __name__ == "__main__":
    main()
