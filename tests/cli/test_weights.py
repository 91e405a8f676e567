"""Examples of weight 0: no command that learns gives another result without them."""

import json

import numpy as np
import pytest

from scwlearn.cli.app import run
from use_examples import written

RUNS = [
    ["train", "--shuffle-buffer", "50"],
    ["train", "--holdout", "0.2"],
    ["train", "--holdout", "0.3", "--shuffle-buffer", "40", "--epochs", "2", "--probabilities"],
    ["train", "--save-every", "30", "-m", "a.model", "--shuffle-buffer", "20"],
    ["train", "--workers", "1", "--parts", "1", "--rounds", "1", "--shuffle-buffer", "50"],
    ["tune", "--shuffle-buffer", "50"],
    ["tune", "--shuffle-buffer", "50", "--metric", "log-loss"],
    ["compare", "-k", "3"],
    ["compare", "-k", "2", "--tune"],
]


def lines(seed, of_class):
    """Return lines of CSV, and those of them that have a weight."""
    random = np.random.default_rng(seed)
    x, weighs = random.normal(size=(400, 3)).round(3), random.random(400) < 0.6
    labels = np.where(x[:, 0] + 0.5 * random.normal(size=400) > 0, 1, 0)
    labels = np.where(~weighs & of_class, 2, labels)
    weights = np.where(weighs | of_class, random.choice([0.5, 1.0, 2.0], 400), 0.0)
    x[~weighs] *= 50
    cells = zip(x.tolist(), weights, labels, strict=True)
    rows = [",".join(map(str, [*row, weight, label])) + "\n" for row, weight, label in cells]
    return rows, [row for row, kept in zip(rows, weighs, strict=True) if kept]


def figures(value):
    """Return the values of a summary that depend on the examples alone."""
    if isinstance(value, dict):
        return {k: figures(v) for k, v in value.items() if k not in ("seconds", "began", "parts", "rounds")}
    return [*map(figures, value)] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("by", ["sample", "class"])
@pytest.mark.parametrize("options", RUNS, ids=" ".join)
def test_examples_of_weight_0_change_no_result(tmp_path, monkeypatch, capsys, options, by, seed):
    monkeypatch.chdir(tmp_path)
    results = []
    for rows in lines(seed, of_class=by == "class"):
        data = written(tmp_path / "data.csv", "a,b,c,w,label\n" + "".join(rows))
        command, *more = options
        given = [data, "-a", "arow", "--weight", "w", "--class-weight", "2=0", "--json", "-q", *more]
        assert run([command, *given]) == 0
        results.append(figures(json.loads(capsys.readouterr().out)))
    assert results[0] == results[1]
