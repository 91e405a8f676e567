"""Models that were trained apart, merged into one."""

from __future__ import annotations

# They register how their kinds are merged.
import scwlearn.learning.merging.classifiers
import scwlearn.learning.merging.learners  # noqa: F401
from scwlearn.learning.merging.gaussians import merge_gaussians
from scwlearn.learning.merging.models import merge, merge_group, merged

__all__ = ["merge", "merge_gaussians", "merge_group", "merged"]
