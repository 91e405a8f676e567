"""Tables in memory: a row means what its record means, whatever library holds the table."""

import datetime as dt
import decimal
import math
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scwlearn import Features
from scwlearn.data.io.errors import DataError
from scwlearn.data.tables.arrow import is_table, table_rows, utc_offset
from table_text import exactly

pytestmark = pytest.mark.native

PLAIN = Features()


def read(table, features=PLAIN):
    """The features of each row, in their order."""
    return [[*row.items()] for row in table_rows(table, features).dicts()]


def read_records(records, features=PLAIN):
    """The features of each record, in their order."""
    return [[*features.read(record).items()] for record in records]


# Types that have a meaning as features, and values of them.
integers = {
    getattr(pa, f"{sign}int{bits}")(): st.integers(low, 2 ** (bits - (sign == "")) - 1)
    for bits in (8, 16, 32, 64)
    for sign, low in (("", -(2 ** (bits - 1))), ("u", 0))
}
texts = st.text(max_size=6) | st.sampled_from(
    ["a b a", "1.5", "NA", "2026-11-17", "Ünï côde", "a string that is not short"]
)
days = st.dates(dt.date(1, 1, 2), dt.date(9999, 12, 30))
moments = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
numbers = st.floats(-1e150, 1e150)
decimals = st.decimals(-(10**20), 10**20, places=7)
SIMPLE = [
    (pa.null(), st.none()),
    (pa.bool_(), st.booleans()),
    *integers.items(),
    (pa.float16(), st.floats(-1000, 1000, width=16)),
    (pa.float32(), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    (pa.float64(), numbers),
    (pa.decimal128(38, 7), decimals),
    (pa.decimal256(50, 7), decimals),
    (pa.decimal128(5, -2), st.integers(-999, 999).map(lambda n: decimal.Decimal(n) * 100)),
    (pa.string(), texts),
    (pa.large_string(), texts),
    (pa.string_view(), texts),
    (pa.date32(), days),
    (pa.date64(), days),
    (pa.timestamp("s"), moments.map(lambda m: m.replace(microsecond=0))),
    (pa.timestamp("us"), moments),
    (pa.timestamp("ms", "UTC"), moments.map(lambda m: m.replace(microsecond=0, tzinfo=dt.UTC))),
    (pa.timestamp("us", "Europe/Berlin"), moments.map(lambda m: m.replace(tzinfo=dt.UTC))),
    (pa.timestamp("us", "-05:30"), moments.map(lambda m: m.replace(tzinfo=dt.UTC))),
    (pa.timestamp("ns"), st.integers(-(2**62), 2**62)),
    (pa.list_(pa.string()), st.lists(st.none() | texts, max_size=4)),
    (pa.large_list(pa.large_string()), st.lists(st.none() | texts, max_size=4)),
    (pa.list_(pa.string_view()), st.lists(texts, max_size=4)),
]
CODED = [
    (pa.dictionary(index, value), texts if value == pa.string() else st.integers(-5, 5))
    for index, value in ((pa.int8(), pa.string()), (pa.uint32(), pa.string()), (pa.int32(), pa.int64()))
]


@st.composite
def arrays(draw, size, depth=0):
    kind = draw(st.integers(0, 9))
    if kind == 9 and depth < 2:
        names = draw(st.lists(st.sampled_from(["x", "y", "z.x"]), max_size=3, unique=True))
        children = [draw(arrays(size, depth + 1)) for _ in names]
        mask = pa.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), pa.bool_())
        if not names:
            return pa.array([{}] * size, pa.struct([]))
        return pa.StructArray.from_arrays(children, names, mask=mask)
    type_, values = draw(st.sampled_from(CODED if kind == 8 else SIMPLE))
    cells = draw(st.lists(st.none() | values, min_size=size, max_size=size))
    if pa.types.is_dictionary(type_):
        return pa.array(cells, type_.value_type).dictionary_encode().cast(type_)
    return pa.array(cells, type_)


@st.composite
def tables(draw):
    """A table of random columns, in batches, some of them slices of larger ones."""
    names = draw(
        st.lists(st.sampled_from(["a", "b", "c", "d", "a=x", "a.x", "é"]), min_size=1, max_size=4, unique=True)
    )
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=2))
    columns = [draw(arrays(sum(sizes))) for _ in names]
    whole = pa.Table.from_arrays(columns, names)
    first = draw(st.integers(0, sum(sizes)))
    return pa.concat_tables([whole.slice(first), whole.slice(0, first)])


FEATURES = [
    Features(),
    Features(kinds={"a": "text", "c": "ignore", "b.x": "categorical"}, ngram=2, char_ngrams=(2, 3)),
    Features(kinds={"a": "categorical", "b": "categorical"}, interactions=["a:b", "*:*"], missing=["NA"]),
    Features(kinds={"a": "auto", "b.y": "auto"}, others="ignore", separator="/"),
    Features(kinds={"a": "numeric", "b": "date"}, missing="ignore"),
    Features(kinds={"a": "categorical"}, missing=["1", "-5", "0.5", "nan", "true"]),
]


