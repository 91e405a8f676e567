"""The report of the quality benchmark: ratios, targets and resuming."""

import pytest
from quality.models import BASE, BATCH, COMMITTEE
from quality.records import Key, Record, _line, drop, read
from quality.report import Results, advice, markdown, targets
from quality.run import DOCS


def record(name, order, model, held_out, features="raw", progressive=0.2):
    """Return a record of 70 training and 30 test rows."""
    return Record(Key(name, order, features, model), 70, 30, progressive, held_out, held_out, 2 * held_out, 0.1, 1.0)


def results(*records):
    return Results({each.key: each for each in records})


def test_half_an_example_is_added_to_both_sides_of_a_ratio():
    found = results(record("a", 0, COMMITTEE, 0.0), record("a", 0, BASE, 0.1))
    assert found.ratio("a", "raw", COMMITTEE, "held_out") == pytest.approx(0.5 / (3 + 0.5))
    assert found.ratio("a", "raw", COMMITTEE, "log_loss") == pytest.approx(0.5 / (6 + 0.5))
    assert found.ratio("a", "raw", COMMITTEE, "progressive") == 1
    assert found.ratio("a", "raw", COMMITTEE, "seconds") == 1


def test_models_are_compared_in_the_orders_of_both():
    every = [record("a", 0, BASE, 0.1), record("a", 1, BASE, 0.9), record("a", 0, BATCH, 0.1)]
    assert results(*every).ratio("a", "raw", BATCH, "held_out") == 1
    assert results(*every).ratio("a", "standardised", BATCH, "held_out") is None


def test_targets_name_the_sets_that_miss_them_and_count_ties():
    found = results(
        *(record("a", 0, model, error) for model, error in ((COMMITTEE, 0.1), (BASE, 0.3), (BATCH, 0.1))),
        *(record("b", 0, model, error) for model, error in ((COMMITTEE, 0.3), (BASE, 0.2), (BATCH, 0.4))),
    )
    met = {target.text: (target.measured, target.met) for target in targets(found, {"dense": 3.5})}
    assert met[f"held-out error relative to {BASE}, worst sets: at most 1.05"] == ("1.462 (b)", False)
    assert met[f"held-out error below that of batch {BATCH}: on at least 80 % of the sets"] == (
        "1 of 2, equal on 1",
        False,
    )
    assert met[f"time relative to {BASE}, dense: at most 3"] == ("3.50", False)
    assert met[f"progressive error relative to {BASE}, worst sets: at most 1.05"][1]


def test_the_best_value_of_a_set_is_bold_and_missing_models_are_left_out():
    found = results(record("a", 0, COMMITTEE, 0.1), record("a", 0, BASE, 0.3))
    text = markdown(found, {}, [COMMITTEE, BASE, BATCH])
    assert "| a | **10.00** | 30.00 |" in text
    assert "LogisticRegression, batch" not in text


def test_records_can_be_dropped_to_be_measured_again(tmp_path):
    path = tmp_path / "results.jsonl"
    drop(path, [], [])
    assert read(path) == {}
    lines = [record("a", 0, BASE, 0.1), record("b", 0, BASE, 0.1), record("a", 0, BATCH, 0.1)]
    path.write_text("".join(map(_line, lines)))
    assert list(read(path).values()) == lines
    drop(path, ["a"], [BASE])
    assert list(read(path).values()) == lines[1:]


def test_the_pages_have_places_for_the_results():
    for page in ("quality.md", "choosing.md"):
        text = (DOCS / page).read_text()
        assert text.index("<!-- quality -->\n") < text.index("<!-- /quality -->")


def test_advice_is_three_points():
    models = (COMMITTEE, BASE, BATCH, "SGDClassifier", "VW", "SCW1-tuned")
    found = results(*(record("a", 0, model, 0.1 * place) for place, model in enumerate(models, 1)))
    assert [line[:2] for line in advice(found).splitlines() if line[0].isdigit()] == ["1.", "2.", "3."]
