"""Models that were trained apart, made into one."""

from __future__ import annotations

# They register how their kinds are merged.
import scwlearn.merging.classes
import scwlearn.merging.learners  # noqa: F401
from scwlearn.merging.gaussians import merge_gaussians
from scwlearn.merging.models import merge, merged

__all__ = ["merge", "merge_gaussians", "merged"]
