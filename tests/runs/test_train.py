"""Training runs: where the points of the curve lie, what is counted, and what is held out."""

import io
from dataclasses import replace

import numpy as np
import pytest

from run_examples import libsvm_text
from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.formats.libsvm import load_libsvm, read_libsvm
from scwlearn.data.options import ReaderOptions
from scwlearn.data.rows import Rows
from scwlearn.data.run_record import Baseline, Record
from scwlearn.data.schema import Schema
from scwlearn.rules import find_rule
from scwlearn.runs.batches import numbers_as_names
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.evaluate import evaluate
from scwlearn.runs.train import TrainingRun
from scwlearn.runs.trained_model import TrainedModel


def config(name="arow", **settings):
    rule = find_rule(name)
    return ModelConfig(rule, rule.check({}), settings)


def batches(text, chunk_bytes=2**20):
    options = ReaderOptions(chunk_bytes=chunk_bytes, read_ahead=False)
    return read_libsvm(io.BytesIO(text.encode()), options)


def run_over(text, chunk_bytes=2**20, settings=None, **options):
    run = TrainingRun(config(**settings or {"covariance": "diagonal"}), clock=lambda: 0.0, **options)
    run.run(lambda epoch: batches(text, chunk_bytes))
    return run


def test_points_do_not_depend_on_batches_or_saving():
    text = libsvm_text(700)
    whole, cut = run_over(text), run_over(text, chunk_bytes=3000)
    assert whole.points == cut.points
    assert whole.points[-1].seen == 700
    saved = []
    assert run_over(text, save_every=37, on_save=lambda: saved.append(None)).points == whole.points
    assert len(saved) == 700 // 37


def test_counts_are_those_of_learning_row_by_row():
    text = libsvm_text(300)
    x, y = load_libsvm(io.BytesIO(text.encode()))
    learner = config(covariance="diagonal").classifier()
    mistakes = []
    for row, label in zip(x.toarray(), y, strict=True):
        learner.learn([row], np.array([int(label)]))
        mistakes.append(learner.counts.mistakes)
    for point in run_over(text).points:
        assert point.mistakes == mistakes[point.seen - 1]
        assert point.nonzero is None or point.nonzero <= x.shape[1] + 1


@pytest.mark.parametrize("classes", [(-1, 1), (1, 2, 3), ("b", "a")])
def test_the_confusion_matrix_adds_up_to_examples_and_mistakes(classes):
    numbers = {name: str(number) for number, name in enumerate(classes)}
    run = run_over(libsvm_text(500, classes=tuple(numbers.values())), probabilities=True)
    table = np.array(run.metrics.confusion(run.classifier.classes))
    assert table.sum() == 500
    assert table.sum() - np.trace(table) == run.counts.mistakes
    bins = run.metrics.reliability()
    # The first example of each class has no probability.
    assert 490 < sum(part.count for part in bins) <= 500
    assert all(0 <= part.right <= part.count and 0 <= part.probability <= 1 for part in bins)
    assert 0 < run.log_loss < np.log(len(classes)) + 0.5


def test_many_classes_have_no_confusion_matrix():
    run = run_over(libsvm_text(400, classes=tuple(range(150)), noise=1.0))
    assert run.metrics.confusion(run.classifier.classes) is None


def test_a_model_grows_with_the_widest_row():
    run = run_over("1 1:1\n-1 2:1\n" + "1 9:1\n" * 3, chunk_bytes=8)
    assert run.classifier.learner.n_features == 9
    assert run.counts.seen == 5


def test_held_out_examples_are_not_learned_from():
    run = run_over(libsvm_text(400), chunk_bytes=1000, epochs=2, holdout=0.25, probabilities=True)
    assert run.classifier.counts.seen == 600
    metrics = run.holdout_metrics()
    assert metrics["count"] == 100
    assert 0 < metrics["error"] < 0.4
    assert metrics["log_loss"] > 0
    lines = np.concatenate([examples.lines for examples in run.held_out])
    assert lines.tolist() == list(range(4, 401, 4))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("settings", [{"covariance": "diagonal"}, {"covariance": "full"}, {"name": "auto"}], ids=str)
def test_the_log_loss_is_of_probabilities_just_before_each_example_however_the_data_are_cut(classes, settings):
    text = libsvm_text(500, classes=range(classes))
    losses = [
        run_over(text, settings=settings, probabilities=True, **cut).log_loss
        for cut in ({}, {"save_every": 1}, {"save_every": 7}, {"chunk_bytes": 900})
    ]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-12)
    if "name" in settings:
        # A running scale has seen each example before it is scored.
        return
    model = config(**settings).classifier()
    expected = []
    for batch in batches(text):
        for i, label in enumerate(batch.labels.tolist()):
            row = batch.slice(i, i + 1).x
            model.widen(row.width)
            if len(model.classes) > 1 and label in model.classes.values:
                chances = model.probabilities(row.widened(model.learner.n_features))[0]
                expected.append(-np.log(chances[model.classes.values_in_order.index(label)]))
            model.learn(row.widened(model.learner.n_features or row.width), np.array([label]))
    np.testing.assert_allclose(losses, np.mean(expected), rtol=1e-9)


@pytest.mark.parametrize("buffer", [0, 30, 1000])
def test_the_same_examples_are_held_out_of_every_epoch_however_the_others_are_shuffled(buffer):
    # These labels can only be learned by heart: each example has a feature of its own.
    coins = np.random.default_rng(0).choice([-1, 1], 200)
    text = "".join(f"{coin} {i + 2}:1\n" for i, coin in enumerate(coins))
    run = run_over(text, chunk_bytes=300, epochs=3, holdout=0.25, shuffle_buffer=buffer, seed=5)
    assert np.concatenate([examples.lines for examples in run.held_out]).tolist() == [*range(4, 201, 4)]
    held_out = np.arange(3, 200, 4)
    weights = run.classifier.learner.model.weights()[0]
    assert (weights[held_out + 1] == 0).all()
    assert (weights[np.setdiff1d(np.arange(200), held_out) + 1] != 0).all()
    assert run.classifier.counts.seen == 450


