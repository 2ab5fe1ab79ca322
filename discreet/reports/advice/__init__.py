"""Advice: which backend to use for a problem, from what was measured on problems like it.

evidence     what was measured, and what a problem is like
prediction   how sure an option is to be certified, how long it will take, and the order of options
choose       the advice, with what speaks against everything else, and notes where it is thin
held_out     how good the advice is on catalog entries it never saw
"""

from __future__ import annotations

from discreet.reports.advice.choose import Advice, advise
from discreet.reports.advice.held_out import HeldOut, Trial, cross_validate
from discreet.reports.advice.prediction import Prospect

__all__ = ["Advice", "HeldOut", "Prospect", "Trial", "advise", "cross_validate"]
