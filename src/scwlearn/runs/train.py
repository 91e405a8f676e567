"""A whole training: over the data once or more, some of it held out, the model saved on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scwlearn import __version__
from scwlearn.data.examples import Examples, Schema
from scwlearn.learning.classifier import ClassLearner
from scwlearn.runs.align import by_number
from scwlearn.runs.config import Choices
from scwlearn.runs.holdout import judged
from scwlearn.runs.progressive import Course, training_labels
from scwlearn.runs.record import Point, Record
from scwlearn.runs.trained_model import Model

#: How many weights of each class a record keeps.
_TOP_WEIGHTS = 20


@dataclass(frozen=True)
class Plan:
    """How a training goes about it."""

    epochs: int = 1
    #: The part of the examples that is kept apart to judge by: every so-and-so-many-th.
    holdout: float = 0.0
    probabilities: bool = False
    save_every: int | None = None


@dataclass(frozen=True)
class Told:
    """What only who runs a training knows of it."""

    command: str
    began: str
    sources: list[str]
    schema: Schema | None
    skipped: int = 0
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass
class Hooks:
    """Who is told what: where the run doubled, where an epoch began, that the model should be saved."""

    at_doubling: Callable[[Point], None] | None = None
    at_epoch: Callable[[int], None] = lambda number: None
    at_save: Callable[[Training], None] = lambda training: None


@dataclass
class Training:
    """A model in the making. The first examples decide whether its features have names."""

    choices: Choices
    plan: Plan
    #: The model so far: one that goes on, or None before the first example.
    learner: ClassLearner | None = None
    hooks: Hooks = field(default_factory=Hooks)
    course: Course | None = None
    held_out: list[Examples] = field(default_factory=list)
    _met: int = 0

    def run(self, read: Callable[[int], Iterable[Examples]]) -> None:
        """Learn from what `read` gives for each epoch, counted from 0."""
        for epoch in range(self.plan.epochs):
            self.hooks.at_epoch(epoch)
            self._met = 0
            for examples in read(epoch):
                for part in self._kept(examples, keep=epoch == 0):
                    self.learn(part)
        if self.course is not None:
            self.course.finish()

    def learn(self, examples: Examples) -> None:
        """Learn from some more."""
        if self.course is None:
            self._begin(examples)
        assert self.course is not None
        self.course.learn(by_number(examples) if self.choices.bounds_names else examples)

    def judge(self) -> dict[str, float] | None:
        """How well the model does on what was held out; None where nothing was."""
        if self.learner is None or not self.held_out:
            return None
        return judged(self.learner, self.held_out, probabilities=self.plan.probabilities)

    @property
    def begun(self) -> ClassLearner:
        """The model, once there is one."""
        if self.learner is None:
            raise ValueError("nothing has been learned yet")
        return self.learner

    def record(self, told: Told, *, finished: bool = True) -> Record:
        """What happened so far; what takes some time to find out is left for the end."""
        learner, course = self.begun, self.course
        assert course is not None
        model, recipe = Model(learner, told.schema), learner.recipe
        weights = learner.class_weights.given
        settings = {**recipe.how, **recipe.how_several, "covariance": learner.covariance_kind}
        settings["class_weight"] = {str(k): w for k, w in weights.items()} if isinstance(weights, dict) else weights
        return Record(
            command=told.command,
            began=told.began,
            version=__version__,
            sources=told.sources,
            algorithm=recipe.rule.name,
            parameters=recipe.rule.check(recipe.parameters),
            settings=settings | told.settings,
            classes=list(learner.classes.values_in_order),
            n_features=model.n_features,
            curve=list(course.points),
            skipped=told.skipped,
            epochs=self.plan.epochs,
            reliability=course.watcher.reliability(),
            confusion=course.watcher.confusion(learner.classes),
            top_weights=model.shown_weights(_TOP_WEIGHTS) if finished else {},
            holdout=self.judge() if finished else None,
        )

    def _begin(self, examples: Examples) -> None:
        if self.learner is None:
            self.choices = self.choices.for_labels(training_labels(examples))
            self.learner = self.choices.learner()
        self.course = Course(
            self.learner,
            probabilities=self.plan.probabilities,
            save_every=self.plan.save_every,
            at_doubling=self.hooks.at_doubling,
            at_save=lambda: self.hooks.at_save(self),
        )

    def _kept(self, examples: Examples, *, keep: bool) -> Iterator[Examples]:
        """The examples to learn from, in order; the others are put aside."""
        if not self.plan.holdout:
            yield examples
            return
        numbers = self._met + np.arange(len(examples))
        self._met += len(examples)
        # Wherever the count of those held out goes up by one.
        aside = np.floor((numbers + 1) * self.plan.holdout) > np.floor(numbers * self.plan.holdout)
        if keep and aside.any():
            self.held_out.append(examples.chosen(np.flatnonzero(aside)))
        if not aside.all():
            yield examples.chosen(np.flatnonzero(~aside))
