"""Sparse matrices of SciPy, whose conversions trust the arrays: they are checked before anything is converted."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_csr(x: Any) -> Any:
    """Return a matrix of any format in CSR, whose indices and values still have to be checked.

    Raises
    ------
    ValueError
        If the arrays of the matrix do not fit each other, or for CSR, if they could not be arrays of such a matrix.
    """
    try:
        if x.format != "csr":
            x = _with_own_indices(x)
        _CHECKS[x.format](x)
        return x.tocsr()
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(f"X is not a valid {x.format.upper()} matrix: {error}") from None


def _with_own_indices(x: Any) -> Any:
    """Return a matrix whose indices no other thread can change after they were checked."""
    own = copy(x)
    for name in ("indices", "indptr", "offsets"):
        if isinstance(array := getattr(x, name, None), np.ndarray):
            setattr(own, name, array.copy())
    if x.format == "coo":
        own.coords = tuple(np.array(places) for places in x.coords)
    return own


def _check_csr(x: Any) -> None:
    """Check what the native scan of rows, which checks the rest, takes for granted."""
    _check_integers("indices", x.indices)
    _check_integers("indptr", x.indptr)
    if len(x.indptr) != x.shape[0] + 1 or x.data.shape != x.indices.shape:
        raise ValueError("the lengths of its arrays do not match")


def _check_csc(x: Any) -> None:
    rows, columns = x.shape
    _check_compressed(x, columns, rows)
    if x.data.ndim != 1:
        raise ValueError("data must be a vector")


def _check_bsr(x: Any) -> None:
    rows, columns = x.shape
    if x.data.ndim != 3 or 0 in x.data.shape[1:] or rows % x.data.shape[1] or columns % x.data.shape[2]:
        raise ValueError(f"blocks of shape {x.data.shape[1:]} do not fill a matrix of shape {x.shape}")
    _check_compressed(x, rows // x.data.shape[1], columns // x.data.shape[2])


def _check_compressed(x: Any, lines: int, places: int) -> None:
    """Check the indices of `lines` lines of `places` places each."""
    _check_integers("indices", x.indices)
    _check_integers("indptr", x.indptr)
    if len(x.indptr) != lines + 1 or len(x.data) != len(x.indices):
        raise ValueError("the lengths of its arrays do not match")
    if x.indptr[0] < 0 or x.indptr[-1] > len(x.indices) or (x.indptr[1:] < x.indptr[:-1]).any():
        raise ValueError(f"indptr must rise from 0 to {len(x.indices)}, the number of indices")
    _check_below("indices", x.indices, places)


def _check_coo(x: Any) -> None:
    if len(x.coords) != 2 or x.data.ndim != 1:
        raise ValueError("coords must be two vectors, and data a vector")
    for name, indices, count in zip(("rows", "columns"), x.coords, x.shape, strict=True):
        _check_integers(name, indices)
        if len(indices) != len(x.data):
            raise ValueError("the lengths of its arrays do not match")
        _check_below(name, indices, count)


def _check_lil(x: Any) -> None:
    for lists in (x.rows, x.data):
        if np.shape(lists) != (x.shape[0],) or not all(type(each) is list for each in lists):
            raise ValueError("rows and data must hold a list for each row")
    if [*map(len, x.rows)] != [*map(len, x.data)]:
        raise ValueError("the lengths of its rows and data do not match")
    if indices := [*chain.from_iterable(x.rows)]:
        numbers = np.array(indices)
        _check_integers("indices", numbers)
        _check_below("indices", numbers, x.shape[1])


def _check_dia(x: Any) -> None:
    _check_integers("offsets", x.offsets)
    if x.data.ndim != 2 or len(x.data) != len(x.offsets):
        raise ValueError("data must have one row for each of the offsets")
    if len(np.unique(x.offsets)) != len(x.offsets):
        raise ValueError("offsets has duplicates")


def _check_dok(x: Any) -> None:
    for key in x.keys():  # noqa: SIM118 - a matrix iterates over its rows
        if not isinstance(key, tuple) or len(key) != 2:
            raise ValueError(f"keys must be pairs of a row and a column, got {key!r:.80}")
        for index, count in zip(key, x.shape, strict=True):
            if not isinstance(index, int | np.integer) or not 0 <= index < count:
                raise ValueError(f"index {index!r:.80} is outside of its {count} rows or columns")


_CHECKS: dict[str, Callable[[Any], None]] = {
    "csr": _check_csr,
    "csc": _check_csc,
    "bsr": _check_bsr,
    "coo": _check_coo,
    "lil": _check_lil,
    "dia": _check_dia,
    "dok": _check_dok,
}


def _check_integers(name: str, values: NDArray[Any]) -> None:
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a vector of integers, got {values.dtype} of shape {values.shape}")


def _check_below(name: str, indices: NDArray[Any], count: int) -> None:
    if len(indices) and not 0 <= indices.min() <= indices.max() < count:
        raise ValueError(f"{name} must be from 0 to {count - 1}, got {indices.min()} to {indices.max()}")
