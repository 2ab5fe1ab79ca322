"""Stand-alone scripts that reproduce a find by the solver's own interface, without discreet.

A script holds the arrays that the backend passes to its solver, and the problem behind them. It
solves, reads the estimator off the first variables, and prints the solver's status next to what is
true of the answer. Backends without a recipe here have a command line instead.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from discreet.backends.contract import Options
from discreet.backends.registry import load_backend
from discreet.problems.reduction import reduce, without_known_secrets
from discreet.reports.hunt.search import SMALLEST_ERROR, Find
from discreet.reports.measurements import Configuration

LAST_LINE = re.compile(r"^wrong by (\S+)$", re.MULTILINE)
"""The last part of a script, which prints the relative excess over the budget, or of the error."""

_HEAD = '''"""{title}

Written by discreet hunt. The script needs numpy, scipy and {library}, and prints what the solver
claims next to what is true of its answer.
"""

import json

import numpy as np
from scipy import sparse

{imports}

DATA = json.loads(
    r"""{data}"""
)


def matrix(entries):
    values, rows, columns, shape = entries
    return sparse.csc_matrix((values, (rows, columns)), shape=shape)


'''

_TAIL = """
weights = np.array(DATA["weights"])  # p(x, z)
losses = np.array(DATA["losses"])  # expected loss of each guess, and outcome z
guesses, outcomes = losses.shape
count = guesses * outcomes
estimator = np.maximum(np.asarray(x)[:count].reshape(guesses, outcomes, order=DATA["order"]), 0.0)
estimator /= estimator.sum(axis=0)  # Pr(guess | z)
u = estimator @ weights.T  # Pr(guess, x)
s = u.sum(axis=1, keepdims=True)
p = weights.sum(axis=1)
error = float((estimator * losses).sum())
leakage = float({leakage})
print("status: ", status)
print("error:  ", error, "; the least is in", DATA["bracket"])
print("leakage:", leakage, "; the budget is", DATA["budget"])
excess = leakage / DATA["budget"] - 1.0 if DATA["budget"] else float(abs(u / p - s).max())
loss = (error - DATA["bracket"][1]) / max(DATA["bracket"][1], DATA["least error"])
print("wrong by", max(excess, loss))
"""

_RATIO = "(np.where(u > 0, u, 1.0) / np.where(u > 0, s * p, 1.0))"
_LIFT = "(u / p / np.where(s > 0, s, 1.0) + (s == 0))"
_FORMULAS = {
    "mutual-information": f"(u * np.log({_RATIO})).sum()",
    "pointwise-information": f"(u / np.where(s > 0, s, 1.0) * np.log({_RATIO})).sum(axis=1).max()",
    "chi-square": "((u - s * p) ** 2 / np.where(s > 0, s * p, 1.0)).sum()",
    "total-variation": "0.5 * abs(u - s * p).sum()",
    "maximal-leakage": "np.log((u / p).max(axis=1).sum())",
    "min-entropy-leakage": "np.log(u.max(axis=1).sum() / p.max())",
    "parity-difference": "np.ptp(u / p, axis=1).max()",
    "max-lift": f"np.log({_LIFT}.max())",
    "local-differential-privacy": f"np.log({_LIFT}.max(axis=1) / {_LIFT}.min(axis=1)).max()",
}
"""The leakage of u by measures without parameters, as in docs/reference/measures.md."""

_HIGHS = """\
solver = highspy.Highs()
for name, value in DATA["options"].items():
    solver.setOptionValue(name, value)
program = highspy.HighsLp()
entries = matrix(DATA["matrix"])
program.num_row_, program.num_col_ = entries.shape
program.col_cost_ = np.array(DATA["cost"])
program.col_lower_ = np.array(DATA["least"], dtype=float)
program.col_upper_ = np.full(entries.shape[1], np.inf)
program.row_lower_ = np.array(DATA["low"], dtype=float)
program.row_upper_ = np.array(DATA["high"], dtype=float)
program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
program.a_matrix_.num_row_, program.a_matrix_.num_col_ = entries.shape
program.a_matrix_.start_ = entries.indptr
program.a_matrix_.index_ = entries.indices
program.a_matrix_.value_ = entries.data
solver.passModel(program)
solver.run()
status = solver.modelStatusToString(solver.getModelStatus())
x = solver.getSolution().col_value
"""

_GLOP = """\
model = model_builder_helper.ModelBuilderHelper()
least, low, high = (np.array(DATA[name], dtype=float) for name in ("least", "low", "high"))
model.fill_model_from_sparse_data(
    least, np.full(least.size, np.inf), np.array(DATA["cost"]), low, high,
    sparse.csr_matrix(matrix(DATA["matrix"])),
)
solver = model_builder_helper.ModelSolverHelper("glop")
solver.set_solver_specific_parameters(DATA["options"])
solver.solve(model)
status = solver.status().name
x = solver.variable_values()
"""

_PDLP = """\
program = pdlp.QuadraticProgram()
entries = matrix(DATA["matrix"])
program.resize_and_initialize(entries.shape[1], entries.shape[0])
program.objective_vector = np.array(DATA["cost"])
program.constraint_matrix = entries
program.constraint_lower_bounds = np.array(DATA["low"], dtype=float)
program.constraint_upper_bounds = np.array(DATA["high"], dtype=float)
program.variable_lower_bounds = np.array(DATA["least"], dtype=float)
program.variable_upper_bounds = np.full(entries.shape[1], np.inf)
parameters = solvers_pb2.PrimalDualHybridGradientParams()
for name, value in DATA["options"].items():
    *path, last = name.split(".")
    message = parameters
    for part in path:
        message = getattr(message, part)
    setattr(message, last, value)
