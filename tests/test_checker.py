"""The page that checks a certificate in a browser: its arithmetic is that of `verify`, and both
reject the same altered certificates.

The checker runs in Node.js where that is installed, otherwise in Chromium.
"""

import base64
import io
import json
import math
import random
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from math import inf

import flint
import numpy as np
import pytest
from browser import Tab
from checkout import DOCS, text_of
from numpy.random import default_rng
from random_laws import laws_of_secrets, random_joint

import discreet as ds
from discreet.cli.compare import DEFAULT_CASES
from discreet.problems import paper_single
from discreet.problems.catalog.registry import Budget
from discreet.reports import notation

pytestmark = pytest.mark.gate

FOLDER = DOCS / "check"
CHECKED = (
    "mutual-information",
    "total-variation",
    "maximal-leakage",
    "parity-difference",
    "max-lift",
    "local-differential-privacy",
)
IN_NODE = """
Object.assign(globalThis, require(process.argv[1]));
const show = (key, value) => (value === Infinity ? "Infinity" : value);
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
eval(process.argv[2])(given).then((found) => console.log(JSON.stringify(found, show)));
"""
CHECK = """
async (pairs) => {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const refused = (error) => ({ refused: error.message });
  return Promise.all(pairs.map((pair) => check(...pair.map(bytes)).catch(refused)));
}
"""
ENCLOSE = """
async (numbers) =>
  numbers.map(([n, d]) => {
    const x = frac(BigInt(n), BigInt(d));
    const logarithm = x.n > 0n ? log(x, 128).map(String) : [];
    const exponential = x.n < 100n * x.d ? [`${expAbove(x, 128)}`] : [];
    return [rounded(x, false), rounded(x, true), logarithm, exponential];
  })
"""


@pytest.fixture(scope="module")
def run(request):
    """Calls a function of JavaScript next to the checker."""
    node = shutil.which("node")
    browser = None if node else request.getfixturevalue("browser")

    def call(function, given):
        if browser is None:
            done = subprocess.run(
                [node, "-e", IN_NODE, str(FOLDER / "checker.js"), function],
                input=json.dumps(given),
                capture_output=True,
                text=True,
                check=True,
            )
            return json.loads(done.stdout)
        page = browser.new_page()
        page.goto((FOLDER / "index.html").as_uri())
        found = page.evaluate(function, given)
        page.close()
        return found

    return call


@pytest.fixture
def check_all(run):
    """What the checker says of pairs of files, each given by its members."""

    def check(pairs):
        return run(
            CHECK, [[base64.b64encode(npz(each)).decode() for each in pair] for pair in pairs]
        )

    return check


def npz(members, save=np.savez):
    """The bytes of a file with these members, or those given."""
    if isinstance(members, bytes):
        return members
    stream = io.BytesIO()
    save(stream, **members)
    return stream.getvalue()


def members_of(data):
    with np.load(io.BytesIO(data)) as file:
        return dict(file)


def certificate(folder, problem, backend="tilt"):
    """The members of the files of a problem and its solution."""
    ds.save_problem(folder / "problem.npz", problem, overwrite=True)
    ds.solve(problem, backend).save(folder / "solution.npz")
    return [members_of((folder / f"{name}.npz").read_bytes()) for name in ("problem", "solution")]


def opinion(pair):
    """Return the verdict of `verify` on a pair, in the form of the checker."""
    try:
        found = ds.verify(*pair)
    except ValueError as error:
        return {"refused": str(error), "holds": False}
    stated = json.loads(str(pair[1]["metadata"]))
    inside = stated["lower_bound"] <= found.lower_bound and found.error[1] <= stated["upper_bound"]
    return {
        "kept": found.budget_kept,
        "holds": found.budget_kept is True and inside,
        "error": list(found.error),
        "bracket": list(found.bracket),
        "leaks": [list(term.leakage) for term in found.terms],
    }


def assert_same(said, found):
    """The checker and `verify` agree; both round outwards, so ends are neighbours at most."""
    assert (said["kept"], said["holds"]) == (found["kept"], found["holds"])
    for one, other in (
        (said["error"], found["error"]),
        (said["bracket"], found["bracket"]),
        *zip((term["leaks"] for term in said["terms"]), found["leaks"], strict=True),
    ):
        for x, y in zip(map(float, one), other, strict=True):
            assert x == y or abs(x - y) <= math.ulp(y)


