"""Results of the speed benchmark as a Markdown table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from speed.harness import FEWEST, REPETITIONS, Quality, Result, as_time
from speed.history import Regression

#: Two idle cores do at least this many times the work of one.
QUIET = 1.8

HEAD = "| work | against | ours | peer | ratio | instructions | target | met |\n|---|---|---|---|---|---|---|---|"


def summary(results: list[Result], about: dict[str, Any]) -> str:
    """Return the machine, the collapsed table, and the rows in which we are slower or miss a target."""
    table = HEAD + "\n" + "\n".join(_row(result) for result in results)
    folded = f"<details>\n<summary>All {len(results)} comparisons</summary>\n\n{table}\n\n</details>"
    return "\n\n".join([_preamble(about), folded, "**Slower than the peer, or target missed**", _losses(results)])


def markdown(results: list[Result], about: dict[str, Any], worse: list[Regression], pictures: list[str]) -> str:
    """Return the chart, the summary, what became worse, the quality of both sides' models, and the pictures."""
    charted = any(result.race and result.entry.chart for result in results)
    parts = ["# Speed", *(["![speed](speed.png)"] if charted else []), summary(results, about)]
    parts += ["## Worse than before", _list(worse) or "Nothing."]
    parts += ["## Quality of both sides", _QUALITY + "\n".join(filter(None, map(_quality_row, results)))]
    notes = [f"{_work(result)}: {result.race.note}." for result in results if result.race and result.race.note]
    parts += ["## Notes", _list(notes)] if notes else []
    parts += [f"![{name}]({name}.png)" for name in pictures]
    return "\n\n".join(parts) + "\n"


def as_json(results: list[Result], about: dict[str, Any], scaling: dict[str, Any]) -> dict[str, Any]:
    """Return every sample of every comparison."""
    return {**about, "comparisons": [_entry(result) for result in results], "scaling": scaling}


def _preamble(about: dict[str, Any]) -> str:
    machine, versions = about["machine"], about["versions"]
    first, last = about["work_at_once"]
    quiet = "the second core was idle" if min(first, last) > QUIET else "**other processes used the machine**"
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    size = " **Quick run with small sizes; the targets do not apply.**" if about["quick"] else ""
    return (
        f"Measured on {about['date']}, {machine['cpu']}, {machine['cores']} cores. {named}.{size}\n\n"
        f"Ratio: the peer's time divided by ours; above 1 we are faster. It is the median of at least {REPETITIONS} "
        f"pairs run alternately (at least {FEWEST} where the row says so), with the smallest and the largest in "
        "brackets. One thread unless noted; rows that read files also parse in threads. Two processes at once did "
        f"{first:.2f} times the work of one before the run and {last:.2f} times after it: {quiet}.\n\n"
        f"{_instructions(about)}"
    )


def _instructions(about: dict[str, Any]) -> str:
    if about["counter"] is None:
        return f"Instructions were not counted in this run: {about['not_counted']}."
    return (
        "Instructions, which other load does not change: the peer's divided by ours, and both counts, for one run of "
        f"small size, by {about['counter']}. They are counted where both sides work in one process and one thread."
    )


def _list(lines: Iterable[object]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _row(result: Result) -> str:
    target = result.entry.target.said if result.entry.target else ""
    named = f"| {_work(result)} | {result.entry.against}"
    if result.race is None:
        return f"{named} | | | {result.missing.replace('|', '/')} | | {target} | |"
    ratios = result.ratios
    few = f", {len(ratios)} pairs" if len(ratios) < REPETITIONS else ""
    spread = f"{_number(result.ratio)}x ({_number(min(ratios))} to {_number(max(ratios))}{few})"
    met = {True: "yes", False: "**no**", None: ""}[result.met]
    rates = result.rates
    shown = [as_time(median(samples)) for samples in (result.ours, result.peer)]
    if rates:
        shown = [f"{time}, {rate:.0f} MB/s" for time, rate in zip(shown, rates, strict=True)]
    return f"{named} | {shown[0]} | {shown[1]} | {spread} | {_counts(result)} | {target} | {met} |"


def _counts(result: Result) -> str:
    if result.instructions is None:
        return ""
    ours, peer = result.instructions
    return f"{_number(peer / ours)}x ({ours / 1e6:,.3g} M, {peer / 1e6:,.3g} M)"


def _losses(results: list[Result]) -> str:
    lines = []
    for result in results:
        if result.race is None:
            continue
        reasons = [f"takes {_number(1 / result.ratio)} times as long"] if result.ratio < 1 else []
        if result.met is False and result.entry.target:
            reasons.append(f"{_number(result.ratio)}x, the target is {result.entry.target.said}")
        if reasons:
            lines.append(f"{_work(result)}, against {result.entry.against}: {', '.join(reasons)}.")
    return _list(lines) or "Nowhere in this run."


_QUALITY = "| work | ours | peer |\n|---|---|---|\n"


def _quality_row(result: Result) -> str:
    if result.race is None or not (result.our_quality or result.peer_quality):
        return ""
    peer = f"{result.entry.against}: {_quality(result.peer_quality)}"
    return f"| {_work(result)} | {_quality(result.our_quality)} | {peer} |"


def _quality(quality: Quality) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in quality.items()) or "(none)"


def _work(result: Result) -> str:
    return f"{result.entry.work}, {result.race.size}" if result.race else result.entry.work


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _entry(result: Result) -> dict[str, Any]:
    entry, race = result.entry, result.race
    fields: dict[str, Any] = {
        "name": entry.name,
        "work": _work(result),
        "against": entry.against,
        "target": entry.target.said if entry.target else None,
        "met": result.met,
    }
    if race is None:
        return fields | {"missing": result.missing}
    return fields | {
        "ratio": result.ratio,
        "ratio_min": min(result.ratios),
        "ratio_max": max(result.ratios),
        "megabytes": race.megabytes,
        "note": race.note,
        "instructions": result.instructions,
        "ours": {"seconds": result.ours, "threads": race.ours.threads, "quality": result.our_quality},
        "peer": {"seconds": result.peer, "threads": race.peer.threads, "quality": result.peer_quality},
    }
