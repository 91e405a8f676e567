"""Reports: one self-contained HTML page about one or several runs."""

from scwlearn.report.page import page, write_page

__all__ = ["page", "write_page"]
