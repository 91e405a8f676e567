"""Training in processes: one result for any number of workers and deaths, and clear errors."""

import gc
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import scwlearn
from distributed_examples import Killer, Suicide, Unreadable, digest, prepared, write_libsvm
from scwlearn import StreamClassifier
from scwlearn.cli.app import run as run_command
from scwlearn.data.features import Features
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.distributed import OtherVersion, Processes, Serial, UnreadablePart, WorkerDied, train
from scwlearn.distributed.processes import _Worker
from scwlearn.distributed.tasks import Place, learn_rows
from scwlearn.distributed.training import FileTraining
from scwlearn.files import SavedModel, read, write
from scwlearn.files.transport import pack, unpack
from scwlearn.learning.data_warnings import DataWarning
from scwlearn.rules import find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.train import TrainingRun
from scwlearn.runs.trained_model import TrainedModel
from use_examples import written


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_libsvm(tmp_path_factory.mktemp("data") / "some.libsvm")


def kill(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_any_number_of_workers_gives_the_same_model(data):
    plan = prepared(data, parts=10)
    expected = digest(plan.run(Serial()))
    for workers in (1, 2, 4):
        with Processes(workers) as runner:
            assert digest(plan.run(runner)) == expected


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_killed_workers_change_nothing(data, workers):
    plan = prepared(data, parts=10)
    expected = digest(plan.run(Serial()))
    with Processes(workers) as runner:
        killer = Killer(lambda: runner.pids, kill, times=20)
        found = digest(plan.run(runner, killer))
    assert found == expected
    assert killer.left == 0


KINDS = [
    ("arow", {"covariance": "full"}),
    ("scw1", {"covariance": "diagonal", "scale": "standard"}),
    ("pa1", {"average": True}),
    ("auto", {}),
    ("scw1", {"class_weight": "balanced", "multi_class": "ovr"}),
]


@pytest.mark.parametrize(("rule", "settings"), KINDS)
def test_every_kind_of_model(data, rule, settings):
    plan = prepared(data, rule, parts=3, rounds=2, settings=settings)
    with Processes(2) as runner:
        assert digest(plan.run(runner)) == digest(plan.run(Serial()))


def test_the_error_is_near_that_of_one_stream(data):
    def error(parts):
        run = prepared(data, parts=parts, rounds=4).run(Serial())
        model = unpack(run.model).learner
        dense = np.zeros((3000, 300))
        labels = []
        for row, line in enumerate(data.read_text().splitlines()):
            label, *cells = line.split()
            labels.append(int(label))
            for cell in cells:
                index, value = cell.split(":")
                dense[row, int(index) - 1] = float(value)
        return np.mean(model.predict(dense) != labels)

    assert error(4) < error(1) + 0.02


@pytest.mark.parametrize(("rule", "settings"), KINDS)
def test_one_part_is_exactly_one_stream(data, rule, settings):
    run = prepared(data, rule, parts=1, settings=settings).run(Serial())
    stream = TrainingRun(ModelConfig(find_rule(rule), {}, settings), coarse_curve=True)
    stream.run(lambda epoch: read_batches([data])[1])
    ours, theirs = (pack(SavedModel.from_classifier(each)) for each in (unpack(run.model).learner, stream.classifier))
    assert ours == theirs


def test_epochs_and_shuffling_do_not_depend_on_workers(data):
    plan = prepared(data, parts=3, rounds=2, epochs=2, shuffle_buffer=100, seed=7)
    with Processes(2) as runner:
        run = plan.run(runner)
    assert digest(run) == digest(plan.run(Serial()))
    assert run.seen == 6000
    assert digest(run) != digest(replace(plan, training=replace(plan.training, seed=8)).run(Serial()))


def test_going_on_with_a_trained_model(data):
    first = unpack(prepared(data, parts=2).run(Serial()).model).learner
    plan = FileTraining([data], TrainedModel(first), parts=3).prepare()
    run = plan.run(Serial())
    assert unpack(run.model).learner.counts.seen == 6000


def test_more_parts_than_examples(tmp_path):
    path = write_libsvm(tmp_path / "tiny.libsvm", rows=7)
    plan = prepared(path, parts=16)
    run = plan.run(Serial())
    assert run.seen == 7
    assert any("too few" in warning for warning in plan.warnings(run))


def test_a_class_that_only_one_part_has(tmp_path):
    path = tmp_path / "some.csv"
    rows = [f"{'rare' if i == 190 else 'ab'[i % 2]},{i % 7},{i % 2}" for i in range(200)]
    path.write_text("label,a,b\n" + "\n".join(rows) + "\n")
    run = prepared(path, parts=4, rounds=2).run(Serial())
    model = unpack(run.model).learner
    assert model.classes.values_in_order == ["a", "b", "rare"]
    record = prepared(path, parts=4, rounds=2).trained_model(run, sources=[], command="", began="").record
    assert np.array(record.confusion).sum(axis=1).tolist() == [99, 100, 1]


def test_a_part_that_cannot_be_read_stops_the_run_or_is_left_out(data, tmp_path):
    path = tmp_path / "bad.libsvm"
    lines = data.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2000], "spam\n", *lines[2000:]]))
    for runner in (Serial(), Processes(2)):
        with pytest.raises(UnreadablePart, match=r"round \d, part 3 .*line 2001"):
            prepared(path).run(runner)
    run = prepared(path, options=ReaderOptions(on_error="skip")).run(Serial())
    assert run.seen == 3000
    assert sum(report.skipped for report in run.reports) == 1
    skipping = prepared(path, options=ReaderOptions(on_error="skip"))
    path.write_text(path.read_text() + "1 1:1\n")
    run = skipping.run(Serial())
    assert run.seen == 0
    assert "bytes when it was cut" in skipping.warnings(run)[-1]


