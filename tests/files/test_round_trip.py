"""Round trips: a model that is saved and loaded continues as if it had never been saved, bit for bit."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import scwlearn
import stream_examples
from saved_examples import LABELS, ROWS, estimator, everything, parameters_of, rows_of, saved
from scwlearn.kernels import KernelLearner
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import all_rules, all_variants

every_estimator = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
HALF = ROWS // 2


def check_round_trip(model, directory, continue_, predict):
    """Check that a loaded model equals the saved one, before and after both continue."""
    again = saved(model, directory)
    assert everything(again) == everything(model)
    for one in (model, again):
        continue_(one)
    assert everything(again) == everything(model)
    assert everything(predict(again)) == everything(predict(model))


def check_estimator(model, directory, classes, labels="int", as_matrix=np.asarray):
    x, numbers = rows_of(classes)
    x, y = as_matrix(x), LABELS[labels][numbers]
    first, rest = slice(0, HALF), slice(HALF, ROWS)
    check_round_trip(
        model.partial_fit(x[first], y[first]),
        directory,
        lambda one: one.partial_fit(x[rest], y[rest], sample_weight=np.linspace(0, 2, ROWS - HALF)),
        lambda one: (one.predict_proba(x), one.decision_function(x), one.predict(x), one.get_params()),
    )


@every_estimator
@pytest.mark.parametrize("kernel", ["", "Kernel"])
@pytest.mark.parametrize("classes", [2, 4])
def test_every_estimator(rule, kernel, classes, tmp_path):
    check_estimator(estimator(kernel + rule.estimator, **parameters_of(rule.name)), tmp_path, classes)


@every_estimator
def test_unfitted_estimators(rule, tmp_path):
    for name in (rule.estimator, rule.kernel_estimator):
        model = estimator(name, n_epochs=3, random_state=5, class_weight={"a": 2, 0: 0.5, 2.5: 1.0, True: 3})
        again = saved(model, tmp_path)
        assert type(again) is type(model)
        assert everything(again) == everything(model)
        assert again.class_weight.keys() == model.class_weight.keys()


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ["SCW1", "KernelAROW"])
def test_labels_of_every_kind(name, labels, tmp_path):
    for classes in (2, len(LABELS[labels])):
        check_estimator(estimator(name), tmp_path, classes, labels)


LINEAR = {
    "full": {"covariance": "full"},
    "diagonal": {"covariance": "diagonal"},
    "diagonal-drop": {"covariance": "diagonal-drop"},
    "identity": {"covariance": "identity"},
    "ovr": {"multi_class": "ovr", "covariance": "full"},
    "ovr-diagonal": {"multi_class": "ovr", "covariance": "diagonal"},
    "shared-full": {"shared_covariance": True, "covariance": "full"},
    "shared-diagonal": {"shared_covariance": True, "covariance": "diagonal", "scale": "rms"},
    "scale": {"scale": "rms"},
    "floor": {"variance_floor": 0.25, "initial_variance": 3.0},
    "weights": {"class_weight": {7: 2, -3: 0.5, "never": 1.0}},
    "balanced": {"class_weight": "balanced"},
    "no constant": {"fit_intercept": False},
}


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("form", LINEAR)
@pytest.mark.parametrize("name", ["SCW1", "IELLIP"])
def test_linear_estimators_with_every_setting(name, form, classes, tmp_path):
    for as_matrix in (np.asarray, sparse.csr_array):
        check_estimator(estimator(name, **LINEAR[form]), tmp_path, classes, as_matrix=as_matrix)


@pytest.mark.parametrize("rivals", ["max", "uniform", "proportional"])
def test_rivals_of_the_perceptron(rivals, tmp_path):
    for name in ("Perceptron", "KernelPerceptron"):
        check_estimator(estimator(name, rivals=rivals), tmp_path, 4)


KERNEL = {
    "budget": {"budget": 6},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 1},
    "laplacian": {"kernel": "laplacian", "gamma": "auto"},
    "ovr": {"multi_class": "ovr"},
    "tolerance": {"tolerance": 0.1, "fit_intercept": False},
    "balanced": {"class_weight": "balanced"},
}


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("form", KERNEL)
@pytest.mark.parametrize("name", ["KernelSCW1", "KernelPA1"])
def test_kernel_estimators_with_every_setting(name, form, classes, tmp_path):
    for as_matrix in (np.asarray, sparse.csr_array):
        check_estimator(estimator(name, **KERNEL[form]), tmp_path, classes, as_matrix=as_matrix)


@pytest.mark.parametrize("bits", [np.int32, np.int64])
def test_sparse_support_keeps_the_type_of_its_indices(bits, tmp_path):
    def with_indices(x):
        rows = sparse.csr_array(x)
        rows.indices, rows.indptr = rows.indices.astype(bits), rows.indptr.astype(bits)
        return rows

    check_estimator(estimator("KernelSCW1"), tmp_path, 4, as_matrix=with_indices)


@pytest.mark.parametrize("classes", [2, 4])
def test_precomputed_kernels(classes, tmp_path):
    x, numbers = rows_of(classes)
    model = estimator("KernelAROW", kernel="precomputed").fit(x @ x.T, numbers)
    check_round_trip(model, tmp_path, lambda one: None, lambda one: (one.decision_function(x @ x.T), one.support_))


def test_column_names(tmp_path):
    import pandas as pd

    x, numbers = rows_of(2)
    frame = pd.DataFrame(x, columns=["ä", "b b", "", "\N{SMILE}", "\n"])
    model = estimator("SCW1").fit(frame, numbers)
    again = saved(model, tmp_path)
    assert again.feature_names_in_.dtype == model.feature_names_in_.dtype
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert again.partial_fit(frame, numbers).n_seen_ == 2 * ROWS


def test_settings_changed_after_fitting(tmp_path):
    x, numbers = rows_of(2)
    model = estimator("SCW1").fit(x, numbers).set_params(C=3, covariance="identity", random_state=np.int64(3))
    again = saved(model, tmp_path)
    assert again.get_params() == model.get_params()
    with pytest.raises(ValueError, match="covariance cannot change from 'auto' to 'identity'"):
        again.partial_fit(x, numbers)
    for one in (model, again):
        one.set_params(covariance="auto").partial_fit(x, numbers)
    assert everything(again.coef_) == everything(model.coef_)


@pytest.mark.parametrize(
    "labels", [[2**62, -3, 1], [0.1, -1e300, 5e-324], [True, False], ["", "\ud800"], [1, 2.5, True + 2]]
)
def test_stream_labels_of_every_kind(labels, tmp_path):
    model = scwlearn.StreamClassifier("arow", class_weight=dict.fromkeys(labels, 0.5))
    for i in range(12):
        model.learn_one({"a": 1.0 + i}, labels[i % len(labels)])
    check_round_trip(
        model,
        tmp_path,
        lambda one: one.learn_many([{"b": 2.0}] * 3, [labels[0]] * 3),
        lambda one: (one.predict_proba_one({"a": 1, "b": 2}), one.classes),
    )


STREAM_CUTS = (0, 1, 17, 40)


@pytest.mark.parametrize("cut", STREAM_CUTS)
@pytest.mark.parametrize("form", stream_examples.SETTINGS)
def test_streams_with_every_setting(form, cut, tmp_path):
    examples, labels = stream_examples.EXAMPLES, stream_examples.TARGETS
    model = stream_examples.one_by_one(stream_examples.new("scw1", form), examples[:cut], labels[:cut])
    check_round_trip(
        model,
        tmp_path,
        lambda one: stream_examples.one_by_one(one, examples[cut:], labels[cut:]),
        lambda one: (one.predict_proba_many(examples), one.predict_many(examples), one.top_features(3)),
    )


@every_estimator
def test_streams_of_every_rule(rule, tmp_path):
    examples, labels = stream_examples.EXAMPLES, stream_examples.TARGETS
    model = scwlearn.StreamClassifier(rule, scale="rms")
    model.learn_many(examples[:30], labels[:30])
    check_round_trip(
        model,
        tmp_path,
        lambda one: one.learn_many(examples[30:], labels[30:]),
        lambda one: one.predict_proba_many(examples),
    )


@pytest.mark.parametrize("how", [{}, {"max_features": 8}, {"max_features": 8, "overflow": "hash"}])
def test_integer_names_with_words(how, tmp_path):
    rng = np.random.default_rng(2)
    examples = [{int(i) * 10**17: 1.5, 3: f"w{i}", -4: ["a", f"b{i}"]} for i in rng.integers(0, 20, 60)]
    labels = rng.integers(0, 3, 60).tolist()
    model = scwlearn.StreamClassifier("arow", **how)
    model.learn_many(examples[:30], labels[:30])
    check_round_trip(
        model,
        tmp_path,
        lambda one: one.learn_many(examples[30:], labels[30:]),
        lambda one: one.predict_proba_many(examples),
    )


def test_names_of_any_characters(tmp_path):
    names = ["", " ", "\n\x00", '"\\', "ä", "\N{SMILE}", "\ud83d\ude00", "\ud83d", "=", "x" * 10_000]
    model = scwlearn.StreamClassifier("arow")
    model.learn_many([dict.fromkeys(names, 1.0)], ["a"])
    again = saved(model, tmp_path)
    assert again._classifier.learner.names == dict(zip(names, range(len(names)), strict=True))


@pytest.mark.parametrize("rule", ["SCW1", "PA1", "Perceptron"])
def test_river_classes(rule, tmp_path):
    from scwlearn import river

    examples, labels = stream_examples.EXAMPLES, stream_examples.TARGETS
    how = {"rivals": "uniform"} if rule == "Perceptron" else {"class_weight": "balanced"}
    model = stream_examples.one_by_one(getattr(river, rule)(scale="rms", **how), examples[:30], labels[:30])
    check_round_trip(
        model,
        tmp_path,
        lambda one: stream_examples.one_by_one(one, examples[30:], labels[30:]),
        lambda one: [one.predict_proba_one(x) for x in examples],
    )
    assert everything(saved(model.clone(), tmp_path)) == everything(model.clone())


@pytest.mark.parametrize("n_classes", [None, 0], ids=["binary", "classes"])
@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
@pytest.mark.parametrize("rule", [*all_rules(), *all_variants()], ids=lambda rule: rule.name)
def test_learners_of_every_rule_and_covariance(rule, covariance, n_classes, tmp_path):
    x, numbers = rows_of(2 if n_classes is None else 4)
    y = 2 * numbers - 1 if n_classes is None else numbers
    model = scwlearn.Learner(rule, n_classes=n_classes, covariance=covariance, scale="rms", **parameters_of(rule.name))
    assert everything(saved(model, tmp_path)) == everything(model)
    model.learn(x[:HALF], y[:HALF])
    check_round_trip(
        model,
        tmp_path,
        lambda one: [one.learn_one(row, label) for row, label in zip(x[HALF:], y[HALF:], strict=True)],
        lambda one: one.scores_and_variances(x),
    )


@pytest.mark.parametrize("n_classes", [None, 0], ids=["binary", "classes"])
@pytest.mark.parametrize("how", [{}, {"budget": 5}, {"kernel": "linear", "intercept": True, "variance_floor": 0.1}])
def test_kernel_learners(how, n_classes, tmp_path):
    x, numbers = rows_of(2 if n_classes is None else 4)
    y = 2 * numbers - 1 if n_classes is None else numbers
    model = KernelLearner("scw1", n_classes=n_classes, **how)
    assert everything(saved(model, tmp_path)) == everything(model)
    model.learn(x[:HALF], y[:HALF])
    check_round_trip(
        model, tmp_path, lambda one: one.learn(x[HALF:], y[HALF:]), lambda one: one.scores_and_variances(x)
    )


@pytest.mark.parametrize("n_classes", [None, 0], ids=["binary", "classes"])
@pytest.mark.parametrize("how", [{}, {"max_features": 5}, {"max_features": 4, "overflow": "hash"}, {"scale": "rms"}])
def test_learners_from_dicts(how, n_classes, tmp_path):
    x, numbers = rows_of(2 if n_classes is None else 4)
    y = 2 * numbers - 1 if n_classes is None else numbers
    dicts = [{f"f{i // 20} {j}": row[j] for j in np.flatnonzero(row)} for i, row in enumerate(x)]
    model = scwlearn.Learner("arow", n_classes=n_classes, covariance="full", intercept=True, **how)
    model.learn_many(dicts[:HALF], y[:HALF])
    check_round_trip(
        model, tmp_path, lambda one: one.learn_many(dicts[HALF:], y[HALF:]), lambda one: one.score_many(dicts)
    )


def test_classes_named_before_any_row(tmp_path):
    x, numbers = rows_of(4)
    model = scwlearn.Learner("scw1", n_classes=3)
    check_round_trip(model, tmp_path, lambda one: one.learn(x, numbers), lambda one: one.scores_and_variances(x))


@pytest.mark.parametrize("width", [0, 1, 15, 16, 63, 64, 130])
@pytest.mark.parametrize("form", ["full", "shared-full", "ovr", "diagonal", "identity"])
def test_models_of_every_size(width, form, tmp_path):
    rng = np.random.default_rng(width)
    x, y = rng.normal(size=(40, width)), rng.integers(0, 3, 40)
    y[:3] = range(3)
    how = LINEAR[form]
    for model, labels in (
        (scwlearn.Learner("arow", n_classes=0, intercept=True, **how), y),
        (scwlearn.Learner("arow", n_classes=0, **how), y),
        (scwlearn.Learner("arow", covariance=how.get("covariance", "full")), np.where(y > 0, 1, -1)),
    ):
        model.learn(x, labels)
        check_round_trip(
            model, tmp_path, lambda one, labels=labels: one.learn(x, labels), lambda one: one.scores_and_variances(x)
        )


def test_merged_models(tmp_path):
    x, numbers = rows_of(4)
    parts = [estimator("AROW", scale="rms").fit(x[k::2], numbers[k::2]) for k in range(2)]
    check_round_trip(
        scwlearn.merge(parts), tmp_path, lambda one: one.partial_fit(x, numbers), lambda one: one.predict_proba(x)
    )


settings_of_streams = st.fixed_dictionaries(
    {},
    optional={
        "covariance": st.sampled_from(["auto", *COVARIANCE_NAMES]),
        "multi_class": st.sampled_from(["joint", "ovr"]),
        "class_weight": st.sampled_from([None, "balanced", {"pear": 0.5, "fig": 0}]),
        "scale": st.sampled_from(["none", "rms", "standard", "unit"]),
        "max_features": st.integers(20, 40),
        "overflow": st.sampled_from(["drop", "hash"]),
        "intercept": st.booleans(),
        "initial_variance": st.floats(1e-3, 1e3),
    },
).filter(lambda how: "max_features" in how or how.get("overflow") != "hash")


@settings(max_examples=60, deadline=None)
@given(
    settings_of_streams,
    st.sampled_from(all_rules()),
    st.lists(st.integers(0, 60), max_size=3).map(sorted),
    st.integers(0, 2**30),
)
def test_a_stream_saved_at_any_time_equals_one_never_saved(how, rule, cuts, seed):
    examples, labels = stream_examples.draw_stream(seed=seed)
    once = scwlearn.StreamClassifier(rule, **how)
    model = scwlearn.StreamClassifier(rule, **how)
    with TemporaryDirectory() as directory:
        for start, end in pairwise([0, *cuts, 60]):
            for one in (once, model):
                one.learn_many(examples[start:end], labels[start:end])
            model = saved(model, Path(directory))
    assert everything(model) == everything(once)
    assert everything(model.predict_proba_many(examples)) == everything(once.predict_proba_many(examples))


def test_loaded_arrays_are_writable_and_aligned_to_cache_lines(tmp_path):
    x, numbers = rows_of(4)
    model = scwlearn.Learner("scw1", n_classes=0, scale="rms")
    model.learn(x, numbers)
    again = saved(model, tmp_path)
    memory = again.model.memory
    assert again.model.writable() is again.model
    assert memory.flags.writeable
    assert memory.ctypes.data % 64 == 0
