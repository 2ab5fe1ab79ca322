"""Backend `qics`: the leakage as QICS' own classical relative entropy cones, one per guess.

Method: min ⟨L, P⟩ with the last guess eliminated and all else in cones, h − G x ∈ K: R_il ≥ 0 for i < m and
v_l − Σ_i R_il ≥ 0 (`lowering` has R and v), Σ_i t_i ≤ 1, and for each guess (ε t_i, u_i, π s_i)/ε in the cone
{t ≥ Σ_j x_j log(x_j/y_j)} of dimension 2n + 1, u_i = A P_i and s_i written out in P. At budget 0 the whitened
equations of `lowering` replace the cones as A x = b; at budget inf only bounds are left. QICS has a shortcut for its
standard form A x = b with the law of (X, Ŷ) as cone variables. In that form it stops with gaps of 1e-1 to 1e-8 and oversteps
budgets; in this form gaps are 1e-9 to 1e-12 up to 10 of the paper's sensors, 1e-6 at 20.

Source: K. He, J. Saunderson, H. Fawzi, "QICS: Quantum Information Conic Solver", arXiv:2410.17803 (2024); the barrier of the
cone: H. Fawzi, J. Saunderson, "Optimal self-concordant barriers for quantum relative entropies", SIAM J. Optim. 33 (2023).

Cannot: scale. QICS factorises a dense matrix with (m − 1) N rows in every iteration, in Python and LAPACK. It refuses more
than 4,000 such variables. Time is checked between iterations only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program, Setting, point_of
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Qics(Unlifted):
    """Entropy cones through QICS; see the module's docstring."""

    name = "qics"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=4_000,  # 58 s on the single sensor
        largest_variables=4_000,
        gives_duals=True,
        method="relative entropy cones, by QICS's dense nonsymmetric interior point method",
        citation="K. He, J. Saunderson, H. Fawzi, QICS, arXiv:2410.17803 (2024)",
        method_class="cones",
        falls_short={"near-deterministic-N=20-none": "an error of 6e-10 is within its absolute tolerances"},
        libraries=("qics",),
        extra="peers",
        peer=True,
    )
    _share = ShareOfGap(Precision.step, 1e-13)
    tuning: Tuning = (
        Tuned("verbose", 0, 2, "nothing is printed"),
        Tuned("tol_gap", _share, 1e-8, "relative to the objective, which only the excess error enters"),
        Tuned("tol_feas", _share, 1e-8, "a leak of tol_feas is not small beside a small budget"),
    )

    def lower(self, problem: Problem, options: Options) -> Lowered[dict[str, object], dict[str, Setting]]:
        """The arrays c, G, h, A, b and the cones of a qics.Model."""
        program = Program.of(problem, 0.5)  # powers of 0 and 1 made no measurable difference
        limits = {"max_iter": options.max_iterations, "max_time": options.time_limit}
        model = _model(program) if problem.m > 1 else {}
        return Lowered(program, model, native(self.tuning, options, problem.N, limits))

    def solve(self, lowered: Lowered[dict[str, object], dict[str, Setting]], options: Options) -> Raw[Answer]:
        """Run QICS; `claimed` is its solution and exit status. Raises Interrupted at the time limit, BackendError."""
        import qics

        program = lowered.program
        if program.problem.m == 1:
            return Raw("one guess: nothing to decide", program.answer(program.scale, np.zeros(0)), 0)
        with np.errstate(all="ignore"):  # its line search steps out of the cones and back
            found = qics.Solver(qics.Model(**lowered.model), **lowered.options).solve()
        claimed = f"{found['sol_status']} ({found['exit_status']})"
        variables = point_of("QICS", claimed, found["exit_status"] == "max_time", options, found["x_opt"].ravel())
        return Raw(
            claimed, _answer(program, variables, found["y_opt"].ravel(), found["z_opt"].vec.ravel()), int(found["num_iter"])
        )


