"""Bar chart of the ratios in the published table: `python -m speed.chart` redraws it from docs/benchmarks.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "images" / "speed.png"

FULL = "SCW-I full, dense, 10 % label noise"
#: The bars, top to bottom: what is timed, the peer, and the row of the table (its work, its peer).
#: Rows in which scwlearn is slower are included on purpose.
BARS = (
    ("one dense row: predict, learn", "SGDClassifier", "one dense row", "SGDClassifier predict"),
    ("full covariance, 784 features", "olpy SCW", FULL, "olpy"),
    ("full covariance, 784 features", "NumPy loop", FULL, "textbook"),
    ("full covariance, sparse rows", "NumPy loop", "SCW-I full, CSR", "textbook"),
    ("RBF kernel", "NumPy recursion", "SCW-I with an rbf kernel", "textbook"),
    ("LIBSVM file to model", "scikit-learn SGDClassifier", "LIBSVM file", "load_svmlight_file"),
    ("one dict: predict, learn", "River PAClassifier", "one dict", "River PAClassifier"),
    ("90 models of a grid", "90 separate runs", "90 models", "90 separate runs"),
    ("diagonal, dense rows", "SGDClassifier", "SCW-I diagonal, dense", "SGDClassifier(max_iter=1)"),
    ("LIBSVM file to model", "Vowpal Wabbit", "LIBSVM file", "Vowpal Wabbit"),
    ("diagonal, 20 classes", "SGDClassifier", "SCW-I diagonal, 20 classes, joint", "SGDClassifier(max_iter=1)"),
    ("diagonal, sparse rows", "SGDClassifier", "SCW-I diagonal, CSR", "SGDClassifier(max_iter=1)"),
    ("train command", "Vowpal Wabbit command", "scwlearn train, the whole command, LIBSVM", "python -m vowpalwabbit"),
    (
        "train command, JSON",
        "Vowpal Wabbit command",
        "scwlearn train, the whole command, JSON",
        "python -m vowpalwabbit",
    ),
    (
        "diagonal, sparse rows",
        "SGDClassifier, in order",
        "SCW-I diagonal, CSR",
        "SGDClassifier(max_iter=1, shuffle=False",
    ),
    ("diagonal, sparse rows", "Perceptron", "SCW-I diagonal, CSR", "Perceptron"),
)
RATIO = re.compile(r"([\d.]+)x \(([\d.]+) to ([\d.]+)")
FASTER, SLOWER = "#0b5fa5", "#c2571a"


class Bar(NamedTuple):
    """A measured ratio: median, smallest and largest."""

    work: str
    peer: str
    ratio: float
    low: float
    high: float


def bars(page: str) -> list[Bar]:
    """Return the bars whose rows were measured, read from the table in `page`."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    found = []
    for label, peer, work, against in BARS:
        row = next((row for row in rows if row[0].startswith(work) and row[1].startswith(against)), None)
        measured = RATIO.match(row[4]) if row else None
        if measured:
            found.append(Bar(label, peer, *map(float, measured.groups())))
    return found


def draw(page: str, path: Path) -> None:
    """Draw the ratios of the table in `page` on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown = bars(page)
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, axis = plt.subplots(figsize=(9.5, 0.36 * len(shown) + 1.1), layout="constrained")
    for place, bar in enumerate(reversed(shown)):
        _bar(axis, place, bar)
    axis.axvline(1, color="#444444", linewidth=1)
    axis.set(
        xscale="log",
        xlim=(0.4, 1500),
        ylim=(-0.6, len(shown) - 0.4),
        xlabel="times as fast as the peer, same data, same machine (log scale)",
    )
    ticks = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_yticks(range(len(shown)), [f"{bar.work}  vs  {bar.peer}" for bar in reversed(shown)])
    axis.minorticks_off()
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", alpha=0.25)
    axis.set_axisbelow(True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _bar(axis: Any, place: int, bar: Bar) -> None:
    color = FASTER if bar.ratio >= 1 else SLOWER
    axis.barh(place, bar.ratio - 1, left=1, height=0.68, color=color)
    axis.plot([bar.low, bar.high], [place, place], color="#222222", linewidth=1, alpha=0.6)
    axis.annotate(
        f"{bar.ratio:.3g}x",
        (max(bar.high, 1.0), place),
        (5, 0),
        textcoords="offset points",
        va="center",
        color=color,
        fontweight="bold",
    )


def main() -> None:
    """Redraw the picture from the published table."""
    draw(PAGE.read_text(encoding="utf-8"), PICTURE)


if __name__ == "__main__":
    main()
