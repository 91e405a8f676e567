"""Compare errors and probabilities after one pass on raw and standardised features: ours and those of other libraries.

Prints the tables of docs/quality.md and draws its picture; --publish updates both. A run resumes where it was
interrupted; --fresh starts again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

from data_sets import DEFAULT_DIRECTORY
from publish_evaluation import shrink
from speed.harness import Scale

from quality import chart, records
from quality.cost import costs
from quality.models import BASE, COMMITTEE, MODELS
from quality.report import Results, advice, markdown, targets
from quality.sets import SETS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def publish(results: Results, text: str, picture: Path) -> None:
    """Update the tables of docs/quality.md, its picture, and the advice of docs/choosing.md."""
    shrink(picture.with_suffix(".png"), DOCS / "images" / "quality.webp")
    begin, end = "<!-- quality -->\n", "<!-- /quality -->"
    for page, part in (("quality.md", text), ("choosing.md", advice(results))):
        old = (DOCS / page).read_text()
        new = re.sub(f"{begin}.*{end}", lambda _, part=part: begin + part + end, old, flags=re.DOTALL)  # type: ignore[misc]
        (DOCS / page).write_text(new)


def _costs(path: Path, *, skip: bool) -> dict[str, float]:
    """Return the costs of an earlier run, or measure them."""
    if not path.exists() and not skip:
        path.write_text(json.dumps(costs(Scale())))
    found: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    return found


def main() -> None:
    """Run what is missing, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    directory = os.environ.get("SCWLEARN_DATA", DEFAULT_DIRECTORY)
    parser.add_argument("--data-dir", type=Path, default=directory, help="default: SCWLEARN_DATA or ../shared/data")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS), metavar="SET")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS), metavar="MODEL")
    parser.add_argument("--orders", type=int, default=5, help="shuffled orders of the rows; default: 5")
    parser.add_argument("--jobs", type=int, default=2, help="processes; default: 2")
    parser.add_argument("--output", type=Path, default=DOCS.parent / "build" / "quality")
    parser.add_argument("--fresh", action="store_true", help="measure the given models again on the given sets")
    parser.add_argument("--no-cost", action="store_true", help="do not measure the time of the committee")
    parser.add_argument("--publish", action="store_true", help="update docs/quality.md and docs/choosing.md")
    asked = parser.parse_args()
    path = asked.output / "results.jsonl"
    if asked.fresh:
        records.drop(path, asked.sets, asked.models)
        if not asked.no_cost:
            (asked.output / "cost.json").unlink(missing_ok=True)
    records.measure(path, asked.data_dir, asked.sets, asked.models, asked.orders, asked.jobs)
    kept = {key: record for key, record in records.read(path).items() if key.set in asked.sets}
    results = Results(kept)
    if not {COMMITTEE, BASE} <= {key.model for key in kept}:
        sys.exit(f"no report: it needs {COMMITTEE} and {BASE}")
    taken = _costs(asked.output / "cost.json", skip=asked.no_cost)
    text = markdown(results, taken, list(MODELS))
    (asked.output / "quality.md").write_text(text)
    chart.draw(results, list(MODELS), asked.output / "quality")
    print(text)
    for target in targets(results, taken):
        print(f"{'met   ' if target.met else 'MISSED'}  {target.text}: {target.measured}", file=sys.stderr)
    if asked.publish:
        publish(results, text, asked.output / "quality")


if __name__ == "__main__":
    main()
