"""Theorem 1 on runs: separable data is compared as a whole, other data as far as possible."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from scwlearn.datasets import DataSet, make_synthetic
from scwlearn.experiments.theorem1 import UNLIMITED_C, theorem1, theorem1_tables
from scwlearn.learning.bounds import loss_bound
from scwlearn.learning.learner import Learner


def data_set(title: str, x: np.ndarray, y: np.ndarray) -> DataSet:
    return DataSet(title, title, x, y)


CLEAN = data_set("synthetic", *make_synthetic(1000))
NOISY = data_set("synthetic, noisy", *make_synthetic(1000, label_noise=0.1))
_x, _y = load_breast_cancer(return_X_y=True)
CANCER = data_set("breast cancer", scale(_x), np.where(_y == 1, 1, -1))
CONTRARY = data_set("contrary", np.ones((2, 1)), np.array([1, -1]))
NOTHING = data_set("nothing", np.zeros((3, 2)), np.array([1, -1, 1]))

every_set = pytest.mark.parametrize("data", [CLEAN, NOISY, CANCER], ids=lambda data: data.title)
every_price = pytest.mark.parametrize("C", [0.1, 1.0, UNLIMITED_C])


@every_set
@every_price
def test_the_corrected_theorem_holds_where_a_comparison_is_feasible(data: DataSet, C: float) -> None:
    row = theorem1(data, C=C, eta=0.8, seed=0)
    assert row.compared.feasible
    assert 0 < row.compared_rows <= row.rows == len(data.y)
    assert row.within_limit
    assert row.within_bound or row.excess > 0
    assert row.deviation < 1e-9


@every_set
@every_price
def test_the_printed_inequality_is_false_and_its_conclusion_needs_the_cap(data: DataSet, C: float) -> None:
    row = theorem1(data, C=C, eta=0.8, seed=0)
    assert row.updates > 0
    assert not row.printed_holds
    assert row.mistakes_within_loss or not row.run.cap_covers_mistakes


@every_set
def test_unlimited_steps_have_no_excess(data: DataSet) -> None:
    row = theorem1(data, C=UNLIMITED_C, eta=0.8, seed=1)
    assert row.excess == 0
    assert row.within_bound


def test_separable_data_is_compared_as_a_whole_and_noisy_data_in_part() -> None:
    clean, noisy = (theorem1(data, C=1.0, eta=0.8, seed=0) for data in (CLEAN, NOISY))
    assert clean.compared is clean.run
    assert not noisy.run.feasible
    assert noisy.compared_rows < noisy.rows


@pytest.mark.parametrize("data", [NOISY, CANCER], ids=lambda data: data.title)
@pytest.mark.parametrize("C", [0.1, UNLIMITED_C])
def test_the_compared_rows_are_the_most_that_a_linear_program_finds_feasible(data: DataSet, C: float) -> None:
    row = theorem1(data, C=C, eta=0.8, seed=0)
    order = np.random.default_rng(0).permutation(len(data.y))
    x, y = data.x[order], data.y[order]
    trace = Learner("scw1", covariance="full", C=C, eta=0.8).trace(x, y)
    moved = np.flatnonzero(trace.alpha)
    sides, least = y[moved, None] * x[moved], (y * trace.score + trace.alpha * trace.variance)[moved]

    def feasible(rows: int) -> bool:
        of = moved < rows
        anywhere = linprog(np.zeros(x.shape[1]), A_ub=-sides[of], b_ub=-least[of], bounds=(None, None))
        assert anywhere.status in (0, 2)
        return anywhere.status == 0

    assert feasible(row.compared_rows)
    assert row.compared_rows == row.rows or not feasible(row.compared_rows + 1)


def test_the_compared_rows_are_the_beginning_of_the_run() -> None:
    row = theorem1(NOISY, C=1.0, eta=0.8, seed=0)
    np.testing.assert_allclose(row.compared.losses, row.run.losses[: row.compared_rows], rtol=1e-9)


def test_the_rows_are_the_first_of_the_seeded_order() -> None:
    row = theorem1(CLEAN, C=1.0, eta=0.8, seed=3, max_rows=50)
    order = np.random.default_rng(3).permutation(1000)[:50]
    assert row.rows == 50
    assert row.run.loss == loss_bound(CLEAN.x[order], CLEAN.y[order], C=1.0, eta=0.8).loss


def test_sparse_rows_give_the_same_result() -> None:
    dense, sparse_ = (
        theorem1(data_set(NOISY.title, x, NOISY.y), C=1.0, eta=0.8, seed=0, max_rows=200)
        for x in (NOISY.x, sparse.csr_matrix(NOISY.x))
    )
    assert sparse_.compared_rows == dense.compared_rows
    assert sparse_.bound == pytest.approx(dense.bound)


def test_contradictory_rows_end_the_comparison() -> None:
    row = theorem1(CONTRARY, C=UNLIMITED_C, eta=0.8, seed=0)
    assert (row.rows, row.compared_rows) == (2, 1)
    assert row.within_bound


def test_a_run_without_updates_is_within_all_bounds() -> None:
    row = theorem1(NOTHING, C=1.0, eta=0.8, seed=0)
    assert (row.updates, row.deviation, row.bound, row.excess) == (0, 0.0, 0.0, 0.0)
    assert row.printed_holds
    assert row.within_limit


def test_the_tables_show_where_the_comparison_ends() -> None:
    rows = [theorem1(data, C=UNLIMITED_C, eta=0.8, seed=0) for data in (CLEAN, CONTRARY)]
    whole, compared = theorem1_tables(rows)
    assert list(whole.rows[0][:4]) == ["synthetic", "1e+100", "0.8", "1000"]
    assert list(compared.rows[0][3:5]) == ["Yes", "1000"]
    assert list(compared.rows[1][3:5]) == ["No: none from row 2", "1"]
