"""Features: what the values of a record mean."""

import datetime as dt
import io
import json
import math
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from scwlearn import Features
from scwlearn._util.json_fields import read_json
from scwlearn.data.io.errors import DataError
from scwlearn.data.reading import read_batches
from table_text import exactly


def test_each_value_shows_what_it_is_unless_its_kind_is_declared():
    record = {"n": 2, "f": -0.5, "b": True, "s": "x y", "bag": ["p", "q", "p"], "none": None, "empty": "", "zero": 0}
    assert Features().read(record) == {"n": 2, "f": -0.5, "b": 1, "s=x y": 1, "bag=p": 2, "bag=q": 1}
    kinds = {"n": "categorical", "f": "categorical", "b": "categorical", "s": "text", "bag": "ignore"}
    assert Features(kinds=kinds).read(record) == {"n=2": 1, "f=-0.5": 1, "b=true": 1, "s=x": 1, "s=y": 1}
    assert Features(kinds={"n": "auto"}, others="ignore").read(record) == {"n": 2}


def test_nested_objects_join_their_keys():
    record = {"user": {"age": 3, "job": {"name": "cook"}, "tags": {"b", "a"}}, "in": {"id": 7}}
    assert Features().read(record) == {
        "user.age": 3,
        "user.job.name=cook": 1,
        "user.tags=a": 1,
        "user.tags=b": 1,
        "in.id": 7,
    }
    assert Features(separator="_", kinds={"in": "ignore"}).read(record)["user_age"] == 3
    assert Features(kinds={"user": "ignore"}).read(record) == {"in.id": 7}
    assert Features(kinds={"in.id": "categorical"}, others="ignore").read(record) == {"in.id=7": 1}


def test_strings_of_a_numeric_column_are_read_as_numbers():
    numeric = Features(kinds={"x": "numeric"})
    for text, value in (("1.5", 1.5), (" +2e3 ", 2000), ("-.5", -0.5), ("0", None), ("7.", 7)):
        assert numeric.read({"x": text}).get("x") == value
    for missing in ("", "NA", "n/a", "NaN", "null", "None", "?", "  "):
        assert numeric.read({"x": missing}) == {}
    assert Features(kinds={"x": "numeric"}, decimal=",").read({"x": "-1,25"}) == {"x": -1.25}
    assert numeric.read({"x": np.float32(0.5)}) == Features().read({"x": np.int8(1) / 2})


@given(st.floats(-1e150, 1e150))
def test_numbers_in_text_are_those_of_float(number):
    assert Features(kinds={"x": "numeric"}).read({"x": repr(number)}) == ({"x": number} if number else {})


def test_words_are_runs_of_letters_digits_and_underscores_in_lower_case():
    text = {"s": "Ça va? ça-va, l'été_2 ÉTÉ"}
    assert Features(kinds={"s": "text"}).read(text) == {"s=ça": 2, "s=va": 2, "s=l": 1, "s=été_2": 1, "s=été": 1}
    assert Features(kinds={"s": "text"}, lowercase=False).read(text)["s=ÉTÉ"] == 1
    assert Features(kinds={"s": "text"}, max_word_length=2).read({"s": "été abcdef"}) == {"s=ét": 1, "s=ab": 1}


@given(st.text(max_size=60))
def test_words_are_those_of_pythons_expressions(text):
    # Python lowers two letters by their neighbours.
    expected: dict[str, float] = {}
    for word in re.findall(r"\w+", text):
        lowered = "".join(c if c in "İΣ" or len(c.lower()) > 1 else c.lower() for c in word)
        expected[f"s={lowered}"] = expected.get(f"s={lowered}", 0) + 1
    found = Features(kinds={"s": "text"}).read({"s": text})
    skipped = [name for name in {*found, *expected} if set(name) & set("İΣi\u03c3")]
    assert {n: v for n, v in found.items() if n not in skipped} == {
        n: v for n, v in expected.items() if n not in skipped
    }


