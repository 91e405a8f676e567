"""Counters of executed instructions: those of the processor where they can be read, else callgrind's."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import ClassVar, Protocol, Self

from speed.harness import Unavailable

#: The switches of callgrind: their source, their library, and the beginning of the files that callgrind writes.
_SOURCE = Path(__file__).with_name("callgrind.cpp")
_SWITCHES, _COUNTS = "callgrind.so", "callgrind.out"


class Counter(Protocol):
    """Counts the instructions that a process executes between `start` and `stop`."""

    name: ClassVar[str]

    @classmethod
    def prepare(cls, folder: Path) -> list[str]:
        """Return the words before the command of a process that counts; raise Unavailable if it could not."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Return a counter of this process, which was started with those words."""

    def start(self) -> None:
        """Count from here."""

    def stop(self) -> int:
        """Return the instructions since `start`."""


class Perf:
    """Instructions in user space by the processor's counter, as `perf stat -e instructions:u` reports them."""

    name: ClassVar[str] = "perf"

    def __init__(self, kind: int = 0, event: int = 1) -> None:
        """Open the counter of an event: by default of the hardware, instructions (linux/perf_event.h)."""
        number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
        if platform.system() != "Linux" or number is None:
            raise Unavailable("performance counters are read on Linux only, on x86-64 and ARM")
        # Disabled at first, inherited by threads, without the kernel and the hypervisor.
        flags = 1 | 1 << 1 | 1 << 5 | 1 << 6
        attributes = struct.pack("=IIQQQQQIIQ", kind, 64, event, 0, 0, 0, flags, 0, 0, 0)
        self._file = ctypes.CDLL(None, use_errno=True).syscall(number, attributes, 0, -1, -1, 0)
        if self._file < 0:
            raise Unavailable(f"the processor's counters cannot be read: {os.strerror(ctypes.get_errno())}")

    @classmethod
    def prepare(cls, folder: Path) -> list[str]:
        """Return no words: the process opens its own counter."""
        cls.open(folder)
        return []

    @classmethod
    def open(cls, folder: Path) -> Perf:
        """Return a counter of this process."""
        return cls()

    def start(self) -> None:
        """Count from here."""
        self._control(0x2403)
        self._control(0x2400)

    def stop(self) -> int:
        """Return the instructions since `start`."""
        self._control(0x2401)
        return int.from_bytes(os.read(self._file, 8), "little")

    def _control(self, request: int) -> None:
        import fcntl

        fcntl.ioctl(self._file, request, 0)


class Callgrind:
    """Instructions by valgrind's callgrind, which runs about fifty times as long as the processor."""

    name: ClassVar[str] = "callgrind"

    def __init__(self, folder: Path) -> None:
        """Load the switches that `prepare` has made in the folder."""
        self._switches = ctypes.CDLL(str(folder / _SWITCHES))
        self._folder, self._part = folder, 0

    @classmethod
    def prepare(cls, folder: Path) -> list[str]:
        """Compile the switches, and return the words that start valgrind, with counting switched off."""
        compiler = shutil.which(os.environ.get("CXX", "c++"))
        if shutil.which("valgrind") is None or compiler is None:
            raise Unavailable("valgrind or a C++ compiler is not installed")
        words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(folder / _SWITCHES), str(_SOURCE)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"valgrind's switches do not compile: {done.stderr.partition(chr(10))[0]}")
        output = f"--callgrind-out-file={folder / _COUNTS}"
        return ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", output]

    @classmethod
    def open(cls, folder: Path) -> Callgrind:
        """Return a counter of this process."""
        return cls(folder)

    def start(self) -> None:
        """Count from here."""
        self._switches.start_counting()

    def stop(self) -> int:
        """Return the instructions since `start`."""
        self._switches.stop_counting()
        self._part += 1
        return instructions((self._folder / f"{_COUNTS}.{self._part}").read_text())


#: The counters, the best one first.
COUNTERS: dict[str, type[Perf] | type[Callgrind]] = {counter.name: counter for counter in (Perf, Callgrind)}


def instructions(text: str) -> int:
    """Return the instructions in a file written by callgrind."""
    found = re.search(r"^events: Ir\b.*?^totals: (\d+)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError("not a file of callgrind: no event Ir, or no line that starts with 'totals:'")
    return int(found[1])
