"""One run of a target: build it, fuzz it in several processes, reproduce what failed, and reduce the corpus."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.targets import ROOT, Target

# More findings of the same target say little more.
_MOST_FINDINGS = 20
# Attempts at each smaller size, and for all of them.
_MINIMISE_RUNS, _MINIMISE_SECONDS = 5_000, 60
# Bytes of an input in fuzz/corpus.
_LONGEST_KEPT = 2_048
# libFuzzer's exit code after SIGINT.
_INTERRUPTED = 72
_NATIVE_FLAGS = (
    "-std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all "
    "-ffp-contract=off"
)
# A finding is rather memory that an input takes than memory that the sanitizer keeps. Python frees nothing at its exit.
_ASAN_OPTIONS = "quarantine_size_mb=64:detect_leaks="
# A line such as "#2048 pulse  cov: 300 ft: 751 corp: 131/1886b lim: 512 exec/s: 26214 rss: 268Mb".
_STATUS = re.compile(r"#(\d+)\s+(\w+)\s+cov: (\d+) .*?rss: (\d+)Mb")
_WRITTEN = re.compile(r"Test unit written to (\S+)")
_ERROR = re.compile(r"SUMMARY: .*|=== Uncaught Python exception: ===")
# The names that libFuzzer gives to inputs; those that people wrote have others.
_HASHED = re.compile(r"[0-9a-f]{40}")


class FuzzingError(Exception):
    """A target cannot be built or run."""


@dataclass
class Finding:
    """An input that fails, and the line that says how."""

    path: Path
    error: str
    is_reproducible: bool = True


@dataclass
class Outcome:
    """What a run of a target did and found."""

    target: str
    jobs: int
    inputs: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    edges: int = 0
    memory: int = 0
    kept: int = 0
    new: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def rate(self) -> int:
        """Inputs per second of one core, which other work on the machine does not change."""
        return round(self.inputs / max(self.processor_seconds, 1e-3))

    def record(self) -> dict[str, object]:
        """Return the figures to publish."""
        return {
            "target": self.target, "inputs": self.inputs, "seconds": round(self.seconds), "jobs": self.jobs,
            "inputs_per_second": self.rate, "edges": self.edges, "memory_mb": self.memory, "corpus": self.kept,
            "new": self.new, "findings": len(self.findings),
        }  # fmt: skip


class Campaign:
    """A target, and the directory for its executable, its growing corpus and its findings."""

    def __init__(self, target: Target, home: Path) -> None:
        self.target = target
        self.corpus = home / "corpus" / target.name
        self.findings = home / "findings" / target.name
        self._executable = home / "bin" / target.name
        self._log = home / "logs" / target.name
        for directory in (self.corpus, self.findings, self._executable.parent, self._log.parent):
            directory.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()

    def build(self) -> None:
        """Compile the target, or write a script that runs it."""
        if not self.target.is_native:
            words = [sys.executable, "-m", "fuzz.python_target", str(self._executable), self.target.name]
            self._executable.write_text(f'#!/bin/sh\ncd {shlex.quote(str(ROOT))} && exec {shlex.join(words)} "$@"\n')
            self._executable.chmod(0o755)
            return
        compiler = os.environ.get("CLANGXX", "clang++")
        command = [compiler, *_NATIVE_FLAGS.split(), f"-I{ROOT / 'native'}", "-o"]
        command += [str(self._executable), str(self.target.path)]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError):
            hint = "on Debian: install clang and libclang-rt-14-dev, or set CLANGXX"
            raise FuzzingError(f"{compiler} with libFuzzer cannot build {self.target.path} ({hint})") from None

    def fuzz(self, *, inputs: int | None, seconds: float | None, jobs: int) -> Outcome:
        """Run processes that share a corpus, until they have tried `inputs` or taken `seconds`."""
        outcome, start = Outcome(self.target.name, jobs), time.monotonic()
        before = _names(self.corpus)
        end = None if seconds is None else start + seconds
        share = None if inputs is None else -(-inputs // jobs)
        with ThreadPoolExecutor(jobs) as threads:
            for _ in threads.map(lambda job: self._fuzz_job(outcome, job, share, end), range(jobs)):
                pass
        outcome.seconds = time.monotonic() - start
        self._sort_out(outcome)
        self._reduce()
        after = _names(self.corpus)
        outcome.kept, outcome.new = len(after) + len(_names(self.target.corpus)), len(after - before)
        return outcome

    def keep(self) -> int:
        """Replace the inputs in fuzz/corpus by the fewest small ones that reach as many branches; return how many.

        Those that people wrote, whose names are no hashes, stay.
        """
        folder = self.target.corpus
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            if _HASHED.fullmatch(path.name):
                shutil.move(path, self.corpus / path.name)
        # Counts of branches tell little, and multiply the inputs.
        options = ["-use_counters=0", f"-max_len={min(self.target.longest, _LONGEST_KEPT)}"]
        self._merge(folder, [*self.target.folders, self.corpus], *options)
        return len(_names(folder))

    def _fuzz_job(self, outcome: Outcome, job: int, inputs: int | None, end: float | None) -> None:
        """Run processes one after the other, each until it fails."""
        tried = 0
        while len(outcome.findings) < _MOST_FINDINGS:
            budget = []
            if end is not None:
                budget.append(f"-max_total_time={max(1, round(end - time.monotonic()))}")
            folders = [self.corpus, *self.target.folders]
            if inputs is not None:
                # Inputs that are already there count as runs.
                budget.append(f"-runs={inputs - tried + sum(len(_names(folder)) for folder in folders)}")
            done, failed = self._run(outcome, job, [*budget, "-reload=1", *map(str, folders)])
            tried += done
            if not failed or (end is not None and time.monotonic() >= end) or (inputs is not None and tried >= inputs):
                return

    def _run(self, outcome: Outcome, job: int, words: list[str]) -> tuple[int, bool]:
        """Run a process to its end; return how many inputs it tried, and whether one failed."""
        process = self._start([*words, f"-artifact_prefix={self.findings}/"])
        first = last = 0
        written, errors = "", []
        assert process.stdout is not None
        with self._log.with_name(f"{self._log.name}-{job}.log").open("w") as log:
            for line in process.stdout:
                log.write(line)
                if status := _STATUS.match(line):
                    last = int(status[1])
                    if status[2] == "INITED":
                        first = last
                    with self._lock:
                        outcome.edges = max(outcome.edges, int(status[3]))
                        outcome.memory = max(outcome.memory, int(status[4]))
                elif found := _WRITTEN.search(line):
                    written = found[1]
                elif found := _ERROR.search(line):
                    # The exception is in the next line.
                    errors.append(found[0] if found[0].startswith("SUMMARY") else next(process.stdout, "").strip())
        _, ended, used = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(ended)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        if code and not written:
            raise FuzzingError(f"{self.target.name} ended with exit code {code}; see {self._log}-{job}.log")
        with self._lock:
            outcome.inputs += max(0, last - first)
            outcome.processor_seconds += used.ru_utime + used.ru_stime
            if code:
                outcome.findings.append(Finding(Path(written), errors[0] if errors else f"exit code {code}"))
        return max(0, last - first), bool(code)

    def _sort_out(self, outcome: Outcome) -> None:
        """Reproduce each finding, and minimise the first one of each error."""
        minimised: set[str] = set()
        for finding in outcome.findings:
            process = self._start([str(finding.path)])
            process.communicate()
            finding.is_reproducible = process.returncode != 0
            is_crash = finding.path.name.startswith("crash-")
            if not (finding.is_reproducible and is_crash) or finding.error in minimised:
                continue
            minimised.add(finding.error)
            smaller = finding.path.with_name(finding.path.name.replace("crash-", "minimised-"))
            words = ["-minimize_crash=1", f"-runs={_MINIMISE_RUNS}", f"-exact_artifact_path={smaller}"]
            process = self._start([*words, str(finding.path)])
            try:
                process.communicate(timeout=_MINIMISE_SECONDS)
            except subprocess.TimeoutExpired:
                # With the process that it started; the smallest input so far is on the disk.
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
            if smaller.exists():
                finding.path = smaller

    def _reduce(self) -> None:
        """Reduce the growing corpus to inputs that reach something new."""
        fresh = self.corpus.with_name(f"{self.corpus.name}.reduced")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        self._merge(fresh, [*self.target.folders, self.corpus])
        known = {_hash(path) for path in self.target.corpus.glob("*")}
        for path in fresh.iterdir():
            if path.name in known:
                path.unlink()
        shutil.rmtree(self.corpus)
        fresh.rename(self.corpus)

    def _merge(self, into: Path, sources: Iterable[Path], *options: str) -> None:
        process = self._start(["-merge=1", *options, str(into), *map(str, sources)])
        messages, _ = process.communicate()
        if process.returncode:
            raise FuzzingError(f"the corpus of {self.target.name} cannot be reduced:\n{messages}")

    def _start(self, words: list[str]) -> subprocess.Popen[str]:
        target = self.target
        limits = [f"-max_len={target.longest}", f"-rss_limit_mb={target.memory}", f"-timeout={target.seconds}"]
        if not target.is_native:
            # Values are drawn from an input, which says little if it is short.
            limits.append("-len_control=0")
        if target.dictionary is not None:
            limits.append(f"-dict={ROOT / 'fuzz' / 'dictionaries' / target.dictionary}.dict")
        environment = {**os.environ, "ASAN_OPTIONS": f"{_ASAN_OPTIONS}{int(target.is_native)}"}
        # libFuzzer reports on one stream, atheris on both.
        return subprocess.Popen(
            [str(self._executable), *limits, *words], cwd=ROOT, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
        )  # fmt: skip


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*")}


def _hash(path: Path) -> str:
    """Return the name that libFuzzer gives to an input."""
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