def test_n_grams_of_words_may_skip_some():
    grams = [*Features(kinds={"s": "text"}, ngram=3, skips=1).read({"s": "a b c d"})]
    assert sorted(grams) == sorted(
        f"s={gram}"
        for gram in ("a", "b", "c", "d", "a b", "a c", "b c", "b d", "c d", "a b c", "a b d", "a c d", "b c d")
    )
    assert Features(ngram=2).read({"bag": ["x", "y"]}) == {"bag=x": 1, "bag=y": 1, "bag=x y": 1}


@pytest.mark.parametrize("kind", ["auto", "text", "categorical"])
@pytest.mark.parametrize("ngram", [0, 1, 2])
def test_a_list_keeps_its_strings_and_categories_have_no_order(kind, ngram):
    features = Features(kinds={"bag": kind}, ngram=ngram, char_ngrams=(3, 3))
    grams = {"bag=x y": 1} if ngram == 2 and kind != "categorical" else {}
    record = {"bag": ["x", "", "y"]}
    assert features.read(record) == {"bag=x": 1, "bag=y": 1} | grams
    file = io.BytesIO()
    parquet.write_table(pa.table({"bag": [record["bag"]], "label": [1]}), file)
    for data in json.dumps(record | {"label": 1}).encode(), file.getvalue():
        _, batches = read_batches([io.BytesIO(data)], features=features)
        assert [*next(batches).x.dicts()] == [features.read(record)]


def test_n_grams_of_characters_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import CountVectorizer

    text = "a big, big élan and x"
    found = Features(kinds={"s": "text"}, ngram=0, char_ngrams=(2, 4)).read({"s": text})
    vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), token_pattern=None)
    grams = vectorizer.build_analyzer()(text.replace(",", ""))
    assert found == {f"s~{gram}": grams.count(gram) for gram in grams}


def test_dates_are_years_and_points_on_circles():
    found = Features(kinds={"d": "date"}).read({"d": "1971-01-01T06:00:00+03:00"})
    assert found["d"] == (365 * 86400 + 3 * 3600) / 31556952
    assert found["d.hour.sin"] == 1
    assert "d.hour.cos" not in found  # exactly a quarter
    assert math.atan2(found["d.weekday.sin"], found["d.weekday.cos"]) % math.tau == pytest.approx(math.tau * 4 / 7)
    assert set(Features(kinds={"d": "date"}).read({"d": "2026-11-17"})) == {"d", "d.weekday.sin", "d.weekday.cos"}
    for moment in (dt.datetime(2026, 11, 17, 14, 30, 5, 250000), pd.Timestamp("2026-11-17 14:30:05.25")):
        assert Features().read({"d": moment}) == Features(kinds={"d": "date"}).read({"d": "2026-11-17 14:30:05.25"})
    assert Features().read({"d": dt.date(2026, 11, 17)}) == Features(kinds={"d": "date"}).read({"d": "2026/11/17"})
    assert Features(kinds={"d": "date"}).read({"d": pd.NaT, "e": pd.NA, "f": "NA"}) == {"f=NA": 1}


@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)))
def test_dates_are_those_of_pythons_calendar(moment):
    found = Features(kinds={"d": "date"}).read({"d": moment.isoformat()})
    seconds = (moment - dt.datetime(1970, 1, 1)).total_seconds()
    assert found.get("d", 0) == pytest.approx(seconds / 31556952, rel=1e-14, abs=1e-13)
    weekday = math.tau * moment.weekday() / 7
    assert (found.get("d.weekday.sin", 0), found["d.weekday.cos"]) == pytest.approx(
        (math.sin(weekday), math.cos(weekday))
    )


def test_all_columns_meet_in_an_order_that_does_not_depend_on_the_record():
    features = Features(interactions=["*:*"])
    assert features.read({"b": 2, "a": "x"}) == {"b": 2, "a=x": 1, "a=x*b": 2, "b*b": 4}
    assert features.read({"a": "x", "b": 2}) == features.read({"b": 2, "a": "x"})


def test_nan_is_an_error_or_missing_on_request():
    with pytest.raises(DataError, match=r"^column 'x': a number must be a finite number of at most 1e\+150"):
        Features().read({"x": math.nan})
    assert Features(missing="ignore").read({"x": math.nan, "y": 1}) == {"y": 1}
    marks = Features(kinds={"n": "numeric"}, missing=["-", "nan"])
    assert marks.read({"x": math.nan, "n": "-", "s": "-", "t": "NA"}) == {"t=NA": 1}


