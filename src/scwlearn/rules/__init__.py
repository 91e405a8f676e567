"""The mathematics: one decorated function per algorithm, one file per family, scalars only.

Every module in this folder is read, so a new algorithm is one new file here and nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil

from scwlearn.rules.declare import (
    HOLD,
    LOOKS,
    POWERS_OF_TWO,
    WEIGHT_MEANINGS,
    Parameter,
    Rule,
    Step,
    all_rules,
    all_variants,
    estimator_names,
    find_rule,
    part_of,
    rule,
)

__all__ = [
    "HOLD",
    "LOOKS",
    "POWERS_OF_TWO",
    "WEIGHT_MEANINGS",
    "Parameter",
    "Rule",
    "Step",
    "all_rules",
    "all_variants",
    "estimator_names",
    "find_rule",
    "part_of",
    "rule",
]

for _module in pkgutil.iter_modules(__path__):
    if _module.name != "native":  # needs the module that the build makes from the rules
        importlib.import_module(f"{__name__}.{_module.name}")