found = pdlp.primal_dual_hybrid_gradient(program, parameters)
reasons = found.solve_log.DESCRIPTOR.fields_by_name["termination_reason"].enum_type
status = reasons.values_by_number[found.solve_log.termination_reason].name
x = found.primal_solution
"""

_CLARABEL = """\
settings = clarabel.DefaultSettings()
settings.verbose = False
for name, value in DATA["options"].items():
    setattr(settings, name, value)
cones = [getattr(clarabel, name)(*size) for name, *size in DATA["cones"]]
entries = matrix(DATA["matrix"])
none = sparse.csc_matrix((entries.shape[1], entries.shape[1]))
cost, right = np.array(DATA["cost"]), np.array(DATA["right"])
answer = clarabel.DefaultSolver(none, cost, entries, right, cones, settings).solve()
status, x = answer.status, answer.x
"""

_MOREAU = """\
settings = moreau.Settings()
settings.ipm_settings = moreau.IPMSettings()
for name, value in DATA["options"].items():
    general = name in ("verbose", "device", "max_iter", "time_limit")
    setattr(settings if general else settings.ipm_settings, name, value)
entries = sparse.csr_array(matrix(DATA["matrix"]))
none = sparse.csr_array((entries.shape[1], entries.shape[1]))
cost, right = np.array(DATA["cost"]), np.array(DATA["right"])
solver = moreau.Solver(none, cost, entries, right, moreau.Cones(**DATA["cones"]), settings)
x = solver.solve().x
status = solver.info.status.name
"""

_POUNCE = """\
answer = pounce.solve_socp(
    c=np.array(DATA["c"]),
    A=sparse.csr_matrix(matrix(DATA["A"])), b=np.array(DATA["b"]),
    G=sparse.csr_matrix(matrix(DATA["G"])), h=np.array(DATA["h"]),
    cones=[tuple(each) for each in DATA["cones"]], **DATA["options"],
)
status, x = answer.status, answer.x
"""

_SCS = """\
problem = {"A": matrix(DATA["matrix"]), "b": np.array(DATA["right"]), "c": np.array(DATA["cost"])}
answer = scs.SCS(problem, DATA["cones"], verbose=False, **DATA["options"]).solve()
status, x = answer["info"]["status"], answer["x"]
"""

_ECOS = """\
answer = ecos.solve(
    np.array(DATA["cost"]), matrix(DATA["matrix"]), np.array(DATA["right"]), DATA["cones"],
    matrix(DATA["equations"]), np.array(DATA["equal to"]), verbose=False, **DATA["options"],
)
status, x = answer["info"]["infostring"], answer["x"]
"""


def script(find: Find, configuration: Configuration, options: Options, title: str) -> str | None:
    """Return the script of a find; None without a recipe for the backend or its measure."""
    recipe = _recipe(configuration)
    problem = find.problem
    formula = _FORMULAS.get(str(problem.terms[0].measure))
    if recipe is None or formula is None:
        return None
    library, imports, call, data_of = recipe
    small = without_known_secrets(reduce(problem).problem)
    solver: Any = load_backend(configuration.backend)
    truth = find.reference.certificate
    assert truth is not None  # a reference is certified
    data = {
        "weights": small.p_xz,
        "losses": small.loss,
        "budget": find.candidate.amount,
        "bracket": [truth.lower, truth.upper],
        "least error": SMALLEST_ERROR * problem.constant_error,
        "order": "C",
        **data_of(solver.lower(small, options)),
    }
    lines = ",\n".join(
        f" {json.dumps(key)}: {json.dumps(value, default=_stored)}" for key, value in data.items()
    )
    head = _HEAD.format(title=title, library=library, imports=imports, data="{\n" + lines + "\n}")
    return head + call + _TAIL.format(leakage=formula)


def library_of(configuration: Configuration) -> str | None:
    """Return the library that the script of a backend imports."""
    recipe = _recipe(configuration)
    return recipe and recipe[0]


def _recipe(configuration: Configuration) -> _Recipe | None:
    name = configuration.backend
    if name == "conic":
        name = f"cvxpy {configuration.settings.get('solver', 'clarabel')}"
    return _RECIPES.get(name)


def _stored(array: Any) -> list[Any]:
    """Return an array for JSON; a sparse one as values, rows, columns, shape."""
    if isinstance(array, np.ndarray):
        return list(array.tolist())
    entries = array.tocoo()
    return [entries.data.tolist(), entries.row.tolist(), entries.col.tolist(), entries.shape]


def _linear(lowered: Any) -> dict[str, Any]:
    """Return the arrays of a linear program; Python's JSON reads Infinity."""
    arrays = lowered.program.linear_program()
    names = ("cost", "matrix", "low", "high", "least")
    return {name: getattr(arrays, name) for name in names} | {"options": lowered.options}


