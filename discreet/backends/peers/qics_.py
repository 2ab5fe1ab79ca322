"""Backend `qics`: the leakage as QICS' own classical relative entropy cones, one per guess.

Method: min ⟨L, P⟩ with the last guess eliminated and everything else in cones, h − G x ∈ K: R_il ≥
0 for i < m and v_l − Σ_i R_il ≥ 0 (`lowering` defines R and v), Σ_i t_i ≤ 1, and for each guess (ε
t_i, u_i, π s_i)/ε in the cone {t ≥ Σ_j x_j log(x_j/y_j)} of dimension 2n + 1, with u_i = A P_i and
s_i expressed in P. At budget 0 the whitened equations of `lowering` replace the cones as A x = b;
at budget inf only bounds remain. QICS has a shortcut for its standard form A x = b with the law of
(X, Ŷ) as cone variables. In that form it stops with gaps of 1e-1 to 1e-8 and exceeds budgets; in
this form gaps are 1e-9 to 1e-12 up to 10 of the paper's sensors, 1e-6 at 20.

Other measures of leakage: the divergence of each posterior has ε s_i instead of ε t_i, chi-square
has second-order cones and linear measures have inequalities, all expressed in P.

Source: K. He, J. Saunderson, H. Fawzi, "QICS: Quantum Information Conic Solver", arXiv:2410.17803
(2024); the barrier of the cone: H. Fawzi, J. Saunderson, "Optimal self-concordant barriers for
quantum relative entropies", SIAM J. Optim. 33 (2023).

Limitations: no Sibson's information, for which it has no cone; it does not scale. QICS factorises a
dense matrix with (m − 1) N rows in every iteration, in Python and LAPACK. It refuses more than
4,000 such variables. Time is checked only between iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program, Setting, point_of
from discreet.backends.parts import LeakageConstraint, PriorGroup
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.measures.measure import Cone, Scope
from discreet.measures.registry import linear_or_of
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Qics(Unlifted):
    """Entropy cones through QICS; see the docstring of the module."""

    name = "qics"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=4_000,  # 58 s on the single sensor
        largest_variables=4_000,
        gives_duals=True,
        method="relative entropy cones, by QICS's dense nonsymmetric interior point method",
        citation="K. He, J. Saunderson, H. Fawzi, QICS, arXiv:2410.17803 (2024)",
        method_class="cones",
        falls_short={
            "near-deterministic-N=20-none": ("an error of 6e-10 is within its absolute tolerances")
        },
        libraries=("qics",),
        extra="peers",
        peer=True,
        measures=linear_or_of(Cone.ENTROPY, Cone.QUADRATIC),
        several=True,
    )
    _share = ShareOfGap(Precision.step, 1e-13)
    tuning: Tuning = (
        Tuned("verbose", 0, 2, "nothing is printed"),
        Tuned(
            "tol_gap",
            _share,
            1e-8,
            ("relative to the objective, which only the excess error enters"),
        ),
        Tuned("tol_feas", _share, 1e-8, "a leak of tol_feas is not small next to a small budget"),
    )

    def lower(self, problem: Problem, options: Options) -> Lowered[_QicsModel, dict[str, Setting]]:
        """Return the arrays c, G, h, A, b and the cones of a qics.Model."""
        program = Program.of(problem, 0.5)  # powers of 0 and 1 made no measurable difference
        model = _model(program) if problem.m > 1 else _QicsModel({}, [], [])
        settings = native(self.tuning, options, problem.N, "max_iter", "max_time")
        return Lowered(program, model, settings)

    def solve(
        self, lowered: Lowered[_QicsModel, dict[str, Setting]], options: Options
    ) -> Raw[Answer]:
        """Run QICS; `claimed` is its solution and exit status. Raises Interrupted at the time
        limit, BackendError.
        """
        import qics

        program = lowered.program
        if program.problem.m == 1:
            return Raw(
                ("one guess: nothing to decide"), program.answer(program.scale, np.zeros(0)), 0
            )
        with np.errstate(all="ignore"):  # its line search leaves the cones temporarily
            found = qics.Solver(qics.Model(**lowered.model.arguments), **lowered.options).solve()
        claimed = f"{found['sol_status']} ({found['exit_status']})"
        variables = point_of(
            "QICS", claimed, found["exit_status"] == "max_time", options, found["x_opt"].ravel()
        )
        answer = _answer(
            lowered.program,
            lowered.model,
            variables,
            found["y_opt"].ravel(),
            found["z_opt"].vec.ravel(),
        )
        return Raw(claimed, answer, int(found["num_iter"]))


@dataclass(frozen=True)
class _ConeRows:
    """Rows of a cone: `body` P_i + extra variables, where body [r, N] = slopes [r, k] A for the
    rows A of a group.

    extra    positions among the extra variables, each with a factor for every row [extras, r]
    """

    guess: int
    group: PriorGroup
    slopes: Array
    body: Array
    extra: Mapping[int, Array]


@dataclass(frozen=True)
class _QicsModel:
    """The arguments of qics.Model and, for the duals, the blocks by their first rows and the rows
    of each part's budget.
    """

    arguments: dict[str, object]
    blocks: list[tuple[int, _ConeRows]]
    budgets: list[range]


def _answer(
    program: Program, model: _QicsModel, variables: Array, prices: Array, slopes: Array
) -> Answer:
    """Return the answer; its last guess is one minus the others. prices: of the equations; slopes:
    of the cones.
    """
    problem = program.problem
    masses = variables[: (problem.m - 1) * problem.N].reshape(-1, problem.N)
    estimator = program.estimator(np.vstack([masses, program.scale - masses.sum(axis=0)]))
    if not (np.isfinite(slopes).all() and np.isfinite(prices).all()):
        return Answer(estimator)
    tilt = program.private_tilt(prices)
    for first, block in model.blocks:
        tilt[block.guess, block.group.rows] -= program.unit * (
            slopes[first : first + len(block.slopes)] @ block.slopes
        )
    budgets = [float(slopes[rows.start : rows.stop].sum()) for rows in model.budgets]
    return Answer(estimator, tilt, program.multipliers(budgets))


def _model(program: Program) -> _QicsModel:
    """Return the model min c·x with A x = b and h − G x in the cones."""
    import qics
    from scipy import sparse

    problem = program.problem
    m = problem.m
    outcomes = problem.N
    masses = (m - 1) * outcomes
    bounds = sparse.vstack(
        [-sparse.eye_array(masses), sparse.hstack([sparse.eye_array(outcomes)] * (m - 1))]
    )
    found = _QicsCones(program, m * outcomes)
    for part in program.parts:
        found.add_part(part)
    cost = np.concatenate([(program.cost[:-1] - program.cost[-1]).ravel(), np.zeros(found.extras)])
    rows, right = found.arrays()
    wide = sparse.hstack([bounds, sparse.csc_array((m * outcomes, found.extras))])
    right = np.concatenate([np.zeros(masses), program.scale, right])
    arguments: dict[str, object] = {
        "c": cost[:, None],
        "G": sparse.csr_matrix(sparse.vstack([wide, rows])),
        "h": right[:, None],
    }
    matrix = program.privacy_equations()
    if matrix is not None:
        equations = sparse.hstack(
            [matrix[:, :masses], sparse.csc_array((matrix.shape[0], found.extras))]
        )
        arguments |= {"A": sparse.csr_matrix(equations), "b": np.zeros((equations.shape[0], 1))}
    cones = [qics.cones.NonNegOrthant(m * outcomes), *found.cones]
    return _QicsModel(arguments | {"cones": cones}, found.blocks, found.budgets)


class _QicsCones:
    """The cones of all parts, after `count` rows; `extras` counts the variables in addition to
    R.
    """

    def __init__(self, program: Program, count: int) -> None:
        self.program = program
        self.count = count
        self.extras = 0
        self.cones = list[object]()
        self.blocks = list[tuple[int, _ConeRows]]()
        self.budgets = list[range]()
        # A row, the extra variables subtracted there, and the right-hand side.
        self.sums: list[tuple[int, list[int], float]] = []

    def add_part(self, part: LeakageConstraint) -> None:
        """Add the cones of a part, and then its budget."""
        import qics

        smooth = {Cone.QUADRATIC: self._quadratic, Cone.ENTROPY: self._entropy}
        each = self._pieces if part.linear else smooth[part.cone]
        m = self.program.problem.m
        own = [
            [place for k, group in enumerate(part.groups) for place in each(part, i, k, group)]
            for i in range(m)
        ]
        bounded = part.bounded(own)
        self.budgets.append(range(self.count, self.count + len(bounded)))
        for places in bounded:
            self.sums.append((self.count, places, part.level / part.unit))
            self.count += 1
        if bounded:
            self.cones.append(qics.cones.NonNegOrthant(len(bounded)))

    def _new(self) -> int:
        self.extras += 1
        return self.extras - 1

    def _add(self, cone: object, block: _ConeRows) -> None:
        self.cones.append(cone)
        self.blocks.append((self.count, block))
        self.count += len(block.slopes)

    def _pieces(self, part: LeakageConstraint, guess: int, k: int, group: PriorGroup) -> list[int]:
        """Add h − R (D, s) ≥ 0, or −R (D, s) ≥ 0, and return the positions of h."""
        import qics

        found = list[int]()
        slopes, body = _law(part, group)
        for piece in part.pieces[k]:
            extra = dict[int, Array]()
            if part.measure.scope is not Scope.POSTERIOR:
                found.append(self._new())
                extra[found[-1]] = np.ones(len(piece))
            self._add(
                qics.cones.NonNegOrthant(len(piece)),
                _ConeRows(guess, group, -piece @ slopes, -piece @ body, extra),
            )
        return found

    def _quadratic(
        self, part: LeakageConstraint, guess: int, k: int, group: PriorGroup
    ) -> list[int]:
        """Add |(h − s, 2 D/√π)| ≤ h + s, and return the position of h."""
        import qics

        slopes, body = _law(part, group)
        n = group.prior.size
        mix = np.zeros((n + 2, n + 1))  # coefficients of (D, s)
        mix[:2, n] = (1.0, -1.0)
        mix[2:, :n] = np.diag(2.0 / np.sqrt(group.prior))
        place = self._new()
        own = {place: np.append([1.0, 1.0], np.zeros(n))}
        self._add(
            qics.cones.SecondOrder(n + 1), _ConeRows(guess, group, mix @ slopes, mix @ body, own)
        )
        return [place]

    def _entropy(self, part: LeakageConstraint, guess: int, k: int, group: PriorGroup) -> list[int]:
        """Add (t, u, π s)/B in the cone t ≥ Σ_j u_j log(u_j/(π_j s)), with t = B s if each guess is
        bounded.
        """
        import qics

        n = group.prior.size
        every = np.ones((1, group.prior.size))
        independent = group.prior[:, None] * every
        total = part.measure.scope is Scope.TOTAL
        first = 0.0 if total else part.level
        slopes = np.vstack([first * every, np.eye(n), independent]) / part.level
        body = (
            np.vstack([first * group.mass, group.joint, group.prior[:, None] * group.mass])
            / part.level
        )
        place = [self._new()] if total else []
        own = {each: np.append(1.0, np.zeros(2 * n)) for each in place}
        self._add(qics.cones.ClassRelEntr(n), _ConeRows(guess, group, slopes, body, own))
        return place

    def arrays(self) -> tuple[csr_array, Array]:
        """Return the rows of G and h of all cones."""
        from scipy import sparse

        program = self.program
        problem = self.program.problem
        outcomes = problem.N
        start = problem.m * problem.N
        masses = (problem.m - 1) * outcomes
        rows = np.zeros((self.count - start, masses + self.extras))
        right = np.zeros(self.count - start)
        for first, block in self.blocks:
            at = slice(first - start, first - start + len(block.slopes))
            if block.guess < problem.m - 1:
                rows[at, block.guess * outcomes : (block.guess + 1) * outcomes] = (
                    -block.body / program.scale
                )
            else:
                rows[at, :masses] = np.tile(block.body / program.scale, problem.m - 1)
                right[at] = block.slopes @ problem.p_x[block.group.rows]
            for place, factors in block.extra.items():
                rows[at, masses + place] = -factors
        for row, places, most in self.sums:
            rows[row - start, [masses + place for place in places]] = 1.0
            right[row - start] = most
        return sparse.csr_array(rows), right


def _law(part: LeakageConstraint, group: PriorGroup) -> tuple[Array, Array]:
    """Return (D, s) as a function of u = A P: slopes [k + 1, k], and of P [k + 1, N]."""
    n = group.prior.size
    slopes = np.vstack([(np.eye(n) - group.prior[:, None]) / part.root, np.ones((1, n))])
    return slopes, np.vstack([group.deviation / part.root, group.mass])
