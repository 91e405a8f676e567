"""The forms of Sigma by name. CONTRIBUTING says what a new one needs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scwlearn.model.covariance import Covariance

# Loaded when asked for: the names are needed where NumPy is not.
_HOMES = {
    "identity": "scwlearn.model.identity:Identity",
    "diagonal": "scwlearn.model.diagonal:Diagonal",
    "diagonal-drop": "scwlearn.model.diagonal:DiagonalDrop",
    "full": "scwlearn.model.full:Full",
}

COVARIANCE_NAMES = tuple(_HOMES)


def covariance(name: str, *, shared: bool = False) -> Covariance:
    """Return the form of Sigma with that name, one Sigma per class or shared by all."""
    module, _, kind = _HOMES[name].partition(":")
    made: Covariance = getattr(import_module(module), kind)(shared)
    return made
