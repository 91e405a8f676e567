"""Programs in processes of their own, which are forked from this one or started anew, and get a signal."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from typing import NoReturn

from scwlearn._util.threads import allowed_threads
from scwlearn.cli import main
from scwlearn.cli.ending import end_at_signals, ending
from scwlearn.distributed import messages

# Share of the commands that are started anew, as by a shell; it takes much longer.
_STARTED_ANEW = 0.03
# Seconds after which a process hangs.
_LIMIT = 120.0


@dataclass(frozen=True)
class Ended:
    """How a process has ended, and what it printed."""

    code: int
    output: bytes
    errors: str
    seconds: float


@dataclass(frozen=True)
class Program:
    """What a process does in a directory."""

    place: Path
    title: str
    body: Callable[[], object]
    #: The words of a program to start; None to fork this process.
    words: tuple[str, ...] | None = None
    #: Declares how signals are answered, before the process has begun.
    answer_signals: Callable[[], object] = end_at_signals

    def __str__(self) -> str:
        return self.title

    def run(
        self, number: int | None = None, delay: float = 0.0, *, close_after: int | None = None, group: bool = False
    ) -> Ended:
        """Run it to its end.

        Parameters
        ----------
        number : int, optional
            A signal to send.
        delay : float
            When to send it: seconds after the program has begun.
        close_after : int, optional
            Close its standard output after reading this number of bytes.
        group : bool
            Whether processes that it has started get the signal too, as from a terminal.
        """
        output, write_output = os.pipe()
        begun, write_begun = os.pipe()
        with tempfile.TemporaryFile() as errors:
            child = os.fork()
            if not child:
                os.close(output)
                os.close(begun)
                _in_child(self, write_output, write_begun, errors.fileno())
            os.close(write_output)
            os.close(write_begun)
            if self.words is None:
                os.read(begun, 1)
            else:
                _wait_for_handlers(child)
            os.close(begun)
            start = time.perf_counter()
            kill = os.killpg if group else os.kill
            send = None if number is None else partial(kill, child, number)
            printed = _read(output, child, send, start + delay, close_after)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            seconds = time.perf_counter() - start
            _check_no_orphans(child)
            errors.seek(0)
            return Ended(code, printed, errors.read().decode(errors="replace"), seconds)


@cache
def _import_all() -> None:
    """Import what commands import when they run, so that a forked process has it."""
    for package in ("cli.commands", "cli", "data.formats", "data.tables", "files", "runs", "report", "export"):
        for module in iter_modules(import_module(f"scwlearn.{package}").__path__):
            if module.name != "__main__":
                import_module(f"scwlearn.{package}.{module.name}")
    for name in (
        "scwlearn.distributed.training",
        "scwlearn.experiments.reproduction",
        "pyarrow.parquet",
        "bz2",
        "lzma",
    ):
        import_module(name)
    # Looks for the libraries of linear algebra once.
    allowed_threads()


def command(random: Random, place: Path, words: list[str]) -> Program:
    """Return a command of the command line."""
    _import_all()
    started = (sys.executable, "-m", "scwlearn.cli", *words) if random.random() < _STARTED_ANEW else None

    def body() -> None:
        sys.argv = ["scwlearn", *words]
        main()

    return Program(place, f"scwlearn {' '.join(words)}", body, started)


def function(place: Path, title: str, body: Callable[[], object]) -> Program:
    """Return a program that calls a function; SIGTERM and SIGHUP end it at once."""

    def end_at_once() -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    return Program(place, title, body, answer_signals=end_at_once)


def _in_child(program: Program, output: int, begun: int, errors: int) -> NoReturn:
    code = 99
    try:
        os.setsid()
        os.chdir(program.place)
        os.umask(0o022)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        if program.words is not None:
            for each in (signal.SIGINT, signal.SIGHUP):
                signal.signal(each, signal.SIG_DFL)
            os.environ["TMPDIR"] = str(program.place / "temporary")
            os.execv(program.words[0], program.words)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        tempfile.tempdir = messages._IN_MEMORY = str(program.place / "temporary")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        program.answer_signals()
        os.write(begun, b".")
        code = 0
        program.body()
        _flush()
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
        _flush()
    except KeyboardInterrupt:
        code = ending()[1]
    finally:
        if code == 99:
            sys.excepthook(*sys.exc_info())
        # Without the functions that this process calls at its exit.
        os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()


def _wait_for_handlers(child: int) -> None:
    """Wait until a program that is started anew answers the last of the signals, or has ended."""
    bit = 1 << (signal.SIGHUP - 1)
    while True:
        lines = Path(f"/proc/{child}/status").read_text().splitlines()
        fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        if fields["State"].startswith("Z") or int(fields.get("SigCgt", "0"), 16) & bit:
            return
        time.sleep(0.001)


def _read(output: int, child: int, send: Callable[[], None] | None, moment: float, close_after: int | None) -> bytes:
    """Read what a process prints until it ends, and send it the signal at its moment."""
    printed, limit = b"", time.perf_counter() + _LIMIT
    with os.fdopen(output, "rb", buffering=0) as file, selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        while True:
            if close_after is not None and len(printed) >= close_after:
                return printed
            now = time.perf_counter()
            if send is not None and now >= moment:
                send()
                send = None
            if now > limit:
                os.kill(child, signal.SIGABRT)
                raise AssertionError(f"a process hangs after {printed[-200:]!r}")
            wait = limit - now if send is None else moment - now
            if selector.select(max(0.0, wait)):
                part = file.read(2**16)
                if not part:
                    break
                printed += part
    if send is not None:
        # It may do more after its last output.
        time.sleep(max(0.0, min(moment, limit) - time.perf_counter()))
        send()
    return printed


def _check_no_orphans(child: int) -> None:
    """Check that all processes of a group end soon after its first."""
    limit = time.perf_counter() + _LIMIT
    while True:
        try:
            os.killpg(child, 0)
        except ProcessLookupError:
            return
        assert time.perf_counter() < limit, "processes go on after the one that started them"
        time.sleep(0.001)
