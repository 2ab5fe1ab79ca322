"""Which options are out of the question here, and why nothing but the advised one was chosen."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from discreet.backends.contract import Options, refuse_unserved
from discreet.backends.isolated import probe
from discreet.backends.registry import backend_names, capabilities, load_backend
from discreet.problems.errors import InputError, Unsupported
from discreet.problems.problem import Problem
from discreet.reports.advice.evidence import Option
from discreet.reports.advice.peers import is_peer
from discreet.reports.advice.prospects import Prospect, rank

__all__ = ["reasons", "refused", "runnable"]


def refused(prospect: Prospect, problem: Problem, peers: bool) -> Prospect:
    """The same prospect with the reason why it is out of the question here, if it is."""
    name = prospect.option.backend
    if name not in backend_names():
        return replace(prospect, refusal="measured, but no backend of this name is registered here")
    if name not in capabilities():
        return replace(prospect, refusal="it is registered but cannot be loaded; see discreet doctor")
    backend = load_backend(name)
    if not peers and is_peer(name, prospect.option.settings):
        return replace(prospect, refusal="a peer, there to be compared with; --peers considers it")
    try:
        refuse_unserved(backend, problem, Options(settings=prospect.option.settings), dict)
    except Unsupported as error:
        return replace(prospect, refusal=str(error).partition(";")[0])
    except InputError as error:
        return replace(prospect, refusal=str(error))
    return prospect


def runnable(judged: Sequence[Prospect]) -> list[Prospect]:
    """Those whose libraries are missing or broken are refused with the reason.

    What is merely not installed is seen at once. Whether a library really imports is tried in a process of its own, and
    only for the backends that would be advised or named next, as it takes a second.
    """
    found = [each if each.refusal else replace(each, refusal=_absence(each.option.backend)) for each in judged]
    for _ in found:
        first = {each.option.backend for each in rank(found)[:2]}
        trouble = {name: _trouble(name) for name in first}
        if not any(trouble.values()):
            break
        found = [replace(p, refusal=trouble.get(p.option.backend, "") or p.refusal) for p in found]
    return found


def _absence(name: str) -> str:
    """Which library of a backend is not installed; empty when all are."""
    able = load_backend(name).capabilities
    missing = [library for library in able.libraries if importlib.util.find_spec(library) is None]
    remedy = f'pip install "discreet[{able.extra}]"' if able.extra else "reinstall discreet"
    return f"it needs {missing[0]}, which is not installed; {remedy}" if missing else ""


@cache
def _trouble(name: str) -> str:
    """Why a backend cannot run here, found in a process of its own where it has libraries; empty when it can."""
    return probe(name).availability.reason if load_backend(name).capabilities.libraries else ""


def reasons(
    chosen: Prospect | None, runner_up: Prospect | None, considered: Sequence[Prospect], problem: Problem, peers: bool
) -> dict[str, str]:
    """Why every other label was not chosen; a label measured at several gaps speaks through its best one."""
    named = {each.option.label for each in (chosen, runner_up) if each}
    reasons: dict[str, str] = {}
    for each in considered:
        if each.option.label not in named and each.option.label not in reasons:
            reasons[each.option.label] = each.refusal or _why_not(each, chosen)
    seen = {label.partition(":")[0] for label in (*reasons, *named)}
    for name in backend_names():
        if name not in seen and name != "auto":
            probed = refused(_unmeasured(name), problem, peers)
            reasons[name] = probed.refusal or _absence(name) or "never measured under this kind of budget"
    return reasons


def _why_not(prospect: Prospect, chosen: Prospect | None) -> str:
    if not prospect.safe:
        bad = next((each for each in prospect.evidence if not each["suffices"]), None)
        told = f"; on {bad['instance']} {_failing(bad)}" if bad else ""
        return f"not safe: only at least {prospect.certainty:.0%} sure to be certified here{told}"
    factor = prospect.seconds / chosen.seconds if chosen else math.inf
    return f"safe, but predicted {factor:.2g} times slower"


def _failing(row: Mapping[str, Any]) -> str:
    return "its gap was too wide" if row["outcome"] == "certified" else f"it was {row['outcome']}"


def _unmeasured(name: str) -> Prospect:
    return Prospect(Option(name, "{}", Options().gap), 0.0, 0.0, 0.0, math.inf, math.inf, math.inf)
