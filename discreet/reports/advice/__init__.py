"""Advice: which backend to use for a problem, from what was measured on problems like it.

`features` says what a problem is like, `evidence` what was measured, `safety` how sure a backend is to be certified, `times`
how long it will take; `prospects` puts the options in order, `choose` picks, `held_out` measures how good the advice is on
catalog entries it never saw.
"""

from __future__ import annotations

from discreet.reports.advice.choose import Advice, advise
from discreet.reports.advice.held_out import HeldOut, Trial, cross_validate
from discreet.reports.advice.prospects import Prospect

__all__ = ["Advice", "HeldOut", "Prospect", "Trial", "advise", "cross_validate"]
