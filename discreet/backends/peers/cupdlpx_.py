"""Backend `cupdlpx`: perfect privacy and linear measures of leakage by the first-order method
cuPDLPx, which runs on a GPU. It is not tested here, where there is no GPU.

Method: the linear programs of `lowering`, as the backend `pdlp` has them, passed as arrays to
cuPDLPx's Python interface: Halpern's primal–dual hybrid gradient method with reflection and
restarts. The dual iterate becomes the tilt.

Source: H. Lu, Z. Peng, J. Yang, "cuPDLPx: A Further Enhanced GPU-Based First-Order Solver for
Linear Programming", arXiv:2507.14051 (2025); python/README.md of version 0.3.

Limitations: those of `pdlp`. Its tolerances are relative to the norms of the program, so that an
answer that it calls optimal may leak more than the judge accepts as perfect privacy.
"""

from __future__ import annotations

from discreet.backends.contract import Capabilities, Options
from discreet.backends.lowering import LinearProgram, Lowered, Program, Setting
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.solvers import LINEAR_BUDGETS, PEER, LinearSolver, SolverResult


class Cupdlpx(LinearSolver[LinearProgram]):
    """The linear programs through cuPDLPx; see the docstring of the module."""

    name = "cupdlpx"
    solver = "cuPDLPx"
    capabilities = Capabilities(
        **{**PEER, **LINEAR_BUDGETS, "extra": "gpu"},
        largest_outcomes=1_000_000,
        method="linear program, by the first-order method cuPDLPx on a GPU; not tested here",
        citation="H. Lu, Z. Peng, J. Yang, cuPDLPx, arXiv:2507.14051 (2025)",
        libraries=("cupdlpx",),
    )
    _share = ShareOfGap(Precision.own_gap, 1e-12)
    tuning: Tuning = (
        Tuned("optimality_norm", "linf", "l2", "each residual of a privacy equation is a leak"),
        Tuned("eps_optimal_relative", _share, 1e-4, "the gap"),
        Tuned("eps_feasible_relative", 1e-14, 1e-4, "as pdlp's primal residuals"),
    )

    limits = ("iteration_limit", "time_sec_limit")

    def model(self, program: Program) -> LinearProgram:
        """Return the arrays."""
        return program.linear_program()

    def run(
        self, lowered: Lowered[LinearProgram, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Run cuPDLPx."""
        from cupdlpx import Model
        from scipy import sparse

        arrays = lowered.model
        matrix = sparse.csr_matrix(arrays.matrix)
        model = Model(arrays.cost, matrix, arrays.low, arrays.high, arrays.least, arrays.most)
        model.setParams(**lowered.options)
        model.optimize()
        claimed = model.StatusName
        return SolverResult(claimed, claimed == "TIME_LIMIT", model.X, -model.Pi, model.IterCount)
