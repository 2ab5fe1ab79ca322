* problem: least error probability of a guess that keeps a budget of leakage
* problem 49704fde28e2e1b3: 2 private values, 2 guesses, 1 outcomes
* budget 1: pointwise-information, perfect privacy, rows 0 to 1 of the private joint
* error probability = 1.9999200031998718e-06 + 1.9999200031998718e-06 * objective
* certified: the least error probability is in [1.999920003199869e-06, 1.9999200031998764e-06]
* so the least objective is in [-2.370545369701458e-15, 3.2176121982736507e-15]
* the estimator is the first 2 variables, 1 for each of 2 guesses:
* Pr(guess i given outcome l) = x[i*1 + l] / sum over k of x[k*1 + l], all counted from 0
* made by discreet; docs/how-to/test-a-solver.md
NAME problem
ROWS
 N cost
 E e0
COLUMNS
 x0 e0 1.0
 x1 cost 499999.0000000001
 x1 e0 1.0
RHS
 RHS e0 0.9999999999999999
BOUNDS
ENDATA
