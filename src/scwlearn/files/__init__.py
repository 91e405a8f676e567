"""Model files that are safe to load: `save` and `load`, and their contents without scikit-learn."""

from __future__ import annotations

from scwlearn.files.json_reader import InvalidModelFile
from scwlearn.files.model_file import load, read, save, write
from scwlearn.files.saved_model import SavedModel

__all__ = ["InvalidModelFile", "SavedModel", "load", "read", "save", "write"]
