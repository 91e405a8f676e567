"""The comparison engine: orders, jobs in threads, and the standings."""

from threading import Barrier, Event

import numpy as np
import pytest

from scwlearn import Learner
from scwlearn._util.significance import paired_p
from scwlearn.datasets import DataSet, make_synthetic
from scwlearn.rules import find_rule
from scwlearn.runs.compare import Runs, Trials, row_order, run_jobs, standings
from scwlearn.runs.results import Job, Outcome

X, Y = make_synthetic(300, label_noise=0.1)


def job(order=1, **changes):
    return Job("small", "", "arow", "", "full", (("r", 1.0),), 0, order, 300, **changes)


def trials(**settings):
    def make(each):
        return Learner(each.rule, covariance=each.covariance, **dict(each.parameters))

    return Trials(DataSet("small", "small", X, Y).examples(), make, seed=0, **settings)


def test_runs_of_the_same_order_share_one_copy():
    runs = trials()
    one = runs.in_order(1)
    other = runs.in_order(2)
    assert runs.in_order(1) is one
    assert runs.in_order(2) is other
    assert one.labels.tolist() == Y[row_order(300, 0, 1)].tolist()


def test_checkpoints_count_as_a_learner_does_up_to_there():
    outcome = trials().run(job(checkpoints=3), Event())
    learner, order = Learner("arow", covariance="full"), row_order(300, 0, 1)
    for number, stop in enumerate((100, 200, 300)):
        learner.learn(X[order[stop - 100 : stop]], Y[order[stop - 100 : stop]])
        counts = learner.counts
        found = (outcome.seen[number], outcome.mistakes[number], outcome.updates[number])
        assert found == (counts.seen, counts.mistakes, counts.updates)
    assert sorted(outcome.seconds) == list(outcome.seconds)


def test_jobs_run_side_by_side_in_the_sequence_of_their_orders():
    barrier = Barrier(2, timeout=30)
    results, started = {}, []

    def run(each, stop):
        started.append(each.order)
        barrier.wait()
        return Outcome((1,), (each.order,), (0,), (0.0,))

    run_jobs([job(3), job(1), job(4), job(2)], run, results, lambda each, known: None, workers=2)
    assert {each.order: outcome.mistakes for each, outcome in results.items()} == {n: (n,) for n in (1, 2, 3, 4)}
    assert {*started[:2]} == {1, 2}


def test_known_results_are_not_run_again():
    results = {job(1): Outcome((1,), (0,), (0,), (0.0,))}
    seen = []

    def run(each, stop):
        raise AssertionError("it was run")

    def finished(each, known):
        seen.append(known)

    run_jobs([job(1)], run, results, finished, workers=1)
    assert seen == [True]


def test_an_error_stops_running_jobs_and_keeps_finished_ones():
    results, started = {}, Event()

    def run(each, stop):
        if each.order == 1:
            assert started.wait(30)
            raise RuntimeError("no more")
        started.set()
        assert stop.wait(30)
        return Outcome((1,), (0,), (0,), (0.0,))

    with pytest.raises(RuntimeError, match="no more"):
        run_jobs([job(1), job(2)], run, results, lambda each, known: None, workers=2)
    assert [each.order for each in results] == [2]


def runs(name, errors):
    values = np.array(errors)[:, None]
    seen = np.array([100])
    return Runs(rule=find_rule(name), parameters={}, seen=seen, errors=values, updates=values, seconds=values)


def test_algorithms_that_do_not_differ_from_the_best_are_as_good():
    noise = np.random.default_rng(0).normal(size=8) / 100
    found = standings([runs("pa", 0.3 + noise), runs("cw", 0.2 + noise), runs("arow", 0.2 + noise[::-1])])
    assert [each.runs.rule.name for each in found] in (["cw", "arow", "pa"], ["arow", "cw", "pa"])
    assert [each.as_good_as_best for each in found] == [True, True, False]
    assert found[2].rank == 3.0


def test_a_constant_difference_counts_without_a_test():
    found = standings([runs("pa", [0.25, 0.5]), runs("cw", [0.125, 0.375]), runs("arow", [0.125, 0.375])])
    assert [each.p for each in found] == [None, None, None]
    assert [each.as_good_as_best for each in found] == [True, True, False]
    assert paired_p(np.array([0.1]), np.array([0.2])) is None
