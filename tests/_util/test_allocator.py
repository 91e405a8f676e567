"""Memory that is freed is reused from block to block, and given back soon after the last one."""

import sys
from threading import Event, Thread

import pytest

from scwlearn._util import allocator
from scwlearn._util.allocator import keep_freed_memory, reused_memory


class FakeLibrary:
    """Keeps the parameters that it is given."""

    def __init__(self):
        self.parameters, self.trims = {}, 0

    def mallopt(self, name, value):
        self.parameters[name] = value
        return 1

    def malloc_trim(self, pad):
        self.trims += 1


@pytest.fixture
def library(monkeypatch):
    fake = FakeLibrary()
    monkeypatch.setattr(allocator, "_glibc", lambda: fake)
    monkeypatch.setattr(allocator, "_IDLE_SECONDS", 0.0)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    return fake


def given_back():
    """Wait until no memory is kept."""
    timer = allocator._timer
    if timer is not None:
        timer.join()


def test_the_limits_are_raised_and_restored(library):
    with reused_memory():
        assert min(library.parameters.values()) > 2**22
        with reused_memory():
            pass
        assert allocator._timer is None
    given_back()
    assert library.parameters == {-1: 65536, -3: 128 * 2**10}
    assert library.trims == 1


def test_the_next_block_finds_what_the_last_one_has_freed(library, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(allocator, "_IDLE_SECONDS", 1000.0)
        with reused_memory():
            pass
        waiting = allocator._timer
    with reused_memory():
        waiting.join()
        assert library.trims == 0
        assert min(library.parameters.values()) > 2**22
    given_back()
    assert library.trims == 1


def test_an_error_restores_them(library):
    with pytest.raises(KeyError), reused_memory():
        raise KeyError
    given_back()
    assert library.parameters[-1] == 65536


def test_the_last_of_several_threads_restores_them(library):
    inside, leave = Event(), Event()

    def hold():
        with reused_memory():
            inside.set()
            leave.wait()

    thread = Thread(target=hold)
    thread.start()
    inside.wait()
    with reused_memory():
        pass
    assert allocator._timer is None
    leave.set()
    thread.join()
    given_back()
    assert library.trims == 1


@pytest.mark.parametrize("value", [None, "", "many"])
def test_nothing_happens_if_trimming_was_not_asked_for(library, monkeypatch, value):
    if value is None:
        monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_")
    else:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", value)
    with reused_memory():
        assert library.parameters == {}
    assert library.trims == 0


def test_other_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    with reused_memory():
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_glibc_is_found_where_it_is():
    import platform

    assert (allocator._glibc() is not None) == (platform.libc_ver()[0] == "glibc")


@pytest.mark.parametrize("variable", [None, "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"])
def test_a_command_keeps_memory_unless_the_environment_says_otherwise(library, monkeypatch, variable):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_")
    if variable is not None:
        monkeypatch.setenv(variable, "65536")
    keep_freed_memory()
    assert len(library.parameters) == (2 if variable is None else 0)
