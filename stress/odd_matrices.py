"""Matrices and vectors as no program should pass them, and valid ones of unusual types and layouts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]

_FORMATS = ("csr", "csr", "csr", "csc", "coo", "bsr", "lil", "dia", "dok")
_FAR = [2**30, -(2**31), 2**31 - 1, 2**31, 2**40, 2**62, -(2**62)]
# Scores of two classes are computed without a check, since a value that is not finite shows in them: there may be an
# answer for a value that is finite and too large.
_BAD_VALUES, _TOO_LARGE = [np.nan, np.inf, -np.inf], [1e151, -1e151, 1e300]


class Odd(NamedTuple):
    """Something to pass, and the numbers that it stands for: None if it must be refused, unless `may_fit`."""

    value: Any
    numbers: Array | None
    what: str
    #: Whether some calls may take it.
    may_fit: bool = False


def draw_numbers(random: Random, rows: int, columns: int) -> Array:
    """Return small numbers, half of them zero, that every numeric type holds exactly."""
    numbers = np.random.default_rng(random.getrandbits(64))
    return (numbers.integers(0, 4, (rows, columns)) * numbers.integers(0, 2, (rows, columns))).astype(float)


def draw_matrix(random: Random, rows: int, columns: int) -> Odd:
    """Return a valid or broken matrix of some format."""
    numbers = draw_numbers(random, rows, columns)
    draw = random.choice([_dense, _sparse, _sparse, _broken, _broken, _broken, _with_bad_value, _another_shape])
    return draw(random, numbers)


def draw_vector(random: Random, columns: int) -> Odd:
    """Return a valid or broken vector; `numbers` are those of a matrix of one row."""
    numbers = draw_numbers(random, 1, columns)
    chance = random.random()
    if chance < 0.2:
        return _another_vector(random, numbers)
    odd = (_with_bad_value if chance < 0.35 else _dense)(random, numbers)
    if sparse.issparse(odd.value):
        return draw_vector(random, columns)
    value = odd.value
    vector = value[0] if isinstance(value, np.ndarray | list) and len(value) == 1 else value
    return Odd(vector, odd.numbers, f"vector, {odd.what}", odd.may_fit)


def _dense(random: Random, numbers: Array) -> Odd:
    """Return a dense matrix of any type and layout."""
    name = random.choice([*_TYPES])
    typed = _TYPES[name](numbers)
    if name in (
        "objects too large",
        "complex",
        "text",
        "bytes",
        "dates",
        "spans",
        "objects that are no numbers",
        "records",
        "masked",
    ):
        return Odd(typed, None, name)
    layout = random.choice([*_LAYOUTS])
    return Odd(_LAYOUTS[layout](typed), np.asarray(typed, dtype=float), f"{name}, {layout}")


def _as_type(name: str, x: Array) -> Any:
    return x.astype(name)


_TYPES: dict[str, Callable[[Array], Any]] = {
    **{name: partial(_as_type, name) for name in ("f2", "f4", "f8", "g", ">f4", ">f8", ">i2")},
    **{name: partial(_as_type, name) for name in ("i1", "u1", "i2", "i4", "i8", "u8", "?")},
    "objects": lambda x: x.astype(object),
    "mask of nothing": lambda x: np.ma.array(x, mask=False),
    "complex": lambda x: x.astype(complex),
    "text": lambda x: x.astype(str),
    "bytes": lambda x: x.astype("S3"),
    "dates": lambda x: x.astype("i8").astype("M8[D]"),
    "spans": lambda x: x.astype("i8").astype("m8[s]"),
    "objects that are no numbers": lambda x: np.full(x.shape, {"a": 1}, dtype=object),
    "objects too large": lambda x: np.full(x.shape, 10**400, dtype=object),
    "records": lambda x: np.zeros(x.shape, dtype=[("a", "f8")]),
    "masked": lambda x: np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) == 0),
}
_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "in order of columns": np.asfortranarray,
    "every second": lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda x: _read_only(x),
    "not aligned": lambda x: _not_aligned(x),
    "broadcast": lambda x: x if len(x) > 1 else np.broadcast_to(x[0], x.shape),
    "list": lambda x: x.tolist() if x.dtype.kind in "biuf" and not isinstance(x, np.ma.MaskedArray) else x,
}


def _read_only(x: Any) -> Any:
    copied = x.copy()
    copied.flags.writeable = False
    return copied


def _not_aligned(x: Any) -> Any:
    if x.dtype.kind == "O" or isinstance(x, np.ma.MaskedArray):
        return x
    memory = np.zeros(x.nbytes + 1, dtype=np.uint8)
    moved = memory[1:].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


def _sparse(random: Random, numbers: Array) -> Odd:
    """Return a valid sparse matrix of any format and type, unsorted and with duplicates where there may be."""
    name, kind = random.choice(_FORMATS), random.choice(["f4", "f8", "f8", "i4", "i8", "u1", "?"])
    numbers = numbers.astype(kind).astype(float)
    make = random.choice([sparse.csr_array, sparse.csr_matrix])
    matrix, what = make(numbers.astype(kind)).asformat(name), f"{name} of {kind}"
    if name in ("csr", "csc") and matrix.nnz:
        if random.random() < 0.3:
            # In two parts each, in another order.
            doubled = np.repeat(matrix.indices, 2), np.repeat(matrix.data, 2)
            matrix.indices, matrix.data, matrix.indptr = *doubled, matrix.indptr * 2
            numbers = np.asarray(matrix.astype(float).todense())
            what += ", every entry twice"
        if random.random() < 0.3:
            matrix.indices, matrix.indptr = matrix.indices.astype("i8"), matrix.indptr.astype("i8")
        if random.random() < 0.2:
            matrix.indices, matrix.data = _read_only(matrix.indices), _read_only(matrix.data)
    return Odd(matrix, numbers, what)


def _with_bad_value(random: Random, numbers: Array) -> Odd:
    numbers = numbers.copy()
    bad = random.choice(_BAD_VALUES + _TOO_LARGE)
    numbers[random.randrange(len(numbers)), random.randrange(numbers.shape[1])] = bad
    form = random.choice([None, None, *_FORMATS])
    value = numbers if form is None else sparse.csr_array(numbers).asformat(form)
    if form is None and random.random() < 0.3:
        value = random.choice([np.asfortranarray(numbers), numbers.astype("g"), numbers.astype(object)])
    return Odd(value, None, f"a value out of range, {form or 'dense'}", may_fit=bad in _TOO_LARGE)


def _another_shape(random: Random, numbers: Array) -> Odd:
    shape = numbers.shape
    made: dict[str, Any] = {
        "a number": 3.0,
        "None": None,
        "text": "abc",
        "nothing": [],
        "a vector": numbers[0],
        "three axes": numbers[np.newaxis],
        "rows of several lengths": [[1.0, 2.0], [3.0]],
        "one column more": np.zeros((shape[0], shape[1] + 1)),
        "no columns": np.zeros((shape[0], 0)),
        "one row less": numbers[:-1],
        "sparse with one column more": sparse.csr_array((shape[0], shape[1] + 1)),
        "a sparse vector": sparse.coo_array(numbers[0]),
        "dicts": [{"a": 1.0}] * shape[0],
    }
    name = random.choice([*made])
    return Odd(made[name], None, name, may_fit=True)


def _another_vector(random: Random, numbers: Array) -> Odd:
    vector = numbers[0]
    made: dict[str, Any] = {
        "a number": 3.0,
        "an array of no axis": np.array(1.0),
        "None": None,
        "text": "abc",
        "nothing": [],
        "a matrix of one row": vector[np.newaxis],
        "a matrix of one column": vector[:, np.newaxis],
        "too long": np.append(vector, 0.0),
        "too short": vector[1:],
        "a sparse row": sparse.csr_array(vector[np.newaxis]),
        "np.matrix": np.asmatrix(vector),
        "an iterator": iter(vector.tolist()),
        "memory of bytes": vector.tobytes(),
    }
    name = random.choice([*made])
    return Odd(made[name], None, name, may_fit=True)


def _broken(random: Random, numbers: Array) -> Odd:
    """Return a sparse matrix with arrays that do not fit each other."""
    numbers[0, 0] = 1.0
    name = random.choice(_FORMATS)
    matrix = sparse.csr_array(numbers).asformat(name)
    what = _BREAK.get(name, _break_compressed)(random, matrix)
    return Odd(matrix, None, f"broken {name}: {what}")


def _break_compressed(random: Random, matrix: Any) -> str:
    """Break a CSR, CSC or BSR matrix."""
    name = random.choice(["indices", "indices", "indptr", "indptr", "data", "_shape"])
    if name == "_shape":
        rows, columns = matrix.shape
        shapes = [(rows, columns + 1), (rows, columns - 1), (rows, 2**40)]
        matrix._shape = random.choice(shapes) if matrix.format == "csc" else random.choice(shapes)[::-1]
        return f"shape {matrix.shape} instead of {rows, columns}"
    array = getattr(matrix, name)
    chance = random.random()
    if name == "data" or chance < 0.2:
        changed = random.choice([array[:-1], np.concatenate([array, array[:1]]), array[np.newaxis], np.array(1)])
    elif chance < 0.3:
        changed = array.astype(random.choice(["f8", object, "U3", "M8[D]", complex, "?"]))
    else:
        changed = array.astype("i8")
        at = random.randrange(len(changed))
        if name == "indices":
            changed[at] = random.choice([-1, -7, matrix.shape[1 - (matrix.format == "csc")], *_FAR])
        else:
            changed[at] += random.choice([-(2**31), -100, 100, 2**30, 2**31 - 100, 2**62])
        if np.abs(changed).max() < 2**31 and random.random() < 0.7:
            changed = changed.astype("i4")
    setattr(matrix, name, changed)
    return f"{name} {changed!r:.200}"


def _break_coo(random: Random, matrix: Any) -> str:
    coords = [each.astype("i8") for each in matrix.coords]
    axis = random.randrange(2)
    how = random.choice(["far", "far", "short", "type", "data", "one axis", "two axes"])
    if how == "far":
        coords[axis][0] = random.choice([-1, matrix.shape[axis], *_FAR])
    elif how == "short":
        coords[axis] = coords[axis][:-1]
    elif how == "type":
        coords[axis] = coords[axis].astype(random.choice(["f8", object, "U3"]))
    elif how == "two axes":
        coords[axis] = coords[axis][np.newaxis]
    elif how == "one axis":
        coords.pop()
    if how == "data":
        matrix.data = random.choice([matrix.data[:-1], matrix.data[np.newaxis], np.append(matrix.data, 1.0)])
    matrix.coords = tuple(coords)
    return f"{how}, {coords!r:.200}"


def _break_lil(random: Random, matrix: Any) -> str:
    row = random.randrange(len(matrix.rows))
    how = random.choice(["far", "text", "short", "no list", "rows", "data", "value"])
    if how in ("far", "text", "value"):
        index = random.choice([-1, matrix.shape[1], *_FAR]) if how == "far" else "1" if how == "text" else 0
        matrix.rows[row], matrix.data[row] = [index], ["a" if how == "value" else 1.0]
    elif how == "short":
        matrix.rows[row] = [*matrix.rows[row], 0]
    elif how == "no list":
        matrix.rows[row] = random.choice([None, 3, (0,), "0", np.zeros(1)])
    else:
        setattr(matrix, how, random.choice([getattr(matrix, how)[:-1], getattr(matrix, how)[np.newaxis], 3]))
    return how


def _break_dia(random: Random, matrix: Any) -> str:
    how = random.choice(["offsets", "data", "type", "twice", "two axes"])
    if how == "offsets":
        matrix.offsets = np.append(matrix.offsets, [1000, 2000])
    elif how == "data":
        matrix.data = random.choice([matrix.data[0], matrix.data[:-1], matrix.data[np.newaxis], np.array(1.0)])
    elif how == "type":
        matrix.offsets = matrix.offsets.astype(random.choice(["f8", object, "U3"]))
    elif how == "twice":
        matrix.offsets, matrix.data = np.tile(matrix.offsets, 2), np.tile(matrix.data, (2, 1))
    else:
        matrix.offsets = matrix.offsets[np.newaxis]
    return how


def _break_dok(random: Random, matrix: Any) -> str:
    far = random.choice([-1, matrix.shape[1], *_FAR])
    key: Any = random.choice([(0, far), (far, 0), (0,), 0, (0, 0, 0), ("0", "1"), (0.5, 0), None])
    matrix._dict[key] = 1.0
    return f"key {key!r}"


_BREAK: dict[str, Callable[[Random, Any], str]] = {
    "coo": _break_coo, "lil": _break_lil, "dia": _break_dia, "dok": _break_dok,
}  # fmt: skip
