"""A run of a fuzz target: it finds a planted fault, sorts it out, and keeps what reaches new code."""

import shutil
import subprocess

import pytest
from fuzz.__main__ import page_with_table, table
from fuzz.campaign import Campaign, Finding, FuzzingError, Outcome
from fuzz.drawn import Drawn
from fuzz.targets import TARGETS, Target

PLANTED = """#include <cstdint>
#include <cstdlib>
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 2 && data[0] == 'b' && data[1] == 'a' && data[2] == 'd') std::abort();
    return 0;
}
"""


@pytest.fixture
def has_fuzzer(tmp_path):
    (tmp_path / "empty.cpp").write_text(PLANTED)
    command = ["clang++", "-fsanitize=fuzzer,address", "-o", tmp_path / "empty", tmp_path / "empty.cpp"]
    if shutil.which("clang++") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs clang++ with libFuzzer")


@pytest.mark.slow
@pytest.mark.usefixtures("has_fuzzer")
def test_a_planted_fault_is_found_and_minimised(tmp_path):
    (tmp_path / "planted.cpp").write_text(PLANTED)
    target = Target(str(tmp_path / "planted.cpp"), "Nothing is bad", longest=16, memory=512)
    campaign = Campaign(target, tmp_path / "home")
    campaign.build()
    (campaign.corpus / "near").write_bytes(b"ba")
    # libFuzzer draws other inputs each time; it ends after some findings.
    outcome = campaign.fuzz(inputs=5_000_000, seconds=None, jobs=1)
    assert outcome.findings
    finding = outcome.findings[0]
    assert finding.is_reproducible
    assert finding.path.read_bytes() == b"bad"
    assert "deadly signal" in finding.error
    assert outcome.inputs > 0
    assert outcome.edges > 0
    # Inputs that end the process are no corpus.
    assert all(not path.read_bytes().startswith(b"bad") for path in campaign.corpus.iterdir())


def test_a_target_that_does_not_compile_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("CLANGXX", "no-such-compiler")
    with pytest.raises(FuzzingError, match="no-such-compiler with libFuzzer cannot build"):
        Campaign(TARGETS["names"], tmp_path).build()


def test_figures_become_tables():
    outcome = Outcome("vw", 2, inputs=10**7, seconds=100.0, processor_seconds=200.0, edges=1234, kept=70, new=3)
    outcome.findings.append(Finding(TARGETS["vw"].path, "boom"))
    header, row = table([outcome])
    assert header.split() == ["target", "inputs", "per", "second", "edges", "MB", "corpus", "new", "findings"]
    assert row.split() == ["vw", "10,000,000", "50,000", "1,234", "0", "70", "3", "1"]
    page = "before\n<!-- fuzzing: start -->\nold\n<!-- fuzzing: end -->\nafter\n"
    old = outcome.record() | {"inputs": 5}
    lines = page_with_table(page, [old, outcome.record()]).splitlines()
    assert lines[0] == "before"
    assert lines[-1] == "after"
    assert lines[4] == f"| {TARGETS['vw'].claim} | 10,000,005 | 50,000 | 1,234 | 2 |"
    assert len(lines) == 7


def test_values_are_drawn_in_turn_and_zero_behind_the_end():
    drawn = Drawn(b"\x05\x01\xfe\x02ab\x00")
    assert (drawn.byte(), drawn.flag(), drawn.integer(1), drawn.text(3)) == (5, True, -2, "ab")
    assert drawn
    assert (drawn.integer(), drawn.float(), drawn.text(9), drawn.choice("xyz")) == (0, 0.0, "", "x")
    assert not drawn