def test_holdout_figures_are_those_of_evaluate_with_weights():
    rng = np.random.default_rng(1)
    x, weights = rng.normal(size=400), rng.choice([0.0, 0.5, 2.0], 400)
    y = np.where((x > 0) ^ (rng.random(400) < 0.2), 1.0, -1.0)
    whole = Batch(Rows.from_csr(x, np.zeros(400, np.int32), np.arange(401), 1), y, weights, np.arange(400), "data")
    run = TrainingRun(config(), holdout=0.25, probabilities=True)
    run.run(lambda epoch: [whole])
    held_out = np.flatnonzero(weights)[3::4]
    results = evaluate(TrainedModel(run.classifier), [whole.take(held_out)])
    figures = run.holdout_metrics()
    assert figures["count"] == len(held_out)
    assert figures["error"] == pytest.approx(1 - results.accuracy)
    assert figures["log_loss"] == pytest.approx(results.log_loss)
    assert run.holdout_baseline() == results.baseline


def test_held_out_labels_that_were_never_learned_count_as_mistakes():
    run = run_over("1 1:1\n2 2:1\n1 1:1\n3 2:1\n", holdout=0.25, probabilities=True)
    assert run.holdout_metrics() == {"count": 1, "error": 1.0}


def record_of(run):
    about = {"command": "scwlearn train", "began": "2026-01-01T00:00:00+00:00", "sources": ["data"]}
    return run.trained_model(Schema("libsvm"), **about).record


def test_each_pass_has_its_own_counts():
    text = libsvm_text(300)
    run = run_over(text, epochs=3, holdout=0.1)
    assert [each.seen for each in run.passes] == [270, 270, 270]
    assert sum(each.mistakes for each in run.passes) == run.counts.mistakes
    assert sum(each.updates for each in run.passes) == run.counts.updates
    assert run.passes[0].mistakes == run_over(text, holdout=0.1).counts.mistakes
    assert record_of(run).passes == run.passes


def test_the_baseline_always_predicts_the_most_frequent_label():
    lines = ["7 1:1\n"] * 60 + ["3 1:1\n"] * 30 + ["5 1:1\n"] * 10
    record = record_of(run_over("".join(lines)))
    assert record.baseline == Baseline(7, 0.4)
    assert record.holdout_baseline is None
    # Every second example, from the second on, is held out.
    held_out = run_over("".join(["1 1:1\n2 1:1\n"] * 30 + ["1 1:1\n3 1:1\n"] * 10), holdout=0.5, epochs=2)
    assert record_of(held_out).baseline == Baseline(1, 0.0)
    assert record_of(held_out).holdout_baseline == Baseline(2, 0.25)


def test_examples_of_weight_0_do_not_count_in_the_baseline():
    (examples,) = batches("1 1:1\n1 1:1\n-1 2:1\n-1 2:1\n-1 2:1\n")
    run = TrainingRun(config())
    run.run(lambda epoch: [replace(examples, weights=np.array([1.0, 1.0, 2.0, 0.0, 0.0]))])
    assert run.counts.seen == 3
    assert record_of(run).baseline == Baseline(1, 1 / 3)


def test_a_record_survives_json():
    run = run_over(libsvm_text(200), probabilities=True, epochs=2, holdout=0.1)
    record = record_of(run)
    assert record.classes == [-1, 1]
    assert record.n_features == 12
    assert record.settings["covariance"] == "diagonal"
    assert [*record.top_weights] == ["1"]
    assert {weight.name for weight in record.top_weights["1"]} == {str(i) for i in range(1, 13)}
    assert Record.from_json(record.to_json()) == record


def test_bounded_models_name_numbered_features_by_their_numbers():
    examples = next(iter(batches("1 1:1 5000000000:2\n-1 3:1\n")))
    named = numbers_as_names(examples).x
    assert isinstance(named, NamedRows)
    assert named.names == [0, 2, 4999999999]
    run = TrainingRun(config(max_features=8, overflow="hash"))
    run.run(lambda epoch: [examples])
    assert run.classifier.counts.seen == 2
    assert run.classifier.learner.n_features == 8


def test_class_weights_take_the_type_of_the_labels():
    run = run_over(libsvm_text(50), settings={"class_weight": {"-1": 2.0, "1": 0.5, "7": 3.0}})
    assert run.classifier.class_weights.given == {-1: 2.0, 1: 0.5, 7: 3.0}
    with pytest.raises(ValueError, match="class weight for 'spam': the labels in the data are numbers"):
        run_over("1 1:1\n", settings={"class_weight": {"spam": 2.0}})


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_training_begins_behind_many_examples_of_weight_0(covariance):
    run = TrainingRun(config(covariance=covariance))
    batch = next(iter(batches(libsvm_text(2000))))
    run.run(lambda epoch: [replace(batch, weights=np.zeros(len(batch))), batch])
    assert run.classifier.counts.seen == len(batch)


def test_warnings_leave_out_examples_of_weight_0():
    (batch,) = batches("1 1:1\n-1 1:2\n" * 100 + "1 1:1 2:1000000\n" * 100)
    run = TrainingRun(config(covariance="diagonal"), save_every=37, on_save=lambda: None)
    run.run(lambda epoch: [replace(batch, weights=np.repeat([1.0, 0.0], [200, 100]))])
    findings = run.classifier.findings
    assert findings is not None
    assert not findings.messages()
