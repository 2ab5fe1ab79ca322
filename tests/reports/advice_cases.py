"""Made-up measurements for tests of the advice: rows of problems that exist, with times and
outcomes by a known law.
"""

from functools import cache

from measured import measurement

import discreet as ds

ENTRIES = tuple(f"kind-{k}" for k in range(18))


def row(
    problem,
    backend,
    seconds,
    *,
    entry="file",
    status=ds.Status.CERTIFIED,
    gap=1e-9,
    reached=1e-12,
    repeat=0,
):
    """One attempt; an answer that violates privacy leaks twice the budget."""
    broken = status is ds.Status.VIOLATED_PRIVACY
    answered = status in (ds.Status.CERTIFIED, ds.Status.VIOLATED_PRIVACY)
    return measurement(
        cell=f"{entry} {problem.N} {problem.budget} {backend} {gap} {repeat}",
        problem=entry,
        entry=entry,
        family="random",
        parameters={},
        budget_word=f"budget={problem.budget:g}",
        budget_nats=problem.budget,
        private_values=problem.n,
        guesses=problem.m,
        outcomes=problem.N,
        distinct_outcomes=problem.N,
        bayes_error=problem.bayes_error,
        bayes_leakage_nats=problem.bayes_leakage,
        constant_error=problem.constant_error,
        problem_hash=f"{entry} {problem.N} {problem.budget}",
        backend=backend,
        profile=f"{gap:g}",
        gap_target=gap,
        repeat=repeat,
        status=status,
        upper=problem.bayes_error if answered else float("inf"),
        relative_gap=reached if answered else float("inf"),
        own_leakage_nats=problem.budget * (2.0 if broken else 0.5),
        own_phi_residual=1.0 if broken else 0.0,
        solve_seconds=seconds,
    )


@cache
def sensor(bins, fraction=0.5):
    """The paper's single sensor at a share of the Bayes leakage."""
    return ds.problems.paper_single(bins=bins, fraction=fraction)


def grid(laws, *, fraction=0.5, gap=1e-9):
    """Every backend on two sizes of every made-up entry; seconds by the law of N, two repeats a
    tenth of a percent apart.
    """
    rows = []
    for k, entry in enumerate(ENTRIES):
        for bins in (8 + k, 64 + 8 * k):
            problem = sensor(bins, fraction)
            for backend, law in laws.items():
                rows += [
                    row(
                        problem, backend, law(bins) * (1 + 1e-3 * r), entry=entry, gap=gap, repeat=r
                    )
                    for r in (0, 1)
                ]
    return rows
