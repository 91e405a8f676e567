"""scwlearn train when it is interrupted: Ctrl-C, SIGTERM, closed pipes and full disks."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from run_examples import libsvm_text
from scwlearn.cli.app import run
from scwlearn.runs import warnings
from scwlearn.runs.train import TrainingRun
from scwlearn.runs.trained_model import TrainedModel
from use_examples import written

pytestmark = [pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals"), pytest.mark.slow]


def start(*arguments, **how):
    how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    return subprocess.Popen([sys.executable, "-m", "scwlearn.cli", "train", *arguments], **how)


def wait_for(path, seconds=60):
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not come"
        time.sleep(0.02)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_saves_the_model_once(tmp_path, number, code, again):
    model = tmp_path / "a.model"
    process = start("-", "-f", "libsvm", "-m", str(model), "--save-every", "100", "--covariance", "diagonal")
    # What is there is learned, though the pipe stays open.
    process.stdin.write(libsvm_text(250).encode())
    process.stdin.flush()
    wait_for(model)
    process.send_signal(number)
    while again and process.poll() is None:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"stopped after" in err
    assert b"Traceback" not in err
    assert TrainedModel.read(model).classifier.counts.seen >= 100


def test_a_terminal_that_is_closed_saves_the_model_and_ends_the_command(tmp_path):
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    model, (ours, terminal) = tmp_path / "a.model", pty.openpty()
    words = ["-", "-f", "libsvm", "-m", str(model), "--save-every", "100", "--covariance", "diagonal"]
    own = {"start_new_session": True, "preexec_fn": lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0)}
    process = start(*words, stdout=terminal, stderr=terminal, **own)
    os.close(terminal)
    process.stdin.write((libsvm_text(1000) * 300).encode())
    process.stdin.flush()
    wait_for(model)
    os.close(ours)
    assert process.wait(60) == 129
    assert TrainedModel.read(model).classifier.counts.seen >= 100
    assert os.listdir(tmp_path) == ["a.model"]


def test_ctrl_c_without_save_every_says_that_nothing_was_saved(tmp_path):
    model, log = tmp_path / "a.model", tmp_path / "log"
    with log.open("wb") as said:
        process = start("-", "-f", "libsvm", "-m", str(model), stderr=said)
        process.stdin.write((libsvm_text(1000) * 300).encode())
        process.stdin.flush()
        until = time.monotonic() + 60
        while b"examples" not in log.read_bytes():
            assert time.monotonic() < until, "nothing was learned"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"the model was not saved; --save-every N saves it on the way and at Ctrl-C or SIGTERM\n" in log.read_bytes()
    assert not model.exists()


def test_a_full_disk_is_an_error_for_standard_output(tmp_path):
    data, output = tmp_path / "data.libsvm", tmp_path / "out"
    data.write_text(libsvm_text(2000))

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    for unbuffered in ("", "1"):
        with output.open("wb") as file:
            process = start(
                str(data),
                "--json",
                "-q",
                stdin=None,
                stdout=file,
                preexec_fn=small_files,
                env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            )
            _, err = process.communicate(timeout=60)
        assert (process.returncode, err.decode()) == (1, "scwlearn: error: File too large\n")


def test_a_closed_pipe_is_silent(tmp_path):
    data = tmp_path / "data.libsvm"
    data.write_text(libsvm_text(300))
    process = start(str(data), "--json", "-q", stdin=None)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


def test_a_full_disk_keeps_the_old_model(tmp_path):
    data, model = tmp_path / "data.libsvm", tmp_path / "a.model"
    data.write_text(libsvm_text(300))
    assert start(str(data), "-m", str(model), "-q", stdin=None).wait(60) == 0
    before = model.read_bytes()

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    process = start(str(data), "-m", str(model), "-q", stdin=None, preexec_fn=small_files)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.decode() == f"scwlearn: error: {model}: File too large\n"
    assert model.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.model", "data.libsvm"]


@pytest.mark.parametrize(("saves", "said"), [(0, "the model was not saved"), (2, "{} is the model after 200 examples")])
def test_the_note_about_the_model_counts_no_save_that_failed(tmp_path, monkeypatch, capsys, saves, said):
    model, write, written_models = tmp_path / "a.model", TrainedModel.write, []

    def write_some(self, path):
        if len(written_models) == saves:
            raise OSError(errno.ENOSPC, "no space left", str(path))
        written_models.append(write(self, path))

    monkeypatch.setattr(TrainedModel, "write", write_some)
    data = written(tmp_path / "data.svm", libsvm_text(600))
    assert run(["train", data, "-m", str(model), "--save-every", "100"]) == 1
    assert f"stopped after {100 * (saves + 1)} examples; {said.format(model)}\n" in capsys.readouterr().err


@pytest.mark.parametrize("resumes", [False, True])
@pytest.mark.parametrize("place", ["learn", "_begin", "_learn"])
def test_ctrl_c_before_the_first_example_keeps_the_old_model(tmp_path, monkeypatch, capsys, place, resumes):
    data, model = written(tmp_path / "data.svm", libsvm_text(300)), tmp_path / "a.model"
    assert run(["train", data, "-q", "-m", str(model)]) == 0
    before = model.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainingRun, place, interrupted)
    resumed = ["--resume", str(model)] if resumes else []
    assert run(["train", data, "-m", str(model), "--save-every", "100", *resumed]) == 130
    assert "stopped before the first example; the model was not saved\n" in capsys.readouterr().err
    assert model.read_bytes() == before


@pytest.mark.parametrize("saves", [False, True])
@pytest.mark.parametrize(
    "place",
    [
        (TrainingRun, "finish"),
        (TrainingRun, "holdout_metrics"),
        (TrainedModel, "record_weights"),
        (warnings, "record_warnings"),
    ],
)
def test_ctrl_c_after_the_last_example_saves_the_model(tmp_path, monkeypatch, capsys, place, saves):
    data, model = written(tmp_path / "data.svm", libsvm_text(300)), tmp_path / "a.model"

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(*place, interrupted)
    saved = ["--save-every", "1000"] if saves else []
    assert run(["train", data, "-m", str(model), "--holdout", "0.1", *saved]) == 130
    said = f"stopped after 270 examples; saved {model}\n" if saves else "the model was not saved; --save-every N"
    assert said in capsys.readouterr().err
    assert model.exists() == saves
    if saves:
        assert TrainedModel.read(model).classifier.counts.seen == 270
