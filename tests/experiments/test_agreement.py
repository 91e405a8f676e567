"""Agreement with the paper, its claims, and the best single settings."""

import numpy as np
import pytest

from scwlearn.experiments import paper
from scwlearn.experiments.claims import verdicts
from scwlearn.experiments.paper import agreement_table, comparisons, differences_table
from scwlearn.experiments.study import DataSetRuns
from scwlearn.experiments.tables import defaults_table, setting_costs
from scwlearn.learning.counters import Counts
from scwlearn.rules import all_rules, find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.tune import CellResult


def cell(parameters, error, updates):
    """A cell of which only these are known."""
    return CellResult(ModelConfig(None, parameters), Counts(10**6, round(10**6 * error), round(updates)))


def runs_of(name, rule, rates, updates=100.0, *, cells=(), empty_rows=0, seconds=1.0, parameters=None):
    """Runs over as many permutations as there are rates."""
    rates = np.array(rates)[:, None]
    return DataSetRuns(
        title=name,
        name=name,
        rule=find_rule(rule),
        covariance="full",
        parameters=parameters or {},
        cells=cells,
        empty_rows=empty_rows,
        keeps_order=False,
        seen=np.array([paper.TABLE2.get(name, (1000,))[0]]),
        errors=rates,
        updates=np.full_like(rates, updates),
        seconds=np.full_like(rates, seconds),
    )


def as_printed(name, rule, **changes):
    printed = paper.TABLE3[name, find_rule(rule).variant_of or rule]
    rates = printed.mistake_rate + printed.rate_std * np.array([-1, 0, 1])
    given = {"updates": printed.updates, "cells": (cell({}, printed.mistake_rate, printed.updates),)} | changes
    return runs_of(name, rule, given.pop("rates", rates), **given)


def row(table, first):
    (found,) = [r for r in table.rows if r[0].strip("*") == first]
    return list(found)


def test_the_paper_has_seventy_two_cells_and_each_agrees_with_itself():
    blocks = [[as_printed(name, rule) for rule in paper.RULES.values()] for name in paper.TABLE2]
    assert len(comparisons(blocks)) == 72
    assert row(agreement_table(blocks), "all, our rules")[1:] == ["72 of 72"] * 3
    assert not differences_table(blocks).rows


def test_a_rate_agrees_within_three_standard_deviations_or_half_a_percent():
    printed = paper.TABLE3["splice", "cw"]  # 0.271 +- 0.009
    for apart, agrees in ((0.026, True), (-0.026, True), (0.028, False)):
        (found,) = comparisons([[as_printed("splice", "cw", rates=[printed.mistake_rate + apart])]])
        assert found.rate_agrees == agrees
    (found,) = comparisons([[as_printed("w7a", "cw", rates=[0.104 + 0.0049])]])  # +- 0.000
    assert found.rate_agrees


def test_updates_agree_within_fifteen_percent_or_at_a_tied_cell():
    best, near, bad = cell({"eta": 0.9}, 0.27, 800.0), cell({"eta": 0.8}, 0.275, 560.0), cell({"eta": 0.7}, 0.3, 555.0)
    run = as_printed("splice", "cw", updates=800.0, cells=(best, near, bad))
    (found,) = comparisons([[run]])
    assert not found.updates_agree
    assert found.tied[0].parameters == {"eta": 0.8}
    assert row(agreement_table([[run]]), "CW")[1:] == ["1 of 1", "0 of 1", "1 of 1"]
    (without,) = comparisons([[as_printed("splice", "cw", updates=800.0, cells=(best, bad))]])
    assert without.tied is None


def test_a_hinge_loss_counts_rows_without_features():
    run = as_printed("w7a", "arow", updates=8187.0, empty_rows=2046)
    assert comparisons([[run]])[0].updates == 10233
    (cw,) = comparisons([[as_printed("w7a", "cw", empty_rows=2046)]])
    assert cw.updates == pytest.approx(2432.2)


def test_a_variant_replaces_its_rule_only_in_the_rows_that_name_it():
    blocks = [[as_printed("splice", "narow", rates=[0.5]), as_printed("splice", "narow_libol")]]
    table = agreement_table(blocks)
    assert row(table, "all, our rules")[1] == "0 of 1"
    assert row(table, "all, NAROW as in LIBOL")[1] == "1 of 1"


def claim(blocks, beginning):
    (found,) = [v for v in verdicts(blocks) if v.claim.startswith(beginning)]
    return found


_random = np.random.default_rng(0).normal(size=20)
NOISE = 0.001 * (_random - _random.mean())


def block(name, **rates):
    return [runs_of(name, rule, rate + NOISE * (1 + i), seconds=1.0) for i, (rule, rate) in enumerate(rates.items())]


def test_claims_are_confirmed_by_the_numbers():
    good = {"cw": 0.2, "arow": 0.15, "scw1": 0.1}
    blocks = [
        block("synthetic", perceptron=0.4, pa=0.3, **good | {"cw": 0.02}),
        block("splice", perceptron=0.4, pa=0.1, **good),
        block("w7a", perceptron=0.4, pa=0.3, **good),
    ]
    assert claim(blocks, "Second-order").confirmed
    assert claim(blocks, "CW significantly").confirmed
    fails = claim(blocks, "but not")
    assert fails.confirmed
    assert "1 of 2 data sets (splice: 0.200, the best of them 0.100)" in fails.numbers
    assert claim(blocks, "AROW significantly").confirmed
    assert not claim(blocks, "AROW usually").confirmed  # as many updates as CW


def test_contradicted_claims_are_not_confirmed():
    blocks = [block("splice", perceptron=0.1, pa=0.1, cw=0.3, arow=0.4, scw1=0.4)]
    assert not claim(blocks, "Second-order").confirmed
    assert not claim(blocks, "AROW significantly").confirmed
    assert not claim(blocks, "SCW often").confirmed


def test_claims_about_algorithms_that_were_not_run_are_omitted():
    assert not [v for v in verdicts([block("splice", pa=0.1, pa1=0.1)]) if "CW" in v.claim]


def test_the_best_single_setting_loses_least_over_all_sets():
    def cells(*rates):
        return tuple(cell({"r": r}, rate, 1.0) for r, rate in zip((0.5, 1.0, 2.0), rates, strict=True))

    blocks = [
        [runs_of("one", "arow", [0.1], cells=cells(0.1, 0.12, 0.4))],
        [runs_of("two", "arow", [0.1], cells=cells(0.4, 0.12, 0.1))],
    ]
    by_point = setting_costs([b[0] for b in blocks])
    assert by_point[(("r", 1.0),)] == pytest.approx(1.2, abs=0.01)
    assert by_point[(("r", 0.5),)] == pytest.approx(2.0, abs=0.02)
    assert row(defaults_table(blocks), "AROW")[1:3] == ["r=1", f"{by_point[(('r', 1.0),)]:.3f}"]
    assert len(defaults_table([[runs_of("one", "pa", [0.1])]]).rows) == 0


def test_the_paper_compares_only_algorithms_that_exist():
    assert set(paper.RULES.values()) <= {rule.name for rule in all_rules()}
    assert {name for name, _ in paper.TABLE3} == set(paper.TABLE2)
