"""Odd, hostile, old and invalid records."""

import base64
import copy
import hashlib
import json
import math
import random
import re
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise

import pytest

from report_examples import HOSTILE, a_record, of_classes
from report_page import Page
from scwlearn.data.run_record import Bin, LearnedPart, Point, Record, Round, TopWeight
from scwlearn.report import page, write_page


@pytest.mark.parametrize("several", [False, True])
def test_record_contents_cannot_inject_markup(several):
    hostile = Record(
        command=HOSTILE,
        began=HOSTILE,
        version=HOSTILE,
        sources=[HOSTILE],
        algorithm=HOSTILE,
        parameters={HOSTILE: 1.0},
        settings={HOSTILE: HOSTILE, "list": [HOSTILE], "dict": {HOSTILE: HOSTILE}},
        classes=[HOSTILE, HOSTILE + "2"],
        n_features=1,
        curve=a_record().curve,
        reliability=a_record().reliability,
        confusion=a_record().confusion,
        top_weights={HOSTILE: [TopWeight(HOSTILE, 1.0, 0.1)]},
        holdout={HOSTILE: 1.0},
    )
    records = [hostile] * (1 + several)
    made = Page(page(records, [HOSTILE] * len(records)))
    kinds = {tag for tag, _ in made.tags}
    assert not kinds & {"img", "link", "iframe", "object", "embed", "form", "base"}
    assert [a for a in made.attributes("b") if a] == []
    assert len(made.attributes("script")) == 1
    assert not [name for _, attrs in made.tags for name in attrs if name.startswith("on") or name == "style"]
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", made.raw)
    assert "\\u202e" in made.text
    made.raw.encode()


def test_a_page_refers_to_no_other_resource():
    for records in ([a_record()], [a_record(), of_classes(12)]):
        made = Page(page(records))
        # Without comments and checksums of the policy, which may contain any letters.
        text = re.sub(r"// .*|sha256-[\w+/=]+", "", made.raw)
        assert not re.search(r"https?:|//|url\(|@import", text)
        for _, attrs in made.tags:
            assert not {"src", "action", "xlink:href", "data", "poster"} & set(attrs)
            assert attrs.get("href", "#").startswith("#")


