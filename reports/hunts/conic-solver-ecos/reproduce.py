"""conic:solver=ecos claims 'optimal' and is wrong by 24

Written by discreet hunt. The script needs numpy, scipy and ecos, and prints what the solver
claims next to what is true of its answer.
"""

import json

import numpy as np
from scipy import sparse

import ecos

DATA = json.loads(
    r"""{
 "weights": [[0.0, 0.9998750156230471], [0.00012498437695288088, 0.0]],
 "losses": [[0.0, 0.9998750156230471], [0.0004999375078115235, 0.0]],
 "budget": 2e-05,
 "bracket": [0.0004999214113848906, 0.0004999219015533528],
 "least error": 4.999375078115235e-07,
 "order": "F",
 "cost": [0.0, 1000.0, 2000000.0000000002, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "matrix": [[-1.0, -1.0, -1.0, -1.0, -2.000124996093994, -2.000124996093994, -178.89661819050687, -178.89661819050687, -1.0, -1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0], [0, 1, 2, 3, 7, 11, 8, 12, 5, 6, 9, 10, 4, 5, 6, 4, 9, 10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9, 10, 10, 10, 11, 11, 11], [13, 12]],
 "right": [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "cones": {"l": 5, "q": [4, 4], "e": 0},
 "options": {"abstol": 1e-05, "reltol": 1e-05, "feastol": 1e-05},
 "equations": [[1.0, 0.02794386331629543, -0.02794386331629543, -0.00012498437695288088, 1.0, 0.02794386331629543, -0.02794386331629543, -0.00012498437695288088, 1.0, -0.02794386331627863, 0.02794386331629543, -0.9998750156230471, 1.0, -0.02794386331627863, 0.02794386331629543, -0.9998750156230471, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [0, 2, 4, 6, 0, 3, 5, 7, 1, 2, 4, 6, 1, 3, 5, 7, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9], [8, 12]],
 "equal to": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
}"""
)


def matrix(entries):
    values, rows, columns, shape = entries
    return sparse.csc_matrix((values, (rows, columns)), shape=shape)


answer = ecos.solve(
    np.array(DATA["cost"]), matrix(DATA["matrix"]), np.array(DATA["right"]), DATA["cones"],
    matrix(DATA["equations"]), np.array(DATA["equal to"]), verbose=False, **DATA["options"],
)
status, x = answer["info"]["infostring"], answer["x"]

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
