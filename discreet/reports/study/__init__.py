"""The work–precision study behind `discreet bench`: plan, cells, store, runner, results."""

from __future__ import annotations

from discreet.reports.study.cells import Cell, Work, cells_of, choose
from discreet.reports.study.plan import Contender, InstanceSpec, Limits, Profile, Reach, Study
from discreet.reports.study.reference import write_reference
from discreet.reports.study.results import read_results
from discreet.reports.study.runner import Summary, Watch, measure, run_cells
from discreet.reports.study.store import Store, query, rows
from discreet.reports.study.study_file import SHIPPED, parse_study, read_study

__all__ = [
    "SHIPPED",
    "Cell",
    "Contender",
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
