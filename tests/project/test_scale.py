"""The paper model of training at scale: its limits, and its bytes against those of an actual task."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scale import DOCS, Cluster, Job, _tried, delta_bytes, round_bytes, simulate, single_stream, tables
from scale_constants import PER_ROW, Constants, changed_features, expected_distinct, learn_task, start_model, text_rows

from scwlearn.distributed.plan import WARM_UP

#: Only learning takes time: 1 s for a row of 1 byte.
IDEAL = Constants(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 24.0, 0.0, 0.0, 0.0, 0.0, 2.0, 13.0)
NETWORK = Cluster(bandwidth=math.inf, restart=0.0)


def test_the_expected_change_is_that_of_an_actual_task(tmp_path):
    start = start_model(tmp_path, 50_000)
    path = tmp_path / "rows.libsvm"
    path.write_text("".join(text_rows(50_000, 3000, 2)))
    learned = learn_task(path)(start)
    changes = changed_features(start, learned)
    assert changes == pytest.approx(expected_distinct(50_000, learned.reports[0].updates * PER_ROW), rel=0.03)
    # What does not depend on the number of features takes some kilobytes.
    assert len(learned.model) == pytest.approx(24 * changes + 3000, abs=3000)


def test_expected_distinct_features_are_the_sum_over_all_features():
    k = np.arange(1, 1000)
    p = np.log1p(1 / k) / math.log(1000)
    assert p.sum() == pytest.approx(1)
    for draws in (1, 100, 100_000):
        assert expected_distinct(1000, draws) == pytest.approx((1 - (1 - p) ** draws).sum())
    a = 1e6 / math.log(1e9)
    assert expected_distinct(1e9, 1e6) == pytest.approx(a * (1 - np.euler_gamma + math.log(1e9 / a)), rel=0.01)


def test_a_change_of_more_than_half_is_sent_whole_and_wide_models_need_wide_places():
    assert delta_bytes(1e6, 1e9, IDEAL) == 16e6
    assert delta_bytes(2**30, 1e4, IDEAL) / delta_bytes(2**30 - 2, 1e4, IDEAL) == pytest.approx(32 / 24)
    tasks, merges, models, _ = round_bytes(Job(1e6, 64), 1e9, IDEAL)
    assert (tasks, merges, models) == (64 * 16e6, 9 * 16e6, 64 * 16e6)


@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize(("parts", "share"), [(1, 1.0), (8, 0.02 + 0.98 / 8), (64, 0.02 + 0.98 / 64)])
def test_without_costs_a_pass_takes_its_warm_up_and_its_longest_part(parts, share, sliced):
    job = Job(1e6, parts, size=1e6, sliced=sliced)
    assert single_stream(job, IDEAL) == pytest.approx(1e6)
    [seconds] = simulate(job, IDEAL, NETWORK)
    assert seconds == pytest.approx(share * 1e6)


def test_half_as_many_workers_take_twice_as_long():
    [seconds] = simulate(Job(1e6, 64, size=1e6, workers=32), IDEAL, NETWORK)
    assert seconds == pytest.approx((0.02 + 2 * 0.98 / 64) * 1e6)


def test_the_network_sends_a_model_down_a_tree_and_changes_up_another():
    # So much data that each part changes more than half of the model, which takes a second to send.
    constants = replace(IDEAL, row=0.0)
    [seconds] = simulate(Job(1e6, 8, rounds=1, size=1e9), constants, Cluster(bandwidth=16e6))
    warm_up = delta_bytes(1e6, WARM_UP, constants) / 16e6 + 1  # to the merge, and to the client
    down, up = 4, 8 + 1
    assert seconds == pytest.approx(warm_up + down + up)


def test_deaths_cost_what_they_are_expected_to():
    t, rate, wait = 1800.0, 0.5 / 3600, 600.0
    took = _tried(np.full((1, 200_000), t), Cluster(deaths=0.5), wait, np.random.default_rng(0))
    assert took.mean() == pytest.approx((1 / rate + wait) * math.expm1(rate * t), rel=0.01)


def test_second_copies_help_against_stragglers():
    job = Job(1e6, 64, size=1e6)
    slow, copied = (
        simulate(job, IDEAL, Cluster(bandwidth=math.inf, spread=1.0, copies=copies), 50).mean()
        for copies in (False, True)
    )
    assert simulate(job, IDEAL, NETWORK)[0] < copied < 0.8 * slow


def test_the_page_has_a_place_for_each_table():
    text = (DOCS / "scale.md").read_text(encoding="utf-8")
    for name in tables(replace(IDEAL, row=1e-6), 1e9):
        assert re.search(f"<!-- {name} -->\n\n.*\n\n<!-- /{name} -->", text, flags=re.DOTALL)
    assert "](images/scale.webp)" in text
