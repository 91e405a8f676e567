"""The state of a running scale: copied, widened, merged, and safe whatever it holds."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from scale_examples import FEATURES, ROWS, awkward, dense, examples, state
from scwlearn import _native
from scwlearn.model.scale import RunningScale
from scwlearn.model.scales import SCALE_NAMES

pytestmark = pytest.mark.native


def test_no_rows_and_no_features_change_nothing(new):
    x, _ = examples()
    scale = new()
    scale.learn(x)
    before = state(scale)
    assert len(scale.learn(x[:0])) == len(scale.learn(sparse.csr_array(x[:0]))) == len(scale.apply(x[:0])) == 0
    assert state(scale) == before
    assert dense(new().learn(np.zeros((3, 0)))).shape == (3, 0)


@pytest.mark.parametrize(
    "duplicate",
    [RunningScale.copy, copy.copy, copy.deepcopy, lambda scale: pickle.loads(pickle.dumps(scale))],
    ids=["method", "copy", "deepcopy", "pickle"],
)
def test_a_copy_learns_on_independently(duplicate, new):
    x, _ = examples()
    original, never_stopped = new(), new()
    original.learn(x[:20])
    never_stopped.learn(x)
    before = state(original)
    other = duplicate(original)
    other.learn(x[20:])
    assert state(other) == state(never_stopped)
    assert state(original) == before
    assert state(duplicate(new())) is None


def test_a_read_only_state_is_copied_before_writing(new):
    x, _ = examples()
    scale, writable = new(), new()
    scale.learn(x[:20])
    writable.learn(x)
    kept, before = scale.state, state(scale)
    kept.flags.writeable = False
    scale.apply(x)
    scale.learn(x[20:])
    assert state(scale) == state(writable)
    assert (kept.shape, kept.tobytes()) == before


def test_widening_equals_features_known_from_the_start(new):
    x, _ = examples()
    narrow, wide = new(), new()
    narrow.learn(x[:20, :5])
    narrow.widen(FEATURES)
    x[:20, 5:] = 0
    wide.learn(x)
    narrow.learn(x[20:])
    assert state(narrow) == state(wide)
    with pytest.raises(ValueError, match="n_features must be at least 21"):
        narrow.widen(20)
    new = new()
    new.widen(3)
    assert np.array_equal(new.scales, np.ones(3))


@pytest.mark.parametrize("rows", [lambda: examples()[0], awkward], ids=["sizes", "awkward"])
def test_merged_shards_equal_the_scale_of_all_rows(new, rows):
    x = rows()
    x[:, 13] *= 1e120
    x[:, 14] *= 1e-120
    whole, shards = new(), [new() for _ in range(3)]
    whole.learn(x)
    for k, shard in enumerate(shards):
        shard.learn(x[k::3])
    merged = shards[0].merged(shards[1:])
    np.testing.assert_allclose(merged.state, whole.state, rtol=1e-10 if rows is awkward else 1e-13, atol=1e-17)
    np.testing.assert_allclose(shards[2].merged(shards[:2]).scales, merged.scales, rtol=1e-9)
    np.testing.assert_allclose(dense(merged.apply(x)), dense(whole.apply(x)), rtol=1e-8, atol=1e-8)
    assert state(shards[0].merged(shards[1:])) == state(merged)


def test_scales_of_different_kinds_cannot_be_merged():
    with pytest.raises(ValueError, match="scales of different kinds cannot be merged: rms and unit"):
        RunningScale("rms").merged([RunningScale("unit")])


def test_the_kind_is_checked():
    with pytest.raises(ValueError, match="kind must be one of rms, standard, unit, got 'none'"):
        RunningScale("none")


def test_merging_with_an_empty_scale_changes_no_bit(new):
    x, _ = examples()
    scale, wider = new(), new()
    scale.learn(x)
    wider.learn(np.zeros((2, FEATURES + 2)))
    assert state(scale.merged([new()])) == state(new().merged([scale])) == state(scale)
    merged = scale.merged([wider])
    assert merged.rows == ROWS + 2
    assert np.array_equal(merged.state[1:-2, :3], scale.state[1:, :3])
    assert new().merged([new()]).state is None


def test_there_are_no_scales_before_the_first_row(new):
    assert new().width is None
    with pytest.raises(ValueError, match="has not seen any row"):
        _ = new().scales


@pytest.mark.parametrize("kind", SCALE_NAMES)
def test_the_native_functions_reject_arrays_that_do_not_fit(kind):
    x = np.ones((4, 3))
    fits = {
        "kind": kind,
        "states": (np.zeros((4, 4))[:, :3], np.zeros(3, np.int64)),
        "values": x,
        "indices": None,
        "offsets": None,
        "width": 3,
        "scaled": np.zeros(12),
    }
    _native.learn_scales(**fits, weights=None)
    _native.apply_scales(**fits)
    wrong = {
        "a line for all rows and one per feature": {"states": (np.zeros((3, 4))[:, :3], np.zeros(3, np.int64))},
        "4 or 8 numbers apart": {"states": (np.zeros((4, 3)), np.zeros(3, np.int64))},
        "a list of all features": {"states": (np.zeros((4, 4))[:, :3], np.zeros(2, np.int64))},
        "one number per value": {"scaled": np.zeros(11)},
        "a matrix with": {"values": np.ones((4, 2)), "scaled": np.zeros(8)},
        "unless sparse rows are standardised": {"scaled": None},
        "kind must be rms, standard or unit": {"kind": "none"},
    }
    for message, change in wrong.items():
        with pytest.raises(ValueError, match=message):
            _native.learn_scales(**(fits | change), weights=None)
        with pytest.raises(ValueError, match=message):
            _native.apply_scales(**(fits | change))
    with pytest.raises(ValueError, match="one weight per row"):
        _native.learn_scales(**fits, weights=np.ones(3))


def test_a_list_of_dense_features_that_was_tampered_with_is_read_safely():
    x, _ = examples()
    scale = RunningScale("standard")
    scale.learn(x)
    for value in (-1, 2**62, FEATURES):
        other = scale.copy()
        other.dense[:] = value
        other.state[0, 1] = 1e300
        other.learn(sparse.csr_array(x))
        other.state[0, 1] = np.nan
        other.apply(sparse.csr_array(x))
