"""`discreet submit`: answers of other programs are judged, kept next to our own and marked; others
are refused.
"""

import json

import clarabel
import numpy as np
import pytest
from command import done, refused, solving_here

import discreet as ds
from discreet.problems import paper_single
from discreet.reports.html import write_report
from discreet.reports.measurements import read_csv
from discreet.reports.published import publish
from discreet.reports.study import read_results

STUDY = """
name = "small"
[limits]
time_seconds = 10
[profiles.default]
gap = 1e-6
[[backends]]
name = "tilt"
[[instances]]
problem = "paper-single"
budgets = ["fraction=0.5", "perfect"]
parameters = { bins = [8, 16] }
"""
HALF = "paper-single_bins_8_fraction_0.5"
PRIVATE = "paper-single_bins_8_perfect"
LARGER = "paper-single_bins_16_fraction_0.5"


def solved_by_clarabel(path):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    return list(clarabel.load_from_file(str(path), settings).solve().x)


def written(variables, seconds="0.25"):
    return "\n".join([f"# seconds: {seconds}", "# claimed: Solved", *map(repr, variables)]) + "\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with small.toml and the empty folder answers."""
    solving_here(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(STUDY)
    (tmp_path / "answers").mkdir()
    return tmp_path


def test_from_an_instance_file_to_a_row_on_the_page(place):
    done("export small.toml --study --out files")
    good = solved_by_clarabel(place / "files" / f"{HALF}.json")
    (place / "answers" / f"{HALF}.txt").write_text(written(good), encoding="ascii")
    wrong = np.ones(2 * 16)  # a coin: keeps the budget, and is far from the best
    np.savez(place / "answers" / f"{LARGER}.npz", variables=wrong, seconds=0.5)
    problem = paper_single(bins=8, budget=0.0)
    np.savez(place / "answers" / f"{PRIVATE}.npz", estimator=problem.bayes_estimator, seconds=0.125)
    said = done("submit small.toml answers --name", "Peer 1.2", "--out", "study", "--json")
    assert "1 of 4 problems of the study have no answer" in said.stderr
    answers = {
        f"{each['problem']} {each['budget_word']}": each
        for each in json.loads(said.stdout)["answers"]
    }
    assert {name: each["status"] for name, each in answers.items()} == {
        "paper-single:bins=8 fraction=0.5": "certified",
        "paper-single:bins=8 perfect": "violated-privacy",
        "paper-single:bins=16 fraction=0.5": "inaccurate",
    }
    assert [each["stated_seconds"] for each in answers.values()] == [0.25, 0.125, 0.5]
    done("bench study --only bins=8")
    rows = read_results([place / "study"])
    assert {(row.label, row.status.value) for row in rows if row.certified} == {
        ("tilt", "certified"),
        ("Peer 1.2 †", "certified"),
    }
    submitted = [row for row in rows if row.submitted]
    assert {row.backend for row in submitted} == {"Peer 1.2"}
    assert all(
        row.submitted.startswith("sha256:") and not row.machine and row.contradictions in (0, None)
        for row in submitted
    )
    page = write_report(rows, place / "page.html").read_text()
    publish(rows, place / "snapshot")
    for text in (page, (place / "snapshot" / "README.md").read_text()):
        assert "Peer 1.2 †" in text
        assert "the times are as their authors state them" in text
    done("bench study --reference rows.csv.gz")
    assert {row.label for row in read_csv(place / "rows.csv.gz")} == {"tilt", "Peer 1.2 †"}


def test_an_answer_given_again_takes_the_place_of_the_first(place):
    path = place / "answers" / f"{HALF}.txt"
    problem = paper_single(bins=8, fraction=0.5)
    for seconds in ("0.5", "0.25"):
        path.write_text(
            written(ds.solve(problem).estimator.ravel().tolist(), seconds), encoding="ascii"
        )
        done("submit small.toml answers --name Peer --out study")
    (row,) = read_results([place / "study"])
    assert row.seconds == 0.25
    assert row.certified


def test_the_status_does_not_depend_on_the_duals_of_the_author(place):
    problem = paper_single(bins=8, fraction=0.5)
    members = {
        "estimator": ds.solve(problem).estimator,
        "tilt": np.ones((2, 2)),
        "multiplier": 1.0,
        "seconds": 1.0,
    }
    np.savez(place / "answers" / f"{HALF}.npz", **members)
    done("submit small.toml answers --name Peer --out study")


def test_without_a_certified_answer_the_exit_code_is_1(place):
    (place / "answers" / f"{HALF}.txt").write_text(written([1.0] * 16), encoding="ascii")
    said = done("submit small.toml answers --name Peer --out study", code=1)
    assert "inaccurate" in said.stdout


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("other.txt", written([1.0]), "other.txt"),
        (
            f"{HALF}.txt",
            written([1.0, 2.0]),
            "2 variables",
        ),
        (
            f"{HALF}.txt",
            written([1.0] * 16).replace("# seconds", "# hours"),
            "does not say how long it took",
        ),
        (f"{HALF}.txt", written([1.0] * 16) + "nought\n", "holds something that is not a number"),
        (
            f"{HALF}.txt",
            written([1.0] * 15 + [float("nan")]),
            "variable 15 is nan",
        ),
        (f"{HALF}.npz", "no archive", f"{HALF}.npz"),
    ],
)
def test_an_answer_of_no_use_is_refused_before_anything_is_kept(name, content, said, place):
    (place / "answers" / name).write_text(content, encoding="ascii")
    assert said in refused("submit small.toml answers --name Peer --out study")
    assert not (place / "study").exists()


