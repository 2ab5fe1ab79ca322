"""The continuous solver: certified brackets, exact boundaries, against fine discretisations, on
every kind of density. Quantiser design, and measurements that are known through samples only.
"""

import math
from functools import cache

import numpy as np
import pytest
from density_cases import NORMALS, P_XY, grid, mixtures
from gated import gated
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from refusals import raises_input_error
from scipy import stats
from solving import assert_certified
from strategies import seeds

import discreet as ds
from discreet.backends.continuous.boundaries import Boundaries, relative_difference
from discreet.backends.continuous.confidence import (
    Draws,
    LeakageBox,
    bernstein_radius,
    controlled_mean,
)
from discreet.backends.continuous.polish import polish
from discreet.backends.continuous.sampled import sampled_model
from discreet.backends.precision import Precision
from discreet.measures.law import OutputLaw
from discreet.problems import NormalDensity, paper_continuous
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.sensors import even_edges, paper_p_xy

GAP = 1e-8


@cache
def solved(budget):
    """The paper's single sensor under a budget."""
    return ds.solve(paper_continuous(budget))


def in_bins(problem, inner):
    """The solution where only the bin between these edges is seen."""
    return ds.solve(problem.on(np.concatenate([[-np.inf], inner, [np.inf]])), backend="tilt")


def check(solution, gap=GAP):
    certificate = solution.certificate
    problem = solution.problem
    assert solution.status is ds.Status.CERTIFIED, certificate
    assert 0.0 <= certificate.lower <= certificate.upper
    assert certificate.relative_gap <= gap
    error = solution.rule.error_probability(problem)
    assert error <= certificate.upper <= error * (1.0 + 1e-11) + 1e-300
    if problem.budget > 0.0:
        assert certificate.leakage <= problem.budget
        assert solution.rule.leakage(problem) <= problem.budget
    else:
        assert certificate.phi_residual <= 1e-13


# -- the paper's sensor
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "budget", [0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 5e-3, 0.0137, 0.0138, 1.0, math.inf]
)
def test_every_budget_is_certified(budget):
    check(solved(budget))


def test_tilted_losses_tie_at_the_boundaries_and_the_rule_is_their_minimum():
    solution = ds.solve(mixtures(1, 3, 3, 3, 0.02))
    check(solution)
    problem = solution.problem
    rule = solution.rule
    left = rule.labels[:-1]
    right = rule.labels[1:]
    assert (
        np.abs(relative_difference(problem, solution.tilt, rule.boundaries, left, right)).max()
        < 1e-7
    )
    z = np.linspace(-8, 8, 4001)
    tilted = problem.tilted(solution.tilt) @ problem.densities(z)
    far = np.abs(z[:, None] - rule.boundaries).min(axis=1) > 1e-3
    assert (solution.rule(z)[far] == tilted.argmin(axis=0)[far]).all()


# -- against fine discretisations
# ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0.0, 1e-3, 0.02])
def test_fine_bins_approach_the_continuous_optimum_from_above(budget):
    problem = mixtures(7, 3, 3, 2, budget)
    solution = ds.solve(problem)
    check(solution)
    errors = []
    for bins in (30, 300, 3000):
        fine = in_bins(problem, np.linspace(-7, 7, bins - 1))
        assert fine.certificate.upper >= solution.certificate.lower
        errors.append(fine.error_probability / solution.error_probability - 1.0)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4


@given(
    seeds,
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.001, 0.1, 0.5, 2.0]),
)
def test_random_mixtures_are_certified_at_any_share_of_the_bayes_leakage(seed, n, m, share):
    problem = mixtures(seed, n, m, 2, math.inf)
    leakage = ds.solve(problem).leakage
    check(ds.solve(problem.with_budget(share * leakage)))


# -- kinds of densities
# --------------------------------------------------------------------------------------------------

FAMILIES = {
    "cauchy": lambda j, i: stats.cauchy(i + 0.5 * j, 0.3),
    "laplace": lambda j, i: stats.laplace(i + 0.5 * j, 0.3),
    "exponential": lambda j, i: stats.expon(scale=1 + i + 0.4 * j),
    "gamma with a pole": lambda j, i: stats.gamma(0.5 + 0.6 * i + 0.3 * j),
    "beta with poles": lambda j, i: stats.beta(0.5 + i, 0.7 + j),
    "uniform": lambda j, i: stats.uniform(0.5 * i + 0.3 * j, 1.0),
    "triangular": lambda j, i: stats.triang(0.3, 0.5 * i + 0.3 * j, 1.0),
    "lognormal": lambda j, i: stats.lognorm(0.5 + 0.2 * j, scale=1 + i),
    "very different scales": lambda j, i: stats.norm(i, 10.0 ** (-3 * j)),
    "unknown shape": lambda j, i: stats.hypsecant(i + 0.5 * j, 0.3),
}


