"""highs:method=pdlp claims 'Optimal' and is wrong by 0.43

Written by discreet hunt. The script needs numpy, scipy and highspy, and prints what the solver
claims next to what is true of its answer.
"""

import json

import numpy as np
from scipy import sparse

import highspy

DATA = json.loads(
    r"""{
 "weights": [[0.5333333333333333, 0.0, 0.19999999999999998], [0.0, 0.26666666666666666, 0.0]],
 "losses": [[0.0, 0.0, 0.19999999999999998], [0.0, 0.0, 0.03333333333333333], [0.0, 0.0, 0.19999999999999998]],
 "budget": 3e-08,
 "bracket": [0.03333333333333329, 0.03333333333333341],
 "least error": 3.3333333333333335e-05,
 "order": "C",
 "cost": [0.0, 0.0, 11.180339887498949, 0.0, 0.0, 0.0, 0.0, 0.0, 11.180339887498949, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "matrix": [[1.0, -6491526.607468639, 6491526.607468637, -0.7302967433402215, 1.0, 12623056.832083434, -12623056.832083434, -0.5163977794943223, 1.0, -3975231.9599996274, 3975231.959999626, -0.4472135954999579, 1.0, -6491526.607468639, 6491526.607468637, -0.7302967433402215, 1.0, 12623056.832083434, -12623056.832083434, -0.5163977794943223, 1.0, -3975231.9599996274, 3975231.959999626, -0.4472135954999579, 1.0, -6491526.607468639, 6491526.607468637, -0.7302967433402215, 1.0, 12623056.832083434, -12623056.832083434, -0.5163977794943223, 1.0, -3975231.9599996274, 3975231.959999626, -0.4472135954999579, 1.0, 0.13333333333333333, -0.13333333333333333, -0.13333333333333333, 0.13333333333333333, 1.0, -0.36666666666666664, 0.36666666666666664, 0.36666666666666664, -0.36666666666666664, 1.0, 0.13333333333333333, -0.13333333333333333, -0.13333333333333333, 0.13333333333333333, 1.0, -0.36666666666666664, 0.36666666666666664, 0.36666666666666664, -0.36666666666666664, 1.0, 0.13333333333333333, -0.13333333333333333, -0.13333333333333333, 0.13333333333333333, 1.0, -0.36666666666666664, 0.36666666666666664, 0.36666666666666664, -0.36666666666666664, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0], [0, 3, 4, 9, 1, 3, 4, 9, 2, 3, 4, 9, 0, 5, 6, 10, 1, 5, 6, 10, 2, 5, 6, 10, 0, 7, 8, 11, 1, 7, 8, 11, 2, 7, 8, 11, 3, 12, 13, 14, 15, 4, 12, 13, 14, 15, 5, 16, 17, 18, 19, 6, 16, 17, 18, 19, 7, 20, 21, 22, 23, 8, 20, 21, 22, 23, 9, 12, 13, 14, 15, 10, 16, 17, 18, 19, 11, 20, 21, 22, 23, 12, 13, 24, 14, 15, 24, 16, 17, 24, 18, 19, 24, 20, 21, 24, 22, 23, 24], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 9, 9, 9, 9, 9, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 12, 12, 12, 12, 12, 13, 13, 13, 13, 13, 14, 14, 14, 14, 14, 15, 15, 15, 15, 15, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 18, 18, 18, 19, 19, 19, 20, 20, 20, 21, 21, 21, 22, 22, 22, 23, 23, 23], [25, 24]],
 "low": [0.7302967433402214, 0.5163977794943222, 0.4472135954999579, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity],
 "high": [0.7302967433402214, 0.5163977794943222, 0.4472135954999579, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
 "least": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, 0.0, 0.0, 0.0, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity],
 "options": {"primal_feasibility_tolerance": 1e-05, "dual_feasibility_tolerance": 1e-05, "primal_residual_tolerance": 1e-05, "dual_residual_tolerance": 1e-05, "pdlp_optimality_tolerance": 1e-05, "ipm_optimality_tolerance": 1e-05, "output_flag": false, "solver": "pdlp", "presolve": "choose", "time_limit": 1.0}
}"""
)


def matrix(entries):
    values, rows, columns, shape = entries
    return sparse.csc_matrix((values, (rows, columns)), shape=shape)


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
leakage = float(0.5 * abs(u - s * p).sum())
print("status: ", status)
print("error:  ", error, "; the least is in", DATA["bracket"])
print("leakage:", leakage, "; the budget is", DATA["budget"])
excess = leakage / DATA["budget"] - 1.0 if DATA["budget"] else float(abs(u / p - s).max())
loss = (error - DATA["bracket"][1]) / max(DATA["bracket"][1], DATA["least error"])
print("wrong by", max(excess, loss))
