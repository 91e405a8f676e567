"""Trials of random cases by the thousand: a few run in `make test`, and many in `make stress`."""

import sys
from pathlib import Path

# As for the tests (pyproject.toml), which have the textbook forms.
sys.path.append(str(Path(__file__).parent.parent / "tests/_support"))
