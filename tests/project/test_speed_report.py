"""The report of the speed benchmark: regressions, instruction counts, the chart and the table."""

import mmap
from dataclasses import replace

import pytest
from speed import chart, history
from speed.comparisons import comparisons
from speed.counters import Perf, instructions
from speed.harness import Race, Result, Scale, Side, Unavailable, hold
from speed.history import Record
from speed.report import markdown
from speed.run import PAGE

ENTRIES = comparisons()
#: The head and the end of a file that callgrind writes on request.
CALLGRIND = """# callgrind format
version: 1
creator: callgrind-3.19.0
desc: Trigger: Client Request

positions: line
events: Ir
summary: 0

ob=(1) _native.so
fn=(1) learn
0 12
calls=2 0
0 3456

totals: 21011579
"""


def record(name=ENTRIES[0].name, ratio=2.0, ours=None, **changes):
    """Return a record, counted by callgrind if it has instructions."""
    base = Record("2026-01-01", "1.0", "abc", "a machine", name, ratio, 0.9 * ratio, 1.1 * ratio, 1.0, ratio)
    counted = {} if ours is None else {"counter": "callgrind", "our_instructions": ours, "peer_instructions": 2 * ours}
    return replace(base, **(counted | changes))


def worse(now, *before, **how):
    return [regression.now.name for regression in history.regressions([now], before, **how)]


def test_a_ratio_may_fall_by_five_percent():
    assert not worse(record(ratio=1.91), record(ratio=2.0))
    assert worse(record(ratio=1.89), record(ratio=2.0))
    assert not worse(record(ratio=4.0), record(ratio=2.0))
    assert not worse(record(ratio=1.0), record(ratio=2.0), times=False)


def test_instructions_decide_where_the_same_counter_counted_both():
    assert not worse(record(ratio=1.0, ours=104), record(ratio=2.0, ours=100))
    assert worse(record(ratio=3.0, ours=106), record(ratio=2.0, ours=100))
    assert worse(record(ratio=3.0, ours=106), record(ratio=2.0, ours=100), times=False)
    assert not worse(record(ratio=2.0, ours=106), record(ratio=2.0))
    assert not worse(record(ratio=2.0, ours=106), record(ratio=2.0, ours=100, counter="perf"))
    assert worse(record(ratio=1.0, ours=90), record(ratio=2.0))


def test_a_run_is_compared_with_the_latest_record_of_the_same_comparison_and_kind_of_machine():
    older, newer = record(ratio=9.0), record(ratio=2.0, date="2026-02-01")
    others = record(ratio=9.0, machine="another machine"), record("another comparison", ratio=9.0)
    assert not worse(record(ratio=2.0), older, newer, *others)
    assert worse(record(ratio=2.0), newer, older)


def test_a_regression_says_what_changed_and_since_when():
    by_ratio, by_instructions = (
        str(history.regressions([latest], [before])[0])
        for latest, before in ((record(ratio=1.0), record(ratio=2.0)), (record(ours=2000), record(ours=1000)))
    )
    assert by_ratio == f"{ENTRIES[0].name}: ratio 2x to 1x, since 2026-01-01 (abc)"
    assert "1,000 to 2,000 instructions" in by_instructions


def test_the_history_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "history.jsonl"
    assert history.read(path) == []
    first, second = [record(), record("another")], [record(date="2026-02-01", ours=5)]
    history.append(first, path)
    history.append(second, path)
    assert history.read(path) == first + second
    assert history.latest(history.read(path)) == second
    assert history.latest([]) == []


def test_instructions_are_read_from_a_file_of_callgrind():
    assert instructions(CALLGRIND) == 21011579
    for broken in ("", CALLGRIND.replace("totals", "summary"), CALLGRIND.replace("events: Ir", "events: Dr")):
        with pytest.raises(ValueError, match="not a file of callgrind"):
            instructions(broken)


def test_a_counter_of_the_system_starts_at_zero_each_time():
    try:
        page_faults = Perf(kind=1, event=2)  # counted by the kernel, on machines without counters of instructions too
    except Unavailable as reason:
        pytest.skip(str(reason))
    counts = []
    for pages in (2**10, 0):
        # Memory from the heap may have been used before, and cause no page faults.
        with mmap.mmap(-1, 2**10 * mmap.PAGESIZE) as memory:
            page_faults.start()
            for page in range(pages):
                memory[page * mmap.PAGESIZE] = 1
            counts.append(page_faults.stop())
    assert counts[0] > counts[1] + 10


def test_names_are_unique_and_selected_by_how_they_start():
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    assert [entry.name for entry in comparisons(["full-threads"])] == [n for n in names if n.startswith("full-threads")]


def test_the_chart_shows_every_group_in_the_order_of_the_table():
    run = [record(entry.name, ratio=place + 0.5) for place, entry in enumerate(ENTRIES)]
    groups = chart.bars(reversed(run))
    assert list(groups) == list(chart.Group)
    shown = [(entry, found.name) for pairs in groups.values() for entry, found in pairs]
    assert all(entry.name == name and entry.chart for entry, name in shown)
    assert {entry.name for entry, _ in shown} == {entry.name for entry in ENTRIES if entry.chart}
    labels = [entry.chart for entry, _ in shown]
    assert len(set(labels)) == len(labels)


def test_the_chart_is_drawn_from_what_was_measured(tmp_path):
    chart.draw([record("no comparison of ours")], tmp_path / "empty.png")
    assert not (tmp_path / "empty.png").exists()
    run = [record(entry.name, ratio=0.5 + place) for place, entry in enumerate(ENTRIES[:20:4])]
    chart.draw(run, tmp_path / "speed.png")
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")


def test_the_latest_published_run_measured_comparisons_that_exist():
    published = history.latest(history.read())
    assert {record.name for record in published} <= {entry.name for entry in ENTRIES}
    assert all(record.low <= record.ratio <= record.high for record in published)


def test_the_page_shows_the_chart_before_the_place_of_the_table():
    text = PAGE.read_text()
    assert text.index("images/speed.png") < text.index("<!-- speed -->\n") < text.index("\n<!-- /speed -->")


def about(**changes):
    versions = {"scwlearn": "1.0"}
    machine = {"cpu": "a processor", "cores": 2, "kind": "a machine"}
    base = {"date": "2026-01-01", "quick": True, "commit": "abc", "machine": machine, "versions": versions}
    return base | {"work_at_once": [2.0, 2.0], "counter": "callgrind", "not_counted": ""} | changes


def test_the_table_has_instructions_and_reasons_for_missing_rows():
    race = Race("3 rows", Side("scwlearn", lambda: None), Side("peer", lambda: None))
    measured = Result(ENTRIES[0], race, [1.0], [2.0], instructions=(1_000_000, 3_000_000))
    results = [measured, Result(ENTRIES[1], missing="no peer")]
    text = markdown(results, about(), [], [])
    assert "| 2x (2 to 2, 1 pairs) | 3x (1 M, 3 M) |" in text
    assert "no peer" in text
    assert [found.our_instructions for found in history.records(results, about())] == [1_000_000]
    uncounted = markdown(results, about(counter=None, not_counted="no valgrind"), [], [])
    assert "not counted in this run: no valgrind" in uncounted


def test_a_comparison_that_cannot_run_gives_its_reason():
    def prepare(_):
        raise Unavailable("SCW1 has no setting dtype")

    assert hold(replace(ENTRIES[0], prepare=prepare), Scale(quick=True)).missing == "SCW1 has no setting dtype"