def test_another_version_is_refused_with_both_versions(data):
    plan = prepared(data)
    make = plan._task
    object.__setattr__(plan, "_task", lambda *args: replace(make(*args), version="9.9"))
    with Processes(2) as runner, pytest.raises(OtherVersion, match=rf"{scwlearn.__version__}.*9\.9"):
        plan.run(runner)


def test_a_task_that_always_dies_is_given_up():
    with Processes(1) as runner, pytest.raises(WorkerDied, match="SIGKILL"):
        runner._map(b"", [Suicide()])


IDLE = "runner._acquire(_Job(None, [])), runner._acquire(_Job(None, []))\nprint('asleep', flush=True)\ntime.sleep(60)\n"
BUSY = "runner._map(StoredBytes(runner._opened_storage().put(b'x')), [Sleep(), Sleep()])\n"


@pytest.mark.parametrize("work", [IDLE, BUSY], ids=["idle", "busy"])
def test_workers_end_with_their_client_and_leave_nothing_behind(work):
    script = (
        f"import sys, time\nsys.path[:] = {sys.path}\n"
        "from distributed_examples import Sleep\n"
        "from scwlearn.distributed.messages import StoredBytes\n"
        "from scwlearn.distributed.processes import Processes, _Job\n"
        "runner = Processes(2)\n"
        "print(*runner._opened_storage().directories, flush=True)\n" + work
    )
    # What a task prints goes to standard error.
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    client = subprocess.Popen([sys.executable, "-c", script], **pipes)
    directories = client.stdout.readline().split()
    assert all(map(os.path.isdir, directories))
    assert client.stdout.readline() == "asleep\n"
    children = Path(f"/proc/{client.pid}/task").glob("*/children")
    workers = [f"/proc/{pid}" for each in children for pid in each.read_text().split()]
    assert len(workers) == 2
    client.kill()
    client.wait()
    left = [*workers, *directories]
    for _ in range(200):
        if not any(map(os.path.exists, left)):
            break
        threading.Event().wait(0.05)
    assert [each for each in left if os.path.exists(each)] == []


