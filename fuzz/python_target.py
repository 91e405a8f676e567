"""Run a target in Python under atheris: `python -m fuzz.python_target PROGRAM NAME [OPTION...]`.

The options are those of libFuzzer, which starts PROGRAM, a script with this command, to reduce a corpus or an input.
"""

from __future__ import annotations

import pkgutil
import random
import sys
from importlib import import_module
from types import ModuleType

import atheris

from fuzz.targets import ROOT, TARGETS


def _import_with_branches(name: str) -> ModuleType:
    """Import a target; the branches of its packages guide the fuzzer, those of other modules do not."""
    with atheris.instrument_imports(include=[*TARGETS[name].packages]):
        for package in TARGETS[name].packages:
            # Also what is imported later otherwise. A module of its own has no path.
            path = getattr(import_module(package), "__path__", ())
            for module in pkgutil.walk_packages(path, f"{package}."):
                import_module(module.name)
        return import_module(f"fuzz.targets.{name}")


def main() -> None:
    """Run a target."""
    program, name = sys.argv[1:3]
    sys.path.append(str(ROOT / "tests" / "_support"))
    module = _import_with_branches(name)

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        changed: bytes | None = module.mutate(data, random.Random(seed))
        if changed is None or len(changed) > longest:
            changed = bytes(atheris.Mutate(data, longest))
        return changed

    options = {"custom_mutator": mutate} if hasattr(module, "mutate") else {}
    atheris.Setup([program, *sys.argv[3:]], module.run, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
