"""The work–precision study behind `discreet bench`.

plan      what a study is, and reading it from TOML
cells     the attempts it consists of, each with a key of everything that makes it this one
runner    measuring what is missing
store     rows on disk, and results from anywhere
machine   what a measurement depends on besides the problem
"""

from __future__ import annotations

from discreet.reports.study.store import read_results

__all__ = ["read_results"]
