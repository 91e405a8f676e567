"""Runs: where their points lie, what is counted on the way, and what is held out."""

import io
from itertools import pairwise

import numpy as np
import pytest

from run_examples import libsvm_text
from scwlearn.data.examples import NamedRows, Schema
from scwlearn.data.libsvm import load_libsvm, read_libsvm_examples
from scwlearn.data.options import ReaderOptions
from scwlearn.rules import find_rule
from scwlearn.runs.align import by_number
from scwlearn.runs.config import Choices
from scwlearn.runs.progressive import Course, step_numbers, tidy_labels, training_labels
from scwlearn.runs.record import Record
from scwlearn.runs.train import Plan, Told, Training

TOLD = Told("scwlearn train", "2026-01-01T00:00:00+00:00", ["data"], Schema("libsvm"))


def choices(name="arow", parameters=None, **settings):
    rule = find_rule(name)
    return Choices(rule, rule.check(parameters or {}), settings)


def batches(text, chunk_bytes=2**20):
    options = ReaderOptions(chunk_bytes=chunk_bytes, read_ahead=False)
    return read_libsvm_examples(io.BytesIO(text.encode()), Schema("libsvm"), options)


def course_over(text, chunk_bytes=2**20, **options):
    course = Course(choices(covariance="diagonal").learner(), clock=lambda: 0.0, **options)
    for examples in batches(text, chunk_bytes):
        course.learn(examples)
    course.finish()
    return course


def test_steps_come_at_every_power_of_two_and_ever_further_apart():
    steps = [step for step, _ in zip(step_numbers(), range(120), strict=False)]
    assert steps[:10] == [1, 2, 4, 8, 16, 32, 64, 98, 128, 165]
    assert {2**k for k in range(16)} <= set(steps)
    assert all(b / a < 1.1 for a, b in pairwise(steps[30:]))


def test_points_do_not_depend_on_how_the_data_is_cut():
    text = libsvm_text(700)
    whole, cut = course_over(text), course_over(text, chunk_bytes=3000)
    assert whole.points == cut.points
    assert whole.points[-1].seen == 700
    assert course_over(text, save_every=37).points == whole.points


def test_what_is_counted_is_what_a_learner_counts_row_by_row():
    text = libsvm_text(300)
    x, y = load_libsvm(io.BytesIO(text.encode()))
    learner = choices(covariance="diagonal").learner()
    mistakes = []
    for row, label in zip(x.toarray(), y, strict=True):
        learner.learn([row], np.array([int(label)]))
        mistakes.append(learner.counts.mistakes)
    for point in course_over(text).points:
        assert point.mistakes == mistakes[point.seen - 1]
        assert point.nonzero is None or point.nonzero <= x.shape[1] + 1


@pytest.mark.parametrize("classes", [(-1, 1), (1, 2, 3), ("b", "a")])
def test_confusions_add_up_to_examples_and_mistakes(classes):
    numbers = {name: str(number) for number, name in enumerate(classes)}
    text = libsvm_text(500, classes=tuple(numbers.values()))
    course = course_over(text, probabilities=True)
    known = course.learner.classes
    table = np.array(course.watcher.confusion(known))
    assert table.sum() == 500
    assert table.sum() - np.trace(table) == course.counts.mistakes
    bins = course.watcher.reliability()
    # Nothing is said of the first example, before there are two classes.
    assert 490 < sum(part.count for part in bins) <= 500
    assert all(0 <= part.right <= part.count and 0 <= part.probability <= 1 for part in bins)
    assert 0 < course.watcher.log_loss < np.log(len(classes)) + 0.5


def test_too_many_classes_have_no_table_of_confusions():
    text = libsvm_text(400, classes=tuple(range(150)), noise=1.0)
    course = course_over(text)
    assert course.watcher.confusion(course.learner.classes) is None


def test_a_model_grows_with_the_widest_row():
    text = "1 1:1\n-1 2:1\n" + "1 9:1\n" * 3
    course = course_over(text, chunk_bytes=8)
    assert course.learner.learner.n_features == 9
    assert course.counts.seen == 5


def test_held_out_examples_are_not_learned_from():
    training = Training(choices(covariance="diagonal"), Plan(epochs=2, holdout=0.25, probabilities=True))
    training.run(lambda epoch: batches(libsvm_text(400), chunk_bytes=1000))
    assert training.begun.counts.seen == 600
    assert sum(len(examples) for examples in training.held_out) == 100
    judged = training.judge()
    assert judged["count"] == 100
    assert 0 < judged["error"] < 0.4
    assert judged["log_loss"] > 0
    lines = np.concatenate([examples.lines for examples in training.held_out])
    assert lines.tolist() == list(range(4, 401, 4))


def test_a_run_leaves_a_record_that_survives_json():
    training = Training(choices(covariance="diagonal"), Plan(probabilities=True))
    training.run(lambda epoch: batches(libsvm_text(200)))
    record = training.record(TOLD)
    assert record.classes == [-1, 1]
    assert record.n_features == 12
    assert record.settings["covariance"] == "diagonal"
    assert [*record.top_weights] == ["1"]
    assert {weight.name for weight in record.top_weights["1"]} == {str(i) for i in range(1, 13)}
    assert Record.from_json(record.to_json()) == record


def test_what_is_no_record_is_refused():
    with pytest.raises(ValueError, match="no record of a run"):
        Record.from_json({"command": "x"})


def test_bounded_models_know_numbered_features_by_their_numbers():
    examples = next(iter(batches("1 1:1 5000000000:2\n-1 3:1\n")))
    named = by_number(examples).x
    assert isinstance(named, NamedRows)
    assert named.names == [0, 2, 4999999999]
    training = Training(choices(max_features=8, overflow="hash"), Plan())
    training.run(lambda epoch: [examples])
    assert training.begun.counts.seen == 2
    assert training.begun.learner.n_features == 8


def test_weights_of_classes_take_the_kind_of_the_labels():
    training = Training(choices(class_weight={"-1": 2.0, "1": 0.5}), Plan())
    training.run(lambda epoch: batches(libsvm_text(50)))
    assert training.begun.class_weights.given == {-1: 2.0, 1: 0.5}
    with pytest.raises(ValueError, match="the labels are numbers; there is none for the class weight of 'spam'"):
        Training(choices(class_weight={"spam": 2.0}), Plan()).run(lambda epoch: batches("1 1:1\n"))


def test_labels_are_as_one_writes_them():
    assert tidy_labels(np.array([1.0, -1.0])).tolist() == [1, -1]
    assert tidy_labels(np.array([1.5, 1.0])).tolist() == [1.5, 1.0]
    assert tidy_labels(np.array(["a"])).tolist() == ["a"]


def test_labels_that_would_be_taken_for_one_another_are_refused():
    (examples,) = batches("9007199254740992 1:1\n9007199254740994 1:1\n")
    with pytest.raises(
        ValueError, match=r"line 2: a label that is a number is at most 2\^53 .* found 9007199254740994"
    ):
        training_labels(examples)
