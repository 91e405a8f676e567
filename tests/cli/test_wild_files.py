"""Files as they are found in the wild: each trains with at most one option, or stops and names the option."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from scwlearn.cli.app import run
from use_examples import written

RNG = np.random.default_rng(7)
ROWS = 400


def table(**columns):
    return pd.DataFrame(columns)


def noisy(label, *values):
    """A value for each label, which depends on the label, but not always."""
    mixed = np.where(RNG.random(ROWS) < 0.15, RNG.integers(0, len(values), ROWS), label)
    return [values[i] for i in mixed % len(values)]


def numbers(label):
    return (label * 1.5 + RNG.normal(size=ROWS)).round(3)


TWO = RNG.integers(0, 2, ROWS)
THREE = RNG.integers(0, 3, ROWS)


def kdd():
    frame = table(
        a=RNG.integers(0, 3, ROWS),
        b=noisy(TWO, "tcp", "udp"),
        c=noisy(TWO, "http", "smtp", "ftp"),
        d=numbers(TWO),
        e=[("normal.", "smurf.")[i] for i in TWO],
    )
    return frame.to_csv(index=False, header=False).encode()


def adult():
    work, income = noisy(TWO, "Private", "State-gov", "?"), [("<=50K", ">50K")[i] for i in TWO]
    rows = zip(RNG.integers(17, 90, ROWS), work, numbers(TWO), income, strict=True)
    return "".join(f"{a}, {w}, {n}, {y}\n" for a, w, n, y in rows).encode()


def decimal_comma():
    frame = table(Größe=numbers(TWO), Farbe=noisy(TWO, "rot", "grün"), label=TWO)
    return frame.to_csv(index=False, sep=";", decimal=",").encode()


def wine():
    frame = table(**{"fixed acidity": numbers(THREE), "volatile acidity": numbers(-THREE), "quality": THREE + 4})
    return frame.to_csv(index=False, sep=";").encode()


def penguins():
    frame = table(
        species=[("Adelie", "Chinstrap", "Gentoo")[i] for i in THREE],
        island=noisy(THREE, "Torgersen", "Dream", "Biscoe"),
        bill_length_mm=numbers(THREE),
        sex=noisy(THREE, "male", "female"),
    )
    frame.loc[3, "bill_length_mm"] = np.nan
    frame.loc[[3, 8], "sex"] = np.nan
    return frame.to_csv(index=False, na_rep="NA").encode()


def taxis():
    start = pd.Timestamp("2026-01-01") + pd.to_timedelta(RNG.integers(0, 10**7, ROWS), unit="s")
    frame = table(pickup=start, distance=numbers(TWO), payment=noisy(TWO, "cash", "card"), tip=TWO)
    frame["dropoff"] = frame["pickup"] + pd.Timedelta("10min")
    return frame.to_csv(index=False).encode()


def records():
    return table(size=numbers(TWO), city=noisy(TWO, "Rome", None, "Oslo"), label=[("no", "yes")[i] for i in TWO])


def quoted():
    words = [('meet me, please\nat "noon" today', "free money,\nonly now for you")[i] for i in noisy(TWO, 0, 1)]
    frame = table(text=[f"{w} {i}" for i, w in enumerate(words)], label=[("ham", "spam")[i] for i in TWO])
    return frame.to_csv(index=False).encode()


def simple(**options):
    frame = table(size=numbers(TWO), color=noisy(TWO, "red", "blue"), Label=[("a", "b")[i] for i in TWO])
    return frame.to_csv(index=False, **options)


def titanic():
    frame = table(
        PassengerId=np.arange(1, ROWS + 1),
        Survived=TWO,
        Name=[f"{first}, Mr. John {i}" for i, first in enumerate(noisy(TWO, "Braund", "Allen"))],
        Ticket=[f"A/{RNG.integers(10**9):09}" for _ in range(ROWS)],
        Age=[None if i % 6 == 0 else age for i, age in enumerate(numbers(TWO))],
        Cabin=noisy(TWO, None, "C85", "B20"),
    )
    return frame.to_csv(index=False).encode()


def sms():
    lines = [
        f"{('ham', 'spam')[y]}\t{text} {i}"
        for i, (y, text) in enumerate(zip(TWO, noisy(TWO, "Ok lar see you", "WIN a free prize now"), strict=True))
    ]
    return "\n".join(lines).encode()


def nested():
    lines = [
        {"user": {"age": float(n), "job": None}, "tags": [t], "target": bool(y), "text": f"some {t} words {i}"}
        for i, (n, t, y) in enumerate(zip(numbers(TWO), noisy(TWO, "x", "y"), TWO, strict=True))
    ]
    return gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())


def ragged():
    lines = simple().splitlines()
    lines[5] += ",more"
    lines[50] = "1"
    return "\n".join(lines).encode()


def parquet():
    file = io.BytesIO()
    frame = records()
    frame.index = [f"row {i}" for i in range(ROWS)]
    frame.to_parquet(file)
    return file.getvalue()


def feather():
    file = io.BytesIO()
    records().to_feather(file)
    return file.getvalue()


def vw():
    lines = [f"{y * 2 - 1} |f {t} n:{n} |g c" for y, t, n in zip(TWO, noisy(TWO, "x", "y"), numbers(TWO), strict=True)]
    lines[10] = "|f unlabelled x"
    return "\n".join(lines).encode()


def odd_age():
    ages = [str(age) for age in numbers(TWO)]
    ages[17] = "unknown"
    return table(age=ages, label=TWO).to_csv(index=False).encode()


def european_dates():
    frame = table(when=[f"{d}.11.2026" for d in RNG.integers(1, 29, ROWS)], size=numbers(TWO), label=TWO)
    return frame.to_csv(index=False).encode()


def zero_based():
    return "".join(
        f"{y * 2 - 1} 0:{a} 3:{b}\n" for y, a, b in zip(TWO, numbers(TWO), numbers(TWO), strict=True)
    ).encode()


# The file, and the option that it trains with.
TRAINS = {
    "kdd.data": (kdd, "--label -1"),
    "adult.data": (adult, "--label -1"),
    "decimal_comma.csv": (decimal_comma, "--decimal ,"),
    "wine.csv": (wine, "--label quality"),
    "penguins.csv": (penguins, "--label species"),
    "taxis.csv": (taxis, "--label tip"),
    "records.json": (lambda: records().to_json(orient="records").encode(), ""),
    "records.jsonl": (lambda: records().to_json(orient="records", lines=True).encode(), ""),
    "quoted.csv": (quoted, ""),
    "bom.csv": (lambda: simple().encode("utf-8-sig"), ""),
    "utf16.csv": (lambda: simple().encode("utf-16"), ""),
    "windows.csv": (lambda: simple().replace("\n", "\r\n").encode(), ""),
    "bars.txt": (lambda: simple(sep="|").encode(), ""),
    "semicolons.csv": (lambda: simple(sep=";").encode(), ""),
    "index.csv": (lambda: records().to_csv().encode(), ""),
    "titanic.csv": (titanic, "--label survived"),
    "sms.tsv": (sms, "--label 1"),
    "nested.jsonl.gz": (nested, ""),
    "ragged.csv": (ragged, "--on-error skip"),
    "table.parquet": (parquet, ""),
    "table.feather": (feather, ""),
    "some.vw": (vw, ""),
    "odd_age.csv": (odd_age, "--missing unknown"),
    "dates.csv": (european_dates, "--ignore when"),
    "zero.svm": (zero_based, "--zero-based"),
}
# What a file says without its option.
STOPS = {
    "kdd.data": "the first line looks like a record, not like the names of columns; found '",
    "adult.data": "the first line looks like a record, not like the names of columns; found '",
    "decimal_comma.csv": "column 'Größe' has numbers with a comma",
    "wine.csv": "which column is the label? none is called 'label', 'target', 'class' or 'y'; the columns are",
    "sms.tsv": "the first line looks like a record, not like the names of columns; found '",
    "ragged.csv": "a record must have 3 cells, one for each column of the header; found 4",
    "odd_age.csv": "column 'age' is nearly numeric: 399 of the first 400 values are numbers; found 'unknown'",
    "dates.csv": "column 'when' has dates; they must be written as 2026-11-17 or 2026-11-17 14:30:00",
    "zero.svm": "indices start at 1",
}
ADVICE = {
    "kdd.data": "--no-header",
    "adult.data": "--no-header",
    "decimal_comma.csv": "--decimal ,",
    "wine.csv": "--label",
    "sms.tsv": "--no-header",
    "ragged.csv": "--on-error skip",
    "odd_age.csv": "--missing",
    "dates.csv": "--ignore",
    "zero.svm": "--zero-based",
}


@pytest.mark.parametrize("name", TRAINS)
def test_a_file_trains_to_a_sensible_model_with_at_most_one_option(name, tmp_path, capsys):
    make, option = TRAINS[name]
    (tmp_path / name).write_bytes(make())
    given = option.split(" ", 1) if option else []
    assert run(["train", str(tmp_path / name), "--json", *given]) == 0, capsys.readouterr().err
    record = json.loads(capsys.readouterr().out)
    last = record["curve"][-1]
    assert last["seen"] >= ROWS - 2
    assert last["mistakes"] / last["seen"] < 0.7 * record["baseline"]["error"]


@pytest.mark.parametrize("name", STOPS)
def test_a_file_that_needs_an_option_says_which(name, tmp_path, capsys):
    (tmp_path / name).write_bytes(TRAINS[name][0]())
    assert run(["train", str(tmp_path / name), "-m", str(tmp_path / "m")]) == 1
    said = capsys.readouterr().err
    assert STOPS[name] in said
    assert ADVICE[name] in said
    assert not (tmp_path / "m").exists()


def test_a_table_of_columns_in_json_is_refused(tmp_path, capsys):
    (tmp_path / "columns.json").write_text(records().to_json())
    assert run(["train", str(tmp_path / "columns.json")]) == 1
    assert 'orient="records"' in capsys.readouterr().err


def test_text_in_another_encoding_is_refused(tmp_path, capsys):
    (tmp_path / "latin.csv").write_bytes("größe,label\n1,2\n".encode("latin-1"))
    assert run(["train", str(tmp_path / "latin.csv")]) == 1
    assert "UTF-8" in capsys.readouterr().err


def test_what_is_left_out_is_noted(tmp_path, capsys):
    (tmp_path / "titanic.csv").write_bytes(titanic())
    assert run(["train", str(tmp_path / "titanic.csv"), "--label", "Survived"]) == 0
    said = capsys.readouterr().err
    for column in ("PassengerId", "Ticket"):
        assert f"column '{column}' has a different value in every record, like an id; it is left out" in said
    (tmp_path / "some.vw").write_bytes(vw())
    assert run(["train", str(tmp_path / "some.vw")]) == 0
    assert "left out 1 example without a label" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["train", "train --json", "train --save-every 1 -m", "train -a auto", "tune", "compare"]
)
def test_data_in_which_nothing_can_be_learned_is_refused(command, tmp_path, capsys):
    data = written(tmp_path / "zero.vw", "-1 0 | d\n1 0 | e\n")
    name, *options = command.split()
    options += [str(tmp_path / "none.model")] * (options[-1:] == ["-m"])
    assert run([name, data, "-q", *options]) == 1
    assert "learn from" in capsys.readouterr().err
    assert not (tmp_path / "none.model").exists()
