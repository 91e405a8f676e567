"""How a page looks and what it does by itself: colours for light and dark, the style sheet and the script."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

#: On light and on dark. The seven of lines were searched so that any two of them are told apart with any colour vision;
#: tests/test_report.py holds how far apart they must be, and how far from the paper.
COLOURS = {
    "paper": ("#f5f6f8", "#0e1013"),
    "card": ("#ffffff", "#16191e"),
    "ink": ("#16191d", "#e8eaed"),
    "soft": ("#5a626d", "#9aa3af"),
    "line": ("#e1e4e9", "#2a2f37"),
    "grid": ("#e9ebef", "#262b32"),
    "patch": ("#f3f4f6", "#1e2228"),
    "focus": ("#0b57d0", "#6b93ff"),
    "on-dark": ("#ffffff", "#0e1013"),
    "c0": ("#0b57d0", "#6b93ff"),
    "c1": ("#b03404", "#e8714a"),
    "c2": ("#0a7f50", "#5fe8a4"),
    "c3": ("#94429f", "#a45fb5"),
    "c4": ("#bb880a", "#ffc737"),
    "c5": ("#3392e6", "#def6ff"),
    "c6": ("#4d4459", "#9a9aa0"),
}


def _variables(dark: bool) -> str:
    return "".join(f"--{name}:{pair[dark]};" for name, pair in COLOURS.items())


@cache
def style() -> str:
    """The style sheet. Dark is what the reader's system asks for, unless the button said otherwise; paper is light."""
    light, dark = _variables(False), _variables(True)
    colours = (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
    return colours + _part("page.css")


@cache
def script() -> str:
    """The script: the button for light and dark, and what is told about the mark that is pointed at."""
    return _part("page.js")


def policy() -> str:
    """What the browser is to allow: this style and this script, and nothing from anywhere."""
    return (
        f"default-src 'none'; style-src 'sha256-{_digest(style())}'; script-src 'sha256-{_digest(script())}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _part(name: str) -> str:
    return files("scwlearn.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
