"""The plan: every example once, whatever the parts and rounds, and a tree of fixed shape."""

from fractions import Fraction
from itertools import pairwise

import pytest

from scwlearn.distributed.plan import FAN_IN, WARM_UP, Plan, default_parts, tree, warm_up_of


@pytest.mark.parametrize("rounds", [1, 2, 8])
@pytest.mark.parametrize("parts", [1, 2, 7, 128])
def test_a_pass_learns_everything_once(parts, rounds):
    plan = Plan(parts, rounds)
    stretches = sorted(stretch for one in plan.stretches() for stretch in one)
    assert stretches[0].begin == 0
    assert stretches[-1].end == 1
    assert all(one.end == other.begin for one, other in pairwise(stretches))


def test_the_rounds_after_the_warm_up_are_even():
    warm_up, *rounds = Plan(8, 4, warm_up=Fraction(1, 100)).stretches()
    assert warm_up == [(0, Fraction(1, 100))]
    assert [len(one) for one in rounds] == [8] * 4
    assert len({stretch.end - stretch.begin for one in rounds for stretch in one}) == 1


def test_later_passes_have_no_warm_up():
    plan = Plan(3, 2, epochs=2)
    assert [len(one) for one in plan.stretches(epoch=2)] == [3, 3]
    assert plan.stretches(epoch=2)[0][0].begin == 0


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("count", [0, 1, 7, 2000, 10 * WARM_UP])
@pytest.mark.parametrize("parts", [1, 2, 8])
def test_every_row_of_a_partition_is_learned_once(parts, count, rounds):
    plan = Plan(parts, rounds)
    for part in range(1, parts + 1):
        own = [plan.rows(part, number, count) for number in range(plan.first_round, plan.rounds + 1)]
        assert [row for rows in own for row in rows] == [*range(count)]


def test_the_warm_up_is_in_the_first_partition_and_at_most_a_quarter_of_all():
    plan = Plan(2)
    assert len(plan.rows(1, 0, 1000)) == 500
    assert len(plan.rows(1, 0, 10 * WARM_UP)) == WARM_UP
    assert not plan.rows(2, 0, 1000)
    assert len(Plan(8).rows(1, 0, 1000)) == 1000


def test_the_warm_up_has_a_number_of_examples():
    assert warm_up_of(0, 100 * WARM_UP) == Fraction(1, 100)
    assert warm_up_of(0, 1000) == warm_up_of(0) == Fraction(1, 4)
    assert warm_up_of(WARM_UP, 1000) == 0


def test_one_part_is_one_stream():
    assert Plan(1, 8).stretches() == [[(Fraction(0), Fraction(1))]]


@pytest.mark.parametrize("count", [1, 2, FAN_IN, FAN_IN + 1, 64, 65, 1000])
def test_the_tree_has_every_model_once(count):
    levels = tree(count)
    expected = count
    for level in levels:
        assert [number for group in level for number in group] == [*range(expected)]
        assert max(map(len, level)) <= FAN_IN
        assert max(map(len, level)) - min(map(len, level)) <= 1
        expected = len(level)
    assert expected == 1


def test_the_parts_follow_from_the_size():
    assert default_parts(1) == 2
    assert default_parts(2**30) == 4
    assert default_parts(2**50) == 128


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2"])
@pytest.mark.parametrize("name", ["parts", "rounds", "epochs"])
def test_wrong_numbers_are_refused(name, wrong):
    with pytest.raises((TypeError, ValueError), match=name):
        Plan(**{"parts": 2, name: wrong})
