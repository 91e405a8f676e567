"""A study: every job runs once, and interruptions and workers do not change the results."""

from dataclasses import replace

import numpy as np
import pytest

from recording_reporter import RecordingReporter
from scwlearn import Learner
from scwlearn.datasets import DataSet, make_synthetic
from scwlearn.experiments.study import CHECKPOINTS, StudySettings, run_data_set, study_cost
from scwlearn.experiments.tables import all_results
from scwlearn.rules import HOLD, Parameter, Step, find_rule, rule
from scwlearn.runs.compare import FOLDS, TUNING_ORDER, row_order
from scwlearn.runs.results import Results

DATA = DataSet("small", "small", *make_synthetic(400, label_noise=0.1))
RULES = [find_rule(name) for name in ("perceptron", "arow", "scw1", "narow_libol")]
SMALL = StudySettings(permutations=3, values=2)


def study(path, *, data=DATA, rules=RULES, settings=SMALL, workers=2, report=None):
    report = report or RecordingReporter()
    with Results(path) as results:
        return run_data_set(data, rules, settings, results, workers=workers, report=report), report


def table(runs):
    return all_results([runs]).to_csv()


def test_runs_match_a_learner_tuned_on_one_permutation(tmp_path):
    runs, _ = study(tmp_path / "r.jsonl", rules=[find_rule("arow")], settings=StudySettings(permutations=2))
    (arow,) = runs
    tuning = row_order(400, 0, TUNING_ORDER)
    mistakes = {
        r: Learner("arow", covariance="full", r=r).learn(DATA.x[tuning], DATA.y[tuning]).mistakes
        for r in find_rule("arow").parameters[0].grid
    }
    assert mistakes[arow.parameters["r"]] == min(mistakes.values())
    # Ties go to the larger value.
    assert arow.parameters["r"] == max(r for r, m in mistakes.items() if m == min(mistakes.values()))
    assert {cell.parameters["r"]: round(400 * cell.error) for cell in arow.cells} == mistakes
    for number in (1, 2):
        order = row_order(400, 0, number)
        counts = Learner("arow", covariance="full", **arow.parameters).learn(DATA.x[order], DATA.y[order])
        assert arow.final_errors[number - 1] == counts.mistakes / 400
        assert arow.final_updates[number - 1] == counts.updates
    assert arow.errors.shape == (2, CHECKPOINTS)


def test_any_number_of_workers_gives_the_same_table(tmp_path):
    tables = {table(study(tmp_path / f"{n}.jsonl", workers=n)[0]) for n in (1, 2, 5)}
    assert len(tables) == 1


@pytest.mark.parametrize("stop_after", [1, 7, 14])
def test_an_interrupted_study_resumes_without_repeating_runs(tmp_path, stop_after):
    whole, report = study(tmp_path / "whole.jsonl")
    path = tmp_path / "r.jsonl"
    with pytest.raises(KeyboardInterrupt):
        study(path, report=RecordingReporter(stop_after))
    kept = len(path.read_text().splitlines()) - 1
    assert stop_after <= kept < report.runs
    resumed, again = study(path)
    assert table(resumed) == table(whole)
    assert again.runs == report.runs - kept
    _, nothing = study(path)
    assert nothing.runs == 0
    assert nothing.before == pytest.approx(report.now)


def test_an_error_in_a_rule_stops_the_study_and_keeps_the_results(tmp_path, registry):
    @rule(title="Bad", estimator="Bad", order=1, large_margin=False, non_separable=True, cite="Nobody 2026")
    def bad(m, v, t):
        if t == 300:
            raise RuntimeError("no more")
        return Step(alpha=1.0) if m <= 0 else HOLD

    path = tmp_path / "r.jsonl"
    with pytest.raises(RuntimeError, match="no more"):
        study(path, rules=[*RULES, bad])
    kept = len(path.read_text().splitlines()) - 1
    assert study(tmp_path / "whole.jsonl")[1].runs == kept + study(path)[1].runs


def test_an_incomplete_last_line_is_run_again(tmp_path):
    path = tmp_path / "r.jsonl"
    whole, _ = study(path)
    text = path.read_bytes()
    path.write_bytes(text[: len(text) - 20])
    again, report = study(path)
    assert report.runs == 1
    assert table(again) == table(whole)


