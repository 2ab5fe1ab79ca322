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

import numpy as np
from numpy.typing import NDArray

from discreet.backends.cones import ConeProgram
from discreet.backends.contract import Answer, Capabilities, Options, Raw, Reach, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program, Setting, point_of
from discreet.backends.peers.tuning import Tuned, Tuning, native
from discreet.backends.precision import Precision, ShareOfGap
from discreet.measures.measure import Cone
from discreet.measures.registry import linear_or_of
from discreet.problems.problem import Problem


class Pounce(Unlifted):
    """The cone program through POUNCE's `solve_socp`; see the module's docstring."""

    name = "pounce"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=20_000,
        gives_duals=True,
        method="exponential, power and second-order cones, by POUNCE's interior point method",
        citation="POUNCE 0.13, 2026 (github.com/jkitchin/pounce)",
        method_class="low accuracy",
        reach=(Reach("its times above 2,000 outcomes have not been measured", 2_000),),
        libraries=("pounce",),
        extra="peers",
        peer=True,
        measures=linear_or_of(*Cone),
        several=True,
    )
    tuning: Tuning = (
        Tuned(
            "tol",
            ShareOfGap(Precision.cone, 1e-9),
            1e-8,
            "at 1e-8 it calls answers optimal that break the budget by 4e-6 of it",
        ),
    )

    def lower(self, problem: Problem, options: Options) -> Lowered[ConeProgram, dict[str, Setting]]:
        """The cone program, and the keywords of `solve_socp`."""
        program = Program.of(problem)
        settings = native(self.tuning, options, problem.N, "max_iter", "time_limit")
        return Lowered(program, ConeProgram.of(program), settings)

    def solve(
        self, lowered: Lowered[ConeProgram, dict[str, Setting]], options: Options
    ) -> Raw[Answer]:
        """Run POUNCE; `claimed` is its status. Raises Interrupted at the time limit, BackendError
        without a point.
        """
        import pounce
        from scipy import sparse

        form = lowered.model
        matrix, right = form.standard()
        rows = sparse.csr_matrix(matrix)
        inside = _rows(form)
        count = form.equations
        cones: list[tuple[str, float]] = [("nonneg", form.signed + form.inequalities)]
        kinds = {Cone.ENTROPY: "exp", Cone.QUADRATIC: "soc", Cone.POWER: "pow"}
        cones += [(kinds[each.cone], each.power or each.size) for each in form.blocks]
        found = pounce.solve_socp(
            c=form.cost,
            A=rows[:count],
            b=right[:count],
            G=rows[inside],
            h=right[inside],
            cones=cones,
            **lowered.options,
        )
        variables = point_of("POUNCE", found.status, found.status == "time_limit", options, found.x)
        others = np.asarray(found.z)[form.signed : form.signed + form.inequalities]
        prices = np.concatenate([np.asarray(found.y), others])
        return Raw(found.status, lowered.program.answer(variables, prices), int(found.iters))


def _rows(form: ConeProgram) -> NDArray[np.intp]:
    """The rows in cones in POUNCE's order: the last member of a power cone is its first there."""
    first = form.linear + form.signed
    rows = [np.arange(form.equations, first)]
    for block in form.blocks:
        members = np.arange(first, first + block.size)
        rows.append(np.roll(members, 1) if block.cone is Cone.POWER else members)
        first += block.size
    return np.concatenate(rows)
