"""Random Markov chains, to see how often guesses over time are certified: `python
benchmarks/guesses_over_time.py`.

Every chain has 2 to 4 states and 2 to 5 steps; its laws are drawn from Dirichlet distributions,
from nearly deterministic to even. X and Y are parts of the state. The budget is a share of what the
causal Bayes rule leaks, or 0. With `--sparse`, laws are closer to deterministic, and some chains
have zeros, equal states or a rare state.

Each certificate is checked by ball arithmetic (python-flint): the error probability and the leakage
of the exact quotients of the returned kernels, and the bound that the returned duals prove. Each
problem that is not certified to 1e-9 is listed; a table counts them by steps. The exit status is 1
if a certificate is false or an attempt failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from typing import Any

import flint
import numpy as np

import discreet as ds

GAP = 1e-9


def chain(rng: np.random.Generator, sparse: bool = False) -> ds.CausalProblem:
    """A chain whose Bayes rule leaks at least 1e-6 nats."""
    while True:
        steps = int(rng.integers(2, 6))
        states = int(rng.integers(2, 5))
        outcomes = 2 if steps > 3 else int(rng.integers(2, 5))
        evenness = 10.0 ** rng.uniform(*((-1.5, 0.0) if sparse else (-0.8, 0.5)))
        move = rng.dirichlet(np.full(states, evenness), states)
        laws = [
            rng.dirichlet(np.ones(states)),
            move,
            rng.dirichlet(np.full(outcomes, evenness), states),
        ]
        if sparse:
            _thin(rng, laws)
        else:
            move += 1e-3
        problem = ds.CausalProblem.from_chain(
            *[law / law.sum(axis=-1, keepdims=True) for law in laws],
            np.inf,
            steps=steps,
            private=np.arange(states) % 2,
            public=np.arange(states) // 2 % 2 if states > 2 else np.arange(states),
            name=f"{states} states, {outcomes} measurements, Dirichlet({evenness:.2f})",
        )
        if problem.bayes_leakage > 1e-6:
            return problem


def drawn(seed: int, index: int) -> tuple[str, ds.CausalProblem]:
    """Chain number `index`, a pure function of both numbers, and words that build it again.

    Every second chain is sparse. Three budgets in ten are 0, two are tiny, and the others go from
    1e-3 of what the causal Bayes rule leaks to all of it.
    """
    rng = np.random.default_rng([seed, index])
    problem = chain(rng, rng.random() < 0.5)
    decades = ((0.0, 3.0), (0.0, 3.0), (3.0, 30.0))[int(rng.integers(3))]
    share = 0.0 if rng.random() < 0.3 else float(10.0 ** -rng.uniform(*decades))
    words = f"guesses_over_time.drawn({seed}, {index})"
    return words, problem.with_budget(share * problem.bayes_leakage)


def _thin(rng: np.random.Generator, laws: list[Any]) -> None:
    """Change the laws in place: small entries become 0, two states become equal, a state becomes
    rare, or nothing.
    """
    first, move, seen = laws
    style = rng.integers(4)
    if style == 1:
        for law in laws:
            law[law < 0.02] = 0.0
    elif style == 2:
        move[1] = move[0]
        seen[1] = seen[0]
    elif style == 3:
        rarity = 10.0 ** rng.uniform(-12.0, -2.0)
        first[0] *= rarity
        move[:, 0] = np.maximum(move[:, 0], 1e-9) * rarity


def falsehoods(solution: ds.Solution) -> list[str]:
    """A sentence for each number of the certificate that ball arithmetic of 400 bits refutes."""
    judged = solution.certificate
    problem = solution.problem
    rule = solution.rule
    assert judged is not None
    assert isinstance(problem, ds.CausalProblem)
    assert isinstance(rule, ds.CausalRule)
    flint.ctx.prec = 400
    joint = flint.arb_mat(problem.noncausal.p_xz.tolist())
    loss = flint.arb_mat(problem.noncausal.loss.tolist())
    weights = _weights(rule)
    law = weights * joint.transpose()  # of each sequence of guesses and each private value
    guesses = range(problem.m)
    values = range(problem.n)
    mass = [sum(law[i, j] for j in values) for i in guesses]
    prior = [sum(joint[j, k] for k in range(problem.N)) for j in values]
    total = sum(prior)
    error = sum(loss[i, k] * weights[i, k] for i in guesses for k in range(problem.N))
    found = []
    if error > judged.upper:
        found.append(
            f"the rule errs with probability {error.str(20)}, above the upper bound "
            f"{judged.upper!r}"
        )
    ratios = [
        (law[i, j], law[i, j] * total / (mass[i] * prior[j]))
        for i in guesses
        if mass[i] > 0
        for j in values
        if prior[j] > 0
    ]
    if problem.budget > 0.0:
        leakage = sum(entry * ratio.log() for entry, ratio in ratios if entry > 0) / total
        if leakage > judged.leakage_ceiling or judged.leakage_ceiling > problem.budget:
            found.append(
                f"the rule leaks {leakage.str(20)}; ceiling {judged.leakage_ceiling!r}, "
                f"budget {problem.budget!r}"
            )
    elif any(abs(ratio - 1) > judged.private_within for _, ratio in ratios):
        found.append(f"the rule is not private within {judged.private_within!r}")
    bound = _bound(solution, loss, joint, [each / total for each in prior], total)
    if judged.lower > max(bound, 0):
        found.append(f"the lower bound is {judged.lower!r}; the duals prove {bound.str(20)}")
    if not judged.lower <= judged.upper:
        found.append("the lower bound is above the upper bound")
    certified = solution.status is ds.Status.CERTIFIED
    if certified and not judged.upper - judged.lower <= GAP * max(judged.upper, 1e-100):
        found.append("it is called certified, and its bracket is wider than the gap")
    return found


def _weights(rule: ds.CausalRule) -> Any:
    """Products of the exact quotients of the kernels by their totals, as a matrix of balls."""
    reached = [[flint.arb(1)]]
    for step, kernel in enumerate(rule.kernels, 1):
        count = rule.tree.measurements[step - 1]
        each = kernel.tolist()
        found = []
        for before, block in zip(reached, each, strict=True):
            columns = [[flint.arb(value) for value in row] for row in block]
            totals = [sum(column) for column in zip(*columns, strict=True)]
            shares = [before[place // count] / total for place, total in enumerate(totals)]
            found += [
                [value * share for value, share in zip(row, shares, strict=True)] for row in columns
            ]
        reached = found
    return flint.arb_mat(reached)


def _bound(solution: ds.Solution, loss: Any, joint: Any, prior: list[Any], total: Any) -> Any:
    """What the duals prove, for the stored masses, whose total may differ from 1 by rounding."""
    problem = solution.problem
    judged = solution.certificate
    assert isinstance(problem, ds.CausalProblem)
    assert judged is not None
    assert solution.tilt is not None
    tilted = loss + flint.arb_mat(solution.tilt.tolist()) * joint
    costs = [[tilted[i, k] for k in range(problem.N)] for i in range(problem.m)]
    for step in range(problem.steps, 0, -1):
        made = problem.tree.guesses[step - 1]
        count = problem.tree.measurements[step - 1]
        blocks = [costs[start : start + made] for start in range(0, len(costs), made)]
        best = [[_least(column) for column in zip(*block, strict=True)] for block in blocks]
        costs = [
            [sum(row[start : start + count]) for start in range(0, len(row), count)] for row in best
        ]
    rows = [
        [flint.arb(value) for value in row] for row in np.unique(solution.tilt, axis=0).tolist()
    ]
    price = float(np.asarray(solution.multiplier))
    charged = flint.arb(0)
    if problem.budget == 0.0:
        excess = [sum(p * t for p, t in zip(prior, row, strict=True)) for row in rows]
        if judged.private_within > 0.0:
            charged += max(_spread(row, prior) for row in rows) * judged.private_within
    elif price == 0.0:
        excess = [_largest(row) for row in rows]
    else:
        charged += flint.arb(price) * problem.budget
        sums = [
            sum(p * (t / price).exp() for p, t in zip(prior, row, strict=True) if p > 0)
            for row in rows
        ]
        excess = [price * each.log() for each in sums]
    return costs[0][0] - (charged + _largest([flint.arb(0), *excess])) * total


def _spread(row: list[Any], prior: list[Any]) -> Any:
    """min over entries c of the row of Σ_j π_j |t_j − c|."""
    return _least(
        [sum(p * abs(t - middle) for p, t in zip(prior, row, strict=True)) for middle in row]
    )


def _least(values: Any) -> Any:
    least, *others = values
    for value in others:
        least = least.min(value)
    return least


def _largest(values: list[Any]) -> Any:
    return -_least([-value for value in values])


def main() -> int:
    """Solve and check as many chains as asked for; 1 if a certificate is false or an attempt
    failed.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--perfect", action="store_true", help="budget 0 instead of a share from 1e-3 to 1"
    )
    parser.add_argument(
        "--sparse", action="store_true", help="chains with zeros, equal states and rare states"
    )
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    counts = Counter[tuple[int, str]]()
    false = 0
    started = time.process_time()
    for number in range(asked.count):
        problem = chain(rng, asked.sparse)
        share = 0.0 if asked.perfect else float(10.0 ** rng.uniform(-3.0, 0.0))
        solution = ds.solve(problem.with_budget(share * problem.bayes_leakage), gap=GAP)
        counts[problem.steps, solution.status.value] += 1
        words = f"{number}: {problem.steps} steps, {problem.name}, share {share:.1e}"
        if solution.status is not ds.Status.CERTIFIED:
            print(f"{words}: {solution}", flush=True)
        if solution.certificate is not None and (faults := falsehoods(solution)):
            false += 1
            print(f"{words}: FALSE: {'; '.join(faults)}", flush=True)
    for (steps, status), count in sorted(counts.items()):
        print(f"{steps} steps: {count} {status}")
    failed = sum(
        count for (_, status), count in counts.items() if status not in ("certified", "inaccurate")
    )
    print(
        f"{false} false, {failed} failed, {(time.process_time() - started) / asked.count:.3f} "
        "processor seconds each"
    )
    return int(false + failed > 0)


if __name__ == "__main__":
    sys.exit(main())
