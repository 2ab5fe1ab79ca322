"""Measured results as one self-contained interactive HTML page: data, numbers, assembly, and the scripts that draw it.

data       the rows as compact JSON
sweeps     which trials make a curve of time against a size
numbers    every number of the page, in Python; the scripts compute the same under the filters
page       template, style, scripts and data in one file
"""

from __future__ import annotations

from discreet.reports.html.numbers import report_numbers
from discreet.reports.html.page import check_report_path, report_page, write_report

__all__ = ["check_report_path", "report_numbers", "report_page", "write_report"]
