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
from typing import Protocol

from speed.harness import Unavailable

_SOURCE = Path(__file__).with_name("callgrind.cpp")


class Counter(Protocol):
    """Counts the instructions that this process executes between `start` and `stop`."""

    def start(self) -> None:
        """Count from here."""

    def stop(self) -> int:
        """Return the instructions since `start`."""


class Perf:
    """Instructions in user space by the processor's counter, as `perf stat -e instructions:u` reports them."""

    name = "perf"

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
    """Instructions by callgrind, in a process that `command` has started."""

    name = "callgrind"

    def __init__(self, library: Path, output: Path) -> None:
        """Load the switches that `build` has made; `output` is the file named in `command`."""
        self._switches = ctypes.CDLL(str(library))
        self._output, self._part = output, 0

    def start(self) -> None:
        """Count from here."""
        self._switches.start_counting()

    def stop(self) -> int:
        """Return the instructions since `start`."""
        self._switches.stop_counting()
        self._part += 1
        part = self._output.with_name(f"{self._output.name}.{self._part}")
        count = instructions(part.read_text())
        part.unlink()
        return count

    @staticmethod
    def build(library: Path) -> None:
        """Compile the switches; raise Unavailable if valgrind, its headers or a compiler are missing."""
        compiler = shutil.which(os.environ.get("CXX", "c++"))
        if shutil.which("valgrind") is None or compiler is None:
            raise Unavailable("valgrind or a C++ compiler is not installed")
        words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"valgrind's switches do not compile: {done.stderr.partition(chr(10))[0]}")

    @staticmethod
    def command(output: Path) -> list[str]:
        """Return the words before a command whose calls are counted."""
        return ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}"]


def instructions(text: str) -> int:
    """Return the instructions in a file written by callgrind."""
    found = re.search(r"^events: Ir\b.*?^totals: (\d+)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError("not a file of callgrind: no event Ir, or no line that starts with 'totals:'")
    return int(found[1])
