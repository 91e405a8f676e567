"""The command scwlearn."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """The entry of the command; never returns."""
    if not (find_spec("click") and find_spec("rich")):
        print('scwlearn: the command needs click and rich: pip install "scwlearn[cli]"', file=sys.stderr)
        sys.exit(1)
    from scwlearn.cli.app import run

    sys.exit(run())
