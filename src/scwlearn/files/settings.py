"""Settings of a class in a model file, which its constructor takes unchecked, checked by their declarations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any

from scwlearn._util.json_fields import Check, Range, shorten
from scwlearn.data.costs import Costs
from scwlearn.data.weights import ClassWeights
from scwlearn.files.codec import LARGEST, SMALLEST
from scwlearn.files.json_reader import InvalidModelFile, read_fields
from scwlearn.learning.committee.config import CommitteeConfig
from scwlearn.learning.settings import Face, settings_for
from scwlearn.rules import Rule

# Seeds of NumPy.
_MOST_SEED = 2**32 - 1


def complete_settings(
    given: Mapping[str, Any], defaults: Mapping[str, Any], path: str, required: Iterable[str] = ()
) -> dict[str, Any]:
    """Return all settings: files of earlier versions lack those added since, which take their defaults."""
    problems = []
    if missing := sorted(set(required) - set(given)):
        problems.append(f"missing settings: {', '.join(missing)}")
    if unexpected := sorted(set(given) - set(defaults)):
        problems.append(f"unexpected settings: {', '.join(map(shorten, unexpected))}")
    if problems:
        raise InvalidModelFile(f"{path}: {'; '.join(problems)}")
    completed = {**defaults, **given}
    if "average" in defaults and "average" not in given:
        # Files of earlier versions have no averages.
        completed["average"] = False
    if isinstance(completed.get("scale"), bool):
        # Files of earlier versions know only one kind of scale.
        completed["scale"] = "rms" if completed["scale"] else "none"
    return completed


def check_settings(given: Mapping[str, Any], face: Face, rule: Rule, path: str) -> None:
    """Raise an error for the first value that a class of this rule and interface would refuse when it learns."""
    declared: dict[str, Any] = {p.name: Annotated[Any, Check(p.check)] for p in rule.parameters}
    for setting in settings_for(face, rule):
        own = Annotated[Any, Check(partial(setting.check, face=face))]
        declared[setting.name_in(face)] = _CHECKED_WHERE_USED.get(setting.name, own)
    for name, value in given.items():
        read_fields(declared[name], value, f"{path}.{name}")


def _check_kernel(value: Any) -> None:
    # Most models have no kernel, and need no SciPy.
    from scwlearn.kernels.functions import Kernel

    if not isinstance(value, str):
        raise TypeError(f"kernel must be the name of a kernel, got {shorten(value)}")
    Kernel(value)


def _check_gamma(value: Any) -> None:
    if value not in ("scale", "auto") and (isinstance(value, str) or not SMALLEST <= value <= LARGEST):
        raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {shorten(value)}")


def _check_members(value: Any) -> None:
    CommitteeConfig.create_committee({"members": value})


# Settings that declare no type.
_CHECKED_WHERE_USED: dict[str, Any] = {
    "class_weight": Annotated[Any, Check(ClassWeights)],
    "costs": Annotated[Any, Check(Costs)] | None,
    "members": Annotated[Any, Check(_check_members)],
    "kernel": Annotated[Any, Check(_check_kernel)],
    "gamma": Annotated[float | str, Check(_check_gamma)],
    "degree": Annotated[float, Range(-LARGEST, LARGEST)],
    "coef0": Annotated[float, Range(-LARGEST, LARGEST)],
    "random_state": Annotated[int, Range(0, _MOST_SEED)] | None,
}
