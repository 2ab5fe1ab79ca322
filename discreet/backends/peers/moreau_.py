"""Backend `moreau`: the problem as a cone program passed to Moreau directly.

Method: the arrays and cones of `cones`, as the backend `clarabel` passes them, with the cones
sorted by kind, which is the order that Moreau expects. It computes on the processor; its solver for
GPUs has not been tried here.

Source: Moreau, a differentiable conic solver after Clarabel's interior point method, version 0.4
(moreau.so); P. J. Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with
quadratic objectives", 2024 (arXiv:2405.12762).

Cannot: resolve small budgets, for the reason given in `conic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.backends.cones import ConeProgram
from discreet.backends.contract import Capabilities, Options, Reach
from discreet.backends.lowering import Lowered, Setting
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.solvers import ANY_BUDGET, PEER, ConeSolver, SolverResult
from discreet.measures.measure import Cone
from discreet.numerics.double_double import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_TOP_LEVEL = ("verbose", "device", "max_iter", "time_limit")


class Moreau(ConeSolver):
    """The cone program through Moreau's own interface; see the module's docstring."""

    name = "moreau"
    solver = "Moreau"
    capabilities = Capabilities(
        **PEER,
        **ANY_BUDGET,
        largest_outcomes=200_000,
        method="exponential, power and second-order cones, by Moreau's interior point method",
        citation="Moreau 0.4, 2026 (moreau.so), after Clarabel, arXiv:2405.12762",
        method_class="cones",
        reach=(Reach("its times above 20,000 outcomes have not been measured", 20_000),),
        libraries=("moreau",),
    )
    _share = ShareOfGap(Precision.cone, 1e-14)
    tuning: Tuning = (
        Tuned("verbose", False, False, "nothing is printed"),
        Tuned("device", "cpu", "auto", "as for every solver configuration"),
        Tuned("tol_gap_abs", _share, 1e-8, "as for clarabel"),
        Tuned("tol_gap_rel", _share, 1e-8, "as for clarabel"),
        Tuned("tol_feas", _share, 1e-8, "an infeasibility is a leak"),
    )

    limits = ("max_iter", "time_limit")

    def run(
        self, lowered: Lowered[ConeProgram, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Run Moreau."""
        import moreau
        from scipy import sparse

        settings = moreau.Settings()
        settings.ipm_settings = moreau.IPMSettings()
        for name, value in lowered.options.items():
            setattr(settings if name in _TOP_LEVEL else settings.ipm_settings, name, value)
        form = lowered.model
        matrix, right, cones = standard_form(form)
        none = sparse.csr_array((form.cost.size, form.cost.size))
        cone_sizes = moreau.Cones(**cones)
        solver = moreau.Solver(none, form.cost, matrix, right, cone_sizes, settings)
        solution = solver.solve()
        claimed = solver.info.status.name
        prices = form.prices(solution.z)
        return SolverResult(
            claimed, claimed == "MaxTime", solution.x, prices, int(solver.info.iterations)
        )


def standard_form(form: ConeProgram) -> tuple[csr_array, Array, dict[str, Any]]:
    """Return the matrix and right side of `ConeProgram.standard` in Moreau's order, which is by
    kind of cone, and the arguments of `moreau.Cones`.
    """
    from scipy import sparse

    matrix, right = form.standard()
    order = (Cone.QUADRATIC, Cone.ENTROPY, Cone.POWER)
    ordered = sorted(form.members(form.signed), key=lambda pair: order.index(pair[0].cone))
    first = np.arange(form.linear + form.signed)
    rows = np.concatenate([first, *(rows for _, rows in ordered)])
    cones = {
        "num_zero_cones": form.equations,
        "num_nonneg_cones": form.signed + form.inequalities,
        "so_cone_dims": [each.size for each in form.blocks if each.cone is Cone.QUADRATIC],
        "num_exp_cones": sum(each.cone is Cone.ENTROPY for each in form.blocks),
        "power_alphas": [each.power for each in form.blocks if each.cone is Cone.POWER],
    }
    return sparse.csr_array(matrix)[rows], right[rows], cones
