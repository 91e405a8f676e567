"""Several classes: every rule in every form equals the textbook, on every kind of row, with every instruction set."""

import functools

import numpy as np
import pytest
from scipy import sparse

from multi_reference import run
from reference import NAMES, defaults_of
from scwlearn import Learner, _native, rules
from scwlearn.multiclass import MultiLearner
from scwlearn.rules import HOLD, Parameter, Step, all_rules, find_rule

pytestmark = pytest.mark.native

ROWS, FEATURES, CLASSES = 240, 13, 6

COVARIANCES = ("identity", "diagonal", "diagonal-drop")
FORMS = {
    "joint": {},
    "shared": {"shared_covariance": True},
    "ovr": {"multi_class": "ovr"},
}

ROW_KINDS = {
    "float64": lambda x: x.astype(np.float64),
    "float32": lambda x: x,
    "Fortran order": lambda x: np.asfortranarray(x, dtype=np.float64),
    "csr, int32": lambda x: csr(x, np.float64, np.int32),
    "csr, int64": lambda x: csr(x, np.float64, np.int64),
    "csr, float32, int32": lambda x: csr(x, np.float32, np.int32),
    "csr, float32, int64": lambda x: csr(x, np.float32, np.int64),
    "csr with zeros": lambda x: with_zeros(x),
    "lists": lambda x: x.tolist(),
}

every_rule = pytest.mark.parametrize("name", NAMES)
every_covariance = pytest.mark.parametrize("covariance", COVARIANCES)
every_form = pytest.mark.parametrize("form", FORMS)
every_instruction_set = pytest.mark.parametrize("instruction_set", _native.instruction_sets(), indirect=True)


@pytest.fixture
def instruction_set(request):
    _native.use_instruction_set(request.param)
    yield
    _native.use_instruction_set(_native.instruction_sets()[0])


def csr(x, values, indices):
    matrix = sparse.csr_matrix(x, dtype=values)
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(indices)
    return matrix


def with_zeros(x):
    """A sparse matrix that stores zeros, too."""
    rows, columns = x.shape
    offsets = np.arange(0, x.size + 1, columns)
    return sparse.csr_array((x.astype(np.float64).ravel(), np.tile(np.arange(columns), rows), offsets), shape=x.shape)


@functools.cache
def examples(classes=CLASSES, empty_rows=True):
    """Rows of several classes, noisy, half of the values zero; classes come one after the other, some of them late."""
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(ROWS, FEATURES)) * rng.uniform(0.3, 2, FEATURES) * (rng.random((ROWS, FEATURES)) < 0.5)
    if empty_rows:
        x[rng.integers(0, ROWS, 5)] = 0
    x = x.astype(np.float32)
    late = np.repeat([0.0, -1e9], [classes - 2, 2]) if classes > 4 else 0.0
    scores = x @ rng.normal(size=(FEATURES, classes)) + rng.normal(size=(ROWS, classes))
    scores[: ROWS // 2] += late
    return x, in_order_of_appearance(scores.argmax(axis=1))


def in_order_of_appearance(labels):
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]


def how_of(form):
    """What the textbook calls the form."""
    return {"shared" if k == "shared_covariance" else k: v for k, v in FORMS[form].items()}


@functools.cache
def textbook(name, covariance, form, intercept, initial_variance, classes=CLASSES):
    x, y = examples(classes, empty_rows=not intercept)
    how = how_of(form) | defaults_of(name)
    return run(name, x.astype(float), y, covariance, initial_variance=initial_variance, intercept=intercept, **how)


def assert_close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * max(1.0, np.linalg.norm(expected)))


def state(learner):
    """Everything that a learner knows, bit for bit; the room for more classes is nothing it knows."""
    gaussians = learner.gaussians
    if gaussians is None:
        return learner.n_classes, learner.counts
    scalars = gaussians.scalars[: None if gaussians.joint else gaussians.classes]
    return gaussians.weights().tobytes(), gaussians.variances().tobytes(), scalars.tobytes(), learner.counts


