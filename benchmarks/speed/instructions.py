"""Count the instructions of both sides of comparisons, which other load on the machine does not change.

All sides run in one process of their own, at the small sizes: callgrind takes about fifty times as long as the
processor. It does not know AVX-512, so that both sides use the loops that they have for AVX2.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from speed.comparisons import comparisons
from speed.counters import COUNTERS, Counter
from speed.harness import Comparison, Scale, Side, Unavailable, threads

#: Both sides' instructions, by the name of the comparison.
Pairs = dict[str, tuple[int, int]]


class Counted(NamedTuple):
    """Instructions of comparisons, and the counter that counted them, or the reason why none could."""

    pairs: Pairs
    counter: str | None
    reason: str = ""


def count(entries: list[Comparison]) -> Counted:
    """Count one run of each side of the comparisons in a new process, with the first counter that works."""
    reasons = []
    with tempfile.TemporaryDirectory() as folder:
        for name, counter in COUNTERS.items():
            try:
                before = counter.prepare(Path(folder))
            except Unavailable as reason:
                reasons.append(str(reason))
                continue
            command = [*before, sys.executable, "-m", "speed.instructions", name, folder]
            return Counted(dict(_run(command, [entry.name for entry in entries])), name)
    return Counted({}, None, "; ".join(reasons))


def _run(command: list[str], names: list[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Start the process that counts; yield what it reports, and tell how far it is."""
    # The order of a set of strings, and with it the number of instructions, depends on the seed of their hashes.
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    with subprocess.Popen([*command, *names], stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            name, *pair = json.loads(line)
            print(f"{name}: {pair[0]:,} and {pair[1]:,} instructions", file=sys.stderr, flush=True)
            yield name, (pair[0], pair[1])
    if process.returncode:
        print(f"counting instructions ended early, with exit status {process.returncode}", file=sys.stderr)


def _side(side: Side, counter: Counter) -> int:
    """Count the second run: the first one loads modules and fills caches."""
    with threads(side.threads):
        side.run()
        # The garbage collector visits all objects of the process, not only those of this side.
        gc.collect()
        gc.disable()
        try:
            counter.start()
            side.run()
            return counter.stop()
        finally:
            gc.enable()


def main() -> None:
    """Count the comparisons named on the command line; print a line of JSON for each."""
    kind, folder, *names = sys.argv[1:]
    counter = COUNTERS[kind].open(Path(folder))
    for entry in (entry for entry in comparisons() if entry.name in names):
        try:
            race = entry.prepare(Scale(quick=True))
            if race.ours.counted and race.peer.counted:
                print(json.dumps([entry.name, _side(race.ours, counter), _side(race.peer, counter)]), flush=True)
        except Exception as error:
            print(f"{entry.name}: no instructions, {error}", file=sys.stderr)


if __name__ == "__main__":
    with threads(1):
        main()
