"""Small helpers of several test files."""

import pickle
from copy import copy
from dataclasses import replace

from scwlearn import Learner


def state(model):
    """Return everything that an estimator knows, as bytes."""
    return pickle.dumps(model.__getstate__())


def several(rule="scw1", *, n_classes=0, **settings):
    """Return a learner on class numbers."""
    return Learner(rule, n_classes=n_classes, **settings)


def reconfigured(learner, **settings):
    """Return a copy of a learner with other settings, which are not checked."""
    other = copy(learner)
    other.config = replace(learner.config, settings=learner.config.settings | settings)
    return other


def split(learner, **settings):
    """Split a binary learner into two classes, with other settings of several classes."""
    return reconfigured(learner, **settings).split()
