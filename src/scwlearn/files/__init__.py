"""Models in files that are safe to load: `save` and `load`, and what a file holds, without scikit-learn."""

from __future__ import annotations

from scwlearn.files.files import load, read, save, write
from scwlearn.files.stored import Stored, stored_estimator, stored_of

__all__ = ["Stored", "load", "read", "save", "stored_estimator", "stored_of", "write"]
