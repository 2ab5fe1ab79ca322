* problem: least error probability of a guess that keeps a budget of leakage
* problem 26797c31f2ecf092: 2 private values, 2 guesses, 2 outcomes
* budget 1: min-entropy-leakage, at most 2e-09 nats, rows 0 to 1 of the private joint
* error probability = 0.54 + 0.54 * objective
* certified: the least error probability is in [0.5799999998799966, 0.5799999998800016]
* so the least objective is in [0.0740740738518446, 0.07407407385185569]
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
 x0 cost 0.14344382763731156
 x0 e0 1.0
 x0 e2 154916960.1985844
 x0 e3 -154916960.1985844
 x0 e6 -0.7745966692414833
 x1 e1 1.0
 x1 e2 -189733752.49479118
 x1 e3 189733752.49479118
 x1 e6 -0.6324555320336759
 x2 e0 1.0
 x2 e4 154916960.1985844
 x2 e5 -154916960.1985844
 x2 e7 -0.7745966692414833
 x3 cost 1.0540925533894596
 x3 e1 1.0
 x3 e4 -189733752.49479118
 x3 e5 189733752.49479118
 x3 e7 -0.6324555320336759
 x4 e2 1.0
 x4 e8 1.6666666666666667
 x4 e9 0.0
 x5 e3 1.0
 x5 e8 -1.6666666666666667
 x5 e9 0.0
 x6 e4 1.0
 x6 e10 1.6666666666666667
 x6 e11 0.0
 x7 e5 1.0
 x7 e10 -1.6666666666666667
 x7 e11 0.0
 x8 e6 1.0
 x8 e8 -166664113.02616516
 x8 e9 0.0
 x9 e7 1.0
 x9 e10 -166664113.02616516
 x9 e11 0.0
 x10 e8 -1.0
 x10 e9 -1.0
 x10 e12 1.0
 x11 e10 -1.0
 x11 e11 -1.0
 x11 e12 1.0
RHS
 RHS e0 0.7745966692414834
 RHS e1 0.6324555320336759
 RHS e12 1.0
BOUNDS
 FR BOUND x4
 FR BOUND x5
 FR BOUND x6
 FR BOUND x7
 FR BOUND x10
 FR BOUND x11
ENDATA
