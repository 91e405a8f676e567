"""Description of the machine and the versions of all relevant software."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from threadpoolctl import threadpool_info

from scwlearn._native import instruction_sets

PACKAGES = ("scwlearn", "numpy", "scipy", "scikit-learn", "river", "vowpalwabbit", "olpy", "pyarrow", "threadpoolctl")


def machine() -> dict[str, Any]:
    """Return the kind of machine, processor, caches, system and load at the start."""
    return {
        "kind": f"{_cpu()}, {os.cpu_count()} cores, {instruction_sets()[0]}",
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "system": platform.platform(),
        "load": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def work_at_once(processes: int = 2) -> float:
    """Measure the work of two concurrent processes relative to one: 2 on an idle machine, 1 if the second core is busy.

    This distinguishes a row that does not benefit from threads from a machine without an idle core.
    """
    command = [sys.executable, "-I", "-S", "-c", "for _ in range(10_000_000): pass"]

    def together(count: int) -> float:
        start = time.perf_counter()
        started = [subprocess.Popen(command) for _ in range(count)]
        for process in started:
            process.wait()
        return time.perf_counter() - start

    pairs = [(together(1), together(processes)) for _ in range(5)]
    return median(processes * alone / both for alone, both in pairs)


def versions() -> dict[str, str]:
    """Return the versions of Python, compiler, BLAS and packages, or "not installed"."""
    found = {"python": platform.python_version(), "compiler": _compiler(), "blas": _blas()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def commit() -> str:
    """Return the commit of the checkout, with a plus sign if files differ from it."""
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _caches() -> dict[str, str]:
    caches = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        caches[f"L{level} {kind.lower()}"] = size
    return caches


def _compiler() -> str:
    """Return the version of the compiler that the build uses."""
    found = shutil.which(os.environ.get("CXX", "c++"))
    if found is None:
        return "unknown"
    output = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return output.partition("\n")[0] or "unknown"


def _blas() -> str:
    import numpy as np

    # NumPy loads its BLAS with the first import; SciPy may bring another.
    folder = Path(np.__file__).parent.parent.name
    loaded = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    loaded.sort(key=lambda pool: "numpy" not in pool["filepath"].replace(folder, ""))
    return next((f"{pool['internal_api']} {pool['version']} ({pool['architecture']})" for pool in loaded), "unknown")
