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

from dataclasses import dataclass
from typing import Any

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

_TOP_LEVEL = ("verbose", "device", "max_iter", "time_limit")


@dataclass(frozen=True)
class _Sorted:
    """A cone program with its rows in Moreau's order: equations, signs, then cones by kind."""

    form: ConeProgram
    rows: NDArray[np.intp]
    cones: dict[str, Any]

    @classmethod
    def of(cls, form: ConeProgram) -> _Sorted:
        first = form.linear + form.signed
        starts = first + np.cumsum([0, *(block.size for block in form.blocks)])
        rows = [np.arange(first)]
        for kind in (Cone.QUADRATIC, Cone.ENTROPY, Cone.POWER):
            rows += [
                np.arange(start, start + block.size)
                for start, block in zip(starts, form.blocks, strict=False)
                if block.cone is kind
            ]
        cones = {
            "num_zero_cones": form.equations,
            "num_nonneg_cones": form.signed + form.inequalities,
            "so_cone_dims": [each.size for each in form.blocks if each.cone is Cone.QUADRATIC],
            "num_exp_cones": sum(each.cone is Cone.ENTROPY for each in form.blocks),
            "power_alphas": [each.power for each in form.blocks if each.cone is Cone.POWER],
        }
        return cls(form, np.concatenate(rows), cones)


class Moreau(Unlifted):
    """The cone program through Moreau's own interface; see the module's docstring."""

    name = "moreau"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=200_000,
        gives_duals=True,
        method="exponential, power and second-order cones, by Moreau's interior point method",
        citation="Moreau 0.4, 2026 (moreau.so), after Clarabel, arXiv:2405.12762",
        method_class="cones",
        reach=(Reach("its times above 20,000 outcomes have not been measured", 20_000),),
        libraries=("moreau",),
        extra="peers",
        peer=True,
        measures=linear_or_of(*Cone),
        several=True,
    )
    _share = ShareOfGap(Precision.cone, 1e-14)
    tuning: Tuning = (
        Tuned("verbose", False, False, "nothing is printed"),
        Tuned("device", "cpu", "auto", "as for every solver configuration"),
        Tuned("tol_gap_abs", _share, 1e-8, "as for clarabel"),
        Tuned("tol_gap_rel", _share, 1e-8, "as for clarabel"),
        Tuned("tol_feas", _share, 1e-8, "an infeasibility is a leak"),
    )

    def lower(self, problem: Problem, options: Options) -> Lowered[_Sorted, dict[str, Setting]]:
        """The cone program, and Moreau's settings by name."""
        program = Program.of(problem)
        settings = native(self.tuning, options, problem.N, "max_iter", "time_limit")
        return Lowered(program, _Sorted.of(ConeProgram.of(program)), settings)

    def solve(self, lowered: Lowered[_Sorted, dict[str, Setting]], options: Options) -> Raw[Answer]:
        """Run Moreau; `claimed` is its status. Raises Interrupted at the time limit, BackendError
        without a point.
        """
        import moreau
        from scipy import sparse

        settings = moreau.Settings()
        settings.ipm_settings = moreau.IPMSettings()
        for name, value in lowered.options.items():
            setattr(settings if name in _TOP_LEVEL else settings.ipm_settings, name, value)
        form = lowered.model.form
        matrix, right = form.standard()
        solver = moreau.Solver(
            sparse.csr_array((form.cost.size, form.cost.size)),
            form.cost,
            sparse.csr_array(matrix)[lowered.model.rows],
            right[lowered.model.rows],
            moreau.Cones(**lowered.model.cones),
            settings,
        )
        solution = solver.solve()
        claimed = solver.info.status.name
        variables = point_of("Moreau", claimed, claimed == "MaxTime", options, solution.x)
        signs = slice(form.equations, form.equations + form.signed)
        prices = np.delete(np.asarray(solution.z), signs)[: form.linear]
        answer = lowered.program.answer(variables, prices)
        return Raw(claimed, answer, int(solver.info.iterations))
