"""A run of scwlearn compare: what it reads, what it says, what it writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from scwlearn.cli.console import Terminal, progress
from scwlearn.cli.input import Input
from scwlearn.cli.messages import number_text, plural
from scwlearn.cli.model_options import model_config, model_settings, rules_named, train_command
from scwlearn.cli.options import DataOptions
from scwlearn.cli.plots import checked_plot
from scwlearn.data.examples import Examples
from scwlearn.runs.comparison import Comparison, Standing, gathered, standings

_HEAD = f"{'error':>9} {'± std':>8}{'rank':>7}{'p':>9}{'updates':>11}{'seconds':>10}  algorithm and parameters"


class ComparingRun:
    """One run of the command."""

    def __init__(self, data: DataOptions, given: dict[str, Any]) -> None:
        self._given, self._terminal = given, Terminal(quiet=given["quiet"])
        self._plot: Path | None = checked_plot(given["plot"])
        self._rules = rules_named(given["algorithm"])
        for rule in self._rules:
            model_config(rule, rule.check({}), given)
        self._settings = model_settings(given)
        self._data = Input(data, self._terminal)

    def go(self) -> None:
        """Read, compare, and say what came of it."""
        given = self._given
        examples = self._read()
        comparison = Comparison(examples, self._rules, self._settings, given["seed"])
        count: int = given["permutations"]
        sizes = {"example": len(examples), "algorithm": len(self._rules), "order": count}
        self._say(", ".join(plural(size, what) for what, size in sizes.items()))
        # Tuning counts as one order.
        with progress((count + given["tune"]) * len(self._rules), given["quiet"], "comparing") as report:
            if given["tune"]:
                comparison.tune(report)
            found = standings(comparison.run(count, report))
        best = found[0].runs
        command = train_command(best.rule, best.parameters)
        if given["as_json"]:
            click.echo(json.dumps(self._summary(found, len(examples), command), ensure_ascii=False))
        else:
            click.echo("\n".join([*_table(found), "", _note(found), f"best: {command}"]))
        if self._plot is not None:
            from scwlearn.cli.comparison_picture import draw_comparison

            names = ", ".join(Path(name).name for name in self._data.names)
            draw_comparison(found, names, len(examples), self._plot)
            self._say(f"plot: {self._plot}")

    def _read(self) -> Examples:
        try:
            bar = self._data.progress("reading")
            with bar, closing(self._data.examples()) as batches:
                examples = gathered(batches, self._given["limit"])
        except ValueError as error:
            raise ValueError(str(error).replace("(limit)", "(--limit N)")) from None
        self._data.report_skipped()
        return examples

    def _summary(self, found: Sequence[Standing], seen: int, command: str) -> dict[str, Any]:
        return {
            "command": command,
            "sources": [str(name) for name in self._data.names],
            "seen": seen,
            "skipped": self._data.skipped.count,
            "permutations": self._given["permutations"],
            "seed": self._given["seed"],
            "tuned": self._given["tune"],
            "algorithms": [
                {
                    "algorithm": each.runs.rule.name,
                    "parameters": dict(each.runs.parameters),
                    "error": each.runs.mean,
                    "std": each.runs.std,
                    "rank": each.rank,
                    "p": each.p,
                    "as_good_as_best": each.as_good_as_best,
                    "errors": each.runs.error.tolist(),
                    "updates": each.runs.updates.tolist(),
                    "seconds": each.runs.seconds.tolist(),
                }
                for each in found
            ],
        }

    def _say(self, text: str) -> None:
        self._terminal.note(text)


def _table(found: Sequence[Standing]) -> list[str]:
    lines = [_HEAD]
    for each in found:
        runs = each.runs
        p = "" if each.p is None else f"{each.p:.4f}" if each.p >= 0.0001 else "<0.0001"
        std = f"{100 * runs.std:.2f}" if len(runs.error) > 1 else ""
        mark = "*" if each.as_good_as_best else " "
        parameters = " ".join(f"{name}={number_text(value)}" for name, value in runs.parameters.items())
        lines.append(
            f"{mark}{runs.mean:8.2%} {std:>8}{each.rank:7.1f}{p:>9}{runs.updates.mean():11.1f}"
            f"{runs.typical_seconds:10.4f}  {runs.rule.name} {parameters}".rstrip()
        )
    return lines


def _note(found: Sequence[Standing]) -> str:
    if len(found[0].runs.error) < 2:
        return "* the best; one order alone tells nothing about chance, more do (--permutations)"
    return "* the best, and what a paired t-test at 95 % cannot tell from it (p: against the best)"
