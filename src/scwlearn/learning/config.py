"""The configuration of a learner: a rule, its parameters, and the values of all settings, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

from scwlearn import _native
from scwlearn._util.errors import OptionError
from scwlearn.learning.settings import BY_NAME, Face, Setting, settings_for
from scwlearn.rules import OwnRule, Rule
from scwlearn.rules.native import check_rule, is_compiled, native_rule


@dataclass(frozen=True)
class LearnerConfig:
    """A rule with its parameters and settings. Immutable; each setting is an attribute as well.

    Examples
    --------
    >>> from scwlearn.learning.config import LearnerConfig
    >>> config = LearnerConfig.create("scw1", {"C": 0.5, "covariance": "diagonal"})
    >>> config.parameters["C"], config.covariance, config.scale
    (0.5, 'diagonal', 'none')
    """

    rule: Rule | OwnRule
    parameters: dict[str, float]
    settings: dict[str, Any]
    #: The interface whose settings these are: Face.LEARNER or Face.KERNEL_LEARNER.
    face: Face = Face.LEARNER

    @classmethod
    def create(
        cls,
        rule: str | Rule | OwnRule,
        given: Mapping[str, Any],
        *,
        face: Face = Face.LEARNER,
        defaults_of: Face | None = None,
    ) -> Self:
        """Check a rule and the settings given for it; what is not given keeps its default.

        Parameters
        ----------
        rule : str, Rule or function
            The rule.
        given : mapping
            Settings, and parameters of the rule, by name.
        face : Face
            The learner to configure.
        defaults_of : Face, optional
            The interface whose defaults apply; those of the learner if not given.

        Raises
        ------
        TypeError, ValueError
            For a value that is not allowed, and for names that are neither settings nor parameters of the rule.
        """
        declared = settings_for(face)
        names = {setting.name for setting in declared}
        found, parameters = check_rule(rule, {name: value for name, value in given.items() if name not in names})
        defaults = face if defaults_of is None else defaults_of
        settings = {
            s.name: s.resolve(s.check(given.get(s.name, s.default_in(defaults)), defaults), found) for s in declared
        }
        config = cls(found, parameters, settings, face)
        config._check_together()
        return config

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["settings"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no setting {name!r}") from None

    @property
    def declared(self) -> tuple[Setting, ...]:
        """The declarations of its settings."""
        return settings_for(self.face)

    def values(self) -> dict[str, Any]:
        """Return everything that must be equal for two models to be merged, by name."""
        return {"rule": self.rule, "parameters": self.parameters, **self.settings}

    def with_parameters(self, parameters: Mapping[str, float]) -> Self:
        """Return the same configuration with other values of the rule's parameters."""
        return replace(self, parameters=check_rule(self.rule, dict(parameters))[1])

    def _check_together(self) -> None:
        """Raise a ValueError for settings that exclude each other."""
        for setting in self.declared:
            if setting.conflict is not None and (problem := setting.conflict(self.rule, self.settings)):
                raise OptionError(problem)

    @property
    def slots(self) -> int:
        """Number of features that names are hashed into; 0 if they are not hashed."""
        hashed = self.settings.get("overflow") == "hash"
        return int(self.settings["max_features"] or 0) if hashed else 0

    @property
    def averages(self) -> bool:
        """Whether the model keeps the average of its weights."""
        return bool(self.settings.get("average"))

    @property
    def always_full(self) -> bool:
        """Whether Sigma is full however many features there are."""
        return bool(self.covariance == "full")

    @property
    def drops_features(self) -> bool:
        """Whether named features are dropped when there are too many."""
        return self.max_features is not None and self.overflow == "drop"

    @cached_property
    def compiled(self) -> _native.Rule | None:
        """The rule for the native loops if the build compiled it, so that it cannot raise."""
        return native_rule(self.rule, self.parameters) if is_compiled(self.rule) else None

    @property
    def native_rule(self) -> _native.Rule:
        """The rule for the native loops."""
        # A Python function is not kept: it may refer to the learner.
        return self.compiled or native_rule(self.rule, self.parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def native(self) -> dict[str, Any]:
        """The settings that act in the native loops."""
        return {setting.name: self.settings[setting.name] for setting in self.declared if setting.native}


def check_setting(name: str, value: Any) -> Any:
    """Return a value of the setting of that name, or raise an error that says what is allowed."""
    return BY_NAME[name].check(value)
