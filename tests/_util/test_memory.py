"""Errors for allocations that would not fit in memory."""

import pytest

from scwlearn._util import memory
from scwlearn._util.memory import available_memory, ensure_memory

GIB = 2**30


def test_too_large_an_allocation_is_refused_in_advance(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: GIB)
    message = "a model needs 2 GiB of memory, but only 1 GiB are available; use less"
    with pytest.raises(ValueError, match=message), ensure_memory(2 * GIB, what="a model", instead="use less"):
        pytest.fail("the block was entered")


def test_a_memory_error_says_what_to_do_instead(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    message = "a model needs 2 GiB of memory, which could not be allocated; use less"
    with pytest.raises(ValueError, match=message), ensure_memory(2 * GIB, what="a model", instead="use less"):
        raise MemoryError


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    machine = available_memory()
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert available_memory() == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert machine is None or abs(available_memory() - machine) < machine