@every_rule
@every_covariance
@every_form
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("initial_variance", [1.0, 0.5])
def test_a_learner_does_what_the_textbook_does(name, covariance, form, intercept, initial_variance):
    x, y = examples(empty_rows=not intercept)
    weights, variances, mistakes, updates = textbook(name, covariance, form, intercept, initial_variance)
    assert updates > 30
    states = set()
    for kind, make in ROW_KINDS.items():
        how = {"intercept": intercept, "initial_variance": initial_variance, **FORMS[form], **defaults_of(name)}
        learner = MultiLearner(name, covariance=covariance, **how)
        counts = learner.learn(make(x), y)
        assert (counts.seen, counts.mistakes, counts.updates) == (ROWS, mistakes, updates), kind
        assert learner.n_classes == CLASSES
        assert_close(learner.gaussians.weights(), weights)
        assert_close(learner.gaussians.variances(), variances)
        states.add(state(learner))
    # Whatever the rows are, they are the same numbers, added up in the same order.
    assert len(states) == 1


@every_form
@every_instruction_set
@pytest.mark.parametrize("name", ["scw1", "arow", "romma", "iellip"])
@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 8, 17, 36, 67])
def test_any_number_of_classes(name, classes, form, instruction_set):
    x, y = examples(classes)
    for covariance in COVARIANCES:
        weights, variances, mistakes, updates = textbook(name, covariance, form, False, 1.0, classes)
        learner = MultiLearner(name, covariance=covariance, **FORMS[form], **defaults_of(name))
        counts = learner.learn(sparse.csr_array(x), y)
        assert (counts.mistakes, counts.updates) == (mistakes, updates)
        assert_close(learner.gaussians.weights(), weights)
        assert_close(learner.gaussians.variances(), variances)
        used = state(learner)
        _native.use_instruction_set("portable")
        portable = MultiLearner(name, covariance=covariance, **FORMS[form], **defaults_of(name))
        portable.learn(x, y)
        assert state(portable) == used


@pytest.mark.parametrize("rivals", ["uniform", "proportional"])
@every_covariance
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_the_perceptron_with_other_rivals_does_what_the_textbook_does(rivals, covariance, shared):
    x, y = examples()
    weights, _, mistakes, updates = run("perceptron", x.astype(float), y, covariance, rivals=rivals, shared=shared)
    learner = MultiLearner("perceptron", rivals=rivals, covariance=covariance, shared_covariance=shared)
    counts = learner.learn(x, y)
    assert (counts.mistakes, counts.updates) == (mistakes, updates)
    assert_close(learner.gaussians.weights(), weights)
    best = MultiLearner("perceptron", covariance=covariance)
    best.learn(x, y)
    assert not np.allclose(best.gaussians.weights(), weights)


def test_rivals_that_score_the_same_share_alike():
    learner = MultiLearner("perceptron", rivals="proportional", n_classes=4)
    learner.learn([[1.0, 2.0]], [1])
    assert_close(learner.gaussians.weights(), np.outer([-1 / 3, 1, -1 / 3, -1 / 3], [1.0, 2.0]))


@every_rule
@every_form
def test_classes_known_in_advance_take_part_from_the_start(name, form):
    x, y = examples()
    how = how_of(form) | defaults_of(name)
    weights, variances, mistakes, updates = run(name, x.astype(float), y, "diagonal", n_classes=CLASSES + 1, **how)
    learner = MultiLearner(name, n_classes=CLASSES, covariance="diagonal", **FORMS[form], **defaults_of(name))
    learner.add_classes(1)
    assert learner.n_classes == CLASSES + 1
    counts = learner.learn(x, y)
    assert (counts.mistakes, counts.updates) == (mistakes, updates)
    assert_close(learner.gaussians.weights(), weights)
    assert_close(learner.gaussians.variances(), variances)


@every_rule
def test_parameters_reach_the_rule(name):
    values = {"C": 0.3, "eta": 0.6, "r": 4.0, "b": 0.8, "c": 0.4}
    given = {p.name: values[p.name] for p in find_rule(name).parameters}
    x, y = examples()
    weights, _, mistakes, updates = run(name, x.astype(float), y, "diagonal", **given)
    learner = MultiLearner(name, covariance="diagonal", **given)
    counts = learner.learn(x, y)
    assert (counts.mistakes, counts.updates) == (mistakes, updates)
    assert_close(learner.gaussians.weights(), weights)


