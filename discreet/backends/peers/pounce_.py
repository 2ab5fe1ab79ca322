"""Backend `pounce`: the problem as a cone program for the conic solver of POUNCE.

Method: the arrays and cones of `cones` in POUNCE's standard form: equations A x = b, and slacks
h − G x in nonnegative, second-order, exponential and power cones. POUNCE's power cone bounds its
first member, which is the last one here.

Source: POUNCE, a Rust port of IPOPT with convex and conic solvers, version 0.13
(github.com/jkitchin/pounce).

Cannot: reach more than four digits of an entropy budget in version 0.13, at any tolerance from 1e-6
to 1e-12: on the paper's single sensor its answer leaks 4e-6 of the budget too much at 16 bins and
4e-5 at 200. Cones of second order and linear programs are solved to 1e-11.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.backends.cones import ConeProgram
from discreet.backends.contract import Capabilities, Options, Reach
from discreet.backends.lowering import Lowered, Setting
from discreet.backends.peers.tuning import Tuned, Tuning
from discreet.backends.precision import Precision, ShareOfGap
from discreet.backends.solvers import ANY_BUDGET, PEER, ConeSolver, SolverResult
from discreet.measures.measure import Cone


class Pounce(ConeSolver):
    """The cone program through POUNCE's `solve_socp`; see the module's docstring."""

    name = "pounce"
    solver = "POUNCE"
    capabilities = Capabilities(
        **PEER,
        **ANY_BUDGET,
        largest_outcomes=20_000,
        method="exponential, power and second-order cones, by POUNCE's interior point method",
        citation="POUNCE 0.13, 2026 (github.com/jkitchin/pounce)",
        method_class="low accuracy",
        reach=(Reach("its times above 2,000 outcomes have not been measured", 2_000),),
        libraries=("pounce",),
    )
    tuning: Tuning = (
        Tuned(
            "tol",
            ShareOfGap(Precision.cone, 1e-9),
            1e-8,
            "at 1e-8 it calls answers optimal that break the budget by 4e-6 of it",
        ),
    )

    limits = ("max_iter", "time_limit")

    def run(
        self, lowered: Lowered[ConeProgram, dict[str, Setting]], options: Options
    ) -> SolverResult:
        """Run POUNCE, whose keywords are the settings."""
        import pounce

        form = lowered.model
        result = pounce.solve_socp(**standard_form(form), **lowered.options)
        prices = form.prices(np.append(result.y, result.z))
        late = result.status == "time_limit"
        return SolverResult(result.status, late, result.x, prices, int(result.iters))


def standard_form(form: ConeProgram) -> dict[str, Any]:
    """Return the program as arguments of `pounce.solve_socp`; the last member of a power cone is
    its first there.
    """
    from scipy import sparse

    matrix, right = form.standard()
    rows = sparse.csr_matrix(matrix)
    count = form.equations
    inside = [np.arange(count, form.linear + form.signed)]
    for block, members in form.members(form.signed):
        inside.append(np.roll(members, 1) if block.cone is Cone.POWER else members)
    cone_rows = np.concatenate(inside)
    kinds = {Cone.ENTROPY: "exp", Cone.QUADRATIC: "soc", Cone.POWER: "pow"}
    cones: list[tuple[str, float]] = [("nonneg", form.signed + form.inequalities)]
    cones += [(kinds[each.cone], each.power or each.size) for each in form.blocks]
    return {
        "c": form.cost,
        "A": rows[:count],
        "b": right[:count],
        "G": rows[cone_rows],
        "h": right[cone_rows],
        "cones": cones,
    }
