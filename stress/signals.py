"""Commands and saves that are interrupted, terminated and killed at random moments."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import scwlearn
from scwlearn import StreamClassifier, river
from scwlearn.runs.trained_model import TrainedModel
from stress.model_state import everything
from stress.processes import Ended, Program, command, function
from stress.trial import Trial

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
# Signals for each scenario.
_TIMES = 10
_TEMPORARY = ".scwlearn.tmp"
_COVARIANCE = ["--covariance", "diagonal"]

# Raises an AssertionError unless what a file holds is complete.
_Check = Callable[[Path], None]


def _case(random: Random) -> int:
    scenarios: list[Callable[[Random, Path], int]] = [_training, _training_in_steps, _outputs, _predictions, _saving]
    scenario = random.choices([*scenarios, _rare], [3, 3, 5, 2, 3, 0.5])[0]
    with TemporaryDirectory(prefix="scwlearn-stress-") as name:
        place = Path(name)
        (place / "temporary").mkdir()
        return scenario(random, place)


# What a signal may leave


def _signal(random: Random, program: Program, seconds: float) -> Ended:
    """Run a program, and send a signal at a random moment; check how it ends and what it leaves."""
    number, before = random.choice(_SIGNALS), _leftovers(program.place)
    delay = random.random() * seconds * random.choice([0.2, 1.0, 1.1])
    ended = program.run(number, delay, group=random.random() < 0.5)
    allowed = {0, -number} if number == signal.SIGKILL else {0, 128 + number}
    assert ended.code in allowed, f"{program} ended with {ended.code} after signal {number}: {ended.errors}"
    for word in ("Traceback", "Exception ignored", "Warning", "error:"):
        assert word not in ended.errors, f"{program}: {ended.errors}"
    _check_leftovers(program, before, was_killed=ended.code == -signal.SIGKILL)
    return ended


def _leftovers(place: Path) -> set[Path]:
    return {path for path in place.rglob("*") if path.name.endswith(_TEMPORARY)} | {*(place / "temporary").iterdir()}


def _check_leftovers(program: Program, before: set[Path], *, was_killed: bool) -> None:
    """Check that only a killed process leaves temporary files, which only their user can read."""
    left = _leftovers(program.place) - before
    assert was_killed or not left, f"{program} leaves {left}"
    for path in left:
        # A complete file gets its mode right before its name.
        assert stat.S_IMODE(path.stat().st_mode) in (0o600, 0o644, 0o700), f"{path}: {path.stat()}"


def _whole(program: Program) -> float:
    """Run a program to its end; return how long it takes. It removes what killed ones have left."""
    ended = program.run()
    assert ended.code == 0, f"{program} ended with {ended.code}: {ended.errors}"
    left = {path for path in program.place.glob("*") if path.name.endswith(_TEMPORARY)}
    if "--workers" in program.title:
        left |= {*(program.place / "temporary").iterdir()}
    assert not left, f"{program} leaves {left}"
    return ended.seconds


# Training


def _write_examples(random: Random, path: Path, rows: int, width: int = 40) -> list[str]:
    lines = []
    for _ in range(rows):
        columns = sorted(random.sample(range(1, width), 4))
        label = 1 if (columns[0] + columns[1]) % 2 else -1
        lines.append(f"{label} {' '.join(f'{column}:{random.uniform(-1, 1):.4f}' for column in columns)}\n")
    path.write_text("".join(lines))
    return lines


# Those that are the same to the last bit, however the data are cut.
_ALGORITHMS = (
    ["-a", "scw1", *_COVARIANCE],
    ["-a", "arow", *_COVARIANCE, "--scale", "standard"],
    ["-a", "pa1", "--average"],
    ["-a", "scw2", *_COVARIANCE, "--max-features", "20"],
)


def _learned(path: Path) -> dict[str, Any]:
    """Return what a model has learned, without the record of its run."""
    classifier = TrainedModel.read(path).classifier
    state = everything(classifier)
    return {name: value for name, value in state.items() if "findings" not in name and "_has_warned" not in name}


def _seen(path: Path) -> int:
    return TrainedModel.read(path).classifier.counts.seen if path.exists() else 0


def _training(random: Random, place: Path) -> int:
    """Train, save at intervals and write a report: each file is complete, and holds all that was saved."""
    rows, every = random.choice([200, 600]), random.choice([20, 50])
    _write_examples(random, place / "data", rows)
    model, page = place / "model", place / "page.html"
    words = ["train", "data", "-m", "model", "--report", "page.html", "--save-every", str(every)]
    program = command(random, place, [*words, *random.choice([*_ALGORITHMS, ["-a", "auto"]])])
    _check_intervals(program, model, rows, every)
    seconds = _whole(program)
    expected = _learned(model)
    for _ in range(_TIMES):
        model.unlink(missing_ok=True)
        page.unlink(missing_ok=True)
        ended = _signal(random, program, seconds)
        _check_saved(program, ended, model, rows, every)
        if ended.code == 0:
            assert _learned(model) == expected, f"{program}: another model"
        if page.exists() or ended.code == 0:
            _check_page(page)
    _whole(program)
    return _TIMES


def _check_intervals(program: Program, model: Path, rows: int, every: int) -> None:
    """Check that a run without signals saves the model each time that it should."""

    def keep_all() -> None:
        numbers, rename = count(), os.replace

        def rename_and_keep(source: str, target: str) -> None:
            rename(source, target)
            if Path(target) == model:
                shutil.copy(target, f"{target}-{next(numbers):04}")

        with mock.patch("os.replace", rename_and_keep):
            program.body()

    _whole(replace(program, body=keep_all, words=None))
    kept = sorted(model.parent.glob("model-*"))
    seen = [_seen(path) for path in kept]
    assert seen[: rows // every] == [*range(every, rows + 1, every)], f"{program}: saved after {seen}"
    assert seen[-1] == rows, f"{program}: saved after {seen}"
    for path in kept:
        path.unlink()


def _check_saved(program: Program, ended: Ended, model: Path, rows: int, every: int) -> None:
    seen, saved = _seen(model), re.search(r"stopped after ([\d,]+) examples?; saved", ended.errors)
    if saved is not None:
        assert seen == int(saved[1].replace(",", "")), f"{program}: {seen} examples are saved: {ended.errors}"
    else:
        assert seen % every == 0 or seen == rows, f"{program}: {seen} examples are saved, every {every}"


def _check_page(path: Path) -> None:
    assert path.read_text().rstrip().endswith("</html>"), "the report is not complete"


def _training_in_steps(random: Random, place: Path) -> int:
    """Train on what is left after each signal: the last model is that of a run without signals."""
    rows, every = random.choice([300, 600]), random.choice([10, 30])
    lines = _write_examples(random, place / "data", rows)
    algorithm, model = random.choice(_ALGORITHMS), place / "model"
    seconds = _whole(command(random, place, ["train", "data", "-m", "whole", *algorithm, "-q"]))
    signals, seen = 0, 0
    while seen < rows and signals < _TIMES:
        (place / "rest").write_text("".join(lines[seen:]))
        given = ["--resume", "model"] if model.exists() else algorithm
        program = command(random, place, ["train", "rest", "-m", "model", "--save-every", str(every), *given])
        ended = _signal(random, program, 3 * seconds)
        now = _seen(model)
        if now > seen:
            _check_saved(program, ended, model, rows, every) if not seen else None
        assert now >= seen, f"{program}: {now} examples after {seen}"
        seen, signals = now, signals + 1
    if seen < rows:
        (place / "rest").write_text("".join(lines[seen:]))
        given = ["--resume", "model"] if model.exists() else algorithm
        _whole(command(random, place, ["train", "rest", "-m", "model", *given, "-q"]))
    else:
        _whole(command(random, place, ["merge", "model", "model", "-m", "model"]))
        return signals
    assert _learned(model) == _learned(place / "whole"), f"another model than without signals: {algorithm}"
    return signals


# Outputs of other commands


def _outputs(random: Random, place: Path) -> int:
    """Run a command that writes one file: it is the old one or complete."""
    _write_examples(random, place / "data", random.choice([100, 1000, 5000]))
    _whole(command(random, place, ["train", "data", "-m", "one", *_COVARIANCE, "-q"]))
    words, output = random.choice(
        [
            (["convert", "data", "-o", name], name)
            for name in (
                "out.vw",
                "out.csv",
                "out.jsonl.gz",
                "out.libsvm.xz",
                "out.parquet",
                "out.arrow",
                "out.bz2",
            )
        ]
        + [
            (["predict", "one", "data", "-o", "out", "--probabilities"], "out"),
            (["merge", "one", "one", "-m", "out"], "out"),
            (["convert", "one", "-o", "out.onnx"], "out.onnx"),
            (["train", "data", "-m", "out", *_COVARIANCE], "out"),
            (["datasets", "export", "synthetic", "out.csv"], "out.csv"),
        ]
    )
    program, path = command(random, place, words), place / output
    if output.endswith(".bz2"):
        program = command(random, place, ["convert", "data", "-o", output, "--to", "libsvm"])
    seconds = _whole(program)
    is_model = words[0] in ("merge", "train")
    content = _learned if is_model else Path.read_bytes
    expected: Any = content(path)
    for _ in range(_TIMES):
        old = random.choice([None, b"old"])
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        ended = _signal(random, program, seconds)
        if ended.code != 0 and (path.read_bytes() if path.exists() else None) == old:
            continue
        assert content(path) == expected, f"{program}: {output} is neither the old file nor complete"
    _whole(program)
    return _TIMES


def _predictions(random: Random, place: Path) -> int:
    """Predict to a pipe, whose reader may close it: what is read is the beginning of all predictions."""
    _write_examples(random, place / "data", random.choice([100, 1000, 10_000]))
    _whole(command(random, place, ["train", "data", "-m", "one", *_COVARIANCE, "-q"]))
    program = command(random, place, ["predict", "one", "data", *random.choice([[], ["--probabilities"], ["--json"]])])
    whole = program.run()
    assert whole.code == 0, whole.errors
    for _ in range(_TIMES):
        if random.random() < 0.3:
            before = _leftovers(place)
            ended = program.run(close_after=random.choice([0, 10, random.randrange(1 + len(whole.output))]))
            assert ended.code in (0, 141), f"{program} ended with {ended.code} after its reader: {ended.errors}"
            assert not ended.errors, f"{program}: {ended.errors}"
            _check_leftovers(program, before, was_killed=False)
        else:
            ended = _signal(random, program, whole.seconds)
            assert ended.code or ended.output == whole.output, f"{program}: a part of the predictions"
        assert whole.output.startswith(ended.output), f"{program}: other predictions"
    return _TIMES


def _rare(random: Random, place: Path) -> int:
    """Run a command that takes seconds, or that is rare."""
    _write_examples(random, place / "data", 600)
    _whole(command(random, place, ["train", "data", "-m", "one", *_COVARIANCE, "-q"]))
    words, output, check = random.choice(
        [
            (["train", "data", "-m", "out", "--workers", "2", "--parts", "3", *_COVARIANCE], "out", _check_model),
            (["tune", "data", "-m", "out", "-a", "scw1,pa1", *_COVARIANCE], "out", _check_model),
            (["compare", "data", "-a", "arow,pa1", "--json"], "", None),
            (["reproduce", "--quick", "--datasets", "synthetic", "--algorithms", "pa1,arow", "--output", "out"],
             "out/results.jsonl", _check_results),
            (["report", "one", "-o", "out"], "out", _check_page),
        ]
    )  # fmt: skip
    program = command(random, place, words)
    seconds = _whole(program)
    for _ in range(3):
        ended = _signal(random, program, seconds)
        if check is None:
            if ended.code == 0 and "--json" in words:
                json.loads(ended.output)
        elif ended.code == 0 or (place / output).exists():
            check(place / output)
    _whole(program)
    return 3


def _check_model(path: Path) -> None:
    assert _seen(path) == 600


def _check_results(path: Path) -> None:
    """Check that all lines but the last are complete; the same command goes on after them."""
    *lines, _ = path.read_bytes().split(b"\n")
    for line in lines:
        json.loads(line)


# Saving from Python


def _saving(random: Random, place: Path) -> int:
    """Learn and save in turn: the file holds at least what the last save that returned has written."""
    names, every = random.choice([5, 2000]), random.choice([1, 20])
    start: Any = StreamClassifier(random.choice(["arow", "auto", "pa1"]), classes=["a", "b"])
    if random.random() < 0.3:
        start = river.AROW()
    records = [
        {f"name {random.randrange(names)}": random.gauss(0, 1) for _ in range(5)} for _ in range(20 * every + 100)
    ]
    labels = [random.choice("ab") for _ in records]
    path = place / "model"
    program = function(place, "learn and save", partial(_learn_and_save, start, records, labels, every, path))
    seconds = _whole(program)
    expected: dict[int, dict[str, Any]] = {}
    model = copy(start)
    for i in range(0, len(records), every):
        _learn(model, records[i : i + every], labels[i : i + every])
        expected[_stream(model).counts.seen] = _state_of(model)
    for _ in range(_TIMES):
        path.unlink(missing_ok=True)
        number, before = random.choice(_SIGNALS), _leftovers(place)
        ended = program.run(number, random.random() * seconds)
        # A library leaves other signals than SIGINT to the program, and Python ends without cleaning up.
        killed = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP)
        assert ended.code in (0, *killed) if number != signal.SIGINT else ended.code in (0, 130), ended
        _check_leftovers(program, before, was_killed=ended.code in killed)
        promised = int((ended.output.split() or [b"0"])[-1])
        assert path.exists() or not promised, f"{promised} examples were saved, and nothing is there"
        if path.exists():
            found = scwlearn.load(path)
            seen = _stream(found).counts.seen
            assert seen >= promised, f"{promised} examples were saved, and {seen} are there"
            assert _state_of(found) == expected[seen], "another model than without signals"
    _whole(program)
    return _TIMES


def _stream(model: Any) -> StreamClassifier:
    return model if isinstance(model, StreamClassifier) else model._model


def _learn(model: Any, records: list[Any], labels: list[str]) -> None:
    if isinstance(model, StreamClassifier):
        model.learn_many(records, labels)
    else:
        for record, label in zip(records, labels, strict=True):
            model.learn_one(record, label)


def _state_of(model: Any) -> dict[str, Any]:
    state = everything(_stream(model)._classifier)
    return {name: value for name, value in state.items() if "findings" not in name and "_has_warned" not in name}


def _learn_and_save(model: Any, records: list[Any], labels: list[str], every: int, path: Path) -> None:
    """Print the number of examples after each save."""
    for i in range(0, len(records), every):
        _learn(model, records[i : i + every], labels[i : i + every])
        model.save(path)
        os.write(1, b"%d\n" % _stream(model).counts.seen)


TRIAL = Trial(
    claim="A command or a save that a signal ends leaves whole files with all that was saved, and the right exit code",
    unit="signals",
    case=_case,
    quick=3,
    long=1300,
)