@cache
def under_a_slack_budget(name):
    """A problem of that kind of densities with the Bayes rule: no rule leaks a nat about one of two
    values.
    """
    return ds.solve(ContinuousProblem(grid(FAMILIES[name]), P_XY, 1.0))


@pytest.mark.parametrize("regime", gated(["constrained", "perfect", "slack"]))
@pytest.mark.parametrize("name", FAMILIES)
def test_every_kind_of_density_is_certified(name, regime):
    """In every regime; how small a budget may be is asked above."""
    solution = under_a_slack_budget(name)
    if regime != "slack":
        share = {"perfect": 0.0, "constrained": 0.1}[regime]
        solution = ds.solve(solution.problem.with_budget(share * solution.leakage))
    check(solution)
    assert solution.rule.edges.size <= 30


def test_tails_that_nearly_tie_are_bracketed():
    """The lower bound once ran out of cells at a gap of 8.5e-6."""
    laws = [
        [stats.lomax(1.7908, scale=2.2879), stats.lomax(0.1331, scale=0.3404)],
        [stats.lomax(0.1345), stats.lomax(1.2314)],
    ]
    check(ds.solve(ContinuousProblem(laws, [[0.3772, 0.6179], [0.0041, 0.0008]], 1.4e-6)))


def test_a_rule_may_leak_as_much_as_the_judge_finds():
    """The columns sum to one up to rounding, which the judge charges."""
    problem = paper_continuous(1e-3)
    rule = ds.problems.IntervalRule([-np.inf, 0.5, np.inf], [[0.1, 0.1000001], [0.9, 0.8999999]])
    judged = ds.certify(problem, rule).certificate.own_leakage_ceiling
    assert rule.output_law(problem).leakage_ceiling() >= judged * (1.0 - 1e-12)


def test_rare_errors_are_certified_though_columns_are_rounded():
    """The judge once blended the answer by 3e-15 of a guess that ignores the outcome, which costs a
    gap of 5e-8 where errors are rare.
    """
    laws = [
        [
            stats.truncnorm(-13.956758890269734, -13.956304977112966),
            stats.truncnorm(
                -8.647026812050314,
                -2.9419579325510403,
                loc=2.174342533137839e-07,
                scale=0.31944230816790464,
            ),
            stats.truncnorm(-8.213662176250377, -8.213429821288143, loc=2.3533212560285754),
        ],
        [
            stats.truncnorm(
                0.5018045701137561,
                0.5044248850373285,
                loc=-1.6493233737839872e-07,
                scale=1.132892095605616,
            ),
            stats.lomax(86.18373022329963, scale=1.8454662010076708),
            stats.lomax(0.13411156845452102, loc=1.2758715844788089, scale=0.808224128202225),
        ],
    ]
    prior = [
        [3.4541160353226964e-07, 1.3494710736579657e-07, 3.511183550485744e-08],
        [0.29203090061691167, 0.35392486178938753, 0.3540437221231545],
    ]
    check(ds.solve(ContinuousProblem(laws, prior, 1.1799771426349065e-07)), 1e-9)


RARE_VALUE = ContinuousProblem(
    [
        [
            stats.halfcauchy(loc=0.28848417697502915),
            stats.gumbel_l(),
            stats.halfcauchy(scale=0.7116882098578997),
        ],
        [
            stats.hypsecant(loc=-0.1696410150175106),
            stats.gumbel_l(loc=0.19146236337814862, scale=0.4071765996261842),
            stats.halfcauchy(loc=0.28644122425886065, scale=0.9050708588136037),
        ],
    ],
    [
        [6.326042349702025e-11, 3.143182450276145e-05, 6.413485679058719e-05],
        [6.918842814562967e-07, 0.21530007229705178, 0.7846036690741129],
    ],
    0.0,
)
RARER_VALUE = ContinuousProblem(
    [
        [
            stats.lomax(4.07, loc=-1.35, scale=4.59),
            stats.uniform(),
            stats.lomax(2913.8, loc=-1.226e-6, scale=1.2985),
        ],
        [
            stats.lomax(1134233.0, loc=0.29165),
            stats.uniform(5.08e-8, 0.69324),
            stats.lomax(268.02, scale=0.48334),
        ],
    ],
    [[1.67e-12, 1.94e-14, 6.75e-13], [0.291, 0.0885, 0.6205]],
    0.0,
)


