"""Terminals of 80 and 60 columns: no command cuts a number or a word, or writes beyond the edge."""

import io
from collections import Counter

import numpy as np
import pytest
from command import COMMAND, run, solving_here
from few_trees import grow_few_trees
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import discreet as ds
from discreet.backends import isolated, registry
from discreet.cli import screen
from discreet.showing.terminal import Shown
from discreet.showing.values import Facts, Table

WIDE = 400
WITHOUT_TABLES = {"diff", "export", "predict", "report", "reproduce"}
"""Commands that write files only, or lines of CSV or Markdown."""

LINES = {
    "solve": "solve p.npz",
    "compare": (
        "compare paper-single:bins=16 anes96 --fraction 0.1 --backends "
        "tilt,blahut-arimoto,conic:solver=scs --out c"
    ),
    "advise": "advise p.npz",
    "bench": "bench quick --dry-run --only paper-single:bins=64",
    "frontier": "frontier paper-single:bins=16 --width 0.1",
    "audit": "audit p.npz s.npz",
    "verify": "verify p.npz s.npz",
    "evaluate": "evaluate people.csv --hide sex --truth income --guesses guess --leakage 0.1",
    "fit": (
        "fit people.csv --hide sex --guess income --ignore guess --leakage 0.5 --seed 0 --out rule"
    ),
    "plan": "plan --leakage 0.05",
    "monitor": "monitor rule people.csv",
    "problems": "problems",
    "crosscheck": "crosscheck --size 2 --backends tilt,blahut-arimoto",
    "hunt": "hunt tilt --time 0.1",
    "doctor": "doctor",
    "submit": "submit small.toml answers --name MySolver --out study",
}
"""A command line for each command; the files are those of `prints`."""
STUDY = """
name = "small"
profiles.default.gap = 1e-9
backends = [{ name = "tilt" }]
instances = [{ problem = "paper-single:bins=64", budgets = ["fraction=0.5"] }]
"""
MORE = {
    "one problem": "problems paper-multi",
    "a rule": "evaluate rule people.csv",
    "two secrets": "solve secrets.npz --backend tilt",
    "an audit of two": "audit secrets.npz both.npz",
}


@pytest.fixture(scope="module")
def prints(tmp_path_factory):
    """What each of the command lines puts on its console; all are run once."""
    folder = tmp_path_factory.mktemp("terminal")
    found = {}
    problem = ds.problems.paper_single(bins=64, budget=0.01)
    secrets = ds.problems.catalog.build("census", secrets=2)
    for model, names in ((problem, ("p.npz", "s.npz")), (secrets, ("secrets.npz", "both.npz"))):
        ds.save_problem(str(folder / names[0]), model)
        ds.solve(model, backend="tilt").save(str(folder / names[1]))
    (folder / "answers").mkdir()
    (folder / "small.toml").write_text(STUDY)
    answer = {
        "estimator": ds.problems.paper_single(bins=64, fraction=0.5).bayes_estimator,
        "seconds": 0.5,
    }
    np.savez(folder / "answers" / "paper-single_bins_64_fraction_0.5.npz", **answer)
    people = (
        f"{k % 40},{'fm'[k % 2]},{['low', 'high'][k % 3 % 2]},{['low', 'high'][k % 5 % 2]}"
        for k in range(300)
    )
    (folder / "people.csv").write_text(
        "\n".join(["age,sex,income,guess", *people]) + "\n", encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patch:
        solving_here(patch)
        patch.setattr(isolated, "probe", registry.availability)
        grow_few_trees(patch)
        patch.chdir(folder)
        for name, line in (LINES | MORE).items():
            printed = found.setdefault(name, [])
            patch.setattr(
                screen,
                "output",
                lambda printed=printed: type("Recorder", (), {"print": printed.append}),
            )
            said = run(line)
            assert said.exit_code in (0, 1), said.stderr
    return found


def shown(things, width):
    console = Console(width=width, file=io.StringIO(), markup=False, emoji=False, highlight=False)
    for each in things:
        console.print(each)
    return console.file.getvalue()


def numbers(text):
    """Words with a digit."""
    return Counter(word for word in text.split() if any(sign.isdigit() for sign in word))


def whole(things, width):
    """What stands in a terminal of this width, where nothing may be cut."""
    wide = shown(things, WIDE)
    narrow = shown(things, width)
    assert max(map(len, narrow.splitlines()), default=0) <= width
    assert set(numbers(narrow)) <= set(numbers(wide)), "a number is cut"
    if "A wider terminal also shows" not in narrow:
        assert not numbers(wide) - numbers(narrow), "a number is left out"
    assert narrow.count("…") == wide.count("…")
    return narrow


def test_every_command_is_asked():
    assert set(LINES) | WITHOUT_TABLES == set(COMMAND.commands)


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize("name", LINES | MORE)
def test_no_number_loses_a_digit(prints, name, width):
    assert prints[name]
    assert numbers(whole(prints[name], width))


def test_a_curve_stays_a_table_in_60_columns(prints):
    lines = whole(prints["frontier"], 60).splitlines()
    assert sum(line.rstrip().endswith("certified") and "0." in line for line in lines) >= 4
    assert any("A wider terminal also shows: equivocation" in line for line in lines)


def test_columns_says_how_wide_a_pipe_is(monkeypatch):
    widths = []
    for columns in ("60", "", "many"):
        monkeypatch.setenv("COLUMNS", columns)
        widths.append(max(map(len, run("problems paper-multi").stdout.splitlines())))
    assert widths[0] <= 60 < widths[1] == widths[2]


@given(
    st.randoms(use_true_random=False),
    st.sets(st.sampled_from("abcd")),
    st.lists(st.sampled_from("bcd"), unique=True),
)
def test_no_list_loses_a_digit(draw, right, spare):
    heads = [*"abcd", "what to say of it"]

    def words(most):
        return " ".join(
            f"{draw.random()}·10⁻¹²"[: draw.randint(1, 22)] for _ in range(draw.randint(0, most))
        )

    lines = [
        [words(2 if head in right else 6) for head in heads] for _ in range(draw.randint(0, 3))
    ]
    width = draw.randint(60, 130)
    whole([Shown(Table("", heads, lines, right, spare))], width)
    whole([Shown(Facts("", [(line[0], line[1]) for line in lines]))], width)
