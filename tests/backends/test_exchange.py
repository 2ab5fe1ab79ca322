"""Exported files read back by others: HiGHS reads MPS, Clarabel its JSON, and cvxpy solves what a
reader of CBF finds.

The reader of CBF, `benchmarks/hard/cbf.py`, is written only from the format's reference and shares
nothing with the writer.
"""

import json
import math
from functools import cache

import numpy as np
import pytest
from gated import gated
from random_laws import random_joint
from refusals import raises_file_error, raises_input_error
from scipy import sparse
from solving import of_secrets

import discreet as ds
from discreet.backends.cones import ConeProgram
from discreet.backends.exchange.files import FORMATS, is_linear, lift
from discreet.backends.lowering import Program
from discreet.problems import catalog, reduce

cp = pytest.importorskip("cvxpy")
clarabel = pytest.importorskip("clarabel")
highspy = pytest.importorskip("highspy")


MEASURES = (
    "mutual-information",
    "chi-square",
    "total-variation",
    "sibson:alpha=2",
    "maximal-leakage",
    "min-entropy-leakage",
    "g-leakage:gain=[[1,0],[0,1],[0.6,0.6]]",
    "parity-difference",
    "max-lift",
    "local-differential-privacy",
    "pointwise-information",
    "conditional-mutual-information",
)
PROBLEMS = {
    **{
        name: catalog.build("census", ages=2, educations=3, occupations=3, measure=name)
        for name in MEASURES
    },
    "perfect": catalog.build("paper-single", bins=9, budget=0.0),
    "none": catalog.build("paper-single", bins=5, budget=math.inf),
    "impossible and merged outcomes": catalog.build("zero-mass", n=3, m=3, N=12, fraction=0.5),
    "two secrets": of_secrets(random_joint(1, 2, 2, 2, 6), (0, 0.01), (1, 0.3, "max-lift")),
}
LINEAR = [name for name, problem in PROBLEMS.items() if is_linear(problem)]


@cache
def bracket_of(name):
    return ds.solve(PROBLEMS[name]).certificate


def units(problem, linear):
    """The error probability at objective 0, and how much a unit of the objective adds."""
    small = reduce(problem).problem
    return small.bayes_error, (Program.linear(small) if linear else Program.of(small)).unit


def check(name, objective, variables, linear, within):
    """The objective lies in the certified bracket; the lifted estimator errs as the objective says
    and keeps the budgets.
    """
    problem = PROBLEMS[name]
    bracket = bracket_of(name)
    offset, unit = units(problem, linear)
    error = offset + unit * objective
    scale = bracket.upper
    assert bracket.lower - within * scale <= error <= bracket.upper + within * scale
    found = ds.certify(problem, lift(problem, variables)).certificate
    assert found.own_error == pytest.approx(error, rel=within)
    assert found.blend <= 1e3 * within  # next to nothing has to be given up to keep every budget


@pytest.mark.parametrize("name", LINEAR)
def test_highs_reads_mps_and_finds_the_certified_optimum(name, tmp_path):
    path = ds.export(PROBLEMS[name], tmp_path / "program.mps")
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    # Its least; what is smaller it drops, with a warning.
    solver.setOptionValue("small_matrix_value", 1e-12)
    assert solver.readModel(str(path)) != highspy.HighsStatus.kError
    form = Program.linear(reduce(PROBLEMS[name]).problem).linear_program()
    read = solver.getLp()
    found = sparse.csc_array(
        (read.a_matrix_.value_, read.a_matrix_.index_, read.a_matrix_.start_),
        shape=form.matrix.shape,
    )
    whole = form.matrix.toarray()
    assert (found.toarray() == np.where(np.abs(whole) > 1e-12, whole, 0.0)).all()
    assert np.array_equal(form.cost, read.col_cost_)
    assert np.array_equal(form.least, read.col_lower_)
    assert np.array_equal(form.low, read.row_lower_)
    assert np.array_equal(form.high, read.row_upper_)
    assert all(math.isinf(each) for each in read.col_upper_)
    solver.run()
    check(name, solver.getObjectiveValue(), solver.getSolution().col_value, True, 1e-7)


@pytest.mark.parametrize("name", gated(PROBLEMS, 2))
def test_clarabel_reads_its_json_and_finds_the_certified_optimum(name, tmp_path):
    """The file holds the very doubles of the program."""
    path = ds.export(PROBLEMS[name], tmp_path / "program.json")
    stored = json.loads(path.read_text(encoding="ascii"))
    form = ConeProgram.of(Program.of(reduce(PROBLEMS[name]).problem))
    matrix, right = form.standard()
    read = sparse.csc_array(
        tuple(stored["A"][key] for key in ("nzval", "rowval", "colptr")), shape=matrix.shape
    )
    assert (read.toarray() == matrix.toarray()).all()
    assert np.array_equal(stored["b"], right)
    assert np.array_equal(stored["q"], form.cost)
    assert stored["about"][1].startswith(f"problem {PROBLEMS[name].digest}")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.load_from_file(str(path), settings)
    answer = solver.solve()
    check(name, answer.obj_val, answer.x, False, 1e-5)


@pytest.mark.parametrize("name", gated(PROBLEMS, 2))
def test_cvxpy_finds_the_certified_optimum_of_cbf(name, tmp_path, load):
    cbf = load("hard.cbf")
    path = ds.export(PROBLEMS[name], tmp_path / "program.cbf")
    variables, model = cbf.modelled(cbf.read(path))
    model.solve(solver=cp.CLARABEL)
    check(name, model.value, variables.value, False, 1e-5)


# -- what is said and refused
# ----------------------------------------------------------------------------------------------


def test_the_preamble_translates_the_certified_bracket_into_objectives(tmp_path):
    problem = PROBLEMS["mutual-information"]
    certificate = bracket_of("mutual-information")
    text = ds.export(problem, tmp_path / "program.cbf", certificate=certificate).read_text(
        encoding="ascii"
    )
    said = next(line for line in text.splitlines() if "so the least objective" in line)
    low, high = json.loads(said.partition(" is in ")[2])
    offset, unit = units(problem, False)
    assert offset + unit * low <= certificate.lower <= certificate.upper <= offset + unit * high
    assert high - low <= 1e-8


def test_equal_problems_give_equal_files_and_a_file_of_somebody_else_is_left_alone(tmp_path):
    problem = PROBLEMS["perfect"]
    for name, form in FORMATS.items():
        one = ds.export(problem, tmp_path / f"one{form.ending}")
        two = ds.export(catalog.build("paper-single", bins=9, budget=0.0), tmp_path / "two", name)
        assert one.read_bytes() == two.read_bytes()
        ds.export(problem, one)  # its own file is replaced
        two.write_text("of somebody else", encoding="ascii")
        with raises_file_error(two.name):
            ds.export(problem, two, name)
        ds.export(problem, two, name, overwrite=True)


@pytest.mark.parametrize(
    "path, format_, said",
    [
        ("program.mps", None, "mutual-information"),
        ("program.txt", None, "does not tell its format"),
        ("program.cbf", "cfb", "there is no format 'cfb' .did you mean 'cbf'"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_sentence(path, format_, said, tmp_path):
    with raises_input_error(said):
        ds.export(PROBLEMS["mutual-information"], tmp_path / path, format_)
    assert not (tmp_path / path).exists()