@pytest.mark.parametrize(
    ("features", "record", "message"),
    [
        (
            {"kinds": {"x": "numeric"}},
            {"x": "tall"},
            "column 'x': a value of a numeric column must be missing or a finite number of at most 1e+150 in "
            "magnitude; found 'tall' (correct the value, name the "
            'column in kinds={...: "categorical"}, or list markers of missing values in missing=...)',
        ),
        (
            {"kinds": {"x": "text"}},
            {"x": 3},
            "column 'x': a value of a text column must be a string or a list of strings; found '3' (correct the value, "
            "or declare another kind)",
        ),
        (
            {"kinds": {"x": "date"}},
            {"x": "2026-02-30"},
            "column 'x': a value of a date column must be a date such as 2026-11-17 or 2026-11-17 14:30:00; found "
            "'2026-02-30' (correct the value, or declare another kind)",
        ),
        (
            {},
            {"x": [1]},
            "column 'x': a list must hold strings, each a feature, and its column must not be numeric or a date; found "
            "'int' (correct the value, or declare another kind)",
        ),
        (
            {},
            {"x": object()},
            "column 'x': a value must be a number, a string, a date, a list of strings, an object or missing; found "
            "'object'",
        ),
        (
            {"interactions": ["a:b"]},
            {"a": [str(i) for i in range(2000)], "b": [str(i) for i in range(2000)]},
            "column 'a': a record may have about a million interactions at most (use fewer columns in "
            "interactions=...)",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused(features, record, message):
    with pytest.raises(DataError, match=exactly(message)):
        Features(**features).read(record)


def test_a_record_that_is_nested_too_deeply_or_has_a_long_key_is_refused():
    deep = {"x": 1}
    for _ in range(40):
        deep = {"k": deep}
    with pytest.raises(DataError, match="objects must be nested at most 32 deep"):
        Features().read(deep)
    with pytest.raises(DataError, match="must have at most 256 characters"):
        Features().read({"k" * 300: "word"})
    assert Features().read({"k" * 300: 1}) == {"k" * 300: 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"kinds": {"x": "number"}},
            "the kind of 'x' must be one of auto, numeric, categorical, text, date, ignore, got 'number'",
        ),
        ({"others": "all"}, "others must be one of auto, numeric, categorical, text, date, ignore, got 'all'"),
        ({"ngram": 9}, "ngram must be an integer from 0 to 8, got 9"),
        ({"char_ngrams": (3, 2)}, "char_ngrams[1] must be an integer from 3 to 32, got 2"),
        ({"missing": "NA"}, "missing must be one of error, ignore, got 'NA'"),
        ({"decimal": ";"}, "decimal must be one of ., ,, got ';'"),
        ({"interactions": ["a"]}, "an interaction names two columns or more, as in 'sender:subject', got 'a'"),
        (
            {"interactions": [f"a{i}:b{i}" for i in range(33)]},
            "interactions may name at most 64 different columns, got 66; use '*', which stands for all columns, or "
            "nest columns under one key",
        ),
        (
            {"interactions": [":".join("aaaaaaaaa")]},
            "an interaction multiplies at most 8 features, got 9: 'a:a:a:a:a:a:a:a:a'",
        ),
        ({"separator": ""}, "separator must be a string that is not empty, got ''"),
    ],
)
def test_an_invalid_declaration_is_refused(given, message):
    with pytest.raises(ValueError, match=exactly(message)):
        Features(**given)


def test_features_are_values():
    features = Features(kinds={"s": "text"}, ngram=2, char_ngrams=[3, 5], missing=["-"], interactions=["a:s"])
    again = read_json(Features, json.loads(json.dumps(features.to_json())))
    assert again == features == pickle.loads(pickle.dumps(features))
    assert hash(features) == hash(again)
    assert repr(features) == (
        "Features(kinds={'s': 'text'}, ngram=2, char_ngrams=(3, 5), missing=('-',), interactions=(('a', 's'),))"
    )
    assert Features().is_plain
    assert not features.is_plain


