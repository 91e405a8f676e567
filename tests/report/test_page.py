"""The page of runs: its plots, key figures and sections."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from report_examples import a_record, of_classes
from report_page import Page, texts, ticks
from scwlearn.data.run_record import Baseline, Bin, TopWeight
from scwlearn.display.svg import linear_axis, log_axis
from scwlearn.display.theme import line_class
from scwlearn.report import page
from scwlearn.report.key_figures import calibration_error

PLOTS = {
    "Mistake rate by examples",
    "Updates by examples",
    "Log-loss by examples",
    "Speed by examples",
    "Reliability of the probabilities",
    "Confusion matrix",
    "Largest weights of class yes",
}


def test_every_plot_has_a_description_for_screen_readers():
    made = Page(page([a_record()]))
    assert set(made.plots) == PLOTS
    for title, svg in made.plots.items():
        assert svg.get("aria-label") == title
        assert len(svg.find("desc").text) > 10
        assert float(svg.get("viewBox").split()[2]) > 0
    # The numbers behind each plot.
    assert made.text.count("Numbers") == len(PLOTS)


def test_the_heading_and_key_figures_summarise_the_run():
    text = Page(page([a_record()])).text.replace("\xa0", " ")
    head = ["SCW-I on a.libsvm", "C = 1, eta = 0.9", "1 March 2026, 09:30 UTC", "scwlearn 1.2.3"]
    figures = [
        "10,000",
        "19.00 %",
        "1,900 mistakes",
        "30.00 %",
        "0.4800",
        "123",
        "7 nonzero weights",
        "8k",
        "in 1.25 s",
    ]
    # |0.55 - 0.6| 4000 + |0.95 - 0.9| 6000, of 10,000.
    figures += ["5.00 %", "3 invalid examples", "12.50 %", "0.3100", "500 held out"]
    figures += ["40.00 % always no", "37.50 % always yes"]
    rest = ["scwlearn train a.libsvm --probabilities", "diagonal", "shuffle buffer", "none", "yes", "no, yes"]
    for part in (*head, *figures, *rest):
        assert part in re.sub(r"\s+", " ", text), part


def test_curve_points_match_the_axes():
    svg = Page(page([a_record()])).plots["Mistake rate by examples"]
    across, up = ticks(svg, "x"), ticks(svg, "y")
    assert list(across) == ["1", "10", "100", "1k", "10k"]
    decade = across["10"] - across["1"]
    bottom, per_percent = up["0%"], up["0%"] - up["10%"]
    # The first is above the picture, because all or none of the first few may be mistakes.
    expected = [(1, 40.0), (2, 25.0), (3, 21.0), (4, 19.0)]
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter("circle")]
    assert len(dots) == len(expected)
    for (x, y), (power, rate) in zip(dots, expected, strict=True):
        assert x == pytest.approx(across["1"] + power * decade, abs=0.02)
        assert y == pytest.approx(bottom - rate / 10 * per_percent, abs=0.02)


def level(svg):
    """Return the value of the baseline in the plot of mistakes, in percent."""
    up = ticks(svg, "y")
    (line,) = [p for p in svg.iter("path") if p.get("class") == "line reference"]
    ((_, one), (_, other)) = [map(float, pair.split()) for pair in re.split("[ML]", line.get("d"))[1:]]
    assert one == other
    return (up["0%"] - one) / (up["0%"] - up["10%"]) * 10


def test_the_baseline_is_a_level_in_the_plot_of_mistakes():
    made = Page(page([a_record()]))
    svg = made.plots["Mistake rate by examples"]
    assert level(svg) == pytest.approx(40.0, abs=0.1)
    assert svg.find("desc").text == "After 10,000 examples 19.00\xa0%; always no (40.00\xa0%)."
    assert made.raw.count("line reference") == 2  # the level, and its sample in the legend
    two = Page(page([a_record(), a_record(algorithm="arow")]))
    assert level(two.plots["Mistake rate of 2 runs"]) == pytest.approx(40.0, abs=0.1)
    other = Page(page([a_record(), a_record(algorithm="arow", baseline=Baseline("yes", 0.4))]))
    assert not [p for p in other.plots["Mistake rate of 2 runs"].iter("path") if "reference" in p.get("class")]


def test_a_baseline_far_above_the_mistakes_does_not_dwarf_them():
    for error, top in ((0.05, "40%"), (0.75, "80%"), (0.95, "40%")):
        made = Page(page([a_record(baseline=Baseline("no", error))]))
        assert list(ticks(made.plots["Mistake rate by examples"], "y"))[-1] == top
        assert f"always no ({100 * error:.2f}\xa0%)" in made.text


def test_several_passes_have_a_table():
    text = re.sub(r"\s+", " ", Page(page([a_record()])).text.replace("\xa0", " "))
    assert "pass examples mistakes mistake rate updates 1 5,000 1,100 22.00 % 1,700 2 5,000 800 16.00 % 1,300" in text
    one = Page(page([a_record(passes=a_record().passes[:1])])).text
    assert "Passes" not in one


def test_warnings_come_first():
    made = Page(page([a_record(baseline=Baseline("no", 0.1), sorted_labels=True)]))
    items = re.findall("<li><b>Warning:</b> (.*?)</li>", made.raw)
    assert items[0].startswith("labels come in long runs, as in a sorted file: do not trust the error")
    worse = "the model makes more mistakes (19.00%) than always predicting &#x27;no&#x27; would (10.00%); try --scale"
    assert items[1].startswith(worse)
    assert made.raw.index("Warning:") < made.raw.index('class="figures')
    assert "Warning:" not in page([a_record()])


def test_recent_rates_are_those_of_the_examples_between_two_points():
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


def test_weights_have_bars_of_two_standard_deviations():
    svg = Page(page([a_record()])).plots["Largest weights of class yes"]
    across = ticks(svg, "x")
    unit = across["1"] - across["0"]
    bars = [p.get("d") for p in svg.iter("path") if p.get("class") == "spread"]
    found = [[float(v) for v in re.fullmatch(r"M(\S+) \S+H(\S+)", bar).groups()] for bar in bars]
    expected = [(1.5, 2.5), (-2.0, 0.0)]
    assert found == [pytest.approx([across["0"] + unit * end for end in ends], abs=0.05) for ends in expected]
    assert texts(svg, "name") == ["price", "colour=red"]


def test_weights_without_standard_deviations_have_no_bars():
    plain = a_record(algorithm="perceptron", top_weights={"yes": [TopWeight("price", 2.0)]})
    made = Page(page([plain]))
    svg = made.plots["Largest weights of class yes"]
    assert not [p for p in svg.iter("path") if p.get("class") == "spread"]
    assert len(list(svg.iter("circle"))) == 1
    assert "has no standard deviations" in made.text


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


def test_the_calibration_error_is_the_mean_distance_over_predictions():
    assert calibration_error([Bin(10, 0.5, 5), Bin(30, 0.9, 21)]) == pytest.approx((0 * 10 + 0.2 * 30) / 40)
    assert calibration_error([]) is None


def test_the_confusion_matrix_has_counts_and_shares_of_the_row():
    svg = Page(page([a_record()])).plots["Confusion matrix"]
    (cells,) = [g for g in svg.iter("g") if g.get("class") == "cells"]
    assert texts(cells) == ["5,000", "83%", "1,000", "17%", "900", "22%", "3,100", "78%"]
    dark = [float(r.get("fill-opacity")) for r in cells.iter("rect") if r.get("fill-opacity")]
    assert dark == pytest.approx([math.sqrt(s) for s in (5 / 6, 1 / 6, 0.225, 0.775)], abs=0.01)


def test_with_many_classes_the_worst_confusions_are_listed():
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


def test_missing_plots_are_explained():
    bare = [p._replace(log_loss=None) for p in a_record().curve]
    made = Page(page([a_record(curve=bare, reliability=None, confusion=None, top_weights={}, holdout=None)]))
    assert set(made.plots) == {"Mistake rate by examples", "Updates by examples", "Speed by examples"}
    text = re.sub(r"\s+", " ", made.text)
    assert text.count("no probabilities were requested (--probabilities)") == 2
    assert "Confusion : not counted for 2 classes" in text
    assert "Largest weights : the record has no weights to draw" in text
    assert "Holdout" not in text


def test_several_runs_are_compared_and_have_a_section_each():
    runs = [a_record(), a_record(algorithm="arow", parameters={"r": 1.0}), a_record(algorithm="perceptron")]
    runs[1].curve[-1] = runs[1].curve[-1]._replace(mistakes=1500)
    made = Page(page(runs))
    shared = made.plots["Mistake rate of 3 runs"]
    looks = [p.get("class") for p in shared.iter("path") if p.get("class").startswith("line")]
    assert looks == ["line c0 d0", "line c1 d0", "line c2 d0", "line reference"]
    assert {"Updates of 3 runs", "Log-loss of 3 runs", "Speed of 3 runs"} <= set(made.plots)
    assert "Reliability of the probabilities of 3 runs" in made.plots
    assert [a["href"] for a in made.attributes("a")] == ["#run-1", "#run-2", "#run-3"]
    assert [s["id"] for s in made.attributes("section")] == ["run-1", "run-2", "run-3"]
    assert re.findall(r"<b>(1[59]\.00)", made.raw) == ["15.00"]
    for name in ("SCW-I", "AROW", "Perceptron"):
        assert f"<h2>{name}</h2>" in made.raw


def test_runs_on_different_data_have_no_best_values():
    made = Page(page([a_record(), a_record(sources=["b.libsvm"])]))
    assert "used different examples" in made.text
    assert not re.search(r"<td><b>", made.raw)


def test_equal_runs_have_no_best_values():
    assert not re.search(r"<td><b>", page([a_record(), a_record(parameters={"C": 16384.0})]))


def test_runs_are_named_by_their_differences():
    def names(*records):
        return re.findall("<h2>(.*?)</h2>", page(records))

    other = a_record(parameters={"C": 2.0, "eta": 0.9})
    assert names(a_record(), other) == ["SCW-I (C = 1)", "SCW-I (C = 2)"]
    elsewhere = a_record(parameters={}, sources=["b.csv"])
    assert names(a_record(parameters={}), elsewhere) == ["SCW-I on a.libsvm", "SCW-I on b.csv"]
    assert names(a_record(algorithm="my own"), a_record(algorithm="my own"))[1].startswith("2. my own")
    assert re.findall("<h2>(.*?)</h2>", page([a_record(), other], ["one", "<two>"])) == ["one", "&lt;two&gt;"]


def test_twenty_runs_have_distinct_lines():
    assert len({line_class(number) for number in range(20)}) == 20
    made = Page(page([a_record(parameters={"C": float(i)}) for i in range(20)]))
    shared = made.plots["Mistake rate of 20 runs"]
    assert len({p.get("class") for p in shared.iter("path") if p.get("class").startswith("line c")}) == 20
    assert len(made.raw) < 1_500_000


def test_a_page_needs_records_and_a_name_for_each():
    with pytest.raises(ValueError, match="at least one record"):
        page([])
    with pytest.raises(ValueError, match="names must hold 1 names, one for each record, got 2"):
        page([a_record()], ["a", "b"])


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e299, 1e299), st.floats(-1e299, 1e299), st.booleans())
def test_a_linear_axis_has_a_few_round_ticks_and_covers_its_values(one, other, tight):
    low, high = min(one, other), max(one, other)
    axis = linear_axis(low, high, 0.0, 100.0, tight=tight)
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
    axis = log_axis(low, high, 0.0, 100.0)
    assert axis.ticks == pytest.approx(ticks)
    assert (axis(axis.low), axis(axis.high)) == pytest.approx((0.0, 100.0))


@given(st.lists(st.sampled_from([1, 2, 2**53 - 1, 2**53]) | st.integers(1, 2**53), min_size=2, max_size=2))
def test_a_log_axis_tells_any_counts_apart_from_its_ends(counts):
    axis = log_axis(min(counts), max(counts), 0.0, 100.0)
    assert all(-1e-3 <= axis(value) <= 100.001 for value in (*counts, *axis.ticks))
    assert (axis(axis.low), axis(axis.high)) == pytest.approx((0.0, 100.0))


@given(st.floats(-1e299, 1e299), st.floats(-1e299, 1e299))
def test_a_linear_axis_whose_ends_are_swapped_covers_its_values(one, other):
    axis = linear_axis(max(one, other), min(one, other), 0.0, 100.0)
    slack = 1e-6 * (axis.high - axis.low)
    assert axis.low - slack <= min(one, other) <= max(one, other) <= axis.high + slack