def _cones(lowered: Any) -> dict[str, Any]:
    """Return the cone program of the backend `clarabel`."""
    from discreet.backends.exchange.clarabel_json import clarabel_cones

    form = lowered.model
    matrix, right = form.standard()
    return {
        "cost": form.cost,
        "matrix": matrix,
        "right": right,
        "cones": list(clarabel_cones(form)),
        "options": lowered.options,
    }


def _moreau(lowered: Any) -> dict[str, Any]:
    """Return the cone program of the backend `moreau`."""
    from discreet.backends.peers.moreau_ import standard_form

    matrix, right, cones = standard_form(lowered.model)
    return {
        "cost": lowered.model.cost,
        "matrix": matrix,
        "right": right,
        "cones": cones,
        "options": lowered.options,
    }


def _pounce(lowered: Any) -> dict[str, Any]:
    """Return the cone program of the backend `pounce`."""
    from discreet.backends.peers.pounce_ import standard_form

    return {**standard_form(lowered.model), "options": lowered.options}


def _conic_data(lowered: Any) -> dict[str, Any]:
    """Return the data that cvxpy passes to the solver of the backend `conic`."""
    data = lowered.model.get_problem_data(solver=lowered.solver.upper())[0]
    dims = data["dims"]
    ecos = lowered.solver == "ecos"
    clarabel = [
        *([["ZeroConeT", dims.zero]] if dims.zero else []),
        *([["NonnegativeConeT", dims.nonneg]] if dims.nonneg else []),
        *(["SecondOrderConeT", size] for size in dims.soc),
        *([["ExponentialConeT"]] * dims.exp),
        *(["PowerConeT", power] for power in dims.p3d),
    ]
    cones: dict[str, Any] = {
        "clarabel": clarabel,
        "scs": {
            "z": dims.zero,
            "l": dims.nonneg,
            "q": list(dims.soc),
            "ep": dims.exp,
            "p": list(dims.p3d),
        },
        "ecos": {"l": dims.nonneg, "q": list(dims.soc), "e": dims.exp},
    }
    options = {k: v for k, v in lowered.options.items() if k != "accept_unknown"}
    equations = {"equations": data["A"], "equal to": data["b"]} if ecos else {}
    given: dict[str, Any] = {
        "cost": data["c"],
        "matrix": data["G" if ecos else "A"],
        "right": data["h" if ecos else "b"],
        "cones": cones[lowered.solver],
        "options": options,
    }
    return given | equations


_Recipe = tuple[str, str, str, Callable[[Any], dict[str, Any]]]
_MODEL = "from ortools.linear_solver.python import model_builder_helper"
_PARAMETERS = "from ortools.pdlp import solvers_pb2"
_RECIPES: Mapping[str, _Recipe] = {
    "highs": ("highspy", "import highspy", _HIGHS, _linear),
    "glop": ("ortools", _MODEL, _GLOP, _linear),
    "pdlp": ("ortools", f"{_PARAMETERS}\nfrom ortools.pdlp.python import pdlp", _PDLP, _linear),
    "clarabel": ("clarabel", "import clarabel", _CLARABEL, _cones),
    "moreau": ("moreau", "import moreau", _MOREAU, _moreau),
    "pounce": ("pounce", "import pounce", _POUNCE, _pounce),
    "cvxpy clarabel": ("clarabel", "import clarabel", _CLARABEL, _conic_data),
    "cvxpy scs": ("scs", "import scs", _SCS, _conic_data),
    "cvxpy ecos": ("ecos", "import ecos", _ECOS, _conic_data),
}
"""Backend -> library, its imports, the call of the solver, and the function that makes its data."""


def reproduced(output: str) -> float:
    """Return by how much the answer of a script is wrong, from its output; nan if it printed
    nothing.
    """
    match = LAST_LINE.search(output)
    return float(match.group(1)) if match else math.nan