def test_an_error_of_the_caller_ends_the_workers_and_the_runner_can_be_used_again(data):
    plan = prepared(data, parts=6, rounds=2)
    before = threading.active_count()

    def fail(report):
        raise KeyError("of the caller")

    with Processes(2) as runner:
        with pytest.raises(KeyError, match="of the caller"):
            plan.run(runner, fail)
        threading.Event().wait(0.5)
        assert runner.pids == []
        assert threading.active_count() == before
        assert digest(plan.run(runner)) == digest(plan.run(Serial()))
    assert runner.pids == []
    with pytest.raises(ValueError, match="closed"):
        plan.run(runner)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads what Linux tells of a process")
def test_a_worker_is_never_ended_by_ctrl_c():
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with Processes(1) as runner:
        worker = _Worker(runner._opened_storage())
        try:
            # While Python starts, it is blocked.
            assert kept_away(worker, signal.SIGINT)
            worker.wait_until_ready()
            assert kept_away(worker, signal.SIGINT) == ["SigIgn"]
            assert kept_away(worker, signal.SIGHUP) == ["SigIgn"]
        finally:
            worker.end()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == blocked


def kept_away(worker, number):
    """Return whether a process blocks or ignores a signal, in the words of Linux."""
    lines = Path(f"/proc/{worker.process.pid}/status").read_text().splitlines()
    fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return [name for name in ("SigBlk", "SigIgn") if int(fields[name], 16) >> (number - 1) & 1]


