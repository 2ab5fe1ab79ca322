"""conic:solver=scs claims 'optimal' and is wrong by 7.1

Written by discreet hunt. The script needs numpy, scipy and scs, and prints what the solver
claims next to what is true of its answer.
"""

import json

import numpy as np
from scipy import sparse

import scs

DATA = json.loads(
    r"""{
 "weights": [[0.0, 0.9998750156230471], [0.00012498437695288088, 0.0]],
 "losses": [[0.0004999375078115235, 0.0], [0.00037495313085864263, 0.9998750156230471]],
 "budget": 2e-05,
 "bracket": [0.0004999345586054225, 0.0004999375078115246],
 "least error": 4.999375078115235e-07,
 "order": "F",
 "cost": [0.3333333333333333, 0.0, 0.0, 2666.666666666667, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "matrix": [[1.0, 0.02794386331629543, -0.02794386331629543, -0.00012498437695288088, -1.0, 1.0, 0.02794386331629543, -0.02794386331629543, -0.00012498437695288088, -1.0, 1.0, -0.02794386331627863, 0.02794386331629543, -0.9998750156230471, -1.0, 1.0, -0.02794386331627863, 0.02794386331629543, -0.9998750156230471, -1.0, 1.0, -2.000124996093994, 1.0, -2.000124996093994, 1.0, -178.89661819050687, 1.0, -178.89661819050687, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0], [0, 2, 4, 6, 8, 0, 3, 5, 7, 9, 1, 2, 4, 6, 10, 1, 3, 5, 7, 11, 2, 15, 3, 19, 4, 16, 5, 20, 6, 13, 14, 7, 17, 18, 12, 13, 14, 12, 17, 18], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11], [21, 12]],
 "right": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "cones": {"z": 8, "l": 5, "q": [4, 4], "ep": 0, "p": []},
 "options": {"eps_abs": 1e-05, "eps_rel": 1e-05, "time_limit_secs": 1.0}
}"""
)


def matrix(entries):
    values, rows, columns, shape = entries
    return sparse.csc_matrix((values, (rows, columns)), shape=shape)


problem = {"A": matrix(DATA["matrix"]), "b": np.array(DATA["right"]), "c": np.array(DATA["cost"])}
answer = scs.SCS(problem, DATA["cones"], verbose=False, **DATA["options"]).solve()
status, x = answer["info"]["status"], answer["x"]

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