def _answer(program: Program, variables: Array, prices: Array, slopes: Array) -> Answer:
    """The last guess is the rest; prices are those of the equations, slopes those of the cones."""
    problem = program.problem
    masses = variables[: (problem.m - 1) * problem.N].reshape(-1, problem.N)
    whole = np.vstack([masses, program.scale - masses.sum(axis=0)]).ravel()
    if not program.leaks:
        return program.answer(whole, np.concatenate([np.zeros(problem.N), prices]))
    estimator = whole.reshape(program.cost.shape) / program.scale
    if not np.isfinite(slopes).all():
        return Answer(estimator)
    return Answer(estimator, *_cone_duals(program, slopes[problem.m * problem.N :]))


def _cone_duals(program: Program, slopes: Array) -> tuple[Array, float]:
    """(tilt, multiplier) of the duals of the budget and then, guess by guess, of t_i, u_i and π s_i, in units of 1/ε."""
    problem = program.problem
    n, unit = problem.n, program.unit / problem.budget
    each = slopes[1:].reshape(problem.m, 2 * n + 1)
    tilt = each[:, 1 : 1 + n] + (each[:, 1 + n :] @ problem.p_x)[:, None]
    return -unit * tilt, unit * max(0.0, float(slopes[0]))


def _model(program: Program) -> dict[str, object]:
    """What qics.Model takes: min c·x, A x = b, h − G x in the cones."""
    import qics
    from scipy import sparse

    problem = program.problem
    m, outcomes = problem.m, problem.N
    guesses = m if program.leaks else 0  # how many variables t_i there are
    masses = (m - 1) * outcomes
    bounds = sparse.vstack([-sparse.eye_array(masses), sparse.hstack([sparse.eye_array(outcomes)] * (m - 1))])
    rows, right = [sparse.hstack([bounds, sparse.csc_array((m * outcomes, guesses))])], [np.zeros(masses), program.scale]
    cones = [qics.cones.NonNegOrthant(m * outcomes + program.leaks)]
    if program.leaks:
        entropy, offsets = _entropy_rows(program)
        rows.append(entropy)
        right.append(offsets)
        cones += [qics.cones.ClassRelEntr(problem.n) for _ in range(m)]
    cost = np.concatenate([(program.cost[:-1] - program.cost[-1]).ravel(), np.zeros(guesses)])
    found = {"c": cost[:, None], "G": sparse.csr_matrix(sparse.vstack(rows)), "h": np.concatenate(right)[:, None]}
    matrix = program.privacy_equations()
    if matrix is not None:
        equations = matrix[:, :masses]
        found |= {"A": sparse.csr_matrix(equations), "b": np.zeros((equations.shape[0], 1))}
    return found | {"cones": cones}


def _entropy_rows(program: Program) -> tuple[csr_array, Array]:
    """The rows of G and h for Σ_i t_i ≤ 1 and, guess by guess, t_i, u_i/ε, π s_i/ε; the last guess is the rest."""
    from scipy import sparse

    problem = program.problem
    m, n, outcomes = problem.m, problem.n, problem.N
    joint = problem.p_xz / problem.budget / program.scale
    independent = problem.p_x[:, None] * problem.p_z / problem.budget / program.scale
    body = np.vstack([np.zeros((1, outcomes)), joint, independent])
    masses = np.zeros((1 + m * (2 * n + 1), (m - 1) * outcomes))
    excess = np.zeros((masses.shape[0], m))
    excess[0] = 1.0
    for i in range(m):
        cone = slice(1 + i * (2 * n + 1), 1 + (i + 1) * (2 * n + 1))
        excess[cone.start, i] = -1.0
        if i < m - 1:
            masses[cone, i * outcomes : (i + 1) * outcomes] = -body
        else:
            masses[cone] = np.tile(body, m - 1)
    offsets = np.zeros(masses.shape[0])
    offsets[0] = 1.0
    offsets[-2 * n :] = np.tile(problem.p_x, 2) / problem.budget
    return sparse.csr_array(np.hstack([masses, excess])), offsets
