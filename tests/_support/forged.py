"""Random changes of model files that keep most of them close to valid, and uses of the models that load."""

import copy
import math
import random
import re
import struct
import warnings
from contextlib import suppress

import numpy as np
import pytest
from stress.forging import Forged

import scwlearn

HOSTILE = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    3,
    2**31,
    2**63,
    2**200,
    10**400,
    -(2**63),
    0.5,
    -0.0,
    1e308,
    -1.5,
    "",
    "full",
    "identity",
    "diagonal",
    "hash",
    "drop",
    "ovr",
    "joint",
    "scw1",
    "pa1",
    "perceptron",
    "rbf",
    "precomputed",
    "Learner",
    "KernelLearner",
    "__class__",
    "\ud800",
    "x" * 300,
    [],
    [1, 2, 3],
    [[]],
    {},
    {"by label": [["a", 1.0]]},
    {"by label": [[[], 1.0]]},
    {"by label": [["a", 10**400]]},
]


def refusal(path):
    """The message for a file that is refused, without its name."""
    with pytest.raises(ValueError, match=re.escape(f"{path}: ")) as error:
        scwlearn.load(path)
    return str(error.value).removeprefix(f"{path}: ")


def try_to_use(model, rows, dicts):
    """Run native code on all of a model, which may be of other data, or of useless numbers; it must not crash."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with suppress(ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError):
            _use(model, rows, dicts)


def _use(model, rows, dicts):
    if hasattr(model, "predict_proba_many"):
        model.predict_proba_many(dicts)
        model.learn_many(dicts, [*model.classes, "a"][:1] * len(dicts))
    elif not hasattr(model, "partial_fit"):
        model.scores_and_variances(rows)
        numbers = np.arange(len(rows)) % 2
        model.learn(rows, 2 * numbers - 1 if model.is_binary else numbers)
    elif model.__sklearn_is_fitted__():
        model.predict_proba(rows)
        model.partial_fit(rows, model.classes_[:1].repeat(len(rows)))


def mutated(content, rng: random.Random):
    """The file with random changes and a valid checksum."""
    forged = Forged(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        rng.choice([_change_text, _change_numbers, _change_shape])(forged, rng)
    # Last, because arrays cannot be found afterwards.
    if rng.random() < 0.15:
        _change_header(forged, rng)
    return forged.content()


def _change_text(forged, rng):
    """Change a random field of the JSON."""
    place, key = _somewhere(forged.model, rng)
    chance = rng.random()
    if chance < 0.1:
        del place[key]
    elif chance < 0.2 and isinstance(place, dict):
        place[rng.choice(["extra", "scale", "rule", "kernel", "C"])] = copy.deepcopy(rng.choice(HOSTILE))
    elif chance < 0.4 and type(place[key]) in (int, float):
        place[key] += rng.choice([-1, 1, 4, 0.5, 1000])
    elif chance < 0.5 and isinstance(place[key], list) and place[key]:
        place[key].append(copy.deepcopy(rng.choice(place[key])))
    else:
        place[key] = copy.deepcopy(rng.choice(HOSTILE))


def _somewhere(value, rng):
    """A random container inside a JSON value, and a key of it."""
    places = []

    def visit(inner):
        for key in inner if isinstance(inner, dict) else range(len(inner)):
            places.append((inner, key))
            if isinstance(inner[key], dict | list):
                visit(inner[key])

    visit(value)
    return rng.choice(places) if places else ({"": None}, "")


def _change_numbers(forged, rng):
    """Flip a bit of an array, or write an unusual number."""
    if not len(forged.data):
        return
    at = rng.randrange(len(forged.data))
    if rng.random() < 0.5:
        forged.data[at] ^= 1 << rng.randrange(8)
        return
    at -= at % 8
    number = rng.choice([0.0, -0.0, -1.0, 1.0, 5e-324, 1e308, math.inf, -math.inf, math.nan])
    odd = (
        struct.pack("<d", number)
        if rng.random() < 0.7
        else rng.choice([-1, 2**62, 2**31, 7]).to_bytes(8, "little", signed=True)
    )
    forged.data[at : at + 8] = odd[: len(forged.data) - at]


def _change_shape(forged, rng):
    """Change the shape, length or type of an array, or remove it."""
    if not forged.header:
        return
    name = rng.choice(list(forged.header))
    entry, part = forged.header[name], bytes(forged.array(name))
    width = {"F64": 8, "I64": 8, "I32": 4, "U8": 1}[entry["dtype"]]
    chance = rng.random()
    if chance < 0.15:
        forged.remove(name)
    elif chance < 0.3 and width == 8:
        entry["dtype"] = rng.choice(["F64", "I64"])
    elif chance < 0.5:
        shape = list(entry["shape"])
        rng.shuffle(shape)
        entry["shape"] = shape if rng.random() < 0.5 else [len(part) // width]
    elif len(entry["shape"]) and entry["shape"][0]:
        # One row more or less.
        lines = max(0, entry["shape"][0] + rng.choice([-1, 1]))
        line = len(part) // entry["shape"][0]
        forged.replace(name, (part + part)[: line * lines].ljust(line * lines, b"\0"), [lines, *entry["shape"][1:]])


def _change_header(forged, rng):
    """Make the header lie about an array."""
    if not forged.header:
        return
    entry = forged.header[rng.choice(list(forged.header))]
    key = rng.choice(list(entry))
    value = entry[key]
    if isinstance(value, list) and value and rng.random() < 0.7:
        value[rng.randrange(len(value))] = rng.choice([-1, 0, 1, 2**31, 2**62, 2**63, 2**64, 1.5, None, True])
    else:
        entry[key] = copy.deepcopy(rng.choice(HOSTILE))
