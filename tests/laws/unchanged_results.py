"""Results of a broad set of small runs of every part of scwlearn, by name, and their digests.

Run as a command, it writes the digests of all results to a file, or compares them with those in one::

    python tests/laws/unchanged_results.py --write PATH [--set avx2]
    python tests/laws/unchanged_results.py --compare PATH [--set avx2]
"""

import argparse
import copy
import dataclasses
import hashlib
import io
import itertools
import json
import lzma
import os
import sys
import tempfile
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

import scwlearn
from scwlearn import KernelLearner, Learner, StreamClassifier, _native
from scwlearn._util.threads import one_blas_thread
from scwlearn.data.formats.libsvm import load_libsvm, read_libsvm
from scwlearn.data.options import ReaderOptions
from scwlearn.datasets import load_set
from scwlearn.learning import grid as many
from scwlearn.model.calibration import Calibration
from scwlearn.model.scale import RunningScale
from scwlearn.model.scales import SCALE_NAMES
from scwlearn.rules import all_rules, all_variants

# ---------------------------------------------------------------------------------------------------------------------
# Adapter: the only part that knows how scwlearn's interfaces below the estimators and streams are spelled.
# ---------------------------------------------------------------------------------------------------------------------

RULES = {rule.name: rule for rule in all_rules()}
VARIANTS = [rule.name for rule in all_variants()]
FIRST_ORDER = [rule.name for rule in RULES.values() if rule.order == 1]
SECOND_ORDER = [rule.name for rule in RULES.values() if rule.order == 2]
COVARIANCES = ("identity", "diagonal", "diagonal-drop", "full")


def instruction_sets():
    """List the instruction sets of this processor, the best first."""
    return _native.instruction_sets()


@contextmanager
def computing_with(instruction_set):
    """Compute with an instruction set, and with one thread of BLAS; go back to the best set afterwards."""
    _native.use_instruction_set(instruction_set)
    try:
        with one_blas_thread():
            yield
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])


def binary_learner(rule, **settings):
    """Make a learner of the labels -1 and +1."""
    return Learner(rule, **settings)


def several_learner(rule, n_classes=0, **settings):
    """Make a learner of class numbers; `n_classes` of them are known from the start."""
    return Learner(rule, n_classes=n_classes, **settings)


def several_from_binary(learner, **settings):
    """Make a learner of class numbers that goes on from a binary one, with a kernel or without."""
    other = copy.copy(learner)
    other.config = dataclasses.replace(learner.config, settings=learner.config.settings | settings)
    return other.split()


def kernel_learner(rule, **settings):
    """Make a learner of the labels -1 and +1 with a kernel."""
    return KernelLearner(rule, **settings)


def kernel_several_learner(rule, n_classes=0, **settings):
    """Make a learner of class numbers with a kernel."""
    return KernelLearner(rule, n_classes=n_classes, **settings)


def learn(learner, x, y, **how):
    """Learn from rows, with an `order` or `weights` if given; return the learner."""
    learner.learn(x, y, **how)
    return learner


def learn_one(learner, x, y, w=1.0):
    """Learn from a single vector or dict; return its score (or scores) before."""
    return learner.learn_one(x, y, w)


def score_one(learner, x):
    """Return the score (or scores) of a single vector or dict."""
    return learner.score_one(x)


def learn_dicts(learner, examples, y, weights=None):
    """Learn from dicts; return their scores and variances before."""
    variances = np.zeros(len(examples))
    return learner.learn_many(examples, y, weights, variances_out=variances), variances


def look_at_dicts(learner, examples):
    """Return the scores of dicts and the variances of the top ones."""
    return learner.scores_and_variances_many(examples)


def learn_libsvm(learner, text):
    """Learn from LIBSVM text in small batches."""
    learner.learn_batches(read_libsvm(io.BytesIO(text.encode()), ReaderOptions(chunk_bytes=512)))
    return learner


def trace(learner, x, y, **how):
    """Learn from rows; return score, variance, alpha and precision of each round of a binary learner."""
    return np.stack(learner.trace(x, y, **how), axis=1)


def looks_before(learner, x, y, classes, **how):
    """Learn from rows; return the scores of all classes and the variance of the top one before each round."""
    scores, variances = np.empty((len(y), classes)), np.empty(len(y))
    learner.learn(x, y, scores_out=scores, variances_out=variances, **how)
    return np.column_stack([scores, variances])


def add_classes(learner, count):
    """Make more classes known."""
    learner.add_classes(count)


def widen(learner, n_features):
    """Make room for more features."""
    learner.widen(n_features)


def with_parameters(learner, **parameters):
    """Return a learner on the same model with other parameters of the rule."""
    return learner.with_parameters(parameters)


def gaussians_of(learner):
    """Return the model of a linear learner."""
    return learner.model


def covariance_of(learner):
    """Return how a linear learner keeps Sigma."""
    return gaussians_of(learner).covariance.name


def counts_of(learner):
    """Return rows seen, mistakes and updates."""
    counts = learner.counts
    return np.array([counts.seen, counts.mistakes, counts.updates])


def weights_of(learner):
    """Return the mean weights: (classes or 1, size), without room for names to come."""
    return np.atleast_2d(gaussians_of(learner).weights())[:, used_columns(learner)]


def variances_of(learner):
    """Return the variances of the weights, in the same shape."""
    return np.atleast_2d(gaussians_of(learner).variances())[:, used_columns(learner)]


def sigma_of(learner, number=0):
    """Return Sigma in full, of a class if there are several."""
    model = gaussians_of(learner)
    return model.matrix(number)


def used_columns(learner):
    """Return the columns of the weights that belong to features or to the constant."""
    size, vocabulary = gaussians_of(learner).size, learner.vocabulary
    if vocabulary is None or vocabulary.hashed:
        return np.arange(size)
    return np.append(np.arange(len(vocabulary)), np.arange(size - learner.config.intercept, size))


def names_of(learner):
    """Return the names of the features in their order."""
    return list(learner.names)


def scales_of(learner):
    """Return what a learner divides the features by, and of how many values each scale is made."""
    used = used_columns(learner)
    scale = learner.running_scale
    state = scale.state[1:, :3] if scale.kind == "standard" else scale.state
    return state[used[: len(used) - learner.config.intercept]]


def scores_of(learner, x):
    """Return the scores of rows: (rows,) for a binary learner, else (rows, classes)."""
    return learner.scores(x)


def margin_variances_of(learner, x):
    """Return the variances of these scores, in the same shape."""
    return learner.margin_variances(x)


def support_of(learner):
    """Return how many examples the support of a kernel learner has."""
    return learner.support.count


def dual_coefficients_of(learner):
    """Return the mean of a kernel learner as a combination of its support."""
    dual = learner.dual_coefficients()
    return dual[0] if learner.is_binary else dual


def inner_stream(model):
    """Return the stream inside a class for River, or the stream itself."""
    return getattr(model, "_model", model)


def inner_learner(model):
    """Return the learner inside a stream or a class for River."""
    return inner_stream(model)._classifier.learner


def classifier(name, **settings):
    """Make the scikit-learn estimator of that name; it learns in the given order unless `settings` say otherwise."""
    return getattr(scwlearn, name)(**{"shuffle": False} | settings)


def stream(rule, **settings):
    """Make a classifier of streams."""
    return StreamClassifier(rule, **settings)


def river_classifier(name, **settings):
    """Make the class for River of that name."""
    from scwlearn import river

    return getattr(river, name)(**settings)


def grid(rule, cells, x, y, **how):
    """Learn a grid in one pass; return the learners."""
    return many.learn_grid(rule, cells, x, y, **how)


def grid_counts(rule, cells, x, y, **how):
    """Return what the learners of a grid go through: (cells, 3)."""
    return np.array([[c.seen, c.mistakes, c.updates] for c in many.count_grid(rule, cells, x, y, **how)])


def learn_together(learners, x, y, **how):
    """Let several learners learn from the same rows; return them."""
    many.learn_together(learners, x, y, **how)
    return learners


def merged(models, rule="auto", **how):
    """Merge models."""
    return scwlearn.merge(models, rule, **how)


def calibration(**how):
    """Make a curve from the scores of two classes to probabilities."""
    return Calibration(**how)


def class_calibration(n_classes, **how):
    """Make a curve from the scores of several classes to probabilities."""
    return Calibration(n_classes, **how)


def class_calibration_from_two(curve, n_classes):
    """Make a curve for several classes that goes on from one for two."""
    return curve.expanded(n_classes)


def calibrations_merged(curves, prior=None):
    """Merge curves of one kind."""
    return type(curves[0]).merged(curves, prior)


def learn_curve(curve, scores, variances, labels, weights=None):
    """Let a curve learn from rows."""
    numbers = np.asarray(labels)
    curve.learn(scores, variances, numbers == 1 if curve.n_scores == 1 else numbers, weights)


def learn_curve_one(curve, score, variance, number, weight):
    """Let a curve learn from a single row."""
    curve.learn_one(score, variance, number, weight)


def chances_of(curve, scores, variances):
    """Return the probabilities of rows."""
    return curve.probabilities(scores, variances)


def chance_of(curve, score, variance):
    """Return the probability of +1 for a single row."""
    return curve.probability(score, variance)


def curve_mirrored(curve):
    """Return the curve of two classes for labels of the other sign."""
    return curve.mirrored()


def curve_widened(curve, count):
    """Add classes to a curve."""
    curve.add_classes(count)


def curve_arranged(curve, places, n_classes):
    """Return a curve with its classes moved to `places` among `n_classes` classes."""
    return curve.arranged(places, n_classes)


def curve_of(curve):
    """Return the numbers that say what a curve looks like."""
    return np.concatenate([curve.slopes, curve.constants, curve.shifts, curve.limits])


def running_scale(kind):
    """Make a running scale."""
    return RunningScale(kind)


def scale_learned(scale, x, **how):
    """Let a running scale take in rows; return them as scaled on the way."""
    return scale.learn(x, **how).dense()


def scale_applied(scale, x):
    """Return the rows scaled by what a running scale has seen."""
    return scale.apply(x).dense()


def scale_state(scale):
    """Return the scale of each feature and of how many values it is made."""
    return scale.state


def data_set(name):
    """Load a data set that needs no file: rows and labels -1 and +1."""
    found = load_set(name)
    return found.x, found.y


def libsvm_lines(lines, n_features):
    """Read lines of LIBSVM text: a CSR matrix and the labels."""
    return load_libsvm(io.BytesIO(b"".join(lines)), n_features=n_features)


