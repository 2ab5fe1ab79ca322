"""Arguments that no problem has: every one is refused in one sentence that quotes at most a line of
it.
"""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import raises_file_error, raises_input_error

import discreet as ds
from discreet.problems import catalog, sensors
from discreet.problems.outcomes import Mapped

HUGE = 10**5000
JOINT = np.full((2, 2, 2), 0.125)
MASKED = np.ma.masked_array(JOINT, mask=JOINT > 0.0)
MODEL = ds.problems.paper_single(budget=0.005)
BAYES = MODEL.bayes_estimator
TILT = np.zeros((2, 2))
BLOCKS = ds.BlockProblem.of(MODEL)
LAW = np.full((2, 2), 0.25)
DENSITIES = ds.problems.paper_continuous(0.01)
SEALED = replace(BLOCKS, blocks=Mapped(BLOCKS.blocks, lambda *masses: masses))
STEPS = ds.problems.person_at_home(steps=2, budget=0.01)
joint = ds.Problem.from_joint


ENDLESS = replace(BLOCKS, blocks=SimpleNamespace(n=2, m=2, N=1 << 40))


def frame(x=range(2), y=range(2), z=range(2), **options):
    """The problem of three columns."""
    return ds.Problem.from_frame(
        {"x": x, "y": y, "z": z}, hide="x", guess="y", budget=1.0, **options
    )


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: ds.Problem([[10**400]], [[0.0]], 1.0), "int too large to convert to float"),
        (lambda: joint(MASKED, 1.0), "entries are masked"),
        (lambda: joint(JOINT, 1.0, name=5), "name is 5"),
        (
            lambda: ds.problems.block_problem(
                ds.problems.ArrayBlocks(MODEL.p_xz, MODEL.loss), 1.0, name=5
            ),
            "name is 5",
        ),
        (lambda: joint(JOINT, HUGE), "budget is an object of type int"),
        (lambda: ds.certify(MODEL, [[1.0, 2.0], [1.0]]), "estimator"),
        (lambda: MODEL.error_probability(np.eye(3)), "the estimator has shape [3, 3]"),
        (lambda: ds.certify(MODEL, BAYES, TILT, "x"), "multiplier"),
        (lambda: ds.certify(5, BAYES), "int is not a problem"),
        (lambda: ds.certify(DENSITIES, BAYES), "IntervalRule"),
        (lambda: ds.solve(MODEL, gap="x"), "gap is 'x'"),
        (lambda: ds.solve(MODEL, time_limit="x"), "time limit is 'x'"),
        (lambda: ds.solve(MODEL, settings=5), "settings are 5"),
        (lambda: ds.solve(MODEL, progress=3), "progress is 3"),
        (lambda: ds.solve(MODEL, None), "there is no backend None"),
        (lambda: ds.solve("paper-single"), "paper-single cannot be read"),
        (lambda: ds.frontier(ENDLESS), "not outcomes in blocks"),
        (lambda: ds.backends.solve_isolated(SEALED), "another process"),
        (lambda: ds.save_problem(MODEL, "a.npz"), "str is not a problem"),
        (lambda: ds.export("problem.npz", "a.cbf"), "str is not a problem"),
        (lambda: ds.lift(MODEL, [1.0, 2.0, 3.0]), "3 variables"),
        (lambda: ds.save_problem("a.npz", DENSITIES), "not a continuous measurement"),
        (lambda: ds.inference(STEPS, BAYES), "`noncausal`"),
        (lambda: ds.design_quantiser(STEPS, 4), "not guesses over time"),
        (lambda: ds.problems.reduce(STEPS), "not guesses over time"),
        (lambda: ds.solve(STEPS).save("a.npz"), "`rule.kernels`"),
        (lambda: ds.save_problem(5, MODEL), "5 is not a path"),
        (lambda: ds.load_problem("a\0b"), "embedded null"),
        (lambda: ds.certify(MODEL, BAYES, anchors=5), "anchors is empty or no row"),
        (lambda: ds.load_problem("a.npz", max_bytes="x"), "max_bytes is 'x'"),
        (lambda: joint(np.full((1, 10_000, 1), 1e-4), 1.0), "Y has 10,000 values"),
        (lambda: joint(np.array([[[0.5, np.ma.masked]]], dtype=object), 1.0), "masked"),
        (lambda: ds.problems.entropy([1e308, 1e308]), "p is"),
        (lambda: ds.problems.fano_bound("x", 3), "equivocation"),
        (lambda: sensors.even_edges(3, 1.0, 0.0), "edges"),
        (lambda: sensors.count_vectors(2**63, 2), "give an integer ≥ 0 and ≤ 4.61169e+18"),
        (lambda: sensors.count_vectors(10**5, 10**5), "too many count vectors"),
        (lambda: sensors.linear_conditional(np.inf, 0.5, 0.1, [0.0, 1.0]), "must be finite"),
        (lambda: sensors.grouped_sensors(5, LAW), "groups is empty or no row"),
        (
            lambda: sensors.single_sensor([[5.0, 5.0], [5.0, 5.0]], LAW, [0, 1]),
            "5.0 is not a distribution",
        ),
        (
            lambda: frame(
                *[(np.arange(600) % k).astype(t) for k, t in ((500, str), (499, str), (600, int))],
                bins=600,
            ),
            "134,217,728",
        ),
        (lambda: frame(z=[10**400, 1]), "'z'"),
        (lambda: frame(bins=HUGE), "give an integer ≥ 1 and ≤ 1e+06"),
        (lambda: frame(smoothing=1e308), "≤ 1e+100"),
        (lambda: catalog.build("x" * 10_000), "the catalog has no problem 'xxx"),
        (lambda: catalog.build("smart-meter", variation=1e-320), "cannot be computed"),
        (lambda: catalog.build("road", limit=1e308), "limit is 1e+308"),
        (lambda: catalog.build("anes96", z=([],)), "column []"),
        (lambda: catalog.build("x-equals-y", n=10_000, N=2), "their product is above"),
    ],
)
def test_every_bad_argument_is_one_sentence(call, said):
    with raises_input_error(re.escape(said)):
        call()


def test_a_rule_on_intervals_is_not_saved(tmp_path):
    with raises_file_error("intervals"):
        ds.solve(ds.problems.paper_continuous(1.0)).save(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "name, parameter",
    [
        (each.name, p.name)
        for each in catalog.entries()
        for p in each.parameters
        if type(p.default) is int
    ],
)
def test_sizes_beyond_the_range_of_integers_are_refused(name, parameter):
    for value in (2**63, HUGE):
        if value == HUGE or parameter not in ("seed", "min_count"):  # these may be as large as 2^63
            with pytest.raises((ds.InputError, ImportError)) as caught:
                catalog.build(name, **{parameter: value})
            assert len(str(caught.value)) < 400