@pytest.mark.parametrize("name", [r.name for r in all_rules()])
@every_covariance
@every_form
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_scores_and_variances_are_those_of_the_gaussians(name, covariance, form, as_rows):
    x, y = examples()
    learner = MultiLearner(name, covariance=covariance, intercept=True, initial_variance=0.5, **FORMS[form])
    learner.learn(x, y)
    wide = np.hstack([x.astype(np.float64), np.ones((ROWS, 1))])
    assert_close(learner.scores(as_rows(x)), wide @ learner.gaussians.weights().T)
    assert_close(learner.margin_variances(as_rows(x)), wide**2 @ learner.gaussians.variances().T)


@every_rule
@every_form
def test_the_two_classes_of_one_versus_rest_are_the_binary_learner(name, form):
    x, y = examples(2)
    binary = Learner(name, covariance="diagonal", intercept=True, **defaults_of(name))
    counts = binary.learn(x, 2 * y - 1)
    ovr = MultiLearner(name, n_classes=2, multi_class="ovr", covariance="diagonal", intercept=True, **defaults_of(name))
    assert ovr.learn(x, y).updates == counts.updates
    assert_close(ovr.gaussians.weights(), np.outer([-1, 1], binary.gaussian.weights()))
    assert_close(ovr.gaussians.variances(), np.tile(binary.gaussian.variances(), (2, 1)))


# Classes as they come.


@every_form
def test_a_class_that_is_not_known_takes_no_part(form):
    x, y = examples()
    late = MultiLearner("scw1", covariance="diagonal", **FORMS[form])
    scores = np.empty((ROWS, CLASSES + 2))
    late.learn(x, y, scores_out=scores)
    known = np.maximum.accumulate(np.append(0, y[:-1] + 1))
    for i in range(ROWS):
        assert np.isfinite(scores[i, : known[i]]).all()
        assert (scores[i, known[i] :] == -np.inf).all()
    predicted = scores.argmax(axis=1)
    assert late.counts.mistakes == np.sum((predicted != y) | (y >= known))


def test_a_first_class_alone_teaches_nothing_and_its_first_row_is_a_mistake():
    learner = MultiLearner("scw1", covariance="diagonal")
    counts = learner.learn(np.eye(3), [0, 0, 0])
    assert (counts.seen, counts.mistakes, counts.updates) == (3, 1, 0)
    assert not learner.gaussians.weights().any()


def test_with_one_class_known_in_advance_nothing_is_a_mistake():
    learner = MultiLearner("arow", n_classes=1, covariance="diagonal")
    assert learner.learn(np.eye(3), [0, 0, 0]).mistakes == 0


@every_form
def test_classes_may_be_added_at_any_time(form):
    x, y = examples()
    half = int(np.argmax(y == CLASSES - 1))
    added, came = (MultiLearner("iellip", covariance="diagonal", **FORMS[form]) for _ in range(2))
    for learner in (added, came):
        learner.learn(x[:half], y[:half])
    added.add_classes(2)
    assert added.n_classes == CLASSES + 1
    # The last class stands on the same prior, whether it was added or came.
    assert state(added)[1].startswith(state(came)[1])
    assert not added.gaussians.weights()[CLASSES - 1 :].any()
    added.learn(x[half:], y[half:])
    assert added.counts.seen == ROWS


@every_form
@pytest.mark.parametrize("grow", [1.0, 3.0, 1e18, 1e-18])
@pytest.mark.usefixtures("registry")
def test_a_late_class_stands_where_sigma_has_grown_to(form, grow):
    @rules.rule(title="grows", estimator="Grows", order=2, large_margin=True, non_separable=True, cite="2026")
    def grows(m, v, t):
        return Step(0.1 / v, 0.5 / v, shrink=0.9, grow=grow if t < 9 else 1.0)

    learner = MultiLearner(grows, covariance="diagonal", initial_variance=2.0, **FORMS[form])
    learner.learn(np.tile(np.eye(2), (5, 1)), [0, 1] * 5)
    learner.widen(3)
    learner.learn(np.zeros((1, 3)), [2])
    variances = learner.gaussians.variances()
    # Jointly a first class alone takes no step.
    grown = 2.0 * grow ** (8 if form == "ovr" else 7)
    np.testing.assert_allclose(variances[:2, 2], grown, rtol=1e-12)
    if form == "joint":
        # One model: what was never seen is equally unsure everywhere.
        np.testing.assert_allclose(variances[2], grown, rtol=1e-12)
    if form == "ovr":
        np.testing.assert_array_equal(variances[2], 2.0)


