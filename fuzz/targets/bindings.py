"""Fuzz the learning of dicts: keys and values of any type, also such that change the dict while it is read.

An input draws a model, and then calls with dicts. A call either works, or raises a documented error and leaves the
model as it was.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import cache
from typing import Any

import numpy as np

from fuzz.drawn import Drawn
from scwlearn import Features, StreamClassifier
from scwlearn.learning.data_warnings import DataWarning

_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"covariance": "full"},
    {"scale": "rms"},
    {"scale": "standard", "class_weight": "balanced"},
    {"max_features": 4},
    {"max_features": 4, "overflow": "hash"},
    {"multi_class": "ovr", "intercept": False},
    {"classes": ["a", "b", "c"]},
    {"shared_covariance": True},
    {"features": Features(kinds={"text": "text", "day": "date", "size": "numeric"}, missing="ignore")},
    {"features": Features(interactions=(("size", "sky"), ("*", "*")), char_ngrams=(2, 3))},
    {"features": Features(others="categorical"), "max_features": 4, "overflow": "hash"},
)
_ALGORITHMS = ("scw1", "scw1", "arow", "pa1", "auto")
_MOST_CALLS, _MOST_ITEMS = 8, 6


class Own(Exception):
    """An error of a key or a value, which must reach the caller."""


class Text(str):
    """A subclass that the fast paths for strings must not take for one."""


class Whole(int):
    """A subclass."""


class Number(float):
    """A subclass."""


class Hostile:
    """A key or a value that changes the dict, learns, or raises, when it is compared, hashed or converted."""

    def __init__(self, attack: Callable[[], Any], hash: int) -> None:
        self._attack, self._hash, self.is_armed = attack, hash, False

    def _strike(self) -> None:
        if self.is_armed:
            # Once; otherwise it would never end.
            self.is_armed = False
            self._attack()

    def __hash__(self) -> int:
        self._strike()
        return self._hash

    def __eq__(self, other: object) -> bool:
        self._strike()
        return self is other

    def __float__(self) -> float:
        self._strike()
        return 1.5

    def __index__(self) -> int:
        self._strike()
        return 2

    def __str__(self) -> str:
        self._strike()
        return "hostile"

    __repr__ = __str__


class Attacker:
    """Draws dicts, and hostile objects in them."""

    def __init__(self, drawn: Drawn, model: StreamClassifier) -> None:
        self._drawn, self._model, self._hostile = drawn, model, list[Hostile]()
        self.learns = False

    def record(self) -> dict[Any, Any]:
        """Return a dict; its hostile objects attack from now on."""
        self._hostile.clear()
        record: dict[Any, Any] = {}
        for _ in range(self._drawn.below(_MOST_ITEMS + 1)):
            record[self._key(record)] = self._value(record, 0)
        for one in self._hostile:
            one.is_armed = True
        return record

    def calm(self) -> None:
        """End all attacks."""
        for one in self._hostile:
            one.is_armed = False

    def _key(self, record: dict[Any, Any]) -> Any:
        drawn = self._drawn
        match drawn.below(12):
            case 0:
                return drawn.integer(1)
            case 1:
                return drawn.integer() << drawn.byte()
            case 2:
                return Text(drawn.choice(("size", "sky", "")))
            case 3:
                return drawn.choice((None, True, 1.5, math.nan, -0.0, b"size", (), ("a", 1), frozenset(), np.int64(3)))
            case 4:
                return self._attack(record, hash(drawn.choice(("size", "sky", 1, 2))))
            case 5:
                return drawn.text(8)
            case 6:
                return chr(drawn.integer(3, signed=False) % 0x110000) * drawn.below(3)
            case 7:
                return (drawn.integer(1), "pair") if drawn.flag() else Whole(drawn.integer(1))
            case _:
                return drawn.choice(("size", "sky", "text", "day", "a.b", "size=1", "x", "y"))

    def _value(self, record: dict[Any, Any], depth: int) -> Any:
        drawn = self._drawn
        match drawn.below(16):
            case 0:
                return drawn.float()
            case 1:
                return drawn.integer() << drawn.byte()
            case 2:
                return drawn.choice((None, True, False, "", "NaN", "2026-11-19", "a b a", "\ud800", "\0", b"x", 1j))
            case 3:
                return drawn.choice((Text("a"), Whole(3), Number(0.5), Number("nan"), np.float32(1), np.str_("a")))
            case 4:
                odd = (decimal.Decimal("sNaN"), fractions.Fraction(1, 3), datetime.date.max, datetime.datetime.min)
                return drawn.choice(
                    (*odd, np.datetime64("NaT"), np.array(2.0), np.array([1, 2]), datetime.timedelta(1))
                )
            case 5:
                return self._attack(record, 0)
            case 6:
                return [self._value(record, depth + 1) for _ in range(drawn.below(3))] if depth < 2 else []
            case 7 if depth < 2:
                return {self._key(record): self._value(record, depth + 1) for _ in range(drawn.below(3))}
            case 8:
                return record if drawn.flag() else (*drawn.text(3),)
            case 9:
                return drawn.text(12)
            case _:
                return drawn.integer(1) / 8

    def _attack(self, record: dict[Any, Any], hash: int) -> Hostile:
        number = self._drawn.below(6)

        def attack() -> None:
            match number:
                case 0:
                    record.clear()
                case 1:
                    record.update((str(i), float(i)) for i in range(20))
                case 2 if record:
                    record.popitem()
                case 3:
                    raise Own
                case 4:
                    self.learns = True
                    self._model.learn_one({"size": 2.0, "new": 1.0}, "b")
                case _:
                    record["size"] = {"deep": "er"}

        self._hostile.append(Hostile(attack, hash))
        return self._hostile[-1]


@cache
def _trained(number: int, algorithm: str) -> StreamClassifier:
    """Return a model to copy."""
    settings = _SETTINGS[number]
    if algorithm == "auto":
        settings = {name: value for name, value in settings.items() if name in ("features", "classes")}
    model = StreamClassifier(algorithm, **settings)
    model.learn_many([{"size": 1.0, "sky": "blue"}, {"size": -1.0, "x": 2}], ["a", "b"])
    return model


def run(data: bytes) -> None:
    """Copy a model, and call it with dicts."""
    drawn = Drawn(data)
    with suppress(TypeError, ValueError), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", DataWarning)
        model = copy(_trained(drawn.below(len(_SETTINGS)), drawn.choice(_ALGORITHMS)))
        attacker = Attacker(drawn, model)
        for _ in range(_MOST_CALLS):
            if not drawn:
                break
            _call(drawn, model, attacker)
        _check_finite(model)


def _call(drawn: Drawn, model: StreamClassifier, attacker: Attacker) -> None:
    before, attacker.learns = _state(model), False
    label = drawn.choice(("a", "b", "c", 1, True, 1.5, None, math.nan, "", Text("a"), b"a", "d" * 300, 2**70, ()))
    weight: Any = drawn.choice((1.0, 1.0, 0.0, 2, math.nan, -1, "1", None, 1e300, True, 2**2000))
    learns = False
    try:
        match drawn.below(8):
            case 0 | 1 | 2:
                learns = True
                model.learn_one(attacker.record(), label, weight)
            case 3:
                learns = True
                model.learn_many([attacker.record(), {"size": 1.0}, attacker.record()], ["a", label, "b"])
            case 4:
                model.predict_one(attacker.record())
            case 5:
                model.predict_proba_one(attacker.record())
            case 6:
                model.explain(attacker.record())
            case _:
                model.predict_many([attacker.record(), attacker.record()])
    except (TypeError, ValueError, OverflowError, RuntimeError, Own) as error:
        # A RuntimeError is a dict that changed; a subclass of it is a bug.
        if isinstance(error, RecursionError | NotImplementedError):
            raise AssertionError(type(error)) from error
        learns = False
    attacker.calm()
    if not learns and not attacker.learns:
        assert _state(model) == before, "a call that learns nothing changed the model"


def _gaussians(model: StreamClassifier) -> list[Any]:
    gaussians = model._classifier.learner.model
    return [] if gaussians is None else getattr(gaussians, "gaussians", [gaussians])


def _state(model: StreamClassifier) -> tuple[Any, ...]:
    """Return what must not change where nothing is learned."""
    arrays = [array.tobytes() for one in _gaussians(model) for array in (one.memory, one.scalars)]
    return model.counts, model.classes, model.n_features, arrays


def _check_finite(model: StreamClassifier) -> None:
    for one in _gaussians(model):
        assert np.isfinite(one.memory).all()
        assert np.isfinite(one.scalars).all()
