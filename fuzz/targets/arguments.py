"""Fuzz the command line: any arguments end with exit code 0, 1 or 2 and a message, and touch no other file.

An input is a script: arguments, one per line, of which the first bytes choose files that exist. The commands run in
this process, in a directory of their own, without a network and without other processes.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scwlearn import StreamClassifier
from scwlearn.cli.app import command_names
from scwlearn.cli.app import run as run_command
from scwlearn.cli.app import scwlearn as group

# In memory, on systems that allow it.
_HOME = os.path.realpath(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
_FILES = {
    "a.svm": b"+1 1:0.5 3:2\n-1 2:1 3:-1\n+1 1:1\n-1 2:0.5\n",
    "b.vw": b"1 | size:2 sky\n-1 | size:-1\n1 'tag|n a b\n",
    "c.csv": b"y,size,sky,about\nyes,1,blue,a b c\nno,-2,grey,b c\nyes,0.5,blue,a\n",
    "d.jsonl": b'{"y": "yes", "size": 1, "sky": "blue"}\n{"y": "no", "size": -2, "o": {"a": ["x", "y"]}}\n',
    "e.json": b'[{"y": 1, "size": 1.5}, {"y": 0, "size": null}]',
    "bad.csv": b"y,size\nyes,1\nno\n\x00\xff,,\n",
    "empty": b"",
}
# Options that start other processes, take long whatever the data, or draw pictures in seconds.
_LEFT_OUT = ("--workers", "--dask", "--spark", "--plot", "--jobs")
_COMMANDS_LEFT_OUT = ("reproduce",)
_MOST_ARGUMENTS, _LONGEST_NUMBER = 12, 3
# What Python asks before it changes something outside of the process, and which argument is the path.
_WRITES = {
    "os.remove": 1, "os.rename": 2, "os.rmdir": 1, "os.mkdir": 1, "os.chmod": 1, "os.link": 2, "os.symlink": 2,
    "os.truncate": 1, "os.utime": 1, "shutil.rmtree": 1, "shutil.move": 2, "shutil.copyfile": 2,
}  # fmt: skip
_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request")
_PROCESSES = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork", "os.startfile")


class Violation(BaseException):
    """A command did what it may not do; no handler of the command catches it."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _audited:
        return
    if event in _PROCESSES or event in _NETWORK:
        raise Violation(f"{event}{arguments}")
    if event == "open":
        path, _, flags = arguments
        writes = (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        if writes and not isinstance(path, int):
            _check_inside(event, path)
    for path in arguments[: _WRITES.get(event, 0)]:
        if isinstance(path, (str, bytes)):
            _check_inside(event, path)


def _check_inside(event: str, path: str | bytes) -> None:
    real = os.path.realpath(os.path.join(os.getcwd(), os.fsdecode(path)))
    if not (real + os.sep).startswith(_HOME + os.sep) and not real.startswith("/dev/"):
        raise Violation(f"{event} {real}")


_audited = False
sys.addaudithook(_audit)


def _add_models() -> None:
    """Add model files to the files: of dicts, and trained by the command."""
    model = StreamClassifier("scw1")
    model.learn_many([{"size": 1.0, "sky": "blue"}, {"size": -1.0}], ["yes", "no"])
    for name, command in {
        "svm.model": ["train", "a.svm", "-q", "-m", "svm.model"],
        "csv.model": ["train", "c.csv", "-q", "-m", "csv.model", "--text", "about"],
    }.items():
        assert run_command(command) == 0
        _FILES[name] = Path(name).read_bytes()
    model.save("stream.model")
    _FILES["stream.model"] = Path("stream.model").read_bytes()


def _fill_home() -> None:
    """Restore the files of the directory."""
    present = set(os.listdir(_HOME))
    for name in present - _FILES.keys():
        made = os.path.join(_HOME, name)
        shutil.rmtree(made) if os.path.isdir(made) and not os.path.islink(made) else os.unlink(made)
    for name, content in _FILES.items():
        path = Path(_HOME, name)
        if name not in present or path.stat().st_size != len(content) or path.read_bytes() != content:
            path.write_bytes(content)


os.chdir(_HOME)
os.environ |= {"HOME": _HOME, "TMPDIR": _HOME, "SCWLEARN_DATA": _HOME, "XDG_CACHE_HOME": _HOME, "MPLCONFIGDIR": _HOME}
tempfile.tempdir = _HOME
_fill_home()
_add_models()


def run(data: bytes) -> None:
    """Run a command."""
    global _audited
    arguments = [
        line.decode(errors="surrogateescape") for line in data.split(b"\n")[:_MOST_ARGUMENTS] if b"\0" not in line
    ]
    if any(map(_is_left_out, arguments)):
        return
    _fill_home()
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    stdin = io.TextIOWrapper(io.BytesIO(_FILES["a.svm"]))
    old = sys.argv, sys.stdin
    sys.argv, sys.stdin, _audited = ["scwlearn", *arguments], stdin, True
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), np.errstate(all="ignore"):
            code = run_command(arguments)
    finally:
        (sys.argv, sys.stdin), _audited = old, False
    message = err.buffer.getvalue().decode(errors="replace")
    assert code in (0, 1, 2), f"exit code {code}"
    assert "Traceback" not in message, message
    assert code == 0 or any(line.startswith("scwlearn: error: ") for line in message.splitlines()), message
    left = [name for name in os.listdir(_HOME) if name.endswith(".scwlearn.tmp")]
    assert not left, left


