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

import numpy as np

from discreet.backends.cones import ConeBlock, ConeProgram
from discreet.backends.contract import Answer, Capabilities, Options, Raw, Reach, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program, Setting, point_of
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.measures.measure import Cone
from discreet.measures.registry import linear_or_of
from discreet.problems.problem import Problem


class Clarabel(Unlifted):
    """The cone program through Clarabel's own interface; see the docstring of the module."""

    name = "clarabel"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=1_000_000,  # 39 s on the single sensor
        gives_duals=True,
        method=(
            "exponential, power and second-order cones in sparse arrays, by Clarabel's "
            "interior point method"
        ),
        citation="P. J. Goulart, Y. Chen, Clarabel, arXiv:2405.12762 (2024)",
        method_class="cones",
        reach=(Reach("did not end within 30 s for 1,000,000 outcomes", 200_000),),
        libraries=("clarabel",),
        extra="peers",
        peer=True,
        measures=linear_or_of(*Cone),
        several=True,
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

    def lower(self, problem: Problem, options: Options) -> Lowered[ConeProgram, dict[str, Setting]]:
        """Return the cone program, and Clarabel's settings by name."""
        program = Program.of(problem)
        settings = native(self.tuning, options, problem.N, "max_iter", "time_limit")
        return Lowered(program, ConeProgram.of(program), settings)

    def solve(
        self, lowered: Lowered[ConeProgram, dict[str, Setting]], options: Options
    ) -> Raw[Answer]:
        """Run Clarabel; `claimed` is its status. Raises Interrupted at the time limit, BackendError
        without a point.
        """
        import clarabel
        from scipy import sparse

        settings = clarabel.DefaultSettings()
        for name, value in lowered.options.items():
            setattr(settings, name, value)
        form = lowered.model
        count = lowered.model.cost.size
        matrix, right = form.standard()
        arguments = (
            sparse.csc_matrix((count, count)),
            form.cost,
            sparse.csc_matrix(matrix),
            right,
            cones_of(form),
        )
        solution = clarabel.DefaultSolver(*arguments, settings).solve()
        claimed = str(solution.status)
        variables = point_of("Clarabel", claimed, claimed == "MaxTime", options, solution.x)
        signs = slice(form.equations, form.equations + form.signed)
        prices = np.delete(np.asarray(solution.z), signs)[: form.linear]
        return Raw(claimed, lowered.program.answer(variables, prices), int(solution.iterations))


def cones_of(form: ConeProgram) -> list[object]:
    """Return the cones of the rows of `ConeProgram.standard`."""
    import clarabel

    def cone(block: ConeBlock) -> object:
        if block.cone is Cone.POWER:
            return clarabel.PowerConeT(block.power)
        return (
            clarabel.ExponentialConeT()
            if block.cone is Cone.ENTROPY
            else clarabel.SecondOrderConeT(block.size)
        )

    signs = form.signed + form.inequalities
    return [
        clarabel.ZeroConeT(form.equations),
        clarabel.NonnegativeConeT(signs),
        *map(cone, form.blocks),
    ]