def outcome(function, *arguments):
    """What a function returns, or the message of its error without the place."""
    try:
        return function(*arguments)
    except DataError as error:
        return error.problem, error.column, error.found


@settings(max_examples=200)
@given(tables(), st.sampled_from(FEATURES))
def test_a_row_means_what_its_record_means(table, features):
    records = table.to_pylist()
    assert outcome(read, table, features) == outcome(read_records, records, features)
    for batch in table.to_batches()[:1]:
        assert outcome(read, batch, features) == outcome(read_records, batch.to_pylist(), features)


@st.composite
def numeric_tables(draw):
    """A table of numbers, which are read in blocks."""
    types = [pa.null(), pa.bool_(), *integers, pa.float32(), pa.float64()]
    size, count = draw(st.integers(0, 200)), draw(st.integers(1, 40))
    columns = {}
    for name in range(count):
        type_ = draw(st.sampled_from(types))
        cells = draw(st.lists(st.none() | dict(SIMPLE)[type_] | st.just(0), max_size=5)) or [None]
        cells = [bool(cell) if type_ == pa.bool_() and cell is not None else cell for cell in cells]
        if type_ == pa.null():
            cells = [None]
        columns[f"c{name}"] = pa.array((cells * size)[:size], type_)
    return pa.table(columns)


@settings(max_examples=50)
@given(numeric_tables(), st.sampled_from(FEATURES[:1] + FEATURES[3:]))
def test_a_row_of_numbers_means_what_its_record_means(table, features):
    for part in (table, table.slice(table.num_rows // 3)):
        assert outcome(read, part, features) == outcome(read_records, part.to_pylist(), features)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1e200])
def test_an_odd_number_among_numbers_is_missing_or_refused(bad):
    values = np.arange(1.0, 201.0)
    values[150] = bad
    table = pa.table({"a": np.ones(200), "b": values, "c": np.zeros(200)})
    for features in (PLAIN, Features(missing="ignore")):
        expected = outcome(read_records, table.to_pylist(), features)
        assert outcome(read, table, features) == expected
        assert isinstance(expected, tuple) == (features is PLAIN or not math.isnan(bad))


@given(tables())
def test_hashed_rows_have_the_same_features(table):
    rows = table_rows(table, Features(), slots=2**20)
    assert len(rows.hashes) == len(rows.names)
    named = [sorted(name for name, _ in row) for row in read(table)]
    assert [sorted(row) for row in rows.dicts()] == named


def test_all_digits_of_an_integer_count_in_a_category():
    features = Features(kinds={"n": "categorical"})
    table = pa.table({"n": pa.array([2**60 + 1, 2**64 - 1], pa.uint64())})
    assert read(table, features) == [[(f"n={2**60 + 1}", 1)], [(f"n={2**64 - 1}", 1)]]
    numbers = [2**60 + 1, np.int64(2**60 + 1), np.uint64(2**60 + 1)]
    assert [features.read({"n": number}) for number in numbers] == [{f"n={2**60 + 1}": 1}] * 3
    assert features.read({"n": np.True_}) == features.read({"n": True}) == {"n=true": 1}


FRAME = {
    "n": [1, 0, -3],
    "f": [0.5, 2.0, 1e-300],
    "s": ["a b", None, ""],
    "b": [True, False, True],
    "t": [dt.datetime(2026, 11, 17, 14, 30, 5, 250_000), None, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)],
    "l": [["x", "y", None], None, []],
    "o": [{"p": 1, "q": {"r": "u"}}, None, {"p": None, "q": None}],
}
ROWS = read_records([dict(zip(FRAME, row, strict=True)) for row in zip(*FRAME.values(), strict=True)])


@pytest.mark.parametrize(
    "table",
    [
        pa.table(FRAME),
        pa.RecordBatch.from_pydict(FRAME),
        pa.table(FRAME).to_reader(),
        pl.DataFrame(FRAME),
        pd.DataFrame(FRAME),
        pd.DataFrame(FRAME).convert_dtypes(),
        pd.DataFrame(FRAME, index=["p", "q", "r"]),
        pa.array([dict(zip(FRAME, row, strict=True)) for row in zip(*FRAME.values(), strict=True)]),
    ],
    ids=["table", "batch", "reader", "polars", "pandas", "nullable", "index", "structs"],
)
def test_every_library_gives_the_same_rows(table):
    assert is_table(table)
    assert read(table) == ROWS


def test_dicts_are_no_table():
    assert not any(map(is_table, ([{"a": 1}], {"a": 1}, ({"a": 1},), np.zeros((2, 2)), iter([]))))


