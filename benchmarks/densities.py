"""Random densities, with every certificate checked by ball arithmetic: `python
benchmarks/densities.py --count 1000`.

Densities are of one or of several families of scipy.stats, with random shapes, locations and
scales. Budgets are none, 0, or a share of what the Bayes rule leaks, and some values of X are rare.
`--ends` draws steep families whose mass lies next to an end of the support, where SciPy's functions
lose their digits.

Arb computes the masses of the intervals of the certified rule from the definitions of the families:
its error probability is compared with the certified `upper`, its leakage with the budget, and
`lower` with what the certified duals prove at most. A certificate that fails is printed as FALSE,
and the exit status is 1. An inaccurate one is listed. If its solver states that the accuracy of the
distribution functions sets the gap, the exact gap of its rule and duals must be within 1e-9 or a
tenth of the certified one. Otherwise the statement is FALSE.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, ctx
from scipy import stats

import discreet as ds
from discreet.problems.continuous.bound import sweep

Values = tuple[Any, Any, Any]
"""Density, cdf and survival function at a point, as balls."""

_ONE = arb(1)
_ZERO = arb(0)
_HALF = arb(1) / 2


def _reflected(values: Values) -> Values:
    density, below, above = values
    return density, above, below


def _upper_normal(x: Any) -> Any:
    if not x.is_finite():
        return _ZERO if x > 0 else _ONE
    return (x / arb(2).sqrt()).erfc() / 2


def _normal_density(x: Any) -> Any:
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def _norm(x: Any) -> Values:
    return _normal_density(x), _upper_normal(-x), _upper_normal(x)


def _cauchy(x: Any) -> Values:
    angle = x.atan() / arb.pi()
    return 1 / (arb.pi() * (1 + x * x)), _HALF + angle, _HALF - angle


def _laplace(x: Any) -> Values:
    if x > 0:
        return _reflected(_laplace(-x))
    tail = x.exp() / 2
    return tail, tail, 1 - tail


def _logistic(x: Any) -> Values:
    if x > 0:
        return _reflected(_logistic(-x))
    power = x.exp()
    return power / (1 + power) ** 2, power / (1 + power), 1 / (1 + power)


def _gumbel_r(x: Any) -> Values:
    power = (-x).exp()
    return power * (-power).exp(), (-power).exp(), -(-power).expm1()


def _gumbel_l(x: Any) -> Values:
    return _reflected(_gumbel_r(-x))


def _hypsecant(x: Any) -> Values:
    return (
        1 / (arb.pi() * x.cosh()),
        2 * x.exp().atan() / arb.pi(),
        2 * (-x).exp().atan() / arb.pi(),
    )


def _power_of_exponential(x: Any, c: Any) -> Values:
    power = x**c
    return c * x ** (c - 1) * (-power).exp(), -(-power).expm1(), (-power).exp()


def _rayleigh(x: Any) -> Values:
    tail = (-x * x / 2).exp()
    return x * tail, 1 - tail, tail


def _halfcauchy(x: Any) -> Values:
    return 2 / (arb.pi() * (1 + x * x)), 2 * x.atan() / arb.pi(), 2 * (1 / x).atan() / arb.pi()


def _halfnorm(x: Any) -> Values:
    return 2 * _normal_density(x), (x / arb(2).sqrt()).erf(), 2 * _upper_normal(x)


def _gamma(x: Any, a: Any) -> Values:
    return ((a - 1) * x.log() - x - a.lgamma()).exp(), x.gamma_lower(a, 1), x.gamma_upper(a, 1)


def _chi2(x: Any, df: Any) -> Values:
    density, below, above = _gamma(x / 2, df / 2)
    return density / 2, below, above


def _chi(x: Any, df: Any) -> Values:
    density, below, above = _gamma(x * x / 2, df / 2)
    return density * x, below, above


def _invgamma(x: Any, a: Any) -> Values:
    density, below, above = _reflected(_gamma(1 / x, a))
    return density / x**2, below, above


def _lognorm(x: Any, s: Any) -> Values:
    density, below, above = _norm(x.log() / s)
    return density / (s * x), below, above


def _lomax(x: Any, c: Any) -> Values:
    logarithm = (1 + x).log()
    return c * (-(c + 1) * logarithm).exp(), -(-c * logarithm).expm1(), (-c * logarithm).exp()


def _t(x: Any, df: Any) -> Values:
    if x > 0:
        return _reflected(_t(-x, df))
    scaled = x * x / df
    density = (
        ((df + 1) / 2).lgamma() - (df / 2).lgamma() - (df + 1) / 2 * (1 + scaled).log()
    ).exp()
    if scaled < 1:
        tail = (1 - (scaled / (1 + scaled)).beta_lower(_HALF, df / 2, 1)) / 2
    else:
        tail = (1 / (1 + scaled)).beta_lower(df / 2, _HALF, 1) / 2
    return density / (df * arb.pi()).sqrt(), tail, 1 - tail


def _triang(x: Any, c: Any) -> Values:
    if x < c:
        return 2 * x / c, x * x / c, 1 - x * x / c
    rest = (1 - x) ** 2 / (1 - c) if c < 1 else _ZERO
    return 2 * (1 - x) / (1 - c) if c < 1 else arb(2), 1 - rest, rest


def _truncnorm(x: Any, a: Any, b: Any) -> Values:
    if a < 0 and b < -a:
        return _reflected(_truncnorm(-x, -b, -a))
    whole = _upper_normal(a) - _upper_normal(b)
    below = _upper_normal(a) - _upper_normal(x)
    above = _upper_normal(x) - _upper_normal(b)
    return _normal_density(x) / whole, below / whole, above / whole


def _beta(x: Any, a: Any, b: Any) -> Values:
    logarithm = (
        (a - 1) * x.log() + (b - 1) * (1 - x).log() - a.lgamma() - b.lgamma() + (a + b).lgamma()
    )
    return logarithm.exp(), x.beta_lower(a, b, 1), (1 - x).beta_lower(b, a, 1)


LAWS: dict[str, tuple[Any, float, float]] = {
    **{
        name: (law, -math.inf, math.inf)
        for name, law in {
            "cauchy": _cauchy,
            "gumbel_l": _gumbel_l,
            "gumbel_r": _gumbel_r,
            "hypsecant": _hypsecant,
            "laplace": _laplace,
            "logistic": _logistic,
            "norm": _norm,
            "t": _t,
        }.items()
    },
    **{
        name: (law, 0.0, math.inf)
        for name, law in {
            "chi": _chi,
            "chi2": _chi2,
            "expon": lambda x: _power_of_exponential(x, _ONE),
            "gamma": _gamma,
            "halfcauchy": _halfcauchy,
            "halfnorm": _halfnorm,
            "invgamma": _invgamma,
            "lognorm": _lognorm,
            "lomax": _lomax,
            "maxwell": lambda x: _chi(x, arb(3)),
            "rayleigh": _rayleigh,
            "weibull_min": _power_of_exponential,
        }.items()
    },
    **{
        name: (law, 0.0, 1.0)
        for name, law in {
            "beta": _beta,
            "triang": _triang,
            "uniform": lambda x: (_ONE, x, 1 - x),
        }.items()
    },
    "pareto": (lambda x, b: _lomax(x - 1, b), 1.0, math.inf),
    "truncnorm": (_truncnorm, -math.inf, math.inf),
}
"""Family name → its standard law inside the support, and the ends of that; those of `truncnorm` are
its shapes.
"""


def exact_values(law: Any, z: float) -> Values:
    """Density, cdf and survival function of a frozen distribution at a double, in the precision of
    `flint.ctx`.
    """
    shapes, location, scale = law.dist._parse_args(*law.args, **law.kwds)
    function, *ends = LAWS[law.dist.name]
    low, high = shapes if law.dist.name == "truncnorm" else ends
    if math.isinf(z):
        return (_ZERO, _ONE, _ZERO) if z > 0 else (_ZERO, _ZERO, _ONE)
    x = (arb(z) - arb(float(location))) / arb(float(scale))
    if x <= arb(float(low)):
        return _ZERO, _ZERO, _ONE
    if x >= arb(float(high)):
        return _ZERO, _ONE, _ZERO
    density, below, above = function(x, *(arb(float(shape)) for shape in shapes))
    return density / arb(float(scale)), below, above


# -- the certificate
# --------------------------------------------------------------------------------------------------


def _masses(laws: list[Any], edges: list[float]) -> list[list[Any]]:
    """Mass of every law in every interval [Q][K]."""
    rows = []
    for law in laws:
        tails = [exact_values(law, edge)[1:] for edge in edges]
        rows.append(
            [
                high[0] - low[0] if low[0] < _HALF else low[1] - high[1]
                for low, high in pairwise(tails)
            ]
        )
    return rows


def _sum(numbers: Any) -> Any:
    return sum(numbers, _ZERO)


def _combined(coefficients: Any, masses: list[list[Any]], interval: int) -> Any:
    return _sum(
        arb(c) * row[interval]
        for c, row in zip(coefficients.tolist(), masses, strict=True)
        if c != 0.0
    )


def _broken(solution: Any, laws: list[Any]) -> list[str] | None:
    """What is false about a certificate, in words; None if the precision does not
    suffice to tell.
    """
    problem = solution.problem
    certificate = solution.certificate
    total, prior = _totals(problem)
    error, joint = _reached(solution, laws, total)
    claims = [("upper", error, arb(certificate.upper))]
    for row, column in zip(joint, solution.rule.estimator, strict=True):
        if problem.budget == 0.0 and column.any():
            within = arb(certificate.private_within or 1e-11)
            claims += [
                ("privacy", abs(u - p * _sum(row)), within * p * _sum(row))
                for u, p in zip(row, prior, strict=True)
            ]
    if 0.0 < problem.budget < math.inf:
        parts = ((u, p * _sum(row)) for row in joint for u, p in zip(row, prior, strict=True))
        claims.append(
            (
                "leakage",
                _sum(u * (u / free).log() for u, free in parts if u > 0),
                arb(problem.budget),
            )
        )
    claims.append(("lower", arb(certificate.lower), _dual_bound(solution, laws)[0]))
    if not all(small <= large or small > large for _, small, large in claims):
        return None
    return [
        f"{what}: {small.str(20)} > {large.str(20)}"
        for what, small, large in claims
        if small > large
    ]


def _totals(problem: ds.ContinuousProblem) -> tuple[Any, list[Any]]:
    """The total of all coefficients, and p(x_j) [n]."""
    total = _sum(map(arb, problem.private.ravel().tolist()))
    return total, [_sum(map(arb, row.tolist())) / total for row in problem.private]


def _reached(solution: Any, laws: list[Any], total: Any) -> tuple[Any, list[list[Any]]]:
    """The error probability of the certified rule, and p(x_j, ŷ_i) [m][n]."""
    problem = solution.problem
    rule = solution.rule
    masses = _masses(laws, rule.edges.tolist())
    columns = [[arb(p) for p in column] for column in rule.estimator.T.tolist()]
    columns = [[p / _sum(column) for p in column] for column in columns]

    def given_guess(coefficients: Any, i: int) -> Any:
        terms = (
            _combined(coefficients, masses, k) * column[i]
            for k, column in enumerate(columns)
            if column[i] != 0
        )
        return _sum(terms) / total

    error = _sum(given_guess(row, i) for i, row in enumerate(problem.losses))
    return error, [[given_guess(row, i) for row in problem.private] for i in range(problem.m)]


def exact_gap(solution: Any, laws: list[Any]) -> float:
    """The relative gap of a certified rule and duals, were the functions of all laws exact: what
    remains of it is not set by their accuracy.
    """
    ctx.prec = 1200
    total, _ = _totals(solution.problem)
    error, _ = _reached(solution, laws, total)
    bound, undecided = _dual_bound(solution, laws)
    return float(((error - bound) / error).mid()) + undecided / solution.certificate.upper


def _dual_bound(solution: Any, laws: list[Any]) -> tuple[Any, float]:
    """The most that the certified duals can prove: the tilted losses of some labels, less Σ_i of
    what is infeasible; and what these labels may lose.
    """
    problem = solution.problem
    total, prior = _totals(problem)
    tilt = solution.tilt
    multiplier = float(solution.multiplier)
    found = sweep(problem, tilt, 1e-13 * solution.certificate.upper)
    masses = _masses(laws, found.edges.tolist())
    value = _ZERO
    for k, i in enumerate(found.labels.tolist()):
        value += _combined(problem.losses[i], masses, k)
        value += _sum(
            arb(t) * _combined(row, masses, k)
            for t, row in zip(tilt[i].tolist(), problem.private, strict=True)
        )
    excess = _ZERO
    for row in tilt.tolist():
        if math.isinf(multiplier):
            over = _sum(arb(t) * p for t, p in zip(row, prior, strict=True))
        elif multiplier > 0.0:
            price = arb(multiplier)
            over = (
                price
                * _sum((arb(t) / price).exp() * p for t, p in zip(row, prior, strict=True)).log()
            )
        else:
            over = _ZERO
        excess = over if over > excess else excess
    cost = arb(multiplier) * arb(problem.budget) if 0.0 < problem.budget < math.inf else _ZERO
    bound = value / total - excess - cost
    return (_ZERO if bound < 0 else bound), found.slack


def broken_claims(solution: Any, laws: list[Any]) -> list[str]:
    """What is false about a certificate of densities, in words; laws: its components in order."""
    for digits in (300, 1200, 4000):
        ctx.prec = digits
        found = _broken(solution, laws)
        if found is not None:
            return found
    return ["4000 bits do not decide"]


# -- random problems
# --------------------------------------------------------------------------------------------------

EXPLAINED = "the accuracy of the distribution functions sets the gap"
"""How `claimed` ends where it does."""

_ENDS = ("beta", "lomax", "pareto", "triang", "truncnorm", "uniform")


class Draw:
    """Random problems: a seed each, so that one can be repeated."""

    def __init__(self, seed: int, number: int, ends: bool) -> None:
        self.rng = np.random.default_rng([seed, number, int(ends)])
        self.ends = ends

    def power(self, low: float, high: float) -> float:
        """10 to a uniform exponent."""
        return float(10.0 ** self.rng.uniform(low, high))

    def shapes(self, name: str) -> tuple[float, ...]:
        """Shape parameters of a family; steep with `ends`."""
        most = 7.0 if self.ends else 1.0
        if name in ("pareto", "lomax"):
            return (self.power(-1.0, most),)
        if name == "truncnorm":
            low = float(self.rng.normal(scale=10.0 if self.ends else 1.5))
            return low, low + self.power(-6.0 if self.ends else -0.5, 1.0)
        if name == "triang":
            return (float(self.rng.choice([0.0, 1.0, self.rng.random()])),)
        if name == "beta":
            least = 0.0 if self.ends else -0.25
            return self.power(least, 1.5), self.power(least, 1.5)
        ranges = {"lognorm": (-1.0, 0.3), "t": (-0.3, 1.5), "weibull_min": (0.0, 1.0)}
        ranges |= dict.fromkeys(("chi", "chi2", "gamma", "invgamma"), (0.0, 1.5))
        return (self.power(*ranges[name]),) if name in ranges else ()

    def law(self, name: str) -> Any:
        """Return the distribution with its parameters fixed."""
        shapes = self.shapes(name)
        location = float(self.rng.choice([0.0, self.rng.normal()]))
        scale = float(self.rng.choice([1.0, self.power(-0.7, 0.7)]))
        if self.ends:
            location *= float(self.rng.choice([0.0, 1.0, 1e-6]))
        return getattr(stats, name)(*shapes, loc=location, scale=scale)

    def problem(self) -> tuple[ds.ContinuousProblem, list[Any], float]:
        """Densities without a budget, their distinct laws in order, and the share of the Bayes
        leakage to be the budget.
        """
        n = int(self.rng.integers(1, 4))
        m = int(self.rng.integers(2, 4))
        names = sorted(LAWS if not self.ends else _ENDS)
        chosen = self.rng.choice(names, 1 if self.rng.random() < 0.5 else 3)
        laws = [[self.law(str(self.rng.choice(chosen))) for _ in range(m)] for _ in range(n)]
        prior = (
            self.rng.dirichlet(np.full(n * m, 10.0 ** self.rng.uniform(-0.5, 1.0))).reshape(n, m)
            + 1e-6
        )
        if self.rng.random() < 0.2:
            prior[0] *= self.power(-12.0, -3.0)
        if self.rng.random() < 0.2:
            prior[:, 0] *= self.power(-6.0, -1.0)
        share = float(self.rng.choice([math.inf, 0.0, self.power(-4.0, 0.0)]))
        distinct = {
            (law.dist.name, law.args, *law.kwds.values()): law for row in laws for law in row
        }
        return (
            ds.ContinuousProblem(laws, prior / prior.sum(), math.inf),
            list(distinct.values()),
            share,
        )


def main() -> int:
    """Solve and check as many problems as asked for; 1 if a certificate is false."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--ends", action="store_true", help="steep families with an end of the support"
    )
    asked = parser.parse_args()
    counts = Counter[str]()
    started = time.process_time()
    for number in range(asked.first, asked.first + asked.count):
        try:
            free, laws, share = Draw(asked.seed, number, asked.ends).problem()
        except ds.InputError as error:
            counts["refused"] += 1
            print(f"{number}: refused: {error}", flush=True)
            continue
        before = time.process_time()
        solution = ds.solve(free)
        if share < math.inf:
            solution = ds.solve(free.with_budget(share * max(solution.leakage, 1e-6)))
        spent = time.process_time() - before
        status = solution.status.value
        wrong = broken_claims(solution, laws) if solution.certificate is not None else []
        if solution.status is ds.Status.INACCURATE and solution.claimed.endswith(EXPLAINED):
            status += " by the accuracy of the distribution functions"
            gap = exact_gap(solution, laws)
            if gap > max(1e-9, 0.1 * solution.relative_gap):
                wrong.append(f"the accuracy of functions leaves a gap of {gap:.1e}")
        counts[status] += 1
        counts["FALSE"] += bool(wrong)
        names = ", ".join(sorted({law.dist.name for law in laws}))
        what = f"{number}: {names}; n={free.n}, m={free.m}, share {share:.1e}, {spent:.1f} s"
        if wrong:
            print(f"FALSE {what}: {'; '.join(wrong)}", flush=True)
        if solution.status is not ds.Status.CERTIFIED or spent > 10.0:
            print(f"{what}: {status}: {solution}", flush=True)
    rate = asked.count / (time.process_time() - started)
    print(f"{dict(counts)}; {rate:.1f} problems per second of processor time")
    return 1 if counts["FALSE"] else 0


if __name__ == "__main__":
    sys.exit(main())
