"""Malformed matrices and vectors: every call refuses them or gives the right answer, and none crashes."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np

import scwlearn
from scwlearn import Learner
from scwlearn.data.rows import Rows
from scwlearn.kernels import KernelLearner
from scwlearn.learning.committee.config import CommitteeConfig
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.grid import count_grid, learn_grid
from scwlearn.learning.tuning import tune
from scwlearn.model.scale import RunningScale
from stress.odd_matrices import Odd, draw_matrix, draw_numbers, draw_vector
from stress.trial import Trial

# Inputs of a case, which runs in a process of its own.
_INPUTS = 100
_ROWS, _COLUMNS = 4, 4
_SEEN = draw_numbers(Random("seen"), 12, _COLUMNS)
_LABELS = {2: [0, 1] * 6, 3: [0, 1, 2] * 4}
_ESTIMATORS: dict[str, dict[str, Any]] = {
    "SCW1": {"covariance": "diagonal"},
    "AROW": {"scale": "rms"},
    "SCW2": {"scale": "standard", "covariance": "diagonal", "multi_class": "ovr"},
    "PA1": {},
    "Perceptron": {"scale": "unit"},
    "AutoClassifier": {},
    "KernelSCW1": {"gamma": 0.5},
    "KernelPA1": {"kernel": "linear", "budget": 5},
    "KernelAROW": {"kernel": "poly"},
    "NHERD": {"initial_variance": 1e99, "covariance": "diagonal"},
}


class Call(NamedTuple):
    """A public call on a model."""

    name: str
    #: Returns what the call computes of a copy of the model, or what the model computes after the call.
    act: Callable[[Any, Any], Any]
    #: The model; None for a function.
    model: Any = None
    #: Draws what is passed.
    draw: Callable[[Random, int], Odd] = lambda random, columns: draw_matrix(random, _ROWS, columns)
    #: The same for a matrix of one row, if `act` takes a vector.
    batch: Callable[[Any, Any], Any] | None = None


def _case(random: Random) -> int:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        # Trained before the fork, since it takes most of the time.
        calls = random.choice([_estimator_calls, _estimator_calls, _learner_calls, _learner_calls, _functions])(random)
        _in_child(lambda report: _try_all(calls, random, report))
    return _INPUTS


def _try_all(calls: list[Call], random: Random, report: Callable[[str], None]) -> None:
    for _ in range(_INPUTS):
        call = random.choice(calls)
        odd = call.draw(random, _COLUMNS)
        report(f"{call.name}: {odd.what}: {_shown(odd.value)}")
        _try(call, odd)


def _shown(value: Any) -> str:
    # A broken sparse matrix has no repr.
    return f"{value!r:.300}" if isinstance(value, np.ndarray | list) else type(value).__name__


def _try(call: Call, odd: Odd) -> None:
    model = deepcopy(call.model)
    try:
        found = call.act(model, odd.value)
    except (TypeError, ValueError):
        if odd.numbers is not None:
            _check_refused(call, odd)
        if call.model is not None:
            _check_equal(_probe(model), _probe(call.model), "the model changed")
        return
    if odd.numbers is not None:
        _check_equal(found, (call.batch or call.act)(deepcopy(call.model), odd.numbers), "the answer is wrong")
    else:
        assert odd.may_fit, f"answered {found!r:.200}"


def _check_refused(call: Call, odd: Odd) -> None:
    """Check that a call refuses plain numbers, too, as it refused them in an unusual form."""
    try:
        (call.batch or call.act)(deepcopy(call.model), odd.numbers)
    except (TypeError, ValueError):
        return
    raise


def _check_equal(found: Any, expected: Any, problem: str) -> None:
    for one, other in zip(found, expected, strict=True):
        if np.asarray(other).dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=problem)
        else:
            np.testing.assert_array_equal(one, other, err_msg=problem)


def _probe(model: Any) -> list[Any]:
    """Return what shows whether a model has changed."""
    if hasattr(model, "decision_function"):
        return [model.decision_function(_SEEN), model.n_features_in_, model.classes_]
    if isinstance(model, RunningScale):
        return [model.scales, model.rows]
    if isinstance(model, scwlearn.StreamClassifier):
        return [str(model.counts)]
    return [model.scores(_SEEN), str(model.counts)]


def _estimator_calls(random: Random) -> list[Call]:
    name, classes = random.choice([*_ESTIMATORS]), random.choice([2, 3])
    settings = _ESTIMATORS[name] | {"random_state": 0}
    model = getattr(scwlearn, name)(**settings).fit(_SEEN, _LABELS[classes])
    if random.random() < 0.1:
        model = scwlearn.TunedClassifier(scwlearn.AROW(random_state=0), param_grid={"r": [0.5, 2.0]}, n_jobs=1)
        model.fit(_SEEN, _LABELS[classes])
    y = _LABELS[classes][:_ROWS]
    acts: dict[str, Callable[[Any, Any], Any]] = {
        "fit": lambda model, x: _fitted(model.fit(x, y)),
        "partial_fit": lambda model, x: _probe(model.partial_fit(x, y)),
        "score": lambda model, x: [model.score(x, y)],
        **{
            method: partial(_call, method)
            for method in ("predict", "predict_proba", "decision_function", "margin_variance")
            if hasattr(model, method)
        },
    }
    if isinstance(model, scwlearn.TunedClassifier):
        del acts["partial_fit"]
    calls = [Call(f"{name}.{method}", act, model) for method, act in acts.items()]
    calls.append(Call(f"{name}.predict and predict_proba", _both, model, _draw_far))
    if hasattr(model, "explain"):
        calls.append(Call(f"{name}.explain", _explained, model, lambda r, columns: draw_matrix(r, 1, columns)))
        calls.append(Call(f"{name}.explain", _explained, model, draw_vector))
    return calls


def _draw_far(random: Random, columns: int) -> Odd:
    """Return numbers up to the largest allowed, whose scores, variances or kernels may overflow."""
    numbers = draw_numbers(random, _ROWS, columns) * random.choice([1.0, 3e149, 10.0 ** random.uniform(-150, 149)])
    return Odd(numbers * random.choice([-1, 1]), numbers, "far values", may_fit=True)


def _both(model: Any, x: Any) -> list[Any]:
    """Predict labels and probabilities: both are refused, or both agree."""
    labels, probabilities = (_answer(method, x) for method in (model.predict, model.predict_proba))
    assert (labels is None) == (probabilities is None), (
        "one of predict and predict_proba refuses what the other answers"
    )
    if labels is not None:
        assert np.isfinite(probabilities).all(), probabilities
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], labels)
    return []


def _answer(method: Callable[[Any], Any], x: Any) -> Any:
    """Return what a method answers; None if it refuses."""
    try:
        return method(x)
    except ValueError:
        return None


def _stream_both(model: Any, x: Any) -> list[Any]:
    """Predict labels and probabilities of dicts, one at a time and together; the values are in range."""
    examples = [dict(enumerate(row)) for row in x.tolist()]
    labels, together = model.predict_many(examples), model.predict_proba_many(examples)
    for example, label, row in zip(examples, labels, together, strict=True):
        alone = model.predict_proba_one(example)
        assert model.predict_one(example) == label == max(alone, key=alone.__getitem__), alone
        np.testing.assert_array_equal([*alone.values()], row)
    return []


def _call(method: str, model: Any, x: Any) -> list[Any]:
    return [getattr(model, method)(x)]


def _fitted(model: Any) -> list[Any]:
    return _probe(model) if model.n_features_in_ == _COLUMNS else []


def _explained(model: Any, x: Any) -> list[Any]:
    return [[part.adds for part in parts] for parts in model.explain(x).values()]


def _learner_calls(random: Random) -> list[Call]:
    several, scale = random.choice([None, None, 0]), random.choice(["none", "rms", "standard", "unit"])
    form = random.choice(["diagonal", "full", "identity"])
    signs = [-1, 1] * 6 if several is None else _LABELS[3]
    if random.random() < 0.25:
        learner: Any = KernelLearner(random.choice(["scw1", "pa1"]), n_classes=several, kernel="rbf")
    elif random.random() < 0.25:
        learner = Committee.from_config(CommitteeConfig.create_committee({}), several)
    else:
        learner = Learner(random.choice(["arow", "scw1"]), n_classes=several, covariance=form, scale=scale)
    if not isinstance(learner, KernelLearner) and random.random() < 0.2:
        new = deepcopy(learner)
        calls = [Call("new learner.learn_one", partial(_learn_one, new), None, draw_vector, partial(_learn_row, new))]
    else:
        calls = []
    learner.learn(_SEEN, signs)
    name, y = f"{type(learner).__name__} {form} {scale}", signs[:_ROWS]
    acts: dict[str, Callable[[Any, Any], Any]] = {
        "learn": lambda model, x: [str(model.learn(x, y)), *_probe(model)],
        "learn in order": lambda model, x: [str(model.learn(x, y, order=[3, 2, 1, 0])), *_probe(model)],
        "scores": lambda model, x: [model.scores(x)],
        "scores_and_variances": lambda model, x: [*model.scores_and_variances(x)],
        "scores_and_top_variances": lambda model, x: [*model.scores_and_top_variances(x)],
    }
    calls += [Call(f"{name}.{method}", act, learner) for method, act in acts.items()]
    if not isinstance(learner, KernelLearner):
        calls.append(Call(f"{name}.score_one", lambda m, x: [m.score_one(x)], learner, draw_vector, _score_row))
        learn_one = partial(_learn_one, None), learner, draw_vector, partial(_learn_row, None)
        calls.append(Call(f"{name}.learn_one", *learn_one))
    return calls


def _score_row(model: Any, x: Any) -> list[Any]:
    return [model.scores(x)[0]]


def _learn_one(new: Any, model: Any, x: Any) -> list[Any]:
    model = deepcopy(new) if model is None else model
    model.learn_one(x, 1)
    return _probe(model)


def _learn_row(new: Any, model: Any, x: Any) -> list[Any]:
    model = deepcopy(new) if model is None else model
    model.learn(x, [1])
    return _probe(model)


def _functions(random: Random) -> list[Call]:
    signs, kind = [-1, 1, 1, -1], random.choice(["rms", "standard", "unit"])
    scale = RunningScale(kind)
    scale.learn(_SEEN)
    cells, variance = [{"r": 0.5}, {"r": 2.0}], random.choice([1.0, 1e99])
    stream = scwlearn.StreamClassifier(
        "scw1", initial_variance=variance, covariance=random.choice(["full", "diagonal"])
    )
    if random.random() < 0.5:
        stream = scwlearn.StreamClassifier(random.choice(["auto", "pa1"]))
    for row, label in zip(_SEEN.tolist(), _LABELS[random.choice([2, 3])], strict=True):
        stream.learn_one(dict(enumerate(row)), label)
    return [
        Call("RunningScale.learn", lambda model, x: [model.learn(x).dense(), *_probe(model)], scale),
        Call("RunningScale.apply", lambda model, x: [model.apply(x).dense()], scale),
        Call("learn_grid", lambda _, x: [one.scores(_SEEN) for one in learn_grid("arow", cells, x, signs, n_jobs=1)]),
        Call("count_grid", lambda _, x: [str(count_grid("arow", cells, x, signs, covariance="diagonal", n_jobs=1))]),
        Call("tune", lambda _, x: [str(tune("arow", x, signs, covariance="diagonal", n_jobs=1))]),
        Call("predict_one and predict_proba_one", _stream_both, stream, _draw_far),
        Call("Rows", lambda _, x: [Rows(x).dense()]),
    ]


def _in_child(work: Callable[[Callable[[str], None]], None]) -> None:
    """Run work in a forked process; raise an error if it fails or dies, with what it reported last."""
    reading, writing = os.pipe()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            work(lambda text: (os.write(writing, f"\0{text}".encode(errors="backslashreplace")), None)[1])
            code = 0
        except BaseException:
            os.write(writing, traceback.format_exc().encode(errors="backslashreplace"))
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().split(b"\0")[-1].decode()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code == 0, f"{signal.Signals(-code).name if code < 0 else 'failed'}: {told}"


TRIAL = Trial(
    claim="Malformed or unusual matrices and vectors are refused, or give the right answer, in every call",
    unit="inputs",
    case=_case,
    quick=8,
    long=4_000,
)
