"""What is declared of columns holds wherever the values come from."""

import io
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from scwlearn import Features
from scwlearn.data.reading import read_batches
from table_text import features

RECORDS = [{"zip": 1000 + i % 3, "about": f"some words in here {i}", "sent": "2026-11-17"} for i in range(30)]
LABELLED = [record | {"label": "ab"[i % 2]} for i, record in enumerate(RECORDS)]


def files():
    """The records with labels, in each format."""
    table = pa.Table.from_pylist(LABELLED)
    packed = io.BytesIO()
    parquet.write_table(table, packed)
    lines = "".join(json.dumps(record) + "\n" for record in LABELLED)
    cells = "\n".join([",".join(LABELLED[0]), *(",".join(map(str, record.values())) for record in LABELLED), ""])
    return {"parquet": packed.getvalue(), "jsonl": lines.encode(), "csv": cells.encode()}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    "declared", [Features(others="categorical"), Features(others="text", kinds={"zip": "numeric"})], ids=str
)
def test_the_kind_of_all_other_columns_is_not_detected(form, declared):
    _, batches = read_batches([io.BytesIO(files()[form])], features=declared)
    assert [row for batch in batches for row in features(batch)] == [declared.read(record) for record in RECORDS]


@pytest.mark.parametrize("others", ["categorical", "ignore"])
def test_detection_keeps_what_is_declared_of_others(others):
    assert Features.detect(RECORDS, others=others) == Features(others=others)
    kinds = dict.fromkeys(RECORDS[0], others)
    assert Features.detect(pa.Table.from_pylist(RECORDS), others=others) == Features(kinds=kinds, others="ignore")