def save(model, path):
    """Save a model."""
    scwlearn.save(model, path)


def load(path):
    """Load a model."""
    return scwlearn.load(path)


def command(*arguments):
    """Run the command line; return what it prints on standard output."""
    from scwlearn.cli.app import run

    with redirect_stdout(io.StringIO()) as out:
        code = run([*map(str, arguments)])
    if code != 0:
        raise RuntimeError(f"scwlearn {' '.join(map(str, arguments))}: exit code {code}")
    return out.getvalue()


# ---------------------------------------------------------------------------------------------------------------------
# Results and their digests.
# ---------------------------------------------------------------------------------------------------------------------

#: Where the data sets are that are not part of the project.
DATA = Path(os.environ.get("SCWLEARN_DATA", Path(__file__).parents[3] / "shared" / "data"))
MODELS = Path(__file__).parents[1] / "files" / "models"

#: The areas by name, each with functions that yield the name of a case and its result: numbers, arrays and text.
AREAS = {}
#: Areas that read a file, and the place of that file below DATA.
NEEDS = {}


def area(name, *, file=None):
    """Make a function part of an area, which may need a file."""

    def register(function):
        AREAS.setdefault(name, []).append(function)
        if file is not None:
            NEEDS[name] = file
        return function

    return register


def is_there(name):
    """Tell whether an area has the data that it needs."""
    return name not in NEEDS or (DATA / NEEDS[name]).is_file()


@dataclass(frozen=True)
class Near:
    """Numbers that go through BLAS, LAPACK, sums of NumPy or exp and log, whose last bits depend on the processor.

    Where a sample is not wanted, rounding may lead to other numbers altogether; they are the same on one machine only.
    """

    value: np.ndarray
    sampled: bool = True


def near(value):
    """Mark numbers as the same on all processors to rounding only."""
    return Near(np.asarray(value, dtype=np.float64))


def local(value):
    """Mark numbers as the same on one machine only."""
    return Near(np.asarray(value.value if isinstance(value, Near) else value), sampled=False)


def all_near(result):
    """Mark all numbers of a result that are not whole."""
    return {
        entry: near(value) if not isinstance(value, Near) and np.asarray(value).dtype.kind == "f" else value
        for entry, value in result.items()
    }


def all_local(result):
    """Mark a whole result as the same on one machine only."""
    return {entry: local(value) for entry, value in result.items()}


