"""The report of runs: what is on the page, where its marks are, and that nothing in a record can break it."""

import base64
import hashlib
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colour_vision import DISTINCT, VISIONS, cielab, luminance
from report_examples import HOSTILE, a_record, of_classes
from scwlearn.report import page, write_page
from scwlearn.report.axes import linear, logarithmic
from scwlearn.report.curves import COLOURS as N_COLOURS
from scwlearn.report.curves import DASHES, look_of
from scwlearn.report.figures import calibration_error
from scwlearn.report.look import COLOURS
from scwlearn.report.text import duration, moment, rough, shorten, width
from scwlearn.runs.record import Bin, Point, Record, TopWeight


class Page(HTMLParser):
    """What a browser makes of a page, as far as the tests ask for it."""

    def __init__(self, text):
        super().__init__()
        self.raw, self.open, self.tags, self.text, self.script = text, [], [], "", ""
        self.feed(text)
        self.close()
        assert self.open == [], "elements that nobody closed"
        self.plots = {}
        for found in re.findall(
            r'<svg viewBox=[^>]* role="img".*?</svg>(?=<(?:ul|details|/div|svg|/figure))', text, re.S
        ):
            svg = ElementTree.fromstring(found)
            self.plots[svg.find("title").text] = svg

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.script += data
        elif "style" not in self.open:
            self.text += data + " "

    def attributes(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def texts(svg, kind=None):
    return [e.text for e in svg.iter("text") if kind is None or kind in e.get("class", "").split()]


def ticks(svg, along):
    """Where the labels of an axis are, by what they say: those below the plot or those to its left."""
    found = [e for e in svg.iter("text") if e.get("class") == "tick"]
    chosen = [e for e in found if (e.get("text-anchor") == "middle") == (along == "x")]
    return {e.text.replace("\xa0", ""): float(e.get(along)) for e in chosen}


PLOTS = {
    "Mistake rate by examples",
    "Updates by examples",
    "Log-loss by examples",
    "Speed by examples",
    "Reliability of the probabilities",
    "Confusion matrix",
    "Largest weights of class yes",
}


def test_a_page_has_every_plot_with_words_for_those_who_cannot_see_it():
    made = Page(page([a_record()]))
    assert set(made.plots) == PLOTS
    for title, svg in made.plots.items():
        assert svg.get("aria-label") == title
        assert len(svg.find("desc").text) > 10
        assert float(svg.get("viewBox").split()[2]) > 0
    # The numbers behind each plot.
    assert made.text.count("Numbers") == len(PLOTS)


def test_the_head_and_the_figures_say_what_was_run_and_what_came_of_it():
    text = Page(page([a_record()])).text.replace("\xa0", " ")
    head = ["SCW-I on a.libsvm", "C = 1, eta = 0.9", "1 March 2026, 09:30 UTC", "scwlearn 1.2.3"]
    figures = ["10,000", "19.00 %", "1,900 mistakes", "30.00 %", "0.4800", "123", "7 weights not 0", "8k", "in 1.25 s"]
    # |0.55 - 0.6| 4000 + |0.95 - 0.9| 6000, of 10,000.
    figures += ["5.00 %", "3 could not be read", "12.50 %", "0.3100", "500 held out"]
    rest = ["scwlearn train a.libsvm --probabilities", "diagonal", "shuffle buffer", "none", "yes", "no, yes"]
    for part in (*head, *figures, *rest):
        assert part in re.sub(r"\s+", " ", text), part


def test_the_points_of_a_curve_are_where_the_axes_say():
    svg = Page(page([a_record()])).plots["Mistake rate by examples"]
    across, up = ticks(svg, "x"), ticks(svg, "y")
    assert list(across) == ["1", "10", "100", "1k", "10k"]
    decade = across["10"] - across["1"]
    bottom, per_percent = up["0%"], up["0%"] - up["10%"]
    # The first is above the picture, as all or none of the first few may be mistakes.
    expected = [(1, 40.0), (2, 25.0), (3, 21.0), (4, 19.0)]
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter("circle")]
    assert len(dots) == len(expected)
    for (x, y), (power, rate) in zip(dots, expected, strict=True):
        assert x == pytest.approx(across["1"] + power * decade, abs=0.02)
        assert y == pytest.approx(bottom - rate / 10 * per_percent, abs=0.02)