def test_equal_features_have_equal_hashes():
    one, other = (
        Features(kinds=dict(kinds)) for kinds in ([("a", "text"), ("b", "date")], [("b", "date"), ("a", "text")])
    )
    assert one == other
    assert len({one, other}) == 1


def test_features_are_found_in_records_and_tables():
    import polars as pl
    import pyarrow as pa

    columns = {
        "about": [f"a long text about {i}" for i in range(30)],
        "row": [*range(30)],
        "color": ["red", "blue", None] * 10,
        "when": ["2026-11-17"] * 30,
    }
    found = {"about": "text", "row": "ignore", "color": "categorical", "when": "date"}
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert Features.detect(table, ngram=2) == Features(kinds=found, others="ignore", ngram=2)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert Features.detect(iter(records)).kinds == {"about": "text", "row": "ignore", "when": "date"}


def test_a_number_that_is_a_missing_mark_is_missing_however_it_is_written():
    features = Features(kinds={"x": "numeric"}, missing=["-999", "0.5"])
    for value in (-999, -999.0, "-999", "-999.0", " -9.99e2", np.float32(0.5), "0.50"):
        assert features.read({"x": value, "y": value} if isinstance(value, int | float) else {"x": value}) == {}
    assert features.read({"x": 999}) == {"x": 999}


@pytest.mark.parametrize("repeat", [1, 100, 3000])
def test_n_grams_that_explode_are_refused_even_if_they_are_few_different_ones(repeat):
    text = " ".join(f"w{i // repeat}" for i in range(3000))
    message = (
        "column 's': a record may have about a million features at most (use a smaller ngram=..., or fewer skips=...)"
    )
    with pytest.raises(DataError, match=exactly(message)):
        Features(kinds={"s": "text"}, ngram=8, skips=8).read({"s": text})


@pytest.mark.parametrize("many", [1, 60])
def test_n_grams_that_explode_are_refused_in_a_list_and_in_many_short_texts(many):
    features = Features(kinds={"s": "text"}, others="text", ngram=8, skips=8)
    for value in ("a " * (3000 // many), ["a"] * (3000 // many)):
        with pytest.raises(DataError, match="about a million features at most"):
            features.read({f"s{i}": value for i in range(many)})


def test_a_long_text_may_have_more_n_grams_than_features():
    count = 2**20
    found = Features(kinds={"s": "text"}, ngram=2).read({"s": "a b c " * count})
    assert found == {
        **dict.fromkeys(["s=a", "s=b", "s=c", "s=a b", "s=b c"], count),
        "s=c a": count - 1,
    }
    assert Features(kinds={"s": "text"}, char_ngrams=(2, 3), ngram=0).read({"s": "a " * count}) == {
        "s~ a": count,
        "s~a ": count,
        "s~ a ": count,
    }


def test_missing_marks_that_are_numbers_are_compared_as_numbers():
    features = Features(kinds={"x": "numeric"}, missing=["-999.0", "1e3"])
    for value in ("-999", -999, "-999.0", 1000.0, "1000", "1e3"):
        assert features.read({"x": value}) == {}


def test_bools_in_text_are_bools():
    features = Features(kinds={"x": "numeric"})
    assert features.read({"x": "True"}) == features.read({"x": True}) == features.read({"x": "true"}) == {"x": 1}
    assert features.read({"x": "FALSE"}) == features.read({"x": False}) == {}


def test_values_of_other_types_are_no_ids():
    for value in (b"x", object(), 1j):
        assert Features.detect([{"a": value}] * 30) == Features()


def test_a_bool_is_the_same_category_however_it_is_written():
    features = Features(kinds={"x": "categorical"})
    for value in (True, "true", "True", "TRUE", np.True_):
        assert features.read({"x": value}) == {"x=true": 1}
    assert features.read({"x": "False"}) == features.read({"x": False}) == {"x=false": 1}
    assert features.read({"x": "Truest"}) == {"x=Truest": 1}
    for kind in ("categorical", "numeric", "auto"):
        assert Features(kinds={"x": kind}, missing=["true"]).read({"x": True}) == {}


def test_the_end_of_a_day_is_the_start_of_the_next():
    features = Features(kinds={"x": "date"})
    assert features.read({"x": "2026-12-31 24:00"}) == features.read({"x": "2027-01-01T00:00:00"})
    for text in ("2026-12-31 24:01", "2026-12-31 24:00:01", "2026-12-31 24:00:00.5", "2026-12-31 25:00"):
        with pytest.raises(DataError, match="a value of a date column must be a date"):
            features.read({"x": text})


REPLACE = '(replace what is not: text.encode(errors="replace").decode())'


@pytest.mark.parametrize(
    ("record", "column", "found"),
    [
        ({"\udc80": 1}, r"'\udc80'", r"'\udc80'"),
        ({"user": {"a\ud800": 1}}, r"'user.a\ud800'", r"'a\ud800'"),
        ({"a": "x" * 50 + "\udfffy"}, "'a'", r"'xxxxxxxxxx\udfffy'"),
        ({"a": ["b", "\udc80"]}, "'a'", r"'\udc80'"),
    ],
)
def test_half_a_character_is_refused_with_its_key(record, column, found):
    features = Features(kinds={"t": "text"})
    message = f"column {column}: keys and strings must be valid Unicode; found {found} {REPLACE}"
    with pytest.raises(DataError, match=exactly(message)):
        features.read(record)
    with pytest.raises(DataError, match=exactly(f"examples[1], {message}")):
        features.read_many([{"a": 1}, record])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kinds": {"a\udcff": "text"}}, "a key of kinds"),
        ({"separator": "\ud800"}, "separator"),
        ({"missing": ["NA", "\udcff"]}, "a marker in missing"),
        ({"interactions": ["a:b\udcff"]}, "a column of an interaction"),
    ],
)
def test_names_that_are_no_unicode_are_refused_when_they_are_declared(given, message):
    with pytest.raises(ValueError, match=f"^{message} must be valid Unicode, got "):
        Features(**given)


