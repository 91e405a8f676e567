"""The fuzz targets: each is declared, builds, and holds on the inputs that are kept."""

import shutil
import subprocess
import sys

import pytest
from fuzz.targets import ROOT, TARGETS

NATIVE = [name for name, target in TARGETS.items() if target.is_native]
IN_PYTHON = [name for name in TARGETS if name not in NATIVE]
COMPILER = shutil.which("clang++") or shutil.which("c++")


def test_every_file_of_a_target_is_declared():
    folder = ROOT / "fuzz" / "targets"
    files = {path.stem for path in (*folder.glob("*.cpp"), *folder.glob("[a-z]*.py"))}
    assert files == {*TARGETS}
    assert all(
        (ROOT / "fuzz" / "dictionaries" / f"{one.dictionary}.dict").exists()
        for one in TARGETS.values()
        if one.dictionary
    )


def test_every_target_has_inputs_and_all_of_them_are_small():
    inputs = {name: [*target.corpus.iterdir()] for name, target in TARGETS.items()}
    assert all(len(files) >= 8 for files in inputs.values())
    assert {path.parent.name for path in (ROOT / "fuzz" / "corpus").glob("*/*")} == {*TARGETS}
    assert sum(path.stat().st_size for files in inputs.values() for path in files) < 300_000


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("name", NATIVE)
def test_a_native_target_compiles_with_the_present_parsers(name):
    command = [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'native'}", TARGETS[name].path]
    subprocess.run(command, check=True)


# In a process of its own, because a target may change the directory and what the process may do.
@pytest.mark.slow
@pytest.mark.native
@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_target_in_python_holds_on_its_inputs(name):
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.replay", name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}: ")


def test_mutated_command_lines_are_command_lines():
    code = (
        "from random import Random; from fuzz.targets import arguments\n"
        "data = b''\n"
        "for i in range(200):\n"
        "    data = arguments.mutate(data, Random(i)) or data\n"
        "    assert not data or data.decode(errors='surrogateescape').split('\\n')[0] in arguments._COMMANDS\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    "code",
    [
        "open('/tmp/outside', 'w')",
        "__import__('os').unlink('/tmp/outside')",
        "__import__('os').mkdir('/tmp/outside/deep')",
        "__import__('os').rename('new', '/tmp/outside')",
        "__import__('socket').create_connection(('localhost', 9))",
        "__import__('subprocess').run(['true'])",
    ],
)
def test_the_target_of_command_lines_notices_what_a_command_must_not_do(code):
    script = (
        "from fuzz.targets import arguments\n"
        f"arguments.run_command = lambda words: {code}\n"
        "try:\n    arguments.run(b'train')\nexcept arguments.Violation:\n    print('noticed')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "noticed\n", done.stderr
