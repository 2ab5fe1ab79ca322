"""The common problem, the models it comes from, and the judge. Names load when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.problems import catalog, errors, sensors
    from discreet.problems.blocks import ArrayBlocks, BlockProblem
    from discreet.problems.catalog import (
        anes96,
        building,
        dirichlet,
        duplicated,
        fair,
        independent,
        mixture,
        multi_groups,
        multi_mixed,
        near_deterministic,
        paper_multi,
        paper_single,
        road,
        slack_budget,
        smart_meter,
        tiny_budget,
        weighted_mixture,
        x_equals_y,
        zero_mass,
    )
    from discreet.problems.constraint import LeakageBudget
    from discreet.problems.files.records import StoredSolution, load_problem, load_solution, save_problem, save_solution
    from discreet.problems.inference.adversary import Inference, confidence_interval, inference
    from discreet.problems.inference.fano import fano_bound
    from discreet.problems.inference.local_estimates import local_inference, local_law
    from discreet.problems.judge import Certificate, KKTResiduals, Verdict, certify
    from discreet.problems.measures.mutual_information import entropy
    from discreet.problems.problem import PhiRank, Problem
    from discreet.problems.reduction import reduce
    from discreet.problems.rule import Rule
    from discreet.problems.samples import SampleReport
    from discreet.problems.streams.lattice import CountLattice, lattice_problem
    from discreet.problems.streams.sources import block_problem, blocks_from, map_problem, write_blocks

__all__ = [
    "ArrayBlocks",
    "BlockProblem",
    "Certificate",
    "CountLattice",
    "Inference",
    "KKTResiduals",
    "LeakageBudget",
    "PhiRank",
    "Problem",
    "Rule",
    "SampleReport",
    "StoredSolution",
    "Verdict",
    "anes96",
    "block_problem",
    "blocks_from",
    "building",
    "catalog",
    "certify",
    "confidence_interval",
    "dirichlet",
    "duplicated",
    "entropy",
    "errors",
    "fair",
    "fano_bound",
    "independent",
    "inference",
    "lattice_problem",
    "load_problem",
    "load_solution",
    "local_inference",
    "local_law",
    "map_problem",
    "mixture",
    "multi_groups",
    "multi_mixed",
    "near_deterministic",
    "paper_multi",
    "paper_single",
    "reduce",
    "road",
    "save_problem",
    "save_solution",
    "sensors",
    "slack_budget",
    "smart_meter",
    "tiny_budget",
    "weighted_mixture",
    "write_blocks",
    "x_equals_y",
    "zero_mass",
]

_HOMES = {
    "inference.adversary": ("Inference", "confidence_interval", "inference"),
    "blocks": ("ArrayBlocks", "BlockProblem"),
    "catalog": (
        "anes96",
        "building",
        "dirichlet",
        "duplicated",
        "fair",
        "independent",
        "mixture",
        "multi_groups",
        "multi_mixed",
        "near_deterministic",
        "paper_multi",
        "paper_single",
        "road",
        "slack_budget",
        "smart_meter",
        "tiny_budget",
        "weighted_mixture",
        "x_equals_y",
        "zero_mass",
    ),
    "files.records": ("StoredSolution", "load_problem", "load_solution", "save_problem", "save_solution"),
    "inference.fano": ("fano_bound",),
    "measures.mutual_information": ("entropy",),
    "judge": ("Certificate", "KKTResiduals", "Verdict", "certify"),
    "streams.lattice": ("CountLattice", "lattice_problem"),
    "inference.local_estimates": ("local_inference", "local_law"),
    "constraint": ("LeakageBudget",),
    "problem": ("PhiRank", "Problem"),
    "reduction": ("reduce",),
    "rule": ("Rule",),
    "samples": ("SampleReport",),
    "streams.sources": ("block_problem", "blocks_from", "map_problem", "write_blocks"),
}
_MODULES = ("catalog", "errors", "sensors")
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the home of an exported name at its first use (PEP 562)."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
