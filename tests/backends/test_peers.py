"""The peers: judged on small problems in every regime they serve, on edge cases, under limits;
settings as documented.
"""

import importlib.util
import math
import re

import numpy as np
import pytest
from checkout import text_of
from command import python
from left_out import LEFT_OUT
from numpy.testing import assert_allclose
from random_laws import random_columns
from solving import assert_certified

from discreet import Options, Status, solve
from discreet.backends import Regime, load_backend
from discreet.backends.highs import highs_options
from discreet.backends.lowering import Program
from discreet.backends.peers.tuning import ShareOfGap, Tuned, native
from discreet.backends.process import STARTUP_SECONDS, Child
from discreet.backends.registry import peers
from discreet.problems import catalog
from discreet.reports.compare import default_configurations

PEERS = tuple(
    name for name in sorted(peers() - LEFT_OUT) if load_backend(name).capabilities.regimes
)
"""Those that serve mutual information or perfect privacy; `qif` has a file of its own."""
EVERY_BUDGET = tuple(
    name for name in PEERS if Regime.CONSTRAINED in load_backend(name).capabilities.regimes
)
PAGE = text_of("docs/reference/peers.md")


PRIVATE = catalog.build("paper-single", bins=24, budget=0.0)
HALF = catalog.build("paper-single", bins=24, fraction=0.5)


@pytest.mark.parametrize("name", EVERY_BUDGET)
def test_absurd_budgets_end_in_a_status(name):
    for budget in (5e-324, 1e-300, 1e-30, 1e-12, 50.0, 1e300):
        problem = catalog.build("paper-single", bins=8, budget=budget)
        found = solve(problem, name, max_iterations=100)
        assert found.status in {
            Status.CERTIFIED,
            Status.INACCURATE,
            Status.VIOLATED_PRIVACY,
            Status.FAILED,
        }
        assert found.message
        if budget >= 50.0:
            assert found.relative_gap <= 1e-6


@pytest.mark.gate
def test_an_iteration_limit_reaches_glop():
    """It does not say how many iterations it took, but ends without an optimum."""
    problem = catalog.build("dirichlet", n=4, m=4, N=60, budget=0.0)
    assert_certified(problem, "glop")
    assert solve(problem, "glop", max_iterations=2).status is not Status.CERTIFIED


@pytest.mark.gate
@pytest.mark.parametrize("name", PEERS)
def test_the_solver_takes_every_entry_of_its_table(name):
    """A setting that does not exist is noticed, so the settings of the table exist."""
    with Child("wrong_setting:serve", (name, PRIVATE)) as child:
        assert child.receive(STARTUP_SECONDS) is not Status.FAILED
        assert child.receive(STARTUP_SECONDS) is Status.FAILED


def test_a_table_follows_the_gap_and_the_size():
    table = (
        Tuned("a", ShareOfGap(0.1, 1e-12), 1.0, ""),
        Tuned("b", ShareOfGap(0.1, 1e-12, True), 1.0, ""),
    )
    found = native(table, Options(gap=1e-6, max_iterations=3), 100, "c", "d")
    assert found == pytest.approx({"a": 1e-7, "b": 1e-9, "c": 3})
    assert native(table, Options(gap=1e-12), 100, "c", "") == {"a": 1e-12, "b": 1e-12}


def test_the_linked_program_is_the_problem():
    """Law: a point made of any estimator satisfies the equations, and its cost is the excess error
    probability.
    """
    rng = np.random.default_rng(2)
    for budget in ({"fraction": 0.5}, {"budget": math.inf}):
        problem = catalog.build("dirichlet", n=3, m=3, N=20, **budget)
        program = Program.of(problem, 0.5)
        estimator = random_columns(rng, problem.m, problem.N)
        x = (estimator * program.scale).ravel()
        if program.leaks:
            law = problem.output_law(estimator)
            x = np.concatenate([x, law.deviation.ravel() / program.parts[0].root, law.mass])
        matrix, right = program.equations()
        assert_allclose(matrix @ x, right, atol=1e-13)
        excess = problem.error_probability(estimator) - problem.bayes_error
        assert program.objective() @ x * program.unit == pytest.approx(excess, rel=1e-12)
        answer = program.answer(x, np.full(right.size, math.nan))
        assert_allclose(answer.estimator, estimator, rtol=1e-14)
        assert answer.tilt is None, "duals that are not numbers are left out"


