"""Detection of what the columns of records are."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scwlearn import Features
from scwlearn.data.detect import detect, values_by_key
from scwlearn.data.features import PLAIN
from scwlearn.data.io.errors import DataError
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from table_text import exactly, label_list


def kinds(**columns):
    """The kinds of columns of a table whose cells are strings."""
    return found(columns).features.kinds


def found(columns, features=PLAIN, **options):
    return detect(columns, features, columns=[*columns], untyped=True, **options)


def numbers(count=30):
    return [str(i * 0.37 + 2) for i in range(count)]


def test_cells_show_what_a_column_is():
    assert kinds(
        size=["1", "", "2.5"],
        city=["Rome", "Oslo", "Rome"],
        about=["a very long text", "it is another one", "and this is a third"],
        when=["2026-11-17", "2026-01-02 10:00:00", ""],
        empty=["", "", ""],
        gone=["NA", "?", "3"],
        new=["True", "", "False"],
    ) == {
        "size": "numeric",
        "city": "categorical",
        "about": "text",
        "when": "date",
        "empty": "numeric",
        "gone": "numeric",
        "new": "numeric",
    }


def test_what_is_declared_stays():
    features = Features(kinds={"zip": "categorical"})
    assert found({"zip": ["1", "2"], "x": ["1", "2"]}, features).features.kinds == {
        "zip": "categorical",
        "x": "numeric",
    }


@given(st.sampled_from(["-999", "1e3", "0.5", "-1,5"]), st.booleans())
def test_a_number_that_is_a_marker_of_missing_values_shows_nothing(mark, has_fraction):
    features = Features(missing=[mark], decimal="," if "," in mark else ".")
    value = float(mark.replace(",", "."))
    value = int(value) if value == int(value) and not has_fraction else value
    ids = [value if i % 10 == 3 else 5000 + 3 * i for i in range(60)]
    records = [
        {"id": each, "sent": value if i % 3 else f"2026-01-{i % 20 + 1:02}", "bad": value} for i, each in enumerate(ids)
    ]
    assert detect(values_by_key(records, features), features).features.kinds == {"id": "ignore", "sent": "date"}
    text = "".join(json.dumps({"a": 1, "label": label}) + "\n" for label in (value, "yes", value, "no"))
    options = ReaderOptions(labels="optional")
    schema, batches = read_batches([io.BytesIO(text.encode())], features=features, options=options)
    assert schema.label_kind == "categorical"
    assert [label for batch in batches for label in label_list(batch)] == [None, "yes", None, "no"]


def test_the_label_and_the_weight_are_no_features():
    told = found({"x": ["1"], "y": ["spam"], "w": ["2"]}, label="y", weight="w")
    assert told.features.kinds == {"x": "numeric", "y": "ignore", "w": "ignore"}
    assert (told.label_kind, told.features.others) == ("categorical", "ignore")
    assert found({"x": ["1"], "y": ["2"]}, label="y").label_kind == "numeric"


def test_ids_are_left_out_with_a_note():
    columns = {
        "row": [str(i) for i in range(5, 35)],
        "user_id": [str(i * 7919 % 1000) for i in range(30)],
        "session": [f"x{i:x}" for i in range(30)],
        "height": numbers(),
        "count": [str(i * 7919 % 1000) for i in range(30)],
    }
    told = found(columns)
    assert [name for name, kind in told.features.kinds.items() if kind == "ignore"] == ["row", "user_id", "session"]
    assert str(told.notes[1]) == (
        "column 'user_id' has a different value in every record, like an id; it is left out (keep it with "
        'kinds={...: "numeric"} or kinds={...: "categorical"})'
    )
    # Too few records to tell.
    assert kinds(session=[f"x{i:x}" for i in range(19)]) == {"session": "categorical"}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            [*numbers(), "unknown"],
            "column 'x' is nearly numeric: 30 of the first 31 values are numbers; found 'unknown' (list markers of "
            'missing values in missing=..., or name the column in kinds={...: "categorical"})',
        ),
        (
            ["1,5", "2", "3,25"],
            "column 'x' has numbers with a comma; found '1,5' (use decimal=\",\" if it is a decimal comma, or name the "
            'column in kinds={...: "categorical"})',
        ),
        (
            ["11/17/2026", "01/02/2026 10:30"],
            "column 'x' has dates; they must be written as 2026-11-17 or 2026-11-17 14:30:00; found '11/17/2026' "
            '(convert them, leave the column out with kinds={...: "ignore"}, or name it in kinds={...: "categorical"})',
        ),
        (
            ["2026-02-30", "2026.11.17"],
            "column 'x' has dates; they must be written as 2026-11-17 or 2026-11-17 14:30:00; found '2026-02-30' "
            '(convert them, leave the column out with kinds={...: "ignore"}, or name it in kinds={...: "categorical"})',
        ),
    ],
)
def test_a_column_that_is_not_clear_is_refused_with_the_option(cells, message):
    with pytest.raises(DataError, match=exactly(message)):
        kinds(x=cells)


def test_a_missing_mark_makes_a_column_numeric():
    told = found({"x": [*numbers(), "unknown"]}, Features(missing=["unknown"]))
    assert told.features.kinds == {"x": "numeric"}


STRINGS = st.sampled_from(["w{}", "2026-01-01", "a few words on {}", "1{}", "17.11.2026", ""])
OTHERS = st.sampled_from([1, 0.5, True, ["x", "y"], [], {"x": 1}, {"x": "b"}, {}, None])


@given(STRINGS, st.lists(OTHERS, min_size=1), st.integers(1, 4))
def test_the_type_of_each_value_decides_where_the_types_of_a_key_differ(string, others, every):
    values = [string.format(i) if i % (every + 1) else others[i % len(others)] for i in range(60)]
    shown = [value for value in values if value not in (None, "")]
    records = [{"a": value, "label": i % 2} for i, value in enumerate(values)]
    if len({isinstance(value, str) for value in shown}) < 2:
        return
    assert Features.detect([{"a": value} for value in values]) == Features()
    schema, batches = read_batches([io.BytesIO("".join(json.dumps(record) + "\n" for record in records).encode())])
    assert not schema.notes
    assert [row for batch in batches for row in batch.x.dicts()] == [Features().read({"a": value}) for value in values]


def test_keys_of_json_get_a_kind_only_if_a_value_does_not_show_it():
    records = [
        {"n": i, "s": "a" if i % 2 else "b", "t": f"some long text {i}", "u": {"d": "2026-11-17"}} for i in range(9)
    ]
    told = detect(values_by_key(records, PLAIN), Features())
    assert told.features == Features(kinds={"t": "text", "u.d": "date"})


def test_infinity_is_no_id():
    values = {"x": [*map(float, range(30)), float("inf"), float("nan")]}
    assert detect(values, PLAIN, columns=["x"]).features.kinds == {"x": "numeric"}


def test_what_is_ignored_is_not_looked_at():
    # Dates of that form would be an error, and the numbers an id.
    records = [{"in": {"day": "17.11.2026", "id": i}, "x": i % 3} for i in range(50)]
    with pytest.raises(DataError, match=r"column 'in\.day' has dates"):
        detect(values_by_key(records, PLAIN), PLAIN)
    features = Features(kinds={"in": "ignore"})
    found = detect(values_by_key(records, features), features)
    assert (found.features.kinds, found.notes) == ({"in": "ignore"}, ())


def test_dates_are_those_that_the_reader_reads():
    assert kinds(x=["2026-11-17 24:00", "2026-11-17t10:00z"]) == {"x": "date"}
    # The reader says which record is wrong.
    assert kinds(x=["2026-11-17", "2026-02-30"]) == {"x": "date"}
    assert kinds(x=["2026-11-17", "soon"]) == {"x": "categorical"}


def test_a_bounded_number_of_keys_is_looked_at():
    values = {f"k{i}": ["a text of words"] for i in range(70_000)}
    assert len(detect(values, PLAIN).features.kinds) == 2**16
    assert len(detect(values, PLAIN, columns=[*values]).features.kinds) == 70_000


@given(
    st.sampled_from([1, 10**15, 2**53 - 40, 10**18, -(10**18), 2**64, 10**38]), st.sampled_from(["id", "user", "size"])
)
def test_integers_of_any_size_are_ids_in_every_format(first, name):
    records = [{name: first + i, "a": i % 7, "label": "xy"[i % 2]} for i in range(50)]
    found = Features.detect([{name: record[name]} for record in records]).kinds
    assert found == {name: "ignore"}
    cells = f"{name},a,label\n" + "".join(",".join(map(str, record.values())) + "\n" for record in records)
    for data in cells, "".join(json.dumps(record) + "\n" for record in records):
        schema, _ = read_batches([io.BytesIO(data.encode())])
        assert schema.features.kinds[name] == "ignore"


def test_distinct_integers_are_ids_only_by_name():
    for name, kind in ("id", "ignore"), ("size", "numeric"):
        cells = {name: [str(10**18 + i * i) for i in range(40)]}
        assert detect(cells, Features(), columns=[name], untyped=True).features.kinds == {name: kind}
