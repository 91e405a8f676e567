"""Processes whose memory runs out: forked from a warm one, under a limit or with an allocator that fails."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

_HERE = Path(__file__).parent
# Seconds after which a case hangs.
_CASE_LIMIT = 30
_PAGE = resource.getpagesize()


class Forks:
    """A warm process that runs each case in a fork of itself, so that a case may crash, and takes milliseconds.

    Parameters
    ----------
    module : str
        Module with a function `run(random)`, which runs a case and returns a number; and a function `warm()`.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[str] | None = None

    def run(self, seed: str) -> int:
        """Run a case; return what it returns, and raise an AssertionError if it fails or dies."""
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(seed, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise AssertionError("the process that forks for each case has ended")
        count, failure = json.loads(answer)
        if failure:
            raise AssertionError(failure)
        return int(count)

    def _start(self) -> subprocess.Popen[str]:
        environment = dict(os.environ, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
        if library := failing_allocator():
            environment["LD_PRELOAD"] = str(library)
        script = "import sys; from stress.limited import serve; serve(sys.argv[1])"
        return subprocess.Popen(
            [sys.executable, "-c", script, self._module],
            cwd=_HERE.parent,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


@cache
def failing_allocator() -> Path | None:
    """Return the compiled allocator that can fail; None without a compiler."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None or sys.platform != "linux":
        return None
    library = Path(tempfile.mkdtemp()) / "failing_allocator.so"
    source = _HERE / "failing_allocator.cpp"
    subprocess.run(
        [compiler, "-std=c++20", "-O2", "-shared", "-fPIC", "-fno-builtin", str(source), "-o", str(library)], check=True
    )
    return library


def serve(module: str) -> None:
    """Run the cases that come on standard input, each in a fork, and print what they return or how they failed."""
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    cases = import_module(module)
    cases.warm()
    for seed in sys.stdin:
        print(json.dumps(_fork(cases.run, seed.strip())), file=results, flush=True)


def _fork(run: Callable[[Random], int], seed: str) -> tuple[int, str | None]:
    begin, end = os.pipe()
    messages = os.memfd_create("messages")
    child = os.fork()
    if not child:
        os.dup2(messages, 2)
        faulthandler.enable()
        faulthandler.dump_traceback_later(_CASE_LIMIT, exit=True)
        with os.fdopen(end, "w") as file:
            try:
                result: tuple[int, str | None] = run(Random(seed)), None
            except BaseException:
                lift_limit()
                result = 0, traceback.format_exc()
            json.dump(result, file)
        os._exit(0)
    os.close(end)
    with os.fdopen(begin) as file:
        answer = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.lseek(messages, 0, os.SEEK_SET)
    with os.fdopen(messages, errors="replace") as file:
        said = file.read()
    if code == 0 and answer:
        count, failure = json.loads(answer)
        return count, failure
    return 0, f"case {seed!r} ended with exit code {code}\n{said}"


@contextmanager
def limited_memory(random: Random, *, by_allocator: bool = True) -> Iterator[str]:
    """Let memory run out in the block, under a limit or because the allocator fails; yield how, in words."""
    library = _preloaded()
    if library is not None and by_allocator and random.random() < 0.5:
        after, count = int(10 ** random.uniform(0, 3)) - 1, random.choice([1, 1, 10, 10**9])
        how = f"allocation {after} fails, {count} times"
        print(how, file=sys.stderr)
        library.fail_allocations(after, count)
        try:
            yield how
        finally:
            library.end_failures()
        return
    more = int(10 ** random.uniform(3.5, 8))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE
    print(f"{more} bytes are left", file=sys.stderr)
    resource.setrlimit(resource.RLIMIT_AS, (size + more, resource.RLIM_INFINITY))
    try:
        yield f"{more} bytes are left"
    finally:
        lift_limit()


def lift_limit() -> None:
    """Let a process have all memory again."""
    if (library := _preloaded()) is not None:
        library.end_failures()
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@cache
def _preloaded() -> Any:
    library = ctypes.CDLL(None)
    return library if hasattr(library, "fail_allocations") else None
