"""Bad input to estimators raises an error that names the problem and what is allowed, and changes nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import scwlearn
from helpers import state
from scwlearn import SCW1, AutoClassifier
from scwlearn._util.memory import NotEnoughMemory
from scwlearn.model.full import Full
from scwlearn.rules import all_rules

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.where(X[:, 0] > 0, 1, 0)


def with_value(value, *, at=(19, 1)):
    x = X.copy()
    x[at] = value
    return x


BAD_EXAMPLES = {
    "masked": (
        np.ma.array(X, mask=X < -1),
        Y,
        ValueError,
        "X is a masked array with masked values; fill them in first",
    ),
    "integer": (
        np.array([[1, 2, 10**400]] * 20, object),
        Y,
        ValueError,
        "X holds a number that is too large; values must",
    ),
    "nan": (with_value(np.nan), Y, ValueError, r"NaN: X\[19, 1\] = nan; values must be finite"),
    "infinity": (with_value(-np.inf), Y, ValueError, r"infinity: X\[19, 1\] = -inf"),
    "beyond 1e150": (with_value(2e150), Y, ValueError, r"too large: X\[19, 1\] = 2e\+150; .* at most 1e\+150"),
    "sparse nan": (sparse.csr_array(with_value(np.nan)), Y, ValueError, r"NaN: X\[19, 1\]"),
    "features": (X[:, :2], Y, ValueError, "2 features.*expecting 3"),
    "lengths": (X, Y[:-1], ValueError, r"\[20, 19\]"),
    "one dimension": (X[0], Y[:1], ValueError, "2D array"),
    "words": ([["a", "b", "c"]], [0], ValueError, "numeric"),
    "complex": (X + 1j, Y, ValueError, "[Cc]omplex"),
    "other type": (X, np.where(Y, "a", "b"), TypeError, r"labels of type str, but the classes are \[0, 1\]"),
    "mixed types": (X[:2], [1, "a"], TypeError, r"mixed types: 1 \(number\), 'a' \(str\)"),
    "missing labels": (X[:2], [1, None], TypeError, "mixed types"),
    "continuous": (X, X[:, 0], ValueError, "continuous"),
    "no labels": (X, None, ValueError, "requires y"),
    "no rows": (X[:0], Y[:0], ValueError, "0 sample"),
}


@pytest.mark.parametrize(("x", "y", "error", "message"), BAD_EXAMPLES.values(), ids=BAD_EXAMPLES)
def test_partial_fit_refuses_bad_examples_and_changes_nothing(x, y, error, message):
    model = SCW1().fit(X, Y)
    before = state(model)
    with pytest.raises(error, match=message):
        model.partial_fit(x, y)
    assert state(model) == before


@pytest.mark.parametrize(("x", "y", "error", "message"), BAD_EXAMPLES.values(), ids=BAD_EXAMPLES)
def test_a_failed_first_partial_fit_leaves_the_estimator_new(x, y, error, message):
    model = SCW1()
    if message.startswith("2 features"):
        pytest.skip("the first call decides how many features there are")
    with pytest.raises(error, match=message):
        model.partial_fit(x, y, classes=[0, 1])
    assert model._state() == SCW1()._state()


BAD_LABELS = {
    "one class": ([1] * 20, ValueError, r"1 class\(es\), \[1\]; a classifier needs two classes"),
    "mixed types": ([0] * 10 + ["x"] * 10, TypeError, "mixed types"),
}


@pytest.mark.parametrize(("y", "error", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_fit_refuses_labels_that_are_not_classes_and_keeps_the_old_model(y, error, message):
    model = SCW1().fit(X, Y)
    before = state(model)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert state(model) == before


def test_classes_must_be_of_the_kind_of_the_labels():
    with pytest.raises(TypeError, match="classes has labels of mixed types"):
        SCW1().partial_fit(X[:1], Y[:1], classes=[0, "a"])
    with pytest.raises(TypeError, match=r"y has labels of type number, but the classes are \['a', 'b'\]"):
        SCW1().partial_fit(X[:1], Y[:1], classes=["a", "b"])
    model = SCW1().fit(X, Y)
    before = state(model)
    with pytest.raises(TypeError, match=r"labels of type str, but the classes are \[0, 1\]"):
        model.partial_fit(X, Y, classes=["a", "b"])
    assert state(model) == before


def test_bad_labels_add_none_of_the_given_classes():
    model = SCW1().fit(X, Y)
    before = state(model)
    with pytest.raises(TypeError, match=r"labels of type str, but the classes are \[0, 1\]"):
        model.partial_fit(X, np.where(Y, "a", "b"), classes=[0, 1, 2])
    assert state(model) == before


BAD_CLASSES = {
    "nan": ([0, 1, np.nan], ValueError, r"labels must be finite, got classes\[2\] = nan"),
    "infinity": ([0, 1, np.inf], ValueError, r"labels must be finite, got classes\[2\] = inf"),
    "complex": (np.array([0, 1, 1j]), TypeError, "labels must be strings, numbers or bools, got complex128"),
    "masked": (
        np.ma.masked_array([0, 1, 2], mask=[0, 0, 1]),
        ValueError,
        "classes is a masked array with masked values; every class needs a label",
    ),
    "matrix": ([[0, 1], [2, 3]], ValueError, r"classes must have one label per class, got shape \(2, 2\)"),
    "scalar": (5, TypeError, "classes must be a list with one label per class, got int"),
    "scalar array": (np.array(5), ValueError, r"classes must have one label per class, got shape \(\)"),
    "string": ("ab", TypeError, "classes must be a list with one label per class, got str"),
    "none": ([], ValueError, "classes is empty"),
    "beyond 64 bits": ([0, 2**63], ValueError, "classes has a whole number of 64 bits"),
}


@pytest.mark.parametrize("what", BAD_CLASSES)
@pytest.mark.parametrize("make", [SCW1, scwlearn.AutoClassifier, scwlearn.KernelSCW1], ids=lambda e: e.__name__)
def test_bad_classes_change_nothing(make, what):
    classes, error, message = BAD_CLASSES[what]
    model = make().fit(X, Y)
    before = state(model)
    with pytest.raises(error, match=message):
        model.partial_fit(X, Y, classes=classes)
    assert state(model) == before
    with pytest.raises(error, match=message):
        make().partial_fit(X, Y, classes=classes)
    with pytest.raises(error, match=message):
        scwlearn.StreamClassifier(classes=classes)


def test_classes_may_be_a_set():
    assert SCW1().partial_fit(X, Y, classes={0, 1, 2}).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [int, float, object])
@pytest.mark.parametrize(
    "make",
    [SCW1, scwlearn.AutoClassifier, scwlearn.KernelSCW1, scwlearn.TunedClassifier],
    ids=lambda e: e.__name__,
)
def test_labels_under_a_mask_are_not_learned(make, kind):
    hidden = np.ma.masked_array(np.where(Y, 1, -999).astype(kind), mask=np.arange(len(Y)) % 2)
    model = make()
    for learn in filter(None, (model.fit, getattr(model, "partial_fit", None))):
        for y in (hidden, hidden[:, np.newaxis]):
            with pytest.raises(ValueError, match="y is a masked array with masked values; every example needs a label"):
                learn(X, y)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8"])
@pytest.mark.parametrize("make", [SCW1, scwlearn.AutoClassifier, scwlearn.KernelSCW1], ids=lambda e: e.__name__)
def test_labels_may_be_the_extremes_of_their_type(make, kind):
    extremes = np.iinfo(kind)
    model = make().fit(X, np.where(Y, extremes.max, extremes.min).astype(kind))
    assert model.classes_.tolist() == [extremes.min, extremes.max]


@pytest.mark.parametrize("label", [2**63, 2**64 - 1])
def test_labels_beyond_64_bits_are_refused_everywhere(label):
    y = np.where(Y, np.uint64(label), np.uint64(0))
    message = "y has a whole number of 64 bits; such a label must be from -2\\*\\*63 to 2\\*\\*63 - 1"
    stream = scwlearn.StreamClassifier()
    records = [{"a": 1.0}] * len(y)
    for learn in (lambda: SCW1().fit(X, y), lambda: SCW1().partial_fit(X, y), lambda: stream.learn_many(records, y)):
        with pytest.raises(ValueError, match=message):
            learn()


@pytest.mark.parametrize("width", [2**50, 2**62])
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_too_wide_for_a_committee_say_what_they_would_need(width, classes):
    rows = sparse.csr_array((np.ones(6), (np.arange(6), np.arange(6))), shape=(6, width))
    with pytest.raises(NotEnoughMemory, match=f"with {width + 1} weights .*needs .* GiB of memory, but only"):
        scwlearn.AutoClassifier().fit(rows, np.arange(6) % classes)


BAD_PARAMETERS = [
    ({"C": 0}, ValueError, "C must be a number strictly between 0 and inf, got 0"),
    ({"C": -1.0}, ValueError, "C must be .*, got -1.0"),
    ({"C": np.nan}, ValueError, "C must be .*, got nan"),
    ({"C": "1"}, TypeError, "C must be .*, got '1'"),
    ({"C": True}, TypeError, "C must be .*, got True"),
    ({"eta": 0.5}, ValueError, "eta must be a number strictly between 0.5 and 1, got 0.5"),
    ({"eta": 1.0}, ValueError, "eta must be .*, got 1.0"),
    ({"initial_variance": 0.0}, ValueError, r"initial_variance must be .* between 1e-100 and 1e\+100, got 0.0"),
    ({"covariance": "fulll"}, ValueError, "covariance must be one of auto, .*full, got 'fulll'"),
    ({"n_epochs": 0}, ValueError, "n_epochs must be an integer >= 1, got 0"),
    ({"n_epochs": 1.5}, TypeError, "n_epochs must be"),
    ({"fit_intercept": "yes"}, TypeError, "fit_intercept must be True or False, got 'yes'"),
    ({"random_state": "x"}, ValueError, "random_state must be None, a whole number or a RandomState"),
    ({"C": 10**400}, ValueError, "C must be"),
    ({"covariance": np.ones(2)}, ValueError, "covariance must be one of"),
    ({"shuffle": 2}, TypeError, "shuffle must be True or False, got 2"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD_PARAMETERS, ids=lambda p: str(p)[:40])
def test_a_bad_parameter_is_named_with_its_value_and_what_is_allowed(parameters, error, message):
    model = SCW1().fit(X, Y)
    good = model.get_params()
    before = state(model)
    model.set_params(**parameters)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert state(model.set_params(**good)) == before


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
def test_every_declared_parameter_is_checked_against_its_bounds(rule):
    Estimator = getattr(scwlearn, rule.estimator)
    for parameter in rule.parameters:
        for value in (parameter.low, parameter.high):
            with pytest.raises(ValueError, match=f"{parameter.name} must be"):
                Estimator(**{parameter.name: value}).fit(X, Y)


def test_an_unknown_parameter_is_refused_with_the_known_ones():
    with pytest.raises(TypeError, match="SCW1 has no parameter 'r'; it has C, eta, covariance"):
        SCW1(r=1)


def test_a_full_covariance_that_does_not_fit_says_how_much_it_needs_and_what_to_choose():
    wide = sparse.csr_array((np.ones(20), (np.arange(20), np.arange(20))), shape=(20, 10_000_000))
    with pytest.raises(ValueError, match=r'covariance="full" with 10000001 weights needs 1.49e\+06 GiB.*"diagonal"'):
        SCW1(covariance="full").fit(wide, Y)
    assert SCW1().fit(wide, Y).covariance_kind_ == "diagonal"


@pytest.mark.parametrize("make", [sparse.csc_array, sparse.coo_array])
def test_a_broken_sparse_matrix_is_refused_before_it_is_converted(make):
    broken = make(X)
    if broken.format == "csc":
        broken.indices[-1] = 2**30
    else:
        broken.coords[0][-1] = 2**30
    with pytest.raises(ValueError, match=f"X is not a valid {broken.format.upper()} matrix"):
        SCW1().fit(broken, Y)


@pytest.mark.parametrize(
    ("name", "value"),
    [("indices", [0, 1, 2**30]), ("indices", [0, 1, -1]), ("indptr", [0, 2**30]), ("indptr", [-5, 3])],
)
def test_a_broken_sparse_row_is_not_explained(name, value):
    row = sparse.csr_array(X[:1])
    setattr(row, name, np.array(value, np.int32))
    with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
        SCW1().fit(X, Y).explain(row)


def test_only_one_example_is_explained():
    model = SCW1().fit(X, Y)
    assert model.explain(X[0]) == model.explain(X[:1]) == model.explain(sparse.coo_array(X[:1]))
    with pytest.raises(ValueError, match=r"^x has 2 rows; pass one example$"):
        model.explain(X[:2])
    with pytest.raises(ValueError, match="x is a masked array with masked values"):
        model.explain(np.ma.array(X[0], mask=[True, False, False]))
    with pytest.raises(ValueError, match="X has 2 features, but SCW1 is expecting 3 features as input"):
        model.explain(X[0, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.explain([1.0, np.nan, 2.0])


@pytest.mark.parametrize("new", [SCW1, AutoClassifier])
def test_an_example_with_other_feature_names_is_not_explained(new):
    frame = pd.DataFrame(X, columns=list("abc"))
    model = new().fit(frame, Y)
    row = frame.iloc[0]
    assert model.explain(row) == model.explain(frame.iloc[:1]) == model.explain(row.astype(object))
    for other in (row[["c", "b", "a"]], frame[["c", "b", "a"]].iloc[:1], row.rename({"a": "d"}), row[["a", "b"]]):
        with pytest.raises(ValueError, match=r"^The feature names should match those that were passed during fit"):
            model.explain(other)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert model.explain(X[0]) == model.explain(row)


def test_a_failed_allocation_raises_the_same_error(monkeypatch):
    def none_left(*_):
        raise MemoryError

    monkeypatch.setattr(Full, "start", none_left)
    with pytest.raises(ValueError, match=r'covariance="full" with 4 weights needs .* GiB of memory'):
        SCW1().fit(X, Y)


def test_predicting_before_fitting_is_refused():
    with pytest.raises(NotFittedError):
        SCW1().predict(X)
    with pytest.raises(AttributeError, match="no coef_ before fit"):
        _ = SCW1().coef_


def test_predicting_refuses_bad_rows():
    model = SCW1().fit(X, Y)
    with pytest.raises(ValueError, match=r"NaN: X\[19, 1\]"):
        model.predict(with_value(np.nan))
