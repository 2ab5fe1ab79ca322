"""Backend `clarabel`: the problem as a cone program passed to Clarabel directly, without a
modelling layer.

Method: the arrays and cones of `cones`, passed unchanged. The backend `conic` uses the same solver
through cvxpy.

Source: P. J. Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with
quadratic objectives", 2024 (arXiv:2405.12762).

Limitations: small budgets are not resolved, for the reason given in `conic`: at 20 of the paper's
sensors it ends without progress. If it runs out of precision it keeps its last point and reports it
("AlmostSolved", "InsufficientProgress").
"""

from __future__ import annotations

from discreet.backends.cones import ConeProgram
from discreet.backends.contract import Capabilities, Options, Reach
from discreet.backends.exchange.clarabel_json import clarabel_cones
from discreet.backends.lowering import Lowered, Setting
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.solvers import ANY_BUDGET, PEER, ConeSolver, SolverResult


class Clarabel(ConeSolver):
    """The cone program through Clarabel's own interface; see the docstring of the module."""

    name = "clarabel"
    solver = "Clarabel"
    capabilities = Capabilities(
        **PEER,
        **ANY_BUDGET,
        largest_outcomes=1_000_000,  # 39 s on the single sensor
        method=(
            "exponential, power and second-order cones in sparse arrays, by Clarabel's "
            "interior point method"
        ),
        citation="P. J. Goulart, Y. Chen, Clarabel, arXiv:2405.12762 (2024)",
        method_class="cones",
        reach=(Reach("did not end within 30 s for 1,000,000 outcomes", 200_000),),
        libraries=("clarabel",),
    )
    _share = ShareOfGap(Precision.cone, 1e-14)
    tuning: Tuning = (
        Tuned("verbose", False, True, "nothing is printed"),
        Tuned(
            "tol_gap_abs",
            _share,
            1e-8,
            ("at a tenth of the gap its answers miss the gap by 10 to 100 times"),
        ),
        Tuned("tol_gap_rel", _share, 1e-8, "as tol_gap_abs; the price is a few more iterations"),
        Tuned(
            "tol_feas",
            _share,
            1e-8,
            ("an infeasibility is a leak, to be compared with a small budget"),
        ),
    )

    limits = ("max_iter", "time_limit")

    def run(
        self, lowered: Lowered[ConeProgram, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Run Clarabel."""
        import clarabel
        from scipy import sparse

        settings = clarabel.DefaultSettings()
        for name, value in lowered.options.items():
            setattr(settings, name, value)
        form = lowered.model
        matrix, right = form.standard()
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix((form.cost.size, form.cost.size)),
            form.cost,
            sparse.csc_matrix(matrix),
            right,
            [getattr(clarabel, name)(*size) for name, *size in clarabel_cones(form)],
            settings,
        ).solve()
        claimed = str(solution.status)
        prices = form.prices(solution.z)
        return SolverResult(
            claimed, claimed == "MaxTime", solution.x, prices, int(solution.iterations)
        )
