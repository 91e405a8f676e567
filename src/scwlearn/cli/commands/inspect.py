"""Show the algorithm, data and largest weights of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from scwlearn.cli.options import SectionCommand, model_argument, option

# What is shown of a file by itself, in its order: the title, and what it is called among the facts.
_MODEL = {
    "covariance": "covariance",
    "kernel": "kernel",
    "support": "support vectors",
    "features": "features",
    "nonzero": "weights that are not zero",
}
_SIZES = ("bytes", "kB", "MB", "GB", "TB")


@click.command(cls=SectionCommand)
@model_argument
@option(
    "--top", type=click.IntRange(0), default=10, show_default=True, section="Weights", help="So many of each class."
)
@option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME",
    section="Weights",
    help="The weights of this feature instead; may be given several times.",
)
@option("--json", "as_json", is_flag=True, section="Output", help="All of it for programs.")
def command(model: Any, top: int, features: tuple[str, ...], as_json: bool) -> None:
    """Say what MODEL is: algorithm and settings, what it has learned from, its largest weights and how sure they are.

    Weights are for features as the model sees them, which is after scaling; of two classes they are the second's.
    """
    from scwlearn.runs.describe import describe
    from scwlearn.runs.predict import one_line

    facts = describe(model, top, features)
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    pairs = _pairs(facts)
    width = max(len(title) for title, _ in pairs)
    for title, shown in pairs:
        click.echo(f"{title.ljust(width)}  {shown}")
    for label, weights in facts.get("weights", {}).items():
        constant = facts["constants"].get(label)
        click.echo(f"\nweights of {one_line(label)}")
        click.echo("\n".join(_weights([*weights, constant] if constant else weights)))


def _pairs(facts: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = [
        ("file", f"{facts['file']}, {_size(facts['bytes'])}"),
        ("written by", f"scwlearn {facts['library']}, format {facts['format']}"),
        ("kind", f"{facts['kind']}, {facts['class']}"),
        ("algorithm", f"{facts['algorithm']} ({facts['title']})"),
        ("parameters", _listed(facts["parameters"])),
        ("settings", _listed({name: value for name, value in facts["settings"].items() if value is not None})),
    ]
    if not facts["fitted"]:
        return [*pairs, ("learned", "nothing yet")]
    if "prior" in facts:
        pairs.append(("prior", f"N(0, {facts['prior']['variance']:g} I)"))
    pairs += [(title, _shown(facts[name])) for name, title in _MODEL.items() if name in facts]
    pairs.append(
        ("learned from", f"{facts['seen']} examples, {facts['mistakes']} mistakes, {facts['updates']} updates")
    )
    if "classes" in facts:
        pairs.append(("classes", _classes(facts["classes"])))
    if "data" in facts:
        data = {name: value for name, value in facts["data"].items() if value}
        pairs.append(("data", _listed(data)))
    for name, title in (("trained", "trained by"), ("made", "made by")):
        if name in facts:
            pairs.append((title, f"{facts[name]['command']}  ({facts[name]['began']})"))
    if "held_out" in facts:
        pairs.append(("held out", _listed(facts["held_out"])))
    return pairs


def _classes(classes: list[dict[str, Any]], most: int = 20) -> str:
    from scwlearn.runs.predict import one_line

    shown = [one_line(one["label"]) + (f" ({one['examples']})" if "examples" in one else "") for one in classes[:most]]
    rest = f", ... and {len(classes) - most} more" if len(classes) > most else ""
    return f"{len(classes)}: {', '.join(shown)}{rest}" if classes else "none yet"


def _weights(weights: list[dict[str, Any]]) -> list[str]:
    if not weights:
        return ["  none"]
    from scwlearn.runs.predict import one_line

    names = [one_line(one["name"]) for one in weights]
    width = max(map(len, names))
    numbers = [
        f"{one['weight']:+.4f}" if 1e-3 <= abs(one["weight"]) < 1e6 else f"{one['weight']:+.3g}" for one in weights
    ]
    room = max(map(len, numbers))
    return [
        f"  {name.ljust(width)}  {number.rjust(room)}"
        + ("" if one["deviation"] is None else f"  +- {one['deviation']:.4f}")
        for one, name, number in zip(weights, names, numbers, strict=True)
    ]


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in values.items()) or "none"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return "(" + _listed(value) + ")" if len(value) <= 20 else f"({len(value)} of them)"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= 1000 and unit < len(_SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{count} bytes" if not unit else f"{size:.3g} {_SIZES[unit]}"
