"""conic claims 'optimal' and is wrong by 5.1

Written by discreet hunt. The script needs numpy, scipy and clarabel, and prints what the solver
claims next to what is true of its answer.
"""

import json

import numpy as np
from scipy import sparse

import clarabel

DATA = json.loads(
    r"""{
 "weights": [[0.00024993751562109475, 0.0], [0.0, 0.9997500624843789]],
 "losses": [[0.0, 0.037490627343164204], [0.0, 0.9997500624843789]],
 "budget": 2e-05,
 "bracket": [0.03749062734316416, 0.03749062734316429],
 "least error": 3.749062734316421e-05,
 "order": "F",
 "cost": [0.0, 0.0, 0.0, 25.66666666666667, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "matrix": [[1.0, -0.05587375906585188, 0.05587375906585188, -0.00024993751562109475, -1.0, 1.0, -0.05587375906585188, 0.05587375906585188, -0.00024993751562109475, -1.0, 1.0, 0.05587375906585188, -0.055873759065847475, -0.9997500624843789, -1.0, 1.0, 0.05587375906585188, -0.055873759065847475, -0.9997500624843789, -1.0, 1.0, -126.50691680694776, 1.0, -126.50691680694776, 1.0, -2.000249984376953, 1.0, -2.000249984376953, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0], [0, 2, 4, 6, 8, 0, 3, 5, 7, 9, 1, 2, 4, 6, 10, 1, 3, 5, 7, 11, 2, 15, 3, 19, 4, 16, 5, 20, 6, 13, 14, 7, 17, 18, 12, 13, 14, 12, 17, 18], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11], [21, 12]],
 "right": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "cones": [["ZeroConeT", 8], ["NonnegativeConeT", 5], ["SecondOrderConeT", 4], ["SecondOrderConeT", 4]],
 "options": {"tol_gap_abs": 1e-05, "tol_gap_rel": 1e-05, "tol_feas": 1e-05, "time_limit": 1.0}
}"""
)


def matrix(entries):
    values, rows, columns, shape = entries
    return sparse.csc_matrix((values, (rows, columns)), shape=shape)


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
leakage = float(((u - s * p) ** 2 / np.where(s > 0, s * p, 1.0)).sum())
print("status: ", status)
print("error:  ", error, "; the least is in", DATA["bracket"])
print("leakage:", leakage, "; the budget is", DATA["budget"])
excess = leakage / DATA["budget"] - 1.0 if DATA["budget"] else float(abs(u / p - s).max())
loss = (error - DATA["bracket"][1]) / max(DATA["bracket"][1], DATA["least error"])
print("wrong by", max(excess, loss))