@pytest.mark.parametrize("role", ["label", "weight"])
def test_the_name_of_a_label_or_weight_must_be_unicode(role):
    with pytest.raises(ValueError, match=f"^{role} must be valid Unicode, got 'a.udcff'"):
        read_batches([io.BytesIO(b'{"y": 1, "x": 2}')], format="jsonl", **{role: "a\udcff"})


@pytest.mark.parametrize(
    "mark", ["9223372036854775807", "18446744073709551615", "0.0001", "1e-05", "123456789012345680"]
)
def test_a_number_that_is_a_mark_is_missing_in_every_format(mark):
    number = int(mark) if mark.isdigit() else float(mark)
    table = pa.table({"x": pa.array([number, 2], pa.uint64() if mark.isdigit() else pa.float64()), "label": [0, 1]})
    parquet_file = io.BytesIO()
    parquet.write_table(table, parquet_file)
    texts = b"x,label\n%s,0\n2,1\n" % mark.encode(), b'{"x":%s,"label":0}\n{"x":2,"label":1}\n' % mark.encode()
    features = Features(missing=[mark])
    for text in (*texts, parquet_file.getvalue()):
        _, batches = read_batches([io.BytesIO(text)], features=features)
        assert [row for batch in batches for row in batch.x.dicts()] == [{}, {"x": 2.0}]
    assert features.read({"x": number}) == features.read({"x": float(number)}) == {}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the memory of this process")
@pytest.mark.parametrize(
    ("record", "count"),
    [(lambda i: {f"{i:04} {k:060}": 1 for k in range(100)}, 2000), (lambda i: {"body": f"{i:050000}"}, 1000)],
    ids=["keys", "words"],
)
def test_records_with_ever_new_names_take_bounded_memory(record, count):
    features, sizes = Features(kinds={"size": "numeric", "body": "categorical"}, others="ignore"), []
    for i in range(count):
        features.read({"size": 1.0} | record(i))
        sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    assert sizes[-1] - sizes[count // 4] < 16 * 2**20