def test_zero_weights_bring_no_class():
    x, y = examples()
    weighed, plain = MultiLearner("arow", covariance="diagonal"), MultiLearner("arow", covariance="diagonal")
    weights = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.0)
    kept = weights > 0
    labels = np.full(ROWS, 0)
    labels[kept] = in_order_of_appearance(y[kept])
    scores = np.empty((ROWS, CLASSES))
    assert weighed.learn(x, labels, weights=weights, scores_out=scores) == plain.learn(x[kept], labels[kept])
    assert state(weighed) == state(plain)
    assert np.isnan(scores[~kept]).all()
    assert not np.isnan(scores[kept]).any()
    assert weighed.learn(x[:2], [CLASSES, CLASSES], weights=[0, 0]).seen == 0
    assert weighed.n_classes == CLASSES
    fresh = MultiLearner("arow")
    assert fresh.learn(x, labels, weights=np.zeros(ROWS)).seen == 0
    assert fresh.gaussians is None


@pytest.mark.parametrize("name", ["scw1", "arow", "perceptron", "romma"])
@every_form
def test_weights_reach_the_rule(name, form):
    x, y = examples()
    how = {"covariance": "diagonal", **FORMS[form]}
    weighed = MultiLearner(name, **how)
    weighed.learn(x, y, weights=np.full(ROWS, 0.5))
    plain = MultiLearner(name, **how)
    plain.learn(x, y)
    assert state(weighed) != state(plain)
    own = {"scw1": {"C": 0.25}, "arow": {"r": 2.0}}
    if name in own:
        same = MultiLearner(name, **how, **own[name])
        same.learn(x, y)
        assert state(weighed) == state(same)


def test_scores_are_written_for_the_rows_of_x_whatever_the_order():
    x, y = examples()
    order = np.random.default_rng(0).permutation(ROWS)
    y = y.copy()
    y[order] = in_order_of_appearance(y[order])
    ordered, plain = MultiLearner("arow", covariance="diagonal"), MultiLearner("arow", covariance="diagonal")
    a, b = np.empty((2, ROWS, CLASSES))
    ordered.learn(x, y, order=order, scores_out=a)
    plain.learn(x[order], y[order], scores_out=b)
    assert state(ordered) == state(plain)
    np.testing.assert_array_equal(a[order], b)
    one_by_one = MultiLearner("arow", covariance="diagonal")
    for i in range(40):
        if i:
            np.testing.assert_array_equal(one_by_one.scores(x[order[i : i + 1]])[0], b[i, : one_by_one.n_classes])
        one_by_one.learn(x[order[i : i + 1]], y[order[i : i + 1]])


# From two classes to several.


@pytest.mark.parametrize("name", [r.name for r in all_rules()])
@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
@pytest.mark.parametrize("covariance", ["diagonal", "identity", "diagonal-drop"])
def test_a_binary_learner_becomes_two_classes_that_say_the_same(name, multi_class, covariance):
    x, y = examples(2)
    binary = Learner(name, covariance=covariance, intercept=True, initial_variance=0.5)
    binary.learn(x, 2 * y - 1)
    two = MultiLearner.from_binary(binary, multi_class=multi_class)
    assert (two.n_classes, two.n_features, two.counts) == (2, FEATURES, binary.counts)
    scores = two.scores(x)
    share = 1 if multi_class == "joint" else 2
    assert_close(scores[:, 1] - scores[:, 0], share * binary.scores(x))
    assert_close(two.margin_variances(x), np.tile(binary.margin_variances(x)[:, None], (1, 2)))
    # It goes on: a step moves both.
    before = two.gaussians.weights()
    two.learn(x[:50], 1 - y[:50])
    assert not np.allclose(two.gaussians.weights(), before)
    new = MultiLearner.from_binary(Learner("scw1", C=3.0))
    assert (new.n_classes, new.gaussians, new.parameters["C"]) == (2, None, 3.0)


def test_a_binary_learner_from_dicts_keeps_its_names():
    binary = Learner("scw1", scale=True)
    binary.learn_one({"a": 3.0, "b": 1.0}, 1)
    two = MultiLearner.from_binary(binary)
    assert two.names == {"a": 0, "b": 1}
    first, second = two.score_one({"a": 2.0})
    assert second - first == pytest.approx(binary.score_one({"a": 2.0}))
    two.learn_one({"c": 1.0}, 2)
    assert (len(two.names), len(binary.names)) == (3, 2)


