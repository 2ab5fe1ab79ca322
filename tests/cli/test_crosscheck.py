"""`discreet crosscheck`: quiet when all is well, exit 1 and an explanation for each kind of fault
put there on purpose.
"""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from command import COMMAND, solving_here
from judging import restated

from discreet import save_problem
from discreet.backends import run
from discreet.judge import certify
from discreet.problems import paper_single
from discreet.reports.crosscheck.instances import select

TWO = "--backends tilt,blahut-arimoto --size 3"


def call(line):
    with pytest.raises(SystemExit) as ended:
        COMMAND.main(["crosscheck", *line.split()], "discreet")
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def nothing_required(monkeypatch):
    monkeypatch.delenv("DISCREET_REQUIRED_BACKENDS", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def quick(monkeypatch):
    solving_here(monkeypatch)


def test_sound_backends_pass(tmp_path, quick, capsys):
    assert call(f"{TWO} --json --require tilt --junit {tmp_path / 'j.xml'}") == 0
    record = json.loads(capsys.readouterr().out)
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


def test_a_broken_certificate_and_a_disagreement_are_found(monkeypatch, quick, tmp_path, capsys):
    raised = lying(lambda c: replace(c, lower=c.upper * 1.5, upper=c.upper * 1.6))
    monkeypatch.setattr(run, "judge_answer", raised)
    assert (
        call(
            f"--backends tilt,blahut-arimoto --size 1 --jobs 1 --github --junit {tmp_path / 'j'}",
        )
        == 1
    )
    said = capsys.readouterr().err
    assert "certificate of blahut-arimoto is broken: the lower bound is stated as" in said
    assert "disagreement: " in said
    assert "brackets do not overlap: tilt proves [" in said
    assert (
        f"discreet compare {select(0, 1).instances[0].title} --backends tilt,blahut-arimoto" in said
    )
    assert said.count("::error title=discreet crosscheck::") == 2
    assert ElementTree.parse(tmp_path / "j").getroot().get("failures") == "2"


def test_an_understated_leakage_is_a_broken_certificate(monkeypatch, quick, capsys):
    monkeypatch.setattr(run, "judge_answer", lying(lambda c: restated(c, leakage=c.leakage + 1e-6)))
    assert call(f"{TWO} --jobs 1") == 1
    assert "the leakage is stated as" in capsys.readouterr().err


@pytest.mark.parametrize("fake", ["Crashes", "Raises"])
def test_a_required_backend_that_answers_nothing_is_found(fake, monkeypatch, capsys):
    if fake == "Raises":
        solving_here(monkeypatch)
    monkeypatch.setenv("DISCREET_BACKENDS", f"fake-one=fake_backends:{fake}")
    monkeypatch.setenv("DISCREET_REQUIRED_BACKENDS", "fake-one")
    assert call("--backends fake-one,tilt --size 2") == 1
    assert "skipped: required backend fake-one answered nothing: " in capsys.readouterr().err


def test_the_environment_requires_backends_of_the_seeded_set_only(quick, monkeypatch):
    monkeypatch.setenv("DISCREET_REQUIRED_BACKENDS", "highs")
    assert call("--backends tilt --size 1") == 1
    assert call("paper-single:bins=8 --backends tilt") == 0


def test_a_required_backend_that_was_left_out_is_found(quick, capsys):
    assert call("--backends tilt --size 1 --require highs") == 1
    assert (
        "required backend highs answered nothing: it was given no instance"
        in capsys.readouterr().err
    )


def test_a_problem_file_is_checked_under_its_own_budget(quick, tmp_path, capsys):
    model = tmp_path / "my model.npz"
    save_problem(model, paper_single(bins=6, budget=0.001))
    with pytest.raises(SystemExit) as ended:
        COMMAND.main(
            [
                *("crosscheck", str(model), "paper-multi:sensors=2"),
                *("--backends", "tilt,blahut-arimoto", "--require", "tilt", "--json"),
            ],
            "discreet",
        )
    assert not ended.value.code
    record = json.loads(capsys.readouterr().out)
    assert [row["instance"] for row in record["rows"] if row["backend"] == "tilt"] == [
        str(model),
        "paper-multi:sensors=2 --fraction 0.5",
        "paper-multi:sensors=2 --fraction 0",
    ]
    assert record["findings"] == []


def test_a_problem_that_no_backend_is_certified_on_is_found(quick, monkeypatch, capsys):
    monkeypatch.setenv("DISCREET_BACKENDS", "fake-constant=fake_backends:Constant")
    asked = "paper-single:bins=6 --leakage 0.001 --backends fake-constant"
    assert call(asked) == 1
    said = capsys.readouterr().err
    assert "uncertified: " in said
    assert (
        "(again: discreet compare paper-single:bins=6 --leakage 0.001 "
        "--backends fake-constant)" in said
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("paper-single paper-single", "is given twice"),
        ("paper-single --size 3", "--size is of the seeded set"),
        ("--perfect", "name a problem to set them"),
    ],
)
def test_flags_of_the_set_and_of_problems_do_not_mix(words, said, capsys):
    assert call(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said", "unsaid"),
    [
        ("--size 0", "give --size 1 or more", "seed"),
        ("--seed -1", "the seed is -1 and must be at least 0", "size"),
    ],
)
def test_a_wrong_number_is_reported_alone(words, said, unsaid, capsys):
    assert call(words) == 2
    told = capsys.readouterr().err
    assert said in told
    assert unsaid not in told.replace(said, "")


@pytest.mark.parametrize(
    "words", ["--size 0", "--backends nobody", "--jobs 0 --size 1", "--gap 2 --size 1"]
)
def test_bad_input_is_one_sentence(words, capsys):
    assert call(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