def test_the_rate_between_two_points_is_that_of_the_examples_between_them():
    svg = Page(page([a_record()])).plots["Updates by examples"]
    across, up = ticks(svg, "x"), ticks(svg, "y")
    (stairs,) = [p for p in svg.iter("path") if p.get("class") == "line c1 d0"]
    places = [tuple(map(float, pair.split())) for pair in re.split("[ML]", stairs.get("d"))[1:]]
    per_percent = (up["0%"] - up["100%"]) / 100
    expected = [7 / 9, 52 / 90, 340 / 900, 2600 / 9000]
    steps = ("1", "10", "100", "1k", "10k")
    assert [x for x, _ in places] == pytest.approx([across[t] for pair in pairwise(steps) for t in pair], abs=0.02)
    for (_, one), (_, other), share in zip(places[::2], places[1::2], expected, strict=True):
        assert one == other == pytest.approx(up["0%"] - 100 * share * per_percent, abs=0.02)
    assert texts(svg, "end") == ["28.89\xa0%", "30.00\xa0%"] or texts(svg, "end") == ["30.00\xa0%", "28.89\xa0%"]


def test_a_weight_has_a_bar_of_two_deviations_either_way():
    svg = Page(page([a_record()])).plots["Largest weights of class yes"]
    across = ticks(svg, "x")
    unit = across["1"] - across["0"]
    bars = [p.get("d") for p in svg.iter("path") if p.get("class") == "spread"]
    found = [[float(v) for v in re.fullmatch(r"M(\S+) \S+H(\S+)", bar).groups()] for bar in bars]
    expected = [(1.5, 2.5), (-2.0, 0.0)]
    assert found == [pytest.approx([across["0"] + unit * end for end in ends], abs=0.05) for ends in expected]
    assert texts(svg, "name") == ["price", "colour=red"]


def test_weights_without_deviations_have_no_bars_and_the_page_says_so():
    plain = a_record(algorithm="perceptron", top_weights={"yes": [TopWeight("price", 2.0)]})
    made = Page(page([plain]))
    svg = made.plots["Largest weights of class yes"]
    assert not [p for p in svg.iter("path") if p.get("class") == "spread"]
    assert len(list(svg.iter("circle"))) == 1
    assert "knows no deviations" in made.text


def test_the_reliability_diagram_has_a_point_and_a_bar_for_each_bin():
    svg = Page(page([a_record()])).plots["Reliability of the probabilities"]
    across, up = ticks(svg, "x"), ticks(svg, "y")
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter("circle")]
    expected = [(0.6, 0.55), (0.9, 0.95)]
    for (x, y), (probability, share) in zip(dots, expected, strict=True):
        along = (probability - 0.5) / 0.5
        assert x == pytest.approx(across["50%"] + along * (across["100%"] - across["50%"]), abs=0.02)
        assert y == pytest.approx(up["50%"] + (share - 0.5) / 0.5 * (up["100%"] - up["50%"]), abs=0.02)
    heights = [float(r.get("height")) for r in svg.iter("rect") if r.get("class") == "bar"]
    assert heights[0] / heights[1] == pytest.approx(4000 / 6000, abs=0.01)
    assert texts(svg, "small") == ["count", "4k", "6k"]


def test_the_calibration_error_is_the_mean_distance_of_the_predictions():
    assert calibration_error([Bin(10, 0.5, 5), Bin(30, 0.9, 21)]) == pytest.approx((0 * 10 + 0.2 * 30) / 40)
    assert calibration_error([]) is None


def test_the_confusion_matrix_has_counts_and_shares_of_the_line():
    svg = Page(page([a_record()])).plots["Confusion matrix"]
    (cells,) = [g for g in svg.iter("g") if g.get("class") == "cells"]
    assert texts(cells) == ["5,000", "83%", "1,000", "17%", "900", "22%", "3,100", "78%"]
    dark = [float(r.get("fill-opacity")) for r in cells.iter("rect") if r.get("fill-opacity")]
    assert dark == pytest.approx([math.sqrt(s) for s in (5 / 6, 1 / 6, 0.225, 0.775)], abs=0.01)


def test_of_very_many_classes_the_worst_confusions_are_listed_instead():
    record = of_classes(1000)
    record.confusion[7][3] = 60
    made = Page(page([record]))
    assert "Confusion matrix" not in made.plots
    assert re.search(r"class 7\s+class 3\s+60\s+37\.50", made.text)
    assert "30 of 1,000 classes are shown" in made.text
    assert len(made.raw) < 400_000


def test_thirty_classes_are_still_drawn():
    made = Page(page([of_classes(30)]))
    (cells,) = [g for g in made.plots["Confusion matrix"].iter("g") if g.get("class") == "cells"]
    assert float(cells.get("font-size")) >= 9
    assert len(list(cells.iter("g"))) - 1 == 60
    assert "24 more classes" in made.text


