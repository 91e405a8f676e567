"""Models that cannot be saved, and what is saved with a model."""

import datetime
import enum
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import scwlearn
from saved_examples import everything, rows_of, saved
from scwlearn.cli.app import run
from scwlearn.files import SavedModel, read, write
from scwlearn.kernels import KernelLearner
from scwlearn.rules import HOLD, Parameter, Step, declare, rule

X, NUMBERS = rows_of(2)


def half_way(m, v):
    return 0.5, 0.0


def linear(x, z):
    return x @ z.T


class OwnEstimator(type(scwlearn.SCW1())):
    pass


def stream_of(examples, labels, **how):
    model = scwlearn.StreamClassifier("arow", **how)
    model.learn_many(examples, labels)
    return model


NO_CODE = "which cannot be saved: model files hold no code"
UNSAVABLE = {
    "RandomState": (
        lambda: scwlearn.SCW1(random_state=np.random.RandomState(0)),
        "random_state is RandomState(MT19937) at 0x",
    ),
    "kernel": (
        lambda: scwlearn.KernelSCW1(kernel=linear),
        "kernel is a function, which cannot be saved: model files hold no code",
    ),
    "fitted kernel": (
        lambda: scwlearn.KernelSCW1(kernel=linear).fit(X, NUMBERS),
        f"kernel is a function, {NO_CODE}",
    ),
    "kernel of a learner": (
        lambda: KernelLearner("scw1", kernel=linear),
        f"the kernel is a function, {NO_CODE}; use a kernel with a name",
    ),
    "rule": (
        lambda: scwlearn.Learner(half_way),
        f"the rule is a function, {NO_CODE}; declare it with scwlearn.rules.rule",
    ),
    "tuples as names": (
        lambda: stream_of([{(1, 2): 1.0}], ["a"]),
        "feature names of type tuple cannot be saved; use strings or integers",
    ),
    "weights of such labels": (
        lambda: scwlearn.SCW1(class_weight={datetime.date(2026, 1, 1): 2.0}),
        "class_weight is {datetime.date(2026, 1, 1): 2.0}, which cannot be saved",
    ),
    "a fraction that is no float": (
        lambda: scwlearn.SCW1(class_weight={Fraction(1, 3): 2.0}),
        "class_weight is {Fraction(1, 3): 2.0}, which cannot be saved",
    ),
    "array": (
        lambda: scwlearn.SCW1(C=np.ones(3)),
        "C is array([1., 1., 1.]), which cannot be saved; use a number, string",
    ),
    "subclass": (
        OwnEstimator,
        f"{__name__}.OwnEstimator cannot be saved; only scwlearn's own estimators, streams, learners and River classes "
        "can, not their subclasses",
    ),
    "tuned": (
        lambda: scwlearn.TunedClassifier(scwlearn.AROW()).fit([[1.0], [2.0]], [0, 1]),
        "a TunedClassifier cannot be saved; save its best_estimator_",
    ),
    "something else": (lambda: {"a": 1}, "builtins.dict cannot be saved; only scwlearn's own"),
}


@pytest.mark.parametrize("what", UNSAVABLE)
def test_models_that_cannot_be_saved(what, tmp_path):
    make, message = UNSAVABLE[what]
    model = make()
    with pytest.raises(TypeError) as error:
        scwlearn.save(model, tmp_path / "none.model")
    assert str(error.value).startswith(message)
    assert not list(tmp_path.iterdir())


class Side(str, enum.Enum):  # noqa: UP042 (whose str() is another text)
    """Labels that are strings."""

    UP = "up"
    DOWN = "down"


class Float(float):
    """Floats of a class of their own."""


class Digit(enum.IntEnum):
    """Labels that are integers."""

    ZERO = 0
    ONE = 1


