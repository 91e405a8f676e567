"""Training on files by Dask: the bits of other runners, whatever happens to the cluster, and clear errors."""

import os
import signal
import threading
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import scwlearn
from distributed_examples import Killer, digest, prepared, write_libsvm
from scwlearn.data.options import ReaderOptions
from scwlearn.distributed import OtherVersion, Processes, UnreadablePart, WorkerDied
from scwlearn.distributed.tasks import Place
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack

pytest.importorskip("distributed")

import dask
from dask.utils import key_split
from distributed import Client, LocalCluster

from scwlearn.distributed.dask import DaskRunner, SchedulerLost

pytestmark = pytest.mark.slow

# Workers are killed on purpose: a job may lose any number of them.
CONFIG = {"distributed.scheduler.allowed-failures": 1000}


def cluster(**settings):
    """A small cluster."""
    return LocalCluster(**{"threads_per_worker": 1, "dashboard_address": ":0", "n_workers": 2, **settings})


@pytest.fixture(scope="module")
def client():
    with dask.config.set(CONFIG), cluster() as local, Client(local, set_as_default=False) as connected:
        yield connected


def pids(client):
    """The process numbers of the workers, which their nannies start again."""
    return [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid is not None]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_libsvm(tmp_path_factory.mktemp("data") / "some.libsvm", rows=1500, features=60)


@pytest.fixture(scope="module")
def expected(data):
    """The digest of the model that one process learns from ten parts."""
    with Processes(1) as runner:
        return digest(prepared(data, parts=10).run(runner))


def test_any_number_of_workers_gives_the_model_of_one_process(data, expected):
    with cluster(n_workers=1) as local, Client(local) as client:
        for workers in (1, 2, 4):
            local.scale(workers)
            client.wait_for_workers(workers)
            assert digest(prepared(data, parts=10).run(DaskRunner(client))) == expected


def test_threads_of_this_process_give_the_model_of_one_process(data, expected):
    with cluster(processes=False, threads_per_worker=2) as local, Client(local) as client:
        assert digest(prepared(data, parts=10).run(DaskRunner(client))) == expected


@pytest.mark.parametrize(
    ("rule", "settings"), [("arow", {"covariance": "full"}), ("pa1", {"average": True}), ("auto", {})]
)
def test_every_kind_of_model(client, data, rule, settings):
    plan = prepared(data, rule, parts=3, rounds=2, settings=settings)
    with Processes(1) as runner:
        assert digest(plan.run(DaskRunner(client))) == digest(plan.run(runner))


def test_the_current_client_is_found(client, data, expected):
    with client.as_current():
        assert digest(prepared(data, parts=10).run(DaskRunner())) == expected


def test_every_task_is_reported_once(client, data):
    places = []
    run = prepared(data).run(DaskRunner(client), lambda report: places.append((report.place, report.size > 0)))
    assert sorted(places, key=str) == sorted(((report.place, True) for report in run.reports), key=str)


def test_the_dashboard_groups_the_keys_of_tasks(client, data, monkeypatch):
    keys = []
    submit = Client.submit

    def noted(self, *args, **options):
        keys.append(options["key"])
        return submit(self, *args, **options)

    monkeypatch.setattr(Client, "submit", noted)
    plan = prepared(data, parts=3, rounds=2)
    for _ in range(2):
        plan.run(DaskRunner(client))
    assert len(set(keys)) == len(keys)
    assert any(key.startswith("scwlearn-learn-round-2-part-3-") for key in keys)
    assert {key_split(key) for key in keys} == {
        "scwlearn-learn-round",
        "scwlearn-merge-round",
    }


def test_killed_workers_change_nothing(client, data, expected):
    killer = Killer(lambda: pids(client), kill, times=20)
    stop = threading.Event()

    def at_random_moments():
        moments = np.random.default_rng(1)
        while not stop.wait(moments.uniform(0.1, 0.8)):
            killer()

    thread = threading.Thread(target=at_random_moments)
    thread.start()
    try:
        while killer.left:
            assert digest(prepared(data, parts=10).run(DaskRunner(client))) == expected
    finally:
        stop.set()
        thread.join()


