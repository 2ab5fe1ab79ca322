"""`tilt`, the project's own solver: a structured interior point whose cost per iteration is a few
passes over the outcomes.

model           the problem in coordinates that do not cancel; points, and how a search ended
relation        how tilts follow the law under each measure: always a list of blocks
newton          one step: one augmented system, with all outcomes eliminated
interior_point  the iteration
vertex          labels and ties, and the square system that determines the rest
crossover       from nearly known duals to the vertex: deterministic but for the ties
program         linear measures: small linear programs next to a known tilt, to the last digits
passes          one pass over the outcomes, in NumPy and compiled
rounds          many outcomes through few: aggregate, solve, certify, shrink
statement       what the rounds found, stated as a rule
backend         all of it behind the contract of a backend; budgets next to solved ones
"""