@pytest.mark.gate
@pytest.mark.parametrize("name", sorted({"glop", "pdlp"} - LEFT_OUT))
def test_a_process_that_starts_for_a_peer_imports_its_library_before_it_is_timed(name):
    with Child("wrong_setting:serve_imports", (name, PRIVATE)) as child:
        assert child.receive(STARTUP_SECONDS)


# -- peers among the backends
# --------------------------------------------------------------------------------------------


def test_no_peer_answers_unless_asked():
    from discreet.backends.auto import Auto

    assert not peers() & {each.backend for each in default_configurations()}
    assert not peers() & set(Auto.preference)
    refusal = solve(HALF, "highs").message
    assert "use one of: tilt" in refusal
    assert not [name for name in PEERS if re.search(rf"\b{name}\b", refusal)]


@pytest.mark.parametrize(
    "name, library, extra", [("ipopt", "casadi", "peers"), ("cupdlpx", "cupdlpx", "gpu")]
)
def test_a_peer_whose_library_is_missing_is_absent(name, library, extra, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda asked, *rest: None if asked == library else real(asked, *rest),
    )
    found = solve(PRIVATE, name)
    assert found.status is Status.ABSENT
    assert f'pip install "discreet[{extra}]"' in found.message


@pytest.mark.gate
def test_all_peers_share_a_process():
    """HiGHS comes with four of the libraries; see docs/decisions/0002-base-install.md."""
    code = (
        "import discreet as ds\n"
        "p = ds.problems.paper_single(bins=8, budget=0.0)\n"
        "names = ['pdlp', 'highs', 'ipopt', 'conic', 'glop', 'qics', 'clarabel', 'trust-constr', "
        "'highs', 'pyomo', 'moreau', 'pounce', 'uno', 'glop']\n"
        f"names = [name for name in names if name not in {set(LEFT_OUT)}]\n"
        "q = p.with_budget(0.01, measure='maximal-leakage')\n"
        "measured = [*(name for name in names if name != 'trust-constr'), 'qif']\n"
        "print(*(ds.solve(q, name).status.value for name in measured))\n"
        "print(*(ds.solve(p, name).status.value for name in names))"
    )
    assert set(python(code).split()) <= {"certified", "inaccurate", "violated-privacy"}


# -- the tables of the reference
# -----------------------------------------------------------------------------------------


def rows_of_the_page(name):
    found = re.search(
        rf"^## {re.escape(name)}$(.*?)(?=^## |\Z)",
        PAGE,
        re.MULTILINE | re.DOTALL,
    )
    assert found is not None, f"docs/reference/peers.md has no section {name}"
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in found.group(1).splitlines()
        if line[:1] == "|"
    ]
    return rows[2:]


@pytest.mark.parametrize("name", PEERS)
def test_every_setting_has_a_reason(name):
    """The page itself is written from the tuning (tests/test_reference.py)."""
    assert all(each.why for each in load_backend(name).tuning)


def test_the_page_has_a_section_for_every_peer_and_no_other():
    sections = re.findall(r"^## ([a-z-]+)$", PAGE, flags=re.MULTILINE)
    assert set(sections) == peers()


def test_the_page_shows_what_highs_is_given():
    highspy = pytest.importorskip("highspy")
    solver = highspy.Highs()
    shown = {
        name.strip("`"): (value, default)
        for name, value, default, _ in rows_of_the_page("HiGHS: simplex, interior points, PDLP")
    }
    for gap in (1e-6, 1e-20):
        given = highs_options(Options(gap=gap, time_limit=None), "highs")
        assert set(given) == set(shown)
        for name, (value, default) in shown.items():
            assert str(solver.getOptionValue(name)[1]) == default
            least = re.fullmatch(r"0\.1 × gap, at least (\S+)", value)
            told = max(0.1 * gap, float(least[1])) if least else value
            assert given[name] == told or str(given[name]) in str(told)
