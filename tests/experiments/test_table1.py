"""Table 1: the measurements confirm the declarations and detect false ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scwlearn.experiments.table1 import (
    DISAGREEMENTS,
    PROPERTIES,
    VARIANCES,
    Evidence,
    largest_margin,
    measure_properties,
    measurement_table,
    property_table,
)
from scwlearn.rules import HOLD, Parameter, Rule, Step, all_rules, find_rule, rule

NAMES = [p.name for p in PROPERTIES]


def declared(function: Callable[..., Step], *marks: bool, **more: object) -> Rule:
    large_margin, confidence, non_separable, adaptive_margin = marks
    return rule(
        title="Ours",
        estimator="Ours",
        order=2 if confidence else 1,
        large_margin=large_margin,
        non_separable=non_separable,
        adaptive_margin=adaptive_margin,
        cite="Nobody 2026",
        **more,
    )(function)


def evidence_for(own: Rule) -> dict[str, Evidence]:
    ((_, row),) = measure_properties([own])
    return {evidence.name: evidence for evidence in row}


def test_declarations_are_confirmed_and_differences_from_the_paper_have_reasons() -> None:
    cells = [(rule, evidence) for rule, row in measure_properties() for evidence in row]
    assert len(cells) == 4 * len(all_rules())
    assert all(e.confirmed for _, e in cells)
    assert {(rule.name, e.name) for rule, e in cells if not e.unanimous} == set(DISAGREEMENTS)


def test_every_row_of_the_paper_is_compared() -> None:
    compared = [rule.name for rule, row in measure_properties() if all(e.paper is not None for e in row)]
    first, second = ["pa", "pa1", "pa2"], ["second_order_perceptron", "cw", "arow", "iellip", "narow", "nherd"]
    assert compared == [*first, *second, "scw1", "scw2"]


def test_only_scw_and_narow_have_all_four_properties() -> None:
    assert [rule.name for rule, row in measure_properties() if all(e.measured for e in row)] == [
        "narow",
        "scw1",
        "scw2",
    ]


@pytest.mark.parametrize("v", VARIANCES)
def test_the_largest_margin_matches_the_rule(v: float) -> None:
    assert largest_margin(find_rule("perceptron"), v) == 0
    assert largest_margin(find_rule("pa"), v) == pytest.approx(1, rel=1e-6)
    scw1 = find_rule("scw1")
    assert largest_margin(scw1, v) == pytest.approx(scw1.constants({})["phi"] * v**0.5, rel=1e-6)


def plain(m: float, v: float) -> Step:
    """A Perceptron that cannot be turned: it has only what a wrong label cannot do."""
    return Step(alpha=1.0) if m <= 0 else HOLD


def gifted(m: float, v: float) -> Step:
    """It has the four properties."""
    return Step(alpha=(v - m) / (v + 1), precision=1.0) if m < v else HOLD


def forced(m: float, v: float) -> Step:
    """It satisfies every label in full, and has the other three properties."""
    return Step(alpha=(v - m) / v, precision=1.0) if m < v else HOLD


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("function", "truth"),
    [
        (plain, (False, False, True, False)),
        (gifted, (True, True, True, True)),
        (forced, (True, True, False, True)),
    ],
)
@pytest.mark.parametrize("lie", NAMES)
def test_a_false_declaration_is_detected(function: Callable[..., Step], truth: tuple[bool, ...], lie: str) -> None:
    marks = [mark != (name == lie) for name, mark in zip(NAMES, truth, strict=True)]
    row = evidence_for(declared(function, *marks))
    assert [name for name, evidence in row.items() if not evidence.confirmed] == [lie]
    assert tuple(evidence.measured for evidence in row.values()) == truth


@pytest.mark.usefixtures("registry")
def test_a_user_rule_with_parameters_has_a_row() -> None:
    def half_pa(m: float, v: float, norm2: float, t: float, share: float) -> Step:
        return HOLD if m >= 1 else Step(alpha=share * (1 - m) / v)

    own = declared(half_pa, True, False, True, False, parameters=(Parameter("share", 0.5, "How far."),))
    row = evidence_for(own)
    assert all(evidence.unanimous and evidence.paper is None for evidence in row.values())
    assert row["non_separable"].measurement == "m = -1000 becomes -500"
    assert own in [rule for rule, _ in measure_properties()]


@pytest.mark.usefixtures("registry")
def test_a_rule_that_always_updates_has_a_large_margin_that_is_not_adaptive() -> None:
    def least_squares(m: float, v: float) -> Step:
        return Step(alpha=(1 - m) / (v + 1), precision=1.0)

    assert all(e.confirmed for e in evidence_for(declared(least_squares, True, True, True, False)).values())


def test_the_table_shows_declarations_and_notes_disagreements() -> None:
    table = property_table(measure_properties())
    assert table.columns == ("algorithm", "Large Margin", "Confidence", "Non-Separable", "Adaptive Margin")
    assert ["SCW-I", "Yes", "Yes", "Yes", "Yes"] in table.rows
    assert ["IELLIP", "No", "Yes", "No (2)", "No"] in table.rows
    assert len(table.notes) == len(DISAGREEMENTS)
    assert table.notes[1].startswith(
        "(2) IELLIP, Non-Separable: declared No, measured No (m = -1000 becomes 1), paper Yes. Its ellipsoid"
    )


@pytest.mark.usefixtures("registry")
def test_disagreements_without_a_reason_are_noted() -> None:
    own = declared(plain, True, False, True, False)
    note = "(1) Ours, Large Margin: declared Yes, measured No (updates up to m = 0)."
    assert property_table(measure_properties([own])).notes == [note]
    assert not property_table(measure_properties([find_rule("cw")])).notes


def test_measurements_are_shown_with_the_meanings_of_the_properties() -> None:
    table = measurement_table(measure_properties([find_rule("narow")]))
    assert list(table.notes) == [f"**{p.title}**: {p.meaning}" for p in PROPERTIES]
    assert table.rows[0][-2:] == ["m = -1000 becomes -99", "updates up to m = 1, 1, 10"]
