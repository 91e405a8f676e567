"""The fuzzing corpora: every input is read, or rejected with a message."""

import io

import pytest

from places import ROOT
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from table_text import Reading

# The corpus of each format.
FORMATS = {"libsvm": "libsvm", "vw": "vw", "csv": "csv", "json": "json", "jsonl": "json"}


@pytest.mark.native
@pytest.mark.parametrize("chunk_bytes", [32, 2**16])
@pytest.mark.parametrize("target", FORMATS)
def test_fuzzing_inputs_are_read_or_rejected(target, chunk_bytes):
    inputs = sorted((ROOT / "fuzz" / "corpus" / FORMATS[target]).iterdir())
    assert len(inputs) >= 8
    seen = refused = 0
    for path in inputs:
        options = ReaderOptions(labels="optional", on_error="skip", read_ahead=False, chunk_bytes=chunk_bytes)
        try:
            for examples in Reading(io.BytesIO(path.read_bytes()), Schema(target), options):
                seen += len(examples)
                assert (examples.lines > 0).all()
        except ValueError:
            refused += 1
        refused += options.skipped.count
    assert seen
    assert refused