def test_columns_of_pandas_are_read_as_they_are():
    frame = pd.DataFrame(
        {
            0: pd.Series(["u", np.nan, "v"], dtype=object),
            "c": pd.Series(["x", None, "y"]).astype("category"),
            "i": pd.array([1, None, 3], dtype="Int64"),
            "z": pd.to_datetime(["2026-03-29 00:30", None, "2026-07-01 12:00"]).tz_localize("Europe/Berlin"),
            "float32": np.array([0.1, 0, 2], dtype=np.float32),
        }
    )
    zoned = frame["z"].tolist()
    records = [
        {"0": "u", "c": "x", "i": 1, "z": zoned[0], "float32": float(np.float32(0.1))},
        {},
        {"0": "v", "c": "y", "i": 3, "z": zoned[2], "float32": 2},
    ]
    assert read(frame) == read_records(records)
    assert read(frame[::-1]) == read_records(records[::-1])
    assert read(frame[[]]) == [[], [], []]
    assert read(frame[:0]) == []


@pytest.mark.parametrize(
    "values",
    [
        [{"b", "a", "c", "d"}, {"z"}],
        [dt.date(2026, 11, 17), dt.datetime(2026, 11, 17, 5)],
        [1, "one"],
        [2**70, 1],
        [{"p": 1}, {"p": "x"}],
        [True, 2.5],
    ],
)
def test_objects_that_arrow_would_change_are_read_as_records(values):
    frame = pd.DataFrame({"o": pd.Series(values, dtype=object), "x": [1.5, 2.5]})
    assert read(frame) == read_records([{"o": value, "x": x} for value, x in zip(values, (1.5, 2.5), strict=True)])


def test_a_frame_of_pandas_needs_no_pyarrow(monkeypatch):
    frame = pd.DataFrame({"s": ["a", None], "f": [1.5, 0], "i": pd.array([1, None], dtype="Int64"), 3: [1, 2]})
    expected = read(frame)
    assert expected == [[("s=a", 1), ("f", 1.5), ("i", 1), ("3", 1)], [("3", 2)]]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read(frame) == expected
    assert read(frame[[]]) == [[], []]


class OldFrame:
    """What a frame of polars was before it had Arrow's interface."""

    columns = ("a",)

    def to_dicts(self):
        return [{"a": 1, "b": None}, {"a": "x"}]


def test_a_frame_without_arrow_is_read_as_records():
    assert is_table(OldFrame())
    assert read(OldFrame()) == [[("a", 1)], [("a=x", 1)]]


@pytest.mark.parametrize("library", [pa.table, pd.DataFrame, pl.DataFrame])
def test_nan_in_a_column_of_floats_is_what_the_features_say(library):
    table = library({"x": [1.0, math.nan]})
    message = (
        "examples[1], column 'x': a number must be a finite number of at most 1e+150 in magnitude; found 'nan' "
        '(drop missing values with missing="ignore")'
    )
    with pytest.raises(DataError, match=exactly(message)):
        table_rows(table, Features())
    assert read(table, Features(missing="ignore")) == [[("x", 1)], []]


def test_nesting_is_limited_as_in_records():
    deep, column = {"x": 1}, pa.array([1])
    for _ in range(40):
        deep = {"k": deep}
        column = pa.StructArray.from_arrays([column], ["k"])
    table = pa.Table.from_arrays([column], ["k"])
    with pytest.raises(
        DataError, match=r"^examples\[0\], column '(k\.){20}'\.\.\.: objects must be nested at most 32 deep$"
    ):
        table_rows(table, Features())
    assert outcome(read, table) == outcome(read_records, table.to_pylist())


@given(moments, st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca", "+02:00"]))
def test_the_hour_is_that_of_the_time_zone(moment, zone):
    table = pa.table({"t": pa.array([moment], pa.timestamp("us", zone))})
    assert read(table) == read_records(table.to_pylist())


def test_the_hour_changes_when_the_clocks_do():
    begin = int(dt.datetime(2026, 3, 28, tzinfo=dt.UTC).timestamp())
    table = pa.table({"t": pa.array(range(begin, begin + 3 * 86400, 600), pa.timestamp("s", "Europe/Berlin"))})
    assert read(table) == read_records(table.to_pylist())
    assert {utc_offset("Europe/Berlin", second) for second in (begin, begin + 3 * 86400)} == {3600, 7200}
    far = pa.table({"t": pa.array([2**62, -(2**62), 10**11 * 9], pa.timestamp("s", "Europe/Berlin"))})
    assert len(read(far)) == 3


@pytest.mark.slow
def test_a_table_in_memory_may_have_any_number_of_features():
    users = 2**22 + 1
    table = pa.table({"user": pc.cast(pa.array(np.arange(users)), pa.string())})
    x = table_rows(table, Features())
    assert (len(x), len(x.names)) == (users, users)