def test_what_a_record_does_not_have_is_not_drawn_and_the_page_says_why():
    bare = [replace(p, log_loss=None) for p in a_record().curve]
    made = Page(page([a_record(curve=bare, reliability=None, confusion=None, top_weights={}, holdout=None)]))
    assert set(made.plots) == {"Mistake rate by examples", "Updates by examples", "Speed by examples"}
    text = re.sub(r"\s+", " ", made.text)
    assert text.count("no probabilities were asked for: --probabilities") == 2
    assert "Confusion : it was not counted for 2 classes" in text
    assert "Largest weights : the record has none that can be drawn" in text
    assert "Holdout" not in text


def test_several_runs_are_compared_and_then_each_has_a_section():
    runs = [a_record(), a_record(algorithm="arow", parameters={"r": 1.0}), a_record(algorithm="perceptron")]
    runs[1].curve[-1] = replace(runs[1].curve[-1], mistakes=1500)
    made = Page(page(runs))
    shared = made.plots["Mistake rate of 3 runs"]
    looks = [p.get("class") for p in shared.iter("path") if p.get("class").startswith("line")]
    assert looks == ["line c0 d0", "line c1 d0", "line c2 d0"]
    assert {"Updates of 3 runs", "Log-loss of 3 runs", "Speed of 3 runs"} <= set(made.plots)
    assert "Reliability of the probabilities of 3 runs" in made.plots
    assert [a["href"] for a in made.attributes("a")] == ["#run-1", "#run-2", "#run-3"]
    assert [s["id"] for s in made.attributes("section")] == ["run-1", "run-2", "run-3"]
    assert re.findall(r"<b>(1[59]\.00)", made.raw) == ["15.00"]
    for name in ("SCW-I", "AROW", "Perceptron"):
        assert f"<h2>{name}</h2>" in made.raw


def test_no_run_is_the_best_where_they_are_on_different_data():
    made = Page(page([a_record(), a_record(sources=["b.libsvm"])]))
    assert "not on the same examples" in made.text
    assert not re.search(r"<td><b>", made.raw)


def test_no_run_is_the_best_where_all_are_equal():
    assert not re.search(r"<td><b>", page([a_record(), a_record(parameters={"C": 16384.0})]))


def test_one_is_not_told_as_many():
    text = Page(page([ODD["one example"]])).text
    assert "1 mistake " in text
    assert "1 weight not 0" in text


def test_runs_are_named_by_what_tells_them_apart():
    def names(*records):
        return re.findall("<h2>(.*?)</h2>", page(records))

    other = a_record(parameters={"C": 2.0, "eta": 0.9})
    assert names(a_record(), other) == ["SCW-I (C = 1)", "SCW-I (C = 2)"]
    elsewhere = a_record(parameters={}, sources=["b.csv"])
    assert names(a_record(parameters={}), elsewhere) == ["SCW-I on a.libsvm", "SCW-I on b.csv"]
    assert names(a_record(algorithm="my own"), a_record(algorithm="my own"))[1].startswith("2. my own")
    assert re.findall("<h2>(.*?)</h2>", page([a_record(), other], ["one", "<two>"])) == ["one", "&lt;two&gt;"]


def test_twenty_runs_each_look_different():
    assert len({look_of(number) for number in range(20)}) == 20
    made = Page(page([a_record(parameters={"C": float(i)}) for i in range(20)]))
    shared = made.plots["Mistake rate of 20 runs"]
    assert len({p.get("class") for p in shared.iter("path") if p.get("class").startswith("line")}) == 20
    assert len(made.raw) < 1_500_000


def test_a_page_needs_records_and_a_name_for_each():
    with pytest.raises(ValueError, match="at least one record"):
        page([])
    with pytest.raises(ValueError, match="names must hold 1 names, one for each record, got 2"):
        page([a_record()], ["a", "b"])


@pytest.mark.parametrize("several", [False, True])
def test_nothing_in_a_record_becomes_part_of_the_page(several):
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


def test_a_page_refers_to_nothing_elsewhere():
    for records in ([a_record()], [a_record(), of_classes(12)]):
        made = Page(page(records))
        assert not re.search(r"https?:|//|url\(|@import", re.sub(r"// .*", "", made.raw))
        for _, attrs in made.tags:
            assert not {"src", "action", "xlink:href", "data", "poster"} & set(attrs)
            assert attrs.get("href", "#").startswith("#")


def test_only_the_style_and_the_script_of_the_page_are_allowed():
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
def test_odd_records_make_sound_pages(record):
    for records in ([record], [record, a_record(algorithm="arow")]):
        made = Page(page(records))
        for title, svg in made.plots.items():
            for mark in svg.iter():
                for name in ("x", "y", "cx", "cy", "width", "height", "d"):
                    assert not re.search("nan|inf", mark.get(name, "")), (title, mark.tag, name)
                for name in ("width", "height", "r"):
                    assert float(mark.get(name, 0)) >= 0, (title, mark.tag)
        assert len(made.raw.encode()) < 300_000


