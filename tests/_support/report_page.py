"""A page of the report as a browser would see it, as far as tests ask for it."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree


class Page(HTMLParser):
    """A parsed page, as far as the tests need it."""

    def __init__(self, text):
        super().__init__()
        self.raw, self.open, self.tags, self.text, self.script = text, [], [], "", ""
        self.feed(text)
        self.close()
        assert self.open == [], "elements without an end tag"
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
    """Positions of the tick labels of an axis, by their text."""
    found = [e for e in svg.iter("text") if e.get("class") == "tick"]
    chosen = [e for e in found if (e.get("text-anchor") == "middle") == (along == "x")]
    return {e.text.replace("\xa0", ""): float(e.get(along)) for e in chosen}
