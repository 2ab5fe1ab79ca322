"""highs claims 'Optimal' and is wrong by 0.1

Written by discreet hunt. The script needs numpy, scipy and highspy, and prints what the solver
claims next to what is true of its answer.
"""

import json

import numpy as np
from scipy import sparse

import highspy

DATA = json.loads(
    r"""{
 "weights": [[0.0, 0.09090909090909091], [0.9090909090909092, 0.0]],
 "losses": [[0.9090909090909092, 0.10606060606060608], [0.8181818181818183, 0.0]],
 "budget": 2e-09,
 "bracket": [0.8181818181818171, 0.8181818181818203],
 "least error": 0.0008181818181818184,
 "order": "C",
 "cost": [0.11653431646335004, 0.4299328431942185, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "matrix": [[1.0, 43338544.56552206, -43338544.56552202, -0.9534625892455924, 1.0, -137048511.3037621, 137048511.30376214, -0.30151134457776363, 1.0, 43338544.56552206, -43338544.56552202, -0.9534625892455924, 1.0, -137048511.3037621, 137048511.30376214, -0.30151134457776363, 1.0, 1.0999999999999999, 0.0, 1.0, -1.0999999999999999, 0.0, 1.0, 1.0999999999999999, 0.0, 1.0, -1.0999999999999999, 0.0, 1.0, -449993105.1706461, 0.0, 1.0, -449993105.1706461, 0.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0], [0, 2, 3, 6, 1, 2, 3, 6, 0, 4, 5, 7, 1, 4, 5, 7, 2, 8, 9, 3, 8, 9, 4, 10, 11, 5, 10, 11, 6, 8, 9, 7, 10, 11, 8, 9, 12, 10, 11, 12], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11], [13, 12]],
 "low": [0.9534625892455924, 0.30151134457776363, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -Infinity, -Infinity, -Infinity, -Infinity, -Infinity],
 "high": [0.9534625892455924, 0.30151134457776363, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
 "least": [0.0, 0.0, 0.0, 0.0, -Infinity, -Infinity, -Infinity, -Infinity, 0.0, 0.0, -Infinity, -Infinity],
 "options": {"primal_feasibility_tolerance": 1e-05, "dual_feasibility_tolerance": 1e-05, "primal_residual_tolerance": 1e-05, "dual_residual_tolerance": 1e-05, "pdlp_optimality_tolerance": 1e-05, "ipm_optimality_tolerance": 1e-05, "output_flag": false, "solver": "simplex", "presolve": "choose", "time_limit": 1.0}
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
leakage = float(np.log(u.max(axis=1).sum() / p.max()))
print("status: ", status)
print("error:  ", error, "; the least is in", DATA["bracket"])
print("leakage:", leakage, "; the budget is", DATA["budget"])
excess = leakage / DATA["budget"] - 1.0 if DATA["budget"] else float(abs(u / p - s).max())
loss = (error - DATA["bracket"][1]) / max(DATA["bracket"][1], DATA["least error"])
print("wrong by", max(excess, loss))
