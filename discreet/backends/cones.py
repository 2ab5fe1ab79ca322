"""A program as linear equations, bounds and standard cones: the form of conic solvers and their
files.

Method: the arrays of `Program.linear_program`, and for the measures that are not linear, per guess
and group of rows,

- `Cone.ENTROPY`: for each private value an exponential cone y e^{x/y} ≤ z with y = u/root, z = π
  s/root and x of its own, so that z − y − x bounds (u log(u/(π s)) − u + π s)/root from above; no
  such term is negative. Solvers that have the cone h ≥ Σ_j u_j log(u_j/(π_j s)), of any number of
  private values, get it `whole` instead, divided by B;
- `Cone.QUADRATIC`: h with Σ_j D_j²/π_j ≤ h s as a second-order cone |(h − s, 2 D/√π)| ≤ h + s;
- `Cone.POWER`: of order α, power cones u_j π_j^{1/α − 1} ≤ q_j^{1/α} norm^{1 − 1/α} with Σ_j q_j =
  norm, written in the deviation of q from independence, q_j = π_j s + root e_j.

Variables of `Program` come first, then those of linear pieces, then those of cones. Source: MOSEK
ApS, *Modeling Cookbook*, chapters 3 to 5; the backend `conic` has the same excess terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.backends.lowering import Program, Sum, sparse_rows
from discreet.backends.parts import LeakageConstraint, PriorGroup
from discreet.measures.measure import Cone, Scope
from discreet.numerics.double_double import Array

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array


@dataclass(frozen=True)
class ConeBlock:
    """Rows in one cone. `power` is that of a power cone, else 0.

    ENTROPY    three rows (x, y, z) with y e^{x/y} ≤ z and y > 0, or in its closure; if `whole`,
               `size` rows (h, u, v) with h ≥ Σ_j u_j log(u_j/v_j)
    QUADRATIC  `size` rows, the first at least the Euclidean norm of the others
    POWER      three rows (x, y, z) with |z| ≤ x^power y^{1 − power} and x, y ≥ 0
    """

    cone: Cone
    size: int = 3
    power: float = 0.0


@dataclass(frozen=True)
class ConeProgram:
    """min cost·x, where the first `signed` variables are ≥ 0, and right − matrix x is 0, ≥ 0, or in
    cones.

    matrix, right  rows [·, variables] and their right-hand sides, in this order:
    equations      number of rows that are 0
    inequalities   number of the following rows that are ≥ 0, budgets last
    blocks         the cones of all other rows, in their order
    """

    program: Program
    cost: Array
    signed: int
    matrix: csr_array
    right: Array
    equations: int
    inequalities: int
    blocks: tuple[ConeBlock, ...]

    @classmethod
    def of(cls, program: Program, *, whole: bool = False) -> ConeProgram:
        """Return the cones of a program; whole: with relative entropies as single cones."""
        from scipy import sparse

        arrays = program.linear_program()
        cones = _Cones(arrays.cost.size, whole)
        for part in program.parts:
            if not part.linear:
                cones.add_part(program, part)
        cost = np.append(arrays.cost, np.zeros(cones.variables - arrays.cost.size))
        given = sparse.hstack(
            [arrays.matrix, sparse.csc_array((arrays.low.size, cost.size - arrays.cost.size))]
        )
        matrix = sparse.vstack(
            [given, sparse_rows(cones.budgets, cost.size), sparse_rows(cones.rows, cost.size)]
        )
        equations = int((arrays.low == arrays.high).sum())
        return cls(
            program,
            cost,
            program.sizes[0],
            sparse.csr_array(matrix),
            np.concatenate([arrays.high, cones.limits, np.zeros(len(cones.rows))]),
            equations,
            arrays.high.size - equations + len(cones.budgets),
            tuple(cones.blocks),
        )

    @property
    def linear(self) -> int:
        """The number of rows that are equations or inequalities; those of cones follow."""
        return self.equations + self.inequalities

    def prices(self, multipliers: ArrayLike) -> Array:
        """Return the prices of equations and inequalities from those of the rows of `standard`."""
        signs = slice(self.equations, self.equations + self.signed)
        return np.delete(np.asarray(multipliers), signs)[: self.linear]

    def members(self, added: int = 0) -> Iterator[tuple[ConeBlock, NDArray[np.intp]]]:
        """Yield the cones and their rows, which come after the linear ones and `added` others."""
        first = self.linear + added
        for block in self.blocks:
            yield block, np.arange(first, first + block.size)
            first += block.size

    def standard(self) -> tuple[csc_array, Array]:
        """Return matrix and right with the bounds as rows after the equations, for solvers without
        bounds.
        """
        from scipy import sparse

        signs = sparse.eye_array(self.signed, self.cost.size) * -1.0
        matrix = sparse.vstack(
            [self.matrix[: self.equations], signs, self.matrix[self.equations :]]
        )
        return sparse.csc_array(matrix), np.insert(
            self.right, self.equations, np.zeros(self.signed)
        )


class _Cones:
    """Cones of sums of variables, and sums that are bounded; `variables` counts those of the
    program and new ones.
    """

    def __init__(self, variables: int, whole: bool) -> None:
        self.variables = variables
        self.whole = whole
        self.blocks = list[ConeBlock]()
        self.rows = list[Sum]()
        self.budgets = list[Sum]()
        self.limits = list[float]()

    def _new(self) -> int:
        """Add a variable and return its index."""
        self.variables += 1
        return self.variables - 1

    def _add(self, block: ConeBlock, *members: Sum) -> None:
        """Add a cone. Its members are slacks, so their rows have the opposite sign."""
        self.blocks.append(block)
        self.rows += [(places, [-factor for factor in factors]) for places, factors in members]

    def add_part(self, program: Program, part: LeakageConstraint) -> None:
        """Add the cones of a measure that is not linear; the returned sums over all guesses give
        leakage/B, at most 1.
        """
        each = {
            Cone.QUADRATIC: self._quadratic,
            Cone.POWER: self._powers,
            Cone.ENTROPY: self._relative_entropy if self.whole else self._exponential,
        }[part.cone]
        leaks = [
            (guess, each(part, group, deviation.tolist(), guess))
            for _, deviation, guess, group in program.places(part)
        ]
        if part.measure.scope is Scope.TOTAL:
            places = [place for _, (its, _) in leaks for place in its]
            self.budgets.append((places, [factor for _, (_, its) in leaks for factor in its]))
            self.limits.append(1.0)
        else:
            self.budgets += [
                ([*places, guess], [*values, -1.0]) for guess, (places, values) in leaks
            ]
            self.limits += [0.0] * len(leaks)

    def _exponential(
        self, part: LeakageConstraint, group: PriorGroup, deviation: list[int], guess: int
    ) -> Sum:
        """Return Σ_j (z_j − y_j − x_j)/root, where z − y = −D."""
        extra = list[int]()
        for place, prior in zip(deviation, group.prior.tolist(), strict=True):
            extra.append(self._new())
            independent = prior / part.root
            self._add(
                ConeBlock(Cone.ENTROPY),
                ([extra[-1]], [1.0]),
                ([guess, place], [independent, 1.0]),
                ([guess], [independent]),
            )
        return [*deviation, *extra], [-1.0 / part.root] * (2 * len(deviation))

    def _relative_entropy(
        self, part: LeakageConstraint, group: PriorGroup, deviation: list[int], guess: int
    ) -> Sum:
        """Return h ≥ Σ_j u_j log(u_j/(π_j s))/B."""
        h = self._new()
        priors = (group.prior / part.level).tolist()
        root = part.root / part.level
        joint = [
            ([guess, place], [prior, root]) for place, prior in zip(deviation, priors, strict=True)
        ]
        independent = [([guess], [prior]) for prior in priors]
        size = 1 + 2 * len(priors)
        self._add(ConeBlock(Cone.ENTROPY, size), ([h], [1.0]), *joint, *independent)
        return [h], [1.0]

    def _quadratic(
        self, part: LeakageConstraint, group: PriorGroup, deviation: list[int], guess: int
    ) -> Sum:
        h = self._new()
        sums = [([h, guess], [1.0, 1.0]), ([h, guess], [1.0, -1.0])]
        sums += [
            ([place], [2.0 / math.sqrt(p)])
            for place, p in zip(deviation, group.prior.tolist(), strict=True)
        ]
        self._add(ConeBlock(Cone.QUADRATIC, len(sums)), *sums)
        return [h], [1.0]

    def _powers(
        self, part: LeakageConstraint, group: PriorGroup, deviation: list[int], guess: int
    ) -> Sum:
        """Return root Σ_j e_j/B; every member of a cone is divided by the root."""
        order = 1.0 / part.measure.order
        extra = [self._new() for _ in deviation]
        root = part.root
        norm = ([guess, *extra], [1.0 / root, *[1.0] * len(extra)])
        for place, e, prior in zip(deviation, extra, group.prior.tolist(), strict=True):
            weight = prior ** (order - 1.0)
            self._add(
                ConeBlock(Cone.POWER, power=order),
                ([guess, e], [prior / root, 1.0]),
                norm,
                ([guess, place], [weight * prior / root, weight]),
            )
        return extra, [root / part.unit] * len(extra)
