"""Records of files are untrusted: whatever their declaration allows makes a page."""

from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report_page import Page
from scwlearn._util.json_fields import Range
from scwlearn.data.run_record import Record
from scwlearn.report import page

NUMBERS = [0.0, 0.5, 1.0, 3.0, -3.0, 1e-310, 1e300, -1e300, 1.7e308]
COUNTS = [0, 1, 2, 3, 10, 2**53 - 1, 2**53]
WORDS = st.sampled_from(["", "a", "no", "<b>", "error", "log_loss", "count", "scale"])
LEAVES = {bool: st.booleans(), int: st.sampled_from([-1, *COUNTS]), str: WORDS, NoneType: st.none()}
SCALARS = st.one_of(*LEAVES.values(), st.sampled_from(NUMBERS))
JSON = st.recursive(
    SCALARS, lambda own: st.lists(own, max_size=2) | st.dictionaries(WORDS, own, max_size=2), max_leaves=4
)
SETTINGS = WORDS | st.sampled_from(["class_weight", "costs", "shuffle_buffer", "epochs", "covariance", "max_features"])


def json_of(hint):
    """Values that the declaration of a field allows, from bottom to top."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        bounds = next((part for part in parts[1:] if isinstance(part, Range)), None)
        if bounds is None:
            return json_of(parts[0])
        values = COUNTS if parts[0] is int else NUMBERS
        return st.sampled_from([value for value in values if bounds.low <= value <= bounds.high])
    if kind in (Union, UnionType):
        return st.one_of(*map(json_of, parts))
    if kind is list:
        return st.lists(json_of(parts[0]), max_size=4)
    if kind is tuple:
        return st.tuples(*map(json_of, parts)).map(list)
    if kind is dict:
        return st.dictionaries(SETTINGS if parts[1] is Any else WORDS, json_of(parts[1]), max_size=3)
    if hint is Any:
        return JSON
    if hint is float:
        return st.sampled_from(NUMBERS)
    return LEAVES[hint] if hint in LEAVES else objects(hint)


def objects(declaration):
    return st.fixed_dictionaries({name: json_of(hint) for name, hint in hints(declaration).items()})


def hints(declaration):
    return get_type_hints(declaration, include_extras=True)


@given(st.lists(objects(Record), min_size=1, max_size=2))
def test_every_record_that_is_read_makes_a_page(found):
    try:
        records = [Record.from_json(each) for each in found]
    except ValueError as error:
        assert "settings" in str(error)  # noqa: PT017
        return
    Page(page(records))


@pytest.mark.parametrize(("field", "value"), [("log_loss", -3.0), ("seconds", -1.0), ("seconds", 1e301)])
def test_amounts_are_not_negative(field, value):
    point = {"seen": 1, "mistakes": 1, "updates": 1, "nonzero": 1, "seconds": 1.0, "log_loss": 0.5} | {field: value}
    record = {name: [] for name in ("sources", "classes")} | {name: {} for name in ("parameters", "settings")}
    record |= dict.fromkeys(("command", "began", "version", "algorithm"), "") | {"n_features": 1}
    with pytest.raises(ValueError, match=rf"curve\[0\].{field} must be a number from 0 to 1e\+300"):
        Record.from_json(record | {"curve": [point]})
