"""The members of a committee as models of their own, in the same memory."""

from __future__ import annotations

from scwlearn.learning.classifier import Classifier
from scwlearn.learning.learner import Learner
from scwlearn.model.snapshot import Snapshot


def member_snapshots(snapshot: Snapshot) -> list[Snapshot]:
    """Return each member of a committee with its calibration, as a classifier of its own has them."""
    committee = snapshot.learner
    pairs = zip(committee.members(), committee.mixture.calibrations, strict=True)
    return [Snapshot(learner, calibration, snapshot.classes) for learner, calibration in pairs]


def member_classifiers(classifier: Classifier) -> list[Classifier]:
    """Return each member of a committee as a classifier."""
    found = []
    for snapshot in member_snapshots(classifier.snapshot):
        member = classifier._shallow_copy()
        member.config, member.learner_type, member.snapshot = snapshot.learner.config, Learner, snapshot
        found.append(member)
    return found