def digest(value):
    """Return the first 16 hexadecimal digits of the sha256 of a value, the same for equal numbers of any type."""
    array = np.asarray(value)
    if isinstance(value, str):
        content = value.encode()
    elif array.dtype.kind in "biu":
        content = array.astype("<i8").tobytes()
    elif array.dtype.kind == "f":
        # 0.0 is added so that -0.0 is 0.0; every NaN is the same one.
        numbers = array.astype("<f8") + 0.0
        content = np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes()
    else:
        content = json.dumps(array.tolist(), ensure_ascii=False).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def sample(numbers):
    """Return up to 4 numbers that stand for an array: the first, the middle, the last and the root mean square."""
    flat = np.nan_to_num(np.asarray(numbers, dtype=np.float64).ravel(), posinf=1e3, neginf=-1e3)
    if len(flat) > 4:
        flat = np.append(flat[[0, len(flat) // 2, -1]], np.sqrt(np.square(flat).mean()))
    return [float(f"{number:.8g}") + 0.0 for number in flat.tolist()]


def entry_of(value):
    """Return the digest of a value; where it is near, a list with a sample behind it."""
    if not isinstance(value, Near):
        return digest(value)
    return [digest(value.value), *(sample(value.value) if value.sampled else ())]


def digests(name):
    """Compute the digests of an area by case and entry."""
    found = {}
    for case, result in itertools.chain.from_iterable(function() for function in AREAS[name]):
        if case in found:
            raise ValueError(f"{name} has two cases of the name {case!r}")
        found[case] = {entry: entry_of(value) for entry, value in result.items()}
    return found


def exactly(found, expected):
    """Tell whether two digests are of the same numbers, to the last bit."""
    return _exact(found) == _exact(expected)


def _exact(entry):
    return entry[0] if isinstance(entry, list) else entry


def differences(found, expected, *, same=exactly):
    """List where the digests of an area differ from those expected, as `same` tells of two entries."""
    lines = []
    for case in dict.fromkeys([*expected, *found]):
        if case not in found or case not in expected:
            lines.append(f"{case}: {'missing' if case in expected else 'not expected'}")
            continue
        for entry in dict.fromkeys([*expected[case], *found[case]]):
            one, other = found[case].get(entry), expected[case].get(entry)
            if one is None or other is None or not same(one, other):
                lines.append(f"{case}: {entry} is {one}, expected {other}")
    return lines


def dump(everything, path):
    """Write digests as JSON, a line for each case."""
    areas = []
    for name, cases in everything.items():
        lines = [f"{json.dumps(case)}: {json.dumps(entries, separators=(',', ':'))}" for case, entries in cases.items()]
        areas.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    Path(path).write_text("{\n" + ",\n".join(areas) + "\n}\n")


# ---------------------------------------------------------------------------------------------------------------------
# Data: made of uniform numbers by single additions and multiplications, which are the same on all machines.
# ---------------------------------------------------------------------------------------------------------------------

WORDS = ("sun", "rain", "snow", "wind", "fog", "hail", "dew", "frost", "storm", "cloud")
LABELS = np.array(["pear", "apple", "quince", "fig", "plum", "lime", "date", "kiwi", "sloe", "melon", "guava"])


def uniform(seed, *shape):
    """Draw numbers between 0 and 1."""
    return np.random.default_rng(seed).random(shape)


def permutation(seed, count):
    """Draw an order of so many rows."""
    return np.argsort(uniform(seed, count), kind="stable")


def draw_rows(seed, count, width, density=0.6):
    """Draw rows of numbers between -2 and 2 with zeros among them, but none that is all zero."""
    values, kept = uniform(seed, 2, count, width)
    x = np.where(kept < density, 4.0 * values - 2.0, 0.0)
    x[np.arange(count), np.arange(count) % width] += 0.5
    return x


def hidden_scores(x, seed, classes):
    """Multiply rows by hidden weights, feature by feature."""
    hidden = 2.0 * uniform(seed, classes, x.shape[1]) - 1.0
    scores = np.zeros((len(x), classes))
    for j in range(x.shape[1]):
        scores += x[:, j : j + 1] * hidden[:, j]
    return scores


def draw_binary(seed=1, count=120, width=8, density=0.6, noise=0.1):
    """Draw rows and labels -1 and +1."""
    x = draw_rows(seed, count, width, density)
    y = np.where(hidden_scores(x, seed + 1, 1)[:, 0] >= 0, 1, -1)
    return x, np.where(uniform(seed + 2, count) < noise, -y, y)


def draw_classes(classes, seed=11, count=150, width=8, density=0.6, noise=0.1):
    """Draw rows and class numbers; each class first comes where all before it have come."""
    x = draw_rows(seed, count, width, density)
    y = hidden_scores(x, seed + 1, classes).argmax(axis=1)
    other = (uniform(seed + 3, count) * classes).astype(int)
    y = np.where(uniform(seed + 2, count) < noise, other, y)
    places = (np.arange(classes) * max(1, count // (2 * classes))).tolist()
    numbers, known = y.copy(), 0
    for i in range(count):
        if known < classes and i == places[known]:
            numbers[i], known = known, known + 1
        numbers[i] %= known
    return x, numbers


def draw_dicts(count=90, seed=31, labels=LABELS[:4]):
    """Draw dicts of numbers, words and bags of words, and their labels; the third class comes late."""
    x = draw_rows(seed, count, 6, 0.5)
    scores = hidden_scores(x, seed + 1, len(labels))
    drawn = uniform(seed + 2, count, 4)
    examples, told = [], []
    for i in range(count):
        known = min(len(labels), 1 + (i > 2) + (i > count // 2) + (i > 2 * count // 3))
        example = {f"x{j}": float(x[i, j]) * 10.0 ** (j % 3) for j in range(6) if x[i, j]}
        example["weather"] = WORDS[int(drawn[i, 0] * len(WORDS))]
        example["words"] = [WORDS[(i + k) % len(WORDS)] for k in range(1 + int(drawn[i, 1] * 3))] + ["and", "and"]
        example["page"] = (f"page {i // 8}",)
        example["count"] = int(drawn[i, 2] * 5)
        example["odd"] = bool(i % 2)
        examples.append(example)
        told.append(str(labels[int(scores[i, :known].argmax())]))
    return examples, told


def weights_for(count):
    """Return weights of rows, some of them 0."""
    return np.resize([1.0, 0.5, 2.0, 0.0, 1.5, 0.25, 3.0], count)


def is_second(rule):
    """Tell whether a rule, by name, is one of second order."""
    return rule in SECOND_ORDER


def diagonal_for(rule):
    """Return the smallest covariance that a rule learns."""
    return "diagonal" if is_second(rule) else "identity"


def csr(x, index=np.int32, dtype=np.float64):
    """Return rows as a CSR matrix with indices of that type."""
    made = sparse.csr_array(x.astype(dtype))
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return made


def unsorted_csr(x):
    """Return rows as a CSR matrix with the features of each row in reverse, the first of them in two parts."""
    values, indices, offsets = [], [], [0]
    for row in x:
        features = np.flatnonzero(row)[::-1]
        values += [*row[features[:1]] * 0.5, *row[features[:1]] * 0.5, *row[features[1:]]]
        indices += [*features[:1], *features]
        offsets.append(len(values))
    return sparse.csr_array((values, np.array(indices, np.int32), np.array(offsets, np.int32)), shape=x.shape)


def stretched(x, width):
    """Return rows as a CSR matrix with so many features, the last of which no row has."""
    rows = csr(x)
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(len(x), width))


def libsvm_text(x, labels):
    """Spell rows as LIBSVM text."""
    return "".join(
        f"{label} " + " ".join(f"{j + 1}:{float(row[j])!r}" for j in np.flatnonzero(row)) + "\n"
        for row, label in zip(x, labels, strict=True)
    )


FORMATS = {
    "float32": lambda x: x.astype(np.float32),
    "by columns": np.asfortranarray,
    "CSR int32": csr,
    "CSR int64": lambda x: csr(x, np.int64),
    "CSR float32": lambda x: csr(x, dtype=np.float32),
    "CSC": sparse.csc_array,
    "CSR unsorted": unsorted_csr,
}


def known_of(learner, x, *, looks=True):
    """Return all that a linear learner knows, and what it says of rows, with how unsure it is unless told otherwise."""
    kind, variances = covariance_of(learner), variances_of(learner)
    result = {"counts": counts_of(learner), "weights": weights_of(learner), "scores": scores_of(learner, x)}
    if kind != "identity":
        result["variances"] = near(variances) if kind == "full" else variances
        if looks:
            result["margin variances"] = near(margin_variances_of(learner, x))
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Two classes.
# ---------------------------------------------------------------------------------------------------------------------


@area("two classes, rules")
def binary_rules():
    """Learn by each rule with each covariance, with and without a constant."""
    x, y = draw_binary()
    settings = [
        *itertools.product(FIRST_ORDER, ["identity"]),
        *itertools.product(["pa1", "aggressive_romma"], COVARIANCES[1:]),
        *itertools.product(SECOND_ORDER, COVARIANCES),
        *itertools.product(VARIANTS, COVARIANCES[1:]),
    ]
    for (rule, covariance), intercept in itertools.product(settings, (False, True)):
        learner = learn(binary_learner(rule, covariance=covariance, intercept=intercept), x[:60], y[:60])
        rounds = trace(learner, x[60:100], y[60:100])
        yield f"{rule} {covariance}{' intercept' * intercept}", {"trace": rounds, **known_of(learner, x[90:])}


SETTINGS = {
    "floor": ({"variance_floor": 0.2}, ()),
    "scale": ({"scale": "rms"}, ()),
    "standard": ({"scale": "standard"}, ()),
    "unit": ({"scale": "unit"}, ("order",)),
    "weights": ({}, ("weights",)),
    "order": ({"initial_variance": 2.5}, ("order",)),
    "all": (
        {"variance_floor": 0.1, "scale": "rms", "intercept": True, "initial_variance": 0.5},
        ("weights", "order"),
    ),
}


def settings_of(rule, name):
    """Return the settings of that name as a rule takes them, and how rows are learned from: None if it takes none."""
    settings, given = dict(SETTINGS[name][0]), SETTINGS[name][1]
    if not is_second(rule):
        settings.pop("variance_floor", None)
        if not settings and not given:
            return None
    return settings, lambda count: {
        **({"weights": weights_for(count)} if "weights" in given else {}),
        **({"order": permutation(7, count)} if "order" in given else {}),
    }


@area("two classes, settings")
def binary_settings():
    """Learn by each rule with a floor, a scale, weights, an order, and all of them."""
    x, y = draw_binary(seed=2)
    sizes = np.array([1.0, 100.0, 0.01, 1.0, 30.0, 1.0, 1.0, 5.0])
    for rule in RULES:
        for covariance in ("diagonal", "diagonal-drop", "full") if is_second(rule) else ("identity",):
            for name in SETTINGS:
                if (found := settings_of(rule, name)) is None:
                    continue
                settings, how = found
                rows = x * sizes if "scale" in settings else x
                learner = binary_learner(rule, covariance=covariance, **settings)
                learn(learner, rows[:70], y[:70], **how(70))
                rounds = trace(learner, rows[70:100], y[70:100], **how(30))
                result = {"trace": rounds, **known_of(learner, rows[90:], looks=False)}
                if "scale" in settings and rule in ("scw1", "pa1"):
                    result["scales"] = scales_of(learner)
                yield f"{rule} {covariance} {name}", result


@area("two classes, rules")
def binary_parameters():
    """Learn with parameters other than the default ones, and change them on the way."""
    x, y = draw_binary(seed=3)
    for rule in RULES.values():
        for factor in (0.6, 1.1) if rule.parameters else ():
            own = {p.name: min(p.default * factor, (p.default + p.high) / 2) for p in rule.parameters}
            own = {p.name: max(own[p.name], (p.default + p.low) / 2) for p in rule.parameters}
            for covariance in (diagonal_for(rule.name), "full"):
                learner = learn(binary_learner(rule.name, covariance=covariance, **own), x[:60], y[:60])
                result = known_of(learner, x[90:], looks=False)
                other = learn(with_parameters(learner, **{p.name: p.default for p in rule.parameters}), x[60:], y[60:])
                result["changed"] = weights_of(other)
                yield f"{rule.name} {covariance} parameters {factor}", result


@area("two classes, rows")
def binary_rows():
    """Learn from rows of each kind, one by one, in batches, and while features are added."""
    x, y = draw_binary(seed=4, width=9)
    kinds = [
        *itertools.product(["scw1", "arow"], ["diagonal", "diagonal-drop", "full"]),
        ("nherd", "full"),
        ("pa1", "identity"),
        ("romma", "identity"),
    ]
    for rule, covariance in kinds:

        def new(rule=rule, covariance=covariance):
            return binary_learner(rule, covariance=covariance, intercept=True)

        for name, as_rows in FORMATS.items():
            learner = learn(new(), as_rows(x[:70]), y[:70])
            learn(learner, as_rows(x[70:90]), y[70:90], order=permutation(8, 20), weights=weights_for(20))
            yield f"{rule} {covariance} {name}", known_of(learner, as_rows(x[85:]))
        learner = new()
        before = [
            learn_one(learner, row, label, w) for row, label, w in zip(x[:60], y[:60], weights_for(60), strict=True)
        ]
        result = {"before": np.array(before), "one": np.array([score_one(learner, row) for row in x[100:]])}
        yield f"{rule} {covariance} one by one", {**result, **known_of(learner, x[90:])}
        learner = learn(new(), x[:33, :5], y[:33])
        widen(learner, 9)
        for start in range(33, 90, 7):
            learn(learner, x[start : start + 7], y[start : start + 7])
        yield f"{rule} {covariance} widened", known_of(learner, x[90:])
        yield f"{rule} {covariance} LIBSVM", known_of(learn_libsvm(new(), libsvm_text(x, y)), csr(x[90:]))


def soft(margin, variance):
    """Step as AROW does, as a rule of a user's own."""
    return (0.0, 0.0) if margin >= 1 else ((1 - margin) / (variance + 1), 1 / (variance + 1))


@area("two classes, rows")
def binary_wide():
    """Learn with many features in blocks and threads, by a rule in Python, and with the covariance left open."""
    wide = draw_binary(seed=5, count=70, width=340)
    thin = draw_binary(seed=6, count=90, width=340, density=0.02)
    wider = draw_binary(seed=7, count=70, width=420, density=0.01)
    for rule in ("scw1", "scw2", "arow", "cw", "iellip", "second_order_perceptron"):
        for name, (x, y), as_rows in (
            ("dense", wide, np.asarray),
            ("CSR", wide, csr),
            ("few values", thin, csr),
            ("more features", wider, csr),
        ):
            learner = binary_learner(rule, covariance="full", intercept=name == "CSR")
            learn(learner, as_rows(x[:50]), y[:50])
            rounds = trace(learner, as_rows(x[50:]), y[50:], weights=weights_for(len(y) - 50))
            yield f"{rule} {name}", {"trace": rounds, **known_of(learner, as_rows(x[40:]))}
    x, y = draw_binary(seed=8, count=40, width=1510)
    yield "scw1 1510 features", known_of(learn(binary_learner("scw1", covariance="full"), x, y), x[:10])
    x, y = draw_binary(seed=9)
    for covariance in COVARIANCES:
        learner = learn(binary_learner(soft, covariance=covariance, intercept=True), x[:60], y[:60])
        yield f"own rule {covariance}", {"trace": trace(learner, x[60:90], y[60:90]), **known_of(learner, x[90:])}
    for rule in ("scw1", "cw", "pa1"):
        for name, rows in (("few features", x), ("many features", stretched(x, 600))):
            learner = learn(binary_learner(rule), rows[:60], y[:60])
            yield f"{rule} auto {name}", {"kind": covariance_of(learner), **known_of(learner, rows[90:])}
    learner = learn(binary_learner("scw2", covariance="full", intercept=True), x, y)
    yield "Sigma", {"Sigma": near(sigma_of(learner))}


# ---------------------------------------------------------------------------------------------------------------------
# Several classes.
# ---------------------------------------------------------------------------------------------------------------------

JOINT, OVR, SHARED = {"multi_class": "joint"}, {"multi_class": "ovr"}, {"shared_covariance": True}
WAYS = {"joint": JOINT, "ovr": OVR, "shared": SHARED}


def ways_of(rule):
    """Return the ways in which a rule learns several classes, by name."""
    return WAYS if is_second(rule) else {"joint": JOINT, "ovr": OVR}


def taught_classes(learner, x, y, classes, how=lambda count: {}, *, looks=True):
    """Let a learner learn from all rows but the last 20; return all that it knows, and what it saw before."""
    half, end = len(y) // 2, len(y) - 20
    learn(learner, x[:half], y[:half], **how(half))
    before = looks_before(learner, x[half:end], y[half:end], classes, **how(end - half))
    return {"before": before, **known_of(learner, x[end:], looks=looks)}


@area("several classes, rules")
def several_rules():
    """Learn several classes by each rule, jointly and each against the rest, with a covariance of its own or shared."""
    for classes in (2, 3, 5, 11):
        x, y = draw_classes(classes)
        # Half of them know all classes from the start, half meet them one by one.
        how = {"n_classes": classes if classes in (2, 5) else 0, "intercept": classes in (3, 5)}
        for rule in RULES:
            for way, settings in ways_of(rule).items():
                learner = several_learner(rule, covariance=diagonal_for(rule), **how, **settings)
                yield f"{rule} {way} {classes} classes", taught_classes(learner, x, y, classes)


@area("several classes, covariances")
def several_covariances():
    """Learn several classes by each rule with each covariance; with each kind of rivals."""
    x, y = draw_classes(3, seed=12)
    for rule in SECOND_ORDER:
        for way, covariance in itertools.product(WAYS, ("identity", "diagonal-drop", "full")):
            learner = several_learner(rule, covariance=covariance, intercept=way == "ovr", **WAYS[way])
            yield f"{rule} {way} {covariance}", taught_classes(learner, x, y, 3)
    for way, covariance in itertools.product(("joint", "ovr"), COVARIANCES[1:]):
        learner = several_learner("pa2", covariance=covariance, **WAYS[way])
        yield f"pa2 {way} {covariance}", taught_classes(learner, x, y, 3)
    for classes in (2, 3, 5, 11):
        x, y = draw_classes(classes, seed=13)
        for rivals, known in itertools.product(("uniform", "proportional"), (0, classes)):
            learner = several_learner("perceptron", known, rivals=rivals, intercept=True)
            yield f"perceptron {rivals} {classes} classes, {known} known", taught_classes(learner, x, y, classes)
    x, y = draw_classes(11, seed=14, count=200)
    for rule, way in itertools.product(("scw1", "arow", "nherd"), WAYS):
        learner = several_learner(rule, covariance="full", **WAYS[way])
        yield f"{rule} {way} full 11 classes", taught_classes(learner, x, y, 11)


@area("several classes, settings")
def several_settings():
    """Learn several classes with a floor, a scale, weights, an order, and all of them."""
    x, y = draw_classes(4, seed=15)
    sizes = np.array([1.0, 100.0, 0.01, 1.0, 30.0, 1.0, 1.0, 5.0])
    kinds = [
        *((rule, "diagonal") for rule in SECOND_ORDER),
        *((rule, "full") for rule in ("scw1", "nherd", "iellip")),
        ("cw", "diagonal-drop"),
        *((rule, "identity") for rule in ("perceptron", "romma", "pa1")),
    ]
    for rule, covariance in kinds:
        for (way, several), name in itertools.product(ways_of(rule).items(), SETTINGS):
            if (found := settings_of(rule, name)) is None:
                continue
            settings, how = found
            rows = x * sizes if "scale" in settings else x
            # An order may bring a class before its turn, and a weight of 0 may leave its first row out.
            learner = several_learner(rule, 4, covariance=covariance, **several, **settings)
            result = taught_classes(learner, rows, y, 4, how, looks=False)
            if "scale" in settings and rule in ("scw1", "pa1"):
                result["scales"] = scales_of(learner)
            yield f"{rule} {way} {covariance} {name}", result


@area("several classes, rows")
def several_rows():
    """Learn several classes from rows of each kind, one by one, and while features and classes are added."""
    x, y = draw_classes(5, seed=16, width=9)
    kinds = [
        ("scw1", "diagonal", "joint"),
        ("scw1", "diagonal", "shared"),
        ("scw1", "full", "joint"),
        ("arow", "diagonal", "ovr"),
        ("arow", "full", "shared"),
        ("nherd", "full", "ovr"),
        ("pa1", "identity", "joint"),
        ("romma", "identity", "joint"),
        ("romma", "identity", "ovr"),
    ]
    for rule, covariance, way in kinds:

        def new(n_classes=0, rule=rule, covariance=covariance, way=way):
            return several_learner(rule, n_classes, covariance=covariance, intercept=True, **WAYS[way])

        title = f"{rule} {way} {covariance}"
        for name, as_rows in FORMATS.items():
            learner = learn(new(5), as_rows(x[:90]), y[:90])
            learn(learner, as_rows(x[90:120]), y[90:120], order=permutation(9, 30), weights=weights_for(30))
            yield f"{title} {name}", known_of(learner, as_rows(x[130:]))
        learner = new()
        before = [np.resize(learn_one(learner, row, label), 5) for row, label in zip(x[:90], y[:90], strict=True)]
        result = {"before": np.array(before), "one": np.array([score_one(learner, row) for row in x[130:]])}
        yield f"{title} one by one", {**result, **known_of(learner, x[130:])}
        learner = learn(new(), x[:50, :5], y[:50])
        widen(learner, 9)
        add_classes(learner, 2)
        for start in range(50, 120, 7):
            learn(learner, x[start : start + 7], y[start : start + 7])
        # The learner may know more classes than have come; the next one is the one after those.
        known = weights_of(learner).shape[0]
        learn(learner, x[120:130], np.resize([0, known, 1, known + 1], 10))
        yield f"{title} widened", known_of(learner, x[130:])


@area("several classes, rows")
def several_from_two():
    """Go on from a binary learner when a third class comes, by each rule."""
    x, y = draw_classes(3, seed=17)
    two = y < 2
    for rule in RULES:
        for way, settings in ways_of(rule).items():
            for covariance in ("diagonal", "full") if is_second(rule) else ("identity",):
                binary = binary_learner(rule, covariance=covariance, intercept=True)
                learn(binary, x[:60][two[:60]], np.where(y[:60][two[:60]] == 1, 1, -1))
                learner = several_from_binary(binary, **settings)
                result = {"weights before": weights_of(learner)}
                learn(learner, x[60:], y[60:])
                yield f"{rule} {way} {covariance} from two", {**result, **known_of(learner, x[:20], looks=False)}


@area("several classes, rows")
def several_wide():
    """Learn several classes with many features in blocks and threads, and by a rule in Python."""
    x, y = draw_classes(4, seed=18, count=150, width=210, density=0.3)
    for rule, way in itertools.product(("scw1", "arow", "nherd", "iellip"), WAYS):
        for name, as_rows in (("dense", np.asarray), ("CSR", csr)):
            learner = several_learner(rule, 4, covariance="full", **WAYS[way])
            learn(learner, as_rows(x[:70]), y[:70], weights=weights_for(70))
            learn(learner, as_rows(x[70:140]), y[70:140])
            yield f"{rule} {way} {name}", known_of(learner, as_rows(x[140:]))
    x, y = draw_classes(3, seed=19, count=60, width=330)
    for way in WAYS:
        learner = several_learner("scw1", covariance="full", **WAYS[way])
        yield f"scw1 {way} 330 features", known_of(learn(learner, x[:50], y[:50]), x[50:])
    x, y = draw_classes(3, seed=20)
    for way, covariance in itertools.product(WAYS, COVARIANCES):
        learner = several_learner(soft, covariance=covariance, **WAYS[way])
        yield f"own rule {way} {covariance}", known_of(learn(learner, x[:130], y[:130]), x[130:])
    for rule in ("scw1", "cw", "pa1"):
        learner = learn(several_learner(rule), x[:130], y[:130])
        yield f"{rule} auto", {"kind": covariance_of(learner), **known_of(learner, x[130:])}


# ---------------------------------------------------------------------------------------------------------------------
# Kernels.
# ---------------------------------------------------------------------------------------------------------------------

KERNELS = {
    "rbf": {"kernel": "rbf", "kernel_parameters": {"gamma": 0.25}},
    "poly": {"kernel": "poly", "kernel_parameters": {"gamma": 0.25, "degree": 2.0, "coef0": 1.0}},
    "linear": {"kernel": "linear"},
    "precomputed": {"kernel": "precomputed"},
    "laplacian": {"kernel": "laplacian", "kernel_parameters": {"gamma": 0.2}},
}


def kernel_matrix(x):
    """Compute the polynomial kernel (1 + x.z/4)^2 of all pairs, feature by feature."""
    products = np.zeros((len(x), len(x)))
    for j in range(x.shape[1]):
        products += x[:, j : j + 1] * x[:, j]
    sums = 1.0 + 0.25 * products
    return sums * sums


def kernel_known(learner, x, *, kernel="rbf"):
    """Return all that a kernel learner knows, and what it says of rows."""
    result = {
        "counts": counts_of(learner),
        "support": support_of(learner),
        "weights": dual_coefficients_of(learner),
        "scores": scores_of(learner, x),
    }
    if kernel != "precomputed":
        result["margin variances"] = margin_variances_of(learner, x)
    if kernel not in ("rbf", "laplacian"):
        # The space has few dimensions: rounding decides whether one example more is a combination of the others.
        result |= {entry: local(result[entry]) for entry in ("support", "weights")}
    return all_near(result)


@area("kernels, two classes")
def binary_kernels():
    """Learn two classes by each rule with kernels, with and without a budget."""
    x, y = draw_binary(seed=21, count=150, width=5, density=1.0)
    for rule in RULES:
        for budget in (None, 10):
            learner = kernel_learner(rule, budget=budget, intercept=budget is None, **KERNELS["rbf"])
            learn(learner, x[:100], y[:100])
            rounds = trace(learner, x[100:140], y[100:140], weights=weights_for(40))
            yield f"{rule} rbf budget {budget}", {"trace": near(rounds), **kernel_known(learner, x[130:])}
    for rule, kernel in itertools.product(("perceptron", "romma", "pa2", "arow", "cw", "scw1"), list(KERNELS)[1:]):
        for budget in (None, 8):
            learner = kernel_learner(rule, budget=budget, initial_variance=0.5, **KERNELS[kernel])
            if kernel == "precomputed":
                learn(learner, kernel_matrix(x), y, order=permutation(22, len(y)))
                result = kernel_known(learner, kernel_matrix(x)[:20], kernel=kernel)
            else:
                learn(learner, x[:70], y[:70], order=permutation(22, 70))
                result = kernel_known(learn(learner, csr(x[70:130]), y[70:130]), x[130:], kernel=kernel)
            yield f"{rule} {kernel} budget {budget}", result
    for rule in ("arow", "nherd", "scw2"):
        learner = kernel_learner(rule, variance_floor=0.2, tolerance=1e-3, **KERNELS["rbf"])
        learn(learner, x.astype(np.float32)[:140], y[:140], weights=weights_for(140))
        yield f"{rule} floor", kernel_known(learner, x[130:])


@area("kernels, several classes")
def several_kernels():
    """Learn several classes by each rule with kernels, with and without a budget."""
    x, y = draw_classes(3, seed=23, count=150, width=5, density=1.0)
    for rule, way in itertools.product(RULES, ("joint", "ovr")):
        for budget in (None, 12):
            learner = kernel_several_learner(
                rule, budget=budget, intercept=budget is None, **WAYS[way], **KERNELS["rbf"]
            )
            learn(learner, x[:100], y[:100])
            before = looks_before(learner, x[100:140], y[100:140], 3, weights=weights_for(40))
            yield f"{rule} {way} budget {budget}", {"before": near(before), **kernel_known(learner, x[130:])}
    for kernel, way in itertools.product(list(KERNELS)[1:], ("joint", "ovr")):
        for rule in ("pa1", "scw1"):
            learner = kernel_several_learner(rule, 3, initial_variance=0.5, **WAYS[way], **KERNELS[kernel])
            if kernel == "precomputed":
                learn(learner, kernel_matrix(x), y, order=permutation(24, len(y)))
                result = kernel_known(learner, kernel_matrix(x)[:20], kernel=kernel)
            else:
                learn(learner, csr(x[:70]), y[:70], order=permutation(24, 70))
                result = kernel_known(learn(learner, x[70:130], y[70:130]), x[130:], kernel=kernel)
            yield f"{rule} {kernel} {way}", result
    for rule, way in itertools.product(("pa1", "arow", "scw1"), ("joint", "ovr")):
        binary = kernel_learner(rule, **KERNELS["rbf"])
        learn(binary, x[:60][y[:60] < 2], np.where(y[:60][y[:60] < 2] == 1, 1, -1))
        learner = several_from_binary(binary, **WAYS[way])
        yield f"{rule} {way} from two", kernel_known(learn(learner, x[60:130], y[60:130]), x[130:])
    x, y = draw_classes(11, seed=25, count=150, width=5, density=1.0)
    for rivals in ("max", "uniform", "proportional"):
        learner = kernel_several_learner("perceptron", rivals=rivals, **KERNELS["rbf"])
        yield f"perceptron {rivals} 11 classes", kernel_known(learn(learner, x[:130], y[:130]), x[130:])
    for rule, way in itertools.product(("arow", "scw1"), ("joint", "ovr")):
        learner = kernel_several_learner(rule, variance_floor=0.1, **WAYS[way], **KERNELS["rbf"])
        learn(learner, x[:120], y[:120])
        add_classes(learner, 1)
        yield f"{rule} {way} floor 11 classes", kernel_known(learn(learner, x[120:130], y[120:130]), x[130:])


# ---------------------------------------------------------------------------------------------------------------------
# Estimators, streams and the classes for River.
# ---------------------------------------------------------------------------------------------------------------------


def estimator_known(model, x):
    """Return all that an estimator knows, and what it says of rows."""
    result = {
        "counts": [model.n_seen_, model.n_mistakes_, model.n_updates_],
        "classes": [str(label) for label in model.classes_.tolist()],
        "scores": model.decision_function(x),
        "labels": [str(label) for label in model.predict(x).tolist()],
        "probabilities": near(model.predict_proba(x)),
    }
    if hasattr(model, "dual_coef_"):
        inside = {"support": model.n_support_, "weights": model.dual_coef_}
        return all_near({**result, **(inside if model.kernel == "rbf" else all_local(inside))})
    result |= {"weights": model.coef_, "constants": model.intercept_}
    if hasattr(model, "variance_"):
        full = model.covariance_kind_ == "full"
        result["variances"] = near(model.variance_) if full else model.variance_
        result["margin variances"] = near(model.margin_variance(x))
    return result


@area("estimators")
def estimators():
    """Fit the estimator of each rule to two and three classes, twice over, in random orders and in parts."""
    for rule in RULES.values():
        for classes in (2, 3):
            x, numbers = draw_classes(classes, seed=26)
            y = LABELS[numbers]
            model = classifier(rule.estimator, n_epochs=2, shuffle=True, random_state=3).fit(x[:130], y[:130])
            yield f"{rule.name} {classes} classes", estimator_known(model, x[130:])
            own = {"covariance": "diagonal"} if rule.order == 2 else {}
            model = classifier(rule.estimator, multi_class="ovr", scale="rms", **own)
            model.fit(csr(x[:130]), y[:130], sample_weight=weights_for(130))
            yield f"{rule.name} {classes} classes, CSR, scale, weights", estimator_known(model, x[130:])


@area("estimators")
def estimators_in_parts():
    """Let estimators meet classes one after the other, weigh them, and explain what was learned."""
    x, numbers = draw_classes(5, seed=27)
    y = LABELS[numbers]
    cases = {
        "scw1": {},
        "scw1 diagonal": {"covariance": "diagonal"},
        "scw1 ovr": {"multi_class": "ovr", "covariance": "diagonal"},
        "arow shared": {"shared_covariance": True, "covariance": "diagonal", "variance_floor": 0.1},
        "arow full shared": {"shared_covariance": True, "covariance": "full"},
        "cw drop": {"covariance": "diagonal-drop", "fit_intercept": False},
        "nherd scale": {"scale": "rms", "covariance": "diagonal"},
        "perceptron": {"rivals": "proportional"},
        "romma": {},
        "pa1": {"C": 0.1},
    }
    weights = {"none": None, "given": {"pear": 0.5, "quince": 3.0, "fig": 0}, "balanced": "balanced"}
    for (name, settings), (weighed, class_weight) in itertools.product(cases.items(), weights.items()):
        rule = RULES[name.split()[0]]
        model = classifier(rule.estimator, class_weight=class_weight, **settings)
        for start in range(0, 130, 26):
            part = slice(start, start + 26)
            given = {"sample_weight": weights_for(26)} if start == 52 else {}
            model.partial_fit(x[part], y[part], **given)
        result = estimator_known(model, x[130:])
        parts = model.explain(x[140])
        result["explained"] = [f"{label} {part.name} {part.adds!r}" for label in parts for part in parts[label]]
        top = model.top_features(3)
        result["top"] = [f"{label} {found.name} {found.weight!r}" for label in top for found in top[label]]
        yield f"{name}, weights {weighed}", result
    for rule in ("scw1", "perceptron", "arow"):
        model = classifier(RULES[rule].estimator)
        model.partial_fit(x[:20], numbers[:20] % 2, classes=[0, 1])
        model.partial_fit(x[20:60], numbers[20:60] % 2)
        model.partial_fit(x[60:100], numbers[60:100] % 3, classes=[0, 1, 2, 7])
        yield f"{rule}, classes named", estimator_known(model, x[130:])


@area("kernel estimators")
def kernel_estimators():
    """Fit the kernel estimator of each rule to two and three classes."""
    for classes in (2, 3):
        x, numbers = draw_classes(classes, seed=28, count=110, width=5, density=1.0)
        y = LABELS[numbers]
        for rule in RULES.values():
            model = classifier(rule.kernel_estimator, shuffle=True, random_state=1, n_epochs=2).fit(x[:90], y[:90])
            yield f"{rule.name} {classes} classes", estimator_known(model, x[90:])
        for name, settings in {
            "budget": {"budget": 9, "gamma": 0.3},
            "ovr": {"multi_class": "ovr", "kernel": "poly", "degree": 2, "gamma": "auto"},
            "balanced": {"class_weight": "balanced", "kernel": "linear", "fit_intercept": False},
        }.items():
            for rule in ("scw1", "pa1"):
                model = classifier(RULES[rule].kernel_estimator, **settings)
                for start in range(0, 90, 30):
                    model.partial_fit(csr(x[start : start + 30]), y[start : start + 30])
                yield f"{rule} {name} {classes} classes in parts", estimator_known(model, x[90:])
        model = classifier("KernelSCW1", kernel="precomputed").fit(kernel_matrix(x), y)
        scores = near(model.decision_function(kernel_matrix(x)[:20]))
        yield f"scw1 precomputed {classes} classes", {"scores": scores, "support": model.support_}


def merged_known(model, examples):
    """Return all that a merged stream knows: a full covariance is merged by LAPACK."""
    return stream_known(model, examples, near_weights=covariance_of(inner_learner(model)) == "full")


def stream_known(model, examples, *, near_weights=False):
    """Return all that a stream knows, and what it says of dicts."""
    inside = inner_stream(model)
    learner = inner_learner(model)
    kind, weights, variances = covariance_of(learner), weights_of(learner), variances_of(learner)
    scores, tops = look_at_dicts(learner, examples)
    result = {
        "counts": counts_of(learner),
        "classes": [str(label) for label in inside.classes],
        "names": [str(name) for name in names_of(learner)],
        "weights": weights,
        "scores": scores,
        "labels": [str(label) for label in inside.predict_many(examples)],
        "probabilities": near(inside.predict_proba_many(examples)),
    }
    if kind != "identity":
        result["variances"] = near(variances) if kind == "full" else variances
        result["margin variances"] = tops
    return all_near(result) if near_weights else result


STREAMS = {
    "default": {},
    "scale": {"scale": "rms"},
    "drop": {"max_features": 16},
    "hash": {"max_features": 16, "overflow": "hash"},
    "standard": {"scale": "standard"},
    "unit": {"scale": "unit"},
    "scale, drop": {"scale": "rms", "max_features": 16},
    "standard, drop": {"scale": "standard", "max_features": 16},
    "scale, hash": {"scale": "rms", "max_features": 16, "overflow": "hash"},
    "full": {"covariance": "full"},
    "full, ovr, scale": {"covariance": "full", "multi_class": "ovr", "scale": "rms"},
    "ovr": {"multi_class": "ovr"},
    "shared": {"shared_covariance": True},
    "shared, full, drop": {"shared_covariance": True, "covariance": "full", "max_features": 16},
    "weights": {"class_weight": {"pear": 0.5, "quince": 3.0}},
    "no figs": {"class_weight": {"fig": 0, "apple": 2}},
    "balanced": {"class_weight": "balanced"},
    "balanced, scale, ovr": {"class_weight": "balanced", "scale": "rms", "multi_class": "ovr"},
    "floor": {"variance_floor": 0.1, "initial_variance": 2.0},
    "no constant": {"intercept": False},
    "diagonal-drop": {"covariance": "diagonal-drop"},
    "classes": {"classes": ["fig", "pear", "melon"]},
}
_OF_SECOND_ORDER = {"covariance", "shared_covariance", "variance_floor", "initial_variance"}


@area("streams")
def streams():
    """Learn dicts of numbers, words and bags as they come, bounded, scaled and weighed."""
    examples, told = draw_dicts()
    for rule, (name, settings) in itertools.product(("scw1", "arow", "pa2", "romma"), STREAMS.items()):
        if not is_second(rule) and _OF_SECOND_ORDER & set(settings):
            continue
        model = stream(rule, **settings)
        model.learn_many(examples[:30], told[:30], weights_for(30))
        for example, label, w in zip(examples[30:60], told[30:60], weights_for(30), strict=True):
            model.learn_one(example, label, w)
        model.learn_many(examples[60:80], told[60:80])
        # Where features are dropped, what is left of a full Sigma, and of a length, goes through LAPACK and BLAS.
        dropped = "drop" in name and (settings.get("covariance") == "full" or rule == "romma")
        result = stream_known(model, examples[70:], near_weights=dropped)
        if not dropped:
            parts, top = model.explain(examples[85]), model.top_features(3)
            result["explained"] = [f"{label} {part.name} {part.adds!r}" for label in parts for part in parts[label]]
            result["top"] = [f"{label} {found.name} {found.weight!r}" for label in top for found in top[label]]
        if settings.get("scale", "none") != "none":
            result["scales"] = scales_of(inner_learner(model))
        yield f"{rule} {name}", result


@area("streams")
def stream_rules():
    """Learn dicts by each rule, of two classes and of four, one by one and many at once."""
    for rule in RULES:
        for classes in (2, 4):
            examples, told = draw_dicts(labels=LABELS[:classes], seed=32)
            for name in ("one by one", "at once"):
                model = stream(rule)
                if name == "at once":
                    model.learn_many(examples[:70], told[:70])
                    chances = model.predict_proba_many(examples[70:])
                else:
                    for example, label in zip(examples[:70], told[:70], strict=True):
                        model.learn_one(example, label)
                    chances = [[*model.predict_proba_one(example).values()] for example in examples[70:]]
                result = stream_known(model, examples[70:])
                yield f"{rule} {classes} classes {name}", {**result, "probabilities": near(chances)}


@area("streams")
def learners_of_dicts():
    """Learn dicts without labels of their own, by learners for two classes and for several."""
    examples, told = draw_dicts(seed=33)
    numbers = np.array([list(dict.fromkeys(told)).index(label) for label in told])
    signs = np.where(numbers % 2 == 1, 1, -1)
    for rule, covariance in (
        ("scw2", "diagonal"),
        ("cw", "diagonal-drop"),
        ("arow", "full"),
        ("perceptron", "identity"),
    ):
        for overflow in (None, "drop", "hash"):
            own = {} if overflow is None else {"max_features": 14, "overflow": overflow}
            for title, learner, y in (
                ("two", binary_learner(rule, covariance=covariance, intercept=True, **own), signs),
                ("several", several_learner(rule, covariance=covariance, **own), numbers),
            ):
                before, variances = learn_dicts(learner, examples[:60], y[:60], weights_for(60))
                one = [np.resize(learn_one(learner, *pair), 4) for pair in zip(examples[60:75], y[60:75], strict=True)]
                scores, tops = look_at_dicts(learner, examples[75:])
                result = {
                    "counts": counts_of(learner),
                    "names": names_of(learner),
                    "weights": weights_of(learner),
                    "before": np.column_stack([before, variances]),
                    "one": np.array(one),
                    "scores": scores,
                    "margin variances": tops,
                }
                # Which of several features that are known alike is dropped, rounding decides.
                dropped = overflow == "drop" and covariance == "full"
                yield f"{rule} learner of {title}, overflow {overflow}", all_local(result) if dropped else result


@area("River")
def river_classes():
    """Learn dicts and data frames by the class for River of each rule."""
    import pandas as pd

    examples, told = draw_dicts(seed=34)
    x, numbers = draw_classes(3, seed=35, count=60)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    for rule in RULES.values():
        model = river_classifier(rule.estimator, scale="rms" if rule.order == 1 else "none")
        said = []
        for example, label in zip(examples[:70], told[:70], strict=True):
            said.append(str(model.predict_one(example)))
            model.learn_one(example, label)
        chances = [[*model.predict_proba_one(example).values()] for example in examples[70:]]
        result = {"said": said, **stream_known(model, examples[70:]), "probabilities": near(chances)}
        yield f"{rule.name} dicts", result
        model = river_classifier(rule.estimator, fit_intercept=False)
        model.learn_many(frame[:50], pd.Series(LABELS[numbers[:50]]), 2.0)
        yield (
            f"{rule.name} frame",
            {
                **stream_known(model, frame[50:].to_dict(orient="records")),
                "said": [str(label) for label in model.predict_many(frame[50:])],
                "chances": near(model.predict_proba_many(frame[50:]).to_numpy()),
            },
        )


# ---------------------------------------------------------------------------------------------------------------------
# Many models at once, and models made into one.
# ---------------------------------------------------------------------------------------------------------------------

CELLS = {
    "scw1": [{"C": C, "eta": eta} for C in (0.1, 1.0, 4.0) for eta in (0.6, 0.75, 0.9)],
    "scw2": [{"C": C} for C in (0.1, 0.5, 2.0, 8.0)],
    "cw": [{"eta": eta} for eta in (0.6, 0.7, 0.8, 0.9, 0.95)],
    "arow": [{"r": r} for r in (0.1, 1.0, 10.0)],
    "narow": [{"b": b} for b in (0.5, 1.0, 2.0)],
    "nherd": [{"C": C} for C in (0.1, 1.0)],
    "iellip": [{"b": b, "c": c} for b in (0.2, 0.6) for c in (0.1, 0.5)],
    "second_order_perceptron": [{}, {}, {}],
    "pa1": [{"C": C} for C in (0.01, 0.1, 1.0, 10.0)],
    "pa2": [{"C": C} for C in (0.01, 1.0, 10.0)],
    "perceptron": [{}, {}, {}],
    "romma": [{}, {}, {}],
}


def grid_known(learners, x):
    """Return what all learners of a grid know together."""
    results = [known_of(learner, x, looks=False) for learner in learners]
    return {
        entry: near([result[entry].value for result in results])
        if isinstance(results[0][entry], Near)
        else np.array([result[entry] for result in results])
        for entry in results[0]
    }


@area("grids")
def grids():
    """Learn grids of parameters in one pass, and learners that differ side by side."""
    x, y = draw_binary(seed=41)
    for rule, cells in CELLS.items():
        for covariance in COVARIANCES if is_second(rule) else ("identity",):
            learners = grid(rule, cells, x[:90], y[:90], covariance=covariance)
            yield f"{rule} {covariance}", grid_known(learners, x[90:])
    hows = {
        "CSR": (csr, {}, {}),
        "float32": (lambda x: x.astype(np.float32), {}, {}),
        "intercept": (np.asarray, {"intercept": True}, {}),
        "floor": (csr, {"variance_floor": 0.1, "initial_variance": 2.0}, {}),
        "scale": (np.asarray, {"scale": "rms"}, {}),
        "order": (csr, {"scale": "rms", "intercept": True}, {"order": permutation(42, 90)}),
    }
    kinds = [*itertools.product(("scw1", "iellip"), COVARIANCES[1:]), ("pa1", "identity"), ("romma", "identity")]
    for (rule, covariance), (name, (as_rows, settings, how)) in itertools.product(kinds, hows.items()):
        if not is_second(rule) and "variance_floor" in settings:
            continue
        learners = grid(rule, CELLS[rule], as_rows(x[:90]), y[:90], covariance=covariance, **settings, **how)
        yield f"{rule} {covariance} {name}", grid_known(learners, as_rows(x[90:]))
    counts = grid_counts("scw1", CELLS["scw1"], stretched(x, 300), y, covariance="diagonal")
    yield "scw1 counts", {"counts": counts}
    learners = [
        *(binary_learner(rule, covariance=diagonal_for(rule)) for rule in RULES),
        *(binary_learner(rule, covariance="full", intercept=True) for rule in SECOND_ORDER),
        *(binary_learner(rule, covariance="diagonal", scale="rms") for rule in SECOND_ORDER),
        binary_learner(soft, covariance="diagonal"),
    ]
    learn_together(learners, x[:50], y[:50])
    learn_together(learners, csr(x[50:90]), y[50:90], order=permutation(43, 40))
    for i, learner in enumerate(learners):
        yield f"together {i}", known_of(learner, x[90:], looks=False)


MERGES = {
    "bcm": {},
    "ev": {},
    "kl": {},
    "auto": {},
    "bcm weights": {"weights": [1.0, 0.5, 2.0]},
    "ev weights": {"weights": [1.0, 0.5, 2.0]},
    "kl weights": {"weights": [1.0, 0.5, 2.0]},
}


def three_shards(new, teach, again):
    """Teach three models apart; if `again`, let them go on from a model that has learned, which is given as well."""
    if not again:
        return [teach(new(), part) for part in range(3)], {}
    prior = teach(new(), 3)
    return [teach(copy.copy(prior), part) for part in range(3)], {"prior": prior}


@area("merging, two classes")
def merging():
    """Merge learners for two classes, each way, from the start and again, and let the result go on."""
    x, y = draw_binary(seed=44, count=200)
    parts = [slice(0, 50), slice(50, 110), slice(110, 140), slice(140, 160)]

    def teach(learner, part):
        return learn(learner, x[parts[part]], y[parts[part]])

    kinds = [
        *itertools.product(("scw1", "arow", "iellip"), ("diagonal", "full")),
        ("cw", "diagonal-drop"),
        ("cw", "full"),
        ("nherd", "diagonal"),
        ("pa1", "identity"),
        ("romma", "identity"),
    ]
    for rule, covariance in kinds:
        for scale, again in itertools.product(("none", "rms"), (False, True)):
            settings = {"covariance": covariance, "intercept": True, "initial_variance": 2.0, "scale": scale}

            def new(rule=rule, settings=settings):
                return binary_learner(rule, **settings)

            for how in ("auto", "ev") if scale != "none" else MERGES:
                if how.endswith("weights") and rule not in ("arow", "pa1"):
                    continue
                models, prior = three_shards(new, teach, again)
                together = merged(models, how.split()[0], **MERGES[how], **prior)
                result = known_of(together, x[180:], looks=False)
                learn(together, x[160:180], y[160:180])
                result["weights later"] = weights_of(together)
                title = f"{rule} {covariance}{' scale' * (scale != 'none')}{' again' * again} {how}"
                if covariance == "full" and rule == "iellip" and again and how.startswith("ev"):
                    # Evidence that is all but lost in the growth of Sigma has no directions that rounding leaves alone.
                    yield title, all_local(result)
                else:
                    # The length of the merged weights, which ROMMA goes on from, is a product of BLAS.
                    yield title, all_near(result) if covariance == "full" or rule == "romma" else result
    narrow, wide = binary_learner("arow", covariance="diagonal"), binary_learner("arow", covariance="diagonal")
    learn(narrow, x[:50, :5], y[:50])
    together = merged([narrow, learn(wide, x[50:90], y[50:90])])
    yield "arow of different widths", known_of(together, x[180:])


@area("merging, several classes")
def merging_classes():
    """Merge learners for several classes, each way, from the start and again."""
    x, y = draw_classes(4, seed=45, count=200)
    parts = [slice(0, 80), slice(80, 140), slice(140, 160), slice(160, 180)]

    def teach(learner, part):
        return learn(learner, x[parts[part]], y[parts[part]])

    kinds = [
        *itertools.product(("scw1", "arow"), ("diagonal", "full"), WAYS),
        ("nherd", "diagonal", "joint"),
        ("iellip", "diagonal", "ovr"),
        ("pa1", "identity", "joint"),
        ("pa1", "identity", "ovr"),
        ("romma", "identity", "joint"),
    ]
    for rule, covariance, way in kinds:
        for scale, again in (("none", False), ("none", True), ("rms", True)):

            def new(rule=rule, covariance=covariance, way=way, scale=scale):
                return several_learner(rule, 4, covariance=covariance, intercept=True, scale=scale, **WAYS[way])

            for how in ("auto",) if scale != "none" else ("bcm", "ev", "kl", "auto", "ev weights"):
                models, prior = three_shards(new, teach, again)
                together = merged(models, how.split()[0], **MERGES[how], **prior)
                result = known_of(together, x[180:], looks=False)
                learn(together, x[160:180], y[160:180])
                result["weights later"] = weights_of(together)
                title = f"{rule} {way} {covariance}{' scale' * (scale != 'none')}{' again' * again} {how}"
                yield title, all_near(result) if covariance == "full" or rule == "romma" else result


@area("merging, names")
def merging_names():
    """Merge streams, learners of dicts, classes for River and estimators whose names and classes differ."""
    examples, told = draw_dicts(120, seed=46)
    other = ["date" if label == "pear" else label for label in told]
    parts = [(range(45), told), (range(20, 90), told), (range(60, 75), other), (range(90, 110), told)]

    def teach(model, part):
        numbers, labels = parts[part]
        model.learn_many([examples[i] for i in numbers], [labels[i] for i in numbers])
        return model

    kinds = {
        "arow": ("arow", {}),
        "scw1 scale": ("scw1", {"scale": "rms"}),
        "scw1 ovr": ("scw1", {"multi_class": "ovr", "scale": "rms"}),
        "arow shared": ("arow", {"shared_covariance": True}),
        "scw1 full": ("scw1", {"covariance": "full", "scale": "rms"}),
        "scw1 drop": ("scw1", {"max_features": 24, "scale": "rms"}),
        "scw1 hash": ("scw1", {"max_features": 24, "overflow": "hash", "scale": "rms"}),
        "arow balanced": ("arow", {"class_weight": "balanced", "intercept": False}),
        "pa1": ("pa1", {}),
    }
    for name, (rule, settings) in kinds.items():
        for how, again in (("auto", False), ("ev", False), ("kl", False), ("auto", True)):
            models, prior = three_shards(lambda rule=rule, settings=settings: stream(rule, **settings), teach, again)
            together = merged(models, how, **prior)
            result = merged_known(together, examples[100:])
            together.learn_many(examples[110:], told[110:])
            result["probabilities later"] = near(together.predict_proba_many(examples[:20]))
            yield f"{name}{' again' * again} {how}", result
    for rule in ("arow", "pa2"):
        models = [binary_learner(rule, intercept=True) for _ in range(2)]
        for learner, part in zip(models, (slice(0, 40), slice(30, 80)), strict=True):
            learn_dicts(learner, examples[part], np.where(np.array(told[part]) == "pear", 1, -1))
        together = merged(models)
        scores, _ = look_at_dicts(together, examples[80:])
        result = {"names": names_of(together), "weights": weights_of(together), "scores": scores}
        result = all_near(result) if covariance_of(together) == "full" else result
        yield f"{rule} learners of dicts", {"counts": counts_of(together), **result}
    models, _ = three_shards(lambda: river_classifier("AROW"), lambda model, part: model, again=False)
    for model, part in zip(models, parts, strict=False):
        for i in part[0]:
            model.learn_one(examples[i], part[1][i])
    yield "River", merged_known(merged(models), examples[100:])
    x, numbers = draw_classes(4, seed=47)
    y = LABELS[numbers]
    for name, settings in {
        "SCW1": {},
        "AROW": {"covariance": "diagonal", "scale": "rms"},
        "PA1": {"multi_class": "ovr"},
        "CW": {"covariance": "diagonal-drop", "shared_covariance": True},
    }.items():
        models = [
            classifier(name, **settings).fit(x[:70][numbers[:70] < 2], y[:70][numbers[:70] < 2]),
            classifier(name, **settings).fit(x[70:110], y[70:110]),
            classifier(name, **settings).fit(x[110:130][numbers[110:130] > 1], y[110:130][numbers[110:130] > 1]),
        ]
        result = estimator_known(merged(models), x[130:])
        yield f"{name} estimators", all_near(result) if name == "SCW1" else result


# ---------------------------------------------------------------------------------------------------------------------
# Scales, probabilities, files, commands and data sets.
# ---------------------------------------------------------------------------------------------------------------------


@area("scales and curves")
def scales_and_curves():
    """Scale rows on the way, and draw the curves from scores to probabilities."""
    x, _ = draw_binary(seed=51)
    x = x * np.array([1.0, 100.0, 0.01, 1.0, 30.0, 1.0, 1.0, 5.0])
    for kind, (name, as_rows) in itertools.product(SCALE_NAMES, FORMATS.items()):
        scale = running_scale(kind)
        rows = scale_learned(scale, as_rows(x[:50]))
        more = scale_learned(scale, as_rows(x[50:80]), order=permutation(52, 30), weights=weights_for(30))
        result = {
            "rows": rows,
            "more": more,
            "state": scale_state(scale),
            "applied": scale_applied(scale, as_rows(x[80:])),
        }
        yield f"scale {name}" if kind == "rms" else f"{kind} {name}", result
    scores, variances, drawn = 4.0 * uniform(53, 400) - 2.0, uniform(54, 400), uniform(55, 400)
    labels = np.where(0.25 * scores + 0.5 > drawn, 1, -1)
    curves = {}
    for window in (30_000.0, 100.0):
        curve = curves[window] = calibration(window=window)
        learn_curve(curve, scores[:200], variances[:200], labels[:200])
        learn_curve(curve, scores[200:], variances[200:], labels[200:], weights_for(200))
        chances = chances_of(curve, scores, variances)
        one = [chance_of(curve, f, v) for f, v in zip(scores[:20], variances[:20], strict=True)]
        mirrored = curve_of(curve_mirrored(curve))
        result = {"curve": curve_of(curve), "probabilities": chances, "one": np.array(one), "mirrored": mirrored}
        yield f"curve window {window:g}", all_near(result)
    parts = [copy.copy(curves[30_000.0]) for _ in range(3)]
    for i, part in enumerate(parts):
        some = slice(i * 90, i * 90 + 90)
        learn_curve(part, scores[some], variances[some], labels[some])
    for name, prior in (("merged", None), ("merged again", curves[30_000.0])):
        together = calibrations_merged(parts, prior)
        result = {"curve": curve_of(together), "probabilities": chances_of(together, scores, variances)}
        yield f"curve {name}", all_near(result)
    several = 4.0 * uniform(56, 400, 4) - 2.0
    numbers = (several + 3.0 * uniform(57, 400, 4)).argmax(axis=1)
    for name, curve, known in (
        ("of four", class_calibration(4), 4),
        ("of four, window 100", class_calibration(4, window=100.0), 4),
        ("from two", class_calibration_from_two(curves[30_000.0], 4), 4),
        ("of three, then four", class_calibration(3), 3),
    ):
        of_known = numbers[:200] < known
        learn_curve(curve, several[:200, :known][of_known], variances[:200][of_known], numbers[:200][of_known])
        curve_widened(curve, 4 - known)
        learn_curve(curve, several[200:], variances[200:], numbers[200:], weights_for(200))
        one = copy.copy(curve)
        for i in range(20):
            learn_curve_one(one, several[i], float(variances[i]), int(numbers[i]), 1.5)
        result = {
            "curve": curve_of(curve),
            "probabilities": chances_of(curve, several, variances),
            "one by one": curve_of(one),
            "merged": curve_of(calibrations_merged([curve, one])),
            "arranged": curve_of(curve_arranged(curve, [4, 0, 2, 1], 5)),
        }
        yield f"class curve {name}", all_near(result)


@area("saved models")
def saved_models():
    """Load models from files, those of the first format too, and let them go on."""
    rows = np.array([[((7 * i + 3 * j) % 11 - 5) / 4 for j in range(4)] for i in range(40)])
    dicts = [{"size": row[0], "place": f"p{i % 3}", "words": ["a", f"w{i % 4}"]} for i, row in enumerate(rows.tolist())]
    for name in ("two_classes", "several_classes", "kernel"):
        model = load(MODELS / f"{name}.format1.model")
        yield f"{name} of the first format", estimator_known(model, rows)
        model.partial_fit(rows, np.resize(model.classes_, len(rows)))
        yield f"{name} of the first format, later", estimator_known(model, rows)
    model = load(MODELS / "stream.format1.model")
    yield "stream of the first format", stream_known(model, dicts)
    model.learn_many(dicts, ["new", *np.resize(model.classes, len(dicts) - 1).tolist()])
    yield "stream of the first format, later", stream_known(model, dicts)
    x, numbers = draw_classes(3, seed=61)
    y, examples, told = LABELS[numbers], *draw_dicts(seed=62)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "it.model"
        for name, settings in {
            "SCW1": {},
            "AROW": {"covariance": "diagonal", "scale": "rms", "class_weight": "balanced"},
            "CW": {"covariance": "diagonal-drop", "multi_class": "ovr"},
            "ROMMA": {},
            "KernelSCW1": {"gamma": 0.5},
        }.items():
            for classes in (2, 3):
                chosen = numbers[:90] < classes
                save(classifier(name, **settings).fit(x[:90][chosen], y[:90][chosen]), path)
                model = load(path).partial_fit(x[90:130], y[90:130])
                yield f"{name} {classes} classes", estimator_known(model, x[130:])
        for name in ("default", "scale, drop", "hash", "balanced"):
            model = stream("scw1", **STREAMS[name])
            model.learn_many(examples[:40], told[:40])
            save(model, path)
            model = load(path)
            model.learn_many(examples[40:80], told[40:80])
            yield f"stream {name}", stream_known(model, examples[70:])


def columns_of(text):
    """Take apart what `predict` prints: the labels, and the numbers behind them."""
    lines = [line.split("\t") for line in text.splitlines()]
    return [line[0] for line in lines], np.array([[float(cell) for cell in line[1:]] for line in lines])


def vw_text(examples, labels):
    """Spell dicts as VW text, with numbers as labels and tags."""
    lines = []
    for i, (example, label) in enumerate(zip(examples, labels, strict=True)):
        numbers = " ".join(f"{name}:{value!r}" for name, value in example.items() if isinstance(value, float))
        words = " ".join([example["weather"], *dict.fromkeys(example["words"])])
        lines.append(f"{label} {1 + i % 3 / 2:g} 'tag{i} |numbers {numbers} |words {words}\n")
    return "".join(lines)


def csv_text(examples, labels):
    """Spell dicts as CSV with numbers, categories and text."""
    lines = ["x0,x1,weather,words,odd,kind,w\n"]
    for i, (example, label) in enumerate(zip(examples, labels, strict=True)):
        numbers = ",".join(repr(example[name]) if name in example else "" for name in ("x0", "x1"))
        lines.append(
            f'{numbers},{example["weather"]},"{" ".join(example["words"])}",{example["odd"]},{label},{i % 3}\n'
        )
    return "".join(lines)


def jsonl_text(examples, labels):
    """Spell dicts as lines of JSON."""
    return "".join(
        json.dumps({**example, "label": label}) + "\n" for example, label in zip(examples, labels, strict=True)
    )


@area("command line")
def command_line():
    """Train on LIBSVM, VW, CSV and JSON lines by the command, and print what the model says."""
    x, signs = draw_binary(seed=71, count=200)
    wide, numbers = draw_classes(4, seed=72, count=200, width=12)
    examples, told = draw_dicts(150, seed=73)
    two = [label if label in ("pear", "apple") else "pear" for label in told]
    as_number = {label: i + 1 for i, label in enumerate(dict.fromkeys(told))}
    texts = {
        "libsvm": libsvm_text(x, signs),
        "libsvm of four": libsvm_text(wide, numbers + 1),
        "vw": vw_text(examples, [1 if label == "pear" else -1 for label in told]),
        "vw of four": vw_text(examples, [as_number[label] for label in told]),
        "csv": csv_text(examples, two),
        "csv of four": csv_text(examples, told),
        "jsonl": jsonl_text(examples, two),
        "jsonl of four": jsonl_text(examples, told),
    }
    of_csv = ("--label", "kind", "--weight", "w", "--text", "words")
    runs = [
        ("libsvm", ()),
        ("libsvm", ("-a", "arow", "--covariance", "diagonal", "--scale", "rms", "--epochs", "2")),
        ("libsvm", ("-a", "arow", "--scale", "standard")),
        ("libsvm", ("-a", "pa1", "--C", "0.1", "--shuffle-buffer", "20", "--seed", "3", "--holdout", "0.1")),
        ("libsvm of four", ()),
        ("libsvm of four", ("-a", "scw2", "--covariance", "diagonal", "--multi-class", "ovr", "--no-intercept")),
        ("libsvm of four", ("-a", "perceptron", "--class-weight", "balanced")),
        ("vw", ()),
        ("vw", ("-a", "nherd", "--hash-bits", "5", "--variance-floor", "0.1")),
        ("vw of four", ("-a", "arow", "--shared-covariance", "--scale", "rms")),
        ("vw of four", ("--max-features", "20", "--scale", "rms")),
        ("csv", of_csv),
        ("csv of four", ("-a", "cw", *of_csv, "--scale", "rms", "--class-weight", "pear=2,fig=0.5")),
        ("jsonl", ("-a", "narow", "--initial-variance", "2")),
        ("jsonl of four", ("--ignore", "page", "--covariance", "full", "--shuffle-buffer", "50")),
        ("jsonl of four", ("-a", "romma", "--scale", "rms", "--max-features", "1000")),
    ]
    with tempfile.TemporaryDirectory() as directory:
        model = Path(directory) / "it.model"
        for name, options in runs:
            ending = name.split()[0]
            lines = texts[name].splitlines(keepends=True)
            head = lines[:1] if ending == "csv" else []
            data, more, test = (Path(directory) / f"{part}.{ending}" for part in ("data", "more", "test"))
            data.write_text("".join(lines[:100]))
            more.write_text("".join([*head, *lines[100:120]]))
            test.write_text("".join([*head, *lines[120:]]))
            summary = json.loads(command("train", data, "-q", "-m", model, "--json", *options))
            curve = [[point["seen"], point["mistakes"], point["updates"]] for point in summary["curve"]]
            command("train", more, "-q", "--resume", model, "-m", model)
            labels, scores = columns_of(command("predict", model, test, "--scores"))
            _, chances = columns_of(command("predict", model, test, "--probabilities", "--confidence", "--variance"))
            judged = json.loads(command("evaluate", model, test, "--json"))
            yield (
                f"{name} {' '.join(options)}".rstrip(),
                {
                    "curve": np.array(curve),
                    "classes": [str(label) for label in summary["classes"]],
                    "labels": labels,
                    "scores": scores,
                    "probabilities": near(chances),
                    "confusion": np.array(judged["confusion"]),
                    "judged": near([judged[name] for name in ("accuracy", "f1_macro", "log_loss", "brier", "ece")]),
                },
            )
        data, test = Path(directory) / "data.libsvm", Path(directory) / "test.libsvm"
        test.write_text(libsvm_text(wide[150:], numbers[150:] + 1))
        shards = []
        for part in (slice(0, 70), slice(70, 150)):
            data.write_text(libsvm_text(wide[part], numbers[part] + 1))
            shards.append(Path(directory) / f"{part.start}.model")
            command("train", data, "-q", "-m", shards[-1], "--covariance", "diagonal")
        command("merge", *shards, "-q", "-m", model)
        labels, scores = columns_of(command("predict", model, test, "--scores"))
        yield "merge", {"labels": labels, "scores": scores}
        best = json.loads(command("tune", data, "--json", "-q", "-a", "arow"))
        yield "tune", {"cells": json.dumps([[c["parameters"], c["mistakes"], c["updates"]] for c in best["cells"]])}
        found = json.loads(command("compare", data, "--json", "-q", "--permutations", "3", "--seed", "5"))
        errors = {one["algorithm"]: [one["errors"], one["updates"]] for one in found["algorithms"]}
        yield "compare", {"errors": json.dumps(dict(sorted(errors.items())))}


@area("data sets")
def data_sets():
    """Learn the data sets that come along, by each rule."""
    for name in ("breast-cancer", "digits", "synthetic", "synthetic-noise"):
        x, y = data_set(name)
        x, y = x[:500], y[:500]
        for rule in RULES:
            learner = learn(binary_learner(rule, covariance=diagonal_for(rule), intercept=True), x, y)
            yield f"{name} {rule}", all_near(known_of(learner, x[:20], looks=False))
        for rule in ("scw1", "scw2", "arow", "cw", "nherd"):
            learner = learn(binary_learner(rule, covariance="full"), x, y, order=permutation(81, len(y)))
            yield f"{name} {rule} full", all_near(known_of(learner, x[:20], looks=False))


def lines_of(name):
    """Return the lines of the file that an area needs."""
    with lzma.open(DATA / NEEDS[name]) as file:
        return file.readlines()


@area("a9a", file="a9a/a9a.libsvm.xz")
def a9a():
    """Learn the first 2000 rows of a9a by each rule, sparse and dense, and by estimators."""
    x, labels = libsvm_lines(lines_of("a9a")[:2000], 123)
    y = labels.astype(int)
    for rule in RULES:
        for covariance in (diagonal_for(rule), "full") if is_second(rule) else ("identity",):
            rows = x.toarray() if covariance == "full" and rule in ("scw1", "arow") else x
            learner = learn(binary_learner(rule, covariance=covariance, intercept=True), rows, y)
            yield f"{rule} {covariance}", known_of(learner, x[:40])
    model = classifier("SCW1", covariance="diagonal", scale="rms", class_weight="balanced").fit(x, y)
    yield "SCW1", estimator_known(model, x[:40])


@area("20news", file="20news/20news.train.libsvm.xz")
def news():
    """Learn the first 500 messages of 20 newsgroups, and others of all its classes."""
    lines = lines_of("20news")
    x, labels = libsvm_lines(lines[:500], 59051)
    for rule in RULES:
        learner = learn(binary_learner(rule, covariance=diagonal_for(rule)), x, np.where(labels == 1, 1, -1))
        yield f"{rule}", known_of(learner, x[::25])
    x, labels = libsvm_lines(lines[::23], 59051)
    numbers = np.unique(labels, return_inverse=True)[1]
    for rule in ("perceptron", "romma", "pa1", "arow", "cw", "scw1"):
        for way, settings in ways_of(rule).items():
            learner = several_learner(
                rule, 20, covariance=diagonal_for(rule), scale="rms" if rule == "scw1" else "none", **settings
            )
            learn(learner, x, numbers, order=permutation(82, len(numbers)))
            yield f"{rule} {way} 20 classes", known_of(learner, x[::25])


@area("splice", file="splice/splice.libsvm.xz")
def splice():
    """Learn splice by each rule with a full covariance, and with a kernel."""
    x, labels = libsvm_lines(lines_of("splice"), 60)
    x, y = x.toarray(), labels.astype(int)
    for rule in RULES:
        learner = learn(binary_learner(rule, covariance="full" if is_second(rule) else "identity"), x, y)
        yield f"{rule}", known_of(learner, x[:40])
    for rule in ("pa1", "scw1"):
        learner = kernel_learner(rule, budget=60, kernel="rbf", kernel_parameters={"gamma": 0.01})
        yield f"{rule} rbf", kernel_known(learn(learner, x[:400], y[:400]), x[400:440])


# ---------------------------------------------------------------------------------------------------------------------
# The command.
# ---------------------------------------------------------------------------------------------------------------------


def compute(instruction_set, areas=None):
    """Compute the digests of all areas whose data is there."""
    found = {}
    with computing_with(instruction_set):
        for name in areas or AREAS:
            if is_there(name):
                found[name] = digests(name)
            else:
                print(f"{name} is left out: {DATA / NEEDS[name]} is missing", file=sys.stderr)
    return found


def main():
    """Write digests to a file, or compare them with those in one."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", metavar="PATH", help="write all digests there")
    what.add_argument("--compare", metavar="PATH", help="print what differs from the digests there")
    parser.add_argument("--set", default=os.environ.get("SCWLEARN_SET", "portable"), choices=instruction_sets())
    given = parser.parse_args()
    found = compute(given.set)
    entries = sum(len(case) for cases in found.values() for case in cases.values())
    print(f"{sum(map(len, found.values()))} cases, {entries} entries", file=sys.stderr)
    if given.write:
        dump(found, given.write)
        return 0
    expected = json.loads(Path(given.compare).read_text())
    lines = [
        f"{name}: {line}"
        for name in dict.fromkeys([*expected, *found])
        for line in differences(found.get(name, {}), expected.get(name, {}))
    ]
    print("\n".join(lines) or "no difference")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
