"""The page of releases: what it says follows from its rows, and every release of its study is a
pair of its own.
"""

import re

from checkout import BENCHMARKS, text_of
from measured import measurement

from discreet.backends.solution import Status
from discreet.reports.study.plan import parse_study
from discreet.showing.markdown import markdown

FOLDER = BENCHMARKS / "solver_releases"


def row(environment, status, claimed, **fields):
    return measurement(
        backend="conic",
        environment=environment,
        status=status,
        claimed=claimed,
        budget_word="fraction=0.5",
        budget_nats=0.1,
        machine={"processor": "P", "cores": 2},
        versions={"python": "3.11"},
        time_limit_seconds=5.0,
        control_seconds=(1e-3, 3e-3),
        wall_seconds=60.0,
        **fields,
    )


def test_the_page_counts_claims_that_are_wrong_by_release(load):
    rows = [
        row("scs==3.2.9 cvxpy==1.9.3", Status.CERTIFIED, "optimal"),
        row(
            "scs==3.2.11 cvxpy==1.9.3",
            Status.VIOLATED_PRIVACY,
            "optimal",
            upper=0.2,
            lower=0.1,
            relative_gap=0.5,
            own_leakage_nats=0.15,
        ),
        row(
            "scs==3.2.11 cvxpy==1.9.3",
            Status.INACCURATE,
            "optimal_inaccurate",
            upper=0.2,
            own_leakage_nats=0.1,
        ),
        row("ecos==2.0.8", Status.ABSENT, "", message="there is no wheel"),
    ]
    page = markdown([load("solver_releases.main").page(rows)])
    assert "2 releases" in page
    assert "certified 1 of 3 answers. Of 2 answers that a solver called optimal, 1 were not" in page
    assert re.search(r"\| 3\.2\.9 \| 1 of 1 \| 1 \| 0 \| 0 \| – \| 0 \|", page)
    assert re.search(r"\| 3\.2\.11 \| 0 of 2 \| 1 \| 1 \| 1 \| 5\.0e-01 \| 0 \|", page)
    assert page.index("| 3.2.9 ") < page.index("| 3.2.11 ")
    assert "| ecos==2.0.8 | there is no wheel | 1 |" in page
    assert "in 4 minutes" in page


def test_the_study_names_at_least_forty_releases_of_known_projects(load):
    text = text_of(FOLDER / "releases.toml")
    configurations = parse_study(text, "releases.toml").backends
    releases = {each.environment.split()[0] for each in configurations}
    assert len(releases) >= 40
    assert {each.partition("==")[0] for each in releases} == set(
        load("solver_releases.main").PROJECTS
    )