COIN = np.full((2, 8), 0.5)


@pytest.mark.parametrize(
    "said, members",
    {
        "variables and estimator": {"seconds": 1.0},
        "the estimator has shape [8, 2]": {"estimator": COIN.T, "seconds": 1.0},
        "tilt and multiplier": {"estimator": COIN, "seconds": 1.0, "multiplier": 1.0},
        "the tilt has shape [2, 8]": {
            "estimator": COIN,
            "seconds": 1.0,
            "multiplier": 1.0,
            "tilt": COIN,
        },
        "seconds": {"estimator": COIN, "seconds": np.zeros(0)},
        "variable 0 is nan": {"variables": np.full(16, np.nan), "seconds": 1.0},
        "quality": {"variables": COIN, "seconds": 1.0, "quality": 1.0},
    }.items(),
)
def test_arrays_of_no_use_are_refused_before_anything_is_kept(members, said, place):
    np.savez(place / "answers" / f"{HALF}.npz", **members)
    assert said in refused("submit small.toml answers --name Peer --out study")
    assert not (place / "study").exists()


def test_two_answers_to_one_problem_are_refused(place):
    for ending in ("txt", "npz"):
        (place / "answers" / f"{HALF}.{ending}").write_text("", encoding="ascii")
    assert "answer the same problem; keep one of them" in refused(
        "submit small.toml answers --name Peer"
    )


@pytest.mark.parametrize(
    "words, name, said",
    [
        ("small.toml answers --name", "Peer", "'answers' holds no answers"),
        (
            "small.toml nowhere --name",
            "Peer",
            "'nowhere' is not a folder of answers: No such file or directory; give one",
        ),
        ("small.toml answers --name", "tilt", "'tilt' is a backend of discreet"),
        ("small.toml answers --name", "a:b", "'a:b' is not the name of a program"),
        ("small.toml answers --name", " ", "' ' is not the name of a program"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(words, name, said, place):
    assert said in refused(f"submit {words}", name)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_lifting_undoes_the_scale_of_columns(scale):
    problem = paper_single(bins=8, fraction=0.5)
    scaled = problem.bayes_estimator * scale * (1.0 + np.arange(problem.N))
    np.testing.assert_allclose(ds.lift(problem, scaled.ravel()), problem.bayes_estimator)