def test_the_policy_allows_only_the_style_and_script_of_the_page():
    raw = page([a_record()])
    (policy,) = [m["content"] for m in Page(raw).attributes("meta") if "content" in m and "http-equiv" in m]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        content = re.search(f"<{kind}>(.*?)</{kind}>", raw, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


ODD = {
    "one example": a_record(curve=[Point(1, 1, 1, 1, 0.1, 0.7)], confusion=[[1, 0], [0, 0]]),
    "no example": a_record(curve=[], reliability=[], confusion=[[0, 0], [0, 0]], top_weights={}),
    "a point before the first example": a_record(curve=[Point(0, 0, 0, 0, 0.0), Point(5, 1, 1, 1, 0.1)]),
    "no mistake": a_record(curve=[Point(n, 0, 0, 0, n / 100, 0.0) for n in (1, 10, 100)]),
    "no time": a_record(curve=[Point(n, 0, 0, 0, 0.0) for n in (1, 10)]),
    "the same point twice": a_record(curve=[Point(5, 1, 1, 1, 0.1), Point(5, 1, 1, 1, 0.1)]),
    "one class": a_record(classes=["only"], confusion=[[9]]),
    "no class": a_record(classes=[], confusion=[]),
    "long names": a_record(
        classes=["c" * 500, "汉" * 500],
        command="x" * 5000,
        top_weights={"c" * 500: [TopWeight("n" * 500, 1.0, 0.1), TopWeight("漢" * 500, 1.0, 0.1)]},
        settings={"s" * 500: "v" * 5000},
    ),
    "names of nothing": a_record(classes=["", " "], top_weights={"": [TopWeight("", 0.0, 0.0)]}),
    "odd deviations": a_record(
        top_weights={"yes": [TopWeight(str(d), 1.0, d) for d in (math.nan, math.inf, -1.0, 1e305, 0.0, None)]}
    ),
    "odd weights": a_record(
        top_weights={"yes": [TopWeight(str(w), w, 1.0) for w in (math.nan, -math.inf, 1e308, 5e-324, 0.0)]}
    ),
    "odd losses": a_record(curve=[Point(n, 1, 1, 1, n, loss) for n, loss in ((1, math.inf), (2, math.nan), (3, 0.1))]),
    "two hundred points": a_record(curve=[Point(n, n // 3, n // 2, 9, n / 7, 1 / n) for n in range(1, 201)]),
    "a ragged matrix": a_record(confusion=[[1], [2, 3]]),
    "odd bins": a_record(reliability=[Bin(0, 0.5, 0), Bin(5, math.nan, 1), Bin(3, 2.0, 9), Bin(4, 1.0, 4)]),
    "lone surrogates": a_record(command="caf\udce9", sources=["\ud800"], classes=["\udfff", "b"]),
}


@pytest.mark.parametrize("record", ODD.values(), ids=ODD)
def test_odd_records_make_valid_pages(record):
    for records in ([record], [record, a_record(algorithm="arow")]):
        made = Page(page(records))
        for title, svg in made.plots.items():
            for mark in svg.iter():
                for name in ("x", "y", "cx", "cy", "width", "height", "d"):
                    assert not re.search("nan|inf", mark.get(name, "")), (title, mark.tag, name)
                for name in ("width", "height", "r"):
                    assert float(mark.get(name, 0)) >= 0, (title, mark.tag)
        assert len(made.raw.encode()) < 300_000


def test_extreme_numbers_are_listed_but_not_drawn():
    made = Page(page([ODD["odd deviations"]]))
    svg = made.plots["Largest weights of class yes"]
    assert len(list(svg.iter("circle"))) == 6
    assert len([p for p in svg.iter("path") if p.get("class") == "spread"]) == 1
    assert "inf" in made.text
    assert "nan" in made.text


def test_end_labels_do_not_overlap():
    for record in (a_record(), ODD["no mistake"], ODD["two hundred points"]):
        for svg in Page(page([record])).plots.values():
            heights = sorted(float(e.get("y")) for e in svg.iter("text") if "end" in e.get("class", ""))
            assert all(other - one >= 14.9 for one, other in pairwise(heights))


def test_a_report_imports_no_large_library():
    code = "import sys, scwlearn.report; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "sklearn", "matplotlib", "click", "rich"} & set(loaded)


def test_a_page_is_written_atomically(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    write_page([a_record()], path)
    assert path.read_text(encoding="utf-8") == page([a_record()])
    with pytest.raises(ValueError, match="at least one"):
        write_page([], path)
    assert path.read_text(encoding="utf-8") == page([a_record()])
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError):
        write_page([a_record()], tmp_path / "missing" / "report.html")


def test_a_record_survives_json_and_makes_the_same_page():
    record = a_record()
    back = Record.from_json(json.loads(json.dumps(record.to_json())))
    assert back == record
    assert page([back]) == page([record])


def test_older_and_newer_records_are_read():
    value = a_record().to_json()
    required = {"command", "began", "version", "sources", "algorithm", "parameters", "settings", "classes"}
    for optional in value.keys() - required - {"n_features", "curve"}:
        del value[optional]
    value["from the future"] = 1
    value["curve"][0]["from the future"] = 1
    del value["curve"][0]["log_loss"]
    Page(page([Record.from_json(value)]))


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("curve", [{"seen": "<b>", "mistakes": 0, "updates": 0, "nonzero": 0, "seconds": 0.0}]),
        ("curve", 3),
        ("parameters", {"C": "<b>"}),
        ("holdout", {"error": None}),
        ("confusion", [["x"]]),
        ("reliability", [{"count": 1.5, "probability": 0.5, "right": 1}]),
        ("top_weights", {"a": [{"name": 3, "weight": 1.0}]}),
        ("n_features", True),
        ("passes", [{"seen": 3}]),
        ("baseline", {"label": "a", "error": "<b>"}),
        ("sorted_labels", 1),
    ],
)
def test_invalid_records_are_rejected(field, bad):
    with pytest.raises(ValueError, match="not a record of a run"):
        Record.from_json({**a_record().to_json(), field: bad})


def test_singular_counts_have_no_plural_s():
    text = Page(page([ODD["one example"]])).text
    assert "1 mistake " in text
    assert "1 nonzero weight" in text


def _places(value, path=()):
    """Yield the path of each value within a JSON value."""
    yield path
    if isinstance(value, list | dict):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*path, key))


@pytest.mark.parametrize("seed", range(5))
def test_any_record_that_is_read_can_be_shown(seed):
    part = LearnedPart(1, 1, 1, 600, 60, 0.1, [(1, 1), (600, 60)])
    record = a_record(parts=[part, part._replace(part=2)], rounds=[Round(1, 1, 10, 20, 0.1)])
    whole = json.loads(json.dumps(record.to_json()))
    draw, shown = random.Random(seed), 0
    places = [*_places(whole)][1:]
    for _ in range(100):
        forged = copy.deepcopy(whole)
        for *path, last in draw.sample(places, draw.choice([1, 2])):
            value = forged
            with suppress(TypeError, KeyError, IndexError):
                for key in path:
                    value = value[key]
                odd = [0, -1, 10**308, -(10**308), 1e308, 5e-324, 2**53, None, "", [], [1], {}, True, math.nan]
                value[last] = draw.choice(odd)
        try:
            read = Record.from_json(forged)
        except ValueError:
            continue
        page([read])
        page([read, a_record()])
        shown += 1
    assert shown > 5
