"""Bar chart of what users call: `python -m speed.chart` redraws it from the latest published run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from speed import history
from speed.comparisons import comparisons
from speed.data import ROOT
from speed.harness import Comparison, Group
from speed.history import Record

PICTURE = ROOT / "docs" / "images" / "speed.png"
FASTER, SLOWER, TARGET = "#0b5fa5", "#c2571a", "#111111"
TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)


def bars(run: Iterable[Record]) -> dict[Group, list[tuple[Comparison, Record]]]:
    """Return the comparisons of the chart that were measured, by group, in the order of the table."""
    measured = {record.name: record for record in run}
    shown = [(entry, measured[entry.name]) for entry in comparisons() if entry.name in measured]
    groups = {group: [pair for pair in shown if pair[0].chart and pair[0].chart.group == group] for group in Group}
    return {group: pairs for group, pairs in groups.items() if pairs}


def draw(run: Iterable[Record], path: Path) -> None:
    """Draw the ratios of a run on a logarithmic axis, a panel for each group; nothing if no bar was measured."""
    groups = bars(run)
    if not groups:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    heights = [len(pairs) for pairs in groups.values()]
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(
        len(groups),
        sharex=True,
        squeeze=False,
        figsize=(9.5, 0.24 * sum(heights) + 0.36 * len(groups) + 0.6),
        height_ratios=heights,
        layout="constrained",
    )
    every = [value for pairs in groups.values() for _, record in pairs for value in (record.low, record.high)]
    for axis, (group, pairs) in zip(axes[:, 0], groups.items(), strict=True):
        _panel(axis, group, pairs)
    last = axes[-1, 0]
    last.set(xscale="log", xlim=(max(0.1, 0.85 * min(0.45, *every)), 2.2 * max(2, *every)))
    last.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    last.minorticks_off()
    figure.supxlabel("times as fast as the peer, log scale; black marks are targets", fontsize=10)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(axis: Any, group: Group, pairs: list[tuple[Comparison, Record]]) -> None:
    labels = []
    for place, (entry, record) in enumerate(reversed(pairs)):
        _bar(axis, place, entry, record)
        assert entry.chart is not None
        labels.append(f"{entry.chart.work}  vs  {entry.chart.peer}")
    axis.axvline(1, color="#444444", linewidth=1)
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(-0.6, len(labels) - 0.4)
    axis.set_title(group, loc="left", fontsize=10.5, fontweight="bold")
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", alpha=0.25)
    axis.set_axisbelow(True)


def _bar(axis: Any, place: int, entry: Comparison, record: Record) -> None:
    color = FASTER if record.ratio >= 1 else SLOWER
    axis.barh(place, record.ratio - 1, left=1, height=0.68, color=color)
    axis.plot([record.low, record.high], [place, place], color="#222222", linewidth=1, alpha=0.6)
    right = max(record.high, 1.0)
    if entry.target and not entry.target.rate:
        axis.plot([entry.target.least] * 2, [place - 0.42, place + 0.42], color=TARGET, linewidth=2.2)
        right = max(right, entry.target.least)
    axis.annotate(
        f"{record.ratio:.3g}x",
        (right, place),
        (5, 0),
        textcoords="offset points",
        va="center",
        color=color,
        fontweight="bold",
    )


def main() -> None:
    """Redraw the picture of the latest published run."""
    draw(history.latest(history.read()), PICTURE)


if __name__ == "__main__":
    main()
