"""The plan: every example once, whatever the parts and rounds, and a tree of fixed shape."""

from fractions import Fraction
from itertools import pairwise

import pytest

from scwlearn.distributed.plan import FAN_IN, Plan, default_parts, tree


@pytest.mark.parametrize("rounds", [1, 2, 8])
@pytest.mark.parametrize("parts", [1, 2, 7, 128])
def test_a_pass_learns_everything_once(parts, rounds):
    plan = Plan(parts, rounds)
    stretches = sorted(stretch for one in plan.stretches() for stretch in one)
    assert stretches[0].begin == 0
    assert stretches[-1].end == 1
    assert all(one.end == other.begin for one, other in pairwise(stretches))


def test_the_warm_up_is_short_and_the_rounds_are_even():
    warm_up, *rounds = Plan(8, 4).stretches()
    assert len(warm_up) == 1
    assert warm_up[0].end <= Fraction(1, 50)
    assert [len(one) for one in rounds] == [8] * 4
    sizes = {stretch.end - stretch.begin for one in rounds for stretch in one[1:]}
    assert len(sizes) == 1


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
