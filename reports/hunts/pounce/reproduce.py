"""pounce claims 'optimal' and is wrong by 1.9e+04

Written by discreet hunt. The script needs numpy, scipy and pounce, and prints what the solver
claims next to what is true of its answer.
"""

import json

import numpy as np
from scipy import sparse

import pounce

DATA = json.loads(
    r"""{
 "weights": [[0.0, 0.18181818181818182, 0.18181818181818182], [0.6363636363636362, 0.0, 0.0]],
 "losses": [[0.18181818181818182, 0.0, 0.0], [0.6363636363636362, 0.0, 0.18181818181818182]],
 "budget": 2e-05,
 "bracket": [0.18181818181818155, 0.18181818181818227],
 "least error": 0.00018181818181818183,
 "order": "C",
 "cost": [0.0, 0.0, 0.0, 2.499999999999999, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "equations": [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 11570.132231790622, -5785.066115895312, -5785.066115895312, 1.0, -11570.132231790623, 5785.066115895311, 5785.066115895311, 1.0, 11570.132231790622, -5785.066115895312, -5785.066115895312, 1.0, -11570.132231790623, 5785.066115895311, 5785.066115895311, 1.0, -0.6363636363636362, -0.18181818181818182, -0.18181818181818182, 1.0, -0.6363636363636362, -0.18181818181818182, -0.18181818181818182, 1.0], [0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8], [0, 3, 1, 4, 2, 5, 0, 1, 2, 6, 0, 1, 2, 7, 3, 4, 5, 8, 3, 4, 5, 9, 0, 1, 2, 10, 3, 4, 5, 11], [9, 12]],
 "equal to": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "matrix": [[-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 2.75, -1.571460000314288, -0.999999999983732, -2.7500550005500033, 1.5714285714285716, -1.000000000000133, 2.75, -1.571460000314288, -0.999999999983732, -2.7500550005500033, 1.5714285714285716, -1.000000000000133], [0, 1, 2, 3, 4, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9], [0, 1, 2, 3, 4, 5, 6, 7, 10, 6, 7, 10, 8, 9, 11, 8, 9, 11], [10, 12]],
 "right": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "cones": [["nonneg", 10]],
 "options": {"tol": 1e-08, "time_limit": 1.0}
}"""
)


def matrix(entries):
    values, rows, columns, shape = entries
    return sparse.csc_matrix((values, (rows, columns)), shape=shape)


answer = pounce.solve_socp(
    c=np.array(DATA["cost"]), A=sparse.csr_matrix(matrix(DATA["equations"])),
    b=np.array(DATA["equal to"]), G=sparse.csr_matrix(matrix(DATA["matrix"])),
    h=np.array(DATA["right"]), cones=[tuple(each) for each in DATA["cones"]], **DATA["options"],
)
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
leakage = float(np.log((u / p / np.where(s > 0, s, 1.0) + (s == 0)).max(axis=1) / (u / p / np.where(s > 0, s, 1.0) + (s == 0)).min(axis=1)).max())
print("status: ", status)
print("error:  ", error, "; the least is in", DATA["bracket"])
print("leakage:", leakage, "; the budget is", DATA["budget"])
excess = leakage / DATA["budget"] - 1.0 if DATA["budget"] else float(abs(u / p - s).max())
loss = (error - DATA["bracket"][1]) / max(DATA["bracket"][1], DATA["least error"])
print("wrong by", max(excess, loss))
