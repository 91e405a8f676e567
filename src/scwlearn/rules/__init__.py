"""Update rules: one decorated function of scalars per algorithm, one file per family.

Every module in this folder is imported, so a new algorithm is one new file.
"""

from __future__ import annotations

import importlib
import pkgutil

from scwlearn.rules.declare import (
    AUTO,
    LOOKS,
    POWERS_OF_TWO,
    WEIGHT_MEANINGS,
    Parameter,
    Rule,
    all_rules,
    all_variants,
    estimator_names,
    find_rule,
    rule,
)
from scwlearn.rules.step import HOLD, OwnRule, Step, part_of

__all__ = [
    "AUTO",
    "HOLD",
    "LOOKS",
    "POWERS_OF_TWO",
    "WEIGHT_MEANINGS",
    "OwnRule",
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
    if _module.name != "native":  # needs the compiled module, which the build makes from these rules
        importlib.import_module(f"{__name__}.{_module.name}")
