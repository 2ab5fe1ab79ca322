* problem: least error probability of a guess that keeps a budget of leakage
* problem bdc12c54e6caf924: 2 private values, 2 guesses, 3 outcomes
* budget 1: local-differential-privacy, at most 2e-05 nats, rows 0 to 1 of the private joint
* error probability = 0.18181818181818182 + 0.18181818181818182 * objective
* certified: the least error probability is in [0.18181818181818155, 0.18181818181818227]
* so the least objective is in [-2.4147350785597147e-15, 3.3306690738754704e-15]
* the estimator is the first 6 variables, 3 for each of 2 guesses:
* Pr(guess i given outcome l) = x[i*3 + l] / sum over k of x[k*3 + l], all counted from 0
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
 E e8
 L e9
 L e10
 L e11
 L e12
COLUMNS
 x0 e0 1.0
 x0 e3 14503.928327340063
 x0 e4 -14503.928327340065
 x0 e7 -0.7977240352174655
 x1 e1 1.0
 x1 e3 -13567.182640807941
 x1 e4 13567.18264080794
 x1 e7 -0.4264014327112209
 x2 e2 1.0
 x2 e3 -13567.182640807941
 x2 e4 13567.18264080794
 x2 e7 -0.4264014327112209
 x3 cost 3.133915852640043
 x3 e0 1.0
 x3 e5 14503.928327340063
 x3 e6 -14503.928327340065
 x3 e8 -0.7977240352174655
 x4 e1 1.0
 x4 e5 -13567.182640807941
 x4 e6 13567.18264080794
 x4 e8 -0.4264014327112209
 x5 cost 2.345207879911715
 x5 e2 1.0
 x5 e5 -13567.182640807941
 x5 e6 13567.18264080794
 x5 e8 -0.4264014327112209
 x6 e3 1.0
 x6 e9 2.75
 x6 e10 -2.7500550005500033
 x7 e4 1.0
 x7 e9 -1.571460000314288
 x7 e10 1.5714285714285716
 x8 e5 1.0
 x8 e11 2.75
 x8 e12 -2.7500550005500033
 x9 e6 1.0
 x9 e11 -1.571460000314288
 x9 e12 1.5714285714285716
 x10 e7 1.0
 x10 e9 -0.999999999983732
 x10 e10 -1.000000000000133
 x11 e8 1.0
 x11 e11 -0.999999999983732
 x11 e12 -1.000000000000133
RHS
 RHS e0 0.7977240352174656
 RHS e1 0.4264014327112209
 RHS e2 0.4264014327112209
BOUNDS
 FR BOUND x6
 FR BOUND x7
 FR BOUND x8
 FR BOUND x9
ENDATA