def test_other_data_and_another_seed_are_other_runs(tmp_path):
    path = tmp_path / "r.jsonl"
    _, first = study(path)
    other = replace(DATA, x=DATA.x * 2)
    assert study(path, data=other)[1].runs == first.runs
    assert study(path, settings=replace(SMALL, seed=1))[1].runs == first.runs
    assert study(path)[1].runs == 0


def test_a_larger_study_reuses_a_smaller_one(tmp_path):
    path = tmp_path / "r.jsonl"
    _, small = study(path, rules=RULES[:1])
    _, larger = study(path, rules=RULES[:1], settings=replace(SMALL, permutations=5))
    assert (small.runs, larger.runs) == (4, 2)


def test_cross_validation_scores_each_row_once_by_a_model_that_has_not_seen_it(tmp_path):
    runs, _ = study(tmp_path / "r.jsonl", rules=[find_rule("arow")], settings=replace(SMALL, tuning="cv"))
    order = row_order(400, 0, TUNING_ORDER)
    for cell in runs[0].cells:
        wrong = 0
        for part in np.array_split(order, FOLDS):
            rest = order[~np.isin(order, part)]
            learner = Learner("arow", covariance="full", **cell.parameters)
            learner.learn(DATA.x[rest], DATA.y[rest])
            wrong += np.sum((learner.scores(DATA.x[part]) >= 0) != (DATA.y[part] > 0))
        assert cell.error == wrong / 400


def test_a_stream_keeps_its_order_and_is_run_once(tmp_path):
    stream = replace(DATA, shuffle=False)
    runs, _ = study(tmp_path / "r.jsonl", data=stream)
    assert all(len(run.errors) == 1 for run in runs)
    counts = Learner("perceptron", covariance="identity").learn(stream.x, stream.y)
    assert runs[0].final_errors[0] == counts.mistakes / 400


def test_rows_without_features_are_counted(tmp_path):
    x = DATA.x.copy()
    x[::40] = 0
    runs, _ = study(tmp_path / "r.jsonl", data=replace(DATA, x=x), rules=RULES[:1])
    assert runs[0].empty_rows == 10


def test_the_estimated_cost_covers_all_runs(tmp_path):
    _, report = study(tmp_path / "r.jsonl")
    assert report.now == pytest.approx(study_cost(DATA, RULES, SMALL))


def test_a_small_grid_is_spread_over_the_full_one():
    points = StudySettings(values=3).cells(find_rule("scw1"))
    assert len(points) == 9
    assert sorted({p.parameters["C"] for p in points}) == [0.125, 1.0, 8.0]
    assert len(StudySettings().cells(find_rule("scw1"))) == 81
    assert [p.parameters for p in StudySettings(values=3).cells(find_rule("pa"))] == [{}]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"permutations": 0}, "permutations must be at least 1"),
        ({"tuning": "best"}, "tuning must be one of libol, cv, got 'best'"),
        ({"covariance": "kernel"}, "covariance must be one of full, diagonal"),
    ],
)
def test_invalid_settings_are_rejected(wrong, message):
    with pytest.raises(ValueError, match=message):
        StudySettings(**wrong)


@pytest.mark.usefixtures("registry")
def test_a_rule_with_changed_source_is_run_again(tmp_path):
    def declare(step):
        source = f"def own(m, v, share):\n    return Step(alpha={step}) if m <= 0 else HOLD\n"
        names = {"Step": Step, "HOLD": HOLD, "__name__": "__main__"}
        exec(source, names)
        parameters = (Parameter("share", 1.0, "Nothing."),)
        how = {"order": 1, "large_margin": False, "non_separable": True, "cite": "Nobody 2026"}
        return rule(title="Own", estimator="Own", parameters=parameters, **how)(names["own"])

    path = tmp_path / "r.jsonl"
    assert study(path, rules=[declare("1.0")])[1].runs == 4
    assert study(path, rules=[declare("1.0")])[1].runs == 0
    assert study(path, rules=[declare("0.5")])[1].runs == 4
