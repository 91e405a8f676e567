"""Committees as parts of a model file: the state of each member, and of their mixture."""

from __future__ import annotations

from copy import copy
from typing import Any

from scwlearn.files.codec import FLOAT64, LARGEST, ArrayReader, Arrays, check_range
from scwlearn.files.json_reader import InvalidModelFile, JsonObject
from scwlearn.files.learner import decode_counters, decode_state, encode_state
from scwlearn.learning.committee.learner import Committee

_MIXTURE = "mixture"


def encode_committee_state(committee: Committee, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays to `arrays` and return the JSON metadata."""
    members = []
    for number, member in enumerate(committee.members):
        own: Arrays = {}
        # All members know the same names.
        members.append(encode_state(member, own, names=number == 0))
        arrays |= {_prefix(number) + name: array for name, array in own.items()}
    arrays[_MIXTURE] = committee.mixture.state
    return {"counters": committee._tally.tolist(), "members": members}


def decode_committee_state(committee: Committee, fields: JsonObject, arrays: ArrayReader) -> None:
    """Restore what a committee has learned."""
    committee._tally, states = decode_counters(fields), fields.array("members")
    fields.finish()
    if len(states) != len(committee.members):
        raise InvalidModelFile(f"{fields.path}: {len(states)} members, but the settings say {len(committee.members)}")
    for number, (member, state) in enumerate(zip(committee.members, states, strict=True)):
        path = f"{fields.path}.members[{number}]"
        own = arrays.part(_prefix(number))
        decode_state(member, JsonObject(state, path), own)
        own.finish()
        if number:
            _check_like_first(committee, number, path)
    classes = committee._known_classes()
    if not committee.is_binary and classes > committee.mixture.n_scores:
        committee.mixture = committee.mixture.with_classes(classes)
    state = arrays.take(_MIXTURE, FLOAT64, committee.mixture.state.shape)
    check_range(_MIXTURE, state, -LARGEST, LARGEST, "value must be finite")
    committee.mixture.state = state


def _check_like_first(committee: Committee, number: int, path: str) -> None:
    """Give a member the names of the first, and check that it has the same features and classes."""
    first, member = committee.members[0], committee.members[number]
    if member.vocabulary is not None:
        raise InvalidModelFile(f"{path}.vocabulary must be null: the names of all members stand with the first")
    if member.n_features != first.n_features or member._known_classes() != first._known_classes():
        raise InvalidModelFile(f"{path} must have as many features and classes as the first member")
    if first.model is not None and member.model is not None:
        member.vocabulary = copy(first.vocabulary)


def _prefix(number: int) -> str:
    return f"member_{number}."
