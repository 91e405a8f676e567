"""Allocations that fail in native code: a MemoryError, never the end of the process."""

import pytest

from failing_allocations import run_with_failing_allocations

pytestmark = pytest.mark.native


def test_no_argument_of_a_native_call_ends_the_process():
    output = run_with_failing_allocations("""
        import numpy as np
        from scwlearn._native import parse_csv, split_csv
        from scwlearn.data.features import Features

        names = [f"a column with a name that needs memory of its own {i}" for i in range(20)]
        text = np.frombuffer(b"\\n".join([b",".join([b"1"] * 20)] * 3) + b"\\n", dtype=np.uint8)
        features = Features(kinds=dict.fromkeys(names, "numeric"), interactions=[names[:2]], missing=names)

        spec = features.spec()

        def parse():
            parse_csv(text, spec, names, ",", "any", True, False, 10, None)

        print(fails_anywhere(parse), fails_anywhere(lambda: split_csv(text, ",", 10)))
    """)
    assert min(map(int, output.split())) >= 3


def test_no_reader_of_records_ends_the_process():
    output = run_with_failing_allocations("""
        from scwlearn._native import RecordReader
        from scwlearn.data.features import Features

        name = "a column with a name that needs memory of its own"
        spec = Features(kinds={name: "text"}, ngram=2).spec()

        def read():
            RecordReader(spec).read({name: "some words of a text"})

        # nanobind's table of objects, which may have to grow for the first one, ends the process.
        read()
        print(fails_anywhere(read))
    """)
    assert int(output) >= 3