LABELS = [(Side.DOWN, Side.UP), (Digit.ZERO, Digit.ONE), (np.str_("down"), np.str_("up")), (Fraction(0), np.int8(1))]
NUMBERS_OF_ANY_CLASS = [Fraction(1, 3), np.float32(0.5), Digit.ONE, np.int64(2), Float(0.25)]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("number", NUMBERS_OF_ANY_CLASS)
def test_settings_by_label_are_saved_as_plain_values(labels, number, tmp_path):
    low, high = labels
    y = [high if up else low for up in X[:, 0] > 0] if type(low) is type(high) else X[:, 0] > 0
    settings = {"class_weight": {low: number, high: 2}, "costs": {low: {high: number}}, "C": number}
    path = tmp_path / "a.model"
    for model in (scwlearn.SCW1(**settings), scwlearn.SCW1(random_state=0, **settings).fit(X, y)):
        scwlearn.save(model, path)
        again = scwlearn.load(path)
        assert again.get_params()["C"] == float(number)
        assert again.class_weight == {low: float(number), high: 2}
        assert again.costs == {low: {high: float(number)}}
        assert {*map(type, again.class_weight)} <= {str, int, float}
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)
    stream = scwlearn.StreamClassifier("scw1", **settings)
    stream.learn_many([{"a": value} for value in X[:, 0].tolist()], y)
    scwlearn.save(stream, path)
    assert scwlearn.load(path).predict_one({"a": 1.0}) == stream.predict_one({"a": 1.0})


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("number", NUMBERS_OF_ANY_CLASS)
def test_a_model_is_that_of_its_file_whatever_the_classes_of_its_settings(labels, number, tmp_path):
    low, high = labels
    y = [high if up else low for up in X[:, 0] > 0] if type(low) is type(high) else X[:, 0] > 0
    rows = [{"a": value} for value in X[:, 0].tolist()]
    by_label = {"class_weight": {low: number, high: 2}, "costs": {low: {high: number}}}
    stream = scwlearn.StreamClassifier("scw1", C=number, **by_label)
    stream.learn_many(rows, y)
    members = ("pa1", {"rule": "arow", "r": number})
    estimators = [
        scwlearn.SCW1(C=number, **by_label),
        scwlearn.AutoClassifier(members=members, **by_label),
        scwlearn.KernelSCW1(gamma=number, **by_label),
    ]
    for model in [stream, *(each.fit(X, y) for each in estimators)]:
        scwlearn.save(model, tmp_path / "a.model")
        again = scwlearn.load(tmp_path / "a.model")
        if not isinstance(model, scwlearn.KernelSCW1):
            scwlearn.merge([model, again])
        if model is not stream:
            again.set_params(**model.get_params()).partial_fit(X, y)
            model.set_params(**scwlearn.load(tmp_path / "a.model").get_params()).partial_fit(X, y)
            assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_class_weights_of_any_number_are_saved(tmp_path):
    model = scwlearn.SCW1(class_weight={0: Decimal("0.5"), 1: np.array(2.0)}).fit(X, NUMBERS)
    scwlearn.save(model, tmp_path / "a.model")
    assert scwlearn.load(tmp_path / "a.model").class_weight == {0: 0.5, 1: 2.0}


def test_values_that_cannot_be_saved(tmp_path):
    path = tmp_path / "none.model"
    with pytest.raises(ValueError, match="this model cannot be saved: Out of range float values"):
        scwlearn.save(scwlearn.SCW1(C=np.inf), path)
    with pytest.raises(ValueError, match="this model cannot be saved: a string holds two separate surrogates in a row"):
        scwlearn.save(stream_of([{"a": 1}], ["\ud83d\ude00"]), path)
    with pytest.raises(TypeError, match="this model cannot be saved: Object of type set is not JSON serializable"):
        scwlearn.save(scwlearn.SCW1(), path, notes={"a": {1}})
    assert not list(tmp_path.iterdir())


def declare_own(grid=(0.5,)):
    @rule(
        title="Half PA, to be saved",
        estimator="HalfPASaved",
        order=1,
        parameters=(Parameter("share", 0.5, "How much of the step to take.", high=2.0, grid=grid),),
        large_margin=True,
        non_separable=False,
        cite="Author 2026. An example",
    )
    def half_pa_saved(m, v, share):
        return Step(alpha=share * (1 - m) / v) if m < 1 else HOLD

    return half_pa_saved


@pytest.mark.usefixtures("registry")
def test_a_declared_rule_is_saved_by_its_name(tmp_path):
    own = declare_own()
    models = [
        scwlearn.Learner(own, share=0.75),
        scwlearn.HalfPASaved(share=0.25).fit(X, NUMBERS),
        scwlearn.KernelHalfPASaved().fit(X, NUMBERS),
        scwlearn.StreamClassifier(own),
    ]
    for i, model in enumerate(models):
        assert everything(saved(model, tmp_path)) == everything(model)
        scwlearn.save(model, tmp_path / f"{i}.model")
    del declare._declared[own.name]
    for i in range(len(models)):
        with pytest.raises(ValueError, match="unknown algorithm 'half_pa_saved'") as error:
            scwlearn.load(tmp_path / f"{i}.model")
        assert "declare a rule of your own before loading its models" in str(error.value)
    with pytest.raises(ValueError, match="the rule 'half_pa_saved' is no longer declared"):
        scwlearn.save(models[0], tmp_path / "again.model")
    declare_own()
    assert scwlearn.load(tmp_path / "1.model").share == 0.25


@pytest.mark.usefixtures("registry")
def test_an_unfitted_estimator_needs_its_rule(tmp_path):
    own = declare_own()
    scwlearn.save(scwlearn.HalfPASaved(), tmp_path / "own.model")
    del declare._declared[own.name]
    with pytest.raises(ValueError, match="unknown class 'HalfPASaved'; declare a rule of your own before loading"):
        scwlearn.load(tmp_path / "own.model")