def test_a_joint_pair_that_was_a_binary_romma_knows_its_length():
    x, y = examples(2)
    binary = Learner("romma", initial_variance=0.5)
    binary.learn(x, 2 * y - 1)
    two = MultiLearner.from_binary(binary)
    model = two.gaussians
    stored = np.square(model.covariance.means(model.memory)).sum()
    assert model.scalars[0, 2] == pytest.approx(stored, rel=1e-9)


# One example at a time.


@pytest.mark.parametrize("name", [r.name for r in all_rules()])
@every_form
def test_one_example_is_a_batch_of_one(name, form):
    x, y = examples()
    x = x.astype(np.float64)
    batches, vectors = (MultiLearner(name, covariance="diagonal", intercept=True, **FORMS[form]) for _ in range(2))
    for i in range(60):
        scores = np.empty((1, max(batches.n_classes, y[i] + 1)))
        batches.learn(x[i : i + 1], y[i : i + 1], scores_out=scores)
        if i:
            np.testing.assert_array_equal(vectors.score_one(x[i]), scores[0, : vectors.n_classes])
        weigh_nothing = vectors.learn_one(x[i], y[i], 0.0)
        np.testing.assert_array_equal(weigh_nothing, scores[0, : vectors.n_classes])
        np.testing.assert_array_equal(vectors.learn_one(x[i], y[i]), scores[0])
        assert state(vectors) == state(batches)


def test_one_example_at_a_time_makes_room_for_any_number_of_classes():
    learner, batch = MultiLearner("arow", covariance="diagonal"), MultiLearner("arow", covariance="diagonal")
    x = np.random.default_rng(0).normal(size=(40, 3))
    for i, row in enumerate(x):
        learner.learn_one(row, i)
    batch.learn(x, np.arange(40))
    assert learner.n_classes == 40
    assert state(learner) == state(batch)


@pytest.mark.parametrize(
    ("x", "y", "w", "error"),
    [
        ([1.0, 2.0], 0, 1.0, ValueError),
        ([1.0, 2.0, np.nan], 0, 1.0, ValueError),
        ([1.0, 2.0, 1e200], 0, 1.0, ValueError),
        ([[1.0, 2.0, 3.0]], 0, 1.0, ValueError),
        ([1.0, 2.0, 3.0], 5, 1.0, ValueError),
        ([1.0, 2.0, 3.0], -1, 1.0, ValueError),
        ([1.0, 2.0, 3.0], 0.5, 1.0, ValueError),
        ([1.0, 2.0, 3.0], "a", 1.0, TypeError),
        ([1.0, 2.0, 3.0], 0, -1.0, ValueError),
        ([1.0, 2.0, 3.0], 0, np.nan, ValueError),
    ],
)
def test_a_bad_example_changes_nothing(x, y, w, error):
    learner = MultiLearner("arow", covariance="diagonal")
    learner.learn(np.eye(3), [0, 1, 2])
    before = state(learner)
    with pytest.raises(error):
        learner.learn_one(x, y, w)
    assert state(learner) == before


# Rules of the user's own.


def my_arow(m, v):
    beta = 1 / (v + 2.0)
    return (max(0.0, 1 - m) * beta, beta) if m < 1 else (0.0, 0.0)


@every_covariance
@every_form
def test_a_function_as_rule_equals_the_built_in_rule(covariance, form):
    x, y = examples()
    own = MultiLearner(my_arow, covariance=covariance, intercept=True, **FORMS[form])
    built_in = MultiLearner("arow", r=2.0, covariance=covariance, intercept=True, **FORMS[form])
    assert own.learn(x, y) == built_in.learn(x, y)
    assert_close(own.gaussians.weights(), built_in.gaussians.weights())
    assert_close(own.gaussians.variances(), built_in.gaussians.variances())


@pytest.mark.usefixtures("registry")
@every_form
def test_a_rule_declared_outside_the_package_differs_in_no_bit(form):
    @rules.rule(
        title="mine",
        estimator="Mine",
        order=2,
        parameters=(Parameter("r", 1.0, ""),),
        large_margin=True,
        non_separable=True,
        cite="2026",
    )
    def mine(m, v, r):
        return HOLD if m >= 1 else Step(alpha=(1 - m) / (v + r), precision=1 / r)

    x, y = examples()
    learner = MultiLearner("mine", r=0.7, covariance="diagonal", **FORMS[form])
    built_in = MultiLearner("arow", r=0.7, covariance="diagonal", **FORMS[form])
    assert learner.learn(x, y) == built_in.learn(x, y)
    assert state(learner) == state(built_in)


