"""Fuzz the loader of model files behind their checksum, and everything that a loaded model can do.

An input gets a valid checksum before it is read. Mutations change its fields and arrays as often as its bytes.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np
from stress.forging import Forged, change_array, change_header, change_json, resealed
from stress.model_files import model_file
from stress.model_use import use

import scwlearn
import scwlearn.estimators
from scwlearn.files import InvalidModelFile

# In memory, on systems that allow it.
_DIRECTORY = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
_PATH, _HONEST = (Path(_DIRECTORY.name, name) for name in ("fuzzed.model", "honest.model"))
_HONEST.write_bytes(model_file("stream"))


def run(data: bytes) -> None:
    """Load an input, and use its model in some ways, which depend on the input."""
    _PATH.write_bytes(resealed(data))
    try:
        model = scwlearn.load(_PATH)
    except InvalidModelFile as error:
        if not str(error).startswith(f"{_PATH}: "):
            raise
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        use(model, _PATH, _HONEST, Random(crc32(data)))


def mutate(data: bytes, random: Random) -> bytes | None:
    """Return the input with other fields or arrays, or None to change its bytes."""
    if random.random() < 0.3:
        return None
    try:
        forged = Forged(data)
        for _ in range(random.choice([1, 1, 2, 3])):
            if random.random() < 0.6:
                change_json(forged.model, random)
            else:
                change_array(forged, random)
        if random.random() < 0.1:
            # Last, because arrays cannot be found afterwards.
            change_header(forged, random)
        return forged.content()
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError):
        # The input is no longer a file that can be taken apart.
        return None