def test_notes_are_saved(tmp_path):
    path = tmp_path / "noted.model"
    notes = {"schema": {"format": "csv", "ignore": ["a"]}, "text": "ä\n\ud800", "numbers": [1, 2.5, 10**30, None, True]}
    scwlearn.save(scwlearn.StreamClassifier("arow"), path, notes=notes)
    stored = read(path)
    assert stored.notes == notes
    assert stored.library == scwlearn.__version__
    write(stored, path)
    assert read(path).notes == notes


def test_save_methods(tmp_path):
    from scwlearn.river import AROW

    for model in (scwlearn.SCW1(), scwlearn.KernelSCW1(), scwlearn.StreamClassifier("arow"), AROW(r=2.0)):
        model.save(str(tmp_path / "some.model"))
        again = scwlearn.load(str(tmp_path / "some.model"))
        assert type(again) is type(model)
        assert everything(again) == everything(model)


@pytest.mark.parametrize(
    "model", [scwlearn.SCW1(scale="rms", class_weight="balanced"), scwlearn.PA1(multi_class="ovr")]
)
def test_a_learner_is_saved_like_its_estimator(model, tmp_path):
    model.set_params(n_epochs=2, shuffle=True, random_state=4).fit(X, NUMBERS)
    of_fit = {"n_epochs": 2, "shuffle": True, "random_state": 4}
    write(SavedModel.from_classifier(model._classifier, **of_fit), tmp_path / "learner.model")
    scwlearn.save(model, tmp_path / "estimator.model")
    assert (tmp_path / "learner.model").read_bytes() == (tmp_path / "estimator.model").read_bytes()
    assert SavedModel.from_model(model).class_name == type(model).__name__


def test_a_full_disk_keeps_the_old_model(tmp_path):
    path = tmp_path / "some.model"
    scwlearn.save(stream_of([{"a": 1}], ["x"]), path)
    before = path.read_bytes()
    code = f"""
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
import scwlearn
model = scwlearn.load({str(path)!r})
model.learn_many([{{f"f{{i}}": 1.0}} for i in range(1000)], ["y"] * 1000)
setrlimit(RLIMIT_FSIZE, (10_000, getrlimit(RLIMIT_FSIZE)[1]))
try:
    model.save({str(path)!r})
except OSError as error:
    print(error)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == f"[Errno 27] File too large: {str(path)!r}\n"
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == before


def test_equal_models_give_identical_files(tmp_path):
    for name in ("one", "two"):
        scwlearn.AROW(random_state=0).fit(X, NUMBERS).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_notes_may_have_any_names(tmp_path, capsys):
    data, path = tmp_path / "mail.vw", str(tmp_path / "mail.model")
    data.write_text("spam | offer\nham | you\n")
    model = scwlearn.StreamClassifier("scw1")
    model.learn_many([{"offer": 1}, {"you": 1}], ["spam", "ham"])
    own = ("data", "run", "schema", "record", "made", "batch", "notes", "by label", "spark_batch")
    for value in ("mails of May", 1, None, [], {"format": [], "command": 3}):
        scwlearn.save(model, path, notes=dict.fromkeys(own, value))
        assert read(path).notes == dict.fromkeys(own, value)
        for command in ("inspect", "predict", "evaluate", "merge", "convert", "train"):
            rest = {
                "inspect": [path],
                "merge": [path, path, "-m", str(tmp_path / "merged.model")],
                "convert": [path, "-o", str(tmp_path / "weights.json")],
                "train": [str(data), "--resume", path, "-m", path],
            }.get(command, [path, str(data)])
            assert run([command, *rest]) == 0, capsys.readouterr().err
        assert read(path).record.classes == ["ham", "spam"]


def test_notes_that_cannot_be_read_back_are_refused(tmp_path):
    deep = []
    for _ in range(150):
        deep = [deep]
    very_deep = deep
    for _ in range(100_000):
        very_deep = [very_deep]
    for value in (deep, very_deep, float("nan"), {1}, 10**5000):
        with pytest.raises((TypeError, ValueError), match="this model cannot be saved: "):
            scwlearn.save(scwlearn.StreamClassifier("scw1"), tmp_path / "none.model", notes={"a": value})
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("path", [b"x.model", 1, True, None, ["x"]], ids=str)
def test_a_path_that_is_no_string_is_refused(path):
    model, message = scwlearn.StreamClassifier("arow"), "^a path must be a string or a Path, got "
    for call in (partial(model.save, path), partial(scwlearn.load, path), partial(scwlearn.save, model, path)):
        with pytest.raises(TypeError, match=message):
            call()


@pytest.mark.parametrize("notes", ["ab", ["ab"], {1: "x"}, {None: 1}, 3], ids=str)
def test_notes_are_a_dict_of_strings(tmp_path, notes):
    with pytest.raises(TypeError, match=r"^notes must be a dict whose keys are strings, got "):
        scwlearn.save(scwlearn.StreamClassifier("arow"), tmp_path / "m", notes=notes)
    assert not [*tmp_path.iterdir()]
