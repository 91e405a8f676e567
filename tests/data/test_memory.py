"""Small data take little memory, whatever they unpack to and however many columns they have."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by Linux")

ROOT = Path(__file__).parents[2]
# Without what any reader takes.
CONSTANT = 64 * 2**20


def taken(code):
    """Return how many bytes of memory reading takes that sets `data`, `kind` and `options`, in a process of its own."""
    script = (
        "import gzip, json\n"
        "from scwlearn import Features\n"
        "from scwlearn.data.schema import Schema\n"
        "from stress.reader_memory import measure, warm\n"
        f"warm()\n{code}\n"
        "print(measure(kind, data, options))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_packed_text_takes_memory_in_proportion_to_its_length():
    words, bytes_of_text = 500_000, 8_500_000
    code = f"""
text = "word and another " * {words}
data = gzip.compress(json.dumps(dict(label=1, text=text)).encode() + b"\\n")
assert len(data) < 100_000
kind, options = "jsonl", dict(features=Features(kinds=dict(text="text")))
"""
    assert taken(code) < CONSTANT + 40 * bytes_of_text


def test_packed_n_grams_take_bounded_memory():
    code = """
words = " ".join(f"w{i}" for i in range(30_000))
lines = [json.dumps(dict(label=i % 2, text=words)) for i in range(4)]
data = gzip.compress("\\n".join([*lines, ""]).encode())
kind, options = "jsonl", dict(features=Features(kinds=dict(text="text"), ngram=3, skips=2))
"""
    assert taken(code) < 1000 * 2**20


def test_a_table_of_many_columns_takes_a_kilobyte_for_each():
    columns = 200_000
    code = f"""
lines = [",".join(["label", *(f"c{{i}}" for i in range({columns}))]), ",".join(["1"] * {columns + 1}), ""]
kind, data, options = "csv", "\\n".join(lines).encode(), dict(label="label")
"""
    assert taken(code) < CONSTANT + 1000 * columns


@pytest.mark.parametrize("kind", ["jsonl", "arrow"])
def test_a_long_key_above_many_keys_is_not_joined_with_them(kind):
    code = f"""
import io, pyarrow
kind, options = {kind!r}, {{}}
record = {{"label": 1, "k" * 20_000: {{str(i): 1 for i in range(20_000)}}}}
if kind == "jsonl":
    data = "".join(json.dumps(each) + "\\n" for each in (record, dict(label=2, x=1))).encode()
else:
    file = io.BytesIO()
    table = pyarrow.Table.from_pylist([record, dict(label=2)])
    with pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    data = file.getvalue()
"""
    assert taken(code) < CONSTANT + 40 * 2**20


def test_a_long_name_is_not_cut_at_each_separator():
    code = """
schema = Schema("csv", features=Features(kinds=dict(job="numeric", age="numeric"), others="ignore"))
kind, options, data = "csv", dict(schema=schema), b"label," + b"." * 30_000 + b",age.x\\n1,2,3\\n"
"""
    assert taken(code) < CONSTANT + 40 * 2**20
