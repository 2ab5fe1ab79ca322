"""Backend `qics`: the leakage as QICS' own classical relative entropy cones, one per guess.

Method: min ⟨L, P⟩ with the last guess eliminated and all else in cones, h − G x ∈ K: R_il ≥ 0 for i
< m and v_l − Σ_i R_il ≥ 0 (`lowering` has R and v), and the cones of `cones`, with D and s written
out in R. The divergences of a guess are one cone of dimension 2n + 1. At budget 0 the whitened
equations of `lowering` replace the cones as A x = b; at budget inf only bounds are left. QICS has a
shortcut for its standard form A x = b with the law of (X, Ŷ) as cone variables. In that form it
stops with gaps of 1e-1 to 1e-8 and oversteps budgets; in this form gaps are 1e-9 to 1e-12 up to 10
of the paper's sensors, 1e-6 at 20.

Source: K. He, J. Saunderson, H. Fawzi, "QICS: Quantum Information Conic Solver", arXiv:2410.17803
(2024); the barrier of the cone: H. Fawzi, J. Saunderson, "Optimal self-concordant barriers for
quantum relative entropies", SIAM J. Optim. 33 (2023).

Cannot: Sibson's information, for which it has no cone; scale. QICS factorises a dense matrix with
(m − 1) N rows in every iteration, in Python and LAPACK. It refuses more than 4,000 such variables.
Time is checked between iterations only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.backends.cones import ConeProgram
from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program, Setting, point_of
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.problems.measures.measure import Cone
from discreet.problems.measures.registry import linear_or_of
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
        Tuned("tol_feas", _share, 1e-8, "a leak of tol_feas is not small beside a small budget"),
    )

    def lower(
        self, problem: Problem, options: Options
    ) -> Lowered[_Reduced | None, dict[str, Setting]]:
        """The arrays c, G, h, A, b and the cones of a qics.Model."""
        program = Program.of(problem, 0.5)  # powers of 0 and 1 made no measurable difference
        settings = native(self.tuning, options, problem.N, "max_iter", "max_time")
        reduced = _Reduced.of(program) if problem.m > 1 else None
        return Lowered(program, reduced, settings)

    def solve(
        self, lowered: Lowered[_Reduced | None, dict[str, Setting]], options: Options
    ) -> Raw[Answer]:
        """Run QICS; `claimed` is its solution and exit status. Raises Interrupted at the time
        limit, BackendError.
        """
        import qics

        program = lowered.program
        reduced = lowered.model
        if reduced is None:
            return Raw(
                ("one guess: nothing to decide"), program.answer(program.scale, np.zeros(0)), 0
            )
        model = qics.Model(**reduced.arguments())
        with np.errstate(all="ignore"):  # its line search steps out of the cones and back
            found = qics.Solver(model, **lowered.options).solve()
        claimed = f"{found['sol_status']} ({found['exit_status']})"
        late = found["exit_status"] == "max_time"
        point = point_of("QICS", claimed, late, options, found["x_opt"].ravel())
        prices = reduced.prices(found["y_opt"].ravel(), found["z_opt"].vec.ravel())
        answer = program.answer(reduced.substitution @ point + reduced.constant, prices)
        return Raw(claimed, answer, int(found["num_iter"]))


@dataclass(frozen=True)
class _Reduced:
    """A cone program in R_il, i < m, and the variables of its cones alone: all others are
    substitution x + constant.
    """

    form: ConeProgram
    substitution: csr_array
    constant: Array

    @classmethod
    def of(cls, program: Program) -> _Reduced:
        """The last guess is what the others leave; D and s are the law of the guesses."""
        from scipy import sparse

        form = ConeProgram.of(program, 1.0, relative_entropy=True)
        outcomes = program.problem.N
        masses, *law = program.sizes
        rest = sparse.hstack([-sparse.eye_array(outcomes)] * (program.problem.m - 1))
        guesses = sparse.vstack([sparse.eye_array(masses - outcomes), rest])
        links = form.matrix[form.equations - sum(law) : form.equations, :masses]
        made = sparse.vstack([sparse.eye_array(masses), -links])
        others = sparse.eye_array(form.cost.size - made.shape[0])
        substitution = sparse.block_diag([made @ guesses, others])
        last = np.append(np.zeros(masses - outcomes), program.scale)
        constant = np.append(np.asarray(made @ last), np.zeros(others.shape[0]))
        return cls(form, sparse.csr_array(substitution), constant)

    @property
    def privacy(self) -> slice:
        """The rows of the equations of perfect privacy."""
        program = self.form.program
        return slice(program.problem.N, self.form.equations - sum(program.sizes[1:]))

    @property
    def signs(self) -> Array:
        """Of the rows of cones: x ≤ Σ_j y_j log(z_j/y_j) is −x ≥ Σ_j y_j log(y_j/z_j) in QICS."""
        found = np.ones(self.form.right.size - self.form.equations)
        first = self.form.inequalities
        for block in self.form.blocks:
            if block.cone is Cone.ENTROPY:
                found[first] = -1.0
            first += block.size
        return found

    def arguments(self) -> dict[str, object]:
        """Those of qics.Model: min c·x, A x = b, h − G x in the cones."""
        import qics
        from scipy import sparse

        form = self.form
        rows = sparse.diags_array(self.signs) @ form.matrix[form.equations :]
        right = self.signs * form.right[form.equations :] - rows @ self.constant
        signed = self.substitution[: form.signed]
        cones = [qics.cones.NonNegOrthant(form.signed)]
        if form.inequalities:
            cones.append(qics.cones.NonNegOrthant(form.inequalities))
        for block in form.blocks:
            if block.cone is Cone.ENTROPY:
                cones.append(qics.cones.ClassRelEntr(block.size // 2))
            else:
                cones.append(qics.cones.SecondOrder(block.size - 1))
        arguments = {
            "c": (self.substitution.T @ form.cost)[:, None],
            "G": sparse.csr_matrix(sparse.vstack([-signed, rows @ self.substitution])),
            "h": np.append(self.constant[: form.signed], right)[:, None],
            "cones": cones,
        }
        private = form.matrix[self.privacy] @ self.substitution
        if private.shape[0]:
            arguments |= {"A": sparse.csr_matrix(private), "b": np.zeros((private.shape[0], 1))}
        return arguments

    def prices(self, equations: Array, cones: Array) -> Array:
        """The prices of the equations and inequalities of the cone program, from those of A and
        G.
        """
        form = self.form
        masses, *law = form.program.sizes
        slopes = self.signs * cones[form.signed :]
        own = form.matrix[form.equations :, masses : masses + sum(law)]
        known = np.zeros(form.program.problem.N)
        return np.concatenate([known, equations, -(own.T @ slopes), slopes[: form.inequalities]])
