"""The full covariance that "auto" keeps for named features, until there are too many of them or of classes."""

import copy
import json
import pickle

import numpy as np
import pytest

import scwlearn
from learner_examples import everything
from scwlearn import Learner, StreamClassifier, merge
from scwlearn.cli.app import run
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows
from scwlearn.learning import growing
from stream_examples import full_state, one_by_one
from use_examples import written

LIMIT = 20


@pytest.fixture(autouse=True)
def _few_features(monkeypatch):
    monkeypatch.setattr(growing, "AUTO_FULL_LIMIT", LIMIT)


def stream(rows=120, classes=2, every=4, seed=0):
    """Draw a table in which a new column begins every few rows, and the labels of its rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2 + rows // every)) * (rng.random((rows, 2 + rows // every)) < 0.6)
    begins = np.maximum(0, np.arange(x.shape[1]) - 2) * every
    x[np.arange(rows)[:, None] < begins] = 0.0
    return x, rng.integers(classes, size=rows) if classes < 4 else np.minimum(np.arange(rows) // 7, classes - 1)


def named(x):
    return NamedRows(Rows(x), [f"column {i}" for i in range(x.shape[1])])


def dicts(x):
    return [*named(x).dicts()]


def first_with_too_many(x):
    """Return the number of the first row after which more than LIMIT columns have been used."""
    return int(np.argmax((np.cumsum(x != 0, axis=0) > 0).sum(axis=1) > LIMIT))


def bits(model):
    """Return what the model has learned, bit for bit."""
    learner, calibration = model._classifier.learner, model._classifier.calibration
    is_committee = model.rule.is_committee
    members = learner.members() if is_committee else [learner]
    probabilities = learner.mixture.state if is_committee else calibration.state
    names = None if learner.config.slots else [*learner.names.items()]
    return [member.model.memory.tolist() for member in members], names, probabilities.tolist(), model.counts


def form(model):
    return model._classifier.covariance_kind


@pytest.mark.parametrize(
    ("rule", "expected"), [("scw1", "diagonal"), ("arow", "diagonal"), ("cw", "diagonal-drop"), ("pa1", "identity")]
)
def test_sigma_becomes_diagonal_before_the_example_with_too_many_names(rule, expected):
    x, y = stream()
    turn, learner = first_with_too_many(x), Learner(rule)
    for number, (example, label) in enumerate(zip(dicts(x), 2 * y - 1, strict=True)):
        learner.learn_one(example, label)
        full = rule != "pa1" and number < turn
        assert learner.model.covariance.name == ("full" if full else expected), number
    assert 20 < turn < 100


def test_other_covariances_do_not_change():
    x, y = stream()
    for name in ("full", "diagonal", "diagonal-drop", "identity"):
        learner = Learner("arow", covariance=name)
        learner.learn_many(dicts(x), 2 * y - 1)
        assert learner.model.covariance.name == name


@pytest.mark.parametrize("how", [{}, {"shared_covariance": True}, {"multi_class": "ovr"}], ids=str)
@pytest.mark.parametrize("rule", ["arow", "nherd"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_diagonal_sigma_keeps_weights_and_what_its_updates_keep(classes, rule, how):
    x, y = stream(60, classes)
    learner = Learner(rule, n_classes=None if classes == 2 else classes, initial_variance=2.0, **how)
    learner.learn_many(dicts(x), 2 * y - 1 if classes == 2 else y)
    full = learner.model
    turned = learner.diagonal(full)
    assert turned.weights().tolist() == full.weights().tolist()
    assert turned.scalars.tolist() == full.scalars.tolist()
    for number in range(full.classes):
        sigma = full.matrix(number)
        expected = 1 / np.linalg.inv(sigma).diagonal() if rule == "arow" else sigma.diagonal()
        np.testing.assert_allclose(turned.variances()[number], expected, rtol=1e-9)


def test_a_precision_without_end_leaves_the_variance_of_sigma():
    learner = Learner("arow")
    learner.learn_many(dicts(stream(30)[0]), np.resize([1, -1], 30))
    with np.errstate(over="ignore"):
        learner.model.memory[0, 3:, 0][1:4] = 1e200
        turned = learner.diagonal(learner.model)
    assert np.isfinite(turned.memory).all()
    assert turned.variances().min() > 0


SETTINGS = {
    "default": {},
    "scale": {"scale": "standard"},
    "shared": {"shared_covariance": True},
    "ovr": {"multi_class": "ovr"},
    "drop": {"max_features": 30},
    "drop at once": {"max_features": 12},
    "slots": {"max_features": 16, "overflow": "hash"},
    "floor": {"variance_floor": 0.1},
    "balanced": {"class_weight": "balanced"},
}


@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("rule", ["scw1", "cw", "auto"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_batches_of_any_size_equal_single_examples(settings, rule, classes):
    how = SETTINGS[settings]
    if rule == "auto" and not how.keys() <= {"class_weight"}:
        pytest.skip("a committee has its own members, and drops no features")
    x, y = stream(classes=classes)
    x[:, 12:] *= settings != "drop at once"
    weights = np.resize([1.0, 0.5, 0.0, 2.0], len(y))
    each = one_by_one(StreamClassifier(rule, **how), dicts(x), y.tolist(), weights)
    if rule != "auto":
        assert (form(each) == "full") == (settings in ("slots", "drop at once"))
    many = StreamClassifier(rule, **how)
    many.learn_many(dicts(x), y, weights)
    assert bits(many) == bits(each)
    for rows in (5, 31, len(y)):
        parts = StreamClassifier(rule, **how)
        for start in range(0, len(y), rows):
            part = slice(start, start + rows)
            parts._classifier.learn(named(x).slice(start, min(start + rows, len(y))), y[part], weights=weights[part])
        assert bits(parts) == bits(each)


def test_an_order_of_the_rows_decides_which_names_are_new():
    x, y = stream()
    order = np.random.default_rng(1).permutation(len(y))
    each, batch = Learner("scw1"), Learner("scw1")
    scores, before = np.empty(len(y)), np.empty(len(y))
    each.learn_many([dicts(x)[i] for i in order], 2 * y[order] - 1)
    batch.learn(named(x), 2 * y - 1, order=order, scores_out=scores)
    assert everything(batch) == everything(each)
    again = Learner("scw1")
    for i in order:
        before[i] = again.learn_one(dicts(x)[i], 2 * y[i] - 1)
    assert scores.tolist() == before.tolist()


def text_of(ending, x, y):
    if ending == "csv":
        lines = [",".join(["label", *(f"column {i}" for i in range(x.shape[1]))])]
        return "\n".join(
            [*lines, *(",".join([f"c{b}", *(repr(v) for v in a)]) for a, b in zip(x.tolist(), y, strict=True))]
        )
    if ending == "jsonl":
        return "\n".join(json.dumps({"label": f"c{b}", **a}) for a, b in zip(dicts(x), y, strict=True))
    lines = (" ".join(f"column_{i}:{a[i]!r}" for i in np.flatnonzero(a)) for a in x.tolist())
    return "\n".join(f"{2 * b - 1} | {line}" for line, b in zip(lines, y, strict=True))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "vw"])
def test_a_file_turns_at_the_same_example(ending, tmp_path):
    x, y = stream()
    examples = dicts(x)
    turn = first_with_too_many(x)
    for rows in (turn, turn + 1, len(y)):
        path = written(tmp_path / f"it.{ending}", text_of(ending, x[:rows], y[:rows]) + "\n")
        label = [] if ending == "vw" else ["--label", "label"]
        assert run(["train", str(path), "-q", "-m", str(tmp_path / "m"), *label]) == 0
        model = scwlearn.load(tmp_path / "m")
        assert form(model) == ("full" if rows == turn else "diagonal")
        twin = one_by_one(StreamClassifier("scw1"), examples[:rows], y[:rows].tolist())
        found, expected = model._classifier.learner.model, twin._classifier.learner.model
        if ending != "vw":
            assert found.memory.tolist() == expected.memory.tolist()
        np.testing.assert_allclose(found.weights(), expected.weights(), rtol=1e-7, atol=1e-9)


def test_a_model_goes_on_after_it_was_saved_copied_or_pickled(tmp_path):
    x, y = stream(classes=3)
    turn, examples, labels = first_with_too_many(x), dicts(x), y.tolist()
    expected = full_state(one_by_one(StreamClassifier("scw1"), examples, labels))
    for cut in (turn - 1, turn, turn + 1):
        model = one_by_one(StreamClassifier("scw1"), examples[:cut], labels[:cut])
        model.save(tmp_path / "m")
        for other in (scwlearn.load(tmp_path / "m"), copy.copy(model), pickle.loads(pickle.dumps(model))):
            assert form(other) == form(model) == ("full" if cut <= turn else "diagonal")
            assert full_state(one_by_one(other, examples[cut:], labels[cut:])) == expected


def test_an_example_that_cannot_be_learned_from_leaves_sigma_full():
    x, y = stream()
    turn, examples, labels = first_with_too_many(x), dicts(x), y.tolist()
    model = one_by_one(StreamClassifier("scw1"), examples[:turn], labels[:turn])
    before, bad = full_state(model), {**examples[turn], "column 0": float("nan")}
    with pytest.raises(ValueError, match="must be finite"):
        model.learn_one(bad, labels[turn])
    assert full_state(model) == before
    model.learn_one(examples[turn], labels[turn], 0.0)
    assert full_state(model) == before
    with pytest.raises(ValueError, match="must be finite"):
        model.learn_many([*examples[turn:], bad], [*labels[turn:], 0])
    assert full_state(model) == before
    rows = x[turn:].copy()
    rows[-1, 0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        model._classifier.learn(named(rows), y[turn:])
    assert full_state(model) == before


def test_own_rules_that_fail_leave_sigma_full():
    x, y = stream()
    turn = first_with_too_many(x)
    calls = []

    def rule(m, v):
        calls.append(m)
        if len(calls) > limit:
            raise RuntimeError("enough")
        return ((1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0, 0)

    limit = turn
    learner = Learner(rule)
    learner.learn(named(x[:turn]), 2 * y[:turn] - 1)
    before, limit = everything(learner), turn + 9
    with pytest.raises(RuntimeError, match="enough"):
        learner.learn(named(x[turn - 5 :]), 2 * y[turn - 5 :] - 1)
    assert everything(learner) == before
    assert learner.model.covariance.name == "full"


@pytest.mark.parametrize("how", [{}, {"multi_class": "ovr"}], ids=str)
def test_the_example_that_brings_a_class_too_many_makes_sigma_diagonal(monkeypatch, how):
    # Room for 16 names, and for the Sigmas of 16 classes.
    monkeypatch.setattr(growing, "AUTO_FULL_ENTRIES", 16 * 16**2)
    x, y = np.random.default_rng(0).normal(size=(60, 8)), np.minimum(np.arange(60) // 2, 20)
    model = StreamClassifier("scw1", **how)
    for example, label in zip(dicts(x), y.tolist(), strict=True):
        model.learn_one(example, label)
        assert form(model) == ("full" if label < 16 else "diagonal")
    for rows in (7, 60):
        parts = StreamClassifier("scw1", **how)
        for start in range(0, 60, rows):
            stop = min(start + rows, 60)
            parts._classifier.learn(named(x).slice(start, stop), y[start:stop])
        assert full_state(parts) == full_state(model)
    declared = StreamClassifier("scw1", classes=range(17), **how)
    declared.learn_one({"a": 1.0}, 3)
    assert form(declared) == "diagonal"
    learner = Learner("scw1", n_classes=15, **how)
    learner.learn_one({"a": 1.0}, 3)
    for count, name in ((1, "full"), (1, "diagonal"), (1, "diagonal")):
        learner.add_classes(count)
        assert learner.model.covariance.name == name
    shared = one_by_one(StreamClassifier("scw1", shared_covariance=True), dicts(x), y.tolist())
    assert form(shared) == "full"


def test_the_members_of_a_committee_become_diagonal_each_in_its_turn(monkeypatch):
    monkeypatch.setattr(growing, "AUTO_FULL_ENTRIES", 8 * 16**2)
    x, y = stream(classes=20)
    members = [{"rule": "arow", "shared_covariance": True}, {"rule": "scw1", "scale": "standard"}, "pa1"]
    each, forms = StreamClassifier("auto", members=members), []
    for example, label in zip(dicts(x), y.tolist(), strict=True):
        each.learn_one(example, label)
        forms.append(tuple(member.model.covariance.name for member in each._classifier.learner.members()))
    many_classes, many_names = int(np.argmax(y == 8)), first_with_too_many(x)
    assert many_classes < many_names
    assert forms.index(("full", "diagonal", "identity")) == many_classes
    assert forms.index(("diagonal", "diagonal", "identity")) == many_names
    for rows in (7, 50, 120):
        parts = StreamClassifier("auto", members=members)
        for start in range(0, 120, rows):
            part = slice(start, min(start + rows, 120))
            parts._classifier.learn(named(x).slice(part.start, part.stop), y[part])
        assert bits(parts) == bits(each)


def test_classes_and_names_together_are_too_many(monkeypatch):
    # Room for 16 names and 16 classes, or for more names and 8 classes.
    monkeypatch.setattr(growing, "AUTO_FULL_ENTRIES", 16 * 16**2)
    for classes, expected in ((8, "full"), (9, "diagonal")):
        model = StreamClassifier("scw1")
        for label in range(classes):
            model.learn_one({"a": 1.0, "b": label}, label)
        assert form(model) == "full"
        model.learn_one({str(i): 1.0 for i in range(16)}, 0)
        assert form(model) == expected


def test_merging_turns_full_ones_if_one_has_turned_or_all_together_have_too_many_names():
    x, y = stream(classes=3)
    turn, examples, labels = first_with_too_many(x), dicts(x), y.tolist()
    few = one_by_one(StreamClassifier("scw1"), examples[:turn], labels[:turn])
    many = one_by_one(StreamClassifier("scw1"), examples[turn - 9 :], labels[turn - 9 :])
    others = one_by_one(
        StreamClassifier("scw1"), [{f"other {k}": v for k, v in e.items()} for e in examples[:turn]], labels[:turn]
    )
    again = one_by_one(StreamClassifier("scw1"), examples[:9], labels[:9])
    assert [form(model) for model in (few, many, others, again)] == ["full", "diagonal", "full", "full"]
    assert form(merge([few, again])) == "full"
    assert form(merge([few, many])) == form(merge([many, few])) == "diagonal"
    assert form(merge([few, others])) == "diagonal"
    assert form(few) == "full"
    # All continue from a full one, and one of them turned.
    further = one_by_one(few.copy(), examples[turn:], labels[turn:])
    beside = one_by_one(few.copy(), examples[:9], labels[:9])
    together = merge([further, beside], prior=few)
    assert form(together) == "diagonal"
    assert together.counts.seen == len(labels) + 9
    assert (
        np.mean([together.predict_one(example) == label for example, label in zip(examples, labels, strict=True)]) > 0.4
    )


def test_numbered_features_that_become_many_make_sigma_diagonal():
    x, y = stream(classes=2)
    learner = Learner("arow")
    learner.learn(x[:, :LIMIT], 2 * y - 1)
    learner.widen(LIMIT)
    assert learner.model.covariance.name == "full"
    weights = learner.model.weights()
    learner.widen(LIMIT + 5)
    assert learner.model.covariance.name == "diagonal"
    assert learner.model.weights()[:, :LIMIT].tolist() == weights.tolist()
    wide = Learner("arow", covariance="full")
    wide.learn(x[:, :LIMIT], 2 * y - 1)
    wide.widen(LIMIT + 5)
    assert wide.model.covariance.name == "full"


@pytest.mark.parametrize("ending", ["json", "safetensors"])
def test_imported_weights_can_still_turn(ending, tmp_path):
    x, y = stream()
    turn = first_with_too_many(x)
    path = written(tmp_path / "it.csv", text_of("csv", x[:turn], y[:turn]) + "\n")
    assert run(["train", str(path), "-q", "-m", str(tmp_path / "m"), "--label", "label"]) == 0
    assert run(["convert", str(tmp_path / "m"), "-o", str(tmp_path / f"w.{ending}")]) == 0
    assert run(["convert", str(tmp_path / f"w.{ending}"), "-m", str(tmp_path / "again")]) == 0
    model = scwlearn.load(tmp_path / "again")
    assert form(model) == "full"
    one_by_one(model, dicts(x[turn:]), [f"c{label}" for label in y[turn:]])
    assert form(model) == "diagonal"