@pytest.mark.parametrize("problem", [RARE_VALUE, RARER_VALUE])
def test_a_partition_on_which_an_interior_point_stalls_is_solved_as_a_linear_program(problem):
    """A rare private value at budget 0: the gaps were 1.3e-3 and 6.5e-2."""
    edges = np.concatenate([[-np.inf], problem.quantiles, [np.inf]])
    assert_certified(problem.on(np.unique(edges)), "tilt")
    check(ds.solve(problem), 1e-9)


def test_a_guess_that_is_never_made_keeps_its_tilt_at_the_last_digits():
    """It has no gradient; without a tilt it would be better than the guesses in use. The bracket
    narrowed to a quarter in each of eight rounds.
    """
    laws = [
        [
            stats.halfnorm(0.047, 0.592),
            stats.halfnorm(scale=1.047),
            stats.halfnorm(-0.025),
        ],
        [
            stats.halfnorm(-1.1, 0.247),
            stats.halfnorm(0.657),
            stats.halfnorm(scale=0.774),
        ],
    ]
    prior = [[1.4e-5, 0.031, 0.182], [3.2e-6, 0.236, 0.551]]
    prior = np.divide(prior, np.sum(prior))
    solution = ds.solve(ContinuousProblem(laws, prior, 1.5e-5))
    check(solution, 1e-9)
    assert solution.iterations == 1


def test_asymmetric_losses_and_more_guesses_than_values():
    loss = np.array([[0.0, 1.0, 0.2], [5.0, 0.0, 0.4]])  # the third guess abstains
    problem = ContinuousProblem(NORMALS, P_XY, 0.02, loss_matrix=loss)
    solution = ds.solve(problem)
    check(solution)
    assert set(solution.rule.labels) >= {0, 1, 2}
    fine = in_bins(problem, np.linspace(-2, 4, 3000))
    assert solution.error_probability == pytest.approx(fine.error_probability, rel=1e-5)


def test_private_values_that_never_happen_change_nothing():
    with_unused = ContinuousProblem(
        [*NORMALS, [NormalDensity(9, 1), NormalDensity(8, 1)]], [*P_XY, [0, 0]], 0.01
    )
    plain = ContinuousProblem(NORMALS, P_XY, 0.01)
    a = ds.solve(with_unused)
    b = ds.solve(plain)
    check(a)
    assert a.error_probability == pytest.approx(b.error_probability, rel=2e-8)


# -- the pieces
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0.0, 0.01])
def test_newton_returns_to_the_optimum_from_nearby(budget):
    problem = paper_continuous(budget)
    solution = solved(budget)
    moved = solution.rule.boundaries + np.array([0.003, -0.02])
    start = Boundaries(moved, solution.rule.labels, np.zeros(2, dtype=bool))
    found = polish(
        problem, start, solution.tilt, 1.1 * solution.multiplier, Precision.of(problem, 1e-9)
    )
    np.testing.assert_allclose(found.boundaries.positions, solution.rule.boundaries, atol=1e-8)


@pytest.mark.parametrize("budget", [0.01, 0.0])
def test_newton_whose_time_is_over_proposes_nothing(budget):
    problem = paper_continuous(budget)
    rule = solved(budget).rule
    start = Boundaries(rule.boundaries, rule.labels, np.zeros(rule.boundaries.size, dtype=bool))
    precision = Precision.of(problem, 1e-9)
    late = polish(problem, start, solved(budget).tilt, 1.0, precision, deadline=-math.inf)
    assert late is None


def test_a_time_limit_ends_the_rounds_and_the_bracket_stays_valid():
    solution = ds.solve(mixtures(2, 2, 2, 2, 0.01), gap=1e-13, time_limit=1e-9)
    assert solution.iterations == 1
    assert solution.status is ds.Status.INACCURATE
    assert solution.certificate.lower <= solution.certificate.upper


