"""The configuration of a learner: a rule, its parameters, and the values of all settings, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from scwlearn._util.errors import OptionError
from scwlearn.learning.settings import BY_NAME, Face, Setting, settings_for
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule, check_rule

# The hash has 32 bits, one of which is the sign.
_MOST_SLOTS = 2**31 - 1


@dataclass(frozen=True)
class LearnerConfig:
    """A rule with its parameters and settings. Immutable; each setting is an attribute as well.

    Examples
    --------
    >>> from scwlearn.learning.config import LearnerConfig
    >>> config = LearnerConfig.create("scw1", {"C": 0.5, "covariance": "diagonal"})
    >>> config.parameters["C"], config.covariance, config.variance_floor
    (0.5, 'diagonal', 0.0)
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
        settings = {s.name: s.check(given.get(s.name, s.default_in(defaults)), defaults) for s in declared}
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
        settings, rule = self.settings, self.rule
        order = rule.order if isinstance(rule, Rule) else 2
        if settings["variance_floor"] > 0 and (order == 1 or settings.get("covariance") == "identity"):
            reason = f"{rule.name} is a first-order rule" if isinstance(rule, Rule) and order == 1 else ""
            raise OptionError(
                f"{{variance_floor}} must be 0 where variances never fall ({reason or '{covariance=identity}'}), "
                f"got {settings['variance_floor']!r}"
            )
        if settings.get("shared_covariance") and settings["multi_class"] != "joint":
            raise OptionError("{shared_covariance=True} needs {multi_class=joint}")
        has_rivals = isinstance(rule, Rule) and rule.has_rivals and settings["multi_class"] == "joint"
        if settings["rivals"] != "max" and not has_rivals:
            raise OptionError(
                f"{{rivals={settings['rivals']}}} is for the joint Perceptron; other rules take {{rivals=max}}"
            )
        if settings.get("overflow") == "hash":
            if settings["max_features"] is None:
                raise OptionError("{overflow=hash} needs {max_features}, the number of slots to hash names into")
            if settings["max_features"] > _MOST_SLOTS:
                raise OptionError(
                    f"{{max_features}} must be at most {_MOST_SLOTS} with {{overflow=hash}}, "
                    f"got {settings['max_features']}"
                )


def check_setting(name: str, value: Any) -> Any:
    """Return a value of the setting of that name, or raise an error that says what is allowed."""
    return BY_NAME[name].check(value)


#: Up to this many features "auto" keeps a full covariance (docs/covariances.md has the measurements).
AUTO_FULL_LIMIT = 500

#: With several classes, also only while all their covariances together have at most this many entries (64 MB).
AUTO_FULL_ENTRIES = 2**23


def auto_covariance(rule: Rule | OwnRule, width: int, *, named: bool = False, sigmas: int = 1) -> str:
    """Return the covariance that "auto" stands for.

    Parameters
    ----------
    rule : Rule or function
        The rule.
    width : int
        The number of features.
    named : bool
        Whether features come by name, so that their number is not known yet.
    sigmas : int
        The number of covariances: one per class, unless they share one.
    """
    if isinstance(rule, Rule) and rule.order == 1:
        return "identity"
    if width <= AUTO_FULL_LIMIT and sigmas * width**2 <= AUTO_FULL_ENTRIES and not named:
        return "full"
    return rule.diagonal if isinstance(rule, Rule) else "diagonal"
