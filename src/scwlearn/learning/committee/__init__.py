"""Committees: several learners on the same examples, whose probabilities are mixed."""

from __future__ import annotations

from typing import Any

from scwlearn.learning.config import LearnerConfig


def learner_type(config: LearnerConfig) -> type[Any]:
    """Return the class of the learner of a configuration: a linear learner, or a committee of them."""
    # Imported here, because configurations must not import what learns.
    from scwlearn.learning.committee.config import CommitteeConfig
    from scwlearn.learning.committee.learner import Committee
    from scwlearn.learning.learner import Learner

    return Committee if isinstance(config, CommitteeConfig) else Learner
