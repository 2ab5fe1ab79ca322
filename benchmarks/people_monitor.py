"""How often `ds.Monitor` raises a false alarm, and after how many records a true one.

    python benchmarks/people_monitor.py                  # ten minutes of a processor
    python benchmarks/people_monitor.py --streams 4      # a minute

False alarms: streams of a million records from laws that leak just what was promised. The monitor
looks after each of the first hundred records, then at times that grow by a tenth.

Delay: streams from laws of the same kind that leak 1.5 and 3 times the promise, with looks at times
that grow by a twentieth. "Informed" monitors have a table of 5,000 people whose guesses leak what
was promised, as a rule states it.

Tables are written as Markdown; `reports/people-promise.md` shows them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import discreet as ds
from discreet.measures.registry import measure_of
from discreet.people.extremes import leakage_of
from discreet.problems.constraint import LeakageBudget

RECORDS = 1_000_000
STATED = 5_000
SEED = 20261126


@dataclass(frozen=True)
class Case:
    """Rates [m, n] on the line from independence to a random law, with shares of groups."""

    measure: str
    promise: float
    guesses: int
    shares: tuple[float, ...]

    def rates(self, times: float) -> np.ndarray:
        """Return rates whose leakage is a given multiple of the promise."""
        rng = np.random.default_rng([SEED, self.guesses, len(self.shares)])
        flat = rng.dirichlet(np.full(self.guesses, 5.0))[:, None]
        far = rng.dirichlet(np.full(self.guesses, 2.0), size=len(self.shares)).T
        low = 0.0
        high = 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            law = (1.0 - middle) * flat + middle * far
            leaked = leakage_of(measure_of(self.measure), law, np.array(self.shares))
            low, high = (middle, high) if leaked < times * self.promise else (low, middle)
        return (1.0 - low) * flat + low * far

    def monitor(self, stated: np.ndarray | None = None) -> ds.Monitor:
        budget = LeakageBudget(self.promise, measure_of(self.measure))
        groups = range(len(self.shares))
        watch = ds.Monitor(budget, guesses=range(self.guesses), groups=groups)
        watch.watched[0].stated = stated
        return watch


HALF = (0.5, 0.5)
CASES = (
    Case("mutual-information", 0.01, 2, HALF),
    Case("mutual-information", 0.01, 3, (0.5, 0.3, 0.2)),
    Case("mutual-information", 0.01, 5, (0.1,) * 10),
    Case("parity-difference", 0.05, 2, (0.8, 0.2)),
    Case("parity-difference", 0.1, 3, (0.5, 0.3, 0.2)),
    Case("local-differential-privacy", 0.2, 2, HALF),
    Case("maximal-leakage", 0.05, 2, HALF),
)


def records(case: Case, rates: np.ndarray, count: int, rng: np.random.Generator) -> Any:
    """Draw the groups and guesses of `count` people."""
    group = rng.choice(len(case.shares), count, p=case.shares)
    guess = (rng.random(count)[:, None] > np.cumsum(rates.T, axis=1)[group, :-1]).sum(axis=1)
    return group, guess


def stated_table(case: Case, rng: np.random.Generator) -> np.ndarray:
    """People on whom the promise was shown."""
    group, guess = records(case, case.rates(1.0), STATED, rng)
    table = np.zeros((case.guesses, len(case.shares)))
    np.add.at(table, (guess, group), 1.0)
    return table


def first_alarm(
    case: Case, times: float, looks: list[int], informed: bool, stream: int
) -> int | None:
    """After how many records an alarm is raised; None without one."""
    rng = np.random.default_rng([SEED, stream, int(10 * times), informed])
    watch = case.monitor(stated_table(case, rng) if informed else None)
    rates = case.rates(times)
    for look in looks:
        if watch.update(*records(case, rates, look - watch.records, rng)):
            return watch.records
    return None


def grid(first: int, growth: float) -> list[int]:
    """Times of looks, up to all records."""
    looks = [first]
    while looks[-1] < RECORDS:
        looks.append(min(int(growth * looks[-1]) + 1, RECORDS))
    return looks


def line(cells: Any) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def words(case: Case) -> tuple[str, str]:
    return f"{case.measure} {case.promise:g}", f"{case.guesses} × {len(case.shares)}"


def false_alarms(streams: int) -> Iterator[str]:
    """A line for each law."""
    yield line(("promise", "guesses × groups", "false alarms"))
    yield line(["---"] * 3)
    looks = [*range(1, 101), *grid(110, 1.1)]
    total = 0
    for case in CASES:
        alarms = [first_alarm(case, 1.0, looks, bool(each % 2), each) for each in range(streams)]
        raised = sum(each is not None for each in alarms)
        total += raised
        yield line((*words(case), f"{raised} of {streams}"))
    yield line(("all", "", f"{total} of {streams * len(CASES)}"))


def delays(streams: int) -> Iterator[str]:
    """A line for each law: medians, and in brackets the nine of ten that came by then."""
    kinds = [(times, informed) for times in (1.5, 3.0) for informed in (False, True)]
    heads = [f"{times:g} ×{', informed' * informed}" for times, informed in kinds]
    yield line(("promise", "guesses × groups", *heads))
    yield line(["---"] * (2 + len(heads)))
    looks = grid(20, 1.05)
    for case in CASES:
        cells = []
        for times, informed in kinds:
            raised = [
                first_alarm(case, times, looks, informed, each) or np.inf for each in range(streams)
            ]
            middle, most = np.quantile(raised, (0.5, 0.9), method="higher")
            cells.append(" ".join((rounded(middle), f"({rounded(most)})")))
        yield line((*words(case), *cells))


def rounded(count: float) -> str:
    """Return the count with two digits."""
    if np.isinf(count):
        return f"> {RECORDS:,}"
    return f"{int(float(f'{count:.2g}')):,}"


def main() -> None:
    """Print both tables of the monitor."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--streams", type=int, default=30)
    asked = parser.parse_args()
    for table in (false_alarms(asked.streams), delays(asked.streams * 2 // 3 + 1)):
        for each in table:
            print(each, flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
