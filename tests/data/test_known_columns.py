"""A model of records that declares nothing reads tables and JSON by the features that it knows."""

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from scwlearn import Features, StreamClassifier
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from table_text import features


def read(data, known, declared=None, **options):
    """The features of examples in a file, for a model that knows some names."""
    options = ReaderOptions(labels="ignored", detects=False, known_names=lambda: known, **options)
    _, batches = read_batches([io.BytesIO(data)], features=declared or Features(), options=options)
    return [row for batch in batches for row in features(batch)]


def table_of(records):
    """Records as CSV."""
    names = [*dict.fromkeys(name for record in records for name in record)]
    file = io.StringIO()
    writer = csv.DictWriter(file, names)
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue().encode()


STRINGS = st.sampled_from(["True", "FALSE", "true", "False", "x", "12", "1.50", "nan", "NA", "2026-11-17"])


@given(st.lists(st.fixed_dictionaries({"a": STRINGS, "b": STRINGS, "n": st.integers(1, 9)}), min_size=1, max_size=8))
def test_strings_that_a_model_has_learned_are_the_same_in_cells(records):
    plain = Features()
    expected = [plain.read(record) for record in records]
    known = {name for row in expected for name in row}
    assert read(table_of(records), known) == expected
    assert read("".join(json.dumps(record) + "\n" for record in records).encode(), known) == expected


def test_a_model_of_strings_predicts_the_same_for_cells():
    model = StreamClassifier("arow")
    records = [{"ok": ["True", "False", "Unknown"][i % 3], "n": i % 4} for i in range(60)]
    for record in records:
        model.learn_one(record, record["ok"] == "True")
    rows = read(table_of(records), {name for record in records for name in Features().read(record)})
    assert model.predict_many(rows) == model.predict_many(records)