def test_what_cannot_be_solved_is_refused():
    refused = ds.solve(ds.problems.paper_single(budget=0.1), "intervals")
    assert refused.status is ds.Status.UNSUPPORTED
    assert refused.message.startswith(
        "backend intervals does not serve outcomes in arrays; use one of: tilt"
    )
    with raises_input_error(r"^int .*BlockProblem"):
        ds.solve(3)
    with raises_input_error("estimator"):
        solved(0.1).estimator  # noqa: B018
    with raises_input_error("gap"):
        ds.solve(paper_continuous(0.1), gap=0.0)


def test_the_solution_of_densities_holds_a_rule_and_a_record():
    solution = solved(0.01)
    assert solution.rule([0.0, 0.6, 2.0]).tolist() == [0, 1, 0]
    assert solution.equivocation == pytest.approx(solution.problem.entropy_x - 0.01, abs=1e-9)
    assert solution.rule.edges.size == 4
    assert "certified" in repr(solution)
    assert solution.to_dict()["outcomes"] is None


@pytest.mark.parametrize("budget", [0.0, 0.001, 0.01])
def test_three_bins_reach_the_continuous_optimum_on_the_papers_model(budget):
    design = ds.design_quantiser(paper_continuous(budget), 3)
    assert design.solution.status is ds.Status.CERTIFIED
    assert design.excess < 1e-8
    assert design.error_probability >= design.continuous.certificate.lower
    np.testing.assert_allclose(design.edges[1:-1], design.continuous.rule.boundaries, atol=2e-4)


@pytest.mark.gate
def test_with_two_bins_no_single_edge_is_better():
    problem = paper_continuous(0.01)
    design = ds.design_quantiser(problem, 2, continuous=solved(0.01))
    tried = [
        ds.solve(problem.on(np.array([-np.inf, edge, np.inf])), "tilt", gap=1e-12).error_probability
        for edge in np.linspace(-0.3, 1.3, 81)
    ]
    assert design.error_probability <= min(tried) + 1e-12
    assert 0.2 < design.excess < 0.22


def test_a_model_whose_rule_needs_more_bins_than_it_gets():
    laws = grid(lambda j, i: stats.cauchy(i + 0.5 * j, 0.3))
    problem = ds.ContinuousProblem(laws, P_XY, 0.02)
    needed = ds.solve(problem).rule.edges.size - 1
    few = ds.design_quantiser(problem, 3)
    enough = ds.design_quantiser(problem, needed)
    assert few.error_probability > enough.error_probability
    assert enough.excess < 1e-7
    assert len(few.starts) == 5


@pytest.mark.gate
def test_the_random_starts_are_seeded():
    problem = paper_continuous(0.01)
    a, b = (
        ds.design_quantiser(problem, 2, rng=np.random.default_rng(3), continuous=solved(0.01))
        for _ in range(2)
    )
    assert (a.edges == b.edges).all()
    assert a.starts == b.starts
    assert "2 bins" in repr(a)


def test_even_edges_are_equally_wide():
    assert even_edges(4, 0.0, 1.0).tolist() == [-np.inf, 0.25, 0.5, 0.75, np.inf]
    assert even_edges(2, 0.0, 1.0).tolist() == [-np.inf, 0.5, np.inf]


def test_impossible_numbers_of_bins_are_refused():
    for bins in (1, 0, 2.5, 10**7):
        with raises_input_error("bins"):
            ds.design_quantiser(paper_continuous(0.01), bins)


PAPER_P_XY = paper_p_xy()


def sensor(sigma=0.1):
    return [[stats.norm(0.4 * x + 0.6 * y, sigma) for y in (0, 1)] for x in (0, 1)]


