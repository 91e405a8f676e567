"""The page in a real browser: plots, light and dark theme, wide and narrow screens."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess

import pytest
from PIL import Image, ImageColor

from report_examples import HOSTILE, a_record, of_classes
from scwlearn.data.run_record import Bin, TopWeight
from scwlearn.display.theme import COLOURS
from scwlearn.report import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH")

#: Neither the page nor the browser loads anything from elsewhere.
OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
]  # fmt: skip

# Writes what the browser rendered into the page. Presses the button once to see the dark theme as well.
PROBE = """
const box = (e) => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
const plot = (svg) => ({
  title: svg.getAttribute("aria-label"),
  box: box(svg),
  lines: [...svg.querySelectorAll(".line")].map((e) => [e.getTotalLength(), getComputedStyle(e).stroke]),
  marks: [...svg.querySelectorAll("circle, .cells rect, .bar")].map(box),
  texts: [...svg.querySelectorAll("text:not([transform])")].map((e) => [e.textContent, ...box(e)]),
});
const colours = () => [
  getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector(".lines .line")).stroke,
];
for (const part of document.querySelectorAll("details.more")) part.open = true;
const probe = {
  plots: [...document.querySelectorAll("svg.plot")].map(plot),
  width: document.documentElement.scrollWidth, window: innerWidth,
  broken: document.documentElement.dataset.broken || document.title === "broken",
  before: colours(), says: document.getElementById("theme").textContent,
};
const hit = document.querySelectorAll(".lines .hit")[2];
hit.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: 200, clientY: 200}));
probe.tip = [document.getElementById("tip").textContent, box(document.getElementById("tip"))];
document.getElementById("theme").click();
probe.after = colours();
const out = document.createElement("pre");
out.id = "probe";
out.textContent = JSON.stringify(probe);
parent.document.body.append(out);
"""


@pytest.fixture
def browse(tmp_path):
    """A function that starts the browser on a page, with a profile of its own; what it printed."""

    def start(text, *options):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1280,2400"]
        done = subprocess.run([*command, *options, path.as_uri()], capture_output=True, timeout=120, check=True)
        return done.stdout.decode()

    return start


def with_probe(text):
    """The page with a script more that it allows, and one that it does not."""
    digest = base64.b64encode(hashlib.sha256(PROBE.encode()).digest()).decode()
    text = text.replace("script-src ", f"script-src 'sha256-{digest}' ")
    foreign = "<script>document.documentElement.dataset.broken = 'yes';</script>"
    return text.replace("</body>", f"{foreign}<script>{PROBE}</script></body>")


def probed(browse, records, width=1280):
    text = with_probe(page(records))
    if width < 500:
        # A browser window cannot be as narrow as a phone, but a frame can.
        text = (
            f'<body><iframe srcdoc="{html.escape(text)}" width="{width}" height="900" frameborder="0"></iframe></body>'
        )
    written = browse(text, "--dump-dom")
    return json.loads(html.unescape(re.search('<pre id="probe">(.*?)</pre>', written, re.S)[1]))


def rgb(name, dark):
    return "rgb({}, {}, {})".format(*ImageColor.getrgb(COLOURS[name][dark]))


def inside(inner, outer, slack=1.0):
    return all(i >= o - slack for i, o in zip(inner[:2], outer[:2], strict=True)) and all(
        i <= o + slack for i, o in zip(inner[2:], outer[2:], strict=True)
    )


def overlap(one, other):
    return min(one[2], other[2]) - max(one[0], other[0]) > 1 and min(one[3], other[3]) - max(one[1], other[1]) > 3


def hostile():
    return a_record(
        command=HOSTILE,
        classes=[HOSTILE, "a class with quite a long name"],
        top_weights={HOSTILE: [TopWeight(HOSTILE, 1.0, 0.2), TopWeight("w" * 300, -1.0, 0.2)]},
    )


@pytest.mark.parametrize("width", [1280, 420])
def test_plots_are_drawn_without_overlaps(browse, width):
    bins = [
        Bin(10 ** (1 + i % 5), p, 5) for i, p in enumerate((0.02, 0.11, 0.12, 0.35, 0.4, 0.52, 0.7, 0.88, 0.91, 0.99))
    ]
    probe = probed(browse, [a_record(reliability=bins), hostile(), of_classes(10), of_classes(20)], width=width)
    assert not probe["broken"]
    assert probe["width"] <= probe["window"] == width, "the page is wider than the screen"
    # Six for all runs; for each run four curves, reliability, confusion, and the weights of its classes.
    assert len(probe["plots"]) == 6 + 4 * 6 + 1 + 1 + 10 + 20
    for plot in probe["plots"]:
        left, top, right, bottom = plot["box"]
        assert right - left > 250, plot["title"]
        assert bottom - top > 60, plot["title"]
        assert plot["lines"] or plot["marks"], plot["title"]
        for length, stroke in plot["lines"]:
            assert length > 50, plot["title"]
            assert stroke != "none"
        for mark in plot["marks"]:
            assert inside(mark, plot["box"]), plot["title"]
            assert mark[2] > mark[0]
        for place, (words, *box) in enumerate(plot["texts"]):
            assert not words.strip() or box[2] > box[0], (plot["title"], words)
            assert inside(box, plot["box"], slack=6.0), (plot["title"], words)
            for other, *its_box in plot["texts"][:place]:
                assert not overlap(box, its_box), (plot["title"], words, other)


def test_the_button_switches_the_theme_and_tooltips_work(browse):
    probe = probed(browse, [a_record()])
    assert probe["says"] == "Dark"
    assert probe["before"] == [rgb("paper", 0), rgb("c1", 0)]
    assert probe["after"] == [rgb("paper", 1), rgb("c1", 1)]
    words, (left, top, right, bottom) = probe["tip"]
    assert words.splitlines() == ["100 examples", "25.00\xa0% so far", "23.33\xa0% since the previous point"]
    assert right - left > 50
    assert bottom - top > 20


@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
def test_screenshots_have_the_colours_of_the_theme(browse, tmp_path, dark):
    picture = tmp_path / "page.png"
    # The system's preference: 0 is dark, 1 is light.
    browse(page([a_record()]), f"--screenshot={picture}", f"--blink-settings=preferredColorScheme={1 - dark}")
    image = Image.open(picture).convert("RGB")
    assert image.size == (1280, 2400)
    counts = {colour: number for number, colour in image.getcolors(maxcolors=1 << 24)}
    many = {"paper": 300_000, "panel": 1_000_000, "c0": 2000, "c1": 2000, "grid": 2000}
    for name, least in many.items():
        assert counts.get(ImageColor.getrgb(COLOURS[name][dark]), 0) > least, name
