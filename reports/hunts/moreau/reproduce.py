"""moreau claims 'Solved' and is wrong by 0.18

Written by discreet hunt. The script needs numpy, scipy and moreau, and prints what the solver
claims next to what is true of its answer.
"""

import json

import numpy as np
from scipy import sparse

import moreau

DATA = json.loads(
    r"""{
 "weights": [[0.00024993751562109475, 0.0], [0.0, 0.9997500624843789]],
 "losses": [[0.0, 0.9997500624843789], [0.0004998750312421895, 0.0]],
 "budget": 2e-05,
 "bracket": [0.0004998632796145682, 0.0004998750312421906],
 "least error": 4.998750312421895e-07,
 "order": "C",
 "cost": [0.0, 1999999.9999999998, 1000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "matrix": [[1.0, 1.0, 1.0, 1.0, -0.05587375906585188, 0.05587375906585188, 1.0, 0.05587375906585188, -0.055873759065847475, 1.0, -0.05587375906585188, 0.05587375906585188, 1.0, 0.05587375906585188, -0.055873759065847475, 1.0, -0.00024993751562109475, -0.9997500624843789, 1.0, -0.00024993751562109475, -0.9997500624843789, 1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -126.50691680694776, -2.000249984376953, -1.0, -1.0, 1.0, -1.0, -126.50691680694776, -2.000249984376953], [0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 9, 10, 11, 12, 12, 13, 13, 14, 14, 15, 16, 17, 17, 18, 18, 19, 20], [0, 2, 1, 3, 0, 1, 4, 0, 1, 5, 2, 3, 6, 2, 3, 7, 0, 1, 8, 2, 3, 9, 0, 1, 2, 3, 10, 11, 8, 10, 8, 10, 4, 5, 9, 11, 9, 11, 6, 7], [21, 12]],
 "right": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
 "cones": {"num_zero_cones": 8, "num_nonneg_cones": 5, "so_cone_dims": [4, 4], "num_exp_cones": 0, "power_alphas": []},
 "options": {"verbose": false, "device": "cpu", "tol_gap_abs": 1e-08, "tol_gap_rel": 1e-08, "tol_feas": 1e-08, "time_limit": 1.0}
}"""
)


def matrix(entries):
    values, rows, columns, shape = entries
    return sparse.csc_matrix((values, (rows, columns)), shape=shape)


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