def several_secrets(budgets):
    *secrets, loss = laws_of_secrets(random_joint(0, 2, 3, 2, 6))
    names = ("mutual-information", "total-variation", "conditional-mutual-information")
    constraints = [ds.Constraint(*each) for each in zip(secrets, budgets, names, strict=True)]
    return ds.Problem(loss=loss, constraints=constraints)


def people_counted():
    """A problem whose file has the bins and counts of a table, in whole numbers."""
    rng = default_rng(4)
    columns = {name: rng.integers(0, size, 600) for name, size in (("sex", 2), ("pay", 3))}
    columns["age"] = rng.normal(size=600) + columns["sex"] + columns["pay"]
    return ds.Problem.from_frame(columns, hide="sex", guess="pay", budget=0.005, seed=1)


def published():
    """The problems of `reports/compare` and of `reports/claims`."""
    for spec, fraction in DEFAULT_CASES:
        yield Budget(fraction=fraction).apply(notation.problem(spec))
    for sensors in (10, 20):
        yield ds.problems.paper_multi(sensors=sensors, fraction=0.1)
    yield paper_single(bins=64, fraction=0.1)


def of_every_measure():
    rng = default_rng(3)
    for measure in CHECKED:
        for budget in (0.0, 1e-3, 0.02, inf):
            joint = rng.dirichlet(np.ones(36)).reshape(3, 3, 4)
            yield ds.Problem.from_joint(joint, budget, measure=measure)


@pytest.mark.parametrize("backend", ["tilt", "blahut-arimoto"])
def test_published_certificates_hold_and_the_checkers_agree(check_all, tmp_path, backend):
    pairs = [certificate(tmp_path, problem, backend) for problem in published()]
    for pair, said in zip(pairs, check_all(pairs), strict=True):
        assert said["holds"], said
        assert_same(said, opinion(pair))


def test_the_checkers_agree_under_every_measure_and_about_several_secrets(check_all, tmp_path):
    pairs = [certificate(tmp_path, problem) for problem in of_every_measure()]
    pairs += [
        certificate(tmp_path, several_secrets(budgets))
        for budgets in ((0.001, 0.01, 0.002), (0.0, 0.01, 0.002), (0.02, 0.1, 0.0))
    ]
    pairs.append(certificate(tmp_path, people_counted()))
    answers = check_all(pairs)
    for pair, said in zip(pairs, answers, strict=True):
        assert_same(said, opinion(pair))
    assert sum(said["holds"] for said in answers) >= 0.9 * len(pairs)


def test_joints_packed_files_and_columns_in_fortran_order_are_read_alike(check_all):
    joint = default_rng(1).dirichlet(np.ones(30)).reshape(3, 2, 5)
    estimator = np.full((5, 2), 0.5).T
    claims = np.array(json.dumps({"lower_bound": 0.0, "upper_bound": 1.0}))
    pair = [{"joint": joint, "budget": np.array(0.5)}, {"estimator": estimator, "metadata": claims}]
    packed = [npz(members, np.savez_compressed) for members in pair]
    plain, unpacked = check_all([pair, packed])
    assert plain == unpacked
    assert_same(plain, opinion(pair))


def numbers_to_enclose():
    """Fractions of every size, next to 1, and next to the ends of the doubles."""
    draw = random.Random(1)
    for _ in range(400):
        n, d = (draw.getrandbits(draw.randint(1, 300)) + 1 for _ in range(2))
        yield Fraction(n, d)
        yield 1 + Fraction(draw.choice([-1, 1]), 2 ** draw.randint(1, 120))
        yield -Fraction(draw.random()) * 10 ** draw.randint(0, 3)
        yield Fraction(n, d) * Fraction(2) ** draw.choice([-1074, -1022, -1000, 900])


def test_logarithms_exponentials_and_doubles_enclose_the_truth(run):
    numbers = list(numbers_to_enclose())
    found = run(ENCLOSE, [[str(x.numerator), str(x.denominator)] for x in numbers])
    with flint.ctx.workprec(4096):
        unit = flint.arb(2) ** 128
        for x, (low, high, logarithm, exponential) in zip(numbers, found, strict=True):
            assert (float(low), float(high)) == outward(x)
            value = flint.arb(flint.fmpq(x.numerator, x.denominator))
            if logarithm:
                below, above = map(int, logarithm)
                assert below <= value.log() * unit <= above <= below + 2
            for above in map(int, exponential):
                assert value.exp() * unit <= above
                assert x > 0 or above <= value.exp() * unit + 2