def test_odd_numbers_are_not_drawn_but_told():
    made = Page(page([ODD["odd deviations"]]))
    svg = made.plots["Largest weights of class yes"]
    assert len(list(svg.iter("circle"))) == 6
    assert len([p for p in svg.iter("path") if p.get("class") == "spread"]) == 1
    assert "inf" in made.text
    assert "nan" in made.text


def test_labels_at_the_ends_of_lines_do_not_meet():
    for record in (a_record(), ODD["no mistake"], ODD["two hundred points"]):
        for svg in Page(page([record])).plots.values():
            heights = sorted(float(e.get("y")) for e in svg.iter("text") if "end" in e.get("class", ""))
            assert all(other - one >= 14.9 for one, other in pairwise(heights))


def test_a_report_needs_no_large_library():
    code = "import sys, scwlearn.report; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "sklearn", "matplotlib", "click", "rich"} & set(loaded)


def test_a_page_is_written_as_a_whole(tmp_path):
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


def test_a_record_comes_back_from_json_and_makes_the_same_page():
    record = a_record()
    back = Record.from_json(json.loads(json.dumps(record.to_json())))
    assert back == record
    assert page([back]) == page([record])


def test_an_older_or_newer_record_is_read():
    value = a_record().to_json()
    for optional in ("skipped", "epochs", "reliability", "confusion", "top_weights", "holdout"):
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
    ],
)
def test_what_is_no_record_is_refused(field, bad):
    with pytest.raises(ValueError, match="this is no record of a run"):
        Record.from_json({**a_record().to_json(), field: bad})


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e299, 1e299), st.floats(-1e299, 1e299), st.booleans())
def test_an_axis_has_a_few_round_ticks_and_holds_what_it_is_for(one, other, tight):
    low, high = min(one, other), max(one, other)
    axis = linear(low, high, 0.0, 100.0, tight=tight)
    slack = 1e-6 * (axis.high - axis.low)
    assert axis.low <= low + slack
    assert high - slack <= axis.high
    assert len(axis.ticks) <= 8
    assert all(-1e-3 <= axis(tick) <= 100.001 for tick in axis.ticks)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 32561, (1, 10, 100, 1000, 10_000)),
        (1, 1, (1, 2)),
        (100, 900, (100, 200, 500)),
        (3, 4, (3, 4)),
        (1, 1e12, (1, 100, 1e4, 1e6, 1e8, 1e10, 1e12)),
    ],
)
def test_the_ticks_of_a_log_axis(low, high, ticks):
    axis = logarithmic(low, high, 0.0, 100.0)
    assert axis.ticks == pytest.approx(ticks)
    assert (axis(axis.low), axis(axis.high)) == pytest.approx((0.0, 100.0))


def test_numbers_are_told_as_people_say_them():
    assert [rough(v) for v in (0, 5, 999, 999.9, 1000, 12_345, 1e6, 2.5e13)] == [
        "0", "5", "999", "1k", "1k", "12.3k", "1M", "25T",
    ]  # fmt: skip
    assert [duration(s).replace("\xa0", " ") for s in (0.0421, 59, 61, 3600, 7320)] == [
        "0.0421 s", "59 s", "1 min 1 s", "1 h", "2 h 2 min",
    ]  # fmt: skip
    assert moment("yesterday") == "yesterday"


@given(st.text(max_size=60), st.floats(3, 30))
def test_a_shortened_name_fits(text, most):
    short = shorten(text, most)
    assert width(short) <= max(most, 1 + 0.6 * most)
    assert short == text or "…" in short


LINES = [f"c{i}" for i in range(N_COLOURS)]


@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
def test_colours_are_told_apart_with_any_colour_vision_and_from_the_paper(dark):
    assert DASHES * N_COLOURS >= 20
    for one, other in combinations(LINES, 2):
        for vision in VISIONS:
            a, b = (cielab(COLOURS[name][dark], vision) for name in (one, other))
            assert sum((a - b) ** 2) ** 0.5 >= DISTINCT, (one, other, vision)

    def contrast(one, other):
        a, b = sorted(luminance(COLOURS[name][dark]) for name in (one, other))
        return (b + 0.05) / (a + 0.05)

    # As the accessibility guidelines want it: 3 for marks, 4.5 for text.
    assert min(contrast(line, "card") for line in LINES) >= 3
    for ink in ("ink", "soft", "c0", "c1"):
        assert contrast(ink, "card") >= 4.5
    assert contrast("soft", "paper") >= 4.5
