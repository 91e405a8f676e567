"""Reports: self-contained HTML pages and pictures of runs, comparisons and grids."""

from scwlearn.report.page import page, write_page

__all__ = ["page", "write_page"]
