"""Threads that share the parts of tasks, under ThreadSanitizer."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which(os.environ.get("CXX", "c++"))


@pytest.fixture(scope="module")
def stress(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    program = tmp_path_factory.mktemp("team") / "stress"
    options = ["-std=c++20", "-O1", "-pthread", "-DSCWLEARN_SET=stressed", "-I", HERE.parents[1] / "native"]
    source = [HERE / "team_stress.cpp", "-o", program]
    for sanitizer in (["-fsanitize=thread"], []):
        built = subprocess.run([COMPILER, *sanitizer, *options, *source], capture_output=True)
        # Not every compiler has ThreadSanitizer, and not every kernel can run it.
        if built.returncode == 0 and subprocess.run([program, "1", "0"], capture_output=True).returncode == 0:
            return program
    raise AssertionError(built.stderr.decode())


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_team_does_each_part_once(stress, threads):
    run = subprocess.run([stress, str(threads), "1000"], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
