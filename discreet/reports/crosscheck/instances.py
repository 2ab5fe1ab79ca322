"""The instances to check: a seeded set, or the problems of the user.

The seeded set has every family of the catalog in every regime of the budget, two of them of other
measures.

Instance k belongs to family k mod F and regime (k + k div F) mod R, so that F·R instances meet
every pair and a shorter list still spreads over both. Within a family its entries take turns, and
in the regimes of other measures these do. Sizes are small enough for every backend: the aim is to
meet every kind of problem, not to measure speed. The same seed and size give the same set.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from discreet.checks import refuse_repeated
from discreet.errors import DiscreetError, InputError
from discreet.measures.g_leakage import GLeakage
from discreet.measures.registry import OTHERS
from discreet.problems.catalog import Entry, build, entries
from discreet.problems.catalog.registry import Budget
from discreet.problems.problem import Problem
from discreet.reports import notation

DEFAULT_SIZE = 48
"""Instances of a default run: every family in every regime, and every entry at least once."""

_FRACTIONS = (0.1, 0.5, 0.9)

REGIMES = (
    "perfect",
    *(f"fraction {fraction:g}" for fraction in _FRACTIONS),
    "tiny",
    "oblivious",
    "measure 0.5",
    "measure 0.05",
)
"""The kinds of budget, in the order in which they take turns; "measure" is a fraction of what the
Bayes rule leaks by it.
"""


@dataclass(frozen=True)
class CheckedInstance:
    """One problem under one budget.

    spec     the problem as typed: dirichlet:n=3,m=2,N=40,seed=7, or model.npz
    budget   the budget as typed: --perfect, --fraction 0.5 or --leakage 1e-10; empty: that of a
             file
    family   of the catalog entry, and regime, one of `REGIMES`; both are empty for a problem of the
             user
    """

    spec: str
    budget: str
    problem: Problem
    family: str = ""
    regime: str = ""

    @property
    def seeded(self) -> bool:
        """Whether it was drawn here, so that the accuracy of each class of methods is declared."""
        return bool(self.regime)

    @property
    def title(self) -> str:
        """The name of the instance in reports."""
        return f"{self.spec} {self.budget}".rstrip()

    def command(self, backends: tuple[str, ...]) -> str:
        """The command that solves it again with these backends."""
        among = f"--backends {','.join(backends)}" if backends else ""
        words = [shlex.quote(self.spec), self.budget, among]
        return f"discreet compare {' '.join(filter(None, words))}"


@dataclass(frozen=True)
class Selection:
    """The instances, whose titles differ, and a sentence for every entry that could not be built
    (its data are not installed).
    """

    instances: tuple[CheckedInstance, ...]
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_repeated([each.title for each in self.instances], "problem")


def select(seed: int, size: int) -> Selection:
    """`size` different instances; raises InputError for a size outside 1 … 10,000 or a negative
    seed.
    """
    if seed < 0:
        raise InputError(
            f"the seed is {seed} and must be at least 0; give another, such as --seed 0"
        )
    if size < 1:
        raise InputError(
            f"the set has {size} instances and needs at least one; give --size 1 or "
            "more, or leave it out"
        )
    if size > 10_000:
        raise InputError(
            f"the set has {size} instances and may have 10,000; give --size 10000 or "
            "less, and other seeds"
        )
    rng = np.random.default_rng(seed)
    families, left_out = _usable(rng)
    measures = itertools.cycle(rng.permutation(sorted(OTHERS)).tolist())
    instances: dict[str, CheckedInstance] = {}
    turn = 0
    while len(instances) < size:
        family = list(families)[turn % len(families)]
        visit = turn // len(families)
        chosen = families[family][visit % len(families[family])]
        regime = REGIMES[(turn + visit) % len(REGIMES)]
        instance = _instance(
            chosen, regime, rng, next(measures) if regime.startswith("measure") else None
        )
        instances.setdefault(instance.title, instance)
        turn += 1
    return Selection(tuple(instances.values()), tuple(left_out))


def _usable(rng: np.random.Generator) -> tuple[dict[str, list[Entry]], list[str]]:
    """Family -> its entries in the order of their turns, for those that can be built here."""
    families: dict[str, list[Entry]] = {}
    left_out = []
    for entry in entries():
        try:
            if entry.extra:
                build(entry.name)
        except DiscreetError as error:
            left_out.append(f"{entry.name}: {error}")
            continue
        families.setdefault(entry.family, []).append(entry)
    return {
        name: [members[k] for k in rng.permutation(len(members))]
        for name, members in families.items()
    }, left_out


def _instance(
    entry: Entry, regime: str, rng: np.random.Generator, measure: str | None
) -> CheckedInstance:
    spec = _spec(entry, rng)
    model = notation.problem(spec, budget=Budget(leakage=np.inf))
    if measure is not None:
        typed = _PARAMETERS[measure](model.n) if measure in _PARAMETERS else measure
        spec += f"{',' if ':' in spec else ':'}measure={typed}"
        model = model.with_budget(np.inf, measure=typed)
    if measure is not None and math.isinf(model.bayes_leakage):
        flag = "--leakage 0.5"
        budget = Budget(leakage=0.5)
    elif regime == "perfect":
        flag = "--perfect"
        budget = Budget(perfect=True)
    elif regime == "oblivious":
        flag = "--leakage inf"
        budget = Budget(leakage=np.inf)
    elif regime == "tiny":
        nats = float(rng.choice([1e-8, 1e-10, 1e-12]))
        flag = f"--leakage {nats:g}"
        budget = Budget(leakage=nats)
    else:
        fraction = float(regime.split()[1])
        flag = f"--fraction {fraction:g}"
        budget = Budget(fraction=fraction)
    return CheckedInstance(spec, flag, budget.apply(model), entry.family, regime)


def _spec(entry: Entry, rng: np.random.Generator) -> str:
    """The entry as typed: in small sizes if it is known here, else (of other packages) by default;
    with a drawn seed.
    """

    def draw(interval: re.Match[str]) -> str:
        return str(rng.integers(int(interval[1]), int(interval[2]) + 1))

    typed = [re.sub(r"(\d+)\.\.(\d+)", draw, _SIZES[entry.name])] if entry.name in _SIZES else []
    if any(parameter.name == "seed" for parameter in entry.parameters):
        typed.append(f"seed={rng.integers(1000)}")
    return ":".join([entry.name, ",".join(typed)]).rstrip(":")


_PARAMETERS: Mapping[str, Callable[[int], str]] = {
    "sibson": lambda _: "sibson:alpha=2",
    "g-leakage": lambda n: str(GLeakage(np.eye(n) + np.eye(n, k=1) / 2.0)),
}
"""Measures with parameters, for n private values. An action of g-leakage names a value, and gains
half at the next.
"""

_SIZES = {
    "paper-single": "bins=4..40",
    "paper-multi": "sensors=2..5,bins=2..4",
    "multi-mixed": "sensors=2..3,bins=2..4",
    "multi-groups": "sizes=1..2,1..2,bins=2..3",
    "release": "n=3..4",
    "binary-channel": "noise=0.1..3",
    "census": "educations=2..4,occupations=2..4",
    "dirichlet": "n=2..4,m=2..4,N=5..40",
    "mixture": "n=2..3,m=2..3,N=10..40",
    "weighted-mixture": "n=2..3,m=2..5,N=10..40",
    "smart-meter": "bins=6..24",
    "building": "temperature_bins=3..6,co2_bins=3..6",
    "road": "bins=8..32",
    "anes96": "bins=2..3,2,2..3,2",
    "fair": "bins=2",
    "zero-mass": "n=2..4,m=2..4,N=10..50",
    "near-deterministic": "n=2..3,m=2..3,N=12..40",
    "duplicated": "N=4..12,copies=2..6",
    "x-equals-y": "n=2..4,N=8..40",
    "independent": "n=2..4,m=2..4,N=8..40",
    "tiny-budget": "bins=4..40",
    "slack-budget": "bins=4..40",
}
"""Parameters as typed; of two numbers with .. between them, one from the first to the second is
drawn.
"""
