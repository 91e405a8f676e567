"""Picture of the quality benchmark: the held-out error of each model on each set, relative to SCW1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quality.models import BATCH, COMMITTEE, MODELS
from quality.report import Results, geometric_mean
from scwlearn.display import pictures
from scwlearn.display.theme import COLOURS, FAINT, SOFT

#: Colour, marker and size of the models that the eye should find; all others are grey.
_STYLES: dict[str, tuple[str, str, float]] = {
    COMMITTEE: (COLOURS["c0"][0], "o", 60),
    "SCW1-tuned": (COLOURS["c2"][0], "D", 26),
    BATCH: (COLOURS["c1"][0], "s", 26),
}
_OTHERS = {
    "AROW": "^",
    "SGDClassifier": "x",
    "Perceptron": "+",
    "LinearSVC": "1",
    "VW": "v",
    "river-LR": "2",
    "river-PA": "3",
}
#: The axis ends here; a ratio beyond it is drawn at the end.
_LIMITS = (0.2, 5.0)
_MEAN = "all sets"


def draw(results: Results, models: Sequence[str], path: Path) -> None:
    """Draw a row of dots for each set, those on raw features left and those on standardised ones right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    committee = results.ratios("raw", COMMITTEE, "held_out")
    names = [*sorted(committee, key=lambda name: -committee[name]), _MEAN]
    with pictures.picture_style():
        figure, panels = plt.subplots(1, 2, sharey=True, figsize=(10.5, 0.3 * len(names) + 2.0))
        for panel, features in zip(panels, ("raw", "standardised"), strict=True):
            _panel(panel, results, models, names, features)
        panels[0].set_yticks(range(len(names)), names)
        panels[0].get_yticklabels()[-1].set_fontweight("bold")
        panels[0].tick_params(axis="y", length=0)
        pictures.picture_title(
            figure,
            "Held-out error after one pass, relative to SCW1 on raw features",
            "Left is better. Ratios beyond the axis are drawn at its end. Batch models see all rows at once.",
        )
        # SCW1 is a dot in the second panel only: in the first it is the line at 1.
        handles, titles = panels[1].get_legend_handles_labels()
        figure.tight_layout(rect=(0, 0.5 / figure.get_figheight(), 1, 1 - 0.6 / figure.get_figheight()))
        figure.legend(handles[::-1], titles[::-1], loc="lower center", ncols=6, frameon=False, fontsize=8.5)
        pictures.write_both(figure, path)
        plt.close(figure)


def _panel(panel: Any, results: Results, models: Sequence[str], names: list[str], features: str) -> None:
    panel.axvline(1, color=SOFT, linewidth=1)
    panel.axhspan(len(names) - 1.5, len(names) - 0.5, color=COLOURS["patch"][0], zorder=0)
    # The committee comes last, on top.
    for model in reversed(models):
        ratios = results.ratios(features, model, "held_out")
        if not ratios or (features, model) == ("raw", "SCW1"):
            continue
        ratios[_MEAN] = geometric_mean([*ratios.values()])
        colour, marker, size = _STYLES.get(model, (FAINT, _OTHERS.get(model, "."), 24))
        places = [place for place, name in enumerate(names) if name in ratios]
        values = [min(max(ratios[names[place]], _LIMITS[0]), _LIMITS[1]) for place in places]
        front = 3 if model in _STYLES else 2
        panel.scatter(
            values, places, s=size, c=colour, marker=marker, linewidths=1.1, zorder=front, label=MODELS[model].title
        )
    panel.set(
        xscale="log",
        xlim=(_LIMITS[0] * 0.93, _LIMITS[1] * 1.07),
        ylim=(-0.6, len(names) - 0.4),
        title=f"{features} features",
    )
    ticks = (0.2, 0.5, 0.8, 1, 1.25, 2, 5)
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.minorticks_off()
    panel.grid(axis="both")
