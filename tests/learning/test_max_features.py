"""Bounded vocabularies: the least certain features are dropped, or names are hashed."""

import copy
import math
import os
import pickle
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

from learner_examples import everything, sigma, state
from reference import FIRST_ORDER, GAUSSIAN_FORM, OWN_FORM, Textbook, defaults_of
from scwlearn import Learner
from scwlearn._native import Vocabulary
from scwlearn.model import covariances as forms
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.model.full import factors
from scwlearn.model.gaussian import Gaussian

pytestmark = pytest.mark.native

DUPLICATES = (copy.copy, copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner)))
BOUNDS = {"drop": {"max_features": 24}, "hash": {"max_features": 64, "overflow": "hash"}}
every_bound = pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
NAMES = 200


def draw_stream(seed, rows, stored=5, key=str):
    """Examples of a few names each, of which some are common and most are rare; labels follow hidden weights."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, NAMES + 1)
    hidden = rng.normal(size=NAMES)
    for _ in range(rows):
        at = rng.choice(NAMES, stored, replace=False, p=share / share.sum())
        values = rng.normal(size=stored)
        y = 1 if values @ hidden[at] >= 0 else -1
        yield {key(i): v for i, v in zip(at.tolist(), values.tolist(), strict=True)}, -y if rng.random() < 0.1 else y


class BoundedTextbook:
    """A textbook model of all names there are, of which those beyond the bound are put back to the prior."""

    def __init__(self, rule, covariance, most):
        # The last feature never appears: it has the variance of a new one.
        self.model, self.known, self.most = Textbook(rule, NAMES + 1, covariance, **defaults_of(rule)), [], most
        self.drops = 0

    def variance(self, name):
        i = int(name)
        return self.model.S[i, i] if self.model.S.ndim == 2 else self.model.S[i]

    def learn_one(self, x, y):
        new = [name for name in x if name not in self.known]
        excess = len(self.known) + len(new) - self.most
        if excess > 0:
            self.drops += 1
            doubtful = [name for name in self.known if name not in x]
            # A stable sort: among equals, the oldest first.
            doubtful.sort(key=lambda name: (-round(math.log(self.variance(name)), 6), abs(self.model.mu[int(name)])))
            for name in doubtful[: max(excess, self.most // 8)]:
                self.forget(name)
        self.known += new
        row = np.zeros(NAMES + 1)
        for name, value in x.items():
            row[int(name)] = value
        self.model.learn_one(row, y)

    def forget(self, name):
        i = int(name)
        self.known.remove(name)
        self.model.mu[i] = 0.0
        if self.model.S.ndim == 2:
            self.model.S[i, :] = self.model.S[:, i] = 0.0
            self.model.S[i, i] = self.model.S[-1, -1]
        else:
            self.model.S[i] = self.model.S[-1]


CASES = [
    *((rule, "identity") for rule in FIRST_ORDER),
    *((rule, covariance) for rule in GAUSSIAN_FORM for covariance in ("diagonal", "diagonal-drop")),
    # With a full S, some rules keep another state than (mu, S).
    *((rule, "full") for rule in GAUSSIAN_FORM if rule not in OWN_FORM),
]


@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_dropped_features_return_to_the_prior_and_others_stay(rule, covariance):
    most = 24
    reference = BoundedTextbook(rule, covariance, most)
    learner = Learner(rule, covariance=covariance, max_features=most, **defaults_of(rule))
    for x, y in draw_stream(1, 150):
        reference.learn_one(x, y)
        learner.learn_one(x, y)
        assert list(learner.names) == reference.known
    assert reference.drops > 5
    assert list(learner.names.values()) == list(range(len(reference.known)))
    at, count = [int(name) for name in reference.known], len(reference.known)
    np.testing.assert_allclose(learner.model.weights()[0, :count], reference.model.mu[at], rtol=1e-6, atol=1e-9)
    expected = reference.model.S[np.ix_(at, at)] if covariance == "full" else np.diag(reference.model.S[at])
    np.testing.assert_allclose(sigma(learner)[:count, :count], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rule", ["romma", "aggressive_romma"])
def test_the_norm_of_the_weights_follows_dropped_features(rule):
    learner = Learner(rule, max_features=24)
    for x, y in draw_stream(2, 60):
        learner.learn_one(x, y)
        scalars = learner.model.scalars[0]
        np.testing.assert_allclose(scalars[2], learner.model.mean @ learner.model.mean, rtol=1e-9)


@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
def test_the_intercept_is_never_dropped(covariance):
    bounded, free = (Learner("arow", covariance=covariance, intercept=True, max_features=m) for m in (8, None))
    bounded.learn_many([{"a": 1.0, "b": 1.0}, {"a": 1.0}], [1, 1])
    free.learn_many([{"a": 1.0, "b": 1.0}, {"a": 1.0}], [1, 1])
    constant = bounded.score_one({})
    assert constant > 0
    # With a weight too small to change anything.
    bounded.learn_one({f"new {i}": 1.0 for i in range(8)}, 1, 1e-100)
    assert list(bounded.names) == [f"new {i}" for i in range(8)]
    assert bounded.score_one({}) == pytest.approx(constant, rel=1e-9)
    assert bounded.model.variances()[0, -1] == pytest.approx(free.model.variances()[0, -1], rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_marginal_equals_that_part_of_sigma(seed):
    rng = np.random.default_rng(seed)
    learner = Learner("arow", covariance="full")
    scales = 10.0 ** rng.uniform(-6, 6, 30)
    learner.learn(rng.normal(size=(80, 30)) * scales, rng.choice([-1, 1], 80))
    features = rng.permutation(30)[:17]
    marginal = learner.model.marginal(features)
    np.testing.assert_array_equal(marginal.weights(), learner.model.weights()[:, features])
    part = learner.model.matrix()[np.ix_(features, features)]
    unit = np.sqrt(np.outer(part.diagonal(), part.diagonal()))
    np.testing.assert_allclose(marginal.matrix() / unit, part / unit, rtol=0, atol=1e-10)
    assert (np.diag(factors(marginal.memory)[2]) == 1.0).all()
    assert not np.triu(factors(marginal.memory)[2], 1).any()


def test_a_marginal_of_variances_at_their_floor_is_sound():
    prior = Gaussian.prior(forms.covariance("full"), 4, 1.0)
    factors(prior.memory)[1][:] = 1e-200
    marginal = prior.marginal(np.array([2, 0]))
    assert (marginal.variances() >= 1e-200).all()
    assert np.isfinite(marginal.matrix()).all()


@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
def test_more_features_than_the_bound_are_refused_and_nothing_changes(covariance):
    learner = Learner("arow", covariance=covariance, max_features=3)
    large = {f"n{i}": 1.0 for i in range(4)}
    message = "x has 4 features; an example may have max_features = 3 at most"
    for _ in range(2):
        before = state(learner)
        with pytest.raises(ValueError, match=message):
            learner.learn_one(large, 1)
        with pytest.raises(ValueError, match=message):
            learner.learn_one({"words": ["a", "b", "c", "d", "d"]}, 1)
        with pytest.raises(ValueError, match=message.replace("x", r"examples\[1\]", 1)):
            learner.learn_many([{"a": 1.0}, large], [1, 1])
        assert state(learner) == before
        learner.learn_one({"a": 1.0, "b": 0.0, "words": ["c", "d", "d", "d"]}, 1)
    # Features without a name do not count.
    assert learner.score_one({"a": 1.0} | large) == learner.score_one({"a": 1.0})


def test_max_features_may_be_one():
    learner = Learner("scw1", max_features=1)
    for x, y in draw_stream(3, 30, stored=1):
        learner.learn_one(x, y)
        assert list(learner.names) == list(x)


@every_bound
def test_the_same_stream_gives_the_same_model(bound):
    one, other = Learner("scw1", **bound), Learner("scw1", **bound)
    for x, y in draw_stream(4, 200):
        one.learn_one(x, y)
        other.learn_one(dict(x), y)
    assert everything(one) == everything(other)


@every_bound
@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_a_copy_goes_on_as_if_never_stopped(bound, duplicate):
    stream = list(draw_stream(5, 200))
    never_stopped, learner = Learner("scw1", **bound), Learner("scw1", **bound)
    for i, (x, y) in enumerate(stream):
        never_stopped.learn_one(x, y)
        if i % 30 == 0:
            original, learner = learner, duplicate(learner)
            before = everything(original)
        learner.learn_one(x, y)
        assert everything(original) == before
    assert everything(learner) == everything(never_stopped)
    assert learner.config == never_stopped.config


@every_bound
def test_a_failed_example_adds_no_names(bound):
    def rule(m, v):
        if failing:
            raise ZeroDivisionError
        return (max(0.0, 1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0.0, 0.0)

    failing, stream = [], list(draw_stream(6, 60))
    learner, other = Learner(rule, **bound), Learner(rule, **bound)
    for x, y in stream:
        if learner.vocabulary is not None:
            before = everything(learner)
            failing.append(True)
            with pytest.raises(ZeroDivisionError):
                learner.learn_one(x, y)
            with pytest.raises(ZeroDivisionError):
                learner.learn_many([x, {"1": 1.0}], [y, 1])
            failing.clear()
            assert everything(learner) == before
        learner.learn_one(x, y)
        other.learn_one(x, y)
    assert everything(learner) == everything(other)


BAD_BOUNDS = [
    ({"max_features": 0}, ValueError, "max_features must be an integer >= 1, got 0"),
    ({"max_features": 1.5}, TypeError, "max_features must be an integer >= 1, got 1.5"),
    ({"max_features": True}, TypeError, "max_features must be"),
    ({"overflow": "forget"}, ValueError, "overflow must be one of drop, hash, got 'forget'"),
    ({"overflow": None}, ValueError, "overflow must be one of drop, hash, got None"),
    ({"overflow": "hash"}, ValueError, 'overflow="hash" needs max_features'),
    (
        {"overflow": "hash", "max_features": 2**31},
        ValueError,
        "max_features must be at most 2147483647 with overflow=.hash., got 2147483648",
    ),
]


@pytest.mark.parametrize(("how", "error", "message"), BAD_BOUNDS, ids=lambda p: str(p)[:40])
def test_a_bad_bound_is_refused(how, error, message):
    with pytest.raises(error, match=message):
        Learner("arow", **how)


# Strings of every width in which Python stores them, and of every length that the hash treats differently.
LETTERS = [
    "",
    "a",
    "ab",
    "abc",
    "abcd",
    "abcde",
    "\xe9",
    "\u20ac",
    "\U0001d4d0",
    "a longer name, of more than 16 bytes",
]


@pytest.mark.parametrize("slots", [1, 7, 64, 1000, 2**20, 2**31 - 1])
def test_names_are_hashed_as_scikit_learn_hashes_them(slots):
    hasher = FeatureHasher(slots)
    vocabulary = Vocabulary(slots, True)
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = {
            f"{LETTERS[i % len(LETTERS)]}{i}": float(rng.normal()) for i in rng.choice(3000, 20, replace=False).tolist()
        }
        x |= {"word": LETTERS[rng.integers(len(LETTERS))], "words": rng.choice(LETTERS, 5).tolist()}
        words = [x["word"], *x["words"]]
        spelled = {key: value for key, value in x.items() if isinstance(value, float)}
        for key, word in (("word", words[0]), *(("words", word) for word in words[1:])):
            if not word:
                continue
            spelled[f"{key}={word}"] = spelled.get(f"{key}={word}", 0.0) + 1.0
        expected = hasher.transform([spelled])
        expected.eliminate_zeros()
        expected = dict(zip(expected.indices.tolist(), expected.data.tolist(), strict=True))
        for _ in range(2):
            indices, values, new = vocabulary.read(x)
            assert new == []
            assert len(set(indices)) == len(indices)
            assert dict(zip(indices, values, strict=True)) == pytest.approx(expected, abs=1e-12)


def by_hand(x, slots):
    """Slots and values in the order of their first names."""
    row = {}
    for name, value in x.items():
        number = murmurhash3_32(str(name))
        row[abs(number) % slots] = row.get(abs(number) % slots, 0.0) + (value if number >= 0 else -value)
    return {slot: value for slot, value in row.items() if value}


@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
@pytest.mark.parametrize("key", [str, int])
def test_hashed_names_equal_features_numbered_by_slot(covariance, key):
    slots = 40
    hashed = Learner("scw1", covariance=covariance, max_features=slots, overflow="hash")
    rows = Learner("scw1", covariance=covariance)
    rows.learn(sparse.csr_array((0, slots)), [])
    for x, y in draw_stream(7, 80, key=key):
        row = by_hand(x, slots)
        score = hashed.learn_one(x, y)
        if covariance == "full":
            row = dict(sorted(row.items()))
        # Unsorted sparse rows are learned as they are, except with a full covariance.
        block = sparse.csr_array((list(row.values()), list(row), [0, len(row)]), shape=(1, slots))
        assert score == pytest.approx(rows.scores(block)[0], rel=1e-9, abs=1e-12)
        block.sort_indices()
        rows.learn(block, [y])
        assert hashed.n_features == slots
    assert hashed.counts == rows.counts
    np.testing.assert_allclose(hashed.model.weights(), rows.model.weights(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sigma(hashed), sigma(rows), rtol=0, atol=1e-9)


def test_a_slot_is_named_after_its_majority_name():
    slots = 30
    learner = Learner("arow", max_features=slots, overflow="hash")
    met = defaultdict(Counter)
    for x, y in draw_stream(8, 400):
        learner.learn_one(x, y)
        for name in x:
            met[abs(murmurhash3_32(name)) % slots][name] += 1
    features = learner.vocabulary.features
    assert features.keys() == met.keys()
    assert learner.names == {name: slot for slot, (name, _) in features.items()}
    ruled = 0
    for slot, names in met.items():
        name, shared = features[slot]
        assert name in names
        assert shared == (len(names) > 1)
        ((first, count),) = names.most_common(1)
        if 2 * count > names.total():
            ruled += 1
            assert name == first
    assert ruled > 5


def test_words_and_integer_names_are_hashed():
    learner = Learner("arow", max_features=2**20, overflow="hash")
    learner.learn_one({7: 1.0, 8: "a", 9: ["b", "c"]}, 1)
    assert learner.names.keys() == {7, "8=a", "9=b", "9=c"}
    assert set(learner.vocabulary.features.values()) == {(7, False), ("8=a", False), ("9=b", False), ("9=c", False)}


def test_a_name_that_is_not_text_cannot_be_hashed():
    learner = Learner("arow", max_features=4, overflow="hash")
    replace = 'is not valid Unicode and cannot be hashed; replace what is not: text.encode(errors="replace").decode()'
    with pytest.raises(ValueError, match=re.escape(rf"key '\udc80': '\udc80' {replace}")):
        learner.learn_one({"\udc80": 1.0}, 1)
    with pytest.raises(ValueError, match=re.escape(rf"key 'a': '\udc80' {replace}")):
        learner.learn_one({"a": ["b", "\udc80"]}, 1)
    assert learner.model is None


def test_slots_are_not_dropped():
    with pytest.raises(ValueError, match="cannot be dropped"):
        Vocabulary(4, True).kept(np.array([0]))


@pytest.mark.parametrize("features", [[3], [-1], [0, 0]])
def test_kept_features_must_be_known_and_distinct(features):
    learner = Learner("arow")
    learner.learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, 1)
    with pytest.raises(ValueError, match="feature"):
        learner.vocabulary.kept(np.array(features))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the memory of this process")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer keeps freed memory")
@every_bound
def test_long_names_take_no_memory(bound):
    model, sizes = Learner("arow", **bound), []
    model.learn_one({"job": "a"}, 1)
    for i in range(2000):
        model.score_one({"job": f"{i:050000}", f"{i:050000}": 1.0})
        sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    assert sizes[-1] - sizes[200] < 16 * 2**20
