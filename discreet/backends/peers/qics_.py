"""Backend `qics`: the leakage as QICS' own classical relative entropy cones, one per guess.

Method: the cone program of `cones` with whole relative entropies, without the variables that the
equations determine (the last guess, D and s). Everything is in cones, h − G x ∈ K: R_il ≥ 0 for i <
m and v_l − Σ_i R_il ≥ 0 (`lowering` defines R and v), Σ_i t_i ≤ 1, and for each guess (ε t_i, u_i,
π s_i)/ε in the cone {t ≥ Σ_j x_j log(x_j/y_j)} of dimension 2n + 1, with u_i = A P_i and s_i
expressed in P. At budget 0 the whitened equations of `lowering` replace the cones as A x = b; at
budget inf only bounds remain. QICS has a shortcut for its standard form A x = b with the law of (X,
Ŷ) as cone variables. In that form it stops with gaps of 1e-1 to 1e-8 and exceeds budgets; in this
form gaps are 1e-9 to 1e-12 up to 10 of the paper's sensors, 1e-6 at 20.

Other measures of leakage: chi-square has second-order cones and linear measures have inequalities,
all expressed in P.

Source: K. He, J. Saunderson, H. Fawzi, "QICS: Quantum Information Conic Solver", arXiv:2410.17803
(2024); the barrier of the cone: H. Fawzi, J. Saunderson, "Optimal self-concordant barriers for
quantum relative entropies", SIAM J. Optim. 33 (2023).

Limitations: no Sibson's information, for which it has no cone; it does not scale. QICS factorises a
dense matrix with (m − 1) N rows in every iteration, in Python and LAPACK. It refuses more than
4,000 such variables. Time is checked only between iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.backends.cones import ConeProgram
from discreet.backends.contract import Capabilities, Options, Regime
from discreet.backends.lowering import Lowered, Program, Setting
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.solvers import PEER, ProgramSolver, SolverResult
from discreet.measures.measure import Cone
from discreet.measures.registry import linear_or_of
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array


class Qics(ProgramSolver["_Eliminated"]):
    """Entropy cones through QICS; see the docstring of the module."""

    name = "qics"
    solver = "QICS"
    capabilities = Capabilities(
        **PEER,
        regimes=frozenset(Regime),
        largest_outcomes=4_000,  # 58 s on the single sensor
        largest_variables=4_000,
        method="relative entropy cones, by QICS's dense nonsymmetric interior point method",
        citation="K. He, J. Saunderson, H. Fawzi, QICS, arXiv:2410.17803 (2024)",
        method_class="cones",
        falls_short={
            "near-deterministic-N=20-none": ("an error of 6e-10 is within its absolute tolerances")
        },
        libraries=("qics",),
        measures=linear_or_of(Cone.ENTROPY, Cone.QUADRATIC),
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

    limits = ("max_iter", "max_time")

    def program(self, problem: Problem) -> Program:
        """Return the program in R with v_l = sqrt(N w_l); powers of 0 and 1 made no measurable
        difference.
        """
        return Program.of(problem, 0.5)

    def model(self, program: Program) -> _Eliminated:
        """Return the cones without the variables that the equations determine."""
        return _Eliminated.of(ConeProgram.of(program, whole=True))

    def run(
        self, lowered: Lowered[_Eliminated, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Run QICS; `claimed` is its solution and exit status."""
        import qics

        model = lowered.model
        program = lowered.program
        if program.problem.m == 1:
            return SolverResult(
                "one guess: nothing to decide", False, program.scale, np.zeros(0), 0
            )
        with np.errstate(all="ignore"):  # its line search leaves the cones temporarily
            result = qics.Solver(qics.Model(**model.arguments()), **lowered.options).solve()
        exit_status = result["exit_status"]
        return SolverResult(
            f"{result['sol_status']} ({exit_status})",
            exit_status == "max_time",
            model.restored(result["x_opt"].ravel()),
            model.prices(result["y_opt"].ravel(), result["z_opt"].vec.ravel()),
            int(result["num_iter"]),
        )


@dataclass(frozen=True)
class _Eliminated:
    """A cone program in y = (R_i for i < m − 1, and the variables after D and s): its variables are
    x = change y + start.
    """

    form: ConeProgram
    change: csc_array
    start: Array

    @classmethod
    def of(cls, form: ConeProgram) -> _Eliminated:
        from scipy import sparse

        program = form.program
        outcomes = program.problem.N
        others = (program.problem.m - 1) * outcomes
        matrix = form.matrix[: form.equations]
        law = matrix[matrix.shape[0] - sum(program.sizes[1:]) :, : form.signed]
        own = np.arange(others)
        rows = np.append(own, others + own % outcomes)
        signs = np.repeat([1.0, -1.0], others)
        masses = sparse.csc_array((signs, (rows, np.tile(own, 2))), shape=(form.signed, others))
        start = np.append(np.zeros(others), program.scale)
        added = form.cost.size - sum(program.sizes)
        change = sparse.block_diag(
            [sparse.vstack([masses, -law @ masses]), sparse.eye_array(added)]
        )
        return cls(
            form,
            sparse.csc_array(change),
            np.concatenate([start, -law @ start, np.zeros(added)]),
        )

    def arguments(self) -> dict[str, object]:
        """Return those of qics.Model: c, G, h, cones, and A and b at budget 0."""
        import qics
        from scipy import sparse

        form = self.form
        matrix, right = form.standard()
        cones = [qics.cones.NonNegOrthant(form.signed + form.inequalities)]
        for block in form.blocks:
            if block.cone is Cone.QUADRATIC:
                cones.append(qics.cones.SecondOrder(block.size - 1))
            else:
                cones.append(qics.cones.ClassRelEntr(block.size // 2))
        rows = matrix[form.equations :]
        keywords: dict[str, object] = {
            "c": (self.change.T @ form.cost)[:, None],
            "G": sparse.csr_matrix(rows @ self.change),
            "h": (right[form.equations :] - rows @ self.start)[:, None],
            "cones": cones,
        }
        private = matrix[self._private]
        if private.shape[0]:
            keywords["A"] = sparse.csr_matrix(private @ self.change)
            keywords["b"] = np.zeros((private.shape[0], 1))
        return keywords

    @property
    def _private(self) -> slice:
        """The equations of perfect privacy."""
        program = self.form.program
        return slice(program.problem.N, self.form.equations - sum(program.sizes[1:]))

    def restored(self, variables: Array) -> Array:
        """Return all variables of the cone program."""
        return np.asarray(self.change @ variables + self.start)

    def prices(self, private: Array, slopes: Array) -> Array:
        """Return the prices of the equations and inequalities, given the prices of perfect
        privacy and of all rows in cones. The prices of D and s are gradients of the cones.
        """
        form = self.form
        masses = form.signed
        law = slice(masses, masses + sum(form.program.sizes[1:]))
        rows = form.standard()[0][form.equations :, law]
        sums = np.zeros(form.program.problem.N)  # no dual needs their prices
        budgets = slopes[masses : masses + form.inequalities]
        return np.concatenate([sums, private, -rows.T @ slopes, budgets])