def outward(x):
    """The largest double ≤ x and the smallest ≥ x, by Python's own comparison."""
    try:
        nearest = float(x)
    except OverflowError:
        return sys.float_info.max, inf
    low = nearest if Fraction(nearest) <= x else math.nextafter(nearest, -inf)
    return low, nearest if Fraction(nearest) >= x else math.nextafter(nearest, inf)


# -- what was altered
# --------------------------------------------------------------------------------------------------


def mutants(problem, solution):
    """A name and an altered pair each; none of them is a valid certificate."""

    def altered(what, **members):
        own = [dict(problem), dict(solution)]
        for name, values in members.items():
            own[name not in problem][name] = values
        return what, own

    heavy = np.unravel_index(problem["p_xz"].argmax(), problem["p_xz"].shape)
    likely = solution["estimator"][:, heavy[1]].argmax(), heavy[1]
    other = problem["loss"].shape[0] - 1 - likely[0], heavy[1]
    tilted = np.unravel_index(np.abs(solution["tilt"]).argmax(), solution["tilt"].shape)
    for name, place, factors in (
        ("p_xz", heavy, (-1.0, 0.5, 0.999, 1.001)),
        ("estimator", likely, (-1.0, 0.5, 0.999, 1.001)),
        ("tilt", tilted, (0.5, 1.001, 1.1)),
        ("loss", other, (-1.0,)),
    ):
        for factor in factors:
            values = (problem | solution)[name].copy()
            values[place] *= factor
            yield altered(f"an entry of {name} × {factor}", **{name: values})
    yield altered("sign of the tilt", tilt=-solution["tilt"])
    yield altered("sign of the multiplier", multiplier=-solution["multiplier"] - 1e-3)
    if problem["budget"] > 0.0:
        yield altered("multiplier", multiplier=3.0 * solution["multiplier"])
        for share in (0.0, 0.5, 0.999):
            yield altered(f"budget × {share}", budget=share * problem["budget"])
    yield altered("negative budget", budget=np.array(-1.0))
    for name in ("p_xz", "loss", "estimator", "tilt"):
        yield altered(f"rows of {name}", **{name: (problem | solution)[name][::-1].copy()})
        yield altered(f"a row of {name} less", **{name: (problem | solution)[name][1:]})
    yield altered("outcomes of the estimator", estimator=solution["estimator"][:, ::-1].copy())
    record = json.loads(str(solution["metadata"]))
    for name, factor in (("lower_bound", 1 + 1e-9), ("upper_bound", 1 - 1e-9)):
        claims = record | {name: factor * record[name]}
        yield altered(f"the stated {name}", metadata=np.array(json.dumps(claims)))
    yield altered("version of the solution", version=np.array(2))
    if "exact_columns" in solution:
        columns = json.loads(str(solution["exact_columns"]))
        outcome, (first, *rest) = next(iter(columns.items()))
        columns[outcome] = [hex(int(first, 0) + 1), *rest]
        yield altered("exact columns", exact_columns=np.array(json.dumps(columns)))
    for k, name in enumerate(("problem", "solution")):
        files = [npz(problem), npz(solution)]
        yield f"half of the {name}", [*files[:k], files[k][: len(files[k]) // 2], *files[k + 1 :]]


@pytest.mark.parametrize("budget", [0.01, 0.0])
def test_every_altered_certificate_is_rejected_by_both(check_all, tmp_path, budget):
    problem = paper_single(bins=16, budget=budget)
    pair = certificate(tmp_path, problem)
    assert opinion(pair)["holds"]
    names, altered = zip(*mutants(*pair), strict=True)
    assert len(names) >= 30
    answers = check_all([pair, *altered])
    assert answers[0]["holds"]
    accepted = [name for name, said in zip(names, answers[1:], strict=True) if said.get("holds")]
    assert accepted == []
    for name, own in zip(names, altered, strict=True):
        if isinstance(own[0], bytes):
            for k, data in enumerate(own):
                (tmp_path / f"{k}.npz").write_bytes(data)
            with pytest.raises(ValueError, match=r"."):
                ds.verify(tmp_path / "0.npz", tmp_path / "1.npz")
        else:
            assert not opinion(own)["holds"], name


def altered_at_random(pair, rng):
    """A pair with one entry changed, or the rows of one array in the other order."""
    problem, solution = (dict(members) for members in pair)
    name = rng.choice(["p_xz", "loss", "estimator", "tilt", "multiplier"])
    members = problem if name in problem else solution
    values = members[name].copy()
    place = tuple(rng.integers(0, size) for size in values.shape)
    sign = rng.choice([-1.0, 1.0])
    changes = (
        values[place] * (1.0 + sign * 10.0 ** rng.integers(-16, 0)),
        -values[place],
        np.nextafter(values[place], sign * inf),
        rng.choice([0.0, 0.5, 5e-324, 1e300]),
    )
    values[place] = rng.choice(changes)
    members[name] = values[::-1].copy() if rng.random() < 0.1 else values
    return [problem, solution]


def test_alterations_at_random_get_the_same_verdict_from_both(check_all, tmp_path):
    """Many of them are harmless: what a file proves may not need the entry."""
    rng = default_rng(11)
    problems = (
        paper_single(bins=12, budget=0.01),
        paper_single(bins=12, budget=0.0),
        several_secrets((0.001, 0.01, 0.002)),
        paper_single(bins=12, budget=0.01).with_budget(0.1, measure="max-lift"),
    )
    rights = [certificate(tmp_path, problem) for problem in problems]
    pairs = [altered_at_random(pair, rng) for pair in rights for _ in range(40)]
    for pair, said in zip(pairs, check_all(pairs), strict=True):
        expected = opinion(pair)
        assert ("refused" in said) == ("refused" in expected), (said, expected)
        if "refused" not in said:
            assert_same(said, expected)


# -- the page
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def page(browser):
    tab = Tab(browser, viewport={"width": 390, "height": 844})
    tab.page.goto((FOLDER / "index.html").as_uri())
    yield tab.page
    assert tab.complaints == []
    tab.page.close()


def choose(page, folder, pair, verdict):
    """Choose the files of a pair, and wait for the verdict."""
    folder.mkdir()
    for name, members in zip(("problem", "solution"), pair, strict=True):
        (folder / f"{name}.npz").write_bytes(npz(members))
        page.set_input_files(f"#{name}", folder / f"{name}.npz")
    page.wait_for_selector(f".verdict:text({json.dumps(verdict)})")


def test_the_page_says_whether_the_bracket_holds(page, tmp_path):
    pair = certificate(tmp_path, paper_single(bins=16, budget=0.01))
    choose(page, tmp_path / "right", pair, "The bracket holds, and the budget is kept.")
    assert page.locator(".verdict.good").count() == 1
    assert "mutual-information" in page.inner_text("table")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    pair[0]["budget"] = np.array(0.005)
    choose(page, tmp_path / "wrong", pair, "breaks its budget")
    assert page.locator(".verdict.bad").count() == 1


def test_the_page_names_a_measure_that_it_does_not_check(page, tmp_path):
    problem = paper_single(bins=16, budget=0.01).with_budget(0.01, measure="chi-square")
    pair = certificate(tmp_path, problem)
    choose(page, tmp_path / "other", pair, "This page does not check chi-square.")
    assert page.locator(".verdict.good").count() == 0
    choose(page, tmp_path / "none", [b"no file", b"nor this"], "These files cannot be checked")
    assert page.locator(".verdict.good").count() == 0


def test_files_are_dropped_in_any_order(page, tmp_path):
    pair = certificate(tmp_path, paper_single(bins=16, budget=0.01))
    files = [[f"{k}.npz", base64.b64encode(npz(each)).decode()] for k, each in enumerate(pair)]
    page.evaluate(
        """(files) => {
          const dataTransfer = new DataTransfer();
          for (const [name, text] of files.reverse()) {
            const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
            dataTransfer.items.add(new File([bytes], name));
          }
          const drop = new DragEvent("drop", { dataTransfer, cancelable: true });
          document.getElementById("drop").dispatchEvent(drop);
        }""",
        files,
    )
    page.wait_for_selector(".verdict.good")
    assert page.evaluate("document.getElementById('problem').files[0].name") == "0.npz"


def test_the_pages_and_the_checker_name_the_same_measures():
    script = text_of(FOLDER / "checker.js")
    assert len(script.splitlines()) <= 500
    assert not re.search(r"\b(import|require|fetch)\b *\(", script)
    names = set(re.findall(r'^  "([\w-]+)": ', script, re.MULTILINE))
    assert names == {*CHECKED, "conditional-mutual-information"}
    words = text_of("docs/how-to/verify-a-solution.md")
    assert all(f"`{name}`" in words for name in CHECKED)