@every_form
@pytest.mark.parametrize("single", [False, True], ids=["batch", "single"])
def test_a_rule_that_raises_leaves_everything_as_it_was(form, single):
    x, y = examples()
    x = x.astype(np.float64)
    new = int(np.argmax(y == CLASSES - 1))
    asked = 0
    limit = 10**9

    def turns_bad(m, v):
        nonlocal asked
        asked += 1
        if asked > limit:
            raise ZeroDivisionError("in my own rule")
        return my_arow(m, v)

    learner, plain = (MultiLearner(turns_bad, covariance="diagonal", **FORMS[form]) for _ in range(2))
    learner.learn(x[:new], y[:new])
    before, limit = state(learner), asked + (CLASSES - 1 if form == "ovr" else 0)
    learn = (lambda: learner.learn_one(x[new], y[new])) if single else (lambda: learner.learn(x[new:], y[new:]))
    with pytest.raises(ZeroDivisionError):
        learn()
    assert asked == limit + 1
    assert state(learner) == before
    limit = 10**9
    learner.learn(x[new:], y[new:])
    plain.learn(x, y)
    assert state(learner) == state(plain)


# What is refused.


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"multi_class": "all"}, "multi_class must be one of joint, ovr"),
        ({"rivals": "min"}, "rivals must be one of max, uniform, proportional"),
        ({"rivals": "uniform"}, "is for the joint Perceptron"),
        ({"rule": "perceptron", "rivals": "uniform", "multi_class": "ovr"}, "is for the joint Perceptron"),
        ({"multi_class": "ovr", "shared_covariance": True}, "shared_covariance=True needs"),
        ({"covariance": "round"}, "covariance must be one of auto, identity"),
        ({"n_classes": -1}, "n_classes must be a whole number of at least 0"),
        ({"initial_variance": 0.0}, "initial_variance must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(how, message):
    with pytest.raises(ValueError, match=message):
        MultiLearner(**how)


@pytest.mark.parametrize("labels", [[0, 1, 3], [0, 2, 1], [-1, 0, 1], [0.5, 0, 1], [0, np.nan, 1], [0, 1, 2**31 - 1]])
def test_labels_that_are_no_classes_are_refused(labels):
    learner = MultiLearner("arow", covariance="diagonal")
    with pytest.raises(ValueError, match="label"):
        learner.learn(np.eye(3), labels)
    assert learner.gaussians is None


@pytest.mark.parametrize("labels", [["a", "b", "c"], [True, False, True], [None, 1, 2]])
def test_labels_that_are_no_numbers_are_refused(labels):
    with pytest.raises(TypeError, match="whole numbers"):
        MultiLearner("arow", covariance="diagonal").learn(np.eye(3), labels)


@pytest.mark.parametrize(
    "scores", [np.empty((3, 2)), np.empty((2, 3)), np.empty(9), np.empty((3, 3), dtype=np.float32), [[0.0] * 3] * 3]
)
def test_scores_that_do_not_fit_are_refused(scores):
    learner = MultiLearner("arow", covariance="diagonal")
    with pytest.raises((ValueError, TypeError), match="scores_out"):
        learner.learn(np.eye(3), [0, 1, 2], scores_out=scores)
    assert learner.gaussians is None


def test_a_learner_that_has_learned_nothing_says_so():
    learner = MultiLearner("arow", n_classes=3)
    for call in (learner.scores, learner.margin_variances):
        with pytest.raises(ValueError, match="has not learned"):
            call(np.eye(3))
    with pytest.raises(ValueError, match="has not learned"):
        learner.score_one(np.zeros(3))


def test_more_classes_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr("scwlearn.memory.available_memory", lambda: 10_000)
    monkeypatch.setattr("scwlearn.memory._LITTLE", 0)
    learner = MultiLearner("arow", covariance="diagonal")
    learner.learn(np.eye(3), [0, 1, 2])
    before = state(learner)
    with pytest.raises(ValueError, match=r"for each of 4\d\d classes"):
        learner.learn(np.ones((400, 3)), np.arange(3, 403))
    with pytest.raises(ValueError, match="classes needs"):
        learner.add_classes(1000)
    assert state(learner) == before
