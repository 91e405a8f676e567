"""Cost of the committee: its time to learn, relative to one SCW1 with the same covariance."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

from speed import data
from speed.harness import Scale, Side, in_turns

import scwlearn


def costs(scale: Scale) -> dict[str, float]:
    """Return the median ratio of the committee's time to SCW1's over alternating runs on one thread, by data."""
    sparse, dense = data.hashed(scale.of(300_000, 20_000)), data.correlated(scale.of(20_000, 2_000), 100)
    return {
        f"diagonal, CSR {_size(sparse)}": _ratio(sparse, "diagonal", scale),
        f"full, dense {_size(dense)}": _ratio(dense, "full", scale),
    }


def _size(rows: data.Rows) -> str:
    return f"{rows.x.shape[0]:,} x {rows.x.shape[1]:,}"


def _ratio(rows: data.Rows, covariance: str, scale: Scale) -> float:
    sides = [
        Side(name, partial(_fit, name, rows, covariance=covariance, shuffle=False))
        for name in ("AutoClassifier", "SCW1")
    ]
    (ours, base), _ = in_turns(sides, budget=scale.budget)
    return median(a / b for a, b in zip(ours, base, strict=True))


def _fit(name: str, rows: data.Rows, **settings: Any) -> Any:
    return getattr(scwlearn, name)(**settings).fit(rows.x, rows.y)
