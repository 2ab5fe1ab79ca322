"""`discreet crosscheck`: quiet when all is well, exit 1 and an explanation for each kind of fault
put there on purpose.
"""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from command import done, recorded, refused, solving_here
from judging import restated

from discreet import save_problem
from discreet.backends import run
from discreet.judge import certify
from discreet.problems import paper_single
from discreet.reports.crosscheck.instances import select

TWO = "crosscheck --backends tilt,blahut-arimoto --size 3"


@pytest.fixture(autouse=True)
def nothing_required(monkeypatch):
    monkeypatch.delenv("DISCREET_REQUIRED_BACKENDS", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def quick(monkeypatch):
    solving_here(monkeypatch)


def test_sound_backends_pass(tmp_path, quick):
    record = recorded(f"{TWO} --json --require tilt --junit {tmp_path / 'j.xml'}")
    assert record["findings"] == []
    assert len(record["rows"]) == 6
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("6", "0")


def lying(change):
    """A judge every second verdict of which is changed."""
    calls = iter(range(10**6))

    def judge(problem, answer, seconds):
        verdict = certify(
            problem, answer.estimator, answer.tilt, answer.multipliers, anchors=answer.anchors
        )
        return (
            replace(verdict, certificate=change(verdict.certificate))
            if next(calls) % 2
            else verdict
        )

    return judge


def test_a_broken_certificate_and_a_disagreement_are_found(monkeypatch, quick, tmp_path):
    raised = lying(lambda c: replace(c, lower=c.upper * 1.5, upper=c.upper * 1.6))
    monkeypatch.setattr(run, "judge_answer", raised)
    asked = "crosscheck --backends tilt,blahut-arimoto --size 1 --jobs 1 --github --junit"
    said = done(f"{asked} {tmp_path / 'j'}", code=1).stderr
    assert "certificate of blahut-arimoto is broken: the lower bound is stated as" in said
    assert "disagreement: " in said
    assert "brackets do not overlap: tilt proves [" in said
    title = select(0, 1).instances[0].title
    assert f"discreet compare {title} --backends tilt,blahut-arimoto" in said
    assert said.count("::error title=discreet crosscheck::") == 2
    assert ElementTree.parse(tmp_path / "j").getroot().get("failures") == "2"


def test_an_understated_leakage_is_a_broken_certificate(monkeypatch, quick):
    monkeypatch.setattr(run, "judge_answer", lying(lambda c: restated(c, leakage=c.leakage + 1e-6)))
    assert "the leakage is stated as" in done(f"{TWO} --jobs 1", code=1).stderr


@pytest.mark.parametrize("fake", ["Crashes", "Raises"])
def test_a_required_backend_that_answers_nothing_is_found(fake, monkeypatch):
    if fake == "Raises":
        solving_here(monkeypatch)
    monkeypatch.setenv("DISCREET_BACKENDS", f"fake-one=fake_backends:{fake}")
    monkeypatch.setenv("DISCREET_REQUIRED_BACKENDS", "fake-one")
    said = done("crosscheck --backends fake-one,tilt --size 2", code=1).stderr
    assert "skipped: required backend fake-one answered nothing: " in said


def test_the_environment_requires_backends_of_the_seeded_set_only(quick, monkeypatch):
    monkeypatch.setenv("DISCREET_REQUIRED_BACKENDS", "highs")
    done("crosscheck --backends tilt --size 1", code=1)
    done("crosscheck paper-single:bins=8 --backends tilt")


def test_a_required_backend_that_was_left_out_is_found(quick):
    said = done("crosscheck --backends tilt --size 1 --require highs", code=1).stderr
    assert "required backend highs answered nothing: it was given no instance" in said


def test_a_problem_file_is_checked_under_its_own_budget(quick, tmp_path):
    model = tmp_path / "my model.npz"
    save_problem(model, paper_single(bins=6, budget=0.001))
    asked = "paper-multi:sensors=2 --backends tilt,blahut-arimoto --require tilt --json"
    record = recorded("crosscheck", str(model), *asked.split())
    assert [row["instance"] for row in record["rows"] if row["backend"] == "tilt"] == [
        str(model),
        "paper-multi:sensors=2 --fraction 0.5",
        "paper-multi:sensors=2 --fraction 0",
    ]
    assert record["findings"] == []


def test_a_problem_that_no_backend_is_certified_on_is_found(quick, monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", "fake-constant=fake_backends:Constant")
    asked = "paper-single:bins=6 --leakage 0.001 --backends fake-constant"
    said = done(f"crosscheck {asked}", code=1).stderr
    assert "uncertified: " in said
    assert f"(again: discreet compare {asked})" in said


@pytest.mark.parametrize(
    "words, said",
    {
        "paper-single paper-single": "is given twice",
        "paper-single --size 3": "--size is of the seeded set",
        "--perfect": "name a problem to set them",
        "--backends nobody": "'nobody'",
        "--jobs 0 --size 1": "at least one job",
        "--size 0": "--size 1",
        "--seed -1": "the seed is -1",
        "--gap 2 --size 1": "gap is 2",
    }.items(),
)
def test_bad_input_is_one_sentence(words, said):
    assert said in refused(f"crosscheck {words}")
