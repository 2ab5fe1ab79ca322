* problem: least error probability of a guess that keeps a budget of leakage
* problem 3ac14260e1a945fe: 2 private values, 2 guesses, 2 outcomes
* budget 1: min-entropy-leakage, at most 5e-19 nats, rows 0 to 1 of the private joint
* error probability = 0.6 + 0.6 * objective
* certified: the least error probability is in [0.5999999999999992, 0.6000000000000013]
* so the least objective is in [-2.183438615096141e-15, 3.108624468950439e-15]
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
 x0 e0 1.0
 x0 e2 8881917141829.217
 x0 e3 -8881917141829.217
 x0 e6 -0.816496580927726
 x1 cost 0.481125224324688
 x1 e1 1.0
 x1 e2 -12560927681848.955
 x1 e3 12560927681848.955
 x1 e6 -0.5773502691896257
 x2 e0 1.0
 x2 e4 8881917141829.217
 x2 e5 -8881917141829.217
 x2 e7 -0.816496580927726
 x3 e1 1.0
 x3 e4 -12560927681848.955
 x3 e5 12560927681848.955
 x3 e7 -0.5773502691896257
 x4 e2 1.0
 x4 e8 1.5
 x4 e9 0.0
 x5 e3 1.0
 x5 e8 -1.5
 x5 e9 0.0
 x6 e4 1.0
 x6 e10 1.5
 x6 e11 0.0
 x7 e5 1.0
 x7 e10 -1.5
 x7 e11 0.0
 x8 e6 1.0
 x8 e8 -16317123701370.562
 x8 e9 0.0
 x9 e7 1.0
 x9 e10 -16317123701370.562
 x9 e11 0.0
 x10 e8 -1.0
 x10 e9 -1.0
 x10 e12 1.0
 x11 e10 -1.0
 x11 e11 -1.0
 x11 e12 1.0
RHS
 RHS e0 0.816496580927726
 RHS e1 0.5773502691896257
 RHS e12 1.0
BOUNDS
 FR BOUND x4
 FR BOUND x5
 FR BOUND x6
 FR BOUND x7
 FR BOUND x10
 FR BOUND x11
ENDATA
