"""The configuration of a committee: that of each member, and the settings they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from scwlearn._util.plain_values import plain_setting
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.settings import BY_NAME, Face, settings_for
from scwlearn.rules import AUTO, OwnRule, Rule

#: The members with the best trade-off between error and time on many data sets (docs/committee.md): one on the features
#: as they are, one on comparable features, and one that keeps no variances, so that it follows drift.
DEFAULT_MEMBERS: tuple[dict[str, Any], ...] = (
    {"rule": "arow"},
    {"rule": "scw1", "scale": "standard"},
    {"rule": "pa1", "scale": "rms", "average": True},
)

MAX_MEMBERS = 16

# Settings of a committee that all members share.
_SHARED = ("covariance", "multi_class", "intercept", "max_features", "overflow")
# Members may not have their own: they learn from the same rows.
_COMMON = ("multi_class", "intercept", "max_features", "overflow")


@dataclass(frozen=True)
class CommitteeConfig(LearnerConfig):
    """The settings of a committee and the configuration of each member.

    Examples
    --------
    >>> from scwlearn.learning.committee.config import CommitteeConfig
    >>> config = CommitteeConfig.create_committee({"members": ["arow", {"rule": "scw1", "C": 0.5}]})
    >>> [(member.rule.name, member.parameters) for member in config.member_configs]
    [('arow', {'r': 1.0}), ('scw1', {'C': 0.5, 'eta': 0.75})]
    """

    #: In the order of the weights of the mixture.
    member_configs: tuple[LearnerConfig, ...] = ()

    @classmethod
    def create_committee(cls, given: Mapping[str, Any], *, defaults_of: Face | None = None) -> Self:
        """Check the settings given for a committee; what is not given keeps its default.

        Raises
        ------
        TypeError, ValueError
            For a value that is not allowed, for names that are no settings of a committee, and for bad members.
        """
        declared, defaults = settings_for(Face.COMMITTEE), defaults_of or Face.COMMITTEE
        names = {setting.name for setting in declared}
        for name in given:
            if name not in names:
                raise TypeError(f"a committee has no setting {name!r}; it has {', '.join(sorted(names))}")
        settings = {s.name: s.check(given.get(s.name, s.default_in(defaults)), defaults) for s in declared}
        members = _checked_members(settings["members"])
        settings["members"] = members
        config = cls(AUTO, {}, settings, Face.COMMITTEE)
        config._check_together()
        configs = tuple(_member_config(number, member, settings) for number, member in enumerate(members))
        return cls(AUTO, {}, settings, Face.COMMITTEE, configs)

    def with_parameters(self, parameters: Mapping[str, float]) -> Self:
        """Return this configuration: a committee has no parameters of its own."""
        AUTO.check(parameters)
        return self

    @property
    def compiled(self) -> bool:  # type: ignore[override]
        """Always: the rules of all members are compiled, so that they cannot raise."""
        return True

    @property
    def titles(self) -> list[str]:
        """A short description of each member; equal ones are numbered."""
        times: Counter[str] = Counter()
        found = []
        for member, config in zip(self.settings["members"], self.member_configs, strict=True):
            title = _title(member, config)
            times[title] += 1
            found.append(title if times[title] == 1 else f"{title} ({times[title]})")
        return found

    @property
    def always_full(self) -> bool:
        """Whether that of any member is."""
        return any(member.always_full for member in self.member_configs)


def configure(
    rule: str | Rule | OwnRule, given: Mapping[str, Any], *, defaults_of: Face | None = None
) -> LearnerConfig:
    """Return the configuration of a linear learner, or of a committee for the rule "auto"."""
    if rule == AUTO.name or (isinstance(rule, Rule) and rule.is_committee):
        return CommitteeConfig.create_committee(given, defaults_of=defaults_of)
    return LearnerConfig.create(rule, given, defaults_of=defaults_of)


def _title(member: Mapping[str, Any], config: LearnerConfig) -> str:
    """Return the name of a member's rule, those of its settings that are not the default, and its own covariance."""
    assert isinstance(config.rule, Rule)
    parameters = {p.name: p.default for p in config.rule.parameters}
    own = {name: value for name, value in config.parameters.items() if value != parameters[name]}
    own |= {
        name: value
        for name, value in config.settings.items()
        if (name not in _SHARED and value != BY_NAME[name].default_in(Face.LEARNER))
        or (name == "covariance" and name in member)
    }
    return ", ".join([config.rule.title, *(f"{name}={value}" for name, value in own.items())])


def _checked_members(given: Any) -> tuple[dict[str, Any], ...]:
    if given is None:
        return tuple(dict(member) for member in DEFAULT_MEMBERS)
    allowed = 'a list of names of algorithms, or of dicts such as {"rule": "scw1", "scale": "standard"}'
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise TypeError(f"members must be {allowed}, got {given!r}")
    if not 1 <= len(given) <= MAX_MEMBERS:
        raise ValueError(f"members must be from 1 to {MAX_MEMBERS}, got {len(given)}")
    members = [{"rule": member} if isinstance(member, str) else member for member in given]
    for member in members:
        if not isinstance(member, Mapping) or not isinstance(member.get("rule"), str):
            raise TypeError(f"members must be {allowed}, got the member {member!r}")
    return tuple(plain_setting(member) for member in members)


def _member_config(number: int, member: Mapping[str, Any], settings: Mapping[str, Any]) -> LearnerConfig:
    own = {name: value for name, value in member.items() if name != "rule"}
    for name in _COMMON:
        if name in own:
            raise ValueError(f"members[{number}]: {name} is a setting of the whole committee")
    if member["rule"] == AUTO.name:
        raise ValueError(f"members[{number}]: a committee cannot be a member of another")
    shared = {name: settings[name] for name in _SHARED}
    try:
        config = LearnerConfig.create(member["rule"], shared | own)
        if config.compiled is None:
            raise ValueError(f"{member['rule']} is a rule of your own; only rules of scwlearn can be members")
        if isinstance(config.rule, Rule) and config.rule.order == 1 and "covariance" not in own:
            return LearnerConfig.create(member["rule"], shared | {"covariance": "auto"} | own)
        return config
    except (TypeError, ValueError) as error:
        raise type(error)(f"members[{number}]: {error}") from None
