"""Models that were trained apart, made into one."""

from __future__ import annotations

from scwlearn.merging.gaussians import merge_gaussians
from scwlearn.merging.models import merge, merged

__all__ = ["merge", "merge_gaussians", "merged"]
