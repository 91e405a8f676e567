"""Pictures of the paper: every algorithm is named, and the files are deterministic."""

from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread

from scwlearn.datasets import DataSet
from scwlearn.display.pictures import plain_text
from scwlearn.experiments.comparison import rank_diagram, tradeoff_picture
from scwlearn.experiments.figure1 import figure1, figure1_overview
from scwlearn.experiments.study import DataSetRuns
from scwlearn.experiments.tables import data_set_table
from scwlearn.rules import all_rules, all_variants

EVERY = [*all_rules(), *all_variants()]


def some_runs(data="a set", rules=EVERY, seed=0):
    """Curves that fall, grow and grow, three permutations each."""
    random = np.random.default_rng(seed)
    seen = np.linspace(100, 2000, 20).astype(int)

    def noisy(curve):
        return curve * random.uniform(0.95, 1.05, (3, len(seen)))

    return [
        DataSetRuns(
            title=data,
            name="a_set",
            rule=each,
            covariance="full",
            parameters={},
            cells=(),
            empty_rows=0,
            keeps_order=False,
            seen=seen,
            errors=noisy(random.uniform(0.05, 0.2) + 10 / seen),
            updates=noisy(random.uniform(0.1, 0.9) * seen),
            seconds=noisy(random.uniform(1e-6, 1e-5) * seen),
        )
        for each in rules
    ]


def rates(blocks):
    return {r.rule.title: [runs[i].errors[:, -1].mean() for runs in blocks] for i, r in enumerate(blocks[0])}


BLOCKS = [some_runs(f"set {seed}", seed=seed) for seed in range(5)]
PICTURES = {
    "figure1": lambda path: figure1(BLOCKS[0], path),
    "figure1_overview": lambda path: figure1_overview(BLOCKS, path),
    "rank_diagram": lambda path: rank_diagram(EVERY, rates(BLOCKS), path, "Mistake rate"),
    "tradeoff": lambda path: tradeoff_picture(BLOCKS, path),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_pictures_name_every_algorithm_and_are_deterministic(draw, tmp_path):
    svg = draw(tmp_path / "deep" / "set.1")
    png = svg.with_suffix(".png")
    assert (svg.name, png.name) == ("set.1.svg", "set.1.png")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    text = svg.read_text()
    assert "<text" not in text  # letters are outlines, each text in a comment before them
    for each in EVERY:
        assert f"<!-- {each.title}" in text or f" {each.title} -->" in text
    assert imread(png).std() > 0.05
    again = draw(tmp_path / "again")
    assert again.read_bytes() == svg.read_bytes()


def test_user_settings_of_matplotlib_change_nothing(tmp_path):
    plain = figure1(BLOCKS[0], tmp_path / "plain")
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.fonttype": "none", "axes.grid": True}):
        own = figure1(BLOCKS[0], tmp_path / "own")
    assert own.read_bytes() == plain.read_bytes()


def test_curves_off_the_scale_are_named_with_an_arrow(tmp_path):
    runs = some_runs()
    runs[0] = replace(runs[0], errors=np.full_like(runs[0].errors, 0.6))
    runs[1] = replace(runs[1], errors=np.zeros_like(runs[1].errors))
    svg = figure1(runs, tmp_path / "far")
    assert f"<!-- {runs[0].rule.title} ↑ -->" in svg.read_text()
    assert f"<!-- {runs[1].rule.title} ↓ -->" in svg.read_text()


def test_runs_without_a_mistake_and_a_single_permutation_can_be_drawn(tmp_path):
    runs = [replace(r, errors=0 * r.errors[:1], updates=r.updates[:1], seconds=r.seconds[:1]) for r in BLOCKS[0]]
    figure1(runs, tmp_path / "one")
    tradeoff_picture([runs], tmp_path / "costs")
    figure1_overview([runs[:1]], tmp_path / "alone")


def test_times_far_apart_have_a_log_axis_and_long_ones_are_in_seconds(tmp_path):
    near = figure1(BLOCKS[0], tmp_path / "near")
    assert "<!-- time (ms) -->" in near.read_text()
    runs = [replace(r, seconds=1e4 * r.seconds if r.rule.order == 2 else r.seconds) for r in BLOCKS[0]]
    far = figure1(runs, tmp_path / "far")
    assert "<!-- time (s), log scale -->" in far.read_text()


@pytest.mark.parametrize("name", ["a$x^{$", "a$\\frac{$", "b\udcff\x1b[31m"])
def test_the_name_of_a_data_set_is_no_formula(tmp_path, name):
    figure1(some_runs(name, EVERY[:2]), tmp_path / "one")
    figure1_overview([some_runs(name, EVERY[:2])], tmp_path / "all")
    ElementTree.parse(tmp_path / "one.svg")
    assert plain_text(name).isprintable()


def test_a_data_set_without_features_has_a_row_in_the_table():
    empty = DataSet("none", "none", np.zeros((3, 0)), np.array([1.0, -1.0, 1.0]))
    assert data_set_table([empty]).rows[0][-1] == "0.0 %"
