"""Copy reports of `scwlearn reproduce` to the documentation: the Markdown with a date, and reduced pictures.

python benchmarks/publish_evaluation.py TITLE DIRECTORY PAGE [--pictures NAME ...]
"""

from __future__ import annotations

import argparse
import datetime
import re
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parents[1] / "docs"
IMAGES = DOCS / "images" / "evaluation"
#: The width of a page; lossless WebP takes a quarter of the bytes of a PNG.
WIDTH, QUALITY = 1400, 88


def publish(title: str, run: Path, page: str, pictures: list[str] | None) -> None:
    """Write the report of a run as a page of the documentation."""
    made = datetime.datetime.fromtimestamp((run / "report.md").stat().st_mtime, datetime.UTC)
    text = (run / "report.md").read_text(encoding="utf-8")
    text = re.sub(r"\A# .*\n", f"# {title}\n\nRun on {made:%Y-%m-%d}.\n", text)

    def picture(found: re.Match[str]) -> str:
        caption, name = found.groups()
        if pictures is not None and name not in pictures:
            return ""
        shrink(run / "figures" / f"{name}.png", IMAGES / f"{page}-{name}.webp")
        return f"![{caption}](../images/evaluation/{page}-{name}.webp)\n"

    text = re.sub(r"!\[(.*?)\]\(figures/(.*?)\.svg\)\n?", picture, text)
    (DOCS / "evaluation").mkdir(exist_ok=True)
    (DOCS / "evaluation" / f"{page}.md").write_text(re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n", encoding="utf-8")


def shrink(source: Path, target: Path) -> None:
    """Reduce a picture to the width of a page."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as image:
        height = round(image.height * WIDTH / image.width)
        small = image.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
    small.save(target, quality=QUALITY, method=6)


def main() -> None:
    """Publish one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("title")
    parser.add_argument("run", type=Path)
    parser.add_argument("page")
    parser.add_argument("--pictures", nargs="*", help="only these, by name")
    given = parser.parse_args()
    publish(given.title, given.run, given.page, given.pictures)


if __name__ == "__main__":
    main()
