* problem: least error probability of a guess that keeps a budget of leakage
* problem 2efa7e1d730a4664: 2 private values, 2 guesses, 2 outcomes
* budget 1: min-entropy-leakage, at most 2e-09 nats, rows 0 to 1 of the private joint
* error probability = 0.8181818181818183 + 0.8181818181818183 * objective
* certified: the least error probability is in [0.8181818181818171, 0.8181818181818203]
* so the least objective is in [-2.3808115972517236e-15, 3.3306690738754704e-15]
* the estimator is the first 4 variables, 2 for each of 2 guesses:
* Pr(guess i given outcome l) = x[i*2 + l] / sum over k of x[k*2 + l], all counted from 0
* made by discreet; docs/how-to/test-a-solver.md
NAME problem
ROWS
 N cost
 E e0
 E e1
 E e2
 E e3
 E e4
 E e5
 E e6
 E e7
 L e8
 L e9
 L e10
 L e11
 L e12
COLUMNS
 x0 cost 0.11653431646335004
 x0 e0 1.0
 x0 e2 43338544.56552206
 x0 e3 -43338544.56552202
 x0 e6 -0.9534625892455924
 x1 cost 0.4299328431942185
 x1 e1 1.0
 x1 e2 -137048511.3037621
 x1 e3 137048511.30376214
 x1 e6 -0.30151134457776363
 x2 e0 1.0
 x2 e4 43338544.56552206
 x2 e5 -43338544.56552202
 x2 e7 -0.9534625892455924
 x3 e1 1.0
 x3 e4 -137048511.3037621
 x3 e5 137048511.30376214
 x3 e7 -0.30151134457776363
 x4 e2 1.0
 x4 e8 1.0999999999999999
 x4 e9 0.0
 x5 e3 1.0
 x5 e8 -1.0999999999999999
 x5 e9 0.0
 x6 e4 1.0
 x6 e10 1.0999999999999999
 x6 e11 0.0
 x7 e5 1.0
 x7 e10 -1.0999999999999999
 x7 e11 0.0
 x8 e6 1.0
 x8 e8 -449993105.1706461
 x8 e9 0.0
 x9 e7 1.0
 x9 e10 -449993105.1706461
 x9 e11 0.0
 x10 e8 -1.0
 x10 e9 -1.0
 x10 e12 1.0
 x11 e10 -1.0
 x11 e11 -1.0
 x11 e12 1.0
RHS
 RHS e0 0.9534625892455924
 RHS e1 0.30151134457776363
 RHS e12 1.0
BOUNDS
 FR BOUND x4
 FR BOUND x5
 FR BOUND x6
 FR BOUND x7
 FR BOUND x10
 FR BOUND x11
ENDATA