def test_a_worker_that_cannot_be_started_is_an_error(data, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with Processes(2) as runner, pytest.raises(WorkerDied, match=r"cannot start .*No such file"):
        prepared(data).run(runner)


def test_a_task_that_cannot_be_received_is_an_error_and_no_death():
    with Processes(1) as runner:
        pids = []
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                runner._map(b"", [Unreadable()], pids.append)


def test_workers_import_what_their_client_imports(data, tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("raise ImportError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    plan = prepared(data, parts=2, rounds=1)
    with Processes(1) as runner:
        assert digest(plan.run(runner)) == digest(plan.run(Serial()))


def test_train_tells_what_it_skipped(tmp_path):
    path = write_libsvm(tmp_path / "some.libsvm", rows=400)
    with open(path, "a") as file:
        file.write("1 2:x\n")
    with pytest.warns(DataWarning, match=r"skipped: 1; the first: .*line 401"):
        trained = train(path, runner=Serial(), parts=2, on_error="skip")
    assert trained.record.skipped == 1
    path.write_text("1 2:x\n")
    with pytest.raises(ValueError, match="no examples"):
        train(path, runner=Serial(), parts=2, on_error="skip")


def test_a_compressed_file_is_not_split_and_train_says_so(tmp_path):
    path = write_libsvm(tmp_path / "some.libsvm", rows=8000)
    packed = tmp_path / "some.libsvm.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.warns(DataWarning, match=r"one task learned 8,000 of 8,000 examples.*decompress"):
        train(packed, runner=Serial(), parts=2)


def test_train_reads_data_as_a_model_made_in_python_needs_them(tmp_path):
    model = StreamClassifier("arow", features=Features(kinds={"customer": "ignore"}))
    records = [{"n": i % 7, "customer": "abc"[i % 3], "label": "xy"[i % 2]} for i in range(600)]
    model.learn_many([{"n": each["n"], "customer": "a"} for each in records], [each["label"] for each in records])
    model.save(tmp_path / "own.model")
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    trained = train(tmp_path / "data.jsonl", TrainedModel.read(tmp_path / "own.model"), runner=Serial(), parts=2)
    assert [*trained.classifier.learner.names] == ["n"]


def test_rows_that_are_learned_leave_no_record_of_an_older_training(data, tmp_path):
    assert run_command(["train", str(data), "-m", str(tmp_path / "old.model"), "-q"]) == 0
    write(replace(read(tmp_path / "old.model"), notes={"by": "us"}, batch=7), tmp_path / "old.model")
    old = read(tmp_path / "old.model")
    assert old.record is not None
    width = old.attributes["n_features_in_"]
    x, y = np.eye(2, width), np.array(old.learner.classes.values[:2])
    start = pack(old)
    new = unpack(learn_rows(start, x, y, place=Place(1, 1, 1)).model, start)
    assert (new.record, new.schema, new.notes, new.batch) == (None, old.schema, {"by": "us"}, 7)


def test_train_continues_a_trained_model_without_changing_it(data):
    first = train(data, runner=Serial(), parts=1)
    weights = first.classifier.weights().copy()
    second = train(data, first, runner=Serial(), parts=1, shuffle_buffer=50, seed=3)
    assert second.classifier.counts.seen == 2 * first.classifier.counts.seen
    assert first.classifier.weights().tobytes() == weights.tobytes()
    assert second.record.settings["seed"] == 3
    with pytest.raises(TypeError, match="keeps its settings; drop C"):
        train(data, first, runner=Serial(), C=2.0)
    with pytest.raises(TypeError, match=r"label is about reading the data; pass reading=\{'label': 'fate'\}"):
        train(data, runner=Serial(), label="fate")


@pytest.mark.parametrize(
    "wrong", [{"parts": 0}, {"parts": 2**20}, {"rounds": 0}, {"runner": Processes}, {"runner": 3}, {"rule": "nope"}]
)
def test_train_checks_its_arguments(data, wrong):
    (name,), reports = wrong, []
    with pytest.raises((TypeError, ValueError), match=name):
        train(data, **{"runner": Serial(), "on_report": reports.append, **wrong})
    assert not reports


@pytest.mark.parametrize("make", [Serial, lambda: Processes(1)], ids=["Serial", "Processes"])
def test_runners_learn_nothing_before_they_know_how_to_merge(data, make):
    plan, reports = prepared(data, parts=2), []
    tasks = [plan._task(Place(1, 1, 1), plan.data.part(*plan.plan.stretches()[1][0]), True)]
    start, runner = pack(SavedModel.from_classifier(plan.classifier)), make()
    with pytest.raises(ValueError, match="rule must be one of"):
        runner.run_round(start, tasks, reports.append, rule="nope")
    assert not reports


def test_files_are_removed_when_they_are_not_needed_any_more(data):
    """Models of 100 kB and more travel in files."""
    plan = prepared(data, "arow", parts=3, rounds=2, settings={"covariance": "full"})
    runner = Processes(2)
    plan.run(runner)
    gc.collect()
    directories = runner._storage.directories
    stored = [name for directory in directories for name in os.listdir(directory)]
    # The latest model, and the one that each worker started from.
    assert 1 <= len(stored) <= 3
    runner.close()
    assert not any(map(os.path.exists, directories))


def test_settings_are_checked():
    for wrong in (0, 1.5, "two"):
        with pytest.raises((TypeError, ValueError), match="workers"):
            Processes(wrong)
    config = ModelConfig(find_rule("scw1"), {})
    with pytest.raises(FileNotFoundError):
        FileTraining(["no-such-file"], config).prepare()


def test_names_of_hashed_interactions_are_not_kept(tmp_path):
    path = written(tmp_path / "it.vw", "".join(f"{i % 2} |n a{i % 7} |m c{i % 5}\n" for i in range(3000)))
    settings = {"max_features": 256, "overflow": "hash"}
    reading = {"features": Features(interactions=("n:m",))}
    model = train(path, "arow", runner=Serial(), parts=1, reading=reading, **settings)
    assert {*model.vocabulary.names} == {f"n^a{i}" for i in range(7)} | {f"m^c{i}" for i in range(5)}
