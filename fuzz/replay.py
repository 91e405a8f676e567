"""Run targets in Python on the inputs that are kept, without a fuzzer: `python -m fuzz.replay NAME...`."""

from __future__ import annotations

import sys
from importlib import import_module

from fuzz.targets import TARGETS


def main() -> None:
    """Run each target on its corpus, and on those that it shares."""
    for name in sys.argv[1:]:
        run = import_module(f"fuzz.targets.{name}").run
        inputs = [path for folder in TARGETS[name].folders for path in sorted(folder.iterdir())]
        for path in inputs:
            try:
                run(path.read_bytes())
            except BaseException:
                print(f"{name} fails on {path}", file=sys.stderr)
                raise
        print(f"{name}: {len(inputs)} inputs")


if __name__ == "__main__":
    main()
