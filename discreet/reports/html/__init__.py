"""Pages: measured results as one self-contained interactive page, and the builder of every page of the project.

data   the rows as compact JSON
page   template, style, scripts and data in one file; pieces of static pages
"""

from __future__ import annotations

from discreet.reports.html.page import check_report_path, report_page, write_report
from discreet.reports.statistics.numbers import report_numbers

__all__ = ["check_report_path", "report_numbers", "report_page", "write_report"]
