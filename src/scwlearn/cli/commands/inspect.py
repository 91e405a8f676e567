"""Show the algorithm, data and largest weights of a model.

Weights apply to scaled features; with two classes, they are those of the second. The number after +- is the standard
deviation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from scwlearn.cli.console import columns, print_json, print_text
from scwlearn.cli.options import SectionCommand, count_option, model_argument, option, output_options
from scwlearn.display.formatting import abbreviated, one_line, plural
from scwlearn.learning.settings import Face, settings_for
from scwlearn.rules import Rule, find_rule

# Facts that are shown as they are, with their titles.
_PLAIN = {
    "covariance": "covariance",
    "kernel": "kernel",
    "support": "support vectors",
    "features": "features",
    "nonzero": "nonzero weights",
}
_MAX_CLASSES = 20

_output_options = output_options(
    count_option("--top", default=10, low=0, text="Number of weights to show for each class."),
    option(
        "--feature",
        "features",
        multiple=True,
        metavar="NAME",
        help="Show the weights of this feature instead; may be repeated.",
    ),
    json="Print everything as JSON.",
    quiet=None,
)


@click.command(cls=SectionCommand, params=[model_argument, *_output_options], help=__doc__)
def command(model: Path, top: int, features: tuple[str, ...], as_json: bool) -> None:
    """Show a model; see the help above."""
    # NumPy is imported from here on: --help does without it.
    from scwlearn.runs.trained_model import describe

    facts = describe(model, top, features)
    if as_json:
        print_json(facts)
        return
    print_text("\n".join(columns(_table(facts).items())))
    for label, weights in facts.get("weights", {}).items():
        constant = facts["constants"].get(label)
        print_text(f"\nweights of {one_line(label)}")
        print_text("\n".join(_weights([*weights, constant] if constant else weights)))


def _table(facts: dict[str, Any]) -> dict[str, str]:
    defaults = _defaults(find_rule(facts["algorithm"]))
    settings = {name: value for name, value in facts["settings"].items() if value != defaults.get(name)}
    table = {
        "file": f"{facts['file']}, {abbreviated(facts['bytes'])}B",
        "written by": f"scwlearn {facts['library']}, format {facts['format']}",
        "kind": f"{facts['kind']}, {facts['class']}",
        "algorithm": f"{facts['algorithm']} ({facts['title']})",
        "parameters": _listed(facts["parameters"]),
        "settings": _listed(settings) if settings else "default",
    }
    if not facts["fitted"]:
        return table | {"trained on": "no examples yet"}
    if "prior" in facts:
        table["prior"] = f"N(0, {facts['prior']['variance']:g} I)"
    for number, member in enumerate(facts.get("members", ()), start=1):
        table[f"member {number}"] = f"{member['member']}: weight {member['weight']:.2f}"
    table |= {title: _shown(facts[name]) for name, title in _PLAIN.items() if name in facts}
    counts = {"seen": "example", "mistakes": "mistake", "updates": "update"}
    table["trained on"] = ", ".join(plural(facts[name], noun) for name, noun in counts.items())
    if "classes" in facts:
        table["classes"] = _classes(facts["classes"])
    if "data" in facts:
        table["data"] = _listed(facts["data"])
    if "records" in facts:
        table["records"] = _listed(facts["records"])
    for name in ("trained", "made"):
        if name in facts:
            table[f"{name} by"] = f"{facts[name]['command']}  ({facts[name]['began']})"
    if "held_out" in facts:
        table["holdout"] = _listed(facts["held_out"])
    return table


def _defaults(rule: Rule) -> dict[str, Any]:
    """Return the defaults of all settings; where interfaces differ, those of the command line."""
    return {s.name_in(face): s.default_in(face, rule) for face in Face for s in settings_for(face)}


def _classes(classes: list[dict[str, Any]]) -> str:
    shown = [one_line(c["label"]) + (f" ({c['examples']})" if "examples" in c else "") for c in classes[:_MAX_CLASSES]]
    rest = f", ... and {len(classes) - len(shown)} more" if len(classes) > len(shown) else ""
    return f"{len(classes)}: {', '.join(shown)}{rest}" if classes else "none yet"


def _weights(weights: list[dict[str, Any]]) -> list[str]:
    if not weights:
        return ["  none"]
    table = []
    for one in weights:
        size, deviation = abs(one["weight"]), one["deviation"]
        number = f"{one['weight']:+{'.4f' if 1e-3 <= size < 1e6 else '.3g'}}"
        table.append(("  " + one_line(one["name"]), number, "" if deviation is None else f"+- {deviation:.4f}"))
    return columns(table, right={1})


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in values.items()) or "none"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return f"({_listed(value)})" if len(value) <= _MAX_CLASSES else f"({len(value)} entries)"
    if isinstance(value, list):
        # A list in a list is an interaction.
        return ", ".join(":".join(item) if isinstance(item, list) else _shown(item) for item in value)
    text = str(value)
    return text if text.isprintable() else repr(text)