def _is_left_out(argument: str) -> bool:
    """Whether an argument asks for a long run, by a number or by an option, or is the beginning of such an option."""
    digits = sum(map(str.isdigit, argument))
    is_prefix = argument.startswith("--") and any(
        option.startswith(argument.split("=")[0]) or argument.startswith(option) for option in _LEFT_OUT
    )
    # Devices such as /dev/zero have no end.
    return digits > _LONGEST_NUMBER or is_prefix or argument in _COMMANDS_LEFT_OUT or "dev" in argument


def _words() -> list[str]:
    """Return arguments that mean something: options of all commands, their choices, files, numbers."""
    found = [*_FILES, "-", "new.model", "out.csv", "out.jsonl", "page.html", "0", "1", "2", "-1", "0.5", "nan", "1e999"]
    found += ["y", "size", "sky,about", "a:b", "*:*", "sky:size", "NA", "2-3", ".", "..", "", "none", "c.csv:0"]
    for name in command_names():
        command = group.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        found.append(name)
        for parameter in command.params:
            found += [word for word in (*parameter.opts, *parameter.secondary_opts) if word.startswith("-")]
            found += [str(choice) for choice in getattr(parameter.type, "choices", ())]
    return [word for word in dict.fromkeys(found) if not _is_left_out(word)]


_WORDS, _COMMANDS = _words(), [name for name in command_names() if name not in _COMMANDS_LEFT_OUT]
# Those that learn many models are slow, and share their options with others.
_LIKELY_COMMANDS = [name for name in _COMMANDS if name not in ("compare", "tune")] * 4 + _COMMANDS
_CHANGES: tuple[Callable[[list[str], random.Random], None], ...] = (
    lambda words, chance: words.insert(chance.randint(0, len(words)), chance.choice(_WORDS)),
    lambda words, chance: words.insert(chance.randint(1, max(1, len(words))), chance.choice([*_FILES])),
    lambda words, chance: words.__setitem__(chance.randrange(len(words)), chance.choice(_WORDS)),
    lambda words, chance: words.__setitem__(0, chance.choice(_LIKELY_COMMANDS)),
    lambda words, chance: words.__delitem__(chance.randrange(len(words))),
)


def mutate(data: bytes, chance: random.Random) -> bytes | None:
    """Return other arguments, or None to change the bytes."""
    if chance.random() < 0.3:
        return None
    words = data.decode(errors="surrogateescape").split("\n")
    for _ in range(chance.choice([1, 1, 2, 3])):
        if words:
            chance.choice(_CHANGES)(words, chance)
    if not words or words[0] not in _COMMANDS:
        words.insert(0, chance.choice(_LIKELY_COMMANDS))
    return "\n".join(words[:_MOST_ARGUMENTS]).encode(errors="surrogateescape")