def kill(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_a_model_that_is_lost_with_all_workers_is_sent_again(client, data, expected):
    killed = []

    def kill_all(report):
        if report.place.round == 2 and not killed:
            killed.extend(pids(client))
            for pid in killed:
                kill(pid)

    assert digest(prepared(data, parts=10).run(DaskRunner(client), kill_all)) == expected
    assert killed


def test_an_adaptive_cluster_starts_without_workers(data, expected):
    with cluster(n_workers=0) as local:
        local.adapt(minimum=0, maximum=2, interval="100ms")
        with Client(local) as client:
            assert digest(prepared(data, parts=10).run(DaskRunner(client))) == expected


def test_a_task_that_ends_every_worker_is_given_up(monkeypatch):
    monkeypatch.setattr("scwlearn.distributed.dask.jobs._MOST_REPEATS", 1)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster(n_workers=1) as local,
        Client(local) as client,
        pytest.raises(WorkerDied, match="scwlearn-learn-round-1-part-1: all workers died"),
    ):
        DaskRunner(client).run_round(b"", [deadly_task()], lambda report: None)


def deadly_task():
    """A task that ends its worker; made in a function, because workers cannot import this file."""

    class Deadly:
        place, size = Place(1, 1, 1), 1

        def __call__(self, start):
            import os
            import signal

            os.kill(os.getpid(), signal.SIGKILL)

    return Deadly()


def test_a_part_that_cannot_be_read_stops_the_run_or_is_left_out(client, data, tmp_path):
    path = tmp_path / "bad.libsvm"
    lines = data.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:1000], "spam\n", *lines[1000:]]))
    with pytest.raises(UnreadablePart, match=r"round \d, part 3 .*line 1001"):
        prepared(path).run(DaskRunner(client))
    skipping = prepared(path, options=ReaderOptions(on_error="skip"))
    assert skipping.run(DaskRunner(client)).seen == 1500
    path.write_text(path.read_text() + "1 1:1\n")
    run = skipping.run(DaskRunner(client))
    assert run.seen == 0
    assert "bytes when it was cut" in skipping.warnings(run)[-1]


def test_a_task_that_fails_is_repeated_as_often_as_asked(client, data, tmp_path):
    plan, missing = prepared(data), tmp_path / "some"
    task = plan._task(Place(1, 1, 1), plan.data.part(*plan.plan.stretches()[0][0]), True)
    assert not missing.exists()
    start = pack(SavedModel.from_classifier(plan.classifier))
    flaky = fails_once(task, str(missing))
    with pytest.raises(UnreadablePart, match="for a moment"):
        DaskRunner(client).run_round(start, [flaky], lambda report: None)
    missing.unlink()
    assert DaskRunner(client, retries=1).run_round(start, [flaky], lambda report: None).reports[0].seen


def fails_once(task, marker):
    """A task that fails until a file exists, and makes it."""

    class FailsOnce:
        place, size = task.place, task.size

        def __call__(self, start):
            import os

            from scwlearn.distributed.tasks import UnreadablePart

            if not os.path.exists(marker):
                open(marker, "w").close()
                raise UnreadablePart("for a moment")
            return task(start)

    return FailsOnce()


def test_another_version_is_refused_with_both_versions(client, data):
    plan = prepared(data)
    make = plan._task
    object.__setattr__(plan, "_task", lambda *args: replace(make(*args), version="9.9"))
    with pytest.raises(OtherVersion, match=rf"{scwlearn.__version__}.*9\.9"):
        plan.run(DaskRunner(client))


def test_a_scheduler_that_goes_away_is_a_clear_error(data):
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        local = cluster(n_workers=1)
        client = Client(local)
        address = client.scheduler.address
        with pytest.raises(SchedulerLost, match=f"lost the connection to the Dask scheduler at {address}"):
            prepared(data).run(DaskRunner(client), lambda report: local.close())
        client.close()


def test_a_client_that_is_closed_is_a_clear_error(data):
    with cluster(n_workers=1) as local:
        client = Client(local)
        with pytest.raises(SchedulerLost, match="lost the connection"):
            prepared(data).run(DaskRunner(client), lambda report: client.close())


def test_an_interrupted_round_leaves_no_jobs(client, data):
    def interrupt(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepared(data).run(DaskRunner(client), interrupt)
    assert not [state for state in client.futures.values() if state.status == "pending"]


def test_without_a_client_the_error_says_what_to_do():
    with pytest.raises(ValueError, match=r"no Dask client; make one first"):
        DaskRunner()


def test_a_connection_that_is_lost_between_rounds_is_reported(data):
    plan = prepared(data)
    with cluster(n_workers=1, processes=False) as local:
        client = Client(local)
        runner = DaskRunner(client)
        model = plan.run(runner).model
        client.close()
        with pytest.raises(SchedulerLost):
            runner.run_round(model, [plan._task(Place(1, 1, 1), plan.data.part(0, 1), True)], lambda report: None)
        with pytest.raises(ValueError, match="closed"):
            DaskRunner(client)
    with pytest.raises(TypeError, match="client"):
        DaskRunner("tcp://127.0.0.1:1")
