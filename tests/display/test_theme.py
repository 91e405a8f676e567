"""The theme: algorithms and lines are distinct under any colour vision, and readable on light and dark."""

from itertools import combinations

import numpy as np
import pytest

from colour_vision import DISTINCT, VISIONS, cielab, luminance
from scwlearn.display import theme
from scwlearn.display.theme import COLOURS, LINE_COLOURS, LINE_DASHES, algorithm_style
from scwlearn.rules import HOLD, all_rules, all_variants, declare, find_rule, rule

EVERY = [*all_rules(), *all_variants()]


def marker(style):
    return style.marker, style.hollow


@pytest.mark.parametrize("vision", VISIONS)
def test_algorithms_are_distinct_under_any_colour_vision(vision):
    for one, other in combinations(EVERY, 2):
        a, b = algorithm_style(one), algorithm_style(other)
        differ = np.linalg.norm(cielab(a.colour, vision) - cielab(b.colour, vision)) >= DISTINCT
        assert differ or (marker(a) != marker(b) and a.dash != b.dash), (one.title, other.title)


def test_every_algorithm_has_its_own_marker():
    assert len({marker(algorithm_style(each)) for each in EVERY}) == len(EVERY)


def test_scw_is_highlighted():
    scw = [algorithm_style(find_rule(name)) for name in ("scw1", "scw2")]
    others = [algorithm_style(each) for each in EVERY if each.name not in ("scw1", "scw2")]
    for style in scw:
        assert style.width > 1.5 * max(other.width for other in others)
        assert style.layer > max(other.layer for other in others)
    darkest = min(luminance(algorithm_style(each).colour) for each in all_rules() if each.name not in ("scw1", "scw2"))
    assert max(luminance(style.colour) for style in scw) < darkest


def test_first_order_lines_are_thin_and_dashed_second_order_lines_solid():
    for each in all_rules():
        style = algorithm_style(each)
        assert (style.dash == "solid") == (each.order == 2)
        assert (style.width < 1.3) == (each.order == 1)


def test_a_variant_shares_the_colour_of_its_rule_but_not_line_and_marker():
    for each in all_variants():
        parent, style = algorithm_style(find_rule(each.variant_of)), algorithm_style(each)
        assert style.colour == parent.colour
        assert style.dash != parent.dash
        assert marker(style) != marker(parent)


@pytest.fixture
def own_rule(monkeypatch):
    """Declares a rule as a researcher does, for one test."""
    monkeypatch.setattr(declare, "_declared", dict(declare._declared))
    monkeypatch.setattr(theme, "_user_rules", {})

    def declares(name, order, year):
        def step(m: float) -> object:
            return HOLD

        step.__name__ = name
        what = {"title": name, "estimator": name.title(), "large_margin": True, "non_separable": True}
        return rule(order=order, cite=f"Somebody {year}", **what)(step)

    return declares


def test_user_rules_have_distinct_and_stable_styles(own_rule):
    one, two = own_rule("own_one", 2, 2026), own_rule("own_two", 1, 2027)
    styles = [algorithm_style(one), algorithm_style(two)]
    three = own_rule("own_three", 1, 2020)
    styles.append(algorithm_style(three))
    assert [algorithm_style(each) for each in (one, two, three)] == styles
    for style in styles:
        for taken in (algorithm_style(each) for each in EVERY):
            assert style.dash != taken.dash
            assert marker(style) != marker(taken)
    for a, b in combinations(styles, 2):
        assert marker(a) != marker(b)
        for vision in VISIONS:
            assert np.linalg.norm(cielab(a.colour, vision) - cielab(b.colour, vision)) >= DISTINCT


def test_the_style_of_a_user_rule_does_not_depend_on_the_drawing_order(own_rule):
    one, two = own_rule("own_one", 2, 2026), own_rule("own_two", 1, 2027)
    forwards = [algorithm_style(one), algorithm_style(two)]
    theme._user_rules.clear()
    backwards = [algorithm_style(two), algorithm_style(one)]
    assert forwards == backwards[::-1]


LINES = [f"c{i}" for i in range(LINE_COLOURS)]


@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
def test_line_colours_are_distinct_and_readable_under_any_colour_vision(dark):
    assert LINE_DASHES * LINE_COLOURS >= 20
    for one, other in combinations(LINES, 2):
        for vision in VISIONS:
            a, b = (cielab(COLOURS[name][dark], vision) for name in (one, other))
            assert sum((a - b) ** 2) ** 0.5 >= DISTINCT, (one, other, vision)

    def contrast(one, other):
        a, b = sorted(luminance(COLOURS[name][dark]) for name in (one, other))
        return (b + 0.05) / (a + 0.05)

    # The accessibility guidelines require 3 for marks and 4.5 for text.
    assert min(contrast(line, "panel") for line in LINES) >= 3
    for ink in ("ink", "soft", "c0", "c1"):
        assert contrast(ink, "panel") >= 4.5
    assert contrast("soft", "paper") >= 4.5
