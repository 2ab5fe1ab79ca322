"""The work–precision study behind `discreet bench`.

plan      what a study is, and reading it from TOML
cells     the attempts it consists of, each with a key of everything that makes it this one
runner    measuring what is missing
store     rows on disk, and results from anywhere
machine   what a measurement depends on besides the problem
"""

from __future__ import annotations

from discreet.reports.study.cells import Cell, Work, cells_of, choose
from discreet.reports.study.plan import SHIPPED, InstanceSpec, Limits, Profile, Reach, Study, parse_study, read_study
from discreet.reports.study.runner import Estimate, Summary, Watch, measure, run_cells
from discreet.reports.study.store import Store, query, read_results, rows, write_reference

__all__ = [
    "SHIPPED",
    "Cell",
    "Estimate",
    "InstanceSpec",
    "Limits",
    "Profile",
    "Reach",
    "Store",
    "Study",
    "Summary",
    "Watch",
    "Work",
    "cells_of",
    "choose",
    "measure",
    "parse_study",
    "query",
    "read_results",
    "read_study",
    "rows",
    "run_cells",
    "write_reference",
]
