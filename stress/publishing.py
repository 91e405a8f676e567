"""Publish the figures of long runs: a history in JSON lines, and tables of docs/testing.md between two marks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs/testing.md"

Record = dict[str, Any]


def add_records(history: Path, records: Sequence[Record]) -> list[Record]:
    """Append records to a history, and return all of it."""
    with history.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return [json.loads(line) for line in history.read_text().splitlines()]


def with_table(page: str, name: str, lines: Sequence[str]) -> str:
    """Return a page with these lines between the marks of a table."""
    start, end = f"<!-- {name}: start -->\n", f"<!-- {name}: end -->"
    before, rest = page.split(start)
    return before + start + "\n".join(lines) + "\n" + end + rest.split(end)[1]
