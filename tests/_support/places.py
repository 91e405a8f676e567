"""Paths of the project and of the data sets that are not part of it."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("SCWLEARN_DATA", ROOT.parent / "shared" / "data"))