def plane():
    return [
        [stats.multivariate_normal([0.6 * y, 0.5 * x - 0.2 * y], 0.04 * np.eye(2)) for y in (0, 1)]
        for x in (0, 1)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_holds_the_known_optimum_of_one_dimension(seed):
    exact = solved(0.01).error_probability
    found = ds.estimate_continuous_by_samples(
        sensor(), PAPER_P_XY, 0.01, samples=60_000, rng=default_rng(seed)
    )
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower < 0.08
    assert found.leakage_ceiling <= 0.01
    assert "not a certificate" in repr(found)


def test_the_rule_keeps_the_budget_on_fresh_draws():
    budget = 0.01
    rng = default_rng(8)
    found = ds.estimate_continuous_by_samples(plane(), PAPER_P_XY, budget, samples=100_000, rng=rng)
    model = found.model
    counts = rng.multinomial(400_000, PAPER_P_XY.ravel()).reshape(2, 2)
    joint = np.zeros((2, 2))
    wrong = 0
    for j, k in np.ndindex(2, 2):
        guesses = found.guess(
            model.distributions[j][k].rvs(size=counts[j, k], random_state=rng), rng
        )
        joint[:, j] += np.bincount(guesses, minlength=2) / 400_000
        wrong += int((guesses != k).sum())
    p_x = joint.sum(axis=0)
    mass = joint.sum(axis=1)
    assert OutputLaw(mass, joint - mass[:, None] * p_x, p_x).leakage() <= budget * 1.02
    assert wrong / 400_000 == pytest.approx(found.error, abs=0.004)
    assert found.lower <= wrong / 400_000 <= found.upper + 0.003


def test_the_same_seed_gives_the_same_answer():
    a, b = (
        ds.estimate_continuous_by_samples(plane(), PAPER_P_XY, 0.02, samples=5000) for _ in range(2)
    )
    assert (a.lower, a.upper) == (b.lower, b.upper)


def test_bernstein_limits_cover_at_least_as_often_as_they_say():
    rng = default_rng(0)
    missed = 0
    for _ in range(2000):
        values = (rng.random(200) < 0.05).astype(float)
        missed += values.mean() + bernstein_radius(values, 1.0, math.log(2.0 / 0.05)) < 0.05
    assert missed <= 0.05 * 2000


def test_control_variates_keep_the_mean_and_cut_the_radius():
    model = sampled_model(sensor(), PAPER_P_XY, None)
    rng = default_rng(1)
    halves = []
    for _ in range(2):
        posterior = model.posterior(model.draw(20_000, rng))
        labels = model.labels(posterior, np.zeros((2, 2)))
        halves.append(Draws(posterior, labels, labels, 0.0))
    loss = np.broadcast_to(1.0 - np.eye(2)[:, None, :], (2, 2, 2)).copy()
    mean, radius = controlled_mean(loss, PAPER_P_XY, *halves, log_risk=5.0)
    plain = halves[1].values(loss)
    exact = solved(math.inf).error_probability
    assert abs(mean - exact) <= radius <= bernstein_radius(plain, 1.0, 5.0) * 1.2
    assert abs(plain.mean() - exact) <= bernstein_radius(plain, 1.0, 5.0)


@given(seeds)
def test_no_law_in_the_box_leaks_more_than_its_ceiling(seed):
    rng = default_rng(seed)
    n, m = rng.integers(2, 4, 2)
    p_x = rng.dirichlet(np.ones(n))
    joint = p_x * rng.dirichlet(rng.choice([0.1, 1.0, 20.0]) * np.ones(m), n).T
    mass = joint.sum(axis=1)
    law = OutputLaw(mass, joint - mass[:, None] * p_x, p_x)
    radii = rng.uniform(0, 0.05, m), rng.uniform(0, 0.05, (m, n))
    shift = rng.uniform(-1, 1, m) * radii[0], rng.uniform(-1, 1, (m, n)) * radii[1]
    box = LeakageBox(law.mass + shift[0], law.deviation + shift[1], *radii, p_x)
    assert law.leakage() <= box.ceiling() * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize(
    "words, options",
    {
        "nothing": {"budget": 0.0},
        "confidence": {"confidence": 1.0},
        "samples": {"samples": 10},
        "fewer draws": {"samples": 10**9},
        "not finite": {"p_xy": [[0.5, np.nan]]},
        "give 1 rows": {"p_xy": [[0.5, 0.5]]},
        "3 rows": {"loss_matrix": np.ones((3, 2))},
        "logpdf and rvs": {"distributions": [["a", "b"], ["c", "d"]]},
    }.items(),
)
def test_what_cannot_be_used_is_one_clear_sentence(options, words):
    arguments = {
        "distributions": sensor(),
        "p_xy": PAPER_P_XY,
        "budget": 0.01,
        "samples": 2000,
        **options,
    }
    with raises_input_error(words):
        ds.estimate_continuous_by_samples(**arguments)
