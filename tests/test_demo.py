"""The demonstration, with few permutations: its table and its picture."""

import numpy as np
import pytest
from matplotlib.image import imread

from scwlearn.experiments import demo
from scwlearn.experiments.table3 import as_good_as_best
from scwlearn.rules import all_rules


def test_the_demonstration_shows_every_algorithm_and_draws_a_picture(tmp_path, capsys):
    assert demo.main(["--permutations", "2", "--output", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    for rule in all_rules():
        assert shown.out.count(f"│ {rule.title} ") == 4
    picture = tmp_path / "figure1.png"
    assert str(picture) in shown.out
    assert "done" in shown.err
    pixels = imread(picture)
    assert pixels.shape[0] > 1000
    assert pixels.std() > 0.05


def test_the_demonstration_needs_two_permutations(capsys):
    with pytest.raises(SystemExit):
        demo.main(["--permutations", "1"])
    assert "at least 2" in capsys.readouterr().err


def test_only_what_a_paired_test_cannot_tell_from_the_best_is_marked():
    noise = np.random.default_rng(0).normal(size=20)
    assert as_good_as_best([noise, noise + 1e-12, noise + 0.01 * noise[::-1], noise + 5]) == [True, True, True, False]
