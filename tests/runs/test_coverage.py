"""The share of the features in data that a model knows."""

import io

import numpy as np
import pytest

import scwlearn
from run_examples import vw_text
from scwlearn.data.reading import read_batches
from scwlearn.rules import find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.coverage import Coverage, CoverageCounter
from scwlearn.runs.predict import predict
from scwlearn.runs.train import TrainingRun
from scwlearn.runs.trained_model import TrainedModel


def model_of(text, **settings):
    rule = find_rule("arow")
    run = TrainingRun(ModelConfig(rule, rule.check({}), settings))
    schema, batches = read_batches([io.BytesIO(text.encode())])
    run.run(lambda epoch: batches)
    return TrainedModel(run.classifier, schema)


def covered(model, *texts):
    counter = CoverageCounter(model)
    for text in texts:
        for batch in read_batches([io.BytesIO(text.encode())], model.schema)[1]:
            with_counts = predict(model, batch, counter=counter)
            without = predict(model, batch)
            np.testing.assert_array_equal(with_counts.scores, without.scores)
    return counter.result()


MODEL = model_of("1 | a b c\n-1 | d e f\n")


def test_values_are_counted_over_all_batches():
    assert covered(MODEL, "1 | a b x\n", "1 | c\n-1 | d e y z\n") == Coverage(8, 5)
    assert covered(MODEL, "1 | a x y z\n", "1 | b y z\n") == Coverage(7, 2, "x", "a")


def test_without_features_nothing_is_unknown():
    assert covered(MODEL, "1 |\n") == Coverage(0, 0)


def test_zeros_are_not_unknown():
    assert covered(MODEL, "1 | a:0 b:0 c:0 d:1\n") == Coverage(1, 1)


def test_a_frequent_name_counts_more_than_a_rare_one():
    text = "1 | a b c\n" * 50 + "1 | p q r s t u v w\n"
    assert covered(MODEL, text) == Coverage(158, 150)


@pytest.mark.parametrize("overflow", ["hash", "drop"])
def test_bounded_models_know_what_they_learned_from(overflow):
    model = model_of(vw_text(count=200), max_features=2**12, overflow=overflow)
    found = covered(model, vw_text(count=100, seed=5))
    assert found.known == found.found > 200
    other = covered(model, vw_text(count=100, seed=5).replace("|x ", "|other "))
    assert other.known < 0.1 * other.found
    assert other.unknown_feature.startswith("other^")
    assert other.known_feature.startswith("x^")


@pytest.mark.parametrize("settings", [{"overflow": "hash"}, {"overflow": "drop"}, {}], ids=str)
@pytest.mark.parametrize("slots", [1, 4, 16, 64, 1024])
def test_a_model_knows_all_of_its_training_data(settings, slots):
    text = "".join(f"{i % 2} | " + " ".join(f"w{i * j % 23}" for j in range(1, 12)) + "\n" for i in range(40))
    model = model_of(
        text, **({"max_features": max(slots, 30 * ("drop" in settings.values())), **settings} if settings else {})
    )
    found = covered(model, text)
    assert found.known == found.found > 0
    assert found.unknown_feature is None


def test_hashed_names_without_a_weight_are_unknown():
    model = model_of("1 | a b c\n-1 | d e f\n", max_features=2**20, overflow="hash")
    assert covered(model, "1 | a b c x\n") == Coverage(4, 3)
    found = covered(model, "1 | a x y\n", "1 | b\n")
    assert (found.found, found.known) == (4, 2)


def test_columns_of_a_data_frame_are_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": [1.0, -1.0, 2.0], "weight": [0.5, 1.0, 1.5]})
    scwlearn.save(scwlearn.SCW1().fit(frame, ["a", "b", "a"]), tmp_path / "a.model")
    model = TrainedModel.read(tmp_path / "a.model")
    assert covered(model, "size,Weight,label\n1,2,a\n3,,b\n") == Coverage(3, 2)
    assert covered(model, "Size,Weight,label\n1,2,a\n3,,b\n") == Coverage(3, 0, "Size", "size")
